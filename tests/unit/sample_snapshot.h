/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* A fixed snapshot that holds one of everything, for tests of views and exports. */
#ifndef MT_SAMPLE_SNAPSHOT_H
#define MT_SAMPLE_SNAPSHOT_H

#include "model/snapshot.h"

enum sample_flag {
	SAMPLE_SINGLE = 1,	/* the first process alone */
	SAMPLE_LOSSES = 2,	/* something was lost */
	SAMPLE_PARTIAL = 4,	/* --min-size 64 */
	SAMPLE_OLDER = 8,	/* --older 10s */
	SAMPLE_EMPTY = 16,	/* one process that allocated nothing */
	SAMPLE_UNNAMED = 32,	/* names were not looked up */
	SAMPLE_COUNT = 64,	/* --mode count: calls and bytes alone are known */
	SAMPLE_ESTIMATED = 128,	/* --sample 512K */
	SAMPLE_GROWTH = 256,	/* --mode growth: the functions are page_fault, brk and mmap in turn */
	SAMPLE_HEAP = 1 << 14,	/* the block table was visited, and the processes' memory: ages */
	SAMPLE_MANY = 512,	/* nine processes: workers, a container, children, what was folded */
};

struct snapshot *sample__new(unsigned int flags);
/* What `-a` has beside SAMPLE_MANY: the machine's memory, limits of cgroups. */
struct snapshot *sample__machine(void);
/* The first process, with a jump in its histories, marks, tags, frees, moves, ages and its memory. */
struct snapshot *sample__asked(void);
/* One process with that many sites, and about five times as many frames in its call tree. */
struct snapshot *sample__big(size_t n_sites);

enum sample_heap_flag {
	HEAP_SEARCHED = 1,	/* --reachable: three scans, and --roots */
	HEAP_OLDER = 2,		/* a trace told which blocks are older than it */
	HEAP_REFUSED = 4,	/* the layout was not recognised: the rest of resident memory alone */
	HEAP_QUIET = 8,		/* searched, and nothing was found */
};
/* What a look at a process's heap found; process: an index. Each call adds one. */
void sample__add_heap(struct snapshot *s, uint32_t process, unsigned int flags);
/* What `malloctrace heap` has: a process that was not traced, and its heap. */
struct snapshot *sample__heap_alone(unsigned int flags);

#endif
