/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Blocks that the first scan did not reach, and what later scans find out about them. A scan takes longer than a list's head stays
 * where it is, so what looks lost in one scan, or in each of several, may only have moved while it was read. The rule:
 *
 *   - nothing but what points to a candidate is asked for: from roots, before and after the heap; from every block that was
 *     ever reached; from every block that is new;
 *   - from roots, what they point to is followed at once, block by block, as far as a bound allows: where heads of lists
 *     move too fast for a scan, that is fast enough;
 *   - a candidate that is pointed to is none any more, for good. What it points to now is none either, nor what it
 *     pointed to in the first scan: it could be reached then, and so could they;
 *   - so it is with one that was freed, or has another size now: who frees a block has a pointer to it.
 *
 * What was really lost before the first scan has no pointer in any of these, and stays.
 */
#ifndef MT_CANDIDATES_H
#define MT_CANDIDATES_H

#include "heap/mark.h"

struct candidates {
	struct vec(struct heap_block) blocks;	/* by address */
	struct vec(uint32_t) number;		/* of each, among the blocks of the first scan */
	struct edges edges;			/* as of the first scan */
	uint8_t *left;				/* owned; of each: it is none any more */
	uint64_t n_remain;
	uint64_t n_hit;				/* that the last scan found a pointer to */
	struct block_index index;
	struct vec(uint32_t) fresh;		/* that left, and whose pointers are still to be followed */
	bool no_memory;
	struct mark *first;			/* not owned; the first scan: with roots, who holds what */
};

/* m is there as long as these are; its edges and its index are not. */
int candidates__init(struct candidates *c, struct mark *m, struct err *e);
void candidates__done(struct candidates *c);
/* One more scan. now: the blocks of this moment; the caller's. */
int candidates__scan(struct candidates *c, struct search *s, const struct census *now, const struct reach_opts *o,
		     struct reach_result *note, struct err *e);
/*
 * Of those that remain: UNREACHED or UNREACHED_INDIRECT, only pointed to by others of them. Of a circle that no other candidate points
 * into, the first one by address is direct: so each of them is reached from a direct one, and no direct one from another.
 * to: of each candidate; of those that left it is REACHED.
 */
int candidates__judge(const struct candidates *c, uint8_t *to, struct err *e);

#endif
