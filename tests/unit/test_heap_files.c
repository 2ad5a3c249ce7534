// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Heaps in files, and in snapshots made of others: nothing is lost, nothing names what is not there. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "files/diff_files.h"
#include "files/json/json_read.h"
#include "golden.h"
#include "model/filter.h"
#include "model/group.h"
#include "model/heaps.h"
#include "model/join.h"
#include "sample_snapshot.h"
#include "util/util.h"
#include "written.h"

static const struct snap_block listed[] = {
	{ 0x7f0012345010, 4096, 1, 90000000000, 1435, "text", REACH_UNREACHED },
	{ 0xffff9c001230, 1032, 2, 60000000000, 1432, "engine::Row", REACH_INDIRECT },
	{ 0x5581a2c0, 24, 0, 0, 0, NULL, REACH_REACHED },
	{ 0x10, 24, 1, 1, 1432, "other", REACH_UNKNOWN },
};

static void list_blocks(struct snapshot *s)
{
	struct snap_heap *h = (struct snap_heap *)&s->heaps[0];
	static const uint32_t stack[] = { 0, 1 };
	struct snap_part *parts = snapshot__alloc(s, h->n_parts + 1, sizeof(*parts));

	h->list = listed;
	h->n_list = ARRAY_SIZE(listed);
	h->n_list_of = 417;
	/* --mmap has seen where one was mapped */
	memcpy(parts, h->parts, h->n_parts * sizeof(*parts));
	parts[h->n_parts - 2].stack = stack;
	parts[h->n_parts - 2].n_stack = s->n_places > 1 ? 2 : 0;
	h->parts = parts;
	snapshot__set_heaps(s, s->heaps, s->n_heaps);
}

static struct snapshot *traced(unsigned int flags)
{
	struct snapshot *s = sample__new(SAMPLE_SINGLE);

	for (size_t i = 0; i < s->n_places; i++) {
		s->places[i].n_lines = s->places[i].resolved ? s->places[i].n_lines : 0;
		s->places[i].resolved = true;
	}
	sample__add_heap(s, 0, flags);
	s->sites[0].trend.why_unreached = flags & HEAP_SEARCHED;
	list_blocks(s);
	return s;
}

static void check_same(struct snapshot *s)
{
	struct snapshot *read = written__read_back(s);
	static const char *const formats[] = { "json", "text" };

	cr_expect_eq(read->known, s->known);
	for (size_t i = 0; i < ARRAY_SIZE(formats); i++)
		written__check_same(s, read, formats[i], "a heap");
	snapshot__free(read);
	snapshot__free(s);
}

Test(heap_files, everything_comes_back)
{
	static const unsigned int flags[] = { 0, HEAP_SEARCHED, HEAP_OLDER, HEAP_SEARCHED | HEAP_OLDER, HEAP_SEARCHED | HEAP_QUIET, HEAP_REFUSED };

	for (size_t i = 0; i < ARRAY_SIZE(flags); i++) {
		struct snapshot *s = sample__heap_alone(flags[i] & ~HEAP_OLDER);

		snapshot__set_heaps(s, s->heaps, s->n_heaps);
		check_same(s);
		check_same(traced(flags[i]));
	}
}

Test(heap_files, looks)
{
	struct snapshot *s = sample__heap_alone(HEAP_SEARCHED);
	_cleanup_free_ char *alone = NULL, *refused = NULL;
	size_t len;

	snapshot__set_heaps(s, s->heaps, s->n_heaps);
	alone = written__as(s, "json", NULL, &len);
	golden__check("heap.json", alone, len);
	snapshot__free(s);
	s = sample__heap_alone(HEAP_REFUSED);
	refused = written__as(s, "json", NULL, &len);
	golden__check("heap-refused.json", refused, len);
	/* the rest of resident memory alone: no figure of the heap */
	cr_expect(strstr(refused, "\"in_use\": null") && strstr(refused, "\"free\": null") && strstr(refused, "\"mapped_bytes\": null") &&
		  strstr(refused, "\"unreached\": null") && strstr(refused, "\"roots\": null"), "%.400s", refused);
	snapshot__free(s);
}

