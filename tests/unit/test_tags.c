// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Names of functions as users give them, and which of them owns an allocation. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>
#include <time.h>

#include "files/export.h"
#include "files/json/json_read.h"
#include "golden.h"
#include "model/group.h"
#include "model/join.h"
#include "model/tags.h"
#include "present/text/report.h"
#include "sample_snapshot.h"
#include "util/funcname.h"
#include "util/text.h"
#include "util/util.h"
#include "written.h"

Test(funcname, names_that_match)
{
	static const struct {
		const char *asked, *name;
		bool whole, parts;	/* matches the function; or a piece of it, too */
	} t[] = {
		{ "f", "f", true, true },
		{ "f", "ff", false, false },
		{ "f", "ns::f(int)", false, false },
		{ "ns::f", "ns::f(int)", true, true },
		{ "ns::f(int)", "ns::f(int)", true, true },
		{ "ns::f(char)", "ns::f(int)", false, false },
		{ "ns::f", "ns::f(int (*)(char), long) const", true, true },
		{ "ns::f", "ns::f() const &", true, true },
		{ "f", "f.constprop.0", true, true },
		{ "f", "f.isra.0.constprop.12", true, true },
		{ "f", "f.cold", false, true },
		{ "f", "f.isra.0.cold", false, true },
		{ "f", "f.part.3", false, true },
		{ "f.cold", "f.cold", true, true },
		{ "f", "f.lto_priv.0", true, true },
		{ "ns::f", "ns::f(int) [clone .isra.0]", true, true },
		{ "ns::f", "ns::f(int) [clone .isra.0] [clone .cold]", false, true },
		{ "main", "main.handle", false, false },
		{ "main.handle", "main.handle", true, true },
		{ "f", "void f<int>(int)", true, true },
		{ "f<int>", "void f<int>(int)", true, true },
		{ "f<char>", "void f<int>(int)", false, false },
		{ "ns::f", "std::vector<int, std::allocator<int> > ns::f<int, char>(int)", true, true },
		{ "Table<int>::insert", "Table<int>::insert(int)", true, true },
		{ "operator new", "operator new(unsigned long)", true, true },
		{ "new", "operator new(unsigned long)", false, false },
		{ "A::operator>", "A::operator>(A const&) const", true, true },
		{ "A::operator bool", "A::operator bool() const", true, true },
		{ "A::operator()", "A::operator()(int) const", true, true },
		{ "(anonymous namespace)::f", "(anonymous namespace)::f(int)", true, true },
		{ "core::fmt::write", "core::fmt::write", true, true },
		{ "f", "", false, false },
		{ "", "f", false, false },
		{ "f", ")", false, false },
		{ "f", "(f", false, false },
		{ "f", "f]", false, false },
		{ "f", " [clone ]", false, false },
		{ "f", "f>(", false, false },
		{ "f", ".cold", false, false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		cr_expect_eq(func_name__matches(t[i].asked, t[i].name, false), t[i].whole, "%s is %s", t[i].asked, t[i].name);
		cr_expect_eq(func_name__matches(t[i].asked, t[i].name, true), t[i].parts, "%s is in %s", t[i].asked, t[i].name);
	}
}

Test(funcname, binaries)
{
	static const struct {
		const char *text, *function, *path;
		bool in;
	} t[] = {
		{ "f", "f", "/usr/bin/x", true },
		{ "f", "f", NULL, true },
		{ "x:f", "f", "/usr/bin/x", true },
		{ "x:f", "f", "/usr/bin/y", false },
		{ "x:f", "f", NULL, false },
		{ "x:f", "f", "/usr/bin/x.d", false },
		{ "/usr/bin/x:f", "f", "/usr/bin/x", true },
		{ "/usr/bin/x:f", "f", "/opt/bin/x", false },
		{ "libz.so:deflate", "deflate", "/usr/lib/libz.so.1.2.13", true },
		{ "libz:deflate", "deflate", "/usr/lib/libz.so.1", false },
		{ "x:ns::f", "ns::f", "/x", true },
		{ "ns::f", "ns::f", "/x", true },
		{ "ns::f(a:b)", "ns::f(a:b)", "/x", true },
	};
	struct func_ref r;

	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		cr_assert(func_ref__parse(t[i].text, &r), "%s", t[i].text);
		cr_expect_str_eq(r.function, t[i].function);
		cr_expect_eq(func_ref__is_in(&r, t[i].path), t[i].in, "%s in %s", t[i].text, t[i].path ?: "nothing");
	}
	cr_expect_not(func_ref__parse("", &r));
	cr_expect_not(func_ref__parse("x:", &r));
	cr_expect_not(func_ref__parse(":f", &r));
}

