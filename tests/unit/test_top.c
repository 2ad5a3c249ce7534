// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* The live view: what keys do, and what stays when figures change. */
#include <criterion/criterion.h>

#include "golden.h"
#include "present/views.h"
#include "top_screen.h"

TestSuite(top, .fini = end);

Test(top, keys_lead_to_views)
{
	begin(0);
	says("[1 live]");
	made__type(t, &g, "2");
	says("[2 allocs]");
	says("CALLS/s");
	made__type(t, &g, "3");
	says("AT PEAK");
	made__type(t, &g, "4");
	says("[4 processes]");
	made__type(t, &g, "5");
	says("bio_lazy_free");
	made__type(t, &g, "6");
	says("FREED AFTER");
	key(TOP_KEY_TAB);
	says("[f functions]");
	key(TOP_KEY_TAB);
	says("[F files]");
	key(TOP_KEY_TAB);
	says("[M modules]");
	key(TOP_KEY_TAB);
	says("[H heap]");
	key(TOP_KEY_TAB);
	says("[1 live]");
	made__type(t, &g, "f");
	says("[f functions]");
	cr_assert_eq(made__type(t, &g, "q"), TOP_QUIT);
}

Test(top, a_view_of_what_is_not_recorded_is_not_there)
{
	begin(SAMPLE_COUNT);
	says("[2 allocs]");
	says_not("1 live");
	made__type(t, &g, "3");
	says("[2 allocs]");
	says("does not record");
}

Test(top, rates_come_from_two_snapshots)
{
	struct top_opts o = { .suffix = ".json", .suffixes = ".json", .interval_ns = MADE_SECOND };

	t = top__new(&o);
	grid__resize(&g, 24, 100);
	top__draw(t, &g);
	says("not traced yet");
	top__update(t, made__sample(SAMPLE_SINGLE, 1));
	made__type(t, &g, "2");
	/* one is none */
	cr_assert(strstr(row(2), "-"));
	cr_assert_not(strstr(row(2), "/s alloc"));
	top__update(t, made__sample(SAMPLE_SINGLE, 0));
	top__draw(t, &g);
	/* 2,100,000 / 30 calls in the last second */
	cr_assert(strstr(row(made__row_of(&g, "textbuild")), " 70,000"));
}

Test(top, sorts_by_every_column_both_ways)
{
	begin(SAMPLE_SINGLE);
	cr_assert(strstr(row(5), "raxGenericInsert"));
	made__type(t, &g, "r");
	cr_assert(strstr(row(5), "textbuild"));
	says("by LIVE ↑");
	/* the order is called what the column is titled */
	made__type(t, &g, "rs");
	says("by GROWTH/s ↓");
	made__type(t, &g, "ss");
	says("by FREED ↓");
	cr_assert(strstr(row(5), ">99%"));
	made__type(t, &g, "ss");
	says("by VERDICT ↓");
	made__type(t, &g, "s");
	/* names from A to Z */
	says("by SITE ↓");
	cr_assert(strstr(row(5), "[no stack]"));
	cr_assert(strstr(row(6), "_dictExpand"));
	made__type(t, &g, "s");
	says("by LIVE ↓");
	made__type(t, &g, "S");
	says("by SITE ↓");
}

/* What holds 80 bytes, all younger than 17 seconds, comes before what is known not to grow. */
Test(top, what_came_lately_ranks_by_what_it_holds)
{
	begin(0);
	made__type(t, &g, "s");
	says("by GROWTH/s ↓");
	cr_assert(strstr(row(6), "leak"));
	cr_assert(strstr(row(9), "140 B") && strstr(row(9), " - "), "%s", row(9));
	cr_assert(strstr(row(10), " 0 B"), "%s", row(10));
	cr_assert(strstr(row(12), "-12 B"), "%s", row(12));
	made__type(t, &g, "r");
	cr_assert(strstr(row(6), "-12 B"));
	cr_assert(strstr(row(12), "leak"), "%s", row(12));
}

