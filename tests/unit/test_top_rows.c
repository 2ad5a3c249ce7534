// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* What a row is (g), what is typed and not taken, what a filter leaves, and the page of help. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "golden.h"
#include "model/group.h"
#include "model/merge.h"
#include "present/columns.h"
#include "present/top/top_parts.h"
#include "top_screen.h"

#define MIB (1024 * 1024ull)

TestSuite(top_rows, .fini = end);

/* The bytes that a row's first column says: "31.0 MiB"; the sample's are whole KiB or bytes. */
static const struct sum_row *sum_of(const char *name)
{
	for (size_t i = 0; i < t->sums.n; i++)
		if (!strcmp(t->sums.v[i].key.name, name))
			return &t->sums.v[i];
	cr_assert(false, "no row %s", name);
	return NULL;
}

Test(top_rows, g_goes_from_sites_to_functions_files_modules_and_back)
{
	static const char *const tabs[] = { "[f functions]", "[F files]", "[M modules]", "[2 allocs]" };
	static const char *const titles[] = { "FUNCTION", " FILE", " MODULE", "SITE" };

	begin(SAMPLE_SINGLE);
	made__type(t, &g, "2");
	for (size_t i = 0; i < ARRAY_SIZE(tabs); i++) {
		key('g');
		says(tabs[i]);
		says(titles[i]);
		/* the order goes along */
		says("by CALLS/s ↓");
	}
}

Test(top_rows, sums_are_those_of_the_sites_in_sight)
{
	static const char keys[] = "fFM";

	begin(0);
	for (const char *k = keys; *k; k++) {
		struct counters all = {};

		key(*k);
		cr_assert_gt(t->sums.n, 0);
		for (size_t i = 0; i < t->sums.n; i++) {
			counters__add(&all, &t->sums.v[i].sum.c);
			cr_expect_geq(t->sums.v[i].total, t->sums.v[i].sum.c.live_bytes);
		}
		cr_expect_eq(all.live_bytes, t->shown->totals.live_bytes, "%c", *k);
		cr_expect_eq(all.alloc_calls, t->shown->totals.alloc_calls, "%c", *k);
		cr_expect_eq(all.live_blocks, t->shown->totals.live_blocks, "%c", *k);
	}
}

/* Its stacks and no others, also where another function has its name in it. */
Test(top_rows, enter_on_a_function_has_its_stacks_alone)
{
	begin(SAMPLE_SINGLE);
	made__type(t, &g, "fj");
	is_selected("_dictExpand");
	key('\n');
	says("[1 live]");
	says("in _dictExpand");
	cr_assert_eq(t->rows.n, 1);
	says("sum of 1 of 5 sites: 6.0 MiB live (15.8%) in 1,204 blocks");
	key(TOP_KEY_ESC);
	says("[f functions]");
	is_selected("_dictExpand");
	says_not("in _dictExpand");
}

Test(top_rows, a_filter_has_a_sum)
{
	begin(SAMPLE_SINGLE);
	says_not("sum of");
	made__type(t, &g, "/rax|dict\n");
	cr_assert_eq(t->rows.n, 2);
	/* 31 and 6 of 38.0 MiB: 31,744 and 1,204 blocks of 32,965 */
	says("sum of 2 of 5 sites: 37.0 MiB live (97.4%) in 32,948 blocks (99.9%)");
	/* of what the rows are of */
	key('f');
	says("sum of 2 of 5 sites: 37.0 MiB live");
	made__type(t, &g, "1");
	key(TOP_KEY_ESC);
	says_not("sum of");
}

Test(top_rows, a_bad_regex_says_so_and_stays)
{
	begin(SAMPLE_SINGLE);
	made__type(t, &g, "/rax");
	cr_assert_eq(t->rows.n, 1);
	made__type(t, &g, "(");
	says("filter: rax(   bad regex: ");
	/* the last good one holds */
	cr_assert_eq(t->rows.n, 1);
	key('\n');
	says("filter: rax(   bad regex: ");
	cr_assert_eq(g.cursor_row, 22);
	/* mended */
	key('I');
	says("bad regex");
	key(')');
	says_not("bad regex");
	key(TOP_KEY_BACKSPACE);
	key(TOP_KEY_BACKSPACE);
	key(TOP_KEY_BACKSPACE);
	says_not("bad regex");
	key('\n');
	says_not("filter:");
	says("/rax");
	cr_assert_eq(t->rows.n, 1);
	/* Esc gives it up, and the filter with it */
	made__type(t, &g, "/[");
	says("bad regex: ");
	key(TOP_KEY_ESC);
	says_not("bad regex");
	cr_assert_eq(t->rows.n, 5);
	/* where there is no room beside it, below it */
	grid__resize(&g, 24, 30);
	made__type(t, &g, "/raxGenericIns(");
	cr_expect(strstr(row(23), "bad regex: "), "%s", row(23));
}

