/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * The first scan: which blocks are reached from roots, through blocks. Memory is read once, in the order of addresses: what
 * a block that is reached already points to is reached at once; of others the pointers are kept as edges, in case they are
 * reached later. With roots, nothing is marked before all edges are known: then each root in turn takes all that it
 * reaches, so that a block is told by the first root, and a stack that looks into a cache does not take it from the
 * variable that holds it.
 *
 * With roots, blocks that are newer than the census are gone through as well (newer.h): they tell who holds a block, and not
 * that it is reached. A stale pointer to what was freed may look like one to a newer block, and would keep a lost one alive.
 */
#ifndef MT_MARK_H
#define MT_MARK_H

#include "heap/block_index.h"
#include "heap/newer.h"
#include "heap/reach.h"
#include "heap/roots.h"
#include "heap/search.h"

/* Blocks that point to blocks, by their numbers. */
struct edges {
	uint32_t *first;	/* owned; of each block, and one behind the last */
	struct vec(uint32_t) to;
};
void edges__done(struct edges *g);

struct root_hit {
	uint64_t addr;
	int tid;
	uint32_t block;
};

struct mark {
	const struct census *c;		/* not owned */
	struct block_index index;
	uint8_t *state;			/* owned; of each block, and then of each newer one: bits of mark.c */
	struct edges edges;
	uint64_t max_edges;
	uint32_t n_read;		/* blocks whose words were read, or of the last one some */
	struct vec(uint32_t) pending;	/* reached, and their edges not yet followed */
	bool crowded;			/* there were too many edges: who is pointed to counts as reached */
	bool no_memory;
	/* with roots */
	bool by_root;
	uint32_t *root;			/* owned; of each block, index into roots + 1 */
	uint64_t n_newer_edges;
	struct newer newer;		/* zeroed: they are not looked for. Their numbers follow those of the blocks */
	const struct search *s;		/* not owned; whose words are being looked at */
	struct vec(struct reach_root) roots;
	struct vec(struct root_hit) hits;	/* to be followed in this order */
};

int mark__init(struct mark *m, const struct census *c, bool by_root, struct err *e);
void mark__done(struct mark *m);
/* All of it: roots, the heap, what follows from them. */
int mark__run(struct mark *m, struct search *s, struct roots *r, const struct reach_opts *o, struct err *e);
bool mark__is_reached(const struct mark *m, uint32_t block);
/* A root that holds something: its number, index into roots + 1. addr, tid: as of struct reach_root. */
uint32_t mark__new_root(struct mark *m, uint64_t addr, int tid);

/*
 * Calls fn for all memory that blocks lie in, in stretches: what lies between blocks that are close to each other is in them, too.
 */
int blocks__search(const struct heap_block *blocks, size_t n, struct search *s, const struct block_index *x, window_fn fn,
		   void *arg);

#endif
