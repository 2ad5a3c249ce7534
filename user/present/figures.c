// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns nothing. Whole numbers only: the same text in every locale, and no rounding across 0% and 100%. */
#include "present/figures.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/group.h"
#include "model/rss_trend.h"
#include "present/columns.h"
#include "util/parse.h"
#include "util/text.h"
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

/* ---- figures of a process or a site */

/*
 * Figures of a process or a site that several tables and lines tell. What always holds:
 * what is not known is NAN, 0 or NULL, never a guess.
 */

#define ID_SHOWN 12	/* of a container's, as its own tools show it */

double process__grown_bytes(const struct snapshot *s, const struct snap_process *p, const struct rss_trend *r)
{
	double seconds = (double)s->duration_ns / NS_PER_S;
	double live = p->trend.known ? p->trend.growth_bytes_per_s * seconds : (double)p->c.live_bytes;

	return r->grows ? MAX(live, (double)r->change_bytes) : live;
}

double process__growth(const struct snap_process *p)
{
	const struct snap_point *first = p->timeline, *last;

	if (p->ended)
		return NAN;
	if (p->trend.known)
		return p->trend.growth_bytes_per_s;
	if (p->n_timeline < 2)
		return NAN;
	last = &p->timeline[p->n_timeline - 1];
	if (last->t_ns <= first->t_ns)
		return NAN;
	return ((double)last->live_bytes - (double)first->live_bytes) * NS_PER_S / (double)(last->t_ns - first->t_ns);
}

double site__growth_order(const struct snap_site *site)
{
	if (site->trend.known)
		return site->trend.growth_bytes_per_s;
	return site->oldest_ns ? (double)site->c.live_bytes * NS_PER_S / (double)MAX(site->oldest_ns, SECOND_NS) : NAN;
}

uint64_t process__traced_ns(const struct snapshot *s, const struct snap_process *p)
{
	int64_t since_start = s->wall_now_ns - p->wall_started_ns;

	if (p->ended)
		return 0;
	if (p->wall_started_ns && since_start > 0)
		return MIN(s->duration_ns, (uint64_t)since_start);
	return s->duration_ns;
}

uint64_t process__age_ns(const struct snapshot *s, const struct snap_process *p)
{
	if (p->ended)
		return 0;
	if (p->wall_started_ns && s->wall_now_ns > p->wall_started_ns)
		return (uint64_t)(s->wall_now_ns - p->wall_started_ns);
	return p->age_at_attach_ns + s->duration_ns;
}

const char *process__number(const struct snapshot *s, const struct snap_process *p, char buf[static PROCESS_NUMBER_MAX])
{
	char a[FMT_MAX];

	*buf = 0;
	if (p->n_members > 1 && snapshot__is_grouped(s))
		snprintf(buf, PROCESS_NUMBER_MAX, " (%s processes)", fmt_exact(a, p->n_members));
	else if (p->pid > 0)
		snprintf(buf, PROCESS_NUMBER_MAX, " (%d)", p->pid);
	return buf;
}

#define NAME_COLS 48	/* of four bytes each at most */

const char *process__name(const struct snapshot *s, const struct snap_process *p, char buf[static PROCESS_NAME_MAX])
{
	char number[PROCESS_NUMBER_MAX];

	snprintf(buf, PROCESS_NAME_MAX, "%.*s%s", (int)text_head(p->comm, NAME_COLS), p->comm, process__number(s, p, number));
	return buf;
}

const char *process__where(const struct snap_process *p, char buf[static CELL_MAX])
{
	static const char usual[] = ".service";
	const char *tail;

	if (p->unit) {
		size_t len = strlen(p->unit), end = sizeof(usual) - 1;

		if (len <= end || len - end >= CELL_MAX || strcmp(p->unit + len - end, usual))
			return p->unit;
		snprintf(buf, CELL_MAX, "%.*s", (int)(len - end), p->unit);
		return buf;
	}
	if (p->pod)
		return p->pod;
	if (p->container) {
		/* a name is one as it is */
		if (p->container[strspn(p->container, "0123456789abcdef")])
			return p->container;
		snprintf(buf, CELL_MAX, "%.*s", ID_SHOWN, p->container);
		return buf;
	}
	if (!p->cgroup || !strcmp(p->cgroup, "/"))
		return p->cgroup;
	tail = path_basename(p->cgroup);
	/* a number that some engine gave */
	if (strlen(tail) > 2 * ID_SHOWN && !tail[strspn(tail, "0123456789abcdef")]) {
		snprintf(buf, CELL_MAX, "%.*s", ID_SHOWN, tail);
		return buf;
	}
	return *tail ? tail : p->cgroup;
}

char *fmt_change(char buf[static CELL_MAX], double bytes)
{
	char a[FMT_MAX];
	double size = round(fabs(bytes));

	fmt_bytes(a, size >= 0x1p63 ? UINT64_MAX : (uint64_t)size);
	snprintf(buf, CELL_MAX, "%s%s", size < 1 ? "" : bytes < 0 ? "-" : "+", a);
	return buf;
}
