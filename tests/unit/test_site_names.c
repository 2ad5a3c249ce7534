// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* What sites are called: stacks written as text, and the names that they get. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "names/packages.h"
#include "present/caveats.h"
#include "present/telling.h"
#include "util/util.h"

enum { APP, LIB, LIBC, SCRIPT, N_MODULES };

/* A call: in which file and function, on which line of its source (0: not known), and how far into the file. */
struct call {
	const char *function;
	unsigned int line;
	int module;
	uint64_t offset;
};

#define DEPTH_MAX 8

struct stack {
	struct call calls[DEPTH_MAX];	/* the innermost first; offset 0: no more */
	const char *want;
	const char *via;		/* allocation function; NULL: malloc */
	uint32_t process;
};

static struct snapshot *made(const struct stack *v, size_t n)
{
	static const struct snap_module modules[] = { { "/usr/bin/app", "aa", NULL }, { "/usr/lib/libdb.so.5", "bb", NULL }, { "/usr/lib/libc.so.6", "cc", NULL },
						      { "[python]", NULL, NULL } };
	struct snapshot *s = snapshot__new();
	struct snap_process *p = snapshot__alloc(s, 2, sizeof(*p));

	p[0] = (struct snap_process){ .id = 1, .pid = 100, .comm = "app", .exe = "/usr/bin/app" };
	p[1] = (struct snap_process){ .id = 2, .pid = 101, .comm = "app", .exe = "/usr/bin/app" };
	s->processes = p;
	s->n_processes = 2;
	s->modules = modules;
	s->n_modules = N_MODULES;
	s->places = snapshot__alloc(s, n * DEPTH_MAX, sizeof(*s->places));
	s->sites = snapshot__alloc(s, n, sizeof(*s->sites));
	s->n_sites = n;
	for (size_t i = 0; i < n; i++) {
		uint32_t *stack = snapshot__alloc(s, DEPTH_MAX, sizeof(*stack)), depth = 0;

		for (; depth < DEPTH_MAX && v[i].calls[depth].offset; depth++) {
			const struct call *c = &v[i].calls[depth];
			struct line *l = snapshot__alloc(s, 1, sizeof(*l));
			size_t at = 0;

			*l = (struct line){ .function = c->function, .file = c->line ? "src/app.c" : NULL, .line = c->line };
			/* a place is there once */
			while (at < s->n_places && (s->places[at].module != c->module || s->places[at].offset != c->offset))
				at++;
			if (at == s->n_places)
				s->places[s->n_places++] = (struct place){ c->module, c->offset, true, 1, l };
			stack[depth] = (uint32_t)at;
		}
		s->sites[i] = (struct snap_site){ .process = v[i].process, .function = v[i].via ? v[i].via : "malloc", .stack = stack, .n_stack = depth };
	}
	return s;
}

static void check(const struct stack *v, size_t n)
{
	struct snapshot *s = made(v, n);
	struct tellings t = {};

	tellings__begin(&t, s);
	for (size_t i = 0; i < n; i++) {
		char *name = tellings__name(&t, s, &s->sites[i]);

		cr_expect_str_eq(name, v[i].want);
		cr_expect_str_eq(tellings__kept_name(&t, s, &s->sites[i]), v[i].want);
		free(name);
	}
	tellings__done(&t);
	snapshot__free(s);
}

#define MAIN { "main", 0, APP, 0x100 }

