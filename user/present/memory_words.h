/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* What the figures of a process's memory come to. */
#ifndef MT_MEMORY_WORDS_H
#define MT_MEMORY_WORDS_H

#include "model/snapshot.h"

struct heap_use {
	bool known;		/* glibc's: blocks were looked at */
	uint64_t overhead_bytes;	/* headers and rounding, of live blocks */
	uint64_t free_bytes;	/* of the heap's resident bytes: no live block that was seen */
	uint64_t untouched_bytes;	/* live blocks come to more than is resident */
};

struct heap_use heap_use__of(const struct snap_memory *m);

#endif