/* Through what blocks are held: that nobody asked is not that nothing holds them. */
Test(heap_files, roots_or_null)
{
	static const struct {
		bool known;
		const char *words;
	} rows[] = { { false, "\"roots\": null," }, { true, "\"roots\": []," } };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct snapshot *s = sample__heap_alone(HEAP_SEARCHED);
		struct snap_heap *h = (struct snap_heap *)s->heaps;
		_cleanup_free_ char *text = NULL;
		size_t len;

		h->n_roots = 0;
		h->roots_known = rows[i].known;
		snapshot__set_heaps(s, s->heaps, s->n_heaps);
		text = written__as(s, "json", NULL, &len);
		cr_expect(strstr(text, rows[i].words), "%s", text);
		check_same(s);
	}
}

/* A file with no more than the contract's keys. */
Test(heap_files, the_least)
{
	static const char text[] = "{\"schema\":\"malloctrace/2\",\"host\":{\"kernel\":\"6.1\"},\"heap\":[{\"process\":7,\"pid\":1432,\"comm\":\"a\",\"allocator\":\"glibc\","
				   "\"in_use\":{\"blocks\":3,\"bytes\":72},\"classes\":[{\"usable\":24,\"blocks\":3,\"bytes\":72,\"types\":[{\"name\":\"t\",\"share\":1}]}],"
				   "\"unreached\":{\"scans\":3,\"blocks\":1,\"bytes\":24}}]}";
	_cleanup_err_ struct err e = {};
	struct snapshot *s;

	cr_assert_eq(json_read__text(text, strlen(text), &s, &e), 0, "%s", err_msg(&e));
	cr_expect(snapshot__is_heap(s));
	cr_expect(s->known & HAS_UNREACHED);
	cr_expect_eq(s->n_processes, 1);
	cr_expect_eq(s->processes[0].pid, 1432);
	cr_expect_eq(s->heaps[0].blocks, 3);
	cr_expect_str_eq(s->heaps[0].classes[0].types[0].name, "t");
	snapshot__free(s);
}

/* Of sites of such a file all blocks were searched for; not of those that say nothing of it. */
Test(heap_files, the_least_of_sites)
{
	static const char text[] = "{\"schema\":\"malloctrace/2\",\"host\":{\"kernel\":\"6.1\"},\"processes\":[{\"id\":7,\"pid\":1432,\"comm\":\"a\"}],"
				   "\"totals\":{\"live_blocks\":12},\"losses\":{\"total\":0},\"sites\":["
				   "{\"process\":7,\"function\":\"malloc\",\"live_blocks\":5,\"live_bytes\":120,\"unreached_blocks\":2,\"unreached_bytes\":48},"
				   "{\"process\":7,\"function\":\"malloc\",\"live_blocks\":4,\"live_bytes\":96,\"unreached_blocks\":3,\"unreached_bytes\":72,\"looked_blocks\":3},"
				   "{\"process\":7,\"function\":\"malloc\",\"live_blocks\":3,\"live_bytes\":72,\"unreached_blocks\":null}],"
				   "\"heap\":[{\"process\":7,\"pid\":1432,\"comm\":\"a\",\"allocator\":\"glibc\",\"in_use\":{\"blocks\":12,\"bytes\":288},"
				   "\"unreached\":{\"scans\":3,\"blocks\":5,\"bytes\":120}}]}";
	static const uint64_t want[] = { 5, 3, 0 };
	_cleanup_err_ struct err e = {};
	struct snapshot *s;

	cr_assert_eq(json_read__text(text, strlen(text), &s, &e), 0, "%s", err_msg(&e));
	cr_assert_eq(s->n_sites, 3);
	for (size_t i = 0; i < 3; i++)
		cr_expect_eq(s->sites[i].looked_blocks, want[i], "%zu: %zu", i, (size_t)s->sites[i].looked_blocks);
	snapshot__free(s);
}