Test(site_names, tell_apart)
{
	static const struct stack v[] = {
		/* another caller; another one further out */
		{ .calls = { { "leaf", 0, APP, 1 }, { "mid_1", 0, APP, 2 }, MAIN }, "leaf < mid_1" },
		{ .calls = { { "leaf", 0, APP, 1 }, { "mid_2", 0, APP, 3 }, { "top_1", 0, APP, 4 }, MAIN }, "leaf < mid_2 < top_1" },
		{ .calls = { { "leaf", 0, APP, 1 }, { "mid_2", 0, APP, 3 }, { "top_2", 0, APP, 5 }, MAIN }, "leaf < mid_2 < top_2" },
		{ .calls = { { "far", 0, APP, 6 }, { "same", 0, APP, 7 }, { "a", 0, APP, 8 }, MAIN }, "far < … < a" },
		{ .calls = { { "far", 0, APP, 6 }, { "same", 0, APP, 7 }, { "b", 0, APP, 9 }, MAIN }, "far < … < b" },
		/* another line; lines where callers differ, too */
		{ .calls = { { "parse", 120, APP, 10 }, MAIN }, "parse:120" },
		{ .calls = { { "parse", 155, APP, 11 }, MAIN }, "parse:155" },
		{ .calls = { { "parse", 160, APP, 12 }, { "x", 0, APP, 13 } }, "parse:160 < x" },
		{ .calls = { { "parse", 160, APP, 12 }, { "y", 0, APP, 14 } }, "parse:160 < y" },
		/* another call in the same function, another line of its caller: nothing is added */
		{ .calls = { { "twice", 0, APP, 0x1184 }, MAIN }, "twice" },
		{ .calls = { { "twice", 0, APP, 0x1190 }, MAIN }, "twice" },
		{ .calls = { { "deep", 0, APP, 20 }, { "at", 7, APP, 21 }, MAIN }, "deep" },
		{ .calls = { { "deep", 0, APP, 20 }, { "at", 9, APP, 22 }, MAIN }, "deep" },
		/* a line that only some have is not shown */
		{ .calls = { { "some", 120, APP, 80 }, { "x", 0, APP, 13 } }, "some < x" },
		{ .calls = { { "some", 0, APP, 81 }, { "y", 0, APP, 14 } }, "some < y" },
		/* a library in between is not shown where a caller of the program's own differs */
		{ .calls = { { "turned", 0, APP, 82 }, { "malloc", 0, LIBC, 83 }, { "left", 0, APP, 84 }, MAIN }, "turned < … < left" },
		{ .calls = { { "turned", 0, APP, 82 }, { "calloc", 0, LIBC, 85 }, { "right", 0, APP, 86 }, MAIN }, "turned < … < right" },
		/* what is not shown of a name does not make it another */
		{ .calls = { { "app::push::h0123456789abcdef", 0, APP, 90 }, { "u", 0, APP, 91 } }, "app::push < u" },
		{ .calls = { { "app::push::hfedcba9876543210", 0, APP, 92 }, { "v", 0, APP, 93 } }, "app::push < v" },
		/* overloads are one name */
		{ .calls = { { "app::add(int)", 0, APP, 40 }, { "p", 0, APP, 41 } }, "app::add < p" },
		{ .calls = { { "app::add(char)", 0, APP, 42 }, { "q", 0, APP, 43 } }, "app::add < q" },
		/* another process */
		{ .calls = { { "one", 0, APP, 70 } }, "one" },
		{ .calls = { { "one", 0, APP, 70 } }, "one", NULL, 1 },
		{ .calls = { }, "[no stack]" },
	};

	check(v, ARRAY_SIZE(v));
}

Test(site_names, prefer_names)
{
	static const struct stack v[] = {
		/* a library's own code has no name: what was called in it has */
		{ .calls = { { NULL, 0, LIB, 0x10 }, { "db_open", 0, LIB, 0x20 }, { "load_a", 0, APP, 0x30 } }, "db_open" },
		{ .calls = { { NULL, 0, LIB, 0x11 }, { "load_b", 0, APP, 0x31 } }, "load_b" },
		/* the program's own code is not what a library does that called it back, and not all that main does */
		{ .calls = { { NULL, 0, APP, 0x40 }, { "db_each", 0, LIB, 0x41 } }, "app+0x40" },
		{ .calls = { { NULL, 0, APP, 0x50 }, MAIN }, "app+0x50" },
		{ .calls = { { NULL, 0, APP, 0x60 }, { "handle", 0, APP, 0x61 }, MAIN }, "handle" },
		/* nothing of the program: the first that is no allocator, else the first */
		{ .calls = { { "malloc", 0, LIBC, 0x70 }, { "getline", 0, LIBC, 0x71 }, { "_start", 0, LIBC, 0x72 } }, "getline" },
		{ .calls = { { "malloc", 0, LIBC, 0x73 }, { NULL, 0, LIBC, 0x74 } }, "malloc" },
		{ .calls = { { "std::string::_M_create(unsigned long)", 0, APP, 0x80 },
		    { "std::thread::_State_impl<std::thread::_Invoker<std::tuple<app::run()::{lambda()#2}> > >::_M_run()", 0, APP, 0x81 } },
		  "app::run::{lambda#2}" },
	};

	check(v, ARRAY_SIZE(v));
}

