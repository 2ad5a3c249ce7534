// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Judges what a process has in memory and in swap by its timeline, so that a trace and a file of it come to the same result.
 * What always holds: too few points give no judgement, only the change. A process need not allocate by a probed function to
 * grow: without this, "nothing grows" would be said of live blocks alone.
 */
#include "model/rss_trend.h"

#include <stdio.h>
#include <string.h>

#include "model/judge.h"
#include "util/parse.h"
#include "util/util.h"

#define MIN_POINTS 5
#define MIN_SPAN_NS (4 * SECOND_NS)
/* The kernel counts pages per CPU and adds them up late: a climb of less may be that. */
#define CLIMB_BYTES (256ull << 10)
#define CREEP_LEAST_BYTES (16ull << 10)
/* Higher by so much than in all of the first half: no rest, though it may have been a single step. */
#define STEP_BYTES (128ull << 10)
#define STEP_PART 256	/* of what was resident then */
#define EVEN_POINTS 16	/* from which on quarters of the later half are judged */
#define FREED_PCT 95	/* of live memory: a process that freed so much before it ended kept nothing that matters */

COMPARATOR(by_bytes, int64_t, ORDER(*a, *b))

static uint64_t used_then(const struct snap_point *p, enum rss_of of)
{
	uint64_t used = p->rss_bytes + p->swap_bytes + p->hugetlb_bytes;

	return of == RSS_PAGE_TABLES ? p->table_bytes : of == RSS_WITHOUT_FILES ? used - MIN(p->file_bytes, used) : used;
}

/* The timeline with used memory in place of live bytes; points at which that was not read are left out. */
static void course_of(const struct snap_process *p, enum rss_of of, struct course *c)
{
	_cleanup_free_ struct snap_point *v = xcalloc(p->n_timeline + 1, sizeof(*v));
	size_t n = 0;

	for (size_t i = 0; i < p->n_timeline; i++)
		if (p->timeline[i].rss_bytes)
			v[n++] = (struct snap_point){ .t_ns = p->timeline[i].t_ns, .live_bytes = used_then(&p->timeline[i], of) };
	course__of_timeline(c, v, n);
}

/*
 * What is used and not live, by quarters of the time: live memory that goes up and down hides that it climbs. Medians,
 * for the two are not read at the same instant. What live memory falls by meanwhile is kept by the allocator.
 */
static bool rest_climbs(const struct snap_process *p, enum rss_of of)
{
	_cleanup_free_ int64_t *rest = xcalloc(p->n_timeline + 1, sizeof(*rest));
	int64_t median[QUARTERS], first = INT64_MAX, last = INT64_MIN, climbed;
	uint64_t least_live[QUARTERS] = { UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX };
	size_t n = p->n_timeline, from[QUARTERS + 1];
	double rates[QUARTERS - 1];

	if (n < QUARTERS * 2 || of == RSS_PAGE_TABLES)
		return false;
	for (size_t k = 0; k <= QUARTERS; k++)
		from[k] = (n * k + QUARTERS - 1) / QUARTERS;
	for (size_t k = 0; k < QUARTERS; k++)
		for (size_t i = from[k]; i < from[k + 1]; i++) {
			if (!p->timeline[i].rss_bytes)
				return false;
			least_live[k] = MIN(least_live[k], p->timeline[i].live_bytes);
			rest[i] = (int64_t)used_then(&p->timeline[i], of) - (int64_t)p->timeline[i].live_bytes;
			if (k == 0)
				first = MIN(first, rest[i]);
			if (k == QUARTERS - 1)
				last = MAX(last, rest[i]);
		}
	/* medians cannot be further apart: most processes need no sorting */
	if (last - first < (int64_t)CLIMB_BYTES)
		return false;
	for (size_t k = 0; k < QUARTERS; k++) {
		qsort(rest + from[k], from[k + 1] - from[k], sizeof(*rest), by_bytes);
		median[k] = rest[(from[k] + from[k + 1]) / 2];
		if (k)
			rates[k - 1] = (double)(median[k] - median[k - 1]);
	}
	climbed = median[QUARTERS - 1] - median[0];
	return climbed >= (int64_t)CLIMB_BYTES && quarters__climb(rates) &&
	       least_live[0] < least_live[QUARTERS - 1] + (uint64_t)climbed / 2;
}

/* So much in a minute, less in less time; a page or two come by chance. */
static uint64_t creep_limit(uint64_t span_ns)
{
	return MAX(RSS_CREEP_BYTES * (double)MIN(span_ns, 60 * SECOND_NS) / (60.0 * SECOND_NS), CREEP_LEAST_BYTES);
}

