// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Profiles read back: the same file and the same report again; what is no profile is refused with a reason. */
#include <criterion/criterion.h>
#include <errno.h>
#include <glob.h>
#include <string.h>

#include "files/export.h"
#include "files/json/json_read.h"
#include "model/group.h"
#include "model/join.h"
#include "model/schema.h"
#include "present/columns.h"
#include "sample_snapshot.h"
#include "util/util.h"
#include "written.h"

static const unsigned int samples[] = {
	0,
	SAMPLE_SINGLE,
	SAMPLE_EMPTY,
	SAMPLE_MANY,
	SAMPLE_MANY | SAMPLE_LOSSES,
	SAMPLE_MANY | SAMPLE_HEAP,
	SAMPLE_UNNAMED,
	SAMPLE_SINGLE | SAMPLE_COUNT,
	SAMPLE_GROWTH,
	SAMPLE_ESTIMATED,
	SAMPLE_ESTIMATED | SAMPLE_COUNT,
	SAMPLE_SINGLE | SAMPLE_PARTIAL | SAMPLE_LOSSES | SAMPLE_OLDER,
};

/* The sentences of losses are not in the file: those of the sample are replaced by the program's. */
static struct snapshot *sample(unsigned int flags)
{
	struct snapshot *s = sample__new(flags);
	struct snap_counter *edges = snapshot__alloc(s, s->n_edges + 1, sizeof(*edges));

	for (size_t i = 0; i < s->n_losses; i++)
		((struct snap_counter *)s->losses)[i].says = counter__says(s->losses[i].name, s->losses[i].n);
	for (size_t i = 0; i < s->n_edges; i++)
		edges[i] = (struct snap_counter){ s->edges[i].name, counter__says(s->edges[i].name, s->edges[i].n), s->edges[i].n };
	s->edges = edges;
	return s;
}

Test(json_read, everything_comes_back)
{
	static const char *const formats[] = { "json", "text", "folded", "massif" };

	for (size_t i = 0; i < ARRAY_SIZE(samples); i++) {
		struct snapshot *s = sample(samples[i]), *again = written__read_back(s);
		char what[32];

		snprintf(what, sizeof(what), "sample %#x", samples[i]);
		/* who writes JSON looks all names up */
		for (size_t k = 0; k < s->n_places; k++) {
			s->places[k].n_lines = s->places[k].resolved ? s->places[k].n_lines : 0;
			s->places[k].resolved = true;
		}
		for (size_t k = 0; k < ARRAY_SIZE(formats); k++)
			if (!(export__find_by_name(formats[k])->needs & ~s->known))
				written__check_same(s, again, formats[k], what);
		cr_assert_eq(s->known, again->known);
		snapshot__free(s);
		snapshot__free(again);
	}
}

Test(json_read, a_machine_comes_back)
{
	struct snapshot *s = sample__machine(), *again = written__read_back(s);

	written__check_same(s, again, "json", "machine");
	cr_expect(again->machine.known);
	cr_expect_eq(again->machine.available_bytes, 3ull << 29);
	snapshot__free(s);
	snapshot__free(again);
}

/* Of very many sites, what is empty is not written, and is the same when it is read. */
Test(json_read, many_sites_have_no_empty_keys)
{
	struct snapshot *few = sample__big(10000), *many = sample__big(10001), *again = written__read_back(many);
	_cleanup_free_ char *verbose = NULL, *terse = NULL;
	size_t len, terse_len;

	verbose = written__as(few, "json", NULL, &len);
	terse = written__as(many, "json", NULL, &terse_len);
	cr_expect(strstr(verbose, "\"realloc_calls\": 0,"));
	cr_expect(strstr(strstr(verbose, "\"sites\": ["), "\"unknown_frees\": 0"));
	cr_expect_null(strstr(strstr(terse, "\"sites\": ["), "\"unknown_frees\""));
	cr_expect_null(strstr(strstr(terse, "\"sites\": ["), ":null"));
	cr_expect(strstr(strstr(terse, "\"sites\": ["), "\"live_bytes\":"), "what is not empty is there");
	cr_expect(strstr(terse, "\"unknown_frees\": 0"), "and in the totals all is");
	cr_expect_lt(terse_len, len / 3 * 2, "%zu instead of %zu bytes", terse_len, len);
	written__check_same(many, again, "folded", "many sites");
	written__check_same(many, again, "text", "many sites");
	written__check_same(many, again, "json", "many sites");
	snapshot__free(few);
	snapshot__free(many);
	snapshot__free(again);
}

