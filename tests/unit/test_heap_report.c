// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* What is said of heaps in reports: as files of tests/golden/, within their width, and with no word too much. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "golden.h"
#include "model/filter.h"
#include "model/heaps.h"
#include "present/columns.h"
#include "present/text/report.h"
#include "sample_snapshot.h"
#include "util/text.h"
#include "util/util.h"

static char *written(const struct snapshot *s, const struct report_opts *o, size_t *ret_len)
{
	char *text = NULL;
	FILE *out = open_memstream(&text, ret_len);

	cr_assert_eq(report__write(out, s, o), 0);
	fclose(out);
	return text;
}

static const struct snap_block listed[] = {
	{ 0x5581a2c0, 24, 0, 0, 0, NULL, REACH_REACHED },
	{ 0xffff9c001230, 1032, 1, 29900000000, 1432, "std::map<std::string, std::vector<engine::Row> >", REACH_UNREACHED },
	{ 0xffff9c0017f0, 1032, 1, 29100000000, 1432, "other", REACH_INDIRECT },
	{ 0xffff98000b70, 4096, 2, 12000000000, 1435, "app::Session", REACH_REACHED },
};

static void list_blocks(struct snapshot *s, size_t from, size_t n)
{
	struct snap_heap *h = (struct snap_heap *)&s->heaps[0];
	struct snap_block *v = snapshot__alloc(s, n + 1, sizeof(*v));

	memcpy(v, listed + from, n * sizeof(*v));
	for (size_t i = 0; i < n && !s->n_sites; i++) {
		v[i].site = 0;
		v[i].age_ns = 0;
		v[i].tid = 0;
	}
	h->list = v;
	h->n_list = n;
	h->n_list_of = 414441;
}

static struct snapshot *alone(unsigned int flags)
{
	struct snapshot *s = sample__heap_alone(flags);

	snapshot__set_heaps(s, s->heaps, s->n_heaps);
	return s;
}

static struct snapshot *traced(unsigned int sample, unsigned int flags)
{
	struct snapshot *s = sample__new(sample);

	sample__add_heap(s, 0, flags);
	snapshot__set_heaps(s, s->heaps, s->n_heaps);
	return s;
}

/* And the snapshot is gone. */
static void check(const char *name, struct snapshot *s, const struct report_opts *o)
{
	size_t len;
	_cleanup_free_ char *text = written(s, o, &len);

	golden__check(name, text, len);
	snapshot__free(s);
}

Test(heap_report, looks)
{
	const struct report_opts plain = { .width = 80 }, wide = { .width = 120 }, screen = { .width = 80, .brief = true, .height = 40 };
	struct snapshot *s;

	check("heap-80.txt", alone(0), &plain);
	check("heap-screen-80.txt", alone(0), &screen);
	check("heap-reachable-80.txt", alone(HEAP_SEARCHED), &plain);
	check("heap-reachable-120.txt", alone(HEAP_SEARCHED), &wide);
	check("heap-reachable-quiet-80.txt", alone(HEAP_SEARCHED | HEAP_QUIET), &plain);
	check("heap-refused-80.txt", alone(HEAP_REFUSED), &plain);

	s = alone(HEAP_SEARCHED | HEAP_QUIET);
	((struct snap_heap *)s->heaps)->paused_ns = 121000000;
	((struct snap_heap *)s->heaps)->unsure_blocks = 0;
	((struct snap_heap *)s->heaps)->swapped_bytes = ((struct snap_heap *)s->heaps)->broken_bytes = 0;
	((struct snap_heap *)s->heaps)->unreached.scans = 1;
	check("heap-paused-80.txt", s, &plain);

	s = alone(0);
	list_blocks(s, 0, 4);
	check("heap-blocks-80.txt", s, &(struct report_opts){ .width = 80, .views = VIEW_BLOCKS });
}

