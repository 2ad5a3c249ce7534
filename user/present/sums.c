// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns rows that are sums of sites, and their columns:
 *
 *	    LIVE  SHARE  BLOCKS   CALLS  FREED  STACKS  FUNCTION             MODULE
 *	31.0 MiB  75.2%  31,744  31,744     0%       3  trackingRememberKey  redis-server
 *
 * What always holds: each site that is shown is in one row, so rows add up to them; the
 * order depends on figures and names alone.
 */
#include "present/sums.h"

#include <errno.h>
#include <string.h>

#include "present/columns.h"
#include "present/figures.h"
#include "util/util.h"

#define LIVE (HAS_LIVE_BLOCKS | HAS_LIVE_BYTES)

/* ---- columns */

static double stacks(const struct row_of *r)
{
	return (double)r->sum->sum.n_sites;
}

static const char *show_stacks(const struct row_of *r, char buf[static CELL_MAX])
{
	return fmt_count(buf, r->sum->sum.n_sites);
}

static double share(const struct row_of *r)
{
	return (double)r->sum->weight;
}

static const char *show_share(const struct row_of *r, char buf[static CELL_MAX])
{
	return fmt_share(buf, r->sum->weight, r->sum->whole);
}

static const char *show_name(const struct row_of *r, char buf[static CELL_MAX])
{
	return r->sum->key.name;
}

static const char *show_module(const struct row_of *r, char buf[static CELL_MAX])
{
	return path_basename(r->sum->key.module);
}

static const struct column of_sum[] = {
	{ "live", "LIVE", 9, .scaled = true, .field = IS(counter_fields, "live_bytes") },
	{ "share", "SHARE", 5, .drop = 8, .value = share, .format = show_share },
	{ "delta", "Δ", 10, .scaled = true, .needs = LIVE, .two_snapshots = true, .value = rates__delta, .format = rates__show_delta },
	{ "blocks", "BLOCKS", 7, .scaled = true, .drop = 1, .field = IS(counter_fields, "live_blocks") },
	{ "calls-rate", "CALLS/s", 7, .scaled = true, .needs = HAS_ALLOC_CALLS, .two_snapshots = true, .value = rates__calls,
	  .format = rates__show_calls },
	{ "calls", "CALLS", 7, .scaled = true, .drop = 2, .field = IS(counter_fields, "alloc_calls") },
	{ "bytes", "BYTES", 9, .scaled = true, .without = LIVE, .field = IS(counter_fields, "alloc_bytes") },
	{ "freed", "FREED", 5, .drop = 3, .field = IS(counter_fields, "free_calls"), .over = IS(counter_fields, "alloc_calls") },
	{ "stacks", "STACKS", 7, .drop = 5, .value = stacks, .format = show_stacks },
	{ "function", "FUNCTION", 0, true, .format = show_name },
	{ "module", "MODULE", 0, true, .drop = 6, .format = show_module },
};
const struct columns sum_columns = { of_sum, ARRAY_SIZE(of_sum) };

/* ---- rows */

struct part {			/* a site, while rows are made */
	struct sum_key key;
	const struct snap_site *site;
};

static int by_key(const struct sum_key *a, const struct sum_key *b)
{
	return strcmp(a->name, b->name) ?: strcmp(a->module, b->module);
}

static int parts_by_key(const void *pa, const void *pb)
{
	const struct part *a = pa, *b = pb;

	return by_key(&a->key, &b->key) ?: (a->site > b->site) - (a->site < b->site);
}

static int heavier_first(const void *pa, const void *pb)
{
	const struct sum_row *a = pa, *b = pb;
	uint64_t wa = a->weight, wb = b->weight;

	if (wa == wb) {
		wa = a->sum.c.alloc_bytes;
		wb = b->sum.c.alloc_bytes;
	}
	return wa != wb ? (wa < wb ? 1 : -1) : by_key(&a->key, &b->key);
}

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
		row->weight += metric__of(key, parts[i].site);
		whole += metric__of(key, parts[i].site);
	}
	for (size_t i = 0; i < r->n; i++)
		r->v[i].whole = whole;
}

/* Which row each site went to, now that rows are in their order. */
static int note_rows(struct sum_rows *r, const struct snapshot *s, const struct part *parts, size_t n)
{
	_cleanup_free_ uint32_t *places = calloc(r->n + 1, sizeof(*places));
	size_t number = 0;

	if (!places)
		return -ENOMEM;
	for (size_t i = 0; i < r->n; i++)
		places[r->v[i].number] = (uint32_t)i + 1;
	for (size_t i = 0; i < n; i++) {
		number += i && by_key(&parts[i].key, &parts[i - 1].key);
		r->of[parts[i].site - s->sites] = places[number];
	}
	return 0;
}

int sum_rows__init(struct sum_rows *r, const struct view *v, const struct snapshot *s, const struct tellings *t, const struct metric *key,
		   bool (*takes)(void *arg, const struct snap_site *site), void *arg)
{
	_cleanup_free_ struct part *parts = calloc(s->n_sites + 1, sizeof(*parts));
	size_t n = 0;

	*r = (struct sum_rows){ .v = calloc(s->n_sites + 1, sizeof(*r->v)), .of = calloc(s->n_sites + 1, sizeof(*r->of)) };
	if (!parts || !r->v || !r->of) {
		sum_rows__done(r);
		return -ENOMEM;
	}
	for (size_t i = 0; i < s->n_sites; i++)
		if ((!v->shows || v->shows(&s->sites[i], false)) && (!takes || takes(arg, &s->sites[i])))
			parts[n++] = (struct part){ v->sum_by(s, t, &s->sites[i]), &s->sites[i] };
	qsort(parts, n, sizeof(*parts), parts_by_key);
	add_up(r, parts, n, key);
	qsort(r->v, r->n, sizeof(*r->v), heavier_first);
	if (note_rows(r, s, parts, n)) {
		sum_rows__done(r);
		return -ENOMEM;
	}
	return 0;
}

void sum_rows__done(struct sum_rows *r)
{
	free(r->v);
	free(r->of);
	*r = (struct sum_rows){};
}
