// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* The live view's tables of what was asked for: when they are there, what they tell, and that no size breaks them. */
#include <criterion/criterion.h>

#include "present/views.h"
#include "top_made.h"

static struct grid g;
static struct top *t;
static struct tagger tagger;

static void begin(void)
{
	t = made__top_asked(&tagger);
	grid__resize(&g, 24, 120);
	top__draw(t, &g);
}

static void end(void)
{
	top__free(t);
	grid__done(&g);
	tagger__done(&tagger);
}

TestSuite(top_asked, .fini = end);

static void key(int k)
{
	top__key(t, k);
	top__draw(t, &g);
}

/* The row of the screen with this text in it. */
static char *row_with(const char *text)
{
	static char *kept;
	int row = made__row_of(&g, text);

	cr_assert_neq(row, -1, "%s", text);
	free(kept);
	return kept = grid__row_text(&g, row);
}

#define says(text) cr_assert(made__says(&g, text), "%s", text)
#define says_not(text) cr_assert_not(made__says(&g, text), "%s", text)
#define row_says(of, text) cr_assert(strstr(row_with(of), text), "%s", row_with(of))

Test(top_asked, without_options_there_is_nothing_of_it)
{
	static const struct {
		int key;
		const char *says;
	} rows[] = {
		{ '7', "That view goes with --tag FUNC." },
		{ '8', "That view goes with --mark FUNC." },
		{ '9', "That view goes with --free-stacks." },
		{ '0', "That view goes with --when COND." },
	};

	t = made__top(SAMPLE_SINGLE);
	grid__resize(&g, 24, 120);
	top__draw(t, &g);
	says("6 sizes");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		key(rows[i].key);
		says("[1 live]");
		says(rows[i].says);
	}
	says_not("7 tags");
	/* once around */
	for (unsigned int i = 0; i < 10; i++)
		key(TOP_KEY_TAB);
	says("[1 live]");
}

Test(top_asked, tab_goes_through_them_all)
{
	begin();
	for (int i = 0; i < 9; i++)
		key(TOP_KEY_TAB);
	says("[0 when]");
	key(TOP_KEY_TAB);
	says("[f functions]");
	for (int i = 0; i < 3; i++)
		key(TOP_KEY_TAB);
	says("[H heap]");
	key(TOP_KEY_TAB);
	says("[1 live]");
}

Test(top_asked, view_tags_is_where_it_begins)
{
	struct top_opts o = { .suffix = ".json", .suffixes = ".json", .interval_ns = MADE_SECOND, .tagger = &tagger, .views = VIEW_TAGS };

	cr_assert_eq(tagger__add(&tagger, "processCommand", "processCommand"), 0);
	t = top__new(&o);
	grid__resize(&g, 24, 120);
	top__update(t, sample__asked());
	top__draw(t, &g);
	says("[7 tags]");
	says_not("8 marks");
	top__free(t);
	/* marks alone are asked for by the same word */
	o.tagger = NULL;
	o.marks = true;
	t = top__new(&o);
	top__update(t, sample__asked());
	top__draw(t, &g);
	says("[8 marks]");
	says_not("7 tags");
}

Test(top_asked, tags_add_up_to_all)
{
	const struct snapshot *s;
	uint64_t calls = 0;

	begin();
	key('7');
	s = top__shown(t);
	cr_assert_eq(s->n_tags, 2);
	for (size_t i = 0; i < s->n_sites; i++)
		calls += s->sites[i].c.alloc_calls;
	cr_assert_eq(calls, s->totals.alloc_calls);
	/* textbuild's and trackingRememberKey's, below processCommand: 2,100,000 and 31,744 */
	row_says("processCommand", " 2.13M");
	row_says("processCommand", "31,744");
	row_says("redis-server:", " 61,204 ");
	says("(none)");
	/* by name, then the other way round */
	for (int i = 0; i < 12 && !made__says(&g, " TAG ↓"); i++)
		key('s');
	says(" TAG ↓");
	cr_assert_lt(made__row_of(&g, "(none)"), made__row_of(&g, "processCommand"));
	key('r');
	cr_assert_gt(made__row_of(&g, "(none)"), made__row_of(&g, "processCommand"));
}

