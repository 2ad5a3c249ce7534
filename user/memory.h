/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Where the memory of the traced processes is, and what their allocators make of it: mappings, and the headers of blocks. */
#ifndef MT_MEMORY_H
#define MT_MEMORY_H

#include "tracee.h"

struct memory_looks {
	uint64_t next_ns;	/* not looked at again before; CLOCK_MONOTONIC */
};

/* At the start of a trace of these processes: growth is counted from here. */
void memory__begin(struct tracees *t);
/*
 * Tells the model where memory is. Not now: only if the last time is long enough ago for what it cost. The cut may
 * have a sample of the live blocks; their headers are read then.
 */
void memory__look(struct memory_looks *m, struct tracees *t, const struct cut *cut, bool now);

/* For the tests: sums of the blocks whose headers, in glibc's form, make sense. v and headers are n. */
void memory__size_blocks(const struct cut_block *v, const uint64_t *headers, size_t n, struct snap_memory *sum);

#endif
