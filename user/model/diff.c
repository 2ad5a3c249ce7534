// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns what changed from row to row. What always holds: each site is in
 * one row, so the rows of a column add up to that profile; the order is the
 * same for the same two files.
 */
#include "model/diff.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "bpf/abi.h"
#include "model/match.h"
#include "util/clock.h"

/* Durations that differ by less are the same. */
#define SAME_DURATION 1.1

static bool is_live(const struct metric *m)
{
	return !strcmp(m->name, "live-bytes");
}

/*
 * What is live at an instant has no rate but its growth, which takes a while to be known; calls, and
 * what they allocated, add up all the time.
 */
static bool has_rates(const struct metric *m, const struct snapshot *s)
{
	if (!is_live(m))
		return !strncmp(m->name, "alloc-", 6) || !strncmp(m->name, "temp-", 5);
	for (size_t i = 0; i < s->n_sites; i++)
		if (s->sites[i].trend.known)
			return true;
	return !s->n_sites;
}

static double rate_of(const struct metric *m, const struct snapshot *s, const struct snap_site *site)
{
	if (is_live(m))
		return site->trend.known ? site->trend.growth_bytes_per_s : NAN;
	return (double)metric__of(m, site) * SECOND_NS / (double)s->duration_ns;
}

static bool differ(uint64_t a_ns, uint64_t b_ns)
{
	return a_ns && b_ns && (double)MAX(a_ns, b_ns) > SAME_DURATION * (double)MIN(a_ns, b_ns);
}

static void add(struct diff *d, struct matcher *m, const struct snapshot *s, bool after)
{
	for (size_t i = 0; i < s->n_sites; i++) {
		uint64_t weight = metric__of(d->metric, &s->sites[i]);
		struct diff_row *row;
		double error;
		uint32_t id;
		bool is_new;

		if (!weight)
			continue;
		matcher__row(m, s, &s->sites[i], &id, &is_new);
		if (is_new)
			vec_push(&d->rows);
		row = &d->rows.v[id];
		*(after ? &row->after : &row->before) += weight;
		*(after ? &d->after : &d->before) += weight;
		if (d->rates)
			*(after ? &row->after_per_s : &row->before_per_s) += rate_of(d->metric, s, &s->sites[i]);
		error = metric__error(d->metric, &s->sites[i]);
		row->error = hypot(row->error, error);
		if (row->s != s) {
			row->s = s;
			row->site = &s->sites[i];
		}
	}
}

static uint64_t size_of_change(const struct diff_row *r)
{
	return r->after > r->before ? r->after - r->before : r->before - r->after;
}

static double change_of_rate(const struct diff_row *r)
{
	double change = r->after_per_s - r->before_per_s;

	return isnan(change) ? 0 : change;
}

static int larger_first(const void *pa, const void *pb)
{
	const struct diff_row *a = pa, *b = pb;
	uint64_t ca = size_of_change(a), cb = size_of_change(b);

	if (fabs(change_of_rate(a)) != fabs(change_of_rate(b)))
		return fabs(change_of_rate(a)) < fabs(change_of_rate(b)) ? 1 : -1;
	if (ca != cb)
		return ca < cb ? 1 : -1;
	if (a->after != b->after)
		return a->after < b->after ? 1 : -1;
	/* the sites' places in their files decide, which are the same next time */
	return a->site < b->site ? -1 : a->site > b->site;
}

/* Not the sum of the sites': each of these has in it what may have been skipped of it. */
static double error_of_totals(const struct snapshot *s, const struct metric *m)
{
	struct snap_site all = { .error = s->error };

	return metric__error(m, &all);
}

/* How many frames are kept of a stack that has more; UINT32_MAX: none has more. */
static uint32_t depth_of(const struct snapshot *s)
{
	uint32_t depth = 0;

	for (size_t i = 0; i < s->n_sites; i++)
		if (s->sites[i].end == MT_END_DEPTH)
			depth = MAX(depth, s->sites[i].n_stack);
	return depth ? depth : UINT32_MAX;
}

static bool limit_depth(struct snapshot *s, uint32_t depth)
{
	bool any = false;

	for (size_t i = 0; i < s->n_sites; i++)
		if (s->sites[i].n_stack > depth) {
			s->sites[i].n_stack = depth;
			s->sites[i].end = MT_END_DEPTH;
			any = true;
		}
	return any;
}

uint32_t snapshots__even_depth(struct snapshot *a, struct snapshot *b, bool *ret_first)
{
	uint32_t of_a = depth_of(a), of_b = depth_of(b);

	*ret_first = of_a < of_b;
	return limit_depth(*ret_first ? b : a, MIN(of_a, of_b)) ? MIN(of_a, of_b) : 0;
}

void diff__init(struct diff *d, const struct snapshot *before, const struct snapshot *after, const struct metric *metric)
{
	struct matcher m;

	*d = (struct diff){ .metric = metric, .of_before = before, .of_after = after };
	d->rates = has_rates(metric, before) && has_rates(metric, after) &&
		   differ(before->duration_ns, after->duration_ns);
	if (metric->error_at)
		d->error = hypot(error_of_totals(before, metric), error_of_totals(after, metric));
	matcher__init(&m, before, after);
	add(d, &m, before, false);
	add(d, &m, after, true);
	matcher__done(&m);
	if (d->rows.n)
		qsort(d->rows.v, d->rows.n, sizeof(*d->rows.v), larger_first);
	for (size_t i = 0; i < d->rows.n; i++)
		d->n_of_kind[diff_row__kind(&d->rows.v[i])]++;
}

void diff__done(struct diff *d)
{
	vec_done(&d->rows);
}

/* A change of less than this many errors may be none. */
#define SURE_ERRORS 2

enum diff_kind diff_row__kind(const struct diff_row *r)
{
	if ((double)size_of_change(r) < SURE_ERRORS * r->error)
		return DIFF_UNSURE;
	if (!r->before)
		return DIFF_NEW;
	if (!r->after)
		return DIFF_GONE;
	return r->after > r->before ? DIFF_GREW : r->after < r->before ? DIFF_SHRANK : DIFF_SAME;
}

const char *diff_kind__name(enum diff_kind kind)
{
	static const char *const names[N_DIFF_KINDS] = { "grew", "shrank", "new", "gone", "same", "unsure" };

	return names[kind];
}
