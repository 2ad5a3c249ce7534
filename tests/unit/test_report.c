// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* The plain report: golden files for how it looks, and what must hold whatever it looks like. */
#include <criterion/criterion.h>
#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <time.h>

#include "golden.h"
#include "model/ages.h"
#include "model/between.h"
#include "model/group.h"
#include "present/figures.h"
#include "present/frames.h"
#include "present/views.h"
#include "present/text/report.h"
#include "sample_snapshot.h"
#include "util/clock.h"
#include "util/text.h"
#include "util/util.h"

static void utc(void)
{
	setenv("TZ", "UTC", 1);
	tzset();
}

TestSuite(report, .init = utc);

static char *written(unsigned int flags, const struct report_opts *o, size_t *ret_len)
{
	struct snapshot *s = sample__new(flags);
	char *text = NULL;
	FILE *out = open_memstream(&text, ret_len);

	cr_assert_eq(report__write(out, s, o), 0);
	fclose(out);
	snapshot__free(s);
	return text;
}

static void check(const char *name, unsigned int flags, const struct report_opts *o)
{
	_cleanup_free_ char *text = NULL;
	size_t len;

	text = written(flags, o, &len);
	golden__check(name, text, len);
}

Test(report, looks)
{
	check("report-80.txt", 0, &(struct report_opts){ .width = 80 });
	check("report-120.txt", 0, &(struct report_opts){ .width = 120 });
	check("report-single-80.txt", SAMPLE_SINGLE, &(struct report_opts){ .top = 3 });
	check("report-losses-80.txt", SAMPLE_SINGLE | SAMPLE_LOSSES, &(struct report_opts){ .views = VIEW_LIVE });
	check("report-older-80.txt", SAMPLE_OLDER, &(struct report_opts){ .views = VIEW_LIVE, .older_ns = 10000000000 });
	check("report-ages-80.txt", SAMPLE_SINGLE | SAMPLE_HEAP, &(struct report_opts){ .views = VIEW_LIFETIMES, .top = 1 });
	check("report-heap-120.txt", SAMPLE_MANY | SAMPLE_HEAP, &(struct report_opts){ .views = VIEW_PROCESSES, .width = 120 });
	check("report-partial-80.txt", SAMPLE_PARTIAL, &(struct report_opts){ .views = VIEW_ALLOCS, .top = 2 });
	check("report-unnamed-80.txt", SAMPLE_UNNAMED, &(struct report_opts){ .views = VIEW_LIVE, .top = 3 });
	check("report-tree-80.txt", 0, &(struct report_opts){ .views = VIEW_TREE, .threshold_pct = 0.5 });
	check("report-tree-callees-120.txt", SAMPLE_ESTIMATED,
	      &(struct report_opts){ .views = VIEW_TREE, .threshold_pct = 2, .width = 120, .callees = true, .metric = metric__find("alloc-calls") });
	check("report-tree-growth-80.txt", SAMPLE_GROWTH, &(struct report_opts){ .views = VIEW_TREE });
	check("report-functions-80.txt", 0, &(struct report_opts){ .views = VIEW_FUNCTIONS });
	check("report-functions-120.txt", SAMPLE_ESTIMATED, &(struct report_opts){ .views = VIEW_FUNCTIONS, .width = 120, .top = 3 });
	check("report-files-80.txt", 0, &(struct report_opts){ .views = VIEW_FILES | VIEW_MODULES });
	check("report-growth-first-80.txt", 0, &(struct report_opts){ .views = VIEW_LIVE, .sort = "growth", .top = 2 });
	check("report-functions-count-80.txt", SAMPLE_COUNT, &(struct report_opts){ .views = VIEW_FUNCTIONS });
	check("report-functions-empty-80.txt", SAMPLE_EMPTY, &(struct report_opts){ .views = VIEW_FUNCTIONS });
	check("report-empty-80.txt", SAMPLE_EMPTY, &(struct report_opts){});
	check("report-count-80.txt", SAMPLE_COUNT, &(struct report_opts){ .top = 3 });
	check("report-growth-80.txt", SAMPLE_GROWTH | SAMPLE_SINGLE, &(struct report_opts){});
	check("report-growth-120.txt", SAMPLE_GROWTH, &(struct report_opts){ .width = 120, .top = 2 });
	check("report-estimated-80.txt", SAMPLE_ESTIMATED, &(struct report_opts){ .top = 6 });
	check("report-estimated-120.txt", SAMPLE_ESTIMATED | SAMPLE_SINGLE, &(struct report_opts){ .top = 3, .width = 120 });
	check("report-many-80.txt", SAMPLE_MANY, &(struct report_opts){ .views = VIEW_PROCESSES | VIEW_LIVE | VIEW_THREADS });
	check("report-many-120.txt", SAMPLE_MANY | SAMPLE_LOSSES, &(struct report_opts){ .width = 120, .views = VIEW_PROCESSES | VIEW_THREADS });
	check("report-estimated-count-80.txt", SAMPLE_ESTIMATED | SAMPLE_COUNT | SAMPLE_SINGLE, &(struct report_opts){ .top = 2 });
}

Test(report, looks_of_one_screen)
{
	check("brief-80.txt", 0, &(struct report_opts){ .brief = true });
	check("brief-120.txt", 0, &(struct report_opts){ .brief = true, .width = 120 });
	check("brief-single-80.txt", SAMPLE_SINGLE | SAMPLE_HEAP, &(struct report_opts){ .brief = true });
	check("brief-losses-80.txt", SAMPLE_SINGLE | SAMPLE_LOSSES, &(struct report_opts){ .brief = true });
	check("brief-estimated-80.txt", SAMPLE_ESTIMATED | SAMPLE_SINGLE, &(struct report_opts){ .brief = true });
	check("brief-count-80.txt", SAMPLE_COUNT | SAMPLE_SINGLE, &(struct report_opts){ .brief = true });
	check("brief-growth-80.txt", SAMPLE_GROWTH | SAMPLE_SINGLE, &(struct report_opts){ .brief = true });
	check("brief-empty-80.txt", SAMPLE_EMPTY, &(struct report_opts){ .brief = true });
}

/* A table in place of stacks, as --mode count has. */
Test(report, allocations_of_one_screen)
{
	check("brief-allocs-80.txt", SAMPLE_SINGLE, &(struct report_opts){ .brief = true, .views = VIEW_ALLOCS });
}

