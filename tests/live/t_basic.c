// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* One thread and the malloc family: every figure of every site equals the fixture's own. */
#include "lt.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

/* Attach, work, detach, compare; the fixture must live on and end well. */
static json_t *exact(struct test *t, const char *fixture_name, const char *what, unsigned int checks)
{
	struct fx f;
	json_t *root;

	fx__start(t, &f, fixture_name, what, NULL);
	root = trace(t, &f, 0, NULL);
	want_ledger(t, root, process_of(t, root, f.c.pid, 0), &f.led, checks);
	want_bool(t, root, "processes[0].ended", false);
	fx__quit(t, &f);
	return root;
}

TEST(basic_family) { exact(t, "basic", "family", LED_ALL); }
TEST(basic_realloc) { exact(t, "basic", "reallocs", LED_ALL); }
TEST(basic_failures) { exact(t, "basic", "failures", LED_ALL); }
TEST(basic_big_blocks) { exact(t, "basic", "big", LED_ALL); }
TEST(basic_recursion) { exact(t, "basic", "recursion", LED_ALL); }
TEST(basic_sizes) { exact(t, "basic", "sizes", LED_ALL); }
TEST(basic_unknown_frees) { exact(t, "basic", "unknown", LED_ALL); }

/* By the sites of each function; a key where there are any. A realloc to zero bytes that frees its block is no allocation. */
static void zeros(struct test *t, const char *extra, const char *value)
{
	static const char *const functions[] = { "site_malloc", "site_calloc", "site_realloc", "site_posix_memalign",
						 "leak_here", "realloc_zero" };
	uint64_t sum[sizeof(functions) / sizeof(*functions)] = {};
	bool is_known = !value;
	json_t *root, *site;
	struct fx f;
	size_t i;

	fx__start(t, &f, "basic", "zeros", NULL);
	root = trace(t, &f, 0, extra, value, NULL);
	if (is_known)
		want_ledger(t, root, process_of(t, root, f.c.pid, 0), &f.led, LED_ALL);
	json_array_foreach(jget(root, "sites"), i, site)
		for (size_t k = 0; jget(site, "zero_calls") && k < sizeof(sum) / sizeof(*sum); k++) {
			want(t, ju64(t, site, "zero_calls") > 0, "wanted a key only where there are any");
			sum[k] += strcmp(jstr(site, "stack[0].function"), functions[k]) ? 0 : ju64(t, site, "zero_calls");
		}
	want(t, i > 0, "sites, wanted some");
	for (size_t k = 0; k < sizeof(sum) / sizeof(*sum); k++)
		want_eq(t, functions[k], is_known ? ledger__note(t, &f.led, functions[k]) : 0, sum[k]);
	fx__quit(t, &f);
}

TEST(basic_zero_calls) { zeros(t, NULL, NULL); }
TEST(basic_zero_calls_with_free_stacks) { zeros(t, "--free-stacks", NULL); }
TEST(basic_zero_calls_of_samples) { zeros(t, "--sample", "1"); }
TEST(basic_zero_calls_of_usable_sizes) { zeros(t, "--size", "usable"); }

/* The same code in other clothes. Without frame pointers stacks may be short, figures may not. */
static const char *const whats[] = { "family", "reallocs", "failures", "big", "unknown" };

static void exact_all(struct test *t, const char *name, unsigned int checks)
{
	if (!fixture_there(name))
		skip(t, "no fixture %s was built", name);
	for (unsigned int i = 0; i < sizeof(whats) / sizeof(*whats); i++)
		exact(t, name, whats[i], checks);
}

TEST(basic_no_frame_pointer) { exact_all(t, "basic.nofp", LED_TOTALS | LED_TEMP | LED_REALLOC | LED_PEAK); }
TEST(basic_static_glibc) { exact_all(t, "basic.static", LED_ALL); }
TEST(basic_musl) { exact_all(t, "basic.musl", LED_ALL & ~LED_STACKS); }
TEST(basic_musl_static) { exact_all(t, "basic.musl-static", LED_ALL & ~LED_STACKS); }

