// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns nothing. Whole numbers only: the same text in every locale, and no rounding across 0% and 100%. */
#include "present/figures.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "util/util.h"

typedef unsigned __int128 u128;

#define NS_PER_S 1000000000ull

static uint64_t scaled(uint64_t part, uint64_t whole, uint64_t by)
{
	return (uint64_t)(((u128)part * by + whole / 2) / whole);
}

char *fmt_share(char buf[static FMT_MAX], uint64_t part, uint64_t whole)
{
	uint64_t tenths;

	if (!part || part >= whole) {
		snprintf(buf, FMT_MAX, part ? "100%%" : "0%%");
		return buf;
	}
	tenths = MIN(scaled(part, whole, 1000), 999u);
	if (tenths)
		snprintf(buf, FMT_MAX, "%" PRIu64 ".%" PRIu64 "%%", tenths / 10, tenths % 10);
	else
		snprintf(buf, FMT_MAX, "<0.1%%");
	return buf;
}

char *fmt_percent(char buf[static FMT_MAX], uint64_t part, uint64_t whole)
{
	uint64_t percent;

	if (!part || part >= whole) {
		snprintf(buf, FMT_MAX, part ? "100%%" : "0%%");
		return buf;
	}
	percent = scaled(part, whole, 100);
	if (percent < 1)
		snprintf(buf, FMT_MAX, "<1%%");
	else if (percent > 99)
		snprintf(buf, FMT_MAX, ">99%%");
	else
		snprintf(buf, FMT_MAX, "%" PRIu64 "%%", percent);
	return buf;
}

char *fmt_error(char buf[static FMT_MAX], double error, uint64_t n)
{
	double percent = n ? error * 100 / n : error > 0 ? HUGE_VAL : 0;

	/* four columns; an error may well be larger than its figure */
	if (percent >= 999.5)
		snprintf(buf, FMT_MAX, ">10x");
	else if (percent > 0 && percent < 0.5)
		snprintf(buf, FMT_MAX, "<1%%");
	else
		snprintf(buf, FMT_MAX, "%u%%", (unsigned int)(percent + 0.5));
	return buf;
}

char *fmt_rate(char buf[static FMT_MAX], uint64_t n, uint64_t ns)
{
	char count[FMT_MAX];
	u128 tenths;

	if (!ns) {
		snprintf(buf, FMT_MAX, "-");
		return buf;
	}
	tenths = ((u128)n * 10 * NS_PER_S + ns / 2) / ns;
	if (tenths >= 100)
		snprintf(buf, FMT_MAX, "%s/s", fmt_count(count, (uint64_t)MIN((tenths + 5) / 10, (u128)UINT64_MAX)));
	else if (tenths || !n)
		snprintf(buf, FMT_MAX, "%u.%u/s", (unsigned int)tenths / 10, (unsigned int)tenths % 10);
	else
		snprintf(buf, FMT_MAX, "<0.1/s");
	return buf;
}

char *fmt_oldest(char buf[static FMT_MAX], const struct snap_site *site)
{
	char age[FMT_MAX];

	snprintf(buf, FMT_MAX, "%s%.24s", site->oldest_at_most ? "<" : "", fmt_duration(age, site->oldest_ns));
	return buf;
}

/* One tick of the clock that lifetimes go by: their first class ends there. */
static uint64_t tick_ns(const struct snapshot *s)
{
	uint64_t tick = 0;

	for (size_t i = 0; i < s->n_processes && !recording__is_precise(&s->recording); i++)
		if (s->processes[i].n_lifetimes && (!tick || s->processes[i].lifetimes->below_ns < tick))
			tick = s->processes[i].lifetimes->below_ns;
	return tick;
}

char *fmt_lived(char buf[static FMT_MAX], const struct snapshot *s, uint64_t sum_ns, uint64_t n)
{
	uint64_t mean_ns = n ? sum_ns / n : 0, tick = tick_ns(s);
	char below[FMT_MAX];

	if (mean_ns >= tick)
		return fmt_duration(buf, mean_ns);
	snprintf(buf, FMT_MAX, "<%.24s", fmt_duration(below, tick));
	return buf;
}

char *fmt_of(char buf[static FMT_OF_MAX], uint64_t n, uint64_t all)
{
	char a[FMT_MAX], b[FMT_MAX];

	snprintf(buf, FMT_OF_MAX, "%s of %s", fmt_exact(a, n), fmt_exact(b, all));
	return buf;
}
