// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Every view of the live view at three sizes, as files to be read; and that no size breaks a row. */
#include <criterion/criterion.h>
#include <time.h>

#include "golden.h"
#include "top_made.h"

static void utc(void)
{
	setenv("TZ", "UTC", 1);
	tzset();
}

TestSuite(top_looks, .init = utc);

static const struct {
	const char *name;
	unsigned int flags;
	const char *keys;
} screens[] = {
	{ "live", SAMPLE_SINGLE, "1" },
	{ "allocs", SAMPLE_SINGLE, "2" },
	{ "peak", SAMPLE_SINGLE, "3" },
	{ "processes", 0, "4" },
	{ "threads", SAMPLE_SINGLE, "5" },
	{ "sizes", SAMPLE_SINGLE, "6" },
	{ "functions", SAMPLE_SINGLE, "f" },
	{ "function", SAMPLE_SINGLE, "fj\n" },
	{ "files", 0, "F" },
	{ "modules", 0, "M" },
	{ "functions-unnamed", SAMPLE_SINGLE | SAMPLE_UNNAMED, "f" },
	{ "stack", SAMPLE_SINGLE, "1\n" },
	{ "tree", SAMPLE_SINGLE, "1t" },
	{ "callees", SAMPLE_SINGLE, "1tc" },
	{ "help", SAMPLE_SINGLE, "?" },
	{ "many", 0, "1" },
	{ "many-tree", 0, "t" },
	{ "losses", SAMPLE_SINGLE | SAMPLE_LOSSES, "1" },
	{ "unnamed", SAMPLE_SINGLE | SAMPLE_UNNAMED, "1" },
	{ "estimated", SAMPLE_SINGLE | SAMPLE_ESTIMATED, "1" },
	{ "count", SAMPLE_SINGLE | SAMPLE_COUNT, "1" },
	{ "growth", SAMPLE_SINGLE | SAMPLE_GROWTH, "1" },
	{ "empty", SAMPLE_EMPTY, "1" },
	{ "filter", 0, "/table" },
	{ "bad-filter", SAMPLE_SINGLE, "/rax(" },
	{ "write", SAMPLE_SINGLE, "o" },
};

/* Of these, at less than 80 columns, too. */
static const char *const also_narrow[] = { "live", "many", "functions", "processes", "filter", "bad-filter", "help", "estimated" };

/* With what is there only where it was asked for. */
static const struct {
	const char *name, *keys;
} asked[] = {
	{ "tags", "7" },
	{ "tag", "7\n" },
	{ "marks", "8" },
	{ "frees", "9" },
	{ "free-places", "9j\n" },
	{ "when", "0" },
};

/* The heap as it is. */
static const struct {
	const char *name, *keys;
	unsigned int sample;
	bool looked;
	unsigned int heap;
} heaps[] = {
	{ "heap", "H", SAMPLE_SINGLE, true, HEAP_SEARCHED | HEAP_OLDER },
	{ "heap-types", "Hg", SAMPLE_SINGLE, true, HEAP_SEARCHED | HEAP_OLDER },
	{ "heap-arenas", "Hgg", SAMPLE_SINGLE, true, HEAP_SEARCHED | HEAP_OLDER },
	{ "heap-rss", "Hggg", SAMPLE_SINGLE, true, HEAP_SEARCHED | HEAP_OLDER },
	{ "heap-roots", "Hgggg", SAMPLE_SINGLE, true, HEAP_SEARCHED | HEAP_OLDER },
	{ "heap-census", "H", SAMPLE_SINGLE, true, 0 },
	{ "heap-quiet", "H", SAMPLE_SINGLE, true, HEAP_SEARCHED | HEAP_QUIET },
	{ "heap-refused", "Hg", SAMPLE_SINGLE, true, HEAP_REFUSED },
	{ "heap-none", "H", SAMPLE_SINGLE, false, 0 },
	{ "heap-two", "H", 0, true, HEAP_SEARCHED },
	{ "heap-live", "1", SAMPLE_SINGLE, true, HEAP_SEARCHED | HEAP_OLDER },
	{ "heap-stack", "1\n", SAMPLE_SINGLE, true, HEAP_SEARCHED | HEAP_OLDER },
	{ "heap-help", "H?", SAMPLE_SINGLE, true, HEAP_SEARCHED | HEAP_OLDER },
};

static const struct screen_size {
	int cols, rows;
} sizes[] = { { 80, 24 }, { 120, 40 }, { 200, 50 } };

static const struct screen_size narrow[] = { { 40, 16 }, { 50, 16 } };
static const struct screen_size below_80[] = { { 40, 16 }, { 60, 20 }, { 72, 20 } };

/* Before there is a snapshot. */
Test(top_looks, the_first_screen)
{
	for (size_t k = 0; k < ARRAY_SIZE(sizes); k++) {
		struct top_opts o = { .suffix = ".json", .suffixes = ".json", .interval_ns = MADE_SECOND };
		struct top *t = top__new(&o);
		_cleanup_free_ char *text = NULL, *name = NULL;
		struct grid g = {};

		grid__resize(&g, sizes[k].rows, sizes[k].cols);
		top__target(t, "redis-server (1432)", (3 * 24 + 4) * 3600 * MADE_SECOND, 96 << 20);
		top__progress(t, "Loading programs and tables into the kernel.");
		top__progress(t, "Loading programs and tables into the kernel.");
		top__progress(t, "Probing /usr/lib/libc.so.6: 11 functions, 35 points.");
		top__draw(t, &g);
		cr_assert_eq(grid__broken_row(&g), -1);
		text = grid__text(&g);
		cr_assert(asprintf(&name, "top-start-%d.txt", sizes[k].cols) > 0);
		golden__check(name, text, strlen(text));
		grid__done(&g);
		top__free(t);
	}
}