/* All that is known of an age, or of a peak, may be that it is no more. */
Test(json_read, a_bound_stays_a_bound)
{
	_cleanup_free_ char *text = NULL, *json = NULL;
	struct snapshot *s = sample(SAMPLE_SINGLE), *again;
	const char *first;

	s->sites[0].oldest_at_most = true;
	s->sites[1].peak_at_most = true;
	again = written__read_back(s);
	cr_expect_not(again->sites[0].peak_at_most);
	cr_expect(again->sites[1].peak_at_most);
	text = written__as(again, "text", NULL, NULL);
	cr_expect(strstr(text, "oldest <"), "%s", text);
	json = written__as(again, "json", NULL, NULL);
	first = strstr(json, "\"peak_at_most\": true");
	cr_assert_not_null(first);
	cr_expect_null(strstr(first + 1, "\"peak_at_most\""), "a key only where it is so");
	written__check_same(s, again, "json", "a bound");
	written__check_same(s, again, "text", "a bound");
	snapshot__free(s);
	snapshot__free(again);
}

Test(json_read, no_bound_of_what_is_not_known)
{
	struct snapshot *s = sample(SAMPLE_SINGLE | SAMPLE_COUNT);
	_cleanup_free_ char *json = NULL;

	s->sites[0].peak_at_most = true;
	json = written__as(s, "json", NULL, NULL);
	cr_expect_null(strstr(json, "peak_at_most"));
	snapshot__free(s);
}

static struct snapshot *read_profile(const char *path)
{
	_cleanup_err_ struct err e = {};
	struct snapshot *s = NULL;

	cr_assert_eq(json_read__file(path, &s, &e), 0, "%s", err_msg(&e));
	return s;
}

/* Profiles that earlier versions wrote: the same figures, in the present form. */
Test(json_read, files_of_before)
{
	glob_t found;

	cr_assert_eq(glob("tests/corpus/profile-1/*.json", 0, NULL, &found), 0);
	for (size_t i = 0; i < found.gl_pathc; i++) {
		const char *name = path_basename(found.gl_pathv[i]);
		_cleanup_free_ char *path = NULL;
		struct snapshot *s = read_profile(found.gl_pathv[i]), *now;

		cr_assert(asprintf(&path, "tests/golden/%s", name) > 0);
		now = read_profile(path);
		/* they did not tell which peaks are sums */
		for (size_t k = 0; k < now->n_sites; k++)
			now->sites[k].peak_at_most = false;
		written__check_same(now, s, "json", name);
		snapshot__free(now);
		snapshot__free(s);
	}
	globfree(&found);
}

/* The keys of a file go by other names, which no version knows. */
static struct snapshot *read_without(const char *text, const char *const *keys, size_t n)
{
	_cleanup_free_ char *less = xstrdup(text);
	_cleanup_err_ struct err e = {};
	struct snapshot *s;

	for (size_t i = 0; i < n; i++) {
		_cleanup_free_ char *quoted = xasprintf("\"%s\":", keys[i]);

		for (char *at = less; (at = strstr(at, quoted)); at++)
			at[1] = 'X';
	}
	cr_assert_eq(json_read__text(less, strlen(less), &s, &e), 0, "%s", err_msg(&e));
	return s;
}

