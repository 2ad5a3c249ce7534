// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Rows that are sums of sites: nothing is lost, nothing counts twice, and the order is total. */
#include <criterion/criterion.h>
#include <string.h>

#include "model/merge.h"
#include "present/rows.h"
#include "sample_snapshot.h"
#include "util/util.h"

static void add_up(const struct sum_rows *r, struct tag_sum *ret)
{
	for (size_t i = 0; i < r->n; i++) {
		ret->n_sites += r->v[i].sum.n_sites;
		counters__add(&ret->c, &r->v[i].sum.c);
	}
}

static void same(const struct counters *a, const struct counters *b)
{
	cr_expect_eq(a->alloc_calls, b->alloc_calls);
	cr_expect_eq(a->alloc_bytes, b->alloc_bytes);
	cr_expect_eq(a->free_calls, b->free_calls);
	cr_expect_eq(a->free_bytes, b->free_bytes);
	cr_expect_eq(a->live_blocks, b->live_blocks);
	cr_expect_eq(a->live_bytes, b->live_bytes);
	cr_expect_eq(a->temp_calls, b->temp_calls);
	cr_expect_eq(a->realloc_calls, b->realloc_calls);
}

/* By hand: what the sites of each row hold, by the names that are looked for anew. */
static void check_row(const struct snapshot *s, const struct sum_rows *r, size_t row)
{
	struct tag_sum sum = {};

	for (size_t i = 0; i < s->n_sites; i++) {
		struct frame f = tellings__of(NULL, s, &s->sites[i]);

		if (r->of[i] != row + 1)
			continue;
		tag_sum__add(&sum, &s->sites[i]);
		cr_expect_str_eq(r->v[row].key.name, f.line && f.line->function ? f.line->function : f.place ? "[no name]" : "[no stack]");
		cr_expect_str_eq(r->v[row].key.module, f.module ? f.module : "");
	}
	cr_expect_eq(sum.n_sites, r->v[row].sum.n_sites);
	same(&sum.c, &r->v[row].sum.c);
}

Test(sums, functions_add_up_to_the_sites)
{
	static const unsigned int flags[] = { 0, SAMPLE_SINGLE, SAMPLE_UNNAMED, SAMPLE_COUNT, SAMPLE_ESTIMATED, SAMPLE_GROWTH, SAMPLE_MANY, SAMPLE_EMPTY };

	for (size_t k = 0; k < ARRAY_SIZE(flags); k++) {
		struct snapshot *s = sample__new(flags[k]);
		struct tag_sum sites = {}, rows = {};
		struct tellings t = {};
		struct sum_rows r;

		tellings__begin(&t, s);
		sum_rows__init(&r, view__of(VIEW_FUNCTIONS), s, &t, metric__preset(s->known), NULL, NULL);
		for (size_t i = 0; i < s->n_sites; i++)
			tag_sum__add(&sites, &s->sites[i]);
		add_up(&r, &rows);
		/* what never allocated has no figures, and is not shown */
		for (size_t i = 0; i < s->n_sites; i++)
			sites.n_sites -= !s->sites[i].c.alloc_calls;
		cr_expect_eq(sites.n_sites, rows.n_sites);
		same(&sites.c, &rows.c);
		for (size_t i = 0; i < r.n; i++)
			check_row(s, &r, i);
		for (size_t i = 1; i < r.n; i++) {
			cr_expect_geq(r.v[i - 1].weight, r.v[i].weight);
			for (size_t j = 0; j < i; j++)
				cr_expect(strcmp(r.v[i].key.name, r.v[j].key.name) || strcmp(r.v[i].key.module, r.v[j].key.module), "%s twice", r.v[i].key.name);
		}
		sum_rows__done(&r);
		tellings__done(&t);
		snapshot__free(s);
	}
}

static bool first_process(void *arg, const struct snap_site *site)
{
	return !site->process;
}

