// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* The live view's tables of the heap: which look is asked for, what they say, and when. */
#include <criterion/criterion.h>

#include "model/heaps.h"
#include "top_screen.h"

TestSuite(top_heap, .fini = end);

/* The next snapshot has what a look found. */
static void look(unsigned int flags, unsigned int heap)
{
	struct snapshot *s = made__sample(flags, 0);

	s->duration_ns += MADE_SECOND;
	sample__add_heap(s, 0, heap);
	top__update(t, s);
	top__draw(t, &g);
}

/* The last of its processes that runs was being searched. */
static void look_interrupted(unsigned int flags)
{
	struct snapshot *s = made__sample(flags, 0);

	s->duration_ns += MADE_SECOND;
	if (s->n_processes > 1)
		sample__add_heap(s, 0, HEAP_SEARCHED | HEAP_QUIET);
	sample__add_heap(s, s->n_processes > 1, 0);
	((struct snap_heap *)s->heaps)[s->n_heaps - 1].search_interrupted = true;
	top__update(t, s);
	top__draw(t, &g);
}

Test(top_heap, a_key_asks_for_a_look_and_another_one_for_what_is_not_reached)
{
	begin(SAMPLE_SINGLE);
	key('H');
	says("The heap of redis-server (1432) was not scanned yet.");
	says("h  scans it now");
	cr_assert_eq(made__type(t, &g, "h"), TOP_HEAP_LOOK);
	cr_assert_eq(top__heap_process(t), 1);
	cr_assert_eq(made__type(t, &g, "u"), TOP_HEAP_SEARCH);
	/* from a table of sites one stays in it: that is where the answer is wanted */
	key('1');
	says_not("UNREACHABLE");
	cr_assert_eq(made__type(t, &g, "u"), TOP_HEAP_SEARCH);
	says("[1 live]");
	look(SAMPLE_SINGLE, HEAP_SEARCHED);
	says("UNREACHABLE");
	/* h leads to what it looks at */
	cr_assert_eq(made__type(t, &g, "h"), TOP_HEAP_LOOK);
	says("[H heap]");
}

Test(top_heap, of_several_processes_that_of_the_row_or_the_one_in_sight)
{
	begin(0);
	key('4');
	is_selected("redis-server");
	cr_assert_eq(made__type(t, &g, "h"), TOP_HEAP_LOOK);
	cr_assert_eq(top__heap_process(t), 1);
	/* no row, no process: nothing is guessed */
	says("was not scanned yet");
	cr_assert_eq(made__type(t, &g, "u"), TOP_NONE);
	says("Whose heap?");
	/* one that ended has none */
	made__type(t, &g, "4j");
	is_selected("table?worker;1");
	cr_assert_eq(made__type(t, &g, "h"), TOP_NONE);
	says("has ended: its memory is gone");
	made__type(t, &g, "\nH");
	says("was not scanned, and the process has ended");
}

Test(top_heap, a_look_that_came_to_nothing_says_why)
{
	begin(SAMPLE_SINGLE);
	made__type(t, &g, "h");
	top__heap_failed(t, "redis-server (1432) belongs to uid 110 and this user may not look into it");
	top__draw(t, &g);
	says("belongs to uid 110");
	says("h  scans it now");
	/* and leaves what was known before */
	look(SAMPLE_SINGLE, 0);
	says("belongs to uid 110");
	says("in use 64.6 MiB");
	top__heap_failed(t, NULL);
	top__draw(t, &g);
	says_not("belongs to uid 110");
}

Test(top_heap, tables_of_it_one_after_the_other)
{
	static const char *const tabs[] = { "[H heap]", "[H types]", "[H arenas]", "[H RSS]", "[H roots]" };

	begin(SAMPLE_SINGLE);
	look(SAMPLE_SINGLE, HEAP_SEARCHED | HEAP_OLDER);
	key('H');
	for (size_t i = 0; i <= ARRAY_SIZE(tabs); i++) {
		says(tabs[i % ARRAY_SIZE(tabs)]);
		key(i % 2 ? 'g' : 'H');
	}
	/* Tab knows them as one view */
	key(TOP_KEY_TAB);
	says("[1 live]");
	/* without --roots, and without a layout, less of them */
	look(SAMPLE_SINGLE, 0);
	made__type(t, &g, "Hggg");
	says("[H RSS]");
	key('g');
	says("[H heap]");
	look(SAMPLE_SINGLE, HEAP_REFUSED);
	says("heap layout not recognised");
	key('g');
	says("[H RSS]");
	says("[anonymous]");
	key('g');
	says("[H heap]");
}

Test(top_heap, what_was_not_searched_is_not_said_to_be_reached)
{
	begin(SAMPLE_SINGLE);
	look(SAMPLE_SINGLE, 0);
	key('H');
	says_not("UNREACHABLE");
	says("not searched for unreachable blocks: press u");
	look(SAMPLE_SINGLE, HEAP_SEARCHED | HEAP_QUIET);
	says("every block that was searched is reachable (3 scans)");
	end();
	begin(SAMPLE_SINGLE);
	look_interrupted(SAMPLE_SINGLE);
	key('H');
	says("the search for unreachable blocks was interrupted: press u");
	end();
	begin(0);
	look_interrupted(0);
	key('H');
	says("  search interrupted");
	/* of another process, whose heap was not searched, it is not known */
	end();
	begin(0);
	look(0, HEAP_SEARCHED);
	made__type(t, &g, "4j\n");
	says("UNREACHABLE");
	cr_assert(strstr(selected(), " - "), "%s", selected());
	/* and only what is older than a trace is said to be */
	key('H');
	says_not("OLDER");
}

