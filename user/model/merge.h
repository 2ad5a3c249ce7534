/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Adding up the figures of several processes or sites. */
#ifndef MT_MERGE_H
#define MT_MERGE_H

#include "model/snapshot.h"

/*
 * Peaks of several fall on different moments, and of these moments the others'
 * live totals are not known: their sum, which no instant may have seen, is an
 * upper bound. A site's share of it is the sum of its shares, so that the sites
 * of a group still add up to it as those of a process do.
 */
void counters__add(struct counters *sum, const struct counters *c);
void counters__add_counts(struct counters *sum, const struct counters *c);	/* all but the peak */
/* Takes c from *left, as far as it has that, and hands back what was taken: a raw snapshot may be older than a message. */
struct counters counters__take(struct counters *left, const struct counters *c);
struct counters counters__of_site(const struct mt_counts *c);
struct counters counters__of_thread(const struct mt_thread_counts *c);
/* Of what both know. */
void memory__add(struct snap_memory *sum, const struct snap_memory *m);
void std_error__add(struct std_error *sum, const struct std_error *e);	/* of independent estimates: variances add up */
void site__add(struct snap_site *sum, const struct snap_site *site);	/* all but stack, history and who it is; also of raw rows */
int verdict__compare(const char *a, const char *b);	/* below 0: a is the worse one */
bool verdict__is_alarm(const char *verdict);	/* leak, suspect, growing; NULL: no */
/* The verdict of the other one, with its reasons, if that is more alarming. */
void trend__worsen(struct trend *t, const struct trend *other);
/* Growth adds up; the verdict is the most alarming. */
void trend__add(struct trend *sum, const struct trend *t);
/* The reason is that of the most alarming one, too: of n it says so. In the arena of s. */
const char *trend__why_among(struct snapshot *s, const struct trend *t, size_t n_alike, size_t n);

/* A timeline, and whether it stopped because its process has ended. */
struct timeline {
	const struct snap_point *v;
	size_t n;
	bool ended;
};

/*
 * Their sum: at each moment that any of them has, the last that each had
 * by then. What was live at a process's end stays, its RSS goes. Points become
 * fewer beyond TIMELINE_MAX; the last one always is. In the arena of s.
 */
#define TIMELINE_MAX 1024
void timelines__add_up(struct snapshot *s, const struct timeline *v, size_t n, const struct snap_point **ret,
		      size_t *ret_n);

/* Histograms of n processes, class by class, in the arena of s. */
void histograms__add_up(struct snapshot *s, const struct snap_process *const *v, size_t n, struct snap_process *to);

#endif
