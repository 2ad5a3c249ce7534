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

/* The same of a row: one site's, or that of several with the same stack. */
struct cut_look {
	uint64_t blocks, unreached_blocks, unreached_bytes;
	const struct site_look *most;	/* of the one that has the most blocks; NULL: there was no look */
};

static inline void cut_look__add(struct cut_look *sum, const struct cut_look *l)
{
	if (l->most && (!sum->most || l->most->blocks > sum->most->blocks))
		sum->most = l->most;
	sum->blocks += l->blocks;
	sum->unreached_blocks += l->unreached_blocks;
	sum->unreached_bytes += l->unreached_bytes;
}

/* Into a row, whose counters are there already. */
void cut_look__build(struct snapshot *s, const struct cut_look *look, struct snap_site *to);

#endif
