/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Lives that have ended and are in the kernel's tables no more: what they held,
 * with stacks as places of files. Bounded. For model/ alone.
 */
#ifndef MT_ARCHIVE_H
#define MT_ARCHIVE_H

#include "model/history.h"
#include "model/model.h"
#include "model/places.h"
#include "util/hash.h"
#include "util/util.h"

struct kept_place;
struct kept_module;

struct kept_site {
	/* without frames; its number is another's now. The sum of several where sites were folded. */
	struct snap_site row;
	struct kept_place **stack;	/* owned, with a reference to each */
	uint32_t n_stack;	/* 0: there was none, or others were folded into it */
	struct course course;	/* owned; empty: none was known, or there was no room */
	bool folded;		/* it is about to go */
	uint32_t moves_to;	/* while others are folded: the row that it becomes part of, or its own next place */
};

struct kept {			/* what a life had in the kernel's tables */
	struct cut_proc row;
	struct vec(struct kept_site) sites;
	struct vec(uint32_t) bare;	/* of sites: those without a stack, one for each function */
	uint64_t live_bytes;	/* of all sites */
	struct vec(struct kept_site) wheres;	/* that frees name: the function and the stack, nothing else */
	struct vec(struct snap_free) frees;	/* by indexes into sites and wheres; over those of a site, calls and bytes are as they were in the cut */
};

/* Beyond these, what is smallest is aggregated. */
struct archive_limits {
	size_t lives, sites;
	size_t frames;		/* of all stacks */
	size_t frees;		/* rows; of wheres there may be as many as of sites */
	size_t points;		/* of all courses: beyond, no more are kept */
};

struct archive {
	struct archive_limits limits;
	struct module_calls calls;
	struct hash places;	/* of struct kept_place */
	struct hash modules;	/* of struct kept_module */
	size_t n_lives, n_sites, n_frames, n_points;
	size_t n_wheres, n_frees;
	uint64_t n_folded_lives;
};

void archive__init(struct archive *a);
void archive__done(struct archive *a);
void kept__free(struct archive *a, struct kept *k);	/* takes NULL */

/* What is reported of one stack alone. */
void kept_site__drop_stack(struct archive *a, struct kept_site *s);
void kept__note_bare(struct kept *k, size_t site);	/* it has no stack */
/*
 * archive_fold.c: it becomes part of the row of k for sites of its function that lost their stacks, which moves_to
 * says; false: it would be the first of them.
 */
bool kept__fold_into(struct kept *k, struct kept_site *s);

/* archive_fold.c: until there is room again. */
void archive__fold(struct model *m);

/* The places of a stack in the snapshot that is being made. */
void kept_site__stack(const struct kept_site *s, struct places *places, uint32_t *ret);

#endif
