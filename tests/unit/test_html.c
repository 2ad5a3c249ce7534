// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * The HTML report as a file: that the JSON profile is in it, what stands beside
 * that against golden files, that nothing leaves its element, and what writing
 * costs. What the page makes of it is asked in a browser (tests/browser/).
 */
#include <criterion/criterion.h>
#include <jansson.h>
#include <string.h>

#include "files/export.h"
#include "files/json/json_writer.h"
#include "golden.h"
#include "model/diff.h"
#include "sample_snapshot.h"
#include "util/util.h"
#include "written.h"

#define DATA_BEGIN "<script type=\"application/json\" id=\"data\">\n"
#define WORDS_BEGIN "<script type=\"application/json\" id=\"words\">\n"
#define SCRIPT_END "</script>"

static struct export_compared compared;	/* what pages are a diff of */

static char *page_of(struct snapshot *s, size_t *ret_len)
{
	char *page = written__as(s, "html", &(struct export_opts){ .compared = compared.before ? &compared : NULL }, ret_len);

	snapshot__free(s);
	return page;
}

static char *element(const char *page, const char *tag)
{
	const char *begin = strstr(page, tag), *end;

	cr_assert_not_null(begin);
	begin += strlen(tag);
	end = strstr(begin, SCRIPT_END);
	cr_assert_not_null(end);
	return strndup(begin, (size_t)(end - begin));
}

/* ---- the profile */

static void check_profile(struct snapshot *s)
{
	_cleanup_free_ char *page = NULL, *data = NULL, *file = NULL;
	json_error_t e;
	json_t *in_page, *in_file;
	size_t len;

	file = written__as(s, "json", NULL, &len);
	page = page_of(s, &len);
	data = element(page, DATA_BEGIN);
	in_file = json_loads(file, 0, NULL);
	in_page = json_loads(data, 0, &e);
	cr_assert_not_null(in_page, "line %d: %s", e.line, e.text);
	cr_assert(json_equal(in_page, in_file));
	cr_assert_lt(strlen(data), strlen(file), "no blanks in a page");
	json_decref(in_page);
	json_decref(in_file);
}

Test(html, profile_is_the_json_file)
{
	static const unsigned int flags[] = { 0, SAMPLE_SINGLE | SAMPLE_ESTIMATED | SAMPLE_LOSSES, SAMPLE_SINGLE | SAMPLE_GROWTH,
					      SAMPLE_SINGLE | SAMPLE_COUNT, SAMPLE_SINGLE | SAMPLE_PARTIAL | SAMPLE_OLDER, SAMPLE_EMPTY, SAMPLE_UNNAMED };

	for (size_t i = 0; i < ARRAY_SIZE(flags); i++)
		check_profile(sample__new(flags[i]));
	check_profile(sample__asked());
	check_profile(sample__big(10000));
}

/* Of many long timelines every n-th point, and the last, is enough for a page. */
Test(html, a_machine_has_fewer_points)
{
	enum { PROCESSES = 200, POINTS = 1024, MOST = 65536, LEAST = 64 };
	struct snapshot *s = sample__big(1);
	struct snap_process *p = snapshot__alloc(s, PROCESSES, sizeof(*p));
	struct snap_point *line = snapshot__alloc(s, POINTS, sizeof(*line));
	_cleanup_free_ char *page = NULL, *data = NULL;
	json_t *profile, *v;
	size_t len, i, n = 0;

	for (i = 0; i < POINTS; i++)
		line[i].t_ns = i + 1;
	for (i = 0; i < PROCESSES; i++) {
		p[i] = s->processes[0];
		p[i].id = (uint32_t)i + 1;
		p[i].timeline = line;
		p[i].n_timeline = i ? POINTS - i : LEAST - 1;
	}
	s->processes = p;
	s->n_processes = PROCESSES;
	page = page_of(s, &len);
	data = element(page, DATA_BEGIN);
	profile = json_loads(data, 0, NULL);
	json_array_foreach(json_object_get(profile, "processes"), i, v) {
		json_t *points = json_object_get(v, "timeline"), *last = json_array_get(points, json_array_size(points) - 1);

		n += json_array_size(points);
		cr_assert_eq(json_integer_value(json_object_get(last, "t_ns")), i ? POINTS - (int)i : LEAST - 1, "process %zu", i);
		cr_assert(i ? json_array_size(points) >= LEAST : json_array_size(points) == LEAST - 1, "process %zu: %zu", i, json_array_size(points));
	}
	cr_assert_leq(n, MOST);
	json_decref(profile);
}

/* ---- what a profile does not have */

static void check_words(const char *name, struct snapshot *s)
{
	_cleanup_free_ char *page = NULL, *words = NULL;
	size_t len;

	page = page_of(s, &len);
	words = element(page, WORDS_BEGIN);
	golden__check(name, words, strlen(words));
}