Test(report, no_losses_are_a_line_on_request)
{
	size_t len;
	_cleanup_free_ char *plain = written(SAMPLE_SINGLE, &(struct report_opts){ .brief = true }, &len);
	_cleanup_free_ char *verbose = written(SAMPLE_SINGLE, &(struct report_opts){ .brief = true, .verbose = true }, &len);

	cr_expect(!strstr(plain, "losses"), "%s", plain);
	cr_expect(strstr(verbose, "\nlosses none\n"), "%s", verbose);
}

static char *brief_of(const struct snapshot *s, unsigned int width)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	cr_assert_eq(report__write(out, s, &(struct report_opts){ .brief = true, .width = width }), 0);
	fclose(out);
	return text;
}

/* Live memory of 7 +- 30 MiB: rows of it would be noise, and so would be a search. */
Test(report, too_few_samples_make_no_table)
{
	static const struct {
		double overhead_pct;
		bool ended;
		uint64_t live_bytes;
		const char *says, *next;
	} t[] = {
		{ 0, false, 7340032, "Too few samples for figures: trace for about 2 min, or use --sample 16K", "\nnext: trace for about 2 min, or use --sample 16K\n" },
		{ 0, true, 7340032, "Too few samples for figures: use --sample 16K", "\nnext: use --sample 16K\n" },
		{ 2, false, 7340032, "Too few samples for figures: trace for about 2 min, or use --overhead 33", "\nnext: trace for about 2 min, or use --overhead 33\n" },
		{ 20, false, 7340032, "Too few samples for figures: trace for about 2 min, or do without --overhead", "\nnext: trace for about 2 min, or do without --overhead\n" },
		{ 2, false, 0, "Too few samples for figures: trace longer, or do without --overhead", "\nnext: trace longer, or do without --overhead\n" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		struct snapshot *s = sample__new(SAMPLE_ESTIMATED | SAMPLE_SINGLE);
		struct snap_process *p = (struct snap_process *)&s->processes[0];
		_cleanup_free_ char *text = NULL;

		s->recording.overhead_pct = t[i].overhead_pct;
		s->totals.live_bytes = t[i].live_bytes;
		s->error.live_bytes = t[i].live_bytes ? t[i].live_bytes * 0.5 : 1;
		p->ended = t[i].ended;
		text = brief_of(s, 120);
		cr_expect(!t[i].live_bytes || !strstr(text, "Too few samples"), "half of it: %s", text);
		free(text);
		s->error.live_bytes = t[i].live_bytes ? t[i].live_bytes * 1.01 : 1;
		s->duration_ns = 5 * SECOND_NS;
		text = brief_of(s, 120);
		cr_expect(strstr(text, t[i].says), "%zu: wanted %s, got %s", i, t[i].says, text);
		cr_expect(strstr(text, "\nLIVE: too few samples for rows (--full shows them)\n") && !strstr(text, "SITE"), "%zu: %s", i, text);
		cr_expect(strstr(text, "\nlive   not known (too few samples), ") && !strstr(text, "±") && !strstr(text, "observed"), "%zu: %s", i, text);
		cr_expect(!strstr(text, "allocates most") && !strstr(text, "-o leak.html") && !strstr(text, "doctor"), "%zu: %s", i, text);
		cr_expect(strstr(text, t[i].next), "%zu: the sentence and the last line differ: %s", i, text);
		cr_expect(!strstr(text, "--reachable"), "%zu: %s", i, text);
		snapshot__free(s);
	}
}

#define FRAME(its_module, its_function)	\
	{ .module = its_module, .offset = 16, .resolved = true, .n_lines = 1, .lines = (const struct line[]){ { .function = its_function } } }

/* One site whose stack these places are, in a process of that runtime. */
static struct snapshot *with_stack(struct place *places, size_t n, const struct snap_module *modules, size_t n_modules, const char *runtime)
{
	static const uint32_t stack[] = { 0, 1, 2, 3, 4, 5, 6, 7 };
	struct snapshot *s = sample__new(SAMPLE_SINGLE);

	s->modules = modules;
	s->n_modules = n_modules;
	s->places = places;
	s->n_places = n;
	s->n_sites = 1;
	s->sites[0].stack = stack;
	s->sites[0].n_stack = (uint32_t)n;
	s->sites[0].end = 0;
	((struct snap_process *)s->processes)->runtime = runtime;
	return s;
}

/* Below the rows stands who called whom in Python; what runs its frames is in all stacks, and in --full. */
Test(report, a_stack_of_python_is_one_of_python)
{
	static const struct snap_module modules[] = { { .path = "[python]" }, { .path = "/usr/bin/python3.11" }, { .path = "/usr/lib/_json.cpython-311.so" } };
	struct place places[] = {
		FRAME(0, "Session.__init__"), FRAME(1, "_PyEval_EvalFrame"), FRAME(1, "_PyEval_Vector"), FRAME(2, "encode"), FRAME(0, "login"),
		FRAME(0, "<module>"), FRAME(1, "PyEval_EvalCode"), FRAME(1, "_start"),
	};
	struct snapshot *s = with_stack(places, ARRAY_SIZE(places), modules, ARRAY_SIZE(modules), "python");
	_cleanup_free_ char *text = NULL;

	s->recording.arenas = true;
	text = brief_of(s, 80);
	cr_expect(strstr(text, "\n\nSession.__init__ < encode < login < <module>\n"), "%s", text);
	/* with PYTHONMALLOC=malloc no site is one of arenas */
	cr_expect(!strstr(text, "[arenas]"), "%s", text);
	free(text);
	s->sites[0].function = "arena";
	text = brief_of(s, 80);
	cr_expect(strstr(text, "\npython [arenas] hold objects of up to 512 bytes "), "%s", text);
	snapshot__free(s);
}

/* What follows from it, and nothing that would be refused. */
Test(report, next_commands_fit)
{
	static const struct {
		unsigned int flags;
		unsigned int heap;	/* enum sample_heap_flag + 1; 0: it was not looked at */
		const char *next;
	} t[] = {
		{ SAMPLE_SINGLE, 0, "next: --reachable for blocks that no pointer leads to, -d 2m for a verdict\n" },
		{ SAMPLE_SINGLE, HEAP_REFUSED + 1, "next: --reachable for blocks that no pointer leads to, -d 2m for a verdict\n" },
		{ SAMPLE_SINGLE | SAMPLE_COUNT, 0, "next: --mode full for live memory, -o leak.html for a flame graph\n" },
		{ SAMPLE_SINGLE | SAMPLE_GROWTH, 0, "next: -o leak.html for a flame graph, --full for every stack\n" },
		{ SAMPLE_SINGLE | SAMPLE_ESTIMATED, 0, "next: -o leak.html for a flame graph, --full for every stack\n" },
		{ SAMPLE_SINGLE | SAMPLE_LOSSES, 0, "next: --max-live N to record more blocks, --max-stacks N to record more stacks\n" },
		{ SAMPLE_SINGLE, HEAP_OLDER + 1, "next: --reachable for blocks that no pointer leads to, --view heap for older blocks and free memory\n" },
		{ 0, 0, "next: malloctrace -p 1432 for the first process alone, -d 2m for a verdict\n" },
		{ SAMPLE_EMPTY, 0, "next: malloctrace doctor -p 77 for what can be probed\n" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		struct snapshot *s = sample__new(t[i].flags);
		_cleanup_free_ char *text = NULL;

		if (t[i].heap)
			sample__add_heap(s, 0, t[i].heap - 1);
		text = brief_of(s, 120);
		cr_expect(strstr(text, t[i].next), "%zu: wanted %s, got %s", i, t[i].next, text);
		snapshot__free(s);
	}
}

/* Options that the sentence names, and searches of any allocator's blocks, but no view of what is not there. */
Test(report, next_commands_follow_the_sentence)
{
	static const char *const functions[] = { "malloc" };
	static const struct snap_probe jemalloc[] = { { .object = "/usr/lib/libjemalloc.so.2", .functions = functions, .n_functions = 1 } };
	static const struct {
		const char *sentence, *next;
	} t[] = {
		{ "Growing: shared memory grew by 74.0 MiB: --mode growth shows which code touches it", "next: --mode growth for the code that touches new memory, " },
		{ "Growing: anonymous memory outside of the heap grew by 74.0 MiB: --mmap shows which code maps it", "next: --mmap for the code that maps memory, " },
		{ "Growing: the heap grew by 74.0 MiB: malloctrace heap -p 1432 shows how much of it is free", "next: malloctrace heap -p 1432 for the free memory of the heap, " },
		{ "Too early to tell: live memory 1.0 MiB, RSS +1.0 MiB in 3.0s; trace longer (-d 2m)", ", -d 2m for a verdict\n" },
	};
	static const struct {
		unsigned int flags;
		const char *next;
	} first[] = {
		{ 0, "next: malloctrace heap -p 1501 for the free memory of the heap, malloctrace -p 1432 for the first process alone\n" },
		{ SAMPLE_SINGLE | SAMPLE_LOSSES, "next: malloctrace heap -p 1501 for the free memory of the heap, --max-live N to record more blocks\n" },
	};
	struct snapshot *s = sample__new(SAMPLE_SINGLE);
	struct snap_heap *h;
	_cleanup_free_ char *text = NULL;
	size_t len = 0;
	FILE *out;

	s->probes = jemalloc;
	s->n_probes = 1;
	text = brief_of(s, 120);
	cr_expect(strstr(text, "next: --reachable for"), "%s", text);
	free(text);
	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		text = NULL;
		out = open_memstream(&text, &len);
		cr_assert_eq(report__write(out, s, &(struct report_opts){ .brief = true, .width = 120, .sentence = t[i].sentence }), 0);
		fclose(out);
		cr_expect(strstr(text, t[i].next), "wanted %s, got %s", t[i].next, text);
		free(text);
	}
	snapshot__free(s);
	/* before losses and the first process, and of the process that the sentence names */
	for (size_t i = 0; i < ARRAY_SIZE(first); i++) {
		s = sample__new(first[i].flags);
		text = NULL;
		out = open_memstream(&text, &len);
		cr_assert_eq(report__write(out, s, &(struct report_opts){ .brief = true, .width = 120, .sentence = "the heap grew: malloctrace heap -p 1501 shows how much of it is free" }), 0);
		fclose(out);
		cr_expect(strstr(text, first[i].next), "wanted %s, got %s", first[i].next, text);
		free(text);
		snapshot__free(s);
	}
	s = sample__new(SAMPLE_SINGLE);
	sample__add_heap(s, 0, HEAP_OLDER);
	h = (struct snap_heap *)s->heaps;
	h->older_blocks = 0;
	text = brief_of(s, 120);
	cr_expect(!strstr(text, "--view heap for older blocks"), "%s", text);
	snapshot__free(s);
}

/* It may have run unasked: what it found is said, also that it found nothing. */
Test(report, a_search_for_pointers_is_said)
{
	static const struct {
		unsigned int heap;
		const char *says;
	} t[] = {
		{ HEAP_SEARCHED | HEAP_QUIET, "\nEvery block that was searched is reachable (3 scans). 2.0 MiB could not be read: whether blocks there are reachable is\nnot known.\n" },
		{ HEAP_SEARCHED, "\nProbably leaked, no pointer found in 3 scans: " },
	};

	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		struct snapshot *s = sample__new(SAMPLE_SINGLE);
		_cleanup_free_ char *text = NULL;

		sample__add_heap(s, 0, t[i].heap);
		text = brief_of(s, 120);
		cr_expect(strstr(text, t[i].says), "wanted %s, got %s", t[i].says, text);
		snapshot__free(s);
	}
}

