// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the bulk of the HTML report: places and sites. A row of sites is the
 * values of site_columns in their order; its last one is the stack, from the
 * root: how many places it shares with the row before, then the others. Sites
 * are sorted by process and stack, so that most of a stack is shared.
 *
 * What always holds: nothing but the order of the sites and the string table is
 * held in memory, and the order does not depend on that of the snapshot.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "files/html/html_parts.h"
#include "present/telling.h"
#include "util/util.h"

/* ---- places: [module, "offset in hex", then for each function, innermost first: name, file, line, inlined] */

static void place(struct json *j, const struct snapshot *s, const struct place *p, struct html_strings *t)
{
	char offset[24];

	json__line(j, 0);
	json__array(j, NULL);
	json__i64(j, NULL, p->module >= 0 && (size_t)p->module < s->n_modules ? p->module : -1);
	snprintf(offset, sizeof(offset), "%llx", (unsigned long long)p->offset);
	json__str(j, NULL, offset);
	for (size_t i = 0; i < place__n_frames(p); i++) {
		struct frame f = place__frame(s, p, i);

		json__i64(j, NULL, html__number(t, f.line ? f.line->function : NULL));
		json__i64(j, NULL, html__number(t, f.line ? f.line->file : NULL));
		json__u64(j, NULL, f.line ? f.line->line : 0);
		json__u64(j, NULL, f.inlined);
	}
	json__array_end(j);
}

/* ---- sites */

static uint32_t from_root(const struct snap_site *site, uint32_t i)
{
	return site->stack[site->n_stack - 1 - i];
}

static uint32_t n_shared(const struct snap_site *a, const struct snap_site *b)
{
	uint32_t n = MIN(a->n_stack, b->n_stack), i = 0;

	while (i < n && from_root(a, i) == from_root(b, i))
		i++;
	return i;
}

