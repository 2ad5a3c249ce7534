// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Rows as people count them: which sites are one, what they add up to, and how a row is judged. */
#include <criterion/criterion.h>
#include <string.h>

#include "present/rows.h"
#include "util/util.h"

#define S 1000000000ull
#define N_POINTS 31

enum { IN_LOOP, IN_LOOP_TOO, OTHER_LINE, NO_LINE, NO_LINE_TOO, JIT, JIT_TOO, STRIPPED, STRIPPED_TOO, N_PLACES };

static const struct line lines[N_PLACES] = {
	[IN_LOOP] = { .function = "fill", .file = "a.c", .line = 10 },
	[IN_LOOP_TOO] = { .function = "fill", .file = "a.c", .line = 10 },
	[OTHER_LINE] = { .function = "fill", .file = "a.c", .line = 12 },
	[NO_LINE] = { .function = "plain" },
	[NO_LINE_TOO] = { .function = "plain" },
};

static const struct snap_module modules[] = { { .path = "/usr/bin/app" }, { .path = "[anon]" } };

/* Two processes; a site for each place, at different addresses. */
static struct snapshot *made(size_t n_sites, const uint32_t *place_of)
{
	struct snapshot *s = snapshot__new();
	struct snap_process *p = snapshot__alloc(s, 2, sizeof(*p));

	s->known = HAS_ALL;
	s->duration_ns = 30 * S;
	s->modules = modules;
	s->n_modules = ARRAY_SIZE(modules);
	s->n_places = N_PLACES;
	s->places = snapshot__alloc(s, N_PLACES, sizeof(*s->places));
	for (size_t i = 0; i < N_PLACES; i++)
		s->places[i] = (struct place){ .module = i == JIT || i == JIT_TOO, .offset = 0x1000 * (i + 1), .resolved = true,
					       .n_lines = lines[i].function != NULL, .lines = &lines[i] };
	for (int i = 0; i < 2; i++)
		p[i] = (struct snap_process){ .id = i + 1, .pid = i + 1, .comm = "app", .exe = "/usr/bin/app", .age_at_attach_ns = 600 * S };
	s->processes = p;
	s->n_processes = 2;
	s->n_sites = n_sites;
	s->sites = snapshot__alloc(s, n_sites, sizeof(*s->sites));
	for (size_t i = 0; i < n_sites; i++) {
		uint32_t *stack = snapshot__alloc(s, 1, sizeof(*stack));

		*stack = place_of[i];
		s->sites[i] = (struct snap_site){ .function = "malloc", .n_stack = 1, .stack = stack,
						  .c = { .alloc_calls = 1, .alloc_bytes = 100 + i, .live_blocks = 1, .live_bytes = 100 + i } };
	}
	return s;
}

static struct snapshot *rows_of(const struct snapshot *s)
{
	struct tellings t = {};
	struct snapshot *rows;

	tellings__begin(&t, s);
	rows = rows__of(s, &t, 0, NULL);
	tellings__done(&t);
	cr_assert_not_null(rows);
	return rows;
}

Test(rows, are_functions_and_lines)
{
	static const uint32_t place_of[] = { IN_LOOP, IN_LOOP_TOO, OTHER_LINE, NO_LINE, NO_LINE_TOO, JIT, JIT_TOO, STRIPPED, STRIPPED_TOO, IN_LOOP };
	static const struct {
		uint32_t n_stacks;
		uint64_t live_bytes;
	} want[] = { { 2, 201 }, { 1, 102 }, { 2, 207 }, { 2, 211 }, { 1, 107 }, { 1, 108 }, { 1, 109 } };
	struct snapshot *s = made(ARRAY_SIZE(place_of), place_of), *rows;

	s->sites[9].process = 1;
	rows = rows_of(s);
	cr_assert_eq(rows->n_sites, ARRAY_SIZE(want));
	for (size_t i = 0; i < ARRAY_SIZE(want); i++) {
		cr_expect_eq(rows->sites[i].n_stacks, want[i].n_stacks, "row %zu has %u stacks", i, rows->sites[i].n_stacks);
		cr_expect_eq(rows->sites[i].c.live_bytes, want[i].live_bytes, "row %zu", i);
		cr_expect_eq(rows->sites[i].c.live_blocks, want[i].n_stacks, "row %zu", i);
	}
	/* the heavier one's stack */
	cr_expect_eq(*rows->sites[0].stack, IN_LOOP_TOO);
	snapshot__free(rows);
	snapshot__free(s);
}