/* ---- names that are missing */

Test(site_names, missing)
{
	static const struct stack v[] = {
		{ .calls = { { NULL, 0, APP, 0x10 }, { NULL, 0, APP, 0x11 }, { NULL, 0, LIB, 0x12 }, { "getline", 0, LIBC, 0x13 }, { "_start", 0, LIBC, 0x14 } }, NULL },
		{ .calls = { { "named", 0, APP, 0x20 }, { NULL, 0, APP, 0x21 }, { "clone", 0, LIBC, 0x22 } }, NULL },
	};
	struct snapshot *s = made(v, ARRAY_SIZE(v));
	struct missing_names m;
	char *words;

	cr_assert(missing_names__find(s, &m));
	cr_expect_eq(m.n_frames, 5);
	cr_expect_eq(m.n_unnamed, 4);
	words = missing_names__words(&m, "app-dbgsym", false, true);
	cr_expect_str_eq(words, "80% of the program's frames have no name (app, libdb.so.5): install app-dbgsym, or try --debuginfod");
	free(words);
	words = missing_names__words(&m, NULL, true, true);
	cr_expect_str_eq(words, "80% of the program's frames have no name (app, libdb.so.5): install their debug symbols, or do not strip them");
	free(words);
	words = missing_names__words(&m, NULL, false, false);
	cr_expect_str_eq(words, "80% of the program's frames have no name (app, libdb.so.5): trace where their debug symbols are installed, or with --debuginfod");
	free(words);
	/* what nobody asked for is not missing */
	s->places[s->sites[0].stack[0]].resolved = false;
	cr_expect_not(missing_names__find(s, &m));
	snapshot__free(s);
}

static void put(const char *root, const char *path, const char *text)
{
	_cleanup_free_ char *whole = NULL;
	FILE *f;

	cr_assert(asprintf(&whole, "%s/%s", root, path) > 0);
	for (char *s = whole + strlen(root) + 1; (s = strchr(s, '/')); s++) {
		*s = 0;
		mkdir(whole, 0755);
		*s = '/';
	}
	f = fopen(whole, "w");
	cr_assert_not_null(f);
	fputs(text, f);
	fclose(f);
}

static void debug_packages(const char *root, const char *a, const char *b, const char *want)
{
	const char *files[] = { a, b };
	char *got = packages__debug(root, files, b ? 2 : 1);

	cr_expect(want ? got && !strcmp(got, want) : !got, "%s: %s", a, got);
	free(got);
}

Test(site_names, packages)
{
	char debian[] = "/tmp/malloctrace-packages-XXXXXX", fedora[] = "/tmp/malloctrace-packages-XXXXXX";
	_cleanup_free_ char *clean = NULL;

	cr_assert(mkdtemp(debian) && mkdtemp(fedora));
	put(debian, "var/lib/dpkg/info/nginx.list", "/.\n/usr/sbin/nginx\n/usr/share/doc/nginx\n");
	put(debian, "var/lib/dpkg/info/libssl3:arm64.list", "/.\n/usr/lib/aarch64-linux-gnu/libssl.so.3");
	put(debian, "var/lib/dpkg/info/libc6:arm64.list", "/lib/aarch64-linux-gnu/libc.so.6\n");
	put(debian, "var/lib/dpkg/info/nginx.md5sums", "0 usr/sbin/nginx\n");
	debug_packages(debian, "/usr/sbin/nginx", "/usr/lib/aarch64-linux-gnu/libssl.so.3", "libssl3-dbgsym nginx-dbgsym");
	/* / and /usr are one */
	debug_packages(debian, "/usr/lib/aarch64-linux-gnu/libc.so.6", NULL, "libc6-dbg");
	debug_packages(debian, "/usr/sbin/ngin", NULL, NULL);
	debug_packages(debian, "/opt/app", NULL, NULL);
	debug_packages(debian, "", NULL, NULL);
	put(fedora, "var/lib/rpm/rpmdb.sqlite", "");
	debug_packages(fedora, "/usr/sbin/nginx", "/usr/lib64/libssl.so.3", "symbols with: debuginfo-install $(rpm -qf /usr/sbin/nginx /usr/lib64/libssl.so.3)");
	debug_packages(fedora, "/opt/app", NULL, NULL);
	/* whose name would be a command of the shell that this is pasted into */
	debug_packages(fedora, "/usr/lib/x$(touch /tmp/pwned).so", NULL, NULL);
	debug_packages(fedora, "/usr/lib/x`id`.so", "/usr/lib/a b;c.so", NULL);
	debug_packages(fedora, "/usr/lib/x'y.so", "/usr/bin/g++-12", "symbols with: debuginfo-install $(rpm -qf /usr/bin/g++-12)");
	debug_packages("/nonexistent", "/usr/sbin/nginx", NULL, NULL);
	cr_assert(asprintf(&clean, "rm -r %s %s", debian, fedora) > 0);
	cr_expect_eq(system(clean), 0);
}

