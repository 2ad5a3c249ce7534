// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * How much of a process's growth has no explanation: what a program gets that calls allocation functions past their probes.
 * Owns nothing.
 *
 * Two ways to find it, each of which gives a lower bound:
 *
 *   by blocks   a look at the heap has found blocks that the table has not. They are older than the trace; but all that is
 *               older had room in what was mapped when the trace began. The rest was allocated since.
 *   by calls    the heap, in pages, has grown by more than all calls since then have requested, freed or not. Pages
 *               that were mapped and untouched at first may have been touched since.
 *
 * So neither memory that the allocator keeps, nor large blocks that were touched late, nor the program's own mappings, nor the
 * stacks of threads are taken for it. What always holds: where something is left out on purpose, by an option or for
 * want of room, nothing is claimed.
 */
#include "model/unexplained.h"

#include "model/heaps.h"
#include "util/util.h"

#define CLEAR_BYTES (8ull << 20)	/* what is less, or one of so many parts of the growth, is not clear enough to be said */
#define CLEAR_PART 8
#define CALL_BYTES 32		/* header and rounding of a block, at most */
#define POOL_FACTOR 2		/* an allocator above malloc takes no more than this of what its own blocks came to */

static uint64_t less(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

static uint64_t by_blocks(const struct snap_process *p, const struct snap_heap *h)
{
	uint64_t unsure;

	if (!h || h->refused || !h->older_known || !h->older_blocks || h->older_unsure_blocks > h->older_blocks / 4)
		return 0;
	unsure = h->older_bytes / h->older_blocks * h->older_unsure_blocks;
	/* blocks of another allocator, which has its memory from malloc, lie inside of what malloc gave it */
	if (!p->memory.sized_blocks)
		unsure += POOL_FACTOR * p->c.peak_bytes + CALL_BYTES * p->c.live_blocks;
	return less(h->older_bytes, p->memory.first_mapped + unsure);
}

static uint64_t by_calls(const struct snap_process *p)
{
	const struct snap_memory *m = &p->memory;

	if (m->heap_grown <= 0 || m->heap_estimated)
		return 0;
	return less((uint64_t)m->heap_grown, p->c.alloc_bytes + CALL_BYTES * p->c.alloc_calls + m->first_untouched);
}

static uint64_t unexplained(const struct snap_process *p, const struct snap_heap *h)
{
	int64_t grown = p->memory.heap_grown + p->memory.large_grown;
	uint64_t n;

	if (!p->memory.known || !p->memory.grown_known || grown <= 0 || p->lost_blocks || p->unseen_ns)
		return 0;
	n = MIN(MAX(by_blocks(p, h), by_calls(p)), (uint64_t)grown);
	return n >= CLEAR_BYTES && n >= (uint64_t)grown / CLEAR_PART ? n : 0;
}

void snapshot__find_unexplained(struct snapshot *s)
{
	struct snap_process *v = (struct snap_process *)s->processes;

	/* a mapping that the program makes is a block then, and explains nothing of the heap */
	if (recording__is_partial(&s->recording) || recording__is_growth(&s->recording) || s->estimated || s->observed_share < 1 || s->recording.mmap)
		return;
	for (size_t i = 0; i < s->n_processes; i++)
		v[i].memory.unexplained_bytes = unexplained(&v[i], snapshot__heap_of(s, (uint32_t)i));
}
