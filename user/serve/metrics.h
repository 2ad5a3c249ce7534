/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Snapshot → what Prometheus reads. What is counted over the lives of processes is remembered here, so that it never becomes less
 * when processes end and their rows are folded.
 */
#ifndef MT_METRICS_H
#define MT_METRICS_H

#include <stdio.h>

#include "model/snapshot.h"

struct metrics;

/* What malloctrace knows of its own work, beside the snapshot. */
struct metrics_own {
	uint64_t snapshot_ns;		/* what it took to take the snapshot of this scrape */
	uint64_t n_requests;		/* answered so far */
	uint64_t probe_hits;		/* the most that a snapshot had: while a process is put away, one may lack some of its */
	const char *const *profiles;	/* files that conditions have written, the newest ones that are still there */
	size_t n_profiles, n_kept;	/* of those; of all */
	uint64_t profile_bytes;		/* of all */
};

struct metrics *metrics__new(void);
void metrics__free(struct metrics *m);
/* The caller looks for errors of out. */
void metrics__write(struct metrics *m, FILE *out, const struct snapshot *s, const struct metrics_own *own);

/* Names of comms and cgroups at a time; what others did is called `other`. */
#define METRICS_NAMES 50
#define METRICS_OTHER "other"

#endif