/* All stacks of one line are one row; Enter shows them below it, and opens the one that it is on. */
Test(top, a_row_unfolds_into_its_stacks)
{
	begin(0);
	made__type(t, &g, "/evil\n");
	cr_assert(strstr(row(6), "140 B") && strstr(row(6), "▸ evil"), "%s", row(6));
	cr_assert_null(strstr(row(7), " B "), "%s", row(7));
	made__type(t, &g, "\n");
	cr_assert(strstr(row(6), "140 B") && strstr(row(6), "▾ evil"), "%s", row(6));
	cr_assert(strstr(row(7), "80 B") && strstr(row(7), "  evil"), "%s", row(7));
	cr_assert(strstr(row(8), "30 B") && strstr(row(9), "30 B"), "%s", row(9));
	made__type(t, &g, "j\n");
	says("FRAME");
	says("80 B in 1 block");
	made__type(t, &g, "\033kk\n");
	cr_assert(strstr(row(6), "▸ evil"), "%s", row(6));
	cr_assert_null(strstr(row(7), "80 B"), "%s", row(7));
}

Test(top, a_click_on_a_title_sorts)
{
	char *line;
	int col;

	begin(SAMPLE_SINGLE);
	line = row(4);
	col = (int)(strstr(line, "BLOCKS") - line);
	top__mouse(t, TOP_CLICK, 4, col);
	top__draw(t, &g);
	says("by BLOCKS ↓");
	top__mouse(t, TOP_CLICK, 4, col);
	top__draw(t, &g);
	says("by BLOCKS ↑");
	/* and one on a tab leads there */
	line = row(3);
	/* each of the lines before it takes two bytes more than columns */
	col = (int)(strstr(line, "5 threads") - line) - 2 * 5;
	top__mouse(t, TOP_CLICK, 3, col);
	top__draw(t, &g);
	says("[5 threads]");
}

Test(top, a_row_stays_under_the_cursor)
{
	struct snapshot *s;

	begin(SAMPLE_SINGLE);
	key(TOP_KEY_DOWN);
	is_selected("_dictExpand");
	/* it becomes the heaviest */
	s = made__sample(SAMPLE_SINGLE, 0);
	s->duration_ns += MADE_SECOND;
	s->sites[1].c.live_bytes = 100ull << 20;
	top__update(t, s);
	top__draw(t, &g);
	cr_assert(strstr(row(5), "_dictExpand"));
	is_selected("_dictExpand");
	/* whoever goes home sees what is first */
	key(TOP_KEY_END);
	key(TOP_KEY_HOME);
	s = made__sample(SAMPLE_SINGLE, 0);
	s->duration_ns += 2 * MADE_SECOND;
	top__update(t, s);
	top__draw(t, &g);
	is_selected("raxGenericInsert");
}

Test(top, the_cursor_moves_within_the_rows)
{
	begin(SAMPLE_SINGLE);
	key(TOP_KEY_UP);
	is_selected("raxGenericInsert");
	for (int i = 0; i < 9; i++)
		key('j');
	is_selected("textbuild");
	key('k');
	is_selected("[no stack]");
	key(TOP_KEY_PAGE_UP);
	is_selected("raxGenericInsert");
	key(TOP_KEY_PAGE_DOWN);
	is_selected("textbuild");
	top__mouse(t, TOP_WHEEL_UP, 10, 10);
	top__draw(t, &g);
	is_selected("_dictExpand");
	top__mouse(t, TOP_CLICK, 5, 10);
	top__draw(t, &g);
	is_selected("raxGenericInsert");
}

Test(top, the_filter_counts_with_every_letter)
{
	begin(0);
	made__type(t, &g, "/rax");
	says("filter: rax");
	says("raxGenericInsert");
	says_not("_dictExpand");
	key(TOP_KEY_BACKSPACE);
	key(TOP_KEY_BACKSPACE);
	key(TOP_KEY_BACKSPACE);
	says("_dictExpand");
	/* a regular expression, in any case, over files too */
	made__type(t, &g, "DICT\\.c|^textbu\n");
	says("_dictExpand");
	says("textbuild");
	says_not("raxGenericInsert");
	says("/DICT\\.c|^textbu");
	/* what is none yet is taken as it stands */
	made__type(t, &g, "/");
	key('U' - '@');
	made__type(t, &g, "lambda(int");
	says("engine::Table::add");
	key(TOP_KEY_ESC);
	says("raxGenericInsert");
	made__type(t, &g, "/nobody has this name\n");
	says("nothing matches nobody has this name");
	key(TOP_KEY_ESC);
	says("raxGenericInsert");
}