/* A buffer that grows is one block, not one for each call. */
Test(report, what_is_reallocated_most_is_said_so)
{
	struct snapshot *s = sample__new(SAMPLE_SINGLE);
	_cleanup_free_ char *text = NULL;

	s->n_sites = 1;
	s->sites[0].c.alloc_calls = s->sites[0].c.realloc_calls = 314;
	s->sites[0].c.alloc_bytes = 314 << 20;
	text = brief_of(s, 120);
	cr_expect(strstr(text, ", realloc'ed 314 times, 1.0 MiB on average\n"), "%s", text);
	snapshot__free(s);
}

/* Whatever was recorded: with ten rows it fits into a terminal of 50 lines, and no line is too wide. */
Test(report, one_screen_is_one_screen)
{
	static const unsigned int flags[] = { 0, SAMPLE_SINGLE, SAMPLE_COUNT, SAMPLE_GROWTH, SAMPLE_ESTIMATED | SAMPLE_SINGLE, SAMPLE_MANY };

	for (size_t i = 0; i < ARRAY_SIZE(flags); i++) {
		size_t len, n = 0;
		_cleanup_free_ char *text = written(flags[i], &(struct report_opts){ .brief = true }, &len);

		for (char *line = text, *end; (end = strchr(line, '\n')); line = end + 1, n++) {
			*end = '\0';
			cr_expect_leq(text_width(line), 80, "%u: %s", flags[i], line);
		}
		cr_expect_leq(n, 50, "%u: %zu lines", flags[i], n);
	}
}