/* Whose a site is, is known once its names are; all of them are asked for. */
Test(top_asked, names_make_the_tags)
{
	struct top_opts o = { .suffix = ".json", .suffixes = ".json", .interval_ns = MADE_SECOND, .tagger = &tagger };
	struct snapshot *named = sample__new(SAMPLE_SINGLE), *s = sample__new(SAMPLE_SINGLE | SAMPLE_UNNAMED);
	const uint32_t *wanted;
	size_t n;

	cr_assert_eq(tagger__add(&tagger, "processCommand", "processCommand"), 0);
	t = top__new(&o);
	grid__resize(&g, 24, 120);
	top__update(t, s);
	top__draw(t, &g);
	key('7');
	row_says("processCommand", " 0 B");
	for (int i = 0; i < 2; i++) {
		n = top__wanted(t, &wanted);
		cr_assert(n > 0 || i);
		for (size_t k = 0; k < n; k++)
			s->places[wanted[k]] = named->places[wanted[k]];
		top__named(t);
		top__draw(t, &g);
		row_says("processCommand", " 2.13M");
		key(TOP_KEY_ENTER);
		says("tag processCommand");
		says("raxGenericInsert");
		/* another snapshot has no names yet, nor rows: it asks for them all the same */
		s = sample__new(SAMPLE_SINGLE | SAMPLE_UNNAMED);
		s->duration_ns += MADE_SECOND;
		top__update(t, s);
		top__draw(t, &g);
		n = top__wanted(t, &wanted);
		cr_assert_gt(n, 0);
		for (size_t k = 0; k < n; k++)
			s->places[wanted[k]] = named->places[wanted[k]];
		top__named(t);
		top__draw(t, &g);
		says("raxGenericInsert");
		key(TOP_KEY_ESC);
		says("[7 tags]");
	}
	snapshot__free(named);
}

Test(top_asked, a_tag_has_its_tables)
{
	begin();
	key('7');
	/* the heaviest is the first */
	key(TOP_KEY_ENTER);
	says("[1 live]");
	says("tag processCommand");
	says("raxGenericInsert");
	says_not("dictExpand");
	key('2');
	says("tag processCommand");
	says_not("dictExpand");
	key(TOP_KEY_ESC);
	says("[7 tags]");
	says_not("tag processCommand");
	key('1');
	says("dictExpand");
}

Test(top_asked, rates_of_tags_are_those_between_two_looks)
{
	struct snapshot *s;

	begin();
	grid__resize(&g, 24, 200);
	key('7');
	row_says("processCommand", " - ");
	s = sample__asked();
	s->duration_ns += MADE_SECOND;
	for (size_t i = 0; i < s->n_sites; i++)
		s->sites[i].c.alloc_calls += 1000;
	top__update(t, s);
	top__draw(t, &g);
	/* two sites are its own */
	row_says("processCommand", "   2,000 ");
	/* a view later there is nothing to compare with */
	key('1');
	s = sample__asked();
	s->duration_ns += 2 * MADE_SECOND;
	top__update(t, s);
	s = sample__asked();
	s->duration_ns += 3 * MADE_SECOND;
	top__update(t, s);
	key('7');
	says("ALLOCS/s");
	row_says("processCommand", "  - ");
}

Test(top_asked, marks_the_newest_first)
{
	begin();
	key('8');
	/* the trace is 30 s old */
	says("1,006 marks, 1,001 without figures: flushAll 4, the last 3.0s ago; reloadConfig 2, the last 18.0s ago");
	/* since the one before: 1,900,000 less 1,100,000 calls */
	says("   3.0s        4    12.0s   800.0k  150.0 MiB   +10.0 MiB   35.0 MiB  flushAll");
	/* the one before it has no figures, and so the one before that counts */
	says("  15.0s        3     3.0s   240.0k   80.0 MiB   +11.0 MiB   25.0 MiB  flushAll");
	says("  18.0s        2        -        -          -           -   14.0 MiB  reloadConfig");
	says("  27.0s        1        -        -          -           -    3.8 MiB  flushAll");
	cr_assert_lt(made__row_of(&g, "   3.0s        4"), made__row_of(&g, "  15.0s        3"));
	key('r');
	cr_assert_gt(made__row_of(&g, "   3.0s        4"), made__row_of(&g, "  15.0s        3"));
}

Test(top_asked, frees_and_where)
{
	begin();
	key('9');
	/* the site with the most frees, and the place that most of them were at */
	row_says("textbuild", " 2.10M");
	key(TOP_KEY_ENTER);
	says("freed by free: 100%, 2,099,999 calls");
	key(TOP_KEY_ESC);
	key(TOP_KEY_DOWN);
	key(TOP_KEY_ENTER);
	says("freed by free: 67%, 40,000 calls, 200.0 MiB, after 30ms");
	says("20,000 by another thread than allocated");
	/* the last line can be reached on a screen that is too low for all of them */
	grid__resize(&g, 16, 100);
	top__draw(t, &g);
	for (int i = 0; i < 30; i++)
		key(TOP_KEY_DOWN);
	says("20,000 by another thread than allocated");
}

Test(top_asked, conditions_and_when_they_fired)
{
	begin();
	key('0');
	row_says("growth>10M/min", "5.0s");
	row_says("growth>10M/min", "holds 11.0 MiB more than 14.3s ago");
	row_says("live>24M", "2     8.0s");
	row_says("rss>2G", "not met yet");
	cr_assert_lt(made__row_of(&g, "growth>10M/min"), made__row_of(&g, "live>24M"), "the one that fired last is the first");
	cr_assert_lt(made__row_of(&g, "live>24M"), made__row_of(&g, "rss>2G"));
	/* there is nothing behind one */
	key(TOP_KEY_ENTER);
	says("[0 when]");
}

