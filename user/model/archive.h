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
#include "util/util.h"

struct kept_place;
struct kept_module;

struct kept_site {
	struct cut_site row;	/* without frames; its number is another's now. The sum of several where sites were folded. */
	struct kept_place **stack;	/* owned, with a reference to each */
	uint32_t n_stack;	/* 0: there was none, or others were folded into it */
	struct course course;	/* owned; empty: none was known, or there was no room */
	int64_t since_baseline_bytes;
	bool folded;		/* it is about to go */
};

struct kept {			/* what a life had in the kernel's tables */
	struct cut_proc row;
	struct vec(struct kept_site) sites;
	struct vec(uint32_t) bare;	/* of sites: those without a stack, one for each function */
	uint64_t live_bytes;	/* of all sites */
};

/* Beyond these, what is the least interesting is folded. */
struct archive_limits {
	size_t lives, sites;
	size_t frames;		/* of all stacks */
	size_t points;		/* of all courses: beyond, no more are kept */
};

struct archive {
	struct archive_limits limits;
	struct module_calls calls;
	struct kept_place *places;
	struct kept_module *modules;
	size_t n_lives, n_sites, n_frames, n_points;
	uint64_t n_folded_lives, n_folded_sites;
};

void archive__init(struct archive *a);
void archive__done(struct archive *a);
void kept__free(struct archive *a, struct kept *k);	/* takes NULL */
/* The places of a stack in the snapshot that is being made; -ENOMEM */
int kept_site__stack(const struct kept_site *s, struct places *places, uint32_t *ret);

#endif