Test(numbered, what_differs_is_a_star)
{
	static const struct {
		const char *v[3], *sum;
	} t[] = {
		{ { "worker-1", "worker-2", "worker-10" }, "worker-*" },
		{ { "python3", "python3", "python3" }, "python3" },
		{ { "a1b2", "a1b3", "a1b22" }, "a1b*" },
		{ { "7", "8", "7" }, "*" },
		{ { "1-x-2", "1-x-2", "3-x-2" }, "*-x-2" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		_cleanup_free_ char *sum = strdup(t[i].v[0]);

		for (size_t k = 1; k < 3; k++) {
			_cleanup_free_ char *a = numbered__pattern(t[i].v[0]), *b = numbered__pattern(t[i].v[k]);

			cr_expect_str_eq(a, b);
			numbered__add(sum, t[i].v[k]);
		}
		numbered__end(sum);
		cr_expect_str_eq(sum, t[i].sum);
	}
}

/* ---- whose a site is */

static void ask(struct tagger *t, const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		cr_assert_eq(tagger__add(t, names[i], names[i]), 0, "%s", names[i]);
	cr_assert(tagger__any(t));
}

static const char *const asked[] = { "processCommand", "redis-server:main", "raxTryInsert", "engine::Table::add", "nowhere" };

static struct snapshot *tagged(unsigned int flags)
{
	struct snapshot *s = sample__new(flags);
	struct tagger t = {};

	ask(&t, asked, ARRAY_SIZE(asked));
	snapshot__tag(s, &t);
	tagger__done(&t);
	return s;
}

static const char *tag_of(const struct snapshot *s, size_t site)
{
	return s->sites[site].tag ? s->tags[s->sites[site].tag - 1].name : "";
}

Test(tags, the_innermost_owns)
{
	/* an inlined function is one, too; a stack without names has none */
	static const char *const want[] = { "raxTryInsert", "redis-server:main", "processCommand", "", "", "redis-server:main",
					    "engine::Table::add", "", "", "" };
	struct snapshot *s = tagged(0);
	struct tag_sum *sums = tags__add_up(s);
	struct counters all = {};

	cr_assert_eq(s->n_sites, ARRAY_SIZE(want));
	for (size_t i = 0; i < ARRAY_SIZE(want); i++)
		cr_expect_str_eq(tag_of(s, i), want[i], "site %zu: %s, want %s", i, tag_of(s, i), want[i]);
	cr_assert_eq(s->n_tags, ARRAY_SIZE(asked));
	for (size_t i = 0; i < s->n_tags; i++) {
		cr_expect_str_eq(s->tags[i].name, asked[i]);
		cr_expect_not(s->tags[i].thread);
		cr_expect_eq(s->tags[i].entered, UINT64_MAX);
	}
	/* nothing is in two of them, or in none */
	for (size_t i = 0; i <= s->n_tags; i++) {
		all.alloc_calls += sums[i].c.alloc_calls;
		all.live_bytes += sums[i].c.live_bytes;
	}
	cr_expect_eq(all.alloc_calls, s->totals.alloc_calls);
	cr_expect_eq(all.live_bytes, s->totals.live_bytes);
	cr_expect_eq(sums[1].n_sites, 1);
	cr_expect_eq(sums[1].c.alloc_calls, 2100000);
	cr_expect_eq(sums[2].n_sites, 2);
	cr_expect_eq(sums[2].c.alloc_calls, 61204);
	cr_expect_eq(sums[0].n_sites, 5);
	cr_expect_eq(sums[5].n_sites, 0);
	free(sums);
	snapshot__free(s);
}

Test(tags, of_another_binary_is_another_function)
{
	static const char *const names[] = { "libc.so.6:main", "/usr/bin/redis-server:call" };
	struct snapshot *s = sample__new(0);
	struct tagger t = {};

	ask(&t, names, ARRAY_SIZE(names));
	snapshot__tag(s, &t);
	cr_expect_str_eq(tag_of(s, 1), names[1]);
	cr_expect_str_eq(tag_of(s, 5), "");
	tagger__done(&t);
	snapshot__free(s);
}

/* What a function of Python is defined in may be left out; of other languages it is part of the name. */
Test(tags, of_python_by_the_end_of_its_name)
{
	static const struct {
		const char *asked, *module;
		bool matches;
	} t[] = {
		{ "render", "[python]", true },	    { "Page.render", "[python]", true }, { "site.<locals>.Page.render", "[python]", true },
		{ "ender", "[python]", false },	    { "Page", "[python]", false },	 { ".render", "[python]", false },
		{ "render", "/usr/bin/go", false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		struct snapshot *s = sample__new(0);
		struct place *p = &s->places[s->sites[0].stack[0]];
		struct snap_module *modules = snapshot__alloc(s, s->n_modules, sizeof(*modules));
		struct line *line = snapshot__alloc(s, 1, sizeof(*line));
		struct tagger tagger = {};

		memcpy(modules, s->modules, s->n_modules * sizeof(*modules));
		modules[p->module].path = t[i].module;
		s->modules = modules;
		*line = (struct line){ .function = "site.<locals>.Page.render", .file = "/srv/app.py", .line = 6 };
		p->lines = line;
		p->n_lines = 1;
		ask(&tagger, &t[i].asked, 1);
		snapshot__tag(s, &tagger);
		cr_expect_str_eq(tag_of(s, 0), t[i].matches ? t[i].asked : "", "%s in %s", t[i].asked, t[i].module);
		tagger__done(&tagger);
		snapshot__free(s);
	}
}

Test(tags, calls_that_were_counted_stay_so)
{
	struct snapshot *s = sample__new(0);
	struct snap_tag counted[] = { { "raxTryInsert", false, 7 }, { "processCommand", false, 12 }, { "gone", false, 1 }, { "nowhere", true, 3 } };
	struct tagger t = {};

	s->tags = counted;
	s->n_tags = ARRAY_SIZE(counted);
	ask(&t, asked, ARRAY_SIZE(asked));
	/* twice: what is written in several formats is tagged for each */
	for (int i = 0; i < 2; i++) {
		snapshot__tag(s, &t);
		cr_assert_eq(s->n_tags, ARRAY_SIZE(asked));
		cr_expect_eq(s->tags[0].entered, 12);
		cr_expect_eq(s->tags[1].entered, UINT64_MAX);
		/* some of its calls were inlined: nobody counted those */
		cr_expect_eq(s->tags[2].entered, UINT64_MAX);
		cr_expect_eq(s->tags[4].entered, UINT64_MAX);
	}
	tagger__done(&t);
	snapshot__free(s);
}

Test(tags, threads_own_what_no_function_does)
{
	static const char *const names[] = { "processCommand", "thread" };
	static const char *const threads[] = { "worker-1", "io", "io", "worker-2", "io", NULL, "worker-13", "io", "", "io" };
	static const char *const want[] = { "processCommand", "io", "processCommand", "worker-*", "io", "", "worker-*", "io", "", "io" };
	struct snapshot *s = sample__new(0);
	struct tagger t = {};

	for (size_t i = 0; i < ARRAY_SIZE(threads); i++) {
		s->sites[i].tid = 100 + (int)i;
		s->sites[i].thread = threads[i];
	}
	ask(&t, names, ARRAY_SIZE(names));
	snapshot__tag(s, &t);
	for (size_t i = 0; i < ARRAY_SIZE(want); i++)
		cr_expect_str_eq(tag_of(s, i), want[i], "site %zu: %s, want %s", i, tag_of(s, i), want[i]);
	/* by name, whatever the order of sites */
	cr_assert_eq(s->n_tags, 3);
	cr_expect_str_eq(s->tags[1].name, "io");
	cr_expect_str_eq(s->tags[2].name, "worker-*");
	cr_expect(s->tags[1].thread && s->tags[2].thread);
	tagger__done(&t);
	snapshot__free(s);
}

Test(tags, survive_groups_and_joining)
{
	struct snapshot *s = tagged(SAMPLE_MANY), *by = snapshot__group(s, grouping__find("none"));
	struct snapshot *more = sample__new(SAMPLE_MANY), *v[] = { s, more }, *both;
	static const char *const others[] = { "ngx_create_pool", "processCommand" };
	struct tag_sum *a, *b, *c;
	struct tagger t = {};

	a = tags__add_up(s);
	b = tags__add_up(by);
	for (size_t i = 0; i <= s->n_tags; i++)
		cr_expect_eq(a[i].c.alloc_bytes, b[i].c.alloc_bytes);
	ask(&t, others, ARRAY_SIZE(others));
	snapshot__tag(more, &t);
	cr_assert_eq(snapshot__join(v, (const char *const[]){ "a", "b" }, 2, &both, NULL), 0);
	cr_assert_eq(both->n_tags, ARRAY_SIZE(asked) + 1);
	cr_expect_str_eq(both->tags[5].name, "ngx_create_pool");
	c = tags__add_up(both);
	/* without raxTryInsert, what it allocated is processCommand's */
	cr_expect_eq(c[1].c.alloc_calls, 2100000 + (2100000 + 31744));
	cr_expect_eq(c[2].c.alloc_calls, 61204 + 100);
	cr_expect_eq(c[6].c.alloc_calls, 5000 + 7000 + 3000);
	free(a);
	free(b);
	free(c);
	tagger__done(&t);
	snapshot__free(both);
	snapshot__free(more);
	snapshot__free(by);
	snapshot__free(s);
}

Test(tags, profiles_keep_them)
{
	struct snapshot *s = tagged(0), *read = NULL;
	_cleanup_free_ char *text = NULL, *again = NULL;
	_cleanup_err_ struct err e = {};
	size_t len, len_again;

	((struct snap_tag *)s->tags)[0].entered = 1000;
	((struct snap_tag *)s->tags)[4].thread = true;
	s->sites[9].tag = 5;
	text = written__as(s, "json", NULL, &len);
	cr_assert_eq(json_read__text(text, len, &read, &e), 0, "%s", err_msg(&e));
	cr_assert_eq(read->n_tags, s->n_tags);
	cr_expect_eq(read->tags[0].entered, 1000);
	cr_expect_eq(read->tags[1].entered, UINT64_MAX);
	cr_expect(read->tags[4].thread);
	for (size_t i = 0; i < s->n_sites; i++)
		cr_expect_eq(read->sites[i].tag, s->sites[i].tag, "site %zu", i);
	again = written__as(read, "json", NULL, &len_again);
	cr_expect_str_eq(strstr(again, "\"tags\""), strstr(text, "\"tags\""));
	snapshot__free(read);
	snapshot__free(s);
}

Test(tags, profiles_that_are_wrong_are_refused)
{
	static const char *const bad[] = {
		"{\"schema\": \"malloctrace/1\", \"tags\": {}}",
		"{\"schema\": \"malloctrace/1\", \"tags\": [{\"name\": 1}]}",
		"{\"schema\": \"malloctrace/1\", \"tags\": [], \"processes\": [{\"id\": 1}], \"sites\": [{\"process\": 1, \"tag\": \"f\"}]}",
		"{\"schema\": \"malloctrace/1\", \"tags\": [{\"name\": \"f\"}], \"processes\": [{\"id\": 1}], \"sites\": [{\"process\": 1, \"tag\": 0}]}",
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		_cleanup_err_ struct err e = {};
		struct snapshot *s;

		cr_expect_eq(json_read__text(bad[i], strlen(bad[i]), &s, &e), -EINVAL, "%s", bad[i]);
	}
}

/* ---- many of them */

#define N_MANY 20000u		/* tags; */
#define PER_TAG 3u		/* sites of each */

/* Functions and threads of the same names; each is there twice, and sites are the first one's. tag_of: of a site, + 1; 0: none */
static char *profile_of_many(uint32_t (*tag_of)(uint32_t site), size_t *ret_len)
{
	char *text = NULL;
	FILE *out = open_memstream(&text, ret_len);

	fputs("{\"schema\": \"malloctrace/1\", \"processes\": [{\"id\": 1}], \"tags\": [{\"name\": null}", out);
	for (uint32_t i = 0; i < 2 * N_MANY; i++)
		fprintf(out, ",\n{\"name\": \"request_of_kind_%05u\", \"thread\": %s, \"entered\": %u}", i % N_MANY / 2, i % 2 ? "true" : "false", i);
	fputs("], \"sites\": [{\"process\": 1}", out);
	for (uint32_t i = 1; i < N_MANY * PER_TAG; i++) {
		uint32_t tag = tag_of(i);

		fputs(",\n{\"process\": 1", out);
		if (tag)
			fprintf(out, ", \"tag\": \"request_of_kind_%05u\", \"tag_is_thread\": %s", (tag - 1) / 2, (tag - 1) % 2 ? "true" : "false");
		fputs("}", out);
	}
	fputs("]}", out);
	fclose(out);
	return text;
}

static struct snapshot *read_many(uint32_t (*tag_of)(uint32_t site), uint64_t *ret_cpu_ns)
{
	_cleanup_err_ struct err e = {};
	_cleanup_free_ char *text = NULL;
	struct snapshot *s = NULL;
	struct timespec from, to;
	size_t len;

	text = profile_of_many(tag_of, &len);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
	cr_assert_eq(json_read__text(text, len, &s, &e), 0, "%s", err_msg(&e));
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
	*ret_cpu_ns = (uint64_t)((to.tv_sec - from.tv_sec) * 1000000000ll + to.tv_nsec - from.tv_nsec);
	return s;
}

/* Neighbours are far apart, and some have none. */
static uint32_t any_tag(uint32_t site)
{
	return site % 11 ? (site * 7919u) % N_MANY + 1 : 0;
}

static uint32_t first_tag(uint32_t site)
{
	return 1 + site % 2;
}

static uint32_t last_tag(uint32_t site)
{
	return N_MANY - site % 2;
}

Test(tags, of_many_each_site_finds_its_own)
{
	_cleanup_err_ struct err e = {};
	uint64_t ignored_ns;
	struct snapshot *s = read_many(any_tag, &ignored_ns), *twice[2] = { s, s }, *both = NULL;

	cr_assert_eq(s->n_tags, 2 * N_MANY);
	cr_assert_eq(s->n_sites, N_MANY * PER_TAG);
	for (uint32_t i = 1; i < s->n_sites; i++)
		cr_assert_eq(s->sites[i].tag, any_tag(i), "site %u", i);
	/* joined, those that are alike are one, and each was entered as often as they were together */
	cr_assert_eq(snapshot__join(twice, (const char *const[]){ "a", "b" }, 2, &both, &e), 0, "%s", err_msg(&e));
	cr_assert_eq(both->n_tags, N_MANY);
	for (uint32_t i = 0; i < N_MANY; i++)
		cr_assert_eq(both->tags[i].entered, 2 * (i + i + N_MANY), "tag %u", i);
	for (uint32_t i = 1; i < s->n_sites; i++)
		cr_assert(both->sites[i].tag == any_tag(i) && both->sites[i + s->n_sites].tag == any_tag(i), "site %u", i);
	snapshot__free(both);
	snapshot__free(s);
}

/* Which of them it is makes no difference: two files of one length, the better of three attempts each. */
Test(tags, of_many_the_last_is_found_as_fast_as_the_first)
{
	uint64_t first_ns = UINT64_MAX, last_ns = UINT64_MAX, ns;

	for (int i = 0; i < 3; i++) {
		snapshot__free(read_many(first_tag, &ns));
		first_ns = MIN(first_ns, ns);
		snapshot__free(read_many(last_tag, &ns));
		last_ns = MIN(last_ns, ns);
	}
	cr_expect_lt(last_ns, 3 * first_ns);
}

static void add_marks(struct snapshot *s)
{
	static const struct snap_mark marks[] = {
		{ "handle", 1, 0, 1432, 1000000000, 1 << 20, true, 1000, 1 << 20, 100, 1 << 20, 0, 0 },
		{ "handle", 2, 0, 1432, 1500000000, 1 << 20, false, 0, 0, 0, 0, 0, 0 },
		{ "handle", 3, 0, 1432, 2000000000, 3 << 20, true, 4000, 5 << 20, 300, 3 << 20, 0, 0 },
		{ "a_function_with_quite_a_name_for_a_mark_that_is_set_at_each_call_of_it", 1, 0, 1432, 3000000000, 2 << 20, true, 4010,
		  6 << 20, 200, 2 << 20, 0, 0 },
	};

	s->marks = marks;
	s->n_marks = ARRAY_SIZE(marks);
	s->n_marks_seen = 4;
	s->n_marks_whole = 3;
}

Test(tags, looks)
{
	static const struct {
		const char *name;
		unsigned int flags;
		struct report_opts o;
	} t[] = {
		{ "report-tags-80.txt", 0, { .views = VIEW_TAGS } },
		{ "report-tags-120.txt", SAMPLE_ESTIMATED, { .top = 2, .width = 120 } },
		{ "report-tags-count-80.txt", SAMPLE_COUNT, { .views = VIEW_TAGS, .sort = "alloc-calls" } },
	};

	setenv("TZ", "UTC", 1);
	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		struct snapshot *s = tagged(t[i].flags);
		_cleanup_free_ char *text = NULL;
		size_t len;

		((struct snap_tag *)s->tags)[0].entered = 3000000;
		((struct snap_tag *)s->tags)[1].entered = 1000;
		if (!i)
			add_marks(s);
		text = written__as(s, "text", &(struct export_opts){ .report = t[i].o }, &len);
		golden__check(t[i].name, text, len);
		snapshot__free(s);
	}
}