Test(rows, of_other_threads_tags_and_kinds_are_others)
{
	static const uint32_t place_of[] = { IN_LOOP, IN_LOOP, IN_LOOP, IN_LOOP, IN_LOOP };
	struct snapshot *s = made(ARRAY_SIZE(place_of), place_of), *rows;
	struct tellings t = {};
	_cleanup_free_ char *name = NULL;

	s->sites[1].tid = 7;
	s->sites[2].tag = 1;
	s->sites[3].growth = GROWTH_BRK;
	s->sites[4].function = "arena";
	tellings__begin(&t, s);
	name = tellings__name(&t, s, &s->sites[4]);
	cr_expect_str_eq(name, "fill [arenas]");
	tellings__done(&t);
	rows = rows_of(s);
	cr_expect_eq(rows->n_sites, 5);
	snapshot__free(rows);
	snapshot__free(s);
}

static void keep(struct snapshot *s, size_t site, uint64_t from_s, uint64_t bytes)
{
	struct snap_point *v = snapshot__alloc(s, N_POINTS, sizeof(*v));
	size_t n = 0;

	for (uint64_t t = from_s; t <= 30; t++)
		v[n++] = (struct snap_point){ .t_ns = t * S, .live_bytes = bytes };
	s->sites[site].c.live_bytes = bytes;
	s->sites[site].first_ns = s->sites[site].last_ns = from_s * S;
	s->sites[site].oldest_ns = (30 - from_s) * S;
	s->sites[site].history = v;
	s->sites[site].n_history = n;
	s->sites[site].trend.verdict = "steady";
}

/* Each stack holds what it got and never grows: a tree walker's leak. Its line grows all the time. */
Test(rows, grow_where_each_stack_is_steady)
{
	uint32_t place_of[N_POINTS];
	struct snapshot *s, *rows;

	for (size_t i = 0; i < N_POINTS; i++)
		place_of[i] = i % 2 ? IN_LOOP : IN_LOOP_TOO;
	s = made(N_POINTS, place_of);
	for (size_t i = 0; i < N_POINTS; i++)
		keep(s, i, i, 10000);
	rows = rows_of(s);
	cr_assert_eq(rows->n_sites, 1);
	cr_expect_eq(rows->sites->c.live_bytes, 10000 * N_POINTS);
	cr_expect_str_eq(rows->sites->trend.verdict, "leak");
	cr_expect_float_eq(rows->sites->trend.growth_bytes_per_s, 10000, 1);
	snapshot__free(rows);
	snapshot__free(s);
}

/* The same of stacks that were too small to have histories of their own. */
Test(rows, grow_without_histories)
{
	uint32_t place_of[N_POINTS];
	struct snapshot *s, *rows;

	for (size_t i = 0; i < N_POINTS; i++)
		place_of[i] = IN_LOOP;
	s = made(N_POINTS, place_of);
	for (size_t i = 0; i < N_POINTS; i++) {
		keep(s, i, i, 10000);
		s->sites[i].min_size = 10000;
		s->sites[i].n_history = 0;
	}
	rows = rows_of(s);
	cr_expect_str_eq(rows->sites->trend.verdict, "leak");
	snapshot__free(rows);
	snapshot__free(s);
}

/* Histories that begin late, because their sites mattered late, are no growth. */
Test(rows, do_not_grow_by_histories_that_begin_late)
{
	static const uint32_t place_of[] = { IN_LOOP, IN_LOOP_TOO, IN_LOOP };
	struct snapshot *s = made(ARRAY_SIZE(place_of), place_of), *rows;

	for (size_t i = 0; i < ARRAY_SIZE(place_of); i++) {
		keep(s, i, 8 * i, 10000);
		s->sites[i].first_ns = s->sites[i].last_ns = 0;
	}
	rows = rows_of(s);
	cr_expect_str_eq(rows->sites->trend.verdict, "steady");
	snapshot__free(rows);
	snapshot__free(s);
}

/* The next snapshot of the same stacks does not have their names yet. */
Test(rows, are_found_before_names_are_there_again)
{
	static const uint32_t place_of[] = { IN_LOOP };
	static const struct line wrapper = { .function = "session_malloc" };
	struct snapshot *v[] = { made(1, place_of), made(1, place_of) };
	struct tellings t = {};

	for (size_t i = 0; i < 2; i++) {
		uint32_t *stack = snapshot__alloc(v[i], 2, sizeof(*stack));
		struct snap_site copy;

		stack[0] = NO_LINE;
		stack[1] = IN_LOOP;
		v[i]->places[NO_LINE].lines = &wrapper;
		v[i]->sites->stack = stack;
		v[i]->sites->n_stack = 2;
		for (size_t k = 0; i && k < N_PLACES; k++) {
			v[i]->places[k].resolved = false;
			v[i]->places[k].n_lines = 0;
		}
		tellings__begin(&t, v[i]);
		copy = *v[i]->sites;
		cr_expect_eq(!tellings__of(&t, v[i], &copy).line, i == 1);
		cr_expect_eq(!tellings__of(&t, v[i], v[i]->sites).line, i == 1);
	}
	tellings__done(&t);
	snapshot__free(v[0]);
	snapshot__free(v[1]);
}
