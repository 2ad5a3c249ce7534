/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * A cut: the kernel's tables at one moment, as plain rows. collect/ makes it,
 * model/ reads it. Every event is in it whole or not at all.
 */
#ifndef MT_CUT_H
#define MT_CUT_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/abi.h"
#include "model/ages.h"
#include "model/site_look.h"

/* Variances of estimated figures; all 0 where every event was recorded. */
struct cut_error {
	double alloc_calls, alloc_bytes, live_blocks, live_bytes;
};
/* Nor is it of any sum that has such a figure in it. */
#define CUT_ERROR_UNKNOWN INFINITY

static inline void cut_error__add(struct cut_error *sum, const struct cut_error *e)
{
	sum->alloc_calls += e->alloc_calls;
	sum->alloc_bytes += e->alloc_bytes;
	sum->live_blocks += e->live_blocks;
	sum->live_bytes += e->live_bytes;
}

/* The spare site, for what found no room, is of any function. */
#define CUT_FUNC_SPARE MT_MAX_FUNCS

struct cut_site {
	/*
	 * its number in the kernel's tables, which is given again; of a row of stacks that were given up one that no table has, the
	 * same for all such rows of a process
	 */
	uint32_t site;
	uint32_t proc, func;
	uint32_t tid;		/* --by thread: whose it is; else 0 */
	uint64_t n_evicted;	/* stacks that held nothing and gave up their room: it is the sum of so many; 0: a site */
	uint64_t hash;		/* of process, function and stack; 0: spare */
	struct mt_counts counts;	/* estimates already, where figures are scaled */
	union {
		uint64_t cross_frees;	/* of counts.free_calls: by another thread than the one that allocated */
		uint64_t guessed_calls;	/* --mode growth, of counts.alloc_calls: page faults whose size is a guess */
	};
	struct mt_moves moves;	/* all 0 where some blocks are skipped */
	struct cut_error var;
	uint64_t peak_bytes, at_peak_bytes;
	bool peak_at_most;	/* a sum of several peaks, which need not have been at one time */
	uint64_t min_size, max_size;
	uint64_t first_ns, last_ns;	/* on the programs' clock */
	uint64_t most_calls_per_s;	/* of a site that left the tables; of others the history knows */
	const uint64_t *frames;	/* in the kernel's table: holds until the trace is closed */
	uint32_t n_frames;
	uint8_t end;
	/* when this stack was first met, by CLOCK_MONOTONIC: the code that it goes through is that of then */
	uint64_t met_ns;
	/* of the block table */
	uint64_t oldest_born_ns;	/* 0: no live block seen */
	/* without a scan: all that is known is that none is older, see scan__oldest_born_ns() */
	bool oldest_at_most;
	/* of a scan */
	uint64_t scan_blocks, scan_bytes;
	uint64_t older_blocks, older_bytes;
	struct cut_age *ages;	/* the collector's: they hold until the next cut. NULL: none */
	struct cut_look look;
};

static inline void moves__add(struct mt_moves *sum, const struct mt_moves *m)
{
	sum->calls += m->calls;
	sum->moved_calls += m->moved_calls;
	sum->moved_bytes += m->moved_bytes;
	sum->grown_calls += m->grown_calls;
	sum->grown_bytes += m->grown_bytes;
	sum->shrunk_calls += m->shrunk_calls;
	sum->doubled_calls += m->doubled_calls;
	if (m->longest > sum->longest)
		sum->longest = m->longest;
}

static inline bool cut_site__is_live(const struct cut_site *s)
{
	return s->counts.alloc_calls != s->counts.free_calls;
}

/* What is reported of two sites as if they were one. */
static inline void cut_site__add(struct cut_site *sum, const struct cut_site *s)
{
	__u64 *to = (__u64 *)&sum->counts;
	const __u64 *from = (const __u64 *)&s->counts;
	bool had = sum->counts.alloc_calls, has = s->counts.alloc_calls;

	/* a smallest block is known where there was one */
	if (has && (!had || s->min_size < sum->min_size))
		sum->min_size = s->min_size;
	if (s->max_size > sum->max_size)
		sum->max_size = s->max_size;
	if (s->first_ns && (!sum->first_ns || s->first_ns < sum->first_ns))
		sum->first_ns = s->first_ns;
	if (s->last_ns > sum->last_ns)
		sum->last_ns = s->last_ns;
	if (s->most_calls_per_s > sum->most_calls_per_s)
		sum->most_calls_per_s = s->most_calls_per_s;
	if (s->oldest_born_ns && (!sum->oldest_born_ns || s->oldest_born_ns < sum->oldest_born_ns)) {
		sum->oldest_born_ns = s->oldest_born_ns;
		sum->oldest_at_most = s->oldest_at_most;
	}
	for (size_t i = 0; i < sizeof(sum->counts) / sizeof(*to); i++)
		to[i] += from[i];
	sum->n_evicted += s->n_evicted;
	moves__add(&sum->moves, &s->moves);
	cut_look__add(&sum->look, &s->look);
	sum->cross_frees += s->cross_frees;
	if (sum->tid != s->tid)
		sum->tid = 0;
	cut_error__add(&sum->var, &s->var);
	sum->peak_at_most |= s->peak_at_most || (sum->peak_bytes && s->peak_bytes);
	sum->peak_bytes += s->peak_bytes;
	sum->at_peak_bytes += s->at_peak_bytes;
	sum->scan_blocks += s->scan_blocks;
	sum->scan_bytes += s->scan_bytes;
	sum->older_blocks += s->older_blocks;
	sum->older_bytes += s->older_bytes;
	for (struct cut_age **at = &sum->ages;; at = &(*at)->next)
		if (!*at) {
			*at = s->ages;
			break;
		}
}

/* --free-stacks: frees of a site's blocks, by place and by thread. */
struct cut_free {
	uint32_t site, where;	/* numbers in the kernel's tables */
	uint32_t tid;		/* 0: threads are not kept apart here */
	uint64_t calls, bytes, cross_calls;
	uint64_t lifetime_ns;	/* sum; as it is at this moment */
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
	struct mt_thread_counts untold;
	struct mt_hist hist;
	struct cut_error var;	/* of its sites together, where these are no independent estimates; all 0: they are */
};

struct cut_thread {
	uint32_t proc, tid;
	uint64_t probe_hits, frames;
	struct mt_thread_counts counts;
};

/* A live block of the block table. */
struct cut_block {
	uint64_t addr, size;
	uint32_t proc;
	uint32_t stands_for;	/* blocks: 1 where all of them are there */
};

struct cut {
	uint64_t now_ns;	/* on the programs' clock */
	struct cut_site *sites;
	size_t n_sites;
	struct cut_proc *procs;
	size_t n_procs;
	struct cut_thread *threads;	/* those that live */
	size_t n_threads;
	struct cut_free *frees;	/* over those of a site, calls and bytes are its own, but for MT_LOST_FREES_FULL */
	size_t n_frees;
	struct cut_site *wheres;	/* that frees name: the process, and the stack, nothing else */
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