Test(heap_files, what_is_wrong_is_refused)
{
	static const char *const files[] = {
		"{\"schema\":\"malloctrace/2\",\"heap\":{}}",
		"{\"schema\":\"malloctrace/2\",\"heap\":[1]}",
		"{\"schema\":\"malloctrace/2\",\"heap\":[{\"process\":1,\"in_use\":[]}]}",
		"{\"schema\":\"malloctrace/2\",\"heap\":[{\"process\":1,\"in_use\":{\"blocks\":-1}}]}",
		"{\"schema\":\"malloctrace/2\",\"heap\":[{\"process\":1},{\"process\":1}]}",
		"{\"schema\":\"malloctrace/2\",\"heap\":[{\"process\":1,\"blocks\":[{\"address\":\"7\"}]}]}",
		"{\"schema\":\"malloctrace/2\",\"heap\":[{\"process\":1,\"blocks\":[{\"address\":\"0x1\",\"site\":0}]}]}",
		"{\"schema\":\"malloctrace/2\",\"heap\":[{\"process\":1,\"roots\":[{\"kind\":\"ether\"}]}]}",
		"{\"schema\":\"malloctrace/2\",\"processes\":[{\"id\":1}],\"heap\":[{\"process\":2}]}",
	};

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		_cleanup_err_ struct err e = {};
		struct snapshot *s;

		cr_expect_lt(json_read__text(files[i], strlen(files[i]), &s, &e), 0, "%s", files[i]);
		cr_expect(strlen(err_msg(&e)) > 10, "%s", files[i]);
	}
}

/* ---- two of them */

Test(heap_files, two_looks)
{
	struct snapshot *a = sample__heap_alone(HEAP_SEARCHED), *b = sample__heap_alone(HEAP_SEARCHED), *refused = sample__heap_alone(HEAP_REFUSED);
	const struct diff_opts o = { .before = "before.json", .after = "after.json", .top = 3, .width = 80 };
	struct snap_heap *h = (struct snap_heap *)b->heaps;
	struct snap_class *classes = (struct snap_class *)h->classes;
	struct snap_type *types = snapshot__alloc(b, h->n_types, sizeof(*types));
	_cleanup_free_ char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	/* sessions grew, rows went, one size is new */
	classes[2].blocks += 10000;
	classes[2].bytes += 560000;
	classes[1].blocks -= 1;
	classes[1].bytes -= 40;
	classes[3].usable = 136;
	h->blocks += 9999;
	h->bytes += 559960;
	h->free_bytes -= 1 << 20;
	h->unreached.blocks += 1050;
	h->unreached.bytes += 277200;
	memcpy(types, h->types, h->n_types * sizeof(*types));
	types[2].blocks += 10000;
	types[2].bytes += 560000;
	h->types = types;
	heap_diff__write(out, a, b, &o);
	heap_diff__write(out, refused, b, &o);
	((struct snap_process *)b->processes)->comm = "another";
	((struct snap_process *)b->processes)->pid = 7;
	heap_diff__write(out, a, b, &(struct diff_opts){ .before = "before.json", .after = "after.json", .top = 0, .width = 80 });
	fclose(out);
	golden__check("diff-heap.txt", text, len);
	cr_expect_eq(heap_diff__in_use(b) - heap_diff__in_use(a), 559960);
	snapshot__free(a);
	snapshot__free(b);
	snapshot__free(refused);
}

/* A new process of the same name does not take the heap of one that is in both files. */
Test(heap_files, the_same_process_before_its_name)
{
	static const pid_t pids[2][3] = { { 1, 2 }, { 3, 1, 2 } };
	const struct diff_opts o = { .before = "before.json", .after = "after.json", .top = 3, .width = 80 };
	struct snapshot *v[2];
	_cleanup_free_ char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	for (size_t i = 0; i < 2; i++) {
		v[i] = sample__heap_alone(0);
		for (size_t k = 0; k < 2 + i; k++) {
			if (k)
				sample__add_heap(v[i], 0, 0);
			((struct snap_heap *)&v[i]->heaps[k])->pid = pids[i][k];
			/* a process is known by its figure */
			((struct snap_heap *)&v[i]->heaps[k])->bytes = (uint64_t)pids[i][k] << 20;
		}
	}
	heap_diff__write(out, v[0], v[1], &o);
	fclose(out);
	cr_expect(strstr(text, "redis-server (3)\nonly in after.json"), "%s", text);
	cr_expect(strstr(text, "redis-server (1)\nin use      1.0 MiB -> 1.0 MiB"), "%s", text);
	cr_expect(strstr(text, "redis-server (2)\nin use      2.0 MiB -> 2.0 MiB"), "%s", text);
	snapshot__free(v[0]);
	snapshot__free(v[1]);
}