static const char *const later_keys[] = { "cross_frees", "older_blocks", "older_bytes", "lost_blocks",
					  "lost_stacks" };

static void expect_unknown(const struct snapshot *s, const char *what)
{
	const struct snap_site *site = array_first(x, s->sites, s->n_sites, x->c.free_calls);
	const struct row_of r = { .s = s, .site = site, .process = &s->processes[site->process] };
	_cleanup_free_ char *json = written__as(s, "json", NULL, NULL);
	struct cell cell;

	for (size_t i = 0; i < ARRAY_SIZE(later_keys); i++) {
		_cleanup_free_ char *null = xasprintf("\"%s\": null", later_keys[i]);
		_cleanup_free_ char *figure = xasprintf("\"%s\": 0", later_keys[i]);

		cr_expect(strstr(json, null), "%s: %s", what, null);
		cr_expect_null(strstr(json, figure), "%s: %s", what, figure);
	}
	column__cell(columns__find(&site_columns, "cross"), &r, &cell);
	cr_expect_str_eq(cell.text, "-", "%s: %s", what, cell.text);
	column__cell(columns__find(&site_columns, "freed"), &r, &cell);
	cr_expect_str_neq(cell.text, "-", "%s: what the file has is there", what);
}

/* What the version that wrote a file did not know is unknown, not none, in sums too. */
Test(json_read, what_a_file_does_not_have_is_no_zero)
{
	struct snapshot *s = read_profile("tests/corpus/profile-1/sample-many.json"), *old, *by_comm;
	struct snapshot *again, *both;
	_cleanup_free_ char *text = written__as(s, "json", NULL, NULL);
	_cleanup_err_ struct err e = {};

	old = read_without(text, later_keys, ARRAY_SIZE(later_keys));
	expect_unknown(old, "old");
	again = written__read_back(old);
	written__check_same(old, again, "json", "old");
	snapshot__free(again);
	by_comm = snapshot__group(old, grouping__find("comm"));
	expect_unknown(by_comm, "by comm");
	cr_assert_eq(snapshot__join((struct snapshot *[]){ old, old }, (const char *[]){ "a", "b" }, 2,
				    &both, &e), 0);
	expect_unknown(both, "joined");
	snapshot__free(both);
	snapshot__free(by_comm);
	snapshot__free(old);
	/* in one that has them, a 0 is a figure */
	cr_expect(strstr(text, "\"lost_stacks\": 0"));
	cr_expect_null(strstr(text, "\"lost_stacks\": null"));
	snapshot__free(s);
}

/* Where no key is a 0, what is not known has one. */
Test(json_read, what_is_not_known_of_many_sites_stays_so)
{
	struct snapshot *many = sample__big(10001), *again, *twice;
	_cleanup_free_ char *text = NULL;

	many->sites[7].cross_frees = 0;
	again = written__read_back(many);
	field__set_unread(&site_fields, fields__find(&site_fields, "cross_frees"), &again->sites[7]);
	text = written__as(again, "json", NULL, NULL);
	cr_expect(strstr(text, "\"cross_frees\":null"));
	twice = written__read_back(again);
	for (size_t i = 0; i < twice->n_sites; i++)
		cr_assert_eq(twice->sites[i].unread, again->sites[i].unread, "site %zu", i);
	cr_expect_eq(twice->sites[6].unread, 0);
	snapshot__free(many);
	snapshot__free(again);
	snapshot__free(twice);
}

/* --mmap: told in the file, and in what is made of it. */
Test(json_read, mappings)
{
	struct snapshot *s = sample(SAMPLE_SINGLE), *again;
	_cleanup_free_ char *text = NULL, *folded = NULL;
	size_t len;

	again = written__read_back(s);
	cr_expect_not(again->recording.mmap);
	snapshot__free(again);
	s->recording.mmap = true;
	again = written__read_back(s);
	cr_expect(again->recording.mmap);
	text = written__as(again, "text", NULL, &len);
	cr_expect(strstr(text, "with what it maps itself"), "%s", text);
	folded = written__as(again, "massif", NULL, &len);
	cr_expect(strstr(folded, "--mmap"), "%.300s", folded);
	snapshot__free(again);
	snapshot__free(s);
}