static void preloaded(struct test *t, const char *library)
{
	static const char *const common[] = { "common", "reallocs", "failures", "big", "unknown" };

	for (unsigned int i = 0; i < sizeof(common) / sizeof(*common); i++) {
		struct fx f;
		json_t *root;

		fx__start_preloaded(t, &f, library, "basic", common[i]);
		root = trace(t, &f, 0, NULL);
		want_ledger(t, root, process_of(t, root, f.c.pid, 0), &f.led, LED_ONLY | LED_TEMP | LED_REALLOC | LED_PEAK);
		fx__quit(t, &f);
	}
}

TEST(basic_jemalloc) { preloaded(t, "libjemalloc.so.2"); }
TEST(basic_tcmalloc) { preloaded(t, "libtcmalloc_minimal.so.4"); }
TEST(basic_mimalloc) { preloaded(t, "libmimalloc.so.2.0"); }

TEST(size_range)
{
	struct fx f;
	json_t *root, *p;

	fx__start(t, &f, "basic", "sizes", NULL);	/* one block of each size 1..1000; even ones are freed */
	root = trace(t, &f, 0, "--min-size", "100", "--max-size", "200", NULL);
	p = jget(process_of(t, root, f.c.pid, 0), "totals");
	want_u64(t, p, "alloc_calls", 101);
	want_u64(t, p, "alloc_bytes", (100 + 200) * 101 / 2);
	want_u64(t, p, "free_calls", 51);
	want_u64(t, p, "live_blocks", 50);
	want_u64(t, p, "live_bytes", (101 + 199) * 50 / 2);
	want_u64(t, root, "sites[0].min_size", 100);
	want_u64(t, root, "sites[0].max_size", 200);
	fx__quit(t, &f);
}

/* A table that is too small: what found no room is counted as lost, and leaves no phantom. */
TEST(live_table_full)
{
	const uint64_t n = 100000;
	struct spawn s = { 0 };
	struct fx f;
	struct mt m;
	json_t *root;

	fx__start(t, &f, "basic", "hold", "100000", NULL);
	s = (struct spawn){ .argv = { lt_bin, "-p", pid_arg(f.c.pid), "--json", "--max-live", "1000" } };
	mt__start_v(t, &m, &s);
	mt__wait_attached(t, &m);
	fx__go(t, &f);		/* holds all */
	fx__go(t, &f);		/* freed all */
	root = mt__stop_json(t, &m, SIGINT, 3);
	want(t, ju64(t, root, "losses.live_full") > 0, "losses.live_full, wanted more than 0, got 0");
	want(t, ju64(t, root, "totals.alloc_calls") >= 1000, "totals.alloc_calls, wanted room for at least 1000");
	want_eq(t, "alloc_calls + losses.live_full", n, ju64(t, root, "totals.alloc_calls") + ju64(t, root, "losses.live_full"));
	want_u64(t, root, "losses.total", ju64(t, root, "losses.live_full"));
	want_u64(t, root, "totals.live_blocks", 0);
	want_u64(t, root, "totals.live_bytes", 0);
	want_scan(t, root);
	fx__quit(t, &f);
}

TEST(live_table_full_while_held)
{
	struct fx f;
	json_t *root;

	fx__start(t, &f, "basic", "hold", "100000", NULL);
	root = trace(t, &f, 3, "--max-live", "1000", NULL);
	want_eq(t, "live_blocks + losses.live_full", 100000, ju64(t, root, "totals.live_blocks") + ju64(t, root, "losses.live_full"));
	fx__quit(t, &f);
}

