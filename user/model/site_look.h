/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* What a look at a process's memory (heap/heap.h) says of the sites of a trace, on its way into a snapshot. */
#ifndef MT_SITE_LOOK_H
#define MT_SITE_LOOK_H

#include "model/snapshot.h"

/* What a look at the process's memory said of the live blocks of a site; not by a cut, but some time before it. */
struct site_look {
	uint32_t proc;
	uint64_t looked_ns;	/* on the programs' clock: a site that is younger has its number from another */
	uint32_t scans;		/* for pointers to them; 0: not searched for, and none is called unreached */
	uint64_t blocks;	/* that were there */
	uint64_t unreached_blocks, unreached_bytes;
	bool partial;		/* snap_unreached__is_partial() */
	const struct snap_share *types;
	size_t n_types;
	uint64_t sampled;	/* blocks that these are of */
	const struct snap_root *held;	/* NULL: not known */
};

/* Into a row that has its look and its counters already. */
void site_look__build(struct snapshot *s, struct snap_site *to);

#endif