Test(top, a_process_can_be_looked_at_alone)
{
	begin(0);
	made__type(t, &g, "4");
	key(TOP_KEY_DOWN);
	is_selected("table?worker;1");
	key(TOP_KEY_ENTER);
	says("[1 live]");
	says("table?worker;1 (1501)  ended");
	says_not("raxGenericInsert");
	says("engine::Table::add");
	key(TOP_KEY_ESC);
	says("[4 processes]");
	says("2 processes, 1 running");
}

Test(top, enter_shows_the_stack)
{
	begin(SAMPLE_SINGLE);
	key(TOP_KEY_ENTER);
	says("raxGenericInsert: leak");
	says("0 of 31,744 blocks freed");
	says("raxTryInsert (inlined)");
	says("src/tracking.c:212");
	/* all that goes through main: 31 MiB, 6 MiB and 48 B of 38.0 MiB */
	cr_assert(strstr(row(made__row_of(&g, "main  ")), "37.0 MiB  97.4%"));
	made__type(t, &g, "n");
	says("_dictExpand: steady");
	made__type(t, &g, "p");
	says("raxGenericInsert: leak");
	/* by calls, another share */
	made__type(t, &g, "mmm");
	says("alloc-calls");
	cr_assert(strstr(row(made__row_of(&g, "processCommand")), "97.2%"), "%s", row(made__row_of(&g, "processCommand")));
	key(TOP_KEY_ESC);
	says("SITE");
}

Test(top, a_stack_that_is_gone_says_so)
{
	struct snapshot *s;

	begin(SAMPLE_SINGLE);
	key(TOP_KEY_ENTER);
	s = made__sample(SAMPLE_EMPTY, 0);
	s->duration_ns += MADE_SECOND;
	top__update(t, s);
	top__draw(t, &g);
	says("not among those that are kept");
	key(TOP_KEY_ESC);
	says("no live blocks from this trace");
}

Test(top, the_tree_folds_and_unfolds_and_stays_so)
{
	struct snapshot *s;

	begin(SAMPLE_SINGLE);
	made__type(t, &g, "t");
	says("[tree]");
	says("raxTryInsert");
	key(TOP_KEY_LEFT);
	says_not("raxTryInsert");
	is_selected("_start");
	s = made__sample(SAMPLE_SINGLE, 0);
	s->duration_ns += MADE_SECOND;
	top__update(t, s);
	top__draw(t, &g);
	says_not("raxTryInsert");
	key(TOP_KEY_RIGHT);
	says("raxTryInsert");
	key(TOP_KEY_DOWN);
	key(TOP_KEY_DOWN);
	is_selected("main");
	key(TOP_KEY_ENTER);
	says_not("raxTryInsert");
	key(TOP_KEY_LEFT);
	is_selected("__libc_start_call_main");
	made__type(t, &g, "c");
	says("callees first");
	cr_assert(strstr(row(5), "raxGenericInsert"));
	made__type(t, &g, "m");
	says("live-blocks");
	made__type(t, &g, "t");
	says("[1 live]");
}

Test(top, a_frozen_screen_stays_while_snapshots_come)
{
	_cleanup_free_ char *before = NULL, *after = NULL;
	struct snapshot *s;

	begin(SAMPLE_SINGLE);
	made__type(t, &g, " ");
	says("FROZEN");
	before = grid__text(&g);
	for (int i = 1; i < 4; i++) {
		s = made__sample(SAMPLE_SINGLE, 0);
		s->duration_ns += i * MADE_SECOND;
		s->sites[0].c.live_bytes = 7ull << 30;
		top__update(t, s);
	}
	top__draw(t, &g);
	after = grid__text(&g);
	cr_assert_str_eq(before, after);
	/* keys work all the same */
	made__type(t, &g, "2");
	says("[2 allocs]");
	made__type(t, &g, "1 ");
	says("7.0 GiB");
	says_not("FROZEN");
}

Test(top, changes_count_from_the_baseline_of_the_snapshot)
{
	struct snapshot *s = made__sample(SAMPLE_SINGLE, 0);

	begin(SAMPLE_SINGLE);
	/* until then it would be what is live */
	says_not("Δ");
	cr_assert_eq(made__type(t, &g, "b"), TOP_BASELINE);
	s->duration_ns += 5 * MADE_SECOND;
	s->baseline = true;
	s->baseline_ns = 30 * MADE_SECOND;
	s->sites[0].since_baseline_bytes = 512 * 1024;
	s->sites[1].since_baseline_bytes = -100;
	top__update(t, s);
	top__draw(t, &g);
	says("Δ since 5.0s ago");
	says("+512.0 KiB");
	says("-100 B");
}

