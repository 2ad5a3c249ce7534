/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* The block table, visited entry by entry: ages, and the proof that the counters are right. */
#ifndef MT_SCAN_H
#define MT_SCAN_H

#include "model/cut.h"

/* The kernel's tables, mapped read-only. */
struct tables {
	const struct mt_bucket *buckets;
	uint64_t n_buckets;
	const struct mt_site *sites;
	const struct mt_counts *counts;
	const uint64_t *words;
	const struct mt_proc *procs;
	const struct mt_hist *hists;
	const struct mt_thread *threads;
	uint32_t n_threads;
	int overflow_fd;
};

/* Fills the scan's part of each row. row_of_site: row + 1 by site number, 0 for none. */
void scan__blocks(const struct tables *t, struct cut *cut, const uint32_t *row_of_site, uint32_t n_sites,
		  uint64_t older_ns);

#endif