Test(html, words)
{
	struct snapshot *a = sample__new(SAMPLE_SINGLE), *b = sample__new(SAMPLE_SINGLE);

	check_words("html-words.json", sample__new(0));
	check_words("html-words-estimated-losses.json", sample__new(SAMPLE_SINGLE | SAMPLE_ESTIMATED | SAMPLE_LOSSES));
	check_words("html-words-growth.json", sample__new(SAMPLE_SINGLE | SAMPLE_GROWTH));
	check_words("html-words-empty.json", sample__new(SAMPLE_EMPTY));
	check_words("html-words-asked.json", sample__asked());
	compared = (struct export_compared){ a, b, "before.json", "after.json" };
	check_words("html-words-diff.json", diff__snapshot(a, b, "before.json"));
	compared = (struct export_compared){};
	snapshot__free(a);
	snapshot__free(b);
}

/* What is not seen of a program of Python is said where its figures are; of others nothing is. */
Test(html, words_of_a_runtime)
{
	struct snapshot *s = sample__new(SAMPLE_SINGLE);
	_cleanup_free_ char *page = NULL, *words = NULL;
	size_t len;
	json_t *all;

	((struct snap_process *)s->processes)->runtime = "python";
	page = page_of(s, &len);
	words = element(page, WORDS_BEGIN);
	all = json_loads(words, 0, NULL);
	cr_assert_eq(json_array_size(json_object_get(all, "runtimes")), 1);
	cr_assert_str_eq(json_string_value(json_array_get(json_array_get(json_object_get(all, "runtimes"), 0), 0)), "Python");
	cr_assert(strstr(json_string_value(json_array_get(json_array_get(json_object_get(all, "runtimes"), 0), 1)), "not seen: objects of up to 512 bytes"));
	json_decref(all);
}

/* As in the text. */
Test(html, words_of_children_that_were_not_traced)
{
	struct snapshot *s = sample__new(SAMPLE_SINGLE);
	_cleanup_free_ char *page = NULL, *words = NULL;
	size_t len;
	json_t *all;

	s->n_unfollowed = 3;
	page = page_of(s, &len);
	words = element(page, WORDS_BEGIN);
	all = json_loads(words, 0, NULL);
	cr_assert_str_eq(json_string_value(json_object_get(all, "unfollowed")), "redis-server started 3 processes that were not traced: add -f");
	json_decref(all);
}

/* ---- names */

static size_t n_of(const char *text, const char *what)
{
	size_t n = 0;

	for (const char *p = text; (p = strstr(p, what)); p++)
		n++;
	return n;
}

/* What names hold is in the data alone, and the data holds nothing that HTML knows. */
Test(html, names_stay_in_their_element)
{
	static const char *const names[] = { "</script><script>alert(1)</script>", "<img src=x onerror=alert(1)>", "<!--<script>", "&lt;&amp;",
					     "\xe2\x80\xa8\xe2\x80\xa9", "]]>", "@data", "@SCRIPT@", "\xff\xfe<" };
	static const struct snap_counter loss = { "live_full", "</script><!-- & \xe2\x80\xa8", 1 };
	struct snapshot *s = sample__new(0);
	_cleanup_free_ char *page = NULL, *data = NULL, *words = NULL, *plain = NULL;
	size_t len, plain_len;

	for (size_t i = 0; i < s->n_places; i++) {
		struct line *line = snapshot__alloc(s, 1, sizeof(*line));

		*line = (struct line){ .function = names[i % ARRAY_SIZE(names)], .file = names[(i + 3) % ARRAY_SIZE(names)] };
		s->places[i].lines = line;
		s->places[i].n_lines = 1;
	}
	for (size_t i = 0; i < s->n_processes; i++) {
		((struct snap_process *)s->processes)[i].comm = names[i];
		((struct snap_process *)s->processes)[i].exe = names[i + 2];
	}
	s->baseline_name = names[0];
	s->losses = &loss;
	s->n_losses = 1;
	page = page_of(s, &len);
	plain = page_of(sample__new(0), &plain_len);
	cr_assert_eq(strlen(page), len);
	data = element(page, DATA_BEGIN);
	words = element(page, WORDS_BEGIN);
	cr_assert_null(strpbrk(data, "<>&"));
	cr_assert_null(strpbrk(words, "<>&"));
	cr_assert_null(strstr(page, "\xe2\x80\xa8"));
	cr_assert_null(strstr(page, "\xe2\x80\xa9"));
	cr_assert(strstr(words, "\"baseline_name\":\"\\u003c/script\\u003e"));
	cr_assert(strstr(words, "\"live_full\":\"\\u003c/script\\u003e\\u003c!-- \\u0026 \\u2028\""));
	cr_assert(strstr(data, "\"\\u003c/script\\u003e\\u003cscript\\u003ealert(1)\\u003c/script\\u003e\""));
	cr_assert(strstr(data, "\"\\u0026lt;\\u0026amp;\""));
	cr_assert(strstr(data, "\"\\u2028\\u2029\""));
	/* around it, the page is the same for all */
	cr_assert_eq(n_of(page, "<script"), 3);
	cr_assert_eq(n_of(page, SCRIPT_END), 3);
	cr_assert_eq(strstr(page, DATA_BEGIN) - page, strstr(plain, DATA_BEGIN) - plain);
	cr_assert(!memcmp(page, plain, (size_t)(strstr(page, DATA_BEGIN) - page)));
	cr_assert(strstr(strstr(page, DATA_BEGIN), SCRIPT_END "\n" WORDS_BEGIN));
	cr_assert_str_eq(strstr(strstr(page, WORDS_BEGIN), SCRIPT_END), strstr(strstr(plain, WORDS_BEGIN), SCRIPT_END));
}

