// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* --mode count: calls and bytes of every site equal the fixture's own; what is not recorded is null, never 0. */
#include "lt.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

static void want_null(struct test *t, json_t *j, const char *key, const char *where)
{
	json_t *v = jget(j, key);

	want(t, v && json_is_null(v), "%s: %s, wanted null, got %s", where, key, v ? "something" : "nothing");
}

/* Also where a zero would look harmless. */
static void want_nulls(struct test *t, json_t *root)
{
	static const char *const counters[] = { "free_calls", "free_bytes", "live_blocks", "live_bytes", "peak_bytes", "temp_calls",
						"failed_calls", "unknown_frees" };
	static const char *const of_site[] = { "at_peak_bytes", "oldest_ns", "lifetime_mean_ns", "older_blocks", "older_bytes", "ages" };
	json_t *p, *s, *v;
	size_t i, k;

	want(t, !strcmp(jstr(root, "mode"), "count"), "mode, wanted count, got '%s'", jstr(root, "mode"));
	for (unsigned int c = 0; c < sizeof(counters) / sizeof(*counters); c++) {
		want_null(t, jget(root, "totals"), counters[c], "totals");
		json_array_foreach(jget(root, "sites"), i, s)
			want_null(t, s, counters[c], "site");
		json_array_foreach(jget(root, "processes"), i, p) {
			want_null(t, jget(p, "totals"), counters[c], "process");
			json_array_foreach(jget(p, "threads"), k, v)
				want_null(t, jget(v, "totals"), counters[c], "thread");
		}
	}
	for (unsigned int c = 0; c < sizeof(of_site) / sizeof(*of_site); c++)
		json_array_foreach(jget(root, "sites"), i, s)
			want_null(t, s, of_site[c], "site");
	json_array_foreach(jget(root, "processes"), i, p) {
		want_null(t, p, "lifetimes", "process");
		want_null(t, p, "peak_at_ns", "process");
		json_array_foreach(jget(p, "sizes"), k, v)
			want_null(t, v, "live_blocks", "sizes");
		json_array_foreach(jget(p, "timeline"), k, v) {
			want_null(t, v, "live_blocks", "timeline");
			want_null(t, v, "live_bytes", "timeline");
		}
	}
}

static void want_sizes_add_up(struct test *t, json_t *process)
{
	uint64_t sum = 0;
	json_t *v;
	size_t i;

	json_array_foreach(jget(process, "sizes"), i, v)
		sum += ju64(t, v, "alloc_calls");
	want_eq(t, "allocations in all size classes", ju64(t, process, "totals.alloc_calls"), sum);
}

static json_t *counted(struct test *t, const char *name, const char *a, const char *b, const char *c, unsigned int checks)
{
	struct fx f;
	json_t *root, *p;

	if (!fixture_there(name))
		skip(t, "no fixture %s was built", name);
	fx__start(t, &f, name, a, b, c, NULL);
	root = trace(t, &f, 0, "--mode", "count", NULL);
	p = process_of(t, root, f.c.pid, 0);
	want_ledger(t, root, p, &f.led, checks | LED_COUNT);
	want_sizes_add_up(t, p);
	want_nulls(t, root);
	fx__quit(t, &f);
	return root;
}

TEST(count_family) { counted(t, "basic", "family", NULL, NULL, LED_STACKS | LED_ONLY); }
TEST(count_big_blocks) { counted(t, "basic", "big", NULL, NULL, LED_STACKS | LED_ONLY); }
TEST(count_static_glibc) { counted(t, "basic.static", "family", NULL, NULL, LED_STACKS | LED_ONLY); }
TEST(count_musl) { counted(t, "basic.musl", "family", NULL, NULL, LED_ONLY); }
TEST(count_no_frame_pointer) { counted(t, "basic.nofp", "family", NULL, NULL, LED_TOTALS); }
TEST(count_cxx) { counted(t, "cxx", "forms", NULL, NULL, LED_ONLY); }
TEST(count_pairs) { counted(t, "basic", "pairs", "100000", NULL, LED_STACKS | LED_ONLY); }

static void preloaded(struct test *t, const char *library, const char *name, const char *what)
{
	struct fx f;
	json_t *root;

	fx__start_preloaded(t, &f, library, name, what);
	root = trace(t, &f, 0, "--mode", "count", NULL);
	want_ledger(t, root, process_of(t, root, f.c.pid, 0), &f.led, LED_ONLY | LED_COUNT);
	fx__quit(t, &f);
}

TEST(count_jemalloc)
{
	preloaded(t, "libjemalloc.so.2", "basic", "common");
	preloaded(t, "libjemalloc.so.2", "cxx", "forms");
}

TEST(count_mimalloc)
{
	preloaded(t, "libmimalloc.so.2.0", "basic", "common");
	/* pvalloc rounds up, and ends by jumping to another function */
	preloaded(t, "libmimalloc.so.2.0", "basic", "family");
}

TEST(count_tcmalloc)
{
	preloaded(t, "libtcmalloc_minimal.so.4", "basic", "common");
	preloaded(t, "libtcmalloc_minimal.so.4", "basic", "family");
}

/* A realloc asks once, whatever the allocator does to answer it; realloc(p, 0) frees and asks for nothing. */
TEST(count_realloc) { counted(t, "basic", "reallocs", NULL, NULL, LED_STACKS | LED_ONLY); }