static int compare(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

static int by_stack(const void *pa, const void *pb)
{
	const struct snap_site *a = *(const struct snap_site *const *)pa, *b = *(const struct snap_site *const *)pb;
	uint32_t shared;
	int c = compare(a->process, b->process);

	if (c)
		return c;
	shared = n_shared(a, b);
	if (shared < a->n_stack && shared < b->n_stack)
		return compare(from_root(a, shared), from_root(b, shared));
	c = compare(a->n_stack, b->n_stack) ?: strcmp(a->function, b->function) ?: compare(a->tid, b->tid);
	return c ?: compare(a->c.alloc_calls, b->c.alloc_calls);
}

static void site_columns(struct json *j)
{
	static const char *const names[] = {
		"process", "function", "tid", "end", "counters", "error", "at_peak_bytes", "min_size", "max_size",
		"first_ns", "last_ns", "oldest_ns", "lifetime_sum_ns", "older_blocks", "older_bytes", "cross_frees",
		"thread", "verdict", "why", "growth_bytes_per_s", "since_baseline_bytes", "tag", "moves", "ages", "history", "telling",
		"stack",
	};

	json__line(j, 0);
	json__array(j, "site_columns");
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		json__str(j, NULL, names[i]);
	json__array_end(j);
}

static void errors(struct json *j, const struct std_error *e)
{
	json__array(j, NULL);
	json__double(j, NULL, e->alloc_calls);
	json__double(j, NULL, e->alloc_bytes);
	json__double(j, NULL, e->live_blocks);
	json__double(j, NULL, e->live_bytes);
	json__array_end(j);
}

/* [t_ns, live_bytes, ...] */
static void history(struct json *j, const struct snap_site *site)
{
	if (!site->n_history) {
		json__u64(j, NULL, 0);
		return;
	}
	json__array(j, NULL);
	for (size_t i = 0; i < site->n_history; i++) {
		json__u64(j, NULL, site->history[i].t_ns);
		json__u64(j, NULL, site->history[i].live_bytes);
	}
	json__array_end(j);
}

/* 0, or the values in the order of struct snap_moves */
static void moves(struct json *j, const struct snap_moves *m)
{
	const uint64_t v[] = { m->calls, m->moved_calls, m->moved_bytes, m->grown_calls, m->grown_bytes, m->shrunk_calls, m->doubled_calls,
			       m->longest };

	if (!m->calls) {
		json__u64(j, NULL, 0);
		return;
	}
	json__array(j, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(v); i++)
		json__u64(j, NULL, v[i]);
	json__array_end(j);
}

/* 0, or [from_ns, below_ns, blocks, bytes, ...] of the ranges that hold something */
static void ages(struct json *j, const struct snap_site *site)
{
	if (!site->n_ages) {
		json__u64(j, NULL, 0);
		return;
	}
	json__array(j, NULL);
	for (size_t i = 0; i < site->n_ages; i++) {
		if (!site->ages[i].blocks)
			continue;
		json__u64(j, NULL, site->ages[i].from_ns);
		html__bound(j, site->ages[i].below_ns);
		json__u64(j, NULL, site->ages[i].blocks);
		json__u64(j, NULL, site->ages[i].bytes);
	}
	json__array_end(j);
}

/* The number of the frame that it is named by, counted from the caller of the allocation function. */
void html__telling(struct json *j, const struct snapshot *s, const struct snap_site *site)
{
	struct frame f;
	size_t at;

	site__telling_frame(s, site, &f, &at);
	json__u64(j, NULL, at);
}

static void stack(struct json *j, const struct snap_site *site, const struct snap_site *last)
{
	uint32_t shared = last ? n_shared(site, last) : 0;

	json__array(j, NULL);
	json__u64(j, NULL, shared);
	for (uint32_t i = shared; i < site->n_stack; i++)
		json__u64(j, NULL, from_root(site, i));
	json__array_end(j);
}

static void site_row(struct json *j, const struct snapshot *s, const struct snap_site *site, const struct snap_site *last,
		     struct html_strings *t)
{
	json__line(j, 0);
	json__array(j, NULL);
	json__u64(j, NULL, site->process);
	json__i64(j, NULL, html__number(t, site->function));
	json__i64(j, NULL, site->tid);
	json__u64(j, NULL, site->end);
	html__counters(j, NULL, &site->c);
	if (s->estimated)
		errors(j, &site->error);
	else
		json__u64(j, NULL, 0);
	json__u64(j, NULL, site->at_peak_bytes);
	json__u64(j, NULL, site->min_size);
	json__u64(j, NULL, site->max_size);
	json__u64(j, NULL, site->first_ns);
	json__u64(j, NULL, site->last_ns);
	json__u64(j, NULL, site->oldest_ns);
	json__u64(j, NULL, site->lifetime_sum_ns);
	json__u64(j, NULL, site->older_blocks);
	json__u64(j, NULL, site->older_bytes);
	json__u64(j, NULL, site->cross_frees);
	json__i64(j, NULL, html__number(t, site->thread));
	json__i64(j, NULL, html__number(t, site->trend.verdict));
	json__i64(j, NULL, html__number(t, site->trend.why));
	if (site->trend.known)
		json__double(j, NULL, site->trend.growth_bytes_per_s);
	else
		json__null(j, NULL);
	json__i64(j, NULL, site->since_baseline_bytes);
	json__u64(j, NULL, site->tag <= s->n_tags ? site->tag : 0);
	moves(j, &site->moves);
	ages(j, site);
	history(j, site);
	html__telling(j, s, site);
	stack(j, site, last);
	json__array_end(j);
}

int html__stacks(struct json *j, const struct snapshot *s, struct html_strings *t)
{
	_cleanup_free_ const struct snap_site **order = NULL;
	_cleanup_free_ uint32_t *row = NULL;

	order = s->n_sites ? malloc(s->n_sites * sizeof(const struct snap_site *)) : NULL;
	if (s->n_sites && !order)
		return -ENOMEM;
	row = s->recording.free_stacks ? calloc(s->n_sites + 1, sizeof(*row)) : NULL;
	if (s->recording.free_stacks && !row)
		return -ENOMEM;
	for (size_t i = 0; i < s->n_sites; i++)
		order[i] = &s->sites[i];
	if (order)
		qsort(order, s->n_sites, sizeof(const struct snap_site *), by_stack);

	json__line(j, 0);
	json__array(j, "places");
	for (size_t i = 0; i < s->n_places; i++)
		place(j, s, &s->places[i], t);
	json__array_end(j);
	site_columns(j);
	json__line(j, 0);
	json__array(j, "sites");
	for (size_t i = 0; i < s->n_sites; i++)
		site_row(j, s, order[i], i ? order[i - 1] : NULL, t);
	json__array_end(j);
	for (size_t i = 0; row && i < s->n_sites; i++)
		row[order[i] - s->sites] = (uint32_t)i;
	if (row)
		html__frees(j, s, row, t);
	return t->err;
}