/* No process was selected, or a file has none: nothing is named that there is not. */
Test(report, one_screen_of_no_process)
{
	static const unsigned int flags[] = { SAMPLE_EMPTY, SAMPLE_EMPTY | SAMPLE_COUNT, SAMPLE_EMPTY | SAMPLE_LOSSES };

	for (size_t i = 0; i < ARRAY_SIZE(flags); i++) {
		struct snapshot *s = sample__new(flags[i]);
		_cleanup_free_ char *text = NULL;

		s->n_processes = 0;
		text = brief_of(s, 80);
		cr_expect(strstr(text, "0 processes"), "%s", text);
		cr_expect_not(strstr(text, " -p "), "%s", text);
		snapshot__free(s);
	}
}

/* Not "<" between the functions of a stack. */
static size_t n_words(const char *text)
{
	size_t n = 0;

	for (bool counted = false; *text; text++) {
		n += isalnum((unsigned char)*text) && !counted;
		counted = !isspace((unsigned char)*text) && (counted || isalnum((unsigned char)*text));
	}
	return n;
}

/* A report of one process is read at a glance, also after its heap was searched. */
Test(report, one_screen_of_one_process_is_short)
{
	static const unsigned int flags[] = { 0, SAMPLE_LOSSES, SAMPLE_COUNT, SAMPLE_GROWTH, SAMPLE_ESTIMATED, SAMPLE_PARTIAL, SAMPLE_UNNAMED };
	static const unsigned int heaps[] = { 0, HEAP_SEARCHED, HEAP_SEARCHED | HEAP_OLDER, HEAP_REFUSED, HEAP_SEARCHED | HEAP_QUIET };

	for (size_t i = 0; i < ARRAY_SIZE(flags); i++)
		for (size_t k = 0; k <= ARRAY_SIZE(heaps); k++) {
			struct snapshot *s = sample__new(flags[i] | SAMPLE_SINGLE);
			_cleanup_free_ char *text = NULL;
			size_t lines = 0;

			if (k)
				sample__add_heap(s, 0, heaps[k - 1]);
			text = brief_of(s, 80);
			for (const char *at = text; *at; at++)
				lines += *at == '\n';
			cr_expect(lines <= 30 && n_words(text) <= 200, "%zu, %zu: %zu lines, %zu words:\n%s", i, k, lines, n_words(text), text);
			snapshot__free(s);
		}
}

/* On a terminal of the usual size its first line is still there, below the line that says what it is attached to. */
Test(report, one_screen_is_the_terminals)
{
	size_t len, n = 0;
	_cleanup_free_ char *text = written(SAMPLE_SINGLE, &(struct report_opts){ .brief = true, .height = 24 }, &len);

	for (const char *at = text; (at = strchr(at, '\n')); at++)
		n++;
	cr_expect_leq(n, 23, "%zu lines:\n%s", n, text);
}

/* Of many processes: who grows, by how much, and the sites of those that grow most, on a screen of 40 lines. */
Test(report, one_screen_of_many_processes)
{
	struct snapshot *s = sample__machine(), *g = snapshot__group(s, &grouping_programs);
	_cleanup_free_ char *text = NULL;
	const char *processes, *sites;
	size_t len, n = 0;
	FILE *out = open_memstream(&text, &len);

	cr_assert_eq(report__write(out, g, &(struct report_opts){ .brief = true, .width = 100 }), 0);
	fclose(out);
	for (const char *at = text; (at = strchr(at, '\n')); at++)
		n++;
	cr_expect_leq(n, 40, "%zu lines:\n%s", n, text);
	processes = strstr(text, "\nGROUPS by growth (");
	sites = strstr(text, "\nSITES of the 3 groups that grow most (");
	cr_expect(processes && sites && processes < sites, "%s", text);
	cr_expect(strstr(text, "RSS CHANGE"));
	snapshot__free(g);
	snapshot__free(s);
}

Test(report, looks_of_moments_sizes_and_lifetimes)
{
	check("report-peak-80.txt", SAMPLE_SINGLE, &(struct report_opts){ .views = VIEW_PEAK, .top = 3 });
	check("report-peak-120.txt", SAMPLE_MANY, &(struct report_opts){ .views = VIEW_PEAK, .top = 3, .width = 120 });
	check("report-temporary-80.txt", SAMPLE_SINGLE, &(struct report_opts){ .views = VIEW_TEMPORARY });
	check("report-temporary-120.txt", SAMPLE_MANY | SAMPLE_ESTIMATED,
	      &(struct report_opts){ .views = VIEW_TEMPORARY, .top = 3, .width = 120 });
	check("report-sizes-80.txt", SAMPLE_SINGLE, &(struct report_opts){ .views = VIEW_SIZES, .top = 3 });
	check("report-sizes-120.txt", SAMPLE_MANY | SAMPLE_COUNT, &(struct report_opts){ .views = VIEW_SIZES, .top = 2, .width = 120 });
	check("report-lifetimes-80.txt", SAMPLE_SINGLE, &(struct report_opts){ .views = VIEW_LIFETIMES, .top = 3 });
	check("report-lifetimes-120.txt", SAMPLE_MANY | SAMPLE_ESTIMATED,
	      &(struct report_opts){ .views = VIEW_LIFETIMES, .top = 3, .width = 120 });
}

#define S 1000000000ull

Test(report, looks_of_what_changed)
{
	check("report-between-80.txt", SAMPLE_MANY,
	      &(struct report_opts){ .between_from_ns = 10 * S, .between_to_ns = 25 * S, .top = 3 });
	check("report-between-120.txt", SAMPLE_MANY | SAMPLE_ESTIMATED,
	      &(struct report_opts){ .between_from_ns = 12 * S, .between_to_ns = 30 * S, .width = 120, .top = 3 });
}

