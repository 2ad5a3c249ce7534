/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* The course of live bytes: of the sites that matter, over seconds or over days. For model/ alone. */
#ifndef MT_HISTORY_H
#define MT_HISTORY_H

#include "model/cut.h"
#include "model/snapshot.h"
#include "util/util.h"

/* Points of a course. When it is full, two neighbours become one: those that stand the closest for their age. */
#define COURSE_MAX_POINTS 96
/* Sites that have a course at a time; the others have none, until they matter more. */
#define HISTORY_MAX_SITES 1024

struct course_point {		/* from the point before it up to t_ns */
	uint64_t t_ns;		/* since the trace's start */
	uint64_t live_bytes;	/* at t_ns */
	uint64_t low_bytes, high_bytes;	/* the least and the most that was seen */
	uint64_t low_ns;	/* when it was the least */
	uint64_t live_blocks, low_blocks, high_blocks, low_blocks_ns;	/* the same, of live blocks */
	uint64_t alloc_calls;	/* at t_ns, since the trace's start */
	uint64_t began_ns;	/* what it was made at: t_ns, unless another one took its place */
};

struct course {			/* all zero: empty; points in order of time */
	struct vec(struct course_point) points;
};

void course__done(struct course *c);
/* A point within a tenth of a second of the last one takes its place. */
void course__add(struct course *c, uint64_t t_ns, uint64_t live_bytes, uint64_t live_blocks, uint64_t alloc_calls);
#define QUARTERS 4
/* Of what each quarter has more than the one before: all rise, and by about as much. */
bool quarters__climb(const double rates[static QUARTERS - 1]);
/*
 * From a time on: is the least of each quarter of it higher than that of the one before, by about as
 * much a second? What comes in between and goes again, or came before, makes no difference. By how
 * much: from the first quarter to the last.
 */
bool course__climbs(const struct course_point *v, size_t n, uint64_t from_ns, double *ret_bytes, double *ret_per_s);
/* A process's timeline as a course. */
void course__of_timeline(struct course *c, const struct snap_point *v, size_t n);

struct site_course {
	uint32_t site, proc;	/* whose it is: numbers are given again, with another first_ns */
	uint64_t first_ns;
	uint64_t wanted_at;	/* the last note at which the site was among those that matter */
	struct course course;
};

struct site_base {		/* of what: as above; all zero: nothing */
	uint32_t proc, pad;
	uint64_t first_ns;
	double live_bytes;	/* of late, smoothed */
	uint64_t rate_ns, rate_calls;	/* since the trace's start: from here on the next rate is measured */
	uint64_t most_calls_per_s;
};

struct history {		/* all zero: empty */
	struct vec(struct site_course) sites;	/* at most HISTORY_MAX_SITES */
	struct vec(uint32_t) slot_of;	/* by site number: 1 + index of sites; 0: none */
	struct vec(struct site_base) base;	/* by site number */
	struct vec(uint64_t) keys;	/* scratch, for choosing */
	struct vec(bool) wanted;	/* by row of the cut: it matters */
	uint64_t n_notes, noted_ns;	/* when the last one was */
	size_t hand;		/* where a slot was last looked for */
};

void history__done(struct history *h);
/* A cut was taken at t_ns since the trace's start. */
void history__note(struct history *h, const struct cut *cut, uint64_t t_ns);
/* NULL: it has none. Holds until the next note. */
const struct course *history__of_site(const struct history *h, const struct snap_site *site);
/* Allocations in the second that had most of them; 0: not measured yet. */
uint64_t history__most_calls_per_s(const struct history *h, const struct snap_site *site);

#endif
