/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Clocks, the units of what they count (nanoseconds), and how long work may take by them. */
#ifndef MT_CLOCK_H
#define MT_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* Signed, so that both kinds of numbers can be divided by them. */
#define US_NS 1000ll
#define MS_NS 1000000ll
#define SECOND_NS 1000000000ll

static inline int64_t timespec_ns(struct timespec t)
{
	return t.tv_sec * SECOND_NS + t.tv_nsec;
}

static inline uint64_t clock_ns(clockid_t clock)
{
	struct timespec t = {};

	clock_gettime(clock, &t);
	return timespec_ns(t);
}

static inline uint64_t now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

static inline int64_t wall_ns(void)
{
	return clock_ns(CLOCK_REALTIME);
}

/*
 * How long a file may be worked on. Files are the targets', and can be made to take for ever: tables that lie over one another,
 * names without an end, lists in circles. Each loop that a file decides the length of asks here whether to leave off.
 *
 * A stint is all that is done with a file at a stretch. It has seconds of CPU time, which no file that somebody uses takes; once
 * such stints have taken many seconds in all, each has less. After a moment it is also over when a user asks for the end.
 */

struct stint {
	bool is_outer;
};

/* To the end of the block that it stands in. One within another is a part of that. */
#define _cleanup_stint_ __attribute__((cleanup(stint__end), unused))

struct stint stint__begin(void);
void stint__end(struct stint *s);
/* One with a time of its own, which takes nothing from others: where a file without an answer would be without probes. */
struct stint stint__begin_for(uint64_t most_ns);
/* True, and from then on: leave off, with what there is. Outside of all stints never. */
bool stint__is_over(void);

/*
 * Work that comes back by itself and takes as long as there is data rests afterwards for as long as it took: it has half of the
 * time and no more, so whatever else there is to do is done, too. Pure arithmetic on times that the caller reads.
 */

struct respite {		/* all zero: nothing was done yet */
	uint64_t until_ns;
	bool put_off;		/* work came meanwhile that is not to wait for its next turn */
};

static inline bool respite__is_over(const struct respite *r, uint64_t now_ns)
{
	return now_ns >= r->until_ns;
}

/* May it be done now? If not it is put off, and whoever comes first after the respite does it. */
static inline bool respite__allows(struct respite *r, uint64_t now_ns)
{
	r->put_off = !respite__is_over(r, now_ns);
	return !r->put_off;
}

/* Work has gone on from began_ns until now; the next does not begin within least_ns of that beginning either. */
static inline void respite__begin(struct respite *r, uint64_t began_ns, uint64_t now_ns, uint64_t least_ns)
{
	uint64_t least = began_ns + least_ns, rested = now_ns + (now_ns - began_ns);

	r->until_ns = least > rested ? least : rested;
}

#endif