/* Stacks that find no room keep their blocks, charged to an empty stack. */
TEST(stack_table_full)
{
	uint64_t lost, kept = 0;
	struct fx f;
	json_t *root, *s;
	size_t i;

	fx__start(t, &f, "basic", "stacks", "10000", NULL);
	root = trace(t, &f, 3, "--max-stacks", "64", NULL);
	lost = ju64(t, root, "losses.stack_full") + ju64(t, root, "losses.site_full");
	want(t, lost > 0, "losses.stack_full + losses.site_full, wanted more than 0, got 0");
	want_ledger(t, root, process_of(t, root, f.c.pid, 0), &f.led, LED_TOTALS | LED_TEMP | LED_REALLOC | LED_PEAK);
	json_array_foreach(jget(root, "sites"), i, s)
		if (json_array_size(jget(s, "stack")) == 0)
			kept += ju64(t, s, "live_blocks");
	want_eq(t, "blocks charged to an empty stack", lost, kept);
	fx__quit(t, &f);
}

/* A call that finds no room for its stack nor for its block is charged to nothing, and lost once. */
TEST(both_tables_full)
{
	uint64_t stackless, lost, kept = 0;
	struct fx f;
	json_t *root, *p, *s;
	size_t i;

	fx__start(t, &f, "basic", "stacks", "10000", NULL);
	root = trace(t, &f, 3, "--max-stacks", "64", "--max-live", "1000", NULL);
	p = process_of(t, root, f.c.pid, 0);
	lost = ju64(t, root, "losses.live_full");
	stackless = ju64(t, root, "losses.stack_full") + ju64(t, root, "losses.site_full");
	want(t, lost > 0 && stackless > 0, "losses: %llu of blocks and %llu of stacks, wanted some of each", (unsigned long long)lost, (unsigned long long)stackless);
	want_eq(t, "alloc_calls + losses.live_full", 10000, ju64(t, root, "totals.alloc_calls") + lost);
	json_array_foreach(jget(root, "sites"), i, s)
		if (json_array_size(jget(s, "stack")) == 0)
			kept += ju64(t, s, "alloc_calls");
	want_eq(t, "calls charged to an empty stack", stackless, kept);
	want_u64(t, root, "losses.total", lost + stackless);
	want_u64(t, p, "lost_blocks", lost);
	want_u64(t, p, "lost_stacks", stackless);
	fx__quit(t, &f);
}

/* "Room for at least N" is a promise for N itself. */
TEST(stack_table_suffices)
{
	struct fx f;
	json_t *root;

	fx__start(t, &f, "basic", "stacks", "10000", NULL);
	root = trace(t, &f, 0, "--max-stacks", "10000", NULL);
	want_eq(t, "distinct stacks", 10000, json_array_size(jget(root, "sites")));
	want_ledger(t, root, process_of(t, root, f.c.pid, 0), &f.led, LED_ALL & ~LED_PEAK);
	fx__quit(t, &f);
}

TEST(depth_cut)
{
	struct fx f;
	json_t *root;

	fx__start(t, &f, "basic", "stacks", "100", NULL);
	root = trace(t, &f, 0, "--depth", "3", NULL);
	want_ledger(t, root, process_of(t, root, f.c.pid, 0), &f.led, LED_ONLY);
	want_eq(t, "frames kept", 3, json_array_size(jget(root, "sites[0].stack")));
	want(t, ju64(t, root, "stacks.depth") > 0, "stacks.depth, wanted more than 0, got 0");
	fx__quit(t, &f);
}

/* Counts and bytes beyond 24 and 32 bits at one site. */
TEST_LIMIT(counts_beyond_24_bits, 900)
{
	const uint64_t n = scaled((1u << 24) + 77);
	char text[24];
	struct fx f;
	json_t *root;

	snprintf(text, sizeof(text), "%llu", (unsigned long long)n);
	fx__start(t, &f, "basic", "pairs", text, NULL);
	root = trace(t, &f, 0, NULL);
	want_ledger(t, root, process_of(t, root, f.c.pid, 0), &f.led, LED_ALL);
	want_u64(t, root, "sites[0].alloc_calls", n);
	want_u64(t, root, "sites[0].free_bytes", n * 1000);
	want_u64(t, root, "sites[0].temp_calls", n);
	fx__quit(t, &f);
}
