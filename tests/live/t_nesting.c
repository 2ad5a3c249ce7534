// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Calls inside of calls, and those that only look so; frees that the allocator makes
 * for itself; pointers with tags; a thread that dies in realloc. Each against the program's own account.
 */
#include "lt.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

/* ---- a wrapper that sometimes ends by jumping to malloc */

static void tails(struct test *t, const char *name, unsigned int checks, const char *option, const char *value)
{
	struct fx f;
	json_t *root;

	fx__start(t, &f, name, "tails", "1000", NULL);
	root = trace(t, &f, 0, option, value, NULL);
	want_ledger(t, root, process_of(t, root, f.c.pid, 0), &f.led, LED_TOTALS | checks);
	want_u64(t, root, "edges.abandoned", 0);
	fx__quit(t, &f);
}

TEST(nesting_tails_count) { tails(t, "nesting", LED_COUNT, "--mode", "count"); }
TEST(nesting_tails_count_nofp) { tails(t, "nesting.nofp", LED_COUNT, "--mode", "count"); }
TEST(nesting_tails_full) { tails(t, "nesting", LED_TEMP | LED_PEAK, NULL, NULL); }
TEST(nesting_tails_full_nofp) { tails(t, "nesting.nofp", LED_TEMP | LED_PEAK, NULL, NULL); }
TEST(nesting_tails_static) { tails(t, "nesting.static", LED_COUNT, "--mode", "count"); }

/* Other allocators' functions, which the program does not know of. */
static void tails_preloaded(struct test *t, const char *library)
{
	char env[300];
	struct spawn s = { .argv = { fixture("nesting"), "tails", "1000" }, .env = { env } };
	struct fx f;
	json_t *root;

	snprintf(env, sizeof(env), "LD_PRELOAD=%s", library);
	fx__start_as(t, &f, &s);
	if (strstr(f.c.errs.s, "cannot be preloaded"))
		skip(t, "no library %s", library);
	root = trace(t, &f, 0, "--mode", "count", NULL);
	want_ledger(t, root, process_of(t, root, f.c.pid, 0), &f.led, LED_TOTALS | LED_COUNT);
	fx__quit(t, &f);
}

TEST(nesting_tails_jemalloc) { tails_preloaded(t, "libjemalloc.so.2"); }
TEST(nesting_tails_tcmalloc) { tails_preloaded(t, "libtcmalloc_minimal.so.4"); }
TEST(nesting_tails_mimalloc) { tails_preloaded(t, "libmimalloc.so.2.0"); }

/* ---- a malloc with a header, around libc's */

static void headers(struct test *t, const char *library, const char *name, unsigned int checks, const char *option, const char *value)
{
	char env[300];
	struct spawn s = { .argv = { fixture(name), "headers", "2000" }, .env = { env } };
	struct fx f;
	json_t *root;

	snprintf(env, sizeof(env), "LD_PRELOAD=%s", fixture(library));
	fx__start_as(t, &f, &s);
	root = trace(t, &f, 0, option, value, NULL);
	want_ledger(t, root, process_of(t, root, f.c.pid, 0), &f.led, checks);
	want_u64(t, root, "edges.abandoned", 0);
	if (!option) {
		want_u64(t, root, "totals.unknown_frees", 0);
		want_u64(t, root, "edges.own_frees", ledger__note(t, &f.led, "own_frees"));
	}
	fx__quit(t, &f);
}

TEST(nesting_headers) { headers(t, "libheader.so", "nesting", LED_ALL, NULL, NULL); }
TEST(nesting_headers_nofp) { headers(t, "libheader.nofp.so", "nesting.nofp", LED_TOTALS | LED_TEMP | LED_REALLOC | LED_PEAK, NULL, NULL); }
/* the program keeps frame pointers, the allocator does not */
TEST(nesting_headers_mixed) { headers(t, "libheader.nofp.so", "nesting", LED_ALL & ~LED_STACKS, NULL, NULL); }
TEST(nesting_headers_count) { headers(t, "libheader.so", "nesting", LED_ONLY | LED_COUNT, "--mode", "count"); }
TEST(nesting_headers_count_nofp) { headers(t, "libheader.nofp.so", "nesting.nofp", LED_TOTALS | LED_COUNT, "--mode", "count"); }

/* ---- what the allocator frees for itself */

/* Traced from the first instruction, nothing is older than the trace. */
static void threads_end(struct test *t, const char *name)
{
	const char *path = in_dir(t, "ledger");
	static struct ledger led;
	struct mt m;
	json_t *root, *p;
	char *text;

	mt__start(t, &m, "--json", "--", fixture(name), "--auto", path, "threads", "50", NULL);
	mt__wait_attached(t, &m);
	root = mt__stop_json(t, &m, 0, 0);
	text = read_all(path, NULL);
	must(t, text && ledger__parse(&led, text), "the ledger in %s cannot be read", path);
	p = jget(root, "processes[0]");
	want_u64(t, root, "totals.unknown_frees", 0);
	want_u64(t, root, "edges.own_frees", ledger__note(t, &led, "own_frees"));
	want_eq(t, "blocks of the threads", ledger__sum(&led, LED_ALLOC_CALLS), site_sum(t, root, p, "cached", "alloc_calls"));
	want_eq(t, "their frees", ledger__sum(&led, LED_FREE_CALLS), site_sum(t, root, p, "cached", "free_calls"));
}

TEST(nesting_threads_end) { threads_end(t, "nesting"); }
TEST(nesting_threads_end_static) { threads_end(t, "nesting.static"); }

/* What libc frees for the program is the program's. */
static void older(struct test *t, const char *name)
{
	struct fx f;
	json_t *root;

	fx__start(t, &f, name, "older", NULL);
	root = trace(t, &f, 0, NULL);
	want_u64(t, root, "totals.unknown_frees", 3);
	want_u64(t, root, "totals.free_calls", 0);
	want_u64(t, root, "edges.own_frees", ledger__note(t, &f.led, "own_frees"));
	fx__quit(t, &f);
}

TEST(nesting_older_blocks) { older(t, "nesting"); }
TEST(nesting_older_blocks_static) { older(t, "nesting.static"); }

/* ---- an allocator of the program's own */

static json_t *own(struct test *t, struct fx *f, const char *name, const char *what, unsigned int checks)
{
	json_t *root;

	fx__start(t, f, name, what, "300", NULL);
	root = trace(t, f, 0, "-O", fixture(name), "--sym", "malloc=nest_malloc", "--sym", "calloc=nest_calloc", "--sym",
		     "posix_memalign=nest_posix_memalign", "--sym", "realloc=nest_realloc", "--sym", "free=nest_free", NULL);
	want_ledger(t, root, process_of(t, root, f->c.pid, 0), &f->led, checks);
	return root;
}

TEST(nesting_tagged_pointers)
{
	struct fx f;
	json_t *root = own(t, &f, "nesting", "tagged", LED_ALL);

	want_u64(t, root, "totals.unknown_frees", 0);
	fx__quit(t, &f);
}

/* The old block was freed, and its address is that of a block of another thread, which frees it. */
TEST(nesting_dies_in_realloc)
{
	struct fx f;
	json_t *root = own(t, &f, "nesting", "dies", LED_TOTALS);

	want_u64(t, root, "edges.died_inside", 1);
	want_u64(t, root, "totals.unknown_frees", 0);
	fx__quit(t, &f);
}