Test(report, changes_are_those_of_the_histories)
{
	static const struct snap_point up[] = { { .t_ns = 2 * S, .live_bytes = 100 }, { .t_ns = 4 * S, .live_bytes = 500 } };
	static const struct snap_point down[] = { { .t_ns = 2 * S, .live_bytes = 900 }, { .t_ns = 5 * S, .live_bytes = 10 } };
	struct snapshot *s = sample__new(SAMPLE_SINGLE);
	struct changes c;

	s->n_sites = 4;
	s->sites[0].history = up;
	s->sites[1].history = down;
	s->sites[0].n_history = s->sites[1].n_history = 2;
	s->sites[0].first_ns = s->sites[1].first_ns = s->sites[2].first_ns = 1 * S;
	/* came later, without a history: held nothing then, and at the end what it holds */
	s->sites[3].first_ns = 6 * S;
	changes__init(&c, s, 2500000000, 5 * S + 5);
	cr_assert_eq(c.n, 2);
	cr_expect_eq(c.v[0].site, &s->sites[1]);
	cr_expect_eq(c.v[0].before, 900);
	cr_expect_eq(c.v[0].after, 10);
	cr_expect_eq(c.v[1].site, &s->sites[0]);
	cr_expect_eq(c.v[1].before, 100);
	cr_expect_eq(c.v[1].after, 500);
	cr_expect_eq(c.n_unknown, 1);
	cr_expect_eq(c.off_ns, 1 * S + 5);
	changes__done(&c);

	/* a point that is as near to the other moment tells nothing */
	changes__init(&c, s, 1 * S, 1500000000);
	cr_expect_eq(c.n, 0);
	cr_expect_eq(c.n_unknown, 3);
	changes__done(&c);

	/* to the end: exact */
	s->sites[0].n_history = s->sites[1].n_history = 0;
	changes__init(&c, s, 1500000000, 100 * S);
	cr_assert_eq(c.n, 1);
	cr_expect_eq(c.v[0].site, &s->sites[3]);
	cr_expect_eq(c.v[0].before, 0);
	cr_expect_eq(c.v[0].after, s->sites[3].c.live_bytes);
	cr_expect_eq(c.n_unknown, 3);
	cr_expect_eq(c.after, s->processes[0].c.live_bytes);
	changes__done(&c);
	snapshot__free(s);
}

static void check_by(const char *name, const char *by, const struct report_opts *o)
{
	struct snapshot *s = sample__new(SAMPLE_MANY), *g;
	_cleanup_free_ char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	s->sites[0].tid = 1435;
	g = snapshot__group(s, grouping__find(by));
	cr_assert_eq(report__write(out, g, o), 0);
	fclose(out);
	golden__check(name, text, len);
	snapshot__free(g);
	snapshot__free(s);
}

Test(report, looks_of_groups)
{
	check_by("report-by-comm-80.txt", "comm", &(struct report_opts){ .top = 4 });
	check_by("report-by-cgroup-120.txt", "cgroup", &(struct report_opts){ .width = 120, .top = 2 });
	check_by("report-by-none-80.txt", "none", &(struct report_opts){ .views = VIEW_LIVE | VIEW_PROCESSES | VIEW_THREADS, .top = 3 });
	check_by("report-by-thread-80.txt", "thread", &(struct report_opts){ .views = VIEW_LIVE, .top = 2 });
}

static void check_machine(const char *name, const struct grouping *by, const struct report_opts *o)
{
	struct snapshot *s = sample__machine(), *g = snapshot__group(s, by);
	_cleanup_free_ char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	cr_assert_eq(report__write(out, g, o), 0);
	fclose(out);
	golden__check(name, text, len);
	snapshot__free(g);
	snapshot__free(s);
}

Test(report, looks_of_a_machine)
{
	check_machine("brief-machine-80.txt", &grouping_programs, &(struct report_opts){ .brief = true });
	check_machine("report-machine-120.txt", &grouping_programs, &(struct report_opts){ .width = 120, .views = VIEW_PROCESSES | VIEW_LIVE, .top = 20 });
	check_machine("report-cgroups-120.txt", grouping__find("cgroup"), &(struct report_opts){ .width = 120, .views = VIEW_PROCESSES });
}

static unsigned int every_view(unsigned int flags)
{
	struct snapshot *s = sample__new(flags);
	unsigned int views = views__of(s->known);

	snapshot__free(s);
	return views;
}

/* The same question to a profile, of ages that are a border of classes and that are none. */
Test(report, keeps_to_its_width)
{
	static const unsigned int widths[] = { 80, 81, 100, 120, 200 };

	for (size_t i = 0; i < ARRAY_SIZE(widths); i++)
		for (unsigned int k = 0; k < 2048; k++) {
			unsigned int flags = (k & 1023) | (k & 1024 ? SAMPLE_HEAP : 0);
			struct report_opts o = { .width = widths[i], .older_ns = flags & SAMPLE_OLDER ? 10000000000 : 0 };

			if (flags & SAMPLE_MANY)
				o.views = VIEW_PROCESSES | VIEW_THREADS | VIEW_ALLOCS | (flags & (SAMPLE_COUNT | SAMPLE_GROWTH) ? 0 : VIEW_LIVE);
			else
				o.views = every_view(flags);
			if (!(flags & (SAMPLE_COUNT | SAMPLE_GROWTH))) {
				o.between_from_ns = 10 * S;
				o.between_to_ns = 30 * S;
			}
			_cleanup_free_ char *text = NULL;
			size_t len;

			text = written(flags, &o, &len);
			for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
				cr_assert_leq(text_width(line), widths[i], "%u: %s", widths[i], line);
				cr_assert_neq(line[strlen(line) - 1], ' ', "blanks at the end: %s", line);
			}
		}
}

/* One screen is laid out for the terminal that it is on, also if that is narrow. */
Test(report, one_screen_keeps_to_its_width)
{
	static const unsigned int widths[] = { 40, 41, 50, 60, 72, 80, 120 };

	for (size_t i = 0; i < ARRAY_SIZE(widths); i++)
		for (unsigned int k = 0; k < 2048; k++) {
			unsigned int flags = (k & 1023) | (k & 1024 ? SAMPLE_HEAP : 0);
			struct report_opts o = { .width = widths[i], .brief = true };
			_cleanup_free_ char *text = NULL;
			size_t len;

			text = written(flags & ~SAMPLE_OLDER, &o, &len);
			for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
				cr_assert_leq(text_width(line), widths[i], "%u: %s", widths[i], line);
				cr_assert_neq(line[strlen(line) - 1], ' ', "blanks at the end: %s", line);
			}
		}
}