/* What realloc(p, 0) does follows the allocator: some hand out a block. */
TEST(count_realloc_musl) { counted(t, "basic.musl", "reallocs", NULL, NULL, LED_ONLY); }
TEST(count_realloc_jemalloc) { preloaded(t, "libjemalloc.so.2", "basic", "reallocs"); }
TEST(count_realloc_tcmalloc) { preloaded(t, "libtcmalloc_minimal.so.4", "basic", "reallocs"); }
TEST(count_realloc_mimalloc) { preloaded(t, "libmimalloc.so.2.0", "basic", "reallocs"); }

TEST(count_threads)
{
	json_t *root = counted(t, "threads", "cross", "20000", "8", LED_STACKS | LED_ONLY), *v;
	uint64_t calls = 0, bytes = 0, reallocs = 0;
	size_t i;

	json_array_foreach(jget(root, "processes[0].threads"), i, v) {
		calls += ju64(t, v, "totals.alloc_calls");
		bytes += ju64(t, v, "totals.alloc_bytes");
		reallocs += ju64(t, v, "totals.realloc_calls");
	}
	want_u64(t, root, "totals.alloc_calls", calls);
	want_u64(t, root, "totals.alloc_bytes", bytes);
	want_u64(t, root, "totals.realloc_calls", reallocs);
}

/* With no return to end a call, each one must be told from those before it by its place on the stack alone. */
TEST(count_recursion) { counted(t, "basic", "recursion", NULL, NULL, LED_STACKS | LED_ONLY); }

/*
 * Calls are counted where they begin: those that fail are among them, if they
 * ask for what a machine could have. Here posix_memalign is called with a bad
 * alignment, and all others ask for half of the address space and more.
 */
TEST(count_calls_that_fail)
{
	struct fx f;
	json_t *root, *p;

	fx__start(t, &f, "basic", "failures", NULL);
	root = trace(t, &f, 0, "--mode", "count", NULL);
	p = process_of(t, root, f.c.pid, 0);
	for (unsigned int i = 0; i < f.led.n; i++) {
		const struct led_site *s = &f.led.site[i];
		char what[100];

		snprintf(what, sizeof(what), "calls of %s", s->name);
		want_eq(t, what, s->v[LED_ALLOC_CALLS], site_sum(t, root, p, s->name, "alloc_calls"));
		snprintf(what, sizeof(what), "bytes of %s", s->name);
		want_eq(t, what, s->v[LED_ALLOC_BYTES], site_sum(t, root, p, s->name, "alloc_bytes"));
	}
	want_u64(t, p, "totals.alloc_calls", ledger__sum(&f.led, LED_ALLOC_CALLS));
	fx__quit(t, &f);
}

/* Calls inside calls, through an allocator of the program's own; a thousand of its reallocs, of 1000 bytes each, fail. */
TEST(count_nested_calls)
{
	struct fx f;
	json_t *root;

	fx__start(t, &f, "custom", "nested", "1000", NULL);
	root = trace(t, &f, 0, "--mode", "count", "-O", fixture("liballoc.so"), "--sym", "malloc=my_alloc", "--sym", "calloc=my_calloc",
		     "--sym", "realloc=my_realloc", "--sym", "free=my_free", NULL);
	for (unsigned int i = 0; i < f.led.n; i++) {
		struct led_site *s = &f.led.site[i];

		if (strcmp(s->name, "site_my_realloc"))
			continue;
		want_eq(t, "calls that failed", 1000, s->v[LED_FAILED_CALLS]);
		s->v[LED_ALLOC_CALLS] += 1000;
		s->v[LED_REALLOC_CALLS] += 1000;
		s->v[LED_ALLOC_BYTES] += 1000 * 1000;
		s->v[LED_MAX_SIZE] = 1000;
	}
	want_ledger(t, root, process_of(t, root, f.c.pid, 0), &f.led, LED_STACKS | LED_ONLY | LED_COUNT);
	fx__quit(t, &f);
}

TEST(count_size_range)
{
	struct fx f;
	json_t *root;

	fx__start(t, &f, "basic", "sizes", NULL);	/* one block of each size 1..1000 */
	root = trace(t, &f, 0, "--mode", "count", "--min-size", "100", "--max-size", "200", NULL);
	want_u64(t, root, "totals.alloc_calls", 101);
	want_u64(t, root, "totals.alloc_bytes", (100 + 200) * 101 / 2);
	fx__quit(t, &f);
}

/* The report and the folded file weigh what there is. */
TEST(count_text)
{
	const char *folded = in_dir(t, "calls.folded");
	struct fx f;
	struct mt m;
	char *text;

	fx__start(t, &f, "basic", "hundred", "1000", NULL);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "--mode", "count", "-o", folded, "--full", NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &f);
	mt__stop(t, &m, SIGINT, 0);
	want(t, strstr(m.c.outs.s, "not recorded (--mode count)"), "'not recorded (--mode count)', wanted in: %.300s", m.c.outs.s);
	want(t, strstr(m.c.outs.s, "1,000 allocation calls"), "'1,000 allocation calls', wanted in: %.300s", m.c.outs.s);
	want(t, strstr(m.c.outs.s, "ALLOCATIONS by calls (1 of 1 site"), "a table of allocations, wanted in: %.600s", m.c.outs.s);
	want(t, !strstr(m.c.outs.s, "LIVE") && !strstr(m.c.outs.s, " freed") && !strstr(m.c.outs.s, " temp"),
	     "nothing about frees, wanted in: %.600s", m.c.outs.s);
	text = read_all(folded, NULL);
	want(t, text && strstr(text, ";hold_here 100000\n"), "'hold_here 100000', wanted in %s: %.300s", folded, text ? text : "(nothing)");
	fx__quit(t, &f);
}