Test(top, writes_where_it_is_told)
{
	begin(SAMPLE_SINGLE);
	made__type(t, &g, "o");
	says("write to: redis-server-1432-20261114-235902.json");
	key(TOP_KEY_TAB);
	says("-235902.txt");
	key(TOP_KEY_TAB);
	says("-235902.folded");
	cr_assert_eq(made__type(t, &g, "\n"), TOP_WRITE);
	cr_assert_str_eq(top__path(t), "redis-server-1432-20261114-235902.folded");
	made__type(t, &g, "o");
	key('U' - '@');
	made__type(t, &g, "é/x.jsonq");
	key(TOP_KEY_BACKSPACE);
	key(TOP_KEY_HOME);
	key(TOP_KEY_DELETE);
	key('A');
	says("write to: A");
	key(TOP_KEY_ESC);
	says_not("write to");
	cr_assert_str_eq(top__path(t), "redis-server-1432-20261114-235902.folded");
}

Test(top, plus_and_minus_change_the_interval)
{
	begin(SAMPLE_SINGLE);
	cr_assert_eq(made__type(t, &g, "+"), TOP_INTERVAL);
	cr_assert_eq(top__interval_ns(t), 2 * MADE_SECOND);
	for (int i = 0; i < 12; i++)
		made__type(t, &g, "+");
	cr_assert_eq(top__interval_ns(t), 60 * MADE_SECOND);
	for (int i = 0; i < 12; i++)
		made__type(t, &g, "-");
	cr_assert_eq(top__interval_ns(t), MADE_SECOND / 4);
}

Test(top, messages_have_a_line_of_their_own)
{
	begin(SAMPLE_SINGLE);
	top__say(t, "something\nhappened");
	top__draw(t, &g);
	cr_assert_str_eq(row(22), "something happened");
	top__progress(t, "reading");
	top__draw(t, &g);
	cr_assert_str_eq(row(22), "reading");
	top__progress(t, NULL);
	key('j');
	cr_assert_str_eq(row(22), "");
	top__all_ended(t);
	top__draw(t, &g);
	says("has ended");
	says("raxGenericInsert");
}

Test(top, losses_cannot_be_missed)
{
	int at;

	begin(SAMPLE_SINGLE | SAMPLE_LOSSES);
	at = made__row_of(&g, "LOST: 1,204 blocks are in no figure");
	cr_assert_eq(at, 3);
	for (int col = 0; col < g.cols; col++)
		cr_assert_eq(grid__cell(&g, at, col)->style, STYLE_LOSS);
	cr_assert(strstr(row(2), "LOSSES 1,211"));
}

Test(top, every_key_of_the_help_does_something_somewhere)
{
	begin(SAMPLE_SINGLE);
	made__type(t, &g, "?");
	says("KEYS");
	for (int i = 0; i < 40 && !made__says(&g, "end the trace"); i++)
		key(TOP_KEY_DOWN);
	says("end the trace");
	key(TOP_KEY_ESC);
	says("SITE");
}

Test(top, asks_for_the_names_it_shows_and_takes_them)
{
	struct snapshot *named = sample__new(SAMPLE_SINGLE), *s;
	const uint32_t *wanted;
	size_t n;

	begin(SAMPLE_SINGLE | SAMPLE_UNNAMED);
	says("redis-server+0x8a4f0");
	n = top__wanted(t, &wanted);
	cr_assert_gt(n, 0);
	s = top__shown(t);
	for (size_t i = 0; i < n; i++) {
		for (size_t k = 0; k < i; k++)
			cr_assert_neq(wanted[i], wanted[k], "each once");
		s->places[wanted[i]] = named->places[wanted[i]];
	}
	top__named(t);
	top__draw(t, &g);
	says("raxGenericInsert");
	cr_assert_eq(top__wanted(t, &wanted), 0);
	snapshot__free(named);
}

/* ---- threads of one kind, and what to begin with */