Test(report, lists_the_heaviest_first_by_any_metric)
{
	struct snapshot *s = sample__new(0);

	for (size_t m = 0; m < n_metrics; m++) {
		struct rank r;

		rank__init(&r, s, VIEW_ALLOCS, metrics[m].name, false, SIZE_MAX);
		cr_assert_eq(r.n, s->n_sites - 1, "a site that never succeeded is no allocation");
		for (size_t i = 1; i < r.n; i++)
			cr_assert_geq(metric__of(&metrics[m], r.v[i - 1]), metric__of(&metrics[m], r.v[i]));
		rank__done(&r);
	}
	snapshot__free(s);
}

Test(report, order_does_not_depend_on_the_order_of_arrival)
{
	struct snapshot *a = sample__new(0), *b = sample__new(0);
	struct rank ra, rb;

	for (size_t i = 0; i < b->n_sites / 2; i++) {
		struct snap_site t = b->sites[i];

		b->sites[i] = b->sites[b->n_sites - 1 - i];
		b->sites[b->n_sites - 1 - i] = t;
	}
	rank__init(&ra, a, VIEW_LIVE, NULL, false, SIZE_MAX);
	rank__init(&rb, b, VIEW_LIVE, NULL, false, SIZE_MAX);
	cr_assert_eq(ra.n, rb.n);
	for (size_t i = 0; i < ra.n; i++) {
		cr_assert_eq(ra.v[i]->stack, rb.v[i]->stack);
		cr_assert_str_eq(ra.v[i]->function, rb.v[i]->function);
	}
	rank__done(&ra);
	rank__done(&rb);
	snapshot__free(a);
	snapshot__free(b);
}

Test(report, the_first_rows_are_those_of_the_whole_order)
{
	struct snapshot *s = sample__new(0), *many = snapshot__new();
	struct rank all, some;

	/* the sample's sites over and over, with calls that come in no order and often tie */
	many->processes = s->processes;
	many->n_processes = s->n_processes;
	many->places = s->places;
	many->modules = s->modules;
	many->n_modules = s->n_modules;
	many->n_sites = 500;
	many->sites = snapshot__alloc(many, many->n_sites, sizeof(*many->sites));
	for (size_t i = 0; i < many->n_sites; i++) {
		many->sites[i] = s->sites[i % s->n_sites];
		many->sites[i].c.alloc_calls = 1 + i * 7919 % 97;
		many->sites[i].c.alloc_bytes = i;
	}
	rank__init(&all, many, VIEW_ALLOCS, NULL, false, SIZE_MAX);
	cr_assert_eq(all.n, many->n_sites);
	for (size_t top = 0; top < 510; top += top < 5 ? 1 : 31) {
		size_t sum = 0;

		rank__init(&some, many, VIEW_ALLOCS, NULL, false, top);
		cr_assert_eq(some.n, all.n, "the others are counted too");
		for (size_t i = 0; i < top && i < all.n; i++)
			cr_assert_eq(some.v[i], all.v[i], "row %zu of %zu", i, top);
		for (size_t i = 0; i < some.n; i++)
			sum += some.v[i] - many->sites;
		cr_expect_eq(sum, 499 * 500 / 2, "each once");
		rank__done(&some);
	}
	rank__done(&all);
	snapshot__free(many);
	snapshot__free(s);
}

static bool says(const struct snapshot *s, const struct report_opts *o, const char *what)
{
	_cleanup_free_ char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	cr_assert_eq(report__write(out, s, o), 0);
	fclose(out);
	return strstr(text, what);
}

/* All sites of a snapshot get this verdict, and its processes. */
static struct snapshot *all_are(unsigned int flags, const char *verdict)
{
	struct snapshot *s = sample__new(flags);
	struct snap_site *sites = snapshot__alloc(s, s->n_sites + 1, sizeof(*sites));
	struct snap_process *processes = snapshot__alloc(s, s->n_processes + 1, sizeof(*processes));

	memcpy(sites, s->sites, s->n_sites * sizeof(*sites));
	memcpy(processes, s->processes, s->n_processes * sizeof(*processes));
	for (size_t i = 0; i < s->n_sites; i++)
		sites[i].trend = (struct trend){ .verdict = verdict, .why = verdict ? "it was seen" : NULL };
	for (size_t i = 0; i < s->n_processes; i++) {
		processes[i].trend = (struct trend){ .verdict = verdict, .why = verdict ? "all of it" : NULL };
		processes[i].rss_at_attach_bytes = processes[i].rss_bytes;
		/* what it did before is no part of that */
		for (; processes[i].n_timeline > 1; processes[i].n_timeline--)
			processes[i].timeline++;
	}
	s->sites = sites;
	s->processes = processes;
	return s;
}

/* The sentence claims what was judged, and no more; test_sentence.c has the courses. */
Test(report, sentence)
{
	const struct report_opts o = { .brief = true, .width = 120 };
	struct snapshot *s = all_are(SAMPLE_SINGLE, "leak");
	struct snap_site *first;

	cr_expect(says(s, &o, "\nLeak: raxGenericInsert (rax.c:494) holds 81.6% of live memory: it was seen; RSS unchanged in 30.0s; 4 more sites leak\n"));
	snapshot__free(s);
	s = all_are(SAMPLE_SINGLE, "suspect");
	cr_expect(says(s, &o, "\nPerhaps a leak: raxGenericInsert (rax.c:494) holds 81.6% of live memory: it was seen; RSS unchanged in 30.0s; 4 more\nsites are suspect\n"));
	snapshot__free(s);
	s = all_are(0, "growing");
	cr_expect(says(s, &o, "\nGrowing: redis-server (1432): all of it; RSS "));
	cr_expect(says(s, &o, "; raxGenericInsert (rax.c:494) grows"));
	snapshot__free(s);
	s = all_are(SAMPLE_SINGLE, "steady");
	cr_expect(says(s, &o, "\nNothing grows: live memory 38.0 MiB, RSS unchanged in 30.0s\n"));
	/* the process is asked, too, and its resident memory */
	((struct snap_process *)s->processes)->trend.verdict = "leak";
	cr_expect(says(s, &o, "\nLeak: redis-server (1432): all of it; no single site grows; raxGenericInsert (rax.c:494) holds 81.6% of its live memory,\nsteady\n"));
	((struct snap_process *)s->processes)->trend.verdict = NULL;
	cr_expect(says(s, &o, "\nToo early to tell: live memory 38.0 MiB, RSS unchanged in 30.0s; trace longer (-d 2m)\n"));
	((struct snap_process *)s->processes)->trend.verdict = "steady";
	((struct snap_process *)s->processes)->rss_at_attach_bytes -= 20 << 20;
	cr_expect_not(says(s, &o, "Nothing grows"));
	((struct snap_process *)s->processes)->rss_at_attach_bytes = s->processes->rss_bytes;
	/* one that nothing is known of, with much of what is live */
	first = (struct snap_site *)&s->sites[0];
	for (size_t i = 0; i < s->n_sites; i++)
		if (s->sites[i].c.live_bytes > first->c.live_bytes)
			first = (struct snap_site *)&s->sites[i];
	first->trend = (struct trend){};
	cr_expect(says(s, &o, "\nToo early to tell: live memory 38.0 MiB, RSS unchanged in 30.0s; trace longer (-d 2m)\n"));
	s->duration_ns *= 100;
	cr_expect(says(s, &o, "\nNot clear whether memory grows: 81.6% of live memory is not known to be steady; live memory 38.0 MiB, RSS unchanged in\n30.0s\n"));
	snapshot__free(s);
	s = all_are(SAMPLE_SINGLE | SAMPLE_LOSSES, "steady");
	cr_expect(says(s, &o, "\nNot clear whether memory grows: the trace has losses; "));
	snapshot__free(s);
	s = all_are(SAMPLE_ESTIMATED | SAMPLE_SINGLE, NULL);
	cr_expect(says(s, &o, "too few samples"));
	snapshot__free(s);
	s = all_are(SAMPLE_EMPTY, NULL);
	cr_expect_not(says(s, &o, "Nothing grows") || says(s, &o, "verdict"));
	snapshot__free(s);
}

