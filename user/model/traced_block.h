/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* A live block of a process, as the trace knows it: collect/ lists them, heap/ puts them beside what it finds in memory. */
#ifndef MT_TRACED_BLOCK_H
#define MT_TRACED_BLOCK_H

#include <stddef.h>
#include <stdint.h>

struct traced_block {
	uint64_t addr, bytes;	/* as it was counted */
	uint64_t born_ns;	/* on the programs' clock */
	uint32_t site;		/* its number in the kernel's tables */
	int tid;		/* that allocated it; 0: it has ended */
};

struct traced_blocks {
	struct traced_block *v;	/* owned; by address */
	size_t n, room;
};

#endif