Test(top_rows, a_refused_name_stays_in_the_prompt)
{
	begin(SAMPLE_SINGLE);
	made__type(t, &g, "o");
	key('U' - '@');
	cr_assert_eq(made__type(t, &g, "x.nosuch\n"), TOP_WRITE);
	top__refuse_path(t, "x.nosuch: want a name that ends in .json");
	top__draw(t, &g);
	says("write to: x.nosuch   x.nosuch: want a name that ends in .json");
	key(TOP_KEY_BACKSPACE);
	says("write to: x.nosuc");
	says_not("want a name");
	key(TOP_KEY_ESC);
	says_not("write to");
}

Test(top_rows, one_key_sorts_by_growth)
{
	begin(SAMPLE_SINGLE);
	key('G');
	says("by GROWTH/s ↓");
	cr_assert(strstr(row(5), "raxGenericInsert"));
	cr_assert(strstr(row(6), "+31.0 KiB"), "%s", row(6));
	key('G');
	says("by LIVE ↓");
	/* from where there is no such column, to where it is */
	made__type(t, &g, "2G");
	says("[1 live]");
	says("by GROWTH/s ↓");
	/* and among functions, whose growth is that of their stacks */
	key('g');
	says("[f functions]");
	says("by GROWTH/s ↓");
	cr_assert_float_eq(sum_of("raxGenericInsert")->trend.growth_bytes_per_s, made_trends[0].growth_bytes_per_s, 0.001);
	cr_assert_str_eq(sum_of("raxGenericInsert")->trend.verdict, "leak");
	end();
	begin(SAMPLE_SINGLE | SAMPLE_COUNT);
	key('G');
	says("nothing is known to grow");
}

Test(top_rows, the_help_explains_every_column_and_verdict)
{
	begin(SAMPLE_SINGLE);
	for (size_t i = 0; i < t->n_views; i++)
		for (size_t k = 0; k < view__columns(t->views[i])->n; k++)
			cr_expect(top__meaning(t->views[i], &view__columns(t->views[i])->v[k]), "%s: %s", t->views[i]->name, view__columns(t->views[i])->v[k].as);
	grid__resize(&g, 200, 120);
	key('?');
	says("COLUMNS of live");
	says("VERDICTS");
	for (size_t i = 0; i < n_verdict_words; i++)
		says(verdict_words[i].says);
	says("share of the blocks allocated here that were freed again");
	/* all of it is there, so nothing is said to be below */
	cr_assert_not(strstr(row(4), "more"));
}

Test(top_rows, the_help_says_where_one_is_in_it)
{
	char text[64];

	begin(SAMPLE_SINGLE);
	grid__resize(&g, 24, 80);
	key('?');
	snprintf(text, sizeof(text), "1-17 of %zu, ↓ more", t->help_lines);
	says(text);
	key(TOP_KEY_DOWN);
	snprintf(text, sizeof(text), "2-18 of %zu, ↑↓ more", t->help_lines);
	says(text);
	key(TOP_KEY_END);
	snprintf(text, sizeof(text), "%zu-%zu of %zu, ↑ more", t->help_lines - 16, t->help_lines, t->help_lines);
	says(text);
	/* at any width every word of it is there */
	for (int cols = 34; cols < 130; cols++) {
		grid__resize(&g, 400, cols);
		top__draw(t, &g);
		cr_assert_eq(grid__broken_row(&g), -1);
		says("VERDICTS");
	}
}

Test(top_rows, of_cgroups_are_titled_so)
{
	static const char *const by[][2] = { { "cgroup", "CGROUP" }, { "comm", "PROCESS" } };

	for (size_t i = 0; i < ARRAY_SIZE(by); i++) {
		struct snapshot *s = sample__new(0), *grouped = snapshot__group(s, grouping__find(by[i][0]));
		struct top_opts o = { .suffix = ".json", .suffixes = ".json", .interval_ns = MADE_SECOND };

		t = top__new(&o);
		grid__resize(&g, 24, 120);
		top__update(t, grouped);
		top__draw(t, &g);
		key('4');
		says(by[i][1]);
		top__free(t);
		t = NULL;
		snapshot__free(s);
	}
}