Test(top_looks, the_first_screen_of_any_size_and_with_any_number_of_steps)
{
	struct top_opts o = { .suffix = ".json", .suffixes = ".json", .interval_ns = MADE_SECOND };
	struct top *t = top__new(&o);
	struct grid g = {};

	for (int i = 1; i <= 40; i++) {
		char text[256];

		snprintf(text, sizeof(text), "step %d of %0200d", i, i);
		top__progress(t, text);
		cr_assert_eq(top__key(t, 'q'), TOP_QUIT);
		grid__resize(&g, i, 2 * i);
		top__draw(t, &g);
		cr_assert_eq(grid__broken_row(&g), -1);
		if (i >= 20)
			cr_assert(made__says(&g, "… step"));
	}
	cr_assert(made__says(&g, "step 40 of"));
	cr_assert_not(made__says(&g, "step 1 of"));
	grid__done(&g);
	top__free(t);
}

static void check_screen(size_t i, const struct screen_size *size)
{
	struct top *t = made__top(screens[i].flags);
	_cleanup_free_ char *text = NULL, *name = NULL;
	struct grid g = {};

	grid__resize(&g, size->rows, size->cols);
	top__draw(t, &g);
	made__type(t, &g, screens[i].keys);
	cr_assert_eq(grid__broken_row(&g), -1);
	text = grid__text(&g);
	cr_assert(asprintf(&name, "top-%s-%d.txt", screens[i].name, size->cols) > 0);
	golden__check(name, text, strlen(text));
	grid__done(&g);
	top__free(t);
}

Test(top_looks, as_they_should)
{
	for (size_t i = 0; i < ARRAY_SIZE(screens); i++)
		for (size_t k = 0; k < ARRAY_SIZE(sizes); k++)
			check_screen(i, &sizes[k]);
}

Test(top_looks, as_they_should_in_a_narrow_window)
{
	for (size_t i = 0; i < ARRAY_SIZE(screens); i++)
		for (size_t m = 0; m < ARRAY_SIZE(also_narrow); m++)
			for (size_t k = 0; k < ARRAY_SIZE(below_80) && !strcmp(screens[i].name, also_narrow[m]); k++)
				check_screen(i, &below_80[k]);
}

/* After b: Δ is there at any of these, instead of what tells less. */
Test(top_looks, since_a_baseline)
{
	for (size_t k = 0; k < ARRAY_SIZE(sizes); k++) {
		struct top *t = made__top(SAMPLE_SINGLE);
		struct snapshot *s = made__sample(SAMPLE_SINGLE, 0);
		_cleanup_free_ char *text = NULL, *name = NULL;
		struct grid g = {};

		s->duration_ns += 5 * MADE_SECOND;
		s->baseline = true;
		s->baseline_ns = 30 * MADE_SECOND;
		s->sites[0].since_baseline_bytes = 5 << 20;
		top__update(t, s);
		grid__resize(&g, sizes[k].rows, sizes[k].cols);
		top__draw(t, &g);
		cr_assert(made__says(&g, "+5.0 MiB"));
		text = grid__text(&g);
		cr_assert(asprintf(&name, "top-baseline-%d.txt", sizes[k].cols) > 0);
		golden__check(name, text, strlen(text));
		grid__done(&g);
		top__free(t);
	}
}

Test(top_looks, what_was_asked_for)
{
	for (size_t i = 0; i < ARRAY_SIZE(asked); i++)
		for (size_t k = 0; k < ARRAY_SIZE(narrow) + ARRAY_SIZE(sizes); k++) {
			struct screen_size at = k < ARRAY_SIZE(narrow) ? narrow[k] : sizes[k - ARRAY_SIZE(narrow)];
			struct tagger tagger = {};
			struct top *t = made__top_asked(&tagger);
			_cleanup_free_ char *text = NULL, *name = NULL;
			struct grid g = {};

			grid__resize(&g, at.rows, at.cols);
			top__draw(t, &g);
			made__type(t, &g, asked[i].keys);
			cr_assert_eq(grid__broken_row(&g), -1);
			text = grid__text(&g);
			cr_assert(asprintf(&name, "top-%s-%d.txt", asked[i].name, at.cols) > 0);
			golden__check(name, text, strlen(text));
			grid__done(&g);
			top__free(t);
			tagger__done(&tagger);
		}
}

Test(top_looks, the_heap_as_it_is)
{
	static const struct screen_size at[] = { { 40, 16 }, { 60, 20 }, { 80, 24 }, { 120, 40 } };

	for (size_t i = 0; i < ARRAY_SIZE(heaps); i++)
		for (size_t k = 0; k < ARRAY_SIZE(at); k++) {
			struct top *t = made__top(heaps[i].sample);
			struct snapshot *s = made__sample(heaps[i].sample, 0);
			_cleanup_free_ char *text = NULL, *name = NULL;
			struct grid g = {};

			if (heaps[i].looked)
				sample__add_heap(s, 0, heaps[i].heap);
			if (s->n_processes > 1)
				sample__add_heap(s, 1, HEAP_REFUSED);
			top__update(t, s);
			grid__resize(&g, at[k].rows, at[k].cols);
			top__draw(t, &g);
			made__type(t, &g, heaps[i].keys);
			cr_assert_eq(grid__broken_row(&g), -1);
			text = grid__text(&g);
			cr_assert(asprintf(&name, "top-%s-%d.txt", heaps[i].name, at[k].cols) > 0);
			golden__check(name, text, strlen(text));
			grid__done(&g);
			top__free(t);
		}
}
