// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns rows that are sums of sites, and their columns:
 *
 *	    LIVE      TOTAL  SHARE  BLOCKS   CALLS  FREED  STACKS  FUNCTION             MODULE
 *	31.0 MiB   31.0 MiB  75.2%  31,744  31,744     0%       3  trackingRememberKey  redis-server
 *
 * What always holds: each site that is shown is in one row, so rows add up to them; the
 * order depends on figures and names alone. TOTAL does not add up: a stack goes through many
 * functions, and counts once for each of them.
 */
#include "present/rows.h"

#include <math.h>
#include <string.h>

#include "model/merge.h"
#include "present/columns.h"
#include "present/figures.h"
#include "util/util.h"

/* ---- rows */

struct part {			/* a site, while rows are made */
	struct sum_key key;
	const struct snap_site *site;
};

static int by_key(const struct sum_key *a, const struct sum_key *b)
{
	return strcmp(a->name, b->name) ?: strcmp(a->module, b->module);
}

COMPARATOR(parts_by_key, struct part, by_key(&a->key, &b->key) ?: ORDER(a->site, b->site))

COMPARATOR(heavier_first, struct sum_row,
	   ORDER(b->weight, a->weight) ?: ORDER(b->sum.c.alloc_bytes, a->sum.c.alloc_bytes) ?: by_key(&a->key, &b->key))

/* Parts are in the order of their keys. */
static void add_up(struct sum_rows *r, const struct part *parts, size_t n, const struct metric *key)
{
	uint64_t whole = 0;

	for (size_t i = 0; i < n; i++) {
		struct sum_row *row;

		if (!i || by_key(&parts[i].key, &parts[i - 1].key)) {
			r->v[r->n] = (struct sum_row){ .key = parts[i].key, .number = (uint32_t)r->n };
			r->n++;
		}
		row = &r->v[r->n - 1];
		tag_sum__add(&row->sum, parts[i].site);
		row->since_baseline_bytes += parts[i].site->since_baseline_bytes;
		trend__add(&row->trend, &parts[i].site->trend);
		if (parts[i].site->oldest_ns > (row->oldest ? row->oldest->oldest_ns : 0))
			row->oldest = parts[i].site;
		row->weight += metric__of(key, parts[i].site);
		whole += metric__of(key, parts[i].site);
	}
	for (size_t i = 0; i < r->n; i++) {
		r->v[i].whole = whole;
		/* stacks that each are steady may become more and more */
		if (r->v[i].sum.n_sites > 1 && !verdict__is_alarm(r->v[i].trend.verdict))
			r->v[i].trend = (struct trend){};
	}
}

/* Which row each site went to, now that rows are in their order. */
static void note_rows(struct sum_rows *r, const struct snapshot *s, const struct part *parts, size_t n)
{
	_cleanup_free_ uint32_t *places = xcalloc(r->n + 1, sizeof(*places));
	size_t number = 0;

	for (size_t i = 0; i < r->n; i++)
		places[r->v[i].number] = (uint32_t)i + 1;
	for (size_t i = 0; i < n; i++) {
		number += i && by_key(&parts[i].key, &parts[i - 1].key);
		r->of[parts[i].site - s->sites] = places[number];
	}
}

/* ---- what goes through a row */

COMPARATOR(rows_by_key, struct sum_row *const, by_key(&(*a)->key, &(*b)->key))

struct through {
	struct sum_row **rows;	/* in the order of their keys */
	uint32_t *first;	/* by place: where its rows begin in the next */
	uint32_t *of;		/* 1 + a row for each frame of each place; 0: it has none */
	uint32_t *seen;		/* by row: 1 + the site that was added last */
};

static void find_rows(struct through *w, const struct sum_rows *r, const struct view *v, const struct snapshot *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n_places; i++)
		n += place__n_frames(&s->places[i]);
	w->rows = xcalloc(r->n + 1, sizeof(*w->rows));
	w->seen = xcalloc(r->n + 1, sizeof(*w->seen));
	w->first = xcalloc(s->n_places + 1, sizeof(*w->first));
	w->of = xcalloc(n + 1, sizeof(*w->of));
	for (size_t i = 0; i < r->n; i++)
		w->rows[i] = &r->v[i];
	qsort(w->rows, r->n, sizeof(*w->rows), rows_by_key);
	n = 0;
	for (size_t i = 0; i < s->n_places; i++) {
		w->first[i] = (uint32_t)n;
		for (size_t k = 0; k < place__n_frames(&s->places[i]); k++) {
			struct frame f = place__frame(s, &s->places[i], k);
			struct sum_row wanted = { .key = v->sum_by(&f) }, *key = &wanted, **found;

			found = bsearch(&key, w->rows, r->n, sizeof(*w->rows), rows_by_key);
			w->of[n++] = found ? (uint32_t)(*found - r->v) + 1 : 0;
		}
	}
	w->first[s->n_places] = (uint32_t)n;
}

static void pass(struct through *w, struct sum_rows *r, uint32_t row, uint32_t site, uint64_t weight)
{
	/* a function that calls itself is there more than once, its stack is not */
	if (!row || w->seen[row - 1] == site + 1)
		return;
	w->seen[row - 1] = site + 1;
	r->v[row - 1].total += weight;
}

/* Of each site all rows that any of its frames would belong to, each once. */
static void add_totals(struct sum_rows *r, const struct view *v, const struct snapshot *s)
{
	const struct metric *bytes = metric__preset(s->known);
	struct through w = {};

	find_rows(&w, r, v, s);
	for (size_t i = 0; i < s->n_sites; i++) {
		const struct snap_site *site = &s->sites[i];

		if (!r->of[i])
			continue;
		pass(&w, r, r->of[i], (uint32_t)i, metric__of(bytes, site));
		for (uint32_t k = 0; k < site->n_stack; k++)
			for (uint32_t m = w.first[site->stack[k]]; m < w.first[site->stack[k] + 1]; m++)
				pass(&w, r, w.of[m], (uint32_t)i, metric__of(bytes, site));
	}
	free(w.rows);
	free(w.seen);
	free(w.first);
	free(w.of);
}

void sum_rows__init(struct sum_rows *r, const struct view *v, const struct snapshot *s, const struct tellings *t, const struct metric *key,
		   bool (*takes)(void *arg, const struct snap_site *site), void *arg)
{
	_cleanup_free_ struct part *parts = xcalloc(s->n_sites + 1, sizeof(*parts));
	size_t n = 0;

	*r = (struct sum_rows){ .v = xcalloc(s->n_sites + 1, sizeof(*r->v)), .of = xcalloc(s->n_sites + 1, sizeof(*r->of)) };
	for (size_t i = 0; i < s->n_sites; i++)
		if ((!v->shows || v->shows(&s->sites[i], false)) && (!takes || takes(arg, &s->sites[i]))) {
			struct frame f = tellings__of(t, s, &s->sites[i]);

			parts[n++] = (struct part){ v->sum_by(&f), &s->sites[i] };
		}
	qsort(parts, n, sizeof(*parts), parts_by_key);
	add_up(r, parts, n, key);
	qsort(r->v, r->n, sizeof(*r->v), heavier_first);
	note_rows(r, s, parts, n);
	add_totals(r, v, s);
}

void sum_rows__done(struct sum_rows *r)
{
	free(r->v);
	free(r->of);
	*r = (struct sum_rows){};
}