static bool climbs(struct rss_trend *r, const struct course *c, uint64_t from_ns, uint64_t at_least)
{
	double bytes, per_s;

	if (!course__climbs(c->points.v, c->points.n, from_ns, &bytes, &per_s) || bytes < at_least)
		return false;
	r->climb_bytes_per_s = per_s;
	return true;
}

/* Whatever was before: a drop, or a peak that has gone. Of few points the last are all that there is to go by. */
static bool climbs_lately(struct rss_trend *r, const struct course *c, uint64_t middle_ns)
{
	const struct course_point *v = c->points.v, *last = &v[c->points.n - 1];
	uint64_t limit = creep_limit(last->t_ns - v->t_ns);

	if (c->points.n >= EVEN_POINTS)
		return climbs(r, c, middle_ns, limit / 2);
	while (v->t_ns < middle_ns)
		v++;
	if (last->low_bytes >= c->points.v->low_bytes + limit)
		return last->low_bytes >= v->low_bytes + limit / 2;
	return last->low_bytes > v->low_bytes + limit / 2;
}

static void judge_course(struct rss_trend *r, const struct course *c)
{
	const struct course_point *v = c->points.v, *last = &v[c->points.n - 1];
	uint64_t middle_ns = (v->t_ns + last->t_ns) / 2, most_before = 0, now = last->live_bytes;
	int64_t later;

	for (size_t i = 0; i < c->points.n && v[i].t_ns <= middle_ns; i++)
		most_before = MAX(most_before, v[i].high_bytes);
	later = (int64_t)(now - most_before);
	r->grows = later >= (int64_t)r->notable_bytes ||
		   (later >= (int64_t)CLIMB_BYTES / 2 && r->change_bytes >= (int64_t)CLIMB_BYTES && judge__climbs(c)) ||
		   climbs(r, c, v->t_ns, CLIMB_BYTES);
	r->creeps = !r->grows && (later >= (int64_t)MAX(STEP_BYTES, most_before / STEP_PART) ||
				  (later > 0 && r->change_bytes >= (int64_t)RSS_CREEP_BYTES && judge__climbs(c)) ||
				  climbs_lately(r, c, middle_ns));
	r->rests = !r->grows && !r->creeps && later < (int64_t)(r->notable_bytes / 4);
	for (size_t i = c->points.n; i-- > 0 && v[i].low_bytes + r->notable_bytes / 4 > now;)
		r->rest_ns = last->t_ns - v[i].t_ns;
}

/* A process that has ended holds nothing now: its RSS is explained by what was live when RSS was last read. */
static uint64_t live_when_read(const struct snap_process *p)
{
	if (!p->ended)
		return process__running_bytes(p);
	for (size_t i = p->n_timeline; i-- > 0;)
		if (p->timeline[i].rss_bytes)
			return p->timeline[i].live_bytes;
	return p->c.live_bytes;
}

/* Where live memory explains less than half of the change, the rest was not seen to be freed. */
static bool was_freed(const struct snap_process *p, const struct rss_trend *r)
{
	return p->ended && r->live_bytes && r->change_bytes <= 2 * (int64_t)r->live_bytes &&
	       p->c.live_bytes <= r->live_bytes / 100 * (100 - FREED_PCT);
}

int64_t rss_trend__change(const struct snap_process *p)
{
	return p->rss_bytes && process__used_at_attach(p) ? (int64_t)(process__used_bytes(p) - process__used_at_attach(p)) : 0;
}

/* Where only the sum was read, all others stand still. */
static int64_t change_of(const struct snap_process *p, enum rss_of of)
{
	int64_t tables = (int64_t)(p->table_bytes - p->table_at_attach_bytes), files = (int64_t)(p->file_bytes - p->file_at_attach_bytes);

	if (of == RSS_SUM)
		return rss_trend__change(p);
	if (!p->table_at_attach_bytes || !p->table_bytes)
		return 0;
	return of == RSS_PAGE_TABLES ? tables : rss_trend__change(p) - files;
}

static struct rss_trend trend_of(const struct snap_process *p, enum rss_of of)
{
	const struct snap_point *v = p->timeline;
	struct rss_trend r = { .of = of };
	struct course c = {};