static struct snapshot *with_workers(unsigned int seconds_ago)
{
	static struct snap_thread threads[2][4];
	struct snapshot *s = made__sample(SAMPLE_SINGLE, seconds_ago);
	struct snap_process *p = (struct snap_process *)s->processes;
	struct snap_thread *v = threads[!seconds_ago];

	for (unsigned int i = 0; i < 4; i++)
		v[i] = (struct snap_thread){
			.tid = 2000 + i,
			.comm = (const char *[]){ "worker-1", "worker-2", "worker-3", "acceptor" }[i],
			.ended = i == 2,
			.c = { .alloc_calls = 1000 * (i + 1) - 100 * i * seconds_ago, .alloc_bytes = 64000 * (4 - i) },
		};
	p->threads = v;
	p->n_threads = 4;
	return s;
}

static void begin_with_workers(unsigned int views, const char *sort)
{
	struct top_opts o = { .suffix = ".json", .suffixes = ".json", .interval_ns = MADE_SECOND, .views = views, .sort = sort };

	t = top__new(&o);
	top__update(t, with_workers(1));
	top__update(t, with_workers(0));
	grid__resize(&g, 24, 120);
	top__draw(t, &g);
}

Test(top, threads_of_one_kind_are_a_row_that_unfolds)
{
	_cleanup_free_ char *text = NULL;

	begin_with_workers(VIEW_THREADS, NULL);
	says("[5 threads]");
	says("▸ worker-*");
	says("THREADS");
	says_not("worker-1");
	/* 100 and 200 calls in the last second */
	cr_assert(strstr(row(made__row_of(&g, "worker-*")), " 300 "), "%s", row(made__row_of(&g, "worker-*")));
	/* below it, in the order of all */
	key(TOP_KEY_END);
	if (!strstr(selected(), "worker-*"))
		key('k');
	is_selected("worker-*");
	key('\n');
	says("▾ worker-*");
	is_selected("worker-*");
	cr_assert_eq(made__row_of(&g, "worker-3"), made__row_of(&g, "worker-*") + 1);
	cr_assert_eq(made__row_of(&g, "worker-2"), made__row_of(&g, "worker-*") + 2);
	cr_assert_eq(made__row_of(&g, "worker-1"), made__row_of(&g, "worker-*") + 3);
	text = grid__text(&g);
	golden__check("top-workers-120.txt", text, strlen(text));
	key('r');
	cr_assert_eq(made__row_of(&g, "worker-1"), made__row_of(&g, "worker-*") + 1);
	cr_assert_eq(made__row_of(&g, "worker-3"), made__row_of(&g, "worker-*") + 3);
	key('r');
	/* and stays so */
	top__update(t, with_workers(0));
	top__draw(t, &g);
	says("worker-2");
	key('j');
	is_selected("worker-3");
	key('k');
	key('\n');
	says("▸ worker-*");
	says_not("worker-1");
	/* a member's name finds the row */
	made__type(t, &g, "/worker-2");
	says("▸ worker-*");
	says_not("acceptor");
}

Test(top, begins_with_what_is_asked_for)
{
	begin_with_workers(VIEW_THREADS, "alloc-bytes");
	says("[5 threads]");
	says("by BYTES ↓");
	cr_assert_lt(made__row_of(&g, "worker-*"), made__row_of(&g, "acceptor"));
	made__type(t, &g, "2");
	says("by BYTES ↓");
	/* a view without that column has its own order */
	made__type(t, &g, "1");
	says("by LIVE ↓");
	top__free(t);
	begin_with_workers(VIEW_LIFETIMES, "oldest");
	says("[6 sizes]");
	made__type(t, &g, "1");
	says("by OLDEST ↓");
	top__free(t);
	begin_with_workers(VIEW_TREE, NULL);
	says("[tree]");
	top__free(t);
	begin_with_workers(VIEW_TEMPORARY, NULL);
	says("[2 allocs]");
	says("by TEMP ↓");
}

/* What is said is said to its end, also on a narrow screen. */
Test(top, a_long_message_takes_two_lines)
{
	begin(SAMPLE_SINGLE);
	top__say(t, "this is a message of more than eighty columns, which a line of the screen has no room for: here is its end");
	top__draw(t, &g);
	says("this is a message of more than eighty columns");
	says("here is its end");
}
