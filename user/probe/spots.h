/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Spots: places of the program that the user named. FUNC, BINARY:FUNC (a path or
 * its last part), or a probe that the program carries with it, PROVIDER:PROBE or
 * BINARY:PROVIDER:PROBE. All functions of that name are selected, in all files that
 * the targets map, unless the file is named.
 */
#ifndef MT_SPOTS_H
#define MT_SPOTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/abi.h"
#include "elf/object.h"
#include "probe/plan.h"
#include "util/err.h"
#include "util/util.h"

struct reader_question;

/* Why the inlined copies of a function in a file are not known. */
enum unsearched {
	SEARCHED,
	UNSEARCHED_LONG,	/* its DWARF takes too long to read */
	UNSEARCHED_SPLIT,	/* it is in .dwo files, which are not read */
};

struct spot {
	uint32_t number;	/* in the kernel's table, from 1 on */
	enum mt_spot_kind kind;
	const char *option;	/* "--mark"; not owned */
	char *text;		/* owned; as it was given */
	char *part[3];		/* owned; what stands between colons */
	size_t n_parts;
	char *path;		/* owned; the file, if it was named with a '/' and is there; else NULL */
	char *hint;		/* owned; what the linker's name has in it if it is this function's; NULL: not known */
	size_t n_points;	/* that were found */
	size_t n_inlined;	/* copies of the function that were inlined, where no call can be probed */
	size_t n_inlined_here;	/* those of the file that was searched last */
	size_t n_unsearched;	/* files whose inlined copies are not known */
	enum unsearched unsearched_here;	/* is that so of the file that was searched last? */
};

struct spots {
	struct spot *v;		/* owned */
	size_t n, room;
};

/* One more; the same text twice, of the same kind, is one. -EINVAL if that is no name, -E2BIG */
int spots__add(struct spots *s, enum mt_spot_kind kind, const char *option, const char *text, struct err *e);
void spots__done(struct spots *s);
/* The first of a kind; NULL: there is none. */
const struct spot *spots__first(const struct spots *s, enum mt_spot_kind kind);

/* Does a symbol, or DWARF, name the function so? pieces: or a piece of it that the compiler has put elsewhere. */
bool spot__is_function(const struct spot *s, const char *raw, bool pieces);

/* Where an object has any of them; n 0: nowhere. debug_dir as of defined__each(). Inlined copies are counted alone. */
int spots__find(struct spots *s, struct object *obj, const char *debug_dir, struct spot_points *ret, struct err *e);

/* Is it in a file that this may be? False for all if another binary was named. */
bool spot__may_be_in(const struct spot *s, const struct object *obj);

/* ---- probes that programs carry with them (USDT, <sys/sdt.h>): a note for each, and a nop where it is */

struct usdt {
	const char *provider, *name;	/* valid during the call */
	uint64_t offset;	/* of the nop, in the file */
	uint64_t counter;	/* of the word that counts its tracers, in the file; 0: it has none */
};

/* fn for each probe of an object; non-zero stops, and is returned. Notes that make no sense are skipped. */
int usdt__each(const struct object *obj, int (*fn)(const struct usdt *u, void *arg), void *arg);

/* ---- --within: where functions outside of which nothing is recorded begin and end (bpf/within.bpf.h) */

struct within {			/* of one file */
	struct mt_within_list ranges;	/* n 0: it has none */
	bool inlined;			/* some are inlined copies */
	bool unsearched;		/* not all of these were found in time */
	struct spot_points points;	/* owned; cookies without the number of the list */
};

/* Of what spots__find() found in obj, those that are MT_SPOT_WITHIN_ENTER. -E2BIG: too many in one file. */
int within__find(const struct spots *s, struct object *obj, const struct spot_points *found,
		 struct within *ret, struct err *e);
void within__done(struct within *w);
/* The list that the kernel will have the ranges in. */
void within__number(struct within *w, uint32_t list);

/* ---- both, asked of the sandbox (plan_apart.c): as the functions whose place they take */

extern const struct reader_question spots_question;

int spots_apart__find(struct spots *s, struct object *obj, const char *debug_dir, struct spot_points *ret, struct err *e);
int spots_apart__within(const struct spots *spots, struct object *obj, const struct spot_points *found, struct within *ret, struct err *e);

#endif
