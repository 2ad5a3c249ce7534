/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * A cut: the kernel's tables at one moment, as plain rows. collect/ makes it,
 * model/ reads it. Every event is in it whole or not at all. Its sites are those of a snapshot (snapshot.h), as far as the tables know them.
 */
#ifndef MT_CUT_H
#define MT_CUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/abi.h"
#include "model/ages.h"
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

struct cut_proc {
	uint32_t proc;
	uint32_t pid;
	uint32_t ended;
	bool live_unknown;	/* --mode leak: what of it is live was not found out for this cut */
	uint64_t started_ns, ended_ns;
	uint64_t unknown_frees, probe_hits, frames;
	uint64_t lost_blocks, lost_stacks, missed_frees;
	uint64_t peak_bytes, peak_ns;
	uint64_t n_untold;	/* threads that ended without a message of their own */
	struct counters untold;
	struct mt_hist hist;
	struct std_error var;	/* of its sites together, where these are no independent estimates; all 0: they are */
};

struct cut_thread {
	uint32_t proc, tid;
	uint64_t probe_hits, frames;
	struct counters c;
};

/* A live block of the block table. */
struct cut_block {
	uint64_t addr, size;
	uint32_t proc;
	uint32_t stands_for;	/* blocks: 1 where all of them are there */
};

struct cut {
	uint64_t now_ns;	/* on the programs' clock */
	struct snap_site *sites;
	size_t n_sites;
	struct cut_proc *procs;
	size_t n_procs;
	struct cut_thread *threads;	/* those that live */
	size_t n_threads;
	struct snap_free *frees;	/* over those of a site, calls and bytes are its own, but for MT_LOST_FREES_FULL */
	size_t n_frees;
	struct snap_site *wheres;	/* that frees name: the process, and the stack, nothing else */
	size_t n_wheres;
	uint64_t counters[MT_N_COUNTERS];
	uint64_t missed_hits;	/* probes hit while their program could not run */
	uint64_t n_inside;	/* threads inside an allocation call */
	uint64_t spot_hits[MT_MAX_SPOTS];	/* by the number of a place that the user named */
	bool scanned;
	bool has_ages;		/* by class too */
	/* some of the live ones, by process and address; the collector's; NULL: not requested */
	const struct cut_block *blocks;
	size_t n_blocks;
};

#endif
