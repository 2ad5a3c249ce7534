/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * A cut: the kernel's tables at one moment, as plain rows. collect/ makes it,
 * model/ reads it. Every event is in it whole or not at all.
 */
#ifndef MT_CUT_H
#define MT_CUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/abi.h"

/* Variances of estimated figures; all 0 where every event was recorded. */
struct cut_error {
	double alloc_calls, alloc_bytes, live_blocks, live_bytes;
};

struct cut_site {
	uint32_t site;		/* its number in the kernel's tables */
	uint32_t proc, func;	/* func MT_MAX_FUNCS: the spare site, of any function */
	uint32_t tid;		/* --by thread: whose it is; else 0 */
	struct mt_counts counts;	/* estimates already, where figures are scaled */
	uint64_t cross_frees;	/* of counts.free_calls: by another thread than the one that allocated */
	struct cut_error var;
	uint64_t peak_bytes, at_peak_bytes;
	uint64_t min_size, max_size;
	uint64_t first_ns, last_ns;	/* on the programs' clock */
	const uint64_t *frames;	/* in the kernel's table: holds until the trace is closed */
	uint32_t n_frames;
	uint8_t end;
	/* of the block table; without a scan not exact: see scan__oldest_born_ns() */
	uint64_t oldest_born_ns;	/* 0: no live block seen */
	/* of a scan */
	uint64_t scan_blocks, scan_bytes;
	uint64_t older_blocks, older_bytes;
};

struct cut_proc {
	uint32_t proc;
	uint32_t pid;
	uint32_t ended;
	uint64_t started_ns, ended_ns;
	uint64_t unknown_frees, probe_hits, frames;
	uint64_t peak_bytes, peak_ns;
	struct mt_hist hist;
};

struct cut_thread {
	uint32_t proc, tid;
	uint64_t probe_hits, frames;
	struct mt_thread_counts counts;
};

struct cut {
	uint64_t now_ns;	/* on the programs' clock */
	struct cut_site *sites;
	size_t n_sites;
	struct cut_proc *procs;
	size_t n_procs;
	struct cut_thread *threads;	/* those that live */
	size_t n_threads;
	uint64_t counters[MT_N_COUNTERS];
	uint64_t missed_hits;	/* probes hit while their program could not run */
	uint64_t n_inside;	/* threads inside an allocation call */
	bool scanned;
};

#endif