Test(sums, are_of_the_sites_that_are_taken)
{
	struct snapshot *s = sample__new(0);
	uint64_t whole = 0, rows = 0;
	struct sum_rows r;

	sum_rows__init(&r, view__of(VIEW_FUNCTIONS), s, NULL, metric__find("live-bytes"), first_process, NULL);
	for (size_t i = 0; i < s->n_sites; i++) {
		whole += s->sites[i].process ? 0 : s->sites[i].c.live_bytes;
		cr_expect_eq(!r.of[i], s->sites[i].process || !s->sites[i].c.alloc_calls);
	}
	for (size_t i = 0; i < r.n; i++) {
		rows += r.v[i].sum.c.live_bytes;
		cr_expect_eq(r.v[i].whole, whole);
	}
	cr_expect_eq(rows, whole);
	sum_rows__done(&r);
	snapshot__free(s);
}

/* The frame that names a site is the same whether it is kept or looked for; names that come later count after a new begin. */
Test(sums, telling_frames_are_kept_until_names_come)
{
	struct snapshot *s = sample__new(0);
	struct tellings t = {};

	tellings__begin(&t, s);
	for (int round = 0; round < 2; round++)
		for (size_t i = 0; i < s->n_sites; i++) {
			struct frame kept = tellings__of(&t, s, &s->sites[i]), anew = tellings__of(NULL, s, &s->sites[i]);

			cr_expect(kept.place == anew.place && kept.line == anew.line);
			cr_expect_eq(tellings__number(&t, s, &s->sites[i]), tellings__number(NULL, s, &s->sites[i]));
		}
	tellings__done(&t);
	snapshot__free(s);
}

/* ---- what goes through a row */

static uint64_t through_by_hand(const struct snapshot *s, const struct view *v, const struct sum_key *key)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < s->n_sites; i++) {
		const struct snap_site *site = &s->sites[i];
		struct frame telling = tellings__of(NULL, s, site);
		struct sum_key own = v->sum_by(&telling);
		bool found = !strcmp(own.name, key->name) && !strcmp(own.module, key->module);

		for (uint32_t k = 0; k < site->n_stack && !found; k++)
			for (size_t m = 0; m < place__n_frames(&s->places[site->stack[k]]) && !found; m++) {
				struct frame f = place__frame(s, &s->places[site->stack[k]], m);
				struct sum_key its = v->sum_by(&f);

				found = !strcmp(its.name, key->name) && !strcmp(its.module, key->module);
			}
		sum += found ? site->c.live_bytes : 0;
	}
	return sum;
}

Test(sums, totals_count_each_stack_once_for_a_row)
{
	static const enum view_bit of[] = { VIEW_FUNCTIONS, VIEW_FILES, VIEW_MODULES };

	for (size_t k = 0; k < ARRAY_SIZE(of); k++) {
		struct snapshot *s = sample__new(0);
		const struct snap_site *site = &s->sites[0];
		uint32_t *stack = snapshot__alloc(s, site->n_stack * 3, sizeof(*stack));
		uint64_t own = 0, all = 0;
		struct sum_rows r;

		/* it calls itself, and so do its callers: each frame is there three times */
		for (uint32_t i = 0; i < site->n_stack * 3; i++)
			stack[i] = site->stack[i % site->n_stack];
		s->sites[0].stack = stack;
		s->sites[0].n_stack *= 3;
		sum_rows__init(&r, view__of(of[k]), s, NULL, metric__find("live-bytes"), NULL, NULL);
		for (size_t i = 0; i < r.n; i++) {
			cr_expect_eq(r.v[i].total, through_by_hand(s, view__of(of[k]), &r.v[i].key), "%s", r.v[i].key.name);
			cr_expect_geq(r.v[i].total, r.v[i].sum.c.live_bytes, "%s", r.v[i].key.name);
			own += r.v[i].sum.c.live_bytes;
		}
		for (size_t i = 0; i < s->n_sites; i++)
			all += s->sites[i].c.live_bytes;
		cr_expect_eq(own, all, "rows add up to all, by %s", view__of(of[k])->name);
		sum_rows__done(&r);
		snapshot__free(s);
	}
}