/* A file that was probed has its own sizes where they are others than the whole's; wherever in the file that stands. */
Test(json_read, sizes_of_probes)
{
	static const char text[] = "{\"schema\":\"malloctrace/2\",\"probes\":[{\"object\":\"a\",\"size\":\"requested\"},{\"object\":\"b\"}],"
				   "\"size\":\"usable\",\"within\":\"f\"}";
	_cleanup_err_ struct err e = {};
	struct snapshot *s, *again;

	cr_assert_eq(json_read__text(text, strlen(text), &s, &e), 0, "%s", err_msg(&e));
	s->by = "process";
	again = written__read_back(s);
	for (int i = 0; i < 2; i++) {
		const struct snapshot *one = i ? again : s;

		cr_assert_eq(one->n_probes, 2);
		cr_expect_eq(one->recording.size, SIZE_USABLE);
		cr_expect_eq(one->probes[0].size, SIZE_REQUESTED);
		cr_expect_eq(one->probes[1].size, SIZE_USABLE);
		cr_expect_eq(one->recording.mode, MT_MODE_FULL, "files of before have none");
		cr_expect_not(recording__has_size_range(&one->recording));
		cr_expect(recording__is_partial(&one->recording), "--within");
	}
	snapshot__free(again);
	snapshot__free(s);
}

Test(json_read, every_size_is_one_line_or_many)
{
	/* as another program may have formatted it, with keys in another order and some that are not known here */
	static const char text[] = "\n{\"sites\":[{\"stack\":[{\"offset\":\"0xFF\",\"module\":\"/x\",\"function\":\"f\"}],\"new\":{\"a\":[1,2]},"
				   "\"process\":7,\"alloc_calls\":2,\"alloc_bytes\":3,\"live_bytes\":3,\"live_blocks\":1}\n,\n"
				   "{\"process\":7,\"function\":\"a\\\"]}\\\\\"}\r\n],\t\"processes\":[{\"id\":7,\"comm\":\"x\"}],"
				   "\"totals\":{\"live_bytes\":3,\"live_blocks\":null},\"losses\":{\"total\":0},\"schema\":\"malloctrace/1\",\"later\":\"]}\"} \n";
	_cleanup_err_ struct err e = {};
	struct snapshot *s = NULL;

	cr_assert_eq(json_read__text(text, strlen(text), &s, &e), 0, "%s", err_msg(&e));
	cr_assert_eq(s->n_sites, 2);
	cr_assert_eq(s->n_processes, 1);
	cr_assert_eq(s->known, HAS_LIVE_BYTES);
	cr_assert_eq(s->n_modules, 1);
	cr_assert_str_eq(s->modules[0].path, "/x");
	cr_assert_eq(s->places[s->sites[0].stack[0]].offset, 0xff);
	cr_assert_str_eq(s->sites[1].function, "a\"]}\\");
	snapshot__free(s);
}

/* It would be taken for a trace that lost nothing. */
Test(json_read, a_profile_says_what_was_lost)
{
	static const char text[] = "{\"schema\":\"malloctrace/1\",\"totals\":{\"live_bytes\":3},\"sites\":[],\"processes\":[]}";
	_cleanup_err_ struct err e = {};
	struct snapshot *s = NULL;

	cr_expect_eq(json_read__text(text, strlen(text), &s, &e), -EINVAL);
	cr_expect_str_eq(err_msg(&e), "losses: missing, so figures may be incomplete");
}