/* Each line above the tabs is what a wide screen has, up to the end of a clause, and says so if that is not all. */
static void want_whole_clauses(int line, const char *whole, int cols)
{
	char *is = row(line), *more = strstr(is, " …");
	const char *rest;

	if (more)
		*more = 0;
	rest = whole + strlen(is);
	cr_expect(!strncmp(whole, is, strlen(is)), "%d columns: %s", cols, is);
	cr_expect(more ? strchr(",;: ", *rest) && *rest : !*rest || !strncmp(rest, "   ", 3), "%d columns: %s, then %s", cols, is, rest);
}

Test(top_rows, half_a_number_is_not_in_the_header)
{
	struct snapshot *s = sample__machine(), *grouped = snapshot__group(s, &grouping_programs);
	struct top_opts o = { .suffix = ".json", .suffixes = ".json", .interval_ns = MADE_SECOND };
	struct snap_process *rows = (struct snap_process *)grouped->processes;
	char *machine, *growth;

	t = top__new(&o);
	for (size_t i = 0; i < grouped->n_processes; i++)
		if (!rows[i].ended)
			rows[i].rss_at_attach_bytes = 1;
	top__update(t, grouped);
	grid__resize(&g, 24, 400);
	top__draw(t, &g);
	says("of its growth explained");
	says("   ended ");
	machine = strdup(row(3));
	for (int cols = 60; cols < 300; cols++) {
		grid__resize(&g, 24, cols);
		top__draw(t, &g);
		want_whole_clauses(3, machine, cols);
		growth = strstr(row(1), "% of");
		cr_expect(!growth || strstr(growth, "of its growth explained"), "%d columns: %s", cols, row(1));
	}
	free(machine);
	snapshot__free(s);
}

/* Of any number of processes; without any that grows, those that hold the most are first. */
Test(top_rows, what_was_started_and_not_traced)
{
	struct snapshot *s;
	struct top_opts o = { .suffix = ".json", .suffixes = ".json", .interval_ns = MADE_SECOND };

	t = top__new(&o);
	grid__resize(&g, 24, 120);
	s = sample__new(SAMPLE_SINGLE);
	top__update(t, s);
	top__draw(t, &g);
	says_not("add -f");
	s->n_unfollowed = 3;
	top__draw(t, &g);
	says("redis-server started 3 processes that were not traced: add -f");
}

/* -a: what grows is first, what has ended last, whatever it held; another order that is chosen is that of all. */
Test(top_rows, of_a_machine)
{
	struct snapshot *s = sample__machine(), *grouped = snapshot__group(s, &grouping_programs);
	struct snap_process *rows = (struct snap_process *)grouped->processes;
	struct top_opts o = { .suffix = ".json", .suffixes = ".json", .interval_ns = MADE_SECOND };
	const char *order[] = { "stress", "redis-server", "nginx" };
	_cleanup_free_ char *text = NULL;

	for (size_t i = 0; i < grouped->n_processes; i++)
		if (rows[i].ended && rows[i].c.live_bytes > MIB)
			rows[i].c.live_bytes = 900 * MIB;
	t = top__new(&o);
	grid__resize(&g, 24, 120);
	top__update(t, grouped);
	top__draw(t, &g);
	says("memory 16.0 GiB, 1.5 GiB available, 410.0 MiB free, swap 1.0 GiB of 2.0 GiB used");
	says("20 processes, 5 running");
	says("[4 processes]");
	says("by GROWTH/s");
	/* below them, on the same screen */
	says("SITES of the groups that grow most");
	says("textbuild");
	grid__resize(&g, 16, 120);
	top__draw(t, &g);
	says("stress");
	says_not("SITES of");
	grid__resize(&g, 40, 120);
	top__draw(t, &g);
	text = grid__text(&g);
	golden__check("top-machine-120.txt", text, strlen(text));
	for (size_t i = 0; i < ARRAY_SIZE(order); i++)
		cr_expect_str_eq(t->rows.v[i].of.process->comm, order[i]);
	for (size_t i = ARRAY_SIZE(order); i < t->rows.n; i++)
		cr_expect(t->rows.v[i].of.process->ended);
	cr_expect_eq(t->rows.v[3].of.process->c.live_bytes, 900 * MIB);
	/* the column before growth, by hand */
	while (strcmp(view__columns(top__view(t))->v[t->at[t->view].sort].as, "live"))
		key('S');
	cr_expect_eq(t->rows.v[0].of.process->c.live_bytes, 900 * MIB);

	says("p procs");
	cr_expect_eq(top__key(t, 'p'), TOP_GROUP);
	key(' ');
	cr_expect_eq(top__key(t, 'p'), TOP_NONE, "frozen");
	top__free(t);
	snapshot__free(s);

	t = made__top(SAMPLE_SINGLE);
	top__draw(t, &g);
	cr_expect_eq(top__key(t, 'p'), TOP_NONE);
	top__draw(t, &g);
	says("There is one process.");
}
