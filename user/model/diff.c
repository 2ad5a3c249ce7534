// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns what changed from row to row. What always holds: each site is in
 * one row, so the rows of a column add up to that profile; the order is the
 * same for the same two files.
 */
#include "model/diff.h"

#include <errno.h>
#include <math.h>

#include "model/match.h"

static int add(struct diff *d, struct matcher *m, const struct snapshot *s, bool after)
{
	for (size_t i = 0; i < s->n_sites; i++) {
		uint64_t weight = metric__of(d->metric, &s->sites[i]);
		struct diff_row *row;
		double error;
		uint32_t id;
		bool is_new;

		if (!weight)
			continue;
		if (matcher__row(m, s, &s->sites[i], &id, &is_new) || (is_new && !vec_push(&d->rows)))
			return -ENOMEM;
		row = &d->rows.v[id];
		*(after ? &row->after : &row->before) += weight;
		*(after ? &d->after : &d->before) += weight;
		error = metric__error(d->metric, &s->sites[i]);
		row->error = hypot(row->error, error);
		if (row->s != s) {
			row->s = s;
			row->site = &s->sites[i];
		}
	}
	return 0;
}

static uint64_t size_of_change(const struct diff_row *r)
{
	return r->after > r->before ? r->after - r->before : r->before - r->after;
}

static int larger_first(const void *pa, const void *pb)
{
	const struct diff_row *a = pa, *b = pb;
	uint64_t ca = size_of_change(a), cb = size_of_change(b);

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

int diff__init(struct diff *d, const struct snapshot *before, const struct snapshot *after, const struct metric *metric)
{
	struct matcher m;
	int err;

	*d = (struct diff){ .metric = metric, .of_before = before, .of_after = after };
	if (metric->error_at)
		d->error = hypot(error_of_totals(before, metric), error_of_totals(after, metric));
	matcher__init(&m, before, after);
	err = add(d, &m, before, false);
	if (!err)
		err = add(d, &m, after, true);
	matcher__done(&m);
	if (err) {
		diff__done(d);
		return err;
	}
	if (d->rows.n)
		qsort(d->rows.v, d->rows.n, sizeof(*d->rows.v), larger_first);
	for (size_t i = 0; i < d->rows.n; i++)
		d->n_of_kind[diff_row__kind(&d->rows.v[i])]++;
	return 0;
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
