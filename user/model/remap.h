/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* What refers to rows of a snapshot (stacks, marks, frees, heaps), where these are other rows of another one. */
#ifndef MT_REMAP_H
#define MT_REMAP_H

#include "model/snapshot.h"

#define ROW_GONE UINT32_MAX

/* Where rows of one are in the other; NULL: where they were, by so many further. What refers to a row that went to ROW_GONE is left out. */
struct remap {
	const uint32_t *process_of, *site_of, *place_of;
	uint32_t process_base, site_base, place_base;
	bool drop_older;	/* of lists of blocks: those without a site too */
};

/* In the arena of `to`. */
const uint32_t *remap__stack(struct snapshot *to, const struct remap *map, const uint32_t *stack, uint32_t n);
/* Heaps of `from` into v, of room for all of them: how many are left. */
size_t remap__heaps(struct snapshot *to, struct snap_heap *v, const struct snapshot *from, const struct remap *map);
/* Marks, frees and heaps of `from` become those of `to`. Free sites that have become the same are one. */
void snapshot__remap(struct snapshot *to, const struct snapshot *from, const struct remap *map);

/* Numbers sorted by where they went: those of k are v[start[k]] up to v[start[k + 1]]. Owned by the caller. */
struct lists {
	size_t *start;
	uint32_t *v;
};

void lists__init(struct lists *l, const uint32_t *went, size_t n, size_t n_lists);
void lists__done(struct lists *l);

#endif