/* The title of the sites of several processes is true of each that is listed. */
Test(report, lists_no_steady_process_as_one_that_grows)
{
	struct snapshot *s = all_are(SAMPLE_MANY, "steady");
	struct snap_process *p = (struct snap_process *)s->processes;
	const struct report_opts o = { .brief = true, .width = 120 };

	cr_expect(says(s, &o, "\nSITES of the 3 processes that hold most ("));
	cr_expect_not(says(s, &o, " most (0 "));
	p->trend.verdict = "growing";
	cr_expect(says(s, &o, "\nSITES of the process that grows most ("));
	snapshot__free(s);
}

#define MIB (1ull << 20)

Test(report, explains_how_rss_grew_where_it_did)
{
	struct snapshot *s = sample__new(SAMPLE_SINGLE);
	struct snap_process p = s->processes[0];
	struct report_opts o = { .views = VIEW_THREADS };

	s->processes = &p;
	p.rss_at_attach_bytes = 100 * MIB;
	p.rss_bytes = 200 * MIB;
	p.c.live_bytes = 96 * MIB;
	cr_expect(says(s, &o, "RSS    +100.0 MiB while traced, 96% of its growth explained by live blocks\n"));
	p.c.live_bytes = 101 * MIB;
	cr_expect(says(s, &o, "less than live blocks: untouched or reused pages\n"));
	/* what went to swap has not shrunk */
	p.swap_bytes = 100 * MIB;
	cr_expect(says(s, &o, "swap 100.0 MiB"));
	cr_expect(says(s, &o, "RSS    +200.0 MiB while traced (RSS and swap),"));
	cr_expect(says(s, &o, "51%"));
	cr_expect(says(s, &o, "swap +100.0 MiB\n"));
	/* at most so much was resident, not in swap */
	p.most_rss_bytes = 212 * MIB;
	p.ended = true;
	cr_expect(says(s, &(struct report_opts){ .brief = true, .width = 200 }, "RSS was 200.0 MiB, at most 212.0 MiB, swap was 100.0 MiB"));
	p.ended = false;
	p.swap_bytes = 0;
	/* one of fifty parts, and a MiB at least */
	p.rss_bytes = 102 * MIB;
	cr_expect(says(s, &o, "RSS    +2.0 MiB while traced"));
	p.rss_bytes = 102 * MIB - 1;
	cr_expect_not(says(s, &o, "while traced"));
	p.rss_at_attach_bytes = 1 * MIB;
	p.rss_bytes = 2 * MIB - 1;
	cr_expect_not(says(s, &o, "while traced"));
	p.rss_bytes = 2 * MIB;
	cr_expect(says(s, &o, "while traced"));
	/* where either is not known, nothing is said */
	p.rss_at_attach_bytes = 0;
	cr_expect_not(says(s, &o, "while traced"));
	/* all of it was in swap, and has come back */
	p.swap_at_attach_bytes = 100 * MIB;
	p.rss_bytes = 102 * MIB;
	cr_expect(says(s, &o, "RSS    +2.0 MiB while traced (RSS and swap),"));
	p.swap_at_attach_bytes = 0;
	p.rss_bytes = 2 * MIB;
	p.rss_at_attach_bytes = 1 * MIB;
	s->known &= ~(HAS_LIVE_BYTES | HAS_LIVE_BLOCKS);
	cr_expect_not(says(s, &o, "while traced"));
	s->known = HAS_ALL;
	p.ended = true;
	cr_expect_not(says(s, &o, "while traced"));
	snapshot__free(s);
}

Test(report, a_class_of_sizes_is_exact_where_its_sites_are)
{
	static const struct snap_size sizes[] = { { 64, 100, 10 }, { 4096, 100, 20 } };
	struct snapshot *s = sample__new(SAMPLE_SINGLE);
	struct snap_process p = s->processes[0];
	struct report_opts o = { .views = VIEW_SIZES };

	s->processes = &p;
	p.sizes = sizes;
	p.n_sizes = 2;
	s->n_sites = 2;
	s->sites[0].c = (struct counters){ .alloc_calls = 100, .alloc_bytes = 4800, .live_blocks = 10, .live_bytes = 480 };
	s->sites[0].min_size = s->sites[0].max_size = 48;
	s->sites[1].c = (struct counters){ .alloc_calls = 100, .alloc_bytes = 102400, .live_blocks = 20, .live_bytes = 20480 };
	s->sites[1].min_size = 1000;
	s->sites[1].max_size = 1048;
	p.c.live_bytes = 20960;
	/* 48 and a header take 64 bytes; of sizes that differ, 8 and on average 7.5 are wasted */
	cr_expect(says(s, &o, "below      64 B       100  50.0%        10       480 B      ~160 B"));
	cr_expect(says(s, &o, "below   4.0 KiB       100  50.0%        20    20.0 KiB      ~310 B"));
	cr_expect(says(s, &o, "most is held below 4.0 KiB: 20.0 KiB (97.7%)"));
	cr_expect(says(s, &o, "most overhead below 4.0 KiB: ~310 B (66.0%)"));
	/* a site in both: its bytes are put where its blocks must be */
	s->sites[1].min_size = 16;
	cr_expect(says(s, &o, "below      64 B       100  50.0%        10       480 B      ~160 B"));
	cr_expect(says(s, &o, "below   4.0 KiB       100  50.0%        20   ~20.0 KiB"));
	/* what another allocator wastes is not known */
	s->n_probes = 0;
	cr_expect_not(says(s, &o, "OVERHEAD"));
	/* classes that make no sense divide nothing by zero */
	p.sizes = (struct snap_size[]){ { 0, 1, 5 }, { UINT64_MAX, 1, UINT64_MAX } };
	cr_expect(says(s, &o, "any larger"));
	snapshot__free(s);
}