Test(top_heap, rows_are_sorted_and_filtered_and_add_up)
{
	begin(SAMPLE_SINGLE);
	look(SAMPLE_SINGLE, HEAP_SEARCHED);
	key('H');
	is_selected("1,032");
	made__type(t, &g, "SS");
	says("by USABLE");
	is_selected("1-2 MiB");
	key('r');
	is_selected("24 ");
	made__type(t, &g, "/session\n");
	is_selected("app::Session");
	says("sum of 1 of 9 sizes: 11.2 MiB in use (17.4%) in 210.4k blocks (50.8%)");
	made__type(t, &g, "gg");
	says("nothing matches session");
	key(TOP_KEY_ESC);
	made__type(t, &g, "g/global\n");
	says("sum of 2 of 14 parts: 192.0 KiB resident (0.2%)");
}

/* What no pointer reaches is what one looks for: it stays where others have to go. */
Test(top_heap, what_is_not_reached_stays_on_a_small_screen)
{
	begin(SAMPLE_SINGLE);
	look(SAMPLE_SINGLE, HEAP_SEARCHED | HEAP_OLDER);
	key('H');
	grid__resize(&g, 12, 40);
	top__draw(t, &g);
	says("in use 64.6 MiB");
	says("scans: 40,674 blocks, 33.5 MiB");
	says("UNREACHED");
	is_selected("31.2 MiB  31.2 MiB");
	/* in a few words where there is no room for more */
	grid__resize(&g, 10, 40);
	top__draw(t, &g);
	says("unreached: 40,674, 33.5 MiB");
	is_selected("1,032");
}

Test(top_heap, keys_that_do_nothing_are_not_shown)
{
	begin(SAMPLE_SINGLE);
	look(SAMPLE_SINGLE, HEAP_SEARCHED);
	says("Enter open");
	key('H');
	says_not("Enter open");
	says("h scan");
	/* of several it chooses one */
	end();
	begin(0);
	look(0, HEAP_SEARCHED);
	key('H');
	says("Enter open");
	key('\n');
	says("[H heap]");
	says_not("Enter open");
}

Test(top_heap, a_row_of_several_processes_has_no_heap_of_its_own)
{
	struct snapshot *s;

	begin(SAMPLE_SINGLE);
	grid__resize(&g, 24, 160);
	look(SAMPLE_SINGLE, HEAP_OLDER);
	says("; 38.2 MiB in 248,662 blocks are older");
	s = made__sample(SAMPLE_SINGLE, 0);
	s->duration_ns += 2 * MADE_SECOND;
	sample__add_heap(s, 0, HEAP_OLDER);
	((struct snap_process *)s->processes)->n_members = 2;
	top__update(t, s);
	top__draw(t, &g);
	says("redis-server");
	says_not("are older");
}

Test(top_heap, half_a_sentence_is_not_said)
{
	begin(SAMPLE_SINGLE);
	look(SAMPLE_SINGLE, HEAP_SEARCHED | HEAP_OLDER);
	key('H');
	for (int cols = 20; cols < 130; cols++)
		for (int rows = 8; rows < 20; rows++) {
			grid__resize(&g, rows, cols);
			top__draw(t, &g);
			cr_assert_eq(grid__broken_row(&g), -1);
			if (made__says(&g, "no pointer found"))
				cr_assert(made__says(&g, cols < 100 ? "33.5" : "direct)"), "%d x %d", cols, rows);
		}
}

Test(top_heap, hostile_names_only_look_odd)
{
	static const struct snap_share shares[] = { { "\033[2J漢字ｅ\u0301\u202eevil", 1, true } };
	static const struct snap_class classes[] = { { 24, 0, 1, 24, 1, 24, 1, shares, 1 }, { UINT64_MAX - 1, UINT64_MAX, UINT64_MAX, UINT64_MAX, 0, 0, 0, NULL, 0 } };
	static const struct snap_type types[] = { { "\n\033]0;title\a", 1, 24, true, true } };
	static const struct snap_part parts[] = { { PART_GLOBAL, "\033[31m", "/a/\u202eb", 0, 1, 1, 1, 1, NULL, 0, 0 }, { PART_OTHER, NULL, NULL, 0, 0, 0, 0, 0, NULL, 0, 0 } };
	static const struct snap_root roots[] = { { ROOT_GLOBAL, "\t\t", "\033", 1, 1 }, { ROOT_MAPPING, NULL, NULL, 0, 0 } };
	static const struct snap_heap heaps[] = { { .allocator = NULL, .classes = classes, .n_classes = 2, .types = types, .n_types = 1, .parts = parts, .n_parts = 2,
						    .roots = roots, .n_roots = 2, .unreached = { .scans = 1, .registers = "\033" } } };
	struct snapshot *s;

	begin(SAMPLE_SINGLE);
	s = made__sample(SAMPLE_SINGLE, 0);
	s->duration_ns += MADE_SECOND;
	snapshot__set_heaps(s, heaps, 1);
	top__update(t, s);
	for (const char *k = "Hsssssgsssssgsssssssgssssssgssssg/x\n"; *k; k++) {
		key(*k);
		cr_assert_eq(grid__broken_row(&g), -1, "%c", *k);
		says_not("\033");
	}
}
