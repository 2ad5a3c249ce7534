/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * A trace's live blocks beside those of a census: whose a block is, and which of them are older than the trace.
 *
 * The process goes on while both are read. What is in the census and in no table that was read before and after it is
 * older than the trace, or was born and freed in between. The latter is gone from the next census: so there are two at
 * least. How many went in the second one says how many more may be wrong.
 */
#ifndef MT_TRACED_H
#define MT_TRACED_H

#include "heap/census.h"
#include "heap/heap.h"

struct traced {
	const struct heap_opts *o;	/* not owned; o->traced NULL: there is no trace, and all below is empty */
	/* before and after the first census; after the last one. The one before is needed no longer than until the next is there */
	struct traced_blocks before, first, now;
	struct vec(struct heap_block) older;	/* by address: of the first census, as far as later ones agree */
	uint64_t n_dropped;	/* from these, by later ones */
	unsigned int n_looks;
	uint64_t now_ns;	/* on the trace's clock: when the table was last read */
};

void traced__done(struct traced *t);
/* Just before a census, and just after it. -errno */
int traced__before(struct traced *t);
int traced__after(struct traced *t, const struct census *c);
/*
 * Blocks of other allocators: those of the trace that lie outside of what the census covers are added to it. maps: what
 * was mapped when that was taken.
 */
int traced__add_foreign(const struct traced *t, const struct maps *maps, struct census *c);
/* As it was at the first census; NULL: older than the trace, or not traced. */
const struct traced_block *traced__find(const struct traced *t, uint64_t addr);
/* Is a block of the first census still the same, by the table that was read last? */
bool traced__is_same(const struct traced *t, const struct heap_block *b);

#endif