Test(json_read, names_are_clean)
{
	static const char text[] = "{\"schema\":\"malloctrace/1\",\"processes\":[{\"id\":1,\"comm\":\"a\\u001b[31mb\\u202e\"}]}";
	struct snapshot *s = NULL;

	cr_assert_eq(json_read__text(text, strlen(text), &s, NULL), 0);
	cr_assert_str_eq(s->processes[0].comm, "a?[31mb???");
	snapshot__free(s);
}

#define HEAD "{\"schema\":\"malloctrace/1\","

#define SITES HEAD "\"processes\":[{\"id\":1}],\"sites\":[{\"process\":1,"
#define FRAME "{\"offset\":\"0x1\",\"function\":\"f\"}"
#define INLINED "{\"offset\":\"0x1\",\"function\":\"g\",\"inlined\":true}"

/* The text of a frame is the same wherever it is; what it is may not be: alone, or the end of what was inlined into it. */
Test(json_read, the_same_frame_again)
{
	static const char text[] = SITES "\"stack\":[" FRAME "," INLINED "," FRAME "," FRAME "]},"
		"{\"stack\":[" FRAME "],\"process\":1},{\"process\":1,\"st\\u0061ck\":[" INLINED "," FRAME "]},"
		"{\"process\":1,\"stack\":[]},{\"process\":1,\"stack\":null},{\"process\":1,\"stack\":[" INLINED "]}]}";
	struct snapshot *s = NULL;

	cr_assert_eq(json_read__text(text, strlen(text), &s, NULL), 0);
	cr_assert_eq(s->n_sites, 6);
	cr_assert_eq(s->n_places, 3);
	cr_assert_eq(s->sites[0].n_stack, 3);
	cr_assert_eq(s->sites[0].stack[0], s->sites[0].stack[2]);
	cr_assert_eq(s->places[s->sites[0].stack[0]].n_lines, 1);
	cr_assert_eq(s->places[s->sites[0].stack[1]].n_lines, 2);
	cr_assert_eq(s->sites[1].n_stack, 1);
	cr_assert_eq(s->sites[1].stack[0], s->sites[0].stack[0]);
	cr_assert_eq(s->sites[2].n_stack, 1);
	cr_assert_eq(s->sites[2].stack[0], s->sites[0].stack[1]);
	cr_assert(!s->sites[3].n_stack && !s->sites[4].n_stack);
	cr_assert_eq(s->places[s->sites[5].stack[0]].n_lines, 1);
	snapshot__free(s);
}

