/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * The census of a glibc heap: every block in use, told from the free ones, read from outside without symbols.
 * Layouts are recognised by what must hold of them, not looked up by version; if libc's own sums do not agree
 * with ours, there is no census.
 */
#ifndef MT_CENSUS_H
#define MT_CENSUS_H

#include "heap/target.h"
#include "model/snap_heap.h"

enum heap_block_flag {
	BLOCK_MAPPED = 1,	/* has a mapping of its own */
	BLOCK_LIBC = 2,		/* glibc's own book-keeping (a tcache): it points to free blocks, and is no root */
	BLOCK_FOREIGN = 4,	/* another allocator's, known by a trace alone */
	BLOCK_MAYBE_LIBC = 8,	/* it may be: an empty tcache is all zeros, and a thread has one that was not found */
};

#define USABLE_BITS 40

struct heap_block {
	uint64_t addr;		/* what malloc returned */
	uint64_t usable : USABLE_BITS, flags : 8, arena : 16;	/* arena: index into arenas; 0: the main one, and mapped ones */
};

struct heap_range {
	uint64_t start, end;
};
struct heap_ranges vec(struct heap_range);

struct heap_arena {
	struct snap_arena is;	/* without free_bytes; fastbins are among the bins */
	uint64_t free_resident_bytes;
};

struct census {
	struct vec(struct heap_block) blocks;	/* by address */
	struct vec(struct heap_arena) arenas;	/* the main one first */
	/* what is the allocator's, blocks and free memory and book-keeping: no roots; by address, disjoint */
	struct heap_ranges ranges;
	/* blocks that were taken for free ones by what an earlier free left in them, as the lists of free ones could not be read; by address */
	struct vec(uint64_t) unsettled;
	uint64_t mapped_blocks, mapped_bytes;	/* with a mapping of their own: usable bytes */
	/* skipped: on the disk, also of files' data, where another libc may have its arenas; */
	uint64_t swapped_bytes;
	uint64_t broken_bytes;	/* no chain of blocks could be made of it */
	bool lacks_mapped;	/* some that have a mapping of their own may not have been found */
	uint64_t passed_over_bytes;	/* not looked at: too much address space (target.h) */
	uint64_t unsure_blocks;	/* the heap changed while it was read: at most so many may be wrong */
	bool at_odds;		/* some of these because chains or lists of blocks do not hold, and nothing else explains it */
	uint64_t tcache_key;	/* what free blocks of a tcache have as their second word; 0: not known, or the tcache's own address */
	uint64_t began_ns, ended_ns;	/* CLOCK_MONOTONIC */
};

/* What was learnt of a process's allocator: kept between two looks at it. A zeroed one knows nothing. */
struct glibc {
	uint64_t main_arena, bins_off;
	uint64_t tcache_key;
	/* more, the census's own */
	struct glibc_layout *layout;	/* owned */
};
void glibc__done(struct glibc *g);

/*
 * -ENOENT: no glibc heap is there. -EPROTO: one is, and its layout is not recognised, or the sums differ: the
 * sentence says which. -ENOTSUP: more than one C library is loaded. -EINTR, -ESRCH. *ret is the caller's, census__done().
 */
int census__take(struct target *t, struct glibc *g, struct census *ret, struct err *e);
void census__done(struct census *c);
/* "jemalloc": another allocator that the process has mapped, by its file's name; NULL: none that is known. */
const char *census__other_allocator(const struct target *t);
/* The block that holds an address (anywhere in it), or NULL. */
const struct heap_block *census__find(const struct census *c, uint64_t addr);

#endif