Test(html, page_asks_for_nothing_and_lets_nothing_in)
{
	_cleanup_free_ char *page = NULL;
	size_t len;
	const char *policy;

	page = page_of(sample__new(0), &len);
	cr_assert(!strncmp(page, "<!DOCTYPE html>\n", 16));
	policy = strstr(page, "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'sha256-");
	cr_assert_not_null(policy);
	cr_assert(strstr(policy, "script-src 'sha256-"));
	cr_assert_lt(policy, strstr(page, "<style"));
	cr_assert_eq(n_of(page, "unsafe-"), 0);
	cr_assert_eq(n_of(page, "innerHTML") + n_of(page, "outerHTML") + n_of(page, "insertAdjacentHTML") + n_of(page, "document.write"), 0);
	cr_assert_eq(n_of(page, " onclick=") + n_of(page, " style=") + n_of(page, " src=") + n_of(page, "url("), 0);
	cr_assert_eq(n_of(page, "http://") + n_of(page, "https://"), 1, "the name of SVG's elements alone");
	cr_assert_eq(n_of(page, "\n@"), n_of(page, "\n@media"), "no mark of the template is left");
}

static void encodes(const char *s, const char *want)
{
	_cleanup_free_ char *text = NULL;
	size_t len;
	struct json j = { .out = open_memstream(&text, &len), .in_page = true };

	json__str(&j, NULL, s);
	fclose(j.out);
	cr_assert_str_eq(text, want);
}

Test(html, strings)
{
	encodes("plain é … 𝄞", "\"plain é … 𝄞\"");
	encodes("<>&", "\"\\u003c\\u003e\\u0026\"");
	encodes("a\xe2\x80\xa8" "b\xe2\x80\xa9" "c", "\"a\\u2028b\\u2029c\"");
	encodes("\xe2\x80\xa7\xe2\x80\xaa", "\"\xe2\x80\xa7\xe2\x80\xaa\"");	/* their neighbours */
	encodes("\xe2\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\"");
	encodes("\"\\/'`", "\"\\\"\\\\/'`\"");
}

/* ---- what it costs */

static uint64_t time_of(struct snapshot *s)
{
	uint64_t best = UINT64_MAX;

	for (int i = 0; i < 3; i++) {
		FILE *out = fopen("/dev/null", "w");
		uint64_t start = now_ns();

		cr_assert_eq(html__write(out, s, NULL, NULL), 0);
		best = MIN(best, now_ns() - start);
		fclose(out);
	}
	return best;
}

/* Eight times the sites take about eight times as long: with a square in it, it would be sixty. */
Test(html, time_goes_with_the_sites)
{
	struct snapshot *few = sample__big(2500), *many = sample__big(20000);
	uint64_t a = time_of(few), b = time_of(many);

	cr_assert_lt(b, 24 * a, "2,500 sites in %llu ns, 20,000 in %llu", (unsigned long long)a, (unsigned long long)b);
	snapshot__free(few);
	snapshot__free(many);
}

#ifndef __SANITIZE_ADDRESS__
static size_t status_kib(const char *key)
{
	_cleanup_free_ char *text = NULL;
	const char *at;

	cr_assert_eq(read_small_file("/proc/self/status", &text, NULL), 0);
	at = strstr(text, key);
	cr_assert_not_null(at);
	return strtoul(at + strlen(key), NULL, 10);
}

Test(html, memory_is_less_than_twice_the_file)
{
	struct snapshot *s = sample__big(20000);
	FILE *out = tmpfile(), *forget = fopen("/proc/self/clear_refs", "w");
	size_t before, peak, file_kib;

	if (!forget || fputs("5", forget) < 0 || fclose(forget))
		cr_skip_test("the peak of this process cannot be reset");
	before = status_kib("VmRSS:");
	cr_assert_eq(html__write(out, s, NULL, NULL), 0);
	peak = status_kib("VmHWM:");
	file_kib = (size_t)ftell(out) / 1024;
	cr_assert_gt(file_kib, 1024);
	cr_assert_lt(peak, before + 2 * file_kib, "%zu KiB before, %zu at the peak, a file of %zu", before, peak, file_kib);
	fclose(out);
	snapshot__free(s);
}
#endif