/* As many types as a file may have: found by their names, not one after the other. */
Test(heap_files, very_many_types, .timeout = 20)
{
	const struct diff_opts o = { .before = "before.json", .after = "after.json", .top = 3, .width = 80 };
	struct snapshot *v[2];
	_cleanup_free_ char *text = NULL;
	size_t len, n = 100000;
	FILE *out = open_memstream(&text, &len);

	for (size_t i = 0; i < 2; i++) {
		struct snap_type *types;

		v[i] = sample__heap_alone(0);
		types = snapshot__alloc(v[i], n, sizeof(*types));
		for (size_t k = 0; k < n; k++) {
			char name[64];

			snprintf(name, sizeof(name), "a::name<with, %zu>", (k * 7919) % n);
			types[k] = (struct snap_type){ .name = snapshot__strdup(v[i], name), .blocks = 1 + i, .bytes = 24 * (1 + i) };
		}
		((struct snap_heap *)v[i]->heaps)->types = types;
		((struct snap_heap *)v[i]->heaps)->n_types = n;
	}
	heap_diff__write(out, v[0], v[1], &o);
	fclose(out);
	cr_expect(strstr(text, "99997 more that changed less"), "%s", text);
	snapshot__free(v[0]);
	snapshot__free(v[1]);
}

Test(heap_files, what_is_not_known_is_no_sum)
{
	struct snapshot *known = sample__heap_alone(0), *refused = sample__heap_alone(HEAP_REFUSED);

	cr_expect_null(heap_diff__unknown(known));
	cr_expect_eq(heap_diff__unknown(refused), &refused->heaps[0]);
	snapshot__free(known);
	snapshot__free(refused);
}

/* ---- in snapshots that are made of others */

static void check_whole(const struct snapshot *s)
{
	for (size_t i = 0; i < s->n_heaps; i++) {
		cr_expect_lt(s->heaps[i].process, s->n_processes);
		for (size_t k = 0; k < s->heaps[i].n_list; k++)
			cr_expect_leq(s->heaps[i].list[k].site, s->n_sites);
		for (size_t k = 0; k < s->heaps[i].n_parts; k++)
			for (uint32_t at = 0; at < s->heaps[i].parts[k].n_stack; at++)
				cr_expect_lt(s->heaps[i].parts[k].stack[at], s->n_places);
	}
}

Test(heap_files, groups_keep_them)
{
	for (size_t i = 0; i < n_groupings; i++) {
		struct snapshot *s = sample__new(SAMPLE_MANY), *by;
		uint64_t unreached = 0, was = 0;

		for (uint32_t p = 0; p < 3; p++)
			sample__add_heap(s, p, HEAP_SEARCHED);
		list_blocks(s);
		by = snapshot__group(s, &groupings[i]);
		cr_assert_eq(by->n_heaps, 3, "%s", groupings[i].name);
		check_whole(by);
		for (size_t k = 0; k < 3; k++) {
			cr_expect_eq(heap__pid(by, &by->heaps[k]), s->processes[k].pid, "%s", groupings[i].name);
			cr_expect_str_eq(heap__comm(by, &by->heaps[k]), s->processes[k].comm);
		}
		for (size_t k = 0; k < s->n_sites; k++)
			was += s->sites[k].unreached_bytes;
		for (size_t k = 0; k < by->n_sites; k++)
			unreached += by->sites[k].unreached_bytes;
		cr_expect_eq(unreached, was, "%s", groupings[i].name);
		cr_expect_eq(by->known & HAS_UNREACHED, HAS_UNREACHED);
		snapshot__free(by);
		snapshot__free(s);
	}
}

Test(heap_files, types_of_several_sites)
{
	static const struct snap_share a[] = { { "A", 0.75, true }, { "B", 0.25, true } }, b[] = { { "B", 1, true } };
	static const struct snap_root less = { ROOT_GLOBAL, "less", NULL, 1, 10 }, more = { ROOT_GLOBAL, "more", NULL, 1, 20 };
	struct snap_site x = { .c.live_blocks = 4, .types = a, .n_types = 2, .held = &less }, y = { .c.live_blocks = 12, .types = b, .n_types = 1, .held = &more },
			 not_looked_at = { .c.live_blocks = 100 }, sum = {};
	const struct snap_site *v[] = { &x, &y, &not_looked_at };
	struct snapshot *s = snapshot__new();

	shares__add_up(s, v, 3, &sum);
	cr_assert_eq(sum.n_types, 2);
	cr_expect_str_eq(sum.types[0].name, "B");
	cr_expect_float_eq(sum.types[0].share, 13.0 / 16, 1e-9);
	cr_expect_float_eq(sum.types[1].share, 3.0 / 16, 1e-9);
	cr_expect_str_eq(sum.held->name, "more");
	snapshot__free(s);
}