Test(report, tells_which_names_it_needs)
{
	struct snapshot *s = sample__new(0);
	_cleanup_free_ size_t *shown = NULL;
	size_t n = 0;

	cr_assert_eq(report__shown(s, &(struct report_opts){ .top = 2 }, &shown, &n), 0);
	/* live: tracking, dict; allocations: sds, dict */
	cr_assert_eq(n, 3);
	cr_assert_eq(shown[0], 0);
	cr_assert_eq(shown[1], 1);
	cr_assert_eq(shown[2], 2);
	snapshot__free(s);
}

Test(report, refuses_what_it_cannot_answer)
{
	struct snapshot *s = sample__new(0);
	_cleanup_free_ char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len), *full = fopen("/dev/full", "w");

	cr_assert_eq(report__write(out, s, &(struct report_opts){ .sort = "beauty" }), -EINVAL);
	cr_assert_eq(report__write(out, s, &(struct report_opts){ .older_ns = 7 }), -EINVAL);
	s->known = HAS_ALLOC_CALLS | HAS_ALLOC_BYTES | HAS_REALLOC_CALLS;
	cr_assert_eq(report__write(out, s, &(struct report_opts){ .views = VIEW_LIVE | VIEW_ALLOCS }), -EINVAL);
	cr_assert_eq(report__write(out, s, &(struct report_opts){ .sort = "live-blocks" }), -EINVAL);
	cr_assert_eq(report__write(out, s, &(struct report_opts){ .sort = "oldest" }), -EINVAL);
	s->known = HAS_ALL;
	fclose(out);
	cr_assert_eq(len, 0);
	setvbuf(full, NULL, _IONBF, 0);
	cr_assert_eq(report__write(full, s, &(struct report_opts){}), -EIO);
	fclose(full);
	snapshot__free(s);
}

static void shortens(const char *name, size_t width, const char *want)
{
	_cleanup_free_ char *got = name__shorten(name, width);

	cr_assert_str_eq(got, want);
}

Test(report, shortens_names_where_it_hurts_least)
{
	shortens("main", 4, "main");
	shortens("f(int, std::pair<int, int>)", 27, "f(int, std::pair<int, int>)");
	shortens("f(int, std::pair<int, int>)", 26, "f(…)");
	shortens("a::vec<b<c>, d>::at<e>(f)", 20, "a::vec<…>::at<…>(…)");
	shortens("a::operator<<<x>(y, z, z, z, z)", 20, "a::operator<<<x>(…)");
	shortens("a::operator()(int, int, int) const", 24, "a::operator()(…) const");
	shortens("n::(anonymous namespace)::f(int, int)", 34, "n::(anonymous namespace)::f(…)");
	shortens("a::b() [clone .cold] and more", 20, "…one .cold] and more");
	shortens("broken<name(of(a_foreign_language", 12, "broken<name…");
	shortens("ééééééééé", 5, "éééé…");
	shortens("node::Buffer::Allocator::Take", 16, "…Allocator::Take");
	shortens("libfoo.so.2+0x6120", 10, "….2+0x6120");
	shortens("a::leaf < main", 10, "a::leaf <…");
	shortens("abc", 1, "…");
}

Test(report, figures_do_not_round_to_none_or_all)
{
	char b[FMT_MAX];

	cr_assert_str_eq(fmt_share(b, 0, 10), "0%");
	cr_assert_str_eq(fmt_share(b, 0, 0), "0%");
	cr_assert_str_eq(fmt_share(b, 10, 10), "100%");
	cr_assert_str_eq(fmt_share(b, 999999, 1000000), "99.9%");
	cr_assert_str_eq(fmt_share(b, 1, 1000000), "<0.1%");
	cr_assert_str_eq(fmt_share(b, UINT64_MAX / 2, UINT64_MAX), "50.0%");
	cr_assert_str_eq(fmt_percent(b, 1, 1000), "<1%");
	cr_assert_str_eq(fmt_percent(b, 999, 1000), ">99%");
	cr_assert_str_eq(fmt_percent(b, 614, 1000), "61%");
	cr_assert_str_eq(fmt_error(b, 0, 100), "0%");
	cr_assert_str_eq(fmt_error(b, 5, 0), ">10x");
	cr_assert_str_eq(fmt_error(b, 0.01, 100), "<1%");
	cr_assert_str_eq(fmt_error(b, 12.4, 100), "12%");
	cr_assert_str_eq(fmt_error(b, 99.4, 100), "99%");
	cr_assert_str_eq(fmt_error(b, 128, 100), "128%");
	cr_assert_str_eq(fmt_error(b, 1e300, 1), ">10x");
	cr_assert_str_eq(fmt_rate(b, 5, 0), "-");
	cr_assert_str_eq(fmt_rate(b, 0, 1), "0.0/s");
	cr_assert_str_eq(fmt_rate(b, 1, 100000000000), "<0.1/s");
	cr_assert_str_eq(fmt_rate(b, 75, 10000000000), "7.5/s");
	cr_assert_str_eq(fmt_rate(b, 2100000, 30000000000), "70,000/s");
}

/* What was not recorded may be live: nothing is said of it. */
Test(report, what_is_left_out_is_not_called_free)
{
	struct snapshot *s = sample__new(SAMPLE_SINGLE);
	_cleanup_free_ char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	s->recording.min_size = 1;
	s->n_sites = 0;
	cr_assert_eq(report__write(out, s, &(struct report_opts){ .views = VIEW_LIVE }), 0);
	fclose(out);
	cr_expect(strstr(text, "LIVE: no live blocks from this trace, of what is recorded"), "%s", text);
	snapshot__free(s);
}
