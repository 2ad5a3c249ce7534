// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Rows of resident memory: which are shown, what becomes of the others, and which memory is whose. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "heap/parts.h"

static const struct target target = { .page_bytes = 4096 };

static void add(struct part_spans *s, uint64_t first_page, uint64_t last_page, enum span_is is, size_t of)
{
	part_spans__add(s, &target, first_page * 4096, last_page * 4096, is, of);
}

Test(parts, spans_do_not_overlap)
{
	struct part_spans s = {};
	const struct part_span *found;

	/* a stack in a module's data, and one that begins in the heap */
	add(&s, 10, 20, SPAN_DATA, 0);
	add(&s, 12, 14, SPAN_STACK, 1);
	add(&s, 35, 45, SPAN_STACK, 2);
	add(&s, 30, 40, SPAN_HEAP, 0);
	part_spans__settle(&s);
	cr_assert_eq(s.n, 3);
	cr_assert_eq(s.v[0].is, SPAN_DATA);
	cr_assert_eq(s.v[1].is, SPAN_HEAP);
	cr_assert_eq(s.v[2].start, 40 * 4096);
	cr_assert_eq(s.v[2].end, 45 * 4096);
	cr_assert_null(part_spans__find(&s, 10 * 4096 - 1));
	cr_assert_null(part_spans__find(&s, 20 * 4096));
	found = part_spans__find(&s, 40 * 4096);
	cr_assert_eq(found->of, 2);
	vec_done(&s);
}

Test(parts, spans_are_whole_pages)
{
	struct part_spans s = {};

	part_spans__add(&s, &target, 4097, 8191, SPAN_HEAP, 0);
	part_spans__add(&s, &target, 5, 5, SPAN_HEAP, 0);
	part_spans__add(&s, &target, 9, 3, SPAN_HEAP, 0);
	part_spans__add(&s, &target, UINT64_MAX - 10000, UINT64_MAX, SPAN_HEAP, 0);
	part_spans__settle(&s);
	cr_assert_eq(s.n, 2);
	cr_assert_eq(s.v[0].start, 4096);
	cr_assert_eq(s.v[0].end, 4096 * 2);
	cr_assert(s.v[s.n - 1].end > s.v[s.n - 1].start);
	vec_done(&s);
}

Test(parts, the_largest_are_shown)
{
	struct snapshot *s = snapshot__new();
	struct part_rows r = {};
	struct snap_heap h = {};
	char names[100][8];
	uint64_t sum = 0;

	for (size_t i = 0; i < 100; i++) {
		size_t at;

		snprintf(names[i], sizeof(names[i]), "v%zu", i);
		at = part_rows__get(&r, PART_GLOBAL, names[i], "/bin/x");
		r.all.v[at].mapped_bytes = 5000;
		r.all.v[at].resident_bytes = 10 * i;
		/* the same again is the same row */
		cr_assert_eq(part_rows__get(&r, PART_GLOBAL, names[i], "/bin/x"), at);
	}
	r.all.v[part_rows__add(&r, PART_ANON, NULL, NULL)] = (struct snap_part){ .kind = PART_ANON, .addr = 0x7000, .mapped_bytes = 4096, .resident_bytes = 4096 };
	r.rest[PART_GLOBAL].resident_bytes = 7;
	/* 10 * (0 + ... + 99), and two more */
	cr_assert_eq(part_rows__resident(&r), 49500 + 4096 + 7);
	part_rows__put(&r, s, &h);
	cr_assert_eq(h.n_parts, PART_ROWS_MAX + 2);
	cr_assert_str_eq(h.parts[0].name, "v99");
	cr_assert_str_eq(h.parts[63].name, "v36");
	cr_assert_str_eq(h.parts[64].name, "(the rest)");
	cr_assert_eq(h.parts[64].kind, PART_GLOBAL);
	cr_assert_eq(h.parts[64].mapped_bytes, 36 * 5000);
	/* 10 * (0 + ... + 35) */
	cr_assert_eq(h.parts[64].resident_bytes, 6300 + 7);
	cr_assert_str_eq(h.parts[65].name, "at 0x7000");
	for (size_t i = 0; i < h.n_parts; i++)
		sum += h.parts[i].resident_bytes;
	cr_assert_eq(sum, 49500 + 4096 + 7);
	part_rows__done(&r);
	snapshot__free(s);
}

/* A variable of 100 bytes on each side of a page's border, of which the second page is there. */
Test(parts, a_page_is_split_by_bytes)
{
	struct variable v[] = { { 4000, 4100, 0 }, { 4100, 4196, 2 }, { 8000, 9000, 4 } };
	struct module m = { .path = "/lib/x.so", .opened = true, .has_variables = true, .bias = 0x10000,
			    .variables = { .v = v, .n = 3, .names = { .v = "a\0b\0c" } } };
	struct parts p = {};
	struct part_rows r = {};
	struct part_globals g = { .mapped_bytes = 3 * 4096 };
	struct snap_heap h = {};
	struct snapshot *s = snapshot__new();

	pool__init(&p.pool);
	part_globals__count(&g, &p, &m, 0x10000 + 4096, 0x10000 + 8192, false);
	part_globals__put(&g, &p, &m, &r);
	cr_assert_eq(part_rows__resident(&r), 4096);
	part_rows__put(&r, s, &h);
	cr_assert_eq(h.n_parts, 4);
	cr_assert_str_eq(h.parts[0].name, "(other data)");
	cr_assert_eq(h.parts[0].resident_bytes, 4096 - 192 - 4 - 96);
	cr_assert_str_eq(h.parts[1].name, "c");
	cr_assert_eq(h.parts[1].resident_bytes, 192);
	cr_assert_eq(h.parts[1].mapped_bytes, 1000);
	cr_assert_str_eq(h.parts[2].name, "b");
	cr_assert_eq(h.parts[2].resident_bytes, 96);
	cr_assert_str_eq(h.parts[3].name, "a");
	cr_assert_eq(h.parts[3].resident_bytes, 4);
	part_globals__done(&g);
	part_rows__done(&r);
	pool__done(&p.pool);
	snapshot__free(s);
}