/* As many types as a file may have: found by their names, not one after the other. */
Test(heap_files, very_many_types_of_several_sites, .timeout = 20)
{
	struct snap_site sites[2] = {}, sum = {};
	const struct snap_site *v[] = { &sites[0], &sites[1] };
	struct snapshot *s = snapshot__new();
	size_t n = 100000;

	for (size_t i = 0; i < 2; i++) {
		struct snap_share *types = snapshot__alloc(s, n, sizeof(*types));

		for (size_t k = 0; k < n; k++) {
			char name[64];

			snprintf(name, sizeof(name), "a::name<with, %zu>", (k + i * n / 2) * 7919);
			types[k] = (struct snap_share){ snapshot__strdup(s, name), 1.0 / (double)n, true };
		}
		sites[i] = (struct snap_site){ .c.live_blocks = n, .types = types, .n_types = n };
	}
	shares__add_up(s, v, 2, &sum);
	cr_assert_eq(sum.n_types, n + n / 2);
	cr_expect_float_eq(sum.types[0].share, 1.0 / (double)n, 1e-9);
	cr_expect_float_eq(sum.types[n + n / 2 - 1].share, 0.5 / (double)n, 1e-9);
	snapshot__free(s);
}

/* Lists of blocks are narrowed; what the heap itself says is not. */
Test(heap_files, filters_keep_them)
{
	struct snapshot *s = traced(HEAP_SEARCHED | HEAP_OLDER), *left;
	_cleanup_err_ struct err e = {};
	struct filter f = {};

	cr_assert_eq(filter__init(&f, "no_function_is_called_so", NULL, NULL, &e), 0);
	left = snapshot__filter(s, &f);
	cr_assert_eq(left->n_heaps, 1);
	cr_expect_eq(left->heaps[0].blocks, s->heaps[0].blocks);
	cr_expect_eq(left->heaps[0].n_list, 0);
	check_whole(left);
	snapshot__free(left);
	filter__done(&f);
	cr_assert_eq(filter__init(&f, NULL, "no_function_is_called_so", NULL, &e), 0);
	left = snapshot__filter(s, &f);
	cr_expect_eq(left->heaps[0].n_list, ARRAY_SIZE(listed));
	check_whole(left);
	snapshot__free(left);
	filter__done(&f);
	snapshot__free(s);
}

/* Two looks at one process are two; a look is no part of a trace. */
Test(heap_files, looks_and_traces_are_not_mixed)
{
	struct snapshot *look = sample__heap_alone(HEAP_SEARCHED), *other = sample__heap_alone(0), *trace = traced(HEAP_SEARCHED), *all = NULL;
	const char *names[] = { "a", "b" };
	_cleanup_err_ struct err e = {};

	cr_expect_not(snapshot__same_trace(look, other));
	cr_assert_eq(snapshot__join((struct snapshot *[]){ look, other }, names, 2, &all, &e), 0, "%s", err_msg(&e));
	cr_expect_eq(all->n_heaps, 2);
	cr_expect(snapshot__is_heap(all));
	snapshot__free(all);
	cr_expect_eq(snapshot__join((struct snapshot *[]){ trace, look }, names, 2, &all, &e), -EINVAL);
	cr_expect_str_eq(err_msg(&e), "a and b cannot be combined: one is what malloctrace heap found, the other a trace");
	snapshot__free(look);
	snapshot__free(other);
	snapshot__free(trace);
}

Test(heap_files, several_files_keep_them)
{
	struct snapshot *v[] = { traced(HEAP_SEARCHED), traced(0) }, *all;
	const char *names[] = { "a", "b" };
	_cleanup_err_ struct err e = {};

	cr_assert_eq(snapshot__join(v, names, 2, &all, &e), 0, "%s", err_msg(&e));
	cr_assert_eq(all->n_heaps, 2);
	check_whole(all);
	cr_expect_eq(all->heaps[1].process, v[0]->n_processes);
	cr_expect_eq(all->heaps[1].list[0].site, v[0]->n_sites + 1);
	cr_expect_eq(all->heaps[1].list[2].site, 0);
	/* of the second nobody searched: its sites say nothing */
	cr_expect(snapshot__was_searched(all, 0));
	cr_expect_not(snapshot__was_searched(all, all->heaps[1].process));
	snapshot__free(all);
	snapshot__free(v[0]);
	snapshot__free(v[1]);
}