Test(json_read, what_is_no_profile_is_refused)
{
	static const struct {
		const char *text, *want;
	} t[] = {
		{ "", "not a JSON object" },
		{ "[1]", "not a JSON object" },
		{ "{", "the JSON object is incomplete or malformed" },
		{ "{\"a\"", "the JSON object is incomplete or malformed" },
		{ "{\"a\":1", "the JSON object is incomplete or malformed" },
		{ "{\"a\":\"\\", "the JSON object is incomplete or malformed" },
		{ "{\"a\":1}x", "something follows" },
		{ "{\"a\":1}", "not a malloctrace profile" },
		{ "{\"schema\":\"malloctrace/3\"}", "the profile has another one" },
		{ "{\"schema\":\"malloctrace/2\",\"processes\":[{\"id\":1}],\"sites\":[{\"process\":1,\"stack\":[0]}]}", "there is no frame 0" },
		{ "{\"schema\":\"malloctrace/2\",\"frames\":[{\"offset\":\"0x1\",\"inlined\":true},{\"offset\":\"0x1\"}],\"processes\":[{\"id\":1}],"
		  "\"sites\":[{\"process\":1,\"stack\":[0]}]}", "after an inlined frame" },
		{ "{\"schema\":\"malloctrace/2\",\"frames\":[{\"offset\":\"0x1\",\"inlined\":true}],\"processes\":[{\"id\":1}],"
		  "\"sites\":[{\"process\":1,\"stack\":[0,0]}]}", "after an inlined frame" },
		{ "{\"schema\":\"malloctrace/2\",\"frames\":{}}", "want an array" },
		{ "{\"schema\":\"malloctrace/2\",\"frames\":[{\"line\":-1}]}", "frames, element 1" },
		{ HEAD "\"schema\":\"malloctrace/1\"}", "twice" },
		{ HEAD "\"mode\":\"dream\"}", "mode: this version does not know --mode dream" },
		{ HEAD "\"size\":\"felt\"}", "size: this version does not know --size felt" },
		{ HEAD "\"size\":1}", "size: want a string" },
		{ HEAD "\"probes\":[{\"size\":\"felt\"}]}", "size: this version does not know --size felt" },
		{ HEAD "\"mode\":7}", "mode: want a string" },
		{ HEAD "\"duration_ns\":-1}", "duration_ns: want a number that is not below 0" },
		{ HEAD "\"duration_ns\":99999999999999999999}", "duration_ns" },
		{ HEAD "\"wall_start\":\"yesterday\"}", "wall_start: want a time" },
		{ HEAD "\"wall_start\":\"9999-99-99T99:99:99.999Z\"}", "wall_start: want a time" },
		{ HEAD "\"processes\":{}}", "processes: want an array" },
		{ HEAD "\"processes\":[7]}", "element 1: a process: want an object" },
		{ HEAD "\"processes\":[{\"id\":1},{\"id\":1}]}", "two processes have the id 1" },
		{ HEAD "\"processes\":[{\"id\":1},]}", "" },
		{ HEAD "\"processes\":[{\"id\":1}{\"id\":2}]}", "the array does not end" },
		{ HEAD "\"processes\":[{\"id\":1,\"id\":2}]}", "duplicate" },
		{ HEAD "\"sites\":[{\"process\":1}]}", "no process has the id 1" },
		{ HEAD "\"sites\":[{}]}", "want the id of a process" },
		{ HEAD "\"processes\":[{\"id\":1}],\"sites\":[{\"process\":1,\"stack\":[{\"offset\":\"12\"}]}]}", "offset" },
		{ HEAD "\"processes\":[{\"id\":1}],\"sites\":[{\"process\":1,\"stack\":[{}]}]}", "offset" },
		{ HEAD "\"processes\":[{\"id\":1}],\"sites\":[{\"process\":1,\"end\":\"never\"}]}", "end: want" },
		{ SITES "\"stack\":[{\"offset\":\"0x1\"},]}]}", "element 1: sites" },
		{ SITES "\"stack\":[{\"offset\":\"0x1\"}{}]}]}", "element 1: sites" },
		{ SITES "\"stack\":[{\"offset\":\"0x1\"}],\"stack\":[]}]}", "duplicate" },
		{ SITES "\"stack\":[{\"offset\":\"0x1\"}]x}]}", "element 1: sites" },
		{ SITES "\"stack\":[{\"offset\":\"0x1\"},7]}]}", "there is no frame 7" },
		{ SITES "\"stack\":[{\"offset\":\"0x1\",\"offset\":\"0x1\"}]}]}", "duplicate" },
		{ SITES "\"stack\":{}}]}", "stack: want an array" },
		{ HEAD "\"losses\":{\"total\":\"x\"}}", "total" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		_cleanup_err_ struct err e = {};
		struct snapshot *s = (void *)1;

		cr_expect_lt(json_read__text(t[i].text, strlen(t[i].text), &s, &e), 0, "%s", t[i].text);
		cr_expect_eq(s, (void *)1);
		cr_expect(strstr(err_msg(&e), t[i].want), "%s: '%s', want '%s'", t[i].text, err_msg(&e), t[i].want);
	}
}

Test(json_read, no_file_is_an_error)
{
	_cleanup_err_ struct err e = {};
	struct snapshot *s;

	cr_assert_eq(json_read__file("/nonexistent/x.json", &s, &e), -ENOENT);
	cr_assert(strstr(err_msg(&e), "/nonexistent/x.json"));
}