/* In one process as in all of them; what is compared is of the same ones. */
Test(top_asked, tags_have_rates_in_one_process_too)
{
	struct top_opts o = { .suffix = ".json", .suffixes = ".json", .interval_ns = MADE_SECOND, .tagger = &tagger };

	cr_assert_eq(tagger__add(&tagger, "processCommand", "processCommand"), 0);
	t = top__new(&o);
	grid__resize(&g, 24, 200);
	for (unsigned int i = 0; i < 7; i++) {
		struct snapshot *s = sample__new(0);

		s->ended = false;
		s->duration_ns += i * MADE_SECOND;
		for (size_t k = 0; k < s->n_sites; k++)
			s->sites[k].c.alloc_calls += 1000 * i;
		top__update(t, s);
		top__draw(t, &g);
		if (i == 1) {
			/* the heaviest process, which both sites are in */
			key('7');
			key('4');
			key(TOP_KEY_ENTER);
			key('7');
			says("redis-server (1432)");
			row_says("processCommand", "  - ");
		} else if (i == 2 || i == 3) {
			row_says("processCommand", "   2,000 ");
		}
		if (i == 3) {
			key(TOP_KEY_ESC);
			says("[4 processes]");
		}
		/* the figures that were there last are those of one process */
		if (i == 4) {
			key('7');
			says_not("redis-server (1432)");
			row_says("processCommand", "  - ");
		} else if (i > 4) {
			row_says("processCommand", "   2,000 ");
		}
	}
}

/* The help has nothing of it. */
Test(top_asked, enter_on_a_mark_does_nothing)
{
	static const unsigned int known[] = { ~0u, HAS_ALLOC_CALLS | HAS_ALLOC_BYTES };

	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		struct top_opts o = { .suffix = ".json", .suffixes = ".json", .interval_ns = MADE_SECOND, .marks = true };
		struct snapshot *s = sample__asked();
		_cleanup_free_ char *before = NULL, *after = NULL;

		s->known &= known[i];
		top__free(t);
		t = top__new(&o);
		grid__resize(&g, 24, 120);
		top__update(t, s);
		top__draw(t, &g);
		key('8');
		before = grid__text(&g);
		key(TOP_KEY_ENTER);
		after = grid__text(&g);
		cr_assert_str_eq(before, after);
	}
}

/* Without live bytes the first of its tables is another one. */
Test(top_asked, a_process_has_its_tables_in_every_mode)
{
	static const struct {
		unsigned int flags;
		const char *says;
	} rows[] = {
		{ 0, "[1 live]" },
		{ SAMPLE_COUNT, "[2 allocs]" },
		{ SAMPLE_GROWTH, "[1 resident]" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		top__free(t);
		t = made__top(rows[i].flags);
		grid__resize(&g, 24, 120);
		top__draw(t, &g);
		key('4');
		key(TOP_KEY_ENTER);
		says(rows[i].says);
		says_not("This mode does not record");
	}
}

/* However narrow: what a row is about, and where one is. */
Test(top_asked, names_stay)
{
	static const struct {
		int key;
		const char *head, *tab;
	} rows[] = {
		{ '1', "SITE", "[1 live]" }, { '2', "SITE", "[2 allocs]" }, { '3', "SITE", "[3 peak]" }, { '4', "PROCESS", "[4 processes]" },
		{ '5', "THREAD", "[5 threads]" }, { '7', "TAG", "[7 tags]" }, { '8', "MARK", "[8 marks]" }, { '9', "SITE", "[9 frees]" },
		{ '0', "CONDITION", "[0 when]" },
	};

	begin();
	for (int cols = 34; cols < 240; cols++)
		for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
			grid__resize(&g, 24, cols);
			key(rows[i].key);
			cr_assert(made__says(&g, rows[i].head), "%s at %d", rows[i].tab, cols);
			cr_assert(made__says(&g, rows[i].tab), "%s at %d", rows[i].tab, cols);
			cr_assert(made__says(&g, " losses none"), "%d", cols);
		}
}

Test(top_asked, no_size_breaks_them)
{
	begin();
	for (const char *k = "7890"; *k; k++) {
		for (int rows = 1; rows < 40; rows += 3)
			for (int cols = 1; cols < 240; cols += 7) {
				grid__resize(&g, rows, cols);
				key(*k);
				cr_assert_eq(grid__broken_row(&g), -1, "%c at %d x %d", *k, cols, rows);
				key(TOP_KEY_ENTER);
				cr_assert_eq(grid__broken_row(&g), -1, "%c at %d x %d", *k, cols, rows);
				key(TOP_KEY_ESC);
			}
	}
}