	if (!p->rss_bytes || !process__used_at_attach(p) || !p->n_timeline)
		return r;
	r.known = true;
	r.swap = p->swap_bytes || p->swap_at_attach_bytes;
	r.hugetlb = p->hugetlb_bytes || p->hugetlb_at_attach_bytes;
	r.sum_bytes = rss_trend__change(p);
	r.change_bytes = change_of(p, of);
	/* it was read before the first point */
	r.span_ns = p->age_at_attach_ns ? v[p->n_timeline - 1].t_ns : v[p->n_timeline - 1].t_ns - v->t_ns;
	r.notable_bytes = rss_trend__notable(process__used_at_attach(p));
	r.rests = r.change_bytes < (int64_t)r.notable_bytes / 4;
	course_of(p, of, &c);
	if (c.points.n >= MIN_POINTS && c.points.v[c.points.n - 1].t_ns - c.points.v->t_ns >= MIN_SPAN_NS) {
		judge_course(&r, &c);
		r.creeps |= !r.grows && rest_climbs(p, of);
		r.rests &= !r.creeps;
	} else
		r.creeps = r.change_bytes > (int64_t)creep_limit(r.span_ns);
	/* in a row of several, the sum also rises where a process starts: the verdicts of its processes say which of them grow */
	r.grows &= p->n_members < 2;
	r.live_bytes = live_when_read(p);
	r.freed = was_freed(p, &r);
	r.grows &= !r.freed;
	r.creeps &= !r.freed && p->n_members < 2;
	r.rests |= r.freed;
	course__done(&c);
	return r;
}

static int severity(const struct rss_trend *r)
{
	return r->grows ? 2 : rss_trend__may_grow(r);
}

struct rss_trend rss_trend__of(const struct snap_process *p)
{
	struct rss_trend r = trend_of(p, RSS_SUM), other;

	for (enum rss_of of = RSS_WITHOUT_FILES; r.known && of <= RSS_PAGE_TABLES; of++) {
		int64_t change = change_of(p, of);

		/* where pages of files came, the sum says more */
		if (change < (int64_t)r.notable_bytes || (of == RSS_WITHOUT_FILES && change <= r.sum_bytes))
			continue;
		other = trend_of(p, of);
		if (severity(&other) > severity(&r))
			r = other;
	}
	return r;
}

static const char *sum_name(const struct rss_trend *r)
{
	if (r->swap)
		return r->hugetlb ? "RSS, swap and huge pages" : "RSS and swap";
	return r->hugetlb ? "RSS and huge pages" : "RSS";
}

const char *rss_trend__name(const struct rss_trend *r)
{
	static const char *const without_files[2][2] = {
		{ "RSS without files", "RSS and huge pages without files" },
		{ "RSS and swap without files", "RSS, swap and huge pages without files" }
	};

	return r->of == RSS_PAGE_TABLES ? "page tables" : r->of ? without_files[r->swap][r->hugetlb] : sum_name(r);
}

char *rss_trend__words(char buf[static RSS_TREND_MAX], const struct rss_trend *r)
{
	const char *name = rss_trend__name(r), *s = r->swap || r->hugetlb || r->of == RSS_PAGE_TABLES ? "" : "s";
	uint64_t n = r->change_bytes < 0 ? -(uint64_t)r->change_bytes : (uint64_t)r->change_bytes;
	/* of a process that ended before a second point was read, the span is not known */
	const char *in = r->span_ns ? " in " : "", *span = r->span_ns ? DURATION(r->span_ns) : "";

	*buf = 0;
	if (!r->known)
		return buf;
	if (r->change_bytes <= 0 && r->climb_bytes_per_s >= 1)
		snprintf(buf, RSS_TREND_MAX, "%s rise%s by %s/s, after %s fell (%s%s in %s)", name, s, BYTES((uint64_t)r->climb_bytes_per_s),
			 *s ? "it" : "they", n ? "-" : "±", BYTES(n), DURATION(r->span_ns));
	else if (n)
		snprintf(buf, RSS_TREND_MAX, "%s %s%s%s%s", name, r->change_bytes < 0 ? "-" : "+",
			 BYTES(n), in, span);
	else
		snprintf(buf, RSS_TREND_MAX, "%s unchanged%s%s", name, in, span);
	if (r->of)
		snprintf(buf + strlen(buf), RSS_TREND_MAX - strlen(buf), " (%s %s%s)", sum_name(r), r->sum_bytes < 0 ? "-" : "+",
			 BYTES(r->sum_bytes < 0 ? -(uint64_t)r->sum_bytes : (uint64_t)r->sum_bytes));
	return buf;
}
