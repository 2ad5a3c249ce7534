/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Languages whose memory is not, or not all, from malloc: what of it is seen, and what to do. */
#ifndef MT_RUNTIMES_H
#define MT_RUNTIMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct snapshot;

struct runtime {
	const char *name;	/* in JSON */
	const char *title;
	const char *files;	/* globs, separated by spaces: who maps such a file, by its last part, has this runtime */
	const char *section;	/* or whose program has this section; NULL: no such sign */
	const char *seen, *unseen, *advice;	/* parts of a sentence */
	const char *advice_for;	/* the module whose frames the last one is about; NULL: it is of use to all */
};

/* The module of all code that is Python's: it is in no file of machine code. */
#define PYTHON_PATH "[python]"
bool is_python_module(const char *path);	/* path may be NULL */
/* Of one of its places: which code that is was reported (code_book__place()). */
#define PYTHON_IS_KNOWN(offset) ((uint64_t)(offset) >> 63)

extern const struct runtime runtimes[];
extern const size_t n_runtimes;

/* By a file's last part. NULL: none. */
const struct runtime *runtime__of_file(const char *name);
/* By its name in JSON; NULL: none of those here. */
const struct runtime *runtime__find(const char *name);
/* The nth of those that processes of a snapshot have, and of which there is something to say, each once; NULL: no more. */
const struct runtime *runtime__of_snapshot(const struct snapshot *s, size_t nth);
/*
 * What a reader who knows the language would look for in vain: "seen: ...; not seen: ...; ...", of --mode growth, which misses none of
 * it, the last part alone. The caller's.
 */
char *runtime__words(const struct runtime *r, const struct snapshot *s);

#endif