#define MANY_PROCESSES 200
#define SITES_EACH 200

/* In each process a function that is called from SITES_EACH others. */
static struct snapshot *many(void)
{
	struct snapshot *s = made(NULL, 0);
	struct line *l = snapshot__alloc(s, SITES_EACH + 1, sizeof(*l));

	s->processes = snapshot__alloc(s, MANY_PROCESSES, sizeof(*s->processes));
	s->n_processes = MANY_PROCESSES;
	s->places = snapshot__alloc(s, SITES_EACH + 1, sizeof(*s->places));
	s->n_places = SITES_EACH + 1;
	s->n_sites = MANY_PROCESSES * SITES_EACH;
	s->sites = snapshot__alloc(s, s->n_sites, sizeof(*s->sites));
	for (uint32_t i = 0; i <= SITES_EACH; i++) {
		char name[32];

		snprintf(name, sizeof(name), "caller_%u", i);
		l[i].function = i ? snapshot__strdup(s, name) : "leaf";
		s->places[i] = (struct place){ APP, i + 1, true, 1, &l[i] };
	}
	for (uint32_t i = 0; i < s->n_sites; i++) {
		uint32_t *stack = snapshot__alloc(s, 2, sizeof(*stack));

		stack[1] = 1 + i / MANY_PROCESSES;
		s->sites[i] = (struct snap_site){ .process = i % MANY_PROCESSES, .function = "malloc", .stack = stack, .n_stack = 2 };
	}
	return s;
}

static uint64_t took_ns(const struct tellings *t, const struct snapshot *s, size_t n)
{
	uint64_t began_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);

	for (size_t i = 0; i < n; i++)
		cr_assert(strstr(tellings__kept_name(t, s, &s->sites[i]), "leaf < caller_"));
	return clock_ns(CLOCK_THREAD_CPUTIME_ID) - began_ns;
}

/* A report of ten rows does not wait for the names of all others: those that no process of these rows has are not made. */
Test(site_names, are_made_as_they_are_wanted)
{
	struct snapshot *s = many();
	struct tellings t = {};
	uint64_t some_ns, all_ns;

	tellings__begin(&t, s);
	some_ns = took_ns(&t, s, 10);
	all_ns = took_ns(&t, s, s->n_sites);
	/* 10 of 200 processes, and a place in order for each site; what is left is for a machine that does other things, too */
	cr_expect_lt(some_ns * 3, all_ns, "10 names took %.1f ms, all %.1f", some_ns / 1e6, all_ns / 1e6);
	tellings__done(&t);
	snapshot__free(s);
}

/* Why a stack is unsure: where the interpreter's function stands among frames of Python, some of these were not found. */
Test(site_names, why_unsure)
{
	static const struct stack t[] = {
		{ .calls = { { "leaf", 7, SCRIPT, 0x3001c }, { "_PyEval_EvalFrameDefault", 0, LIB, 0x10 }, MAIN } },
		{ .calls = { { "leaf", 7, SCRIPT, 0x3001c }, { "PyEval_EvalCode", 0, LIB, 0x20 }, MAIN } },
	};
	struct snapshot *s = made(t, ARRAY_SIZE(t));

	s->sites[0].end = s->sites[1].end = MT_END_UNSURE;
	cr_expect_str_eq(site__end_says(s, &s->sites[0]), "unsure: some of its frames of Python were not found");
	cr_expect_str_eq(site__end_says(s, &s->sites[1]), stack_end__says(MT_END_UNSURE));
	snapshot__free(s);
}
