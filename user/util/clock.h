/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Clocks, and the units of what they count: nanoseconds. */
#ifndef MT_CLOCK_H
#define MT_CLOCK_H

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

#endif