/* A kernel before 6.7, and terabytes of address space. */
Test(heap_report, not_looked_at)
{
	struct snapshot *s = alone(HEAP_SEARCHED);
	struct snap_heap *h = (struct snap_heap *)s->heaps;

	h->passed_over_bytes = 2ull << 40;
	h->unreached.passed_over_bytes = 3ull << 40;
	h->unreached.unread_shared_bytes = 5ull << 20;
	h->unreached.async_io = true;
	check("heap-passed-over-80.txt", s, &(struct report_opts){ .width = 80, .top = 1 });
}

/* Whoever lists blocks alone is told as well why some of them may be pointed to. */
Test(heap_report, doubts_beside_blocks)
{
	static const struct {
		const char *registers;
		uint64_t threads;
		const char *words;
		bool kept_in_part;
	} rows[] = {
		{ "read", 0, NULL },
		{ "stopped", 0, NULL },
		{ "read", 0, "Some of what the kernel keeps for the process (epoll, timers)", true },
		{ "read in part", 2, "Registers of 2 threads could not be read, those of the others once:" },
		{ "not read", 0, "Registers could not be read:" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct snapshot *s = alone(HEAP_SEARCHED);
		struct snap_unreached *u = &((struct snap_heap *)s->heaps)->unreached;
		const struct report_opts o = { .width = 120, .views = VIEW_BLOCKS };
		size_t len;
		char *text;

		list_blocks(s, 0, 4);
		u->registers = rows[i].registers;
		u->unread_threads = rows[i].threads;
		u->kept_in_part = rows[i].kept_in_part;
		u->swapped_bytes = 0;
		text = written(s, &o, &len);
		cr_expect_eq(!!strstr(text, "among"), !!rows[i].words, "%s", text);
		cr_expect(!rows[i].words || strstr(text, rows[i].words), "%s", text);
		free(text);
		text = written(s, &(struct report_opts){ .width = 120, .views = VIEW_HEAP }, &len);
		cr_expect(strstr(text, rows[i].words ? "Perhaps leaked" : "Probably leaked"), "%s", text);
		free(text);
		snapshot__free(s);
	}
}

/* A trace that was interrupted once more says what it does not know. */
Test(heap_report, interrupted)
{
	static const struct report_opts o[] = { { .width = 120, .views = VIEW_HEAP }, { .width = 120, .brief = true, .height = 40 } };

	for (size_t i = 0; i < ARRAY_SIZE(o); i++) {
		struct snapshot *s = traced(0, 0);
		size_t len;
		char *text;

		((struct snap_heap *)s->heaps)->search_interrupted = true;
		text = written(s, &o[i], &len);
		cr_expect(strstr(text, "The search for pointers was interrupted: which blocks are unreachable is not known."), "%s", text);
		free(text);
		snapshot__free(s);
	}
}

/* Of several processes it is said how many were searched, and nothing of the others. */
Test(heap_report, of_several_only_what_was_searched)
{
	static const struct {
		unsigned int first;
		bool second, interrupted;
		const char *says;
	} t[] = {
		{ HEAP_SEARCHED | HEAP_QUIET, true, true, "\nmalloctrace searched 1 of 2 processes for pointers: every block that was searched is reachable. 1 search was interrupted. "
							  "2.0 MiB could not be read: whether blocks there are reachable is not known.\n" },
		{ HEAP_SEARCHED | HEAP_QUIET, true, false, "\nmalloctrace searched 1 of 2 processes for pointers: every block that was searched is reachable. 2.0 MiB " },
		{ HEAP_SEARCHED | HEAP_QUIET, false, false, "\nmalloctrace searched 1 of 2 processes for pointers: every block that was searched is reachable. 2.0 MiB " },
		{ HEAP_SEARCHED, true, true, "33.5 MiB.\nmalloctrace searched 1 of 2 processes for pointers. 1 search was interrupted. 2.0 MiB " },
		{ 0, true, true, "\nmalloctrace searched 0 of 2 processes for pointers. 1 search was interrupted.\n" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		struct snapshot *s = sample__new(0);
		_cleanup_free_ char *text = NULL;
		size_t len;

		for (size_t k = 0; k < s->n_processes; k++)
			((struct snap_process *)s->processes)[k].ended = false;
		sample__add_heap(s, 0, t[i].first);
		if (t[i].second)
			sample__add_heap(s, 1, 0);
		((struct snap_heap *)s->heaps)[s->n_heaps - 1].search_interrupted = t[i].interrupted;
		snapshot__set_heaps(s, s->heaps, s->n_heaps);
		text = written(s, &(struct report_opts){ .width = 300, .brief = true }, &len);
		cr_expect(strstr(text, t[i].says), "%zu: wanted %s, got %s", i, t[i].says, text);
		snapshot__free(s);
	}
}

/* Whoever runs is told of --pause, whoever rests is not. */
Test(heap_report, at_rest)
{
	const struct report_opts o = { .width = 400 };

	for (int rested = 0; rested < 2; rested++) {
		struct snapshot *s = alone(0);
		size_t len;
		char *text;

		((struct snap_heap *)s->heaps)->rested = rested;
		text = written(s, &o, &len);
		cr_expect_eq(!!strstr(text, "nothing ran while it was read"), rested, "%s", text);
		cr_expect_eq(!!strstr(text, "--pause: exact figures"), !rested, "%s", text);
		free(text);
		snapshot__free(s);
	}
}

/* One arena, nothing that is notable, and a program in C. */
Test(heap_report, quiet)
{
	static const struct snap_type types[] = { { "text", 3, 100, false, true }, { "zeros", 3, 44, false, false } };
	struct snapshot *s = alone(0);
	struct snap_heap *h = (struct snap_heap *)s->heaps;

	h->n_arenas = 1;
	h->free_bytes = h->free_resident_bytes = h->top_bytes = 4096;
	h->bins_bytes = h->tcache_bytes = h->trimmable_bytes = 0;
	h->types = types;
	h->n_types = 2;
	h->unsure_blocks = 0;
	h->swapped_bytes = h->broken_bytes = h->swap_bytes = 0;
	check("heap-quiet-80.txt", s, &(struct report_opts){ .width = 80, .top = 3 });
}

/* Free memory in pieces is not given back. */
Test(heap_report, in_pieces)
{
	struct snapshot *s = alone(0);
	_cleanup_free_ char *text = NULL;
	size_t len;

	((struct snap_heap *)s->heaps)->trimmable_bytes = 300 * 1024;
	text = written(s, &(struct report_opts){ .width = 200 }, &len);
	cr_expect(strstr(text, "lies in pieces between blocks in use: malloc_trim(0), called by the program, would return only 300.0 KiB."), "%s", text);
	snapshot__free(s);
}

Test(heap_report, looks_in_a_trace)
{
	struct snapshot *s;

	check("report-looked-80.txt", traced(SAMPLE_SINGLE, HEAP_SEARCHED | HEAP_OLDER), &(struct report_opts){ .width = 80, .views = VIEW_LIVE | VIEW_HEAP });
	check("brief-looked-80.txt", traced(SAMPLE_SINGLE, HEAP_SEARCHED | HEAP_OLDER), &(struct report_opts){ .width = 80, .brief = true });
	check("brief-looked-120.txt", traced(SAMPLE_SINGLE, HEAP_SEARCHED | HEAP_OLDER), &(struct report_opts){ .width = 120, .brief = true });
	check("report-looked-older-80.txt", traced(SAMPLE_SINGLE | SAMPLE_HEAP, HEAP_OLDER), &(struct report_opts){ .width = 80, .views = VIEW_LIVE, .top = 1 });
	s = traced(SAMPLE_SINGLE, HEAP_SEARCHED | HEAP_OLDER);
	list_blocks(s, 0, 4);
	check("report-blocks-80.txt", s, &(struct report_opts){ .width = 80, .views = VIEW_BLOCKS });
	s = sample__new(SAMPLE_MANY);
	for (uint32_t i = 0; i < 3; i++)
		sample__add_heap(s, i, i == 1 ? HEAP_SEARCHED : i ? HEAP_REFUSED : 0);
	snapshot__set_heaps(s, s->heaps, s->n_heaps);
	check("brief-looked-many-80.txt", s, &(struct report_opts){ .width = 80, .brief = true });
}

Test(heap_report, keeps_to_its_width)
{
	static const unsigned int widths[] = { 80, 81, 90, 100, 120 }, narrow[] = { 40, 41, 50, 60, 72 };

	for (size_t i = 0; i < ARRAY_SIZE(widths) + ARRAY_SIZE(narrow); i++)
		for (unsigned int flags = 0; flags < 32; flags++) {
			bool small = i >= ARRAY_SIZE(widths);
			struct report_opts o = { .width = small ? narrow[i - ARRAY_SIZE(widths)] : widths[i], .brief = small, .views = small ? 0 : VIEW_HEAP | VIEW_BLOCKS };
			struct snapshot *s = flags & 16 ? traced(SAMPLE_SINGLE, flags & 15) : alone(flags & 15 & ~HEAP_OLDER);
			_cleanup_free_ char *text = NULL;
			size_t len;

			list_blocks(s, 0, 4);
			/* the widest there is */
			if (s->heaps[0].n_classes)
				((struct snap_class *)s->heaps[0].classes)[8].usable = 512 << 10;
			text = written(s, &o, &len);
			for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
				cr_expect_leq(text_width(line), o.width, "%u of %u: %s", flags, o.width, line);
				cr_expect_neq(line[strlen(line) - 1], ' ', "blanks at the end: %s", line);
			}
			snapshot__free(s);
		}
}

/* Whatever was found, nothing is proven, and of what was refused there are no figures. */
Test(heap_report, claims_no_more_than_is_known)
{
	for (unsigned int flags = 0; flags < 16; flags++) {
		struct snapshot *s = alone(flags & ~HEAP_OLDER);
		_cleanup_free_ char *text = NULL;
		size_t len;

		text = written(s, &(struct report_opts){ .width = 80 }, &len);
		cr_expect_null(strstr(text, "proven"));
		cr_expect_null(strstr(text, "proof"));
		cr_expect_eq(!strstr(text, "Probably leaked, no pointer found in 3 scans: "), (flags & (HEAP_SEARCHED | HEAP_QUIET | HEAP_REFUSED)) != HEAP_SEARCHED, "%s", text);
		cr_expect_eq(!!strstr(text, "Every block that was searched is reachable (3 scans)."), (flags & (HEAP_SEARCHED | HEAP_QUIET | HEAP_REFUSED)) == (HEAP_SEARCHED | HEAP_QUIET),
			     "%s", text);
		if (flags & HEAP_REFUSED)
			cr_expect(strstr(text, "heap layout not recognised: ") && !strstr(text, "in use") && !strstr(text, "SIZES") && !strstr(text, "free  "), "%s", text);
		snapshot__free(s);
	}
}

/* What is lost is called so, in the words of the sentence; the title tells the order that the list has, and no other. */
Test(heap_report, order_of_blocks)
{
	static const struct {
		struct snap_block v[4];
		const char *title;
	} cases[] = {
		{ { { 1, 64, .reach = REACH_INDIRECT }, { 2, 8, .reach = REACH_UNREACHED }, { 3, 512, .reach = REACH_REACHED }, { 4, 8, .reach = REACH_REACHED } },
		  "BLOCKS, those without a pointer first, then the largest (4 of 414,441)\n" },
		{ { { 1, 8, 1, 9, .reach = REACH_UNREACHED }, { 2, 64, 1, 7, .reach = REACH_UNREACHED }, { 3, 8, 1, 8, .reach = REACH_REACHED }, { 4, 64, 1, 6, .reach = REACH_REACHED } },
		  "BLOCKS, those without a pointer first, then the oldest (4 of 414,441)\n" },
		{ { { 1, 8, 1, 9, .reach = REACH_UNREACHED }, { 2, 64, 1, 7, .reach = REACH_REACHED }, { 3, 8, 1, 8, .reach = REACH_UNREACHED }, { 4, 64, 1, 6, .reach = REACH_REACHED } },
		  "BLOCKS (4 of 414,441)\n" },
		{ { { 1, .bytes = 64 }, { 2, .bytes = 64 }, { 3, .bytes = 8 }, { 4, .bytes = 8 } }, "BLOCKS, the largest first (4 of 414,441)\n" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		bool searched = cases[i].v[0].reach;
		struct snapshot *s = cases[i].v[0].site ? traced(SAMPLE_SINGLE, HEAP_SEARCHED) : alone(searched ? HEAP_SEARCHED : 0);
		struct snap_heap *h = (struct snap_heap *)&s->heaps[0];
		_cleanup_free_ char *text = NULL;
		size_t len;

		h->list = cases[i].v;
		h->n_list = 4;
		h->n_list_of = 414441;
		text = written(s, &(struct report_opts){ .width = 100, .views = VIEW_BLOCKS }, &len);
		cr_expect(strstr(text, cases[i].title), "%zu: %s", i, text);
		cr_expect_eq(!!strstr(text, "UNREACHED"), searched, "%zu: %s", i, text);
		cr_expect_eq(!!strstr(text, "direct"), searched, "%zu: %s", i, text);
		snapshot__free(s);
	}
}

/* Types are made to fit: names give way before shares do, and a cell is not empty because a name is long. */
Test(heap_report, types_in_a_width)
{
	static const struct snap_share v[] = { { "std::_Sp_counted_ptr_inplace<app::Session, std::allocator<app::Session>, (__gnu_cxx::_Lock_policy)2>", 0.74, true },
					       { "text", 0.25, false }, { "app::Pool<double>", 0.01, true } };
	static const struct {
		size_t n, width;
		const char *want;
	} cases[] = {
		{ 3, 200, "74% std::_Sp_counted_ptr_inplace<app::Session, std::allocator<app::Session>, (__gnu_cxx::_Lock_policy)2>, 25% text, 1% app::Pool<double>" },
		{ 1, 40, "74% std::_Sp_counted_ptr_inplace<…>" },
		{ 3, 64, "74% std::_Sp_counted_ptr_inplace<…>, 25% text, 1% app::Pool<…>" },
		{ 3, 24, "74% …lace<…>, 25% text …" },
		{ 0, 24, "" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_free_ char *text = heap__types_text(v, cases[i].n, cases[i].width);

		cr_expect_str_eq(text, cases[i].want, "%zu: %s", i, text);
	}
	for (size_t width = 1; width < 150; width++) {
		_cleanup_free_ char *text = heap__types_text(v, 3, width);

		cr_expect_leq(text_width(text), MAX(width, (size_t)6), "%zu: %s", width, text);
	}
}

/* OLDER and UNREACHED are parts of a type, and estimates of an estimate: no more than all of it, and marked as that is. */
Test(heap_report, parts_of_types)
{
	static const struct snap_type all[] = { { "text", 29990, 1200000, false, true }, { "Pool", 568, 1100000, true, true }, { "Row", 6, 480, true, false } };
	static const struct snap_type older[] = { { "text", 30006, 1300000, false, true }, { "Row", 4, 320, true, false } };
	static const struct snap_type lost[] = { { "Pool", 600, 1200000, true, true }, { "Row", 2, 160, true, false } };
	static const char *const want[][2] = { { "~29,990", "0 B" }, { "0", "~1.0 MiB" }, { "4", "160 B" } };
	struct snapshot *s = alone(HEAP_SEARCHED);
	struct snap_heap *h = (struct snap_heap *)s->heaps;
	struct row_of row = { .s = s, .process = &s->processes[0], .heap = h };
	struct cell cell;

	h->older_known = true;
	h->older_types = older;
	h->n_older_types = ARRAY_SIZE(older);
	h->unreached.types = lost;
	h->unreached.n_types = ARRAY_SIZE(lost);
	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		row.type = &all[i];
		column__cell(columns__find(&type_columns, "older"), &row, &cell);
		cr_expect_str_eq(cell.text, want[i][0], "%s: %s", all[i].name, cell.text);
		column__cell(columns__find(&type_columns, "unreached"), &row, &cell);
		cr_expect_str_eq(cell.text, want[i][1], "%s: %s", all[i].name, cell.text);
	}
	snapshot__free(s);
}

/* What is direct is told apart from what hangs on it, in words that hold for one and for many. */
Test(heap_report, direct_and_indirect)
{
	static const struct {
		uint64_t blocks, direct;
		const char *want;
	} cases[] = {
		{ 1, 1, "Probably leaked, no pointer found in 3 scans: 1 block, 264 B.\n" },
		{ 2, 1, "Probably leaked, no pointer found in 3 scans: 2 blocks, 528 B. 1 is direct: nothing points to it. The other one is indirect: only leaked blocks point to it.\n" },
		{ 9, 4, "9 blocks, 2.3 KiB. 4 are direct: nothing points to them. The other 5 are indirect: only leaked blocks point to them.\n" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct snapshot *s = alone(HEAP_SEARCHED | HEAP_QUIET);
		struct snap_unreached *u = &((struct snap_heap *)s->heaps)->unreached;
		_cleanup_free_ char *text = NULL;
		size_t len;

		u->blocks = cases[i].blocks;
		u->bytes = cases[i].blocks * 264;
		u->direct_blocks = cases[i].direct;
		text = written(s, &(struct report_opts){ .width = 200 }, &len);
		cr_expect(strstr(text, cases[i].want), "%zu: %s", i, text);
		snapshot__free(s);
	}
}

/* Resident memory is broken down once: the heap's own line says more, and calls heap what the other does not. */
Test(heap_report, one_line_of_resident_memory)
{
	for (int looked = 0; looked < 2; looked++) {
		struct snapshot *s = traced(SAMPLE_SINGLE | SAMPLE_HEAP, HEAP_OLDER);
		_cleanup_free_ char *text = NULL;
		size_t len, n = 0;

		text = written(s, &(struct report_opts){ .width = 120, .views = VIEW_LIVE | (looked ? VIEW_HEAP : 0) }, &len);
		for (const char *at = strstr(text, "\nRSS    "); at; at = strstr(at + 1, "\nRSS    "))
			n += !strstr(at, "while traced") || strstr(at, "while traced") - at > 30;
		cr_expect_eq(n, 1, "%s", text);
		cr_expect_eq(!!strstr(text, "other anonymous 10.0 MiB"), !looked, "%s", text);
		cr_expect(strstr(text, "heap   traced blocks "), "%s", text);
		snapshot__free(s);
	}
}

/* What comes next fits what was found: the trace by call stack for what is lost; nothing to search where nothing was read. */
Test(heap_report, next_steps)
{
	static const struct {
		unsigned int flags;
		const char *want, *not;
	} cases[] = {
		{ 0, "next: --reachable for leaked blocks", "call stacks" },
		{ HEAP_SEARCHED, "next: malloctrace -p 1432 -d 30 --reachable for the call stacks that leak", "--reachable for leaked" },
		{ HEAP_SEARCHED | HEAP_QUIET, "next: --full", "-d 30 --reachable" },
		{ HEAP_REFUSED, "next: malloctrace doctor -p 1432 says which allocator it has", "--reachable" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct snapshot *s = alone(cases[i].flags);
		_cleanup_free_ char *text = NULL;
		const char *next;
		size_t len;

		text = written(s, &(struct report_opts){ .width = 200, .brief = true, .height = 40 }, &len);
		next = strstr(text, "\nnext: ");
		cr_expect(next && strstr(next, cases[i].want) && !strstr(next, cases[i].not), "%zu: %s", i, text);
		snapshot__free(s);
	}
	{
		struct snapshot *s = alone(HEAP_REFUSED);
		_cleanup_free_ char *text = NULL;
		size_t len;

		((struct snap_heap *)s->heaps)->refused = "no glibc heap in process 1432: it allocates with jemalloc, whose blocks cannot be told from outside";
		text = written(s, &(struct report_opts){ .width = 200, .brief = true, .height = 40 }, &len);
		cr_expect(strstr(text, "\nnext: malloctrace -p 1432 traces what it allocates") && !strstr(text, "doctor"), "%s", text);
		snapshot__free(s);
	}
}

/* What a part is of, before its name: "other data" is there once for each file. What stands for many comes last. */
Test(heap_report, names_of_parts)
{
	static const struct snap_part parts[] = {
		{ .kind = PART_GLOBAL, .name = "(the rest)", .resident_bytes = 4096 }, { .kind = PART_GLOBAL, .name = "(other data)", .module = "/lib/libc.so.6", .resident_bytes = 2048 },
		{ .kind = PART_GLOBAL, .name = "static_buf", .module = "/usr/bin/cprog", .resident_bytes = 1024 }, { .kind = PART_STACK, .name = "worker-0", .tid = 12, .resident_bytes = 512 },
	};
	static const char want[] = "  global  libc.so.6: other data\n", *const then[] = { "  global  cprog: static_buf\n", "  stack   worker-0 (12)\n", "  global  (the rest)\n" };
	struct snapshot *s = alone(0);
	struct snap_heap *h = (struct snap_heap *)s->heaps;
	_cleanup_free_ char *text = NULL;
	const char *at;
	size_t len;

	h->parts = parts;
	h->n_parts = ARRAY_SIZE(parts);
	text = written(s, &(struct report_opts){ .width = 80 }, &len);
	at = strstr(text, want);
	cr_expect(at, "%s", text);
	for (size_t i = 0; i < ARRAY_SIZE(then) && at; i++) {
		at = strstr(at, then[i]);
		cr_expect(at, "%s:\n%s", then[i], text);
	}
	snapshot__free(s);
}

/* --filter leaves blocks of the sites that it leaves. */
Test(heap_report, narrowed_blocks)
{
	struct snapshot *s = traced(SAMPLE_SINGLE, HEAP_SEARCHED), *left;
	_cleanup_err_ struct err e = {};
	_cleanup_free_ char *text = NULL;
	struct filter f = {};
	size_t len;

	list_blocks(s, 0, 4);
	cr_assert_eq(filter__init(&f, "no_function_is_called_so", NULL, NULL, &e), 0);
	left = snapshot__filter(s, &f);
	text = written(left, &(struct report_opts){ .width = 80, .views = VIEW_BLOCKS }, &len);
	cr_expect(strstr(text, "BLOCKS: none is left of those that were listed"), "%s", text);
	snapshot__free(left);
	snapshot__free(s);
	filter__done(&f);
}

/* Of several processes the three that may have lost the most, and how many more there are. */
Test(heap_report, the_most_lost_first)
{
	static const uint64_t lost[] = { 100, 0, 300, 500, 200 };
	static const char *const want[] = { "(1003): probably leaked, no pointer found in 3 scans: 500 blocks", "(1002): probably leaked, no pointer found in 3 scans: 300 blocks",
					    "(1004): probably leaked, no pointer found in 3 scans: 200 blocks", "Of 1 more process, too: 100 blocks, 25.8 KiB (--view heap)." };
	struct snapshot *s = sample__new(SAMPLE_MANY);
	_cleanup_free_ char *text = NULL;
	const char *at;
	size_t len;

	cr_assert_geq(s->n_processes, 2);
	for (uint32_t i = 0; i < ARRAY_SIZE(lost); i++)
		sample__add_heap(s, 0, HEAP_SEARCHED | HEAP_QUIET);
	for (size_t i = 0; i < ARRAY_SIZE(lost); i++) {
		struct snap_heap *h = (struct snap_heap *)&s->heaps[i];

		h->pid = 1000 + (pid_t)i;
		h->unreached.blocks = h->unreached.direct_blocks = lost[i];
		h->unreached.bytes = h->unreached.direct_bytes = lost[i] * 264;
	}
	text = written(s, &(struct report_opts){ .width = 120, .brief = true }, &len);
	at = text;
	for (size_t i = 0; i < ARRAY_SIZE(want); i++) {
		const char *found = strstr(at, want[i]);

		cr_expect(found, "%s is not there, or not after the one before it:\n%s", want[i], text);
		at = found ? found : at;
	}
	cr_expect_null(strstr(text, "(1000)"), "%s", text);
	snapshot__free(s);
}

/* A trace that leaves blocks out does not know which of the others are older than it. */
Test(heap_report, blocks_that_were_not_recorded)
{
	for (unsigned int older = 0; older < 2; older++) {
		struct snapshot *s = traced(SAMPLE_SINGLE, older ? HEAP_OLDER : 0);
		_cleanup_free_ char *text = NULL;
		size_t len;

		s->recording.min_size = 64;
		list_blocks(s, 0, 4);
		text = written(s, &(struct report_opts){ .width = 120, .views = VIEW_BLOCKS }, &len);
		cr_expect_eq(strstr(text, "[older]") != NULL, older, "%s", text);
		cr_expect_eq(strstr(text, " >30") != NULL, older, "%s", text);
		cr_expect_eq(strstr(text, "BLOCKS, the oldest first") != NULL, older, "%s", text);
		snapshot__free(s);
	}
}

/* Where only blocks older than an age count, those without a pointer are not of these. */
Test(heap_report, unreached_is_of_all_ages)
{
	const struct column *c = columns__find(&site_columns, "unreached");
	struct snapshot *s = traced(SAMPLE_SINGLE, HEAP_SEARCHED);
	struct row_of row = { .s = s, .process = &s->processes[0] };
	struct cell cell;

	for (size_t i = 0; i < s->n_sites; i++) {
		row.site = &s->sites[i];
		row.older = false;
		column__cell(c, &row, &cell);
		cr_expect_eq(cell.sort, (double)s->sites[i].unreached_bytes);
		row.older = true;
		column__cell(c, &row, &cell);
		cr_expect(isnan(cell.sort));
	}
	snapshot__free(s);
}

/* A site's blocks that came after the search are neither reached nor not. */
Test(heap_report, younger_than_the_search)
{
	static const struct {
		uint64_t looked, unreached;
		const char *want;
	} cases[] = { { 31744, 0, "    a pointer to every block\n" }, { 31740, 0, "    a pointer to every block that was there, 4 blocks are too new to have been searched\n" },
		      { 31743, 31700, "    no pointer to 31,700 of 31,743 blocks (31.0 MiB), 1 block is too new to have been searched" } };

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct snapshot *s = traced(SAMPLE_SINGLE, HEAP_SEARCHED | (cases[i].unreached ? 0 : HEAP_QUIET));
		_cleanup_free_ char *text = NULL;
		size_t len;

		for (size_t k = 0; k < s->n_sites; k++)
			if (s->sites[k].c.live_blocks == 31744)
				s->sites[k].looked_blocks = cases[i].looked;
		text = written(s, &(struct report_opts){ .width = 120, .views = VIEW_LIVE }, &len);
		cr_expect(strstr(text, cases[i].want), "%zu: %s", i, text);
		snapshot__free(s);
	}
}

/* What no pointer was found to is told by the verdict or beside it, whatever names there are in the verdict. */
Test(heap_report, unreached_is_told_once)
{
	for (int told = 0; told < 2; told++) {
		struct snapshot *s = traced(SAMPLE_SINGLE, HEAP_SEARCHED | HEAP_QUIET);
		_cleanup_free_ char *text = NULL, *brief = NULL;
		size_t len;

		for (size_t i = 0; i < s->n_sites; i++)
			s->sites[i].trend = (struct trend){ .verdict = "leak", .why = "through pointers", .why_unreached = told };
		text = written(s, &(struct report_opts){ .width = 120, .views = VIEW_LIVE }, &len);
		brief = written(s, &(struct report_opts){ .width = 120, .brief = true }, &len);
		cr_expect_eq(!strstr(text, "    a pointer to every block"), told, "%s", text);
		cr_expect_eq(!strstr(brief, "pointers lead to all of them"), told, "%s", brief);
		snapshot__free(s);
	}
}
