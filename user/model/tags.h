/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* --tag: which of the functions that were named owns an allocation, and what each of them holds. */
#ifndef MT_TAGS_H
#define MT_TAGS_H

#include "model/snapshot.h"
#include "util/funcname.h"
#include "util/util.h"

#define TAG_THREAD "thread"	/* the word: threads' names are tags, too */

struct tag_want {
	const char *name;	/* as it was requested */
	char *readable;		/* the name, demangled if it was mangled; owned */
	struct func_ref ref;	/* of readable */
};

struct tagger {
	struct vec(struct tag_want) v;
	bool threads;
};

/* name must outlive it; readable is copied. -EINVAL: no name of a function. */
int tagger__add(struct tagger *t, const char *name, const char *readable);
void tagger__done(struct tagger *t);
bool tagger__any(const struct tagger *t);

/*
 * The innermost frame of a stack that is one of these functions owns its site,
 * also one that was inlined; where there is none, the thread does, if threads are
 * wanted. Names must be known, and threads' names be in the sites. Takes the place of tags that
 * were there; how often a function was entered stays known by its name, unless
 * it was inlined somewhere: those calls cannot be counted. 0 or
 */
void snapshot__tag(struct snapshot *s, const struct tagger *t);

struct tag_sum {
	size_t n_sites;
	struct counters c;	/* of the sites; peak_bytes is what was held at the peak */
	struct std_error error;
};

void tag_sum__add(struct tag_sum *sum, const struct snap_site *site);

/*
 * By tag, in the order of s->tags after the first, which is of all that has none. The caller's;
 *
 */
struct tag_sum *tags__add_up(const struct snapshot *s);

#endif
