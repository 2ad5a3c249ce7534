/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Rows of a snapshot become rows of another one, where what they refer to has other numbers. */
#ifndef MT_REMAP_H
#define MT_REMAP_H

#include "model/schema.h"

#define ROW_GONE UINT32_MAX

/*
 * Where rows of each list are in the other; NULL: where they were, by so many further. What refers
 * to a row that went to ROW_GONE is left out.
 */
struct remap {
	const uint32_t *of[N_TABLES];
	uint32_t base[N_TABLES];
	bool drop_older;	/* of lists of blocks: those without a site too */
};

/*
 * Rows of a list, from `from` into v, which has room for all of them: how many are left. Lists that
 * they have are in the arena of `to`. went: where each of them is in v, or ROW_GONE; before, it has
 * that of those that are to be left out. NULL: none is.
 */
size_t rows__remap(struct snapshot *to, enum profile_table t, const void *from, size_t n, void *v,
		   const struct remap *map, uint32_t *went);
/* In the arena of `to`, or as it was. */
const uint32_t *remap__stack(struct snapshot *to, const struct remap *map, const uint32_t *stack, uint32_t n);
/* In the arena of `to`, by `from`'s numbers; each says whose it is. */
const struct snap_heap *heaps__named(struct snapshot *to, const struct snapshot *from);
/* Marks, frees and heaps of `from` become those of `to`. Free sites that have become the same are one. */
void snapshot__remap(struct snapshot *to, const struct snapshot *from, const struct remap *map);
/* The sites that are left. */
void snapshot__count_ends(struct snapshot *s);

/* Numbers sorted by where they went: those of k are v[start[k]] up to v[start[k + 1]]. Owned by the caller. */
struct lists {
	size_t *start;
	uint32_t *v;
};

void lists__init(struct lists *l, const uint32_t *went, size_t n, size_t n_lists);
void lists__done(struct lists *l);

#endif
