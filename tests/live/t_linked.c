// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Allocators that are linked into programs and libraries under a prefix, found unasked; and mimalloc's own functions. */
#include "lt.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>

/* A program with two allocators: the sites of both, and nothing else. */
static void linked(struct test *t, const char *name, unsigned int checks)
{
	struct fx f;
	json_t *root;

	fx__start(t, &f, name, "3000", NULL);
	root = trace(t, &f, 0, NULL);
	want_ledger(t, root, process_of(t, root, f.c.pid, 0), &f.led, checks);
	fx__quit(t, &f);
}

TEST(linked_prefix) { linked(t, "linked", LED_ALL); }
TEST(linked_prefix_nofp) { linked(t, "linked.nofp", LED_TOTALS | LED_TEMP | LED_REALLOC | LED_PEAK); }
TEST(linked_prefix_static) { linked(t, "linked.static", LED_ALL); }
TEST(linked_in_library) { linked(t, "hidden", LED_ALL); }

/* From its first instruction. */
TEST(linked_own_child)
{
	const char *file = in_dir(t, "ledger");
	struct ledger *led = calloc(1, sizeof(*led));
	struct mt m;
	json_t *root;
	char *text;

	mt__start(t, &m, "--json", "--", fixture("linked"), "--auto", file, "3000", NULL);
	root = mt__stop_json(t, &m, 0, 0);
	text = read_all(file, NULL);
	must(t, text && ledger__parse(led, text), "no ledger");
	want_lossless(t, root);
	want_ledger(t, root, jget(root, "processes[0]"), led, LED_STACKS | LED_TEMP | LED_REALLOC);
	free(text);
	free(led);
}

/* --mode count sees entries alone. */
TEST(linked_count)
{
	struct fx f;
	json_t *root;

	fx__start(t, &f, "linked", "3000", NULL);
	root = trace(t, &f, 0, "--mode", "count", NULL);
	/* the calls that fail are calls there */
	want_u64(t, root, "totals.alloc_calls", ledger__sum(&f.led, LED_ALLOC_CALLS) + ledger__sum(&f.led, LED_FAILED_CALLS));
	fx__quit(t, &f);
}

/* ---- mimalloc */

TEST(linked_mimalloc_strings)
{
	struct fx f;
	json_t *root;

	fx__start_preloaded(t, &f, "libmimalloc.so.2.0", "mimalloc", "strings");
	root = trace(t, &f, 0, NULL);
	want_ledger(t, root, process_of(t, root, f.c.pid, 0), &f.led, LED_ALL);
	fx__quit(t, &f);
}

TEST(linked_mimalloc_strings_count)
{
	struct fx f;
	json_t *root;

	fx__start_preloaded(t, &f, "libmimalloc.so.2.0", "mimalloc", "strings");
	root = trace(t, &f, 0, "--mode", "count", NULL);
	want_u64(t, root, "totals.alloc_calls", ledger__sum(&f.led, LED_ALLOC_CALLS));
	want_u64(t, root, "totals.alloc_bytes", ledger__sum(&f.led, LED_ALLOC_BYTES));
	fx__quit(t, &f);
}

TEST(linked_mimalloc_heap_deleted)
{
	struct fx f;
	json_t *root;

	fx__start_preloaded(t, &f, "libmimalloc.so.2.0", "mimalloc", "delete");
	root = trace(t, &f, 0, NULL);
	want_ledger(t, root, process_of(t, root, f.c.pid, 0), &f.led, LED_STACKS | LED_TEMP | LED_REALLOC);
	fx__quit(t, &f);
}

/* Which blocks went with a heap cannot be known: that is told, and is no silence. */
TEST(linked_mimalloc_heap_destroyed)
{
	struct fx f;
	json_t *root;

	fx__start_preloaded(t, &f, "libmimalloc.so.2.0", "mimalloc", "destroy");
	root = trace(t, &f, 3, NULL);
	want_u64(t, root, "losses.heap_destroyed", 10);
	want_eq(t, "calls on the heaps", 200, site_sum(t, root, process_of(t, root, f.c.pid, 0), "on_heap", "alloc_calls"));
	fx__quit(t, &f);
}

/* ---- jemalloc */

static void arenas(struct test *t, const char *what, uint64_t lost)
{
	struct fx f;
	json_t *root;

	fx__start_preloaded(t, &f, "libjemalloc.so.2", "jemalloc", what);
	root = trace(t, &f, lost ? 3 : 0, NULL);
	want_u64(t, root, "losses.heap_destroyed", lost);
	want_u64(t, root, "losses.total", lost);
	want_ledger(t, root, process_of(t, root, f.c.pid, 0), &f.led, LED_STACKS | LED_TEMP);
	fx__quit(t, &f);
}

TEST(linked_jemalloc_arena_destroyed) { arenas(t, "destroy", 10); }
TEST(linked_jemalloc_arena_reset) { arenas(t, "reset", 10); }
TEST(linked_jemalloc_arena_purged) { arenas(t, "purge", 0); }

/* By its other names, and whatever it is asked for. */
TEST(linked_prefix_arena_reset)
{
	struct fx f;
	json_t *root;

	fx__start(t, &f, "linked", "30", "resets", NULL);
	root = trace(t, &f, 3, NULL);
	want_u64(t, root, "losses.heap_destroyed", 3);
	want_u64(t, root, "losses.total", 3);
	fx__quit(t, &f);
}

/* ---- a trace that sees nothing says so */

/* An allocator that nobody has heard of: what was probed, and what could be. */
TEST(linked_blind)
{
	const char *file = in_dir(t, "prof.json");
	struct mt m;
	struct fx f;
	json_t *root;

	fx__start(t, &f, "linked.unknown", "3000", "own", NULL);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "--batch", "-o", file, NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &f);
	fx__quit(t, &f);
	mt__stop(t, &m, 0, 0);
	root = load_json(t, file);
	want_u64(t, root, "processes[0].probe_hits", 0);
	want_bool(t, root, "processes[0].blind.idle", false);
	want(t, strstr(jstr(root, "processes[0].blind.probed"), " in libc.so.6"), "probed: %s", jstr(root, "processes[0].blind.probed"));
	want(t, strstr(jstr(root, "processes[0].blind.candidates"), "shop_malloc and shop_free in linked.unknown (--prefix shop_)"),
	     "candidates: %s", jstr(root, "processes[0].blind.candidates"));
	want(t, strstr(m.c.outs.s, "BLIND  linked.unknown"), "the report does not say that nothing was seen:\n%s", m.c.outs.s);
	want(t, !strstr(m.c.outs.s, "losses none"), "the report calls that no loss:\n%s", m.c.outs.s);
}

/* What the report says to type is right. */
TEST(linked_blind_no_more)
{
	struct fx f;
	json_t *root;

	fx__start(t, &f, "linked.unknown", "3000", NULL);
	root = trace(t, &f, 0, "--prefix", "shop_", NULL);
	want_ledger(t, root, process_of(t, root, f.c.pid, 0), &f.led, LED_ALL);
	want(t, json_is_null(jget(root, "processes[0].blind")), "calls were seen");
	fx__quit(t, &f);
}

/* One that hardly runs has nothing to be seen, and is not called blind. */
TEST(linked_idle)
{
	const char *file = in_dir(t, "prof.json");
	struct mt m;
	struct fx f;
	json_t *root;

	fx__start(t, &f, "linked.unknown", "idle", NULL);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "--batch", "-o", file, NULL);
	mt__wait_attached(t, &m);
	/* it is woken, for some microseconds */
	must(t, !kill(f.c.pid, SIGSTOP) && waitpid(f.c.pid, NULL, WUNTRACED) == f.c.pid, "SIGSTOP");
	must(t, !kill(f.c.pid, SIGCONT) && waitpid(f.c.pid, NULL, WCONTINUED) == f.c.pid, "SIGCONT");
	mt__stop(t, &m, SIGINT, 0);
	root = load_json(t, file);
	want_bool(t, root, "processes[0].blind.idle", true);
	want(t, ju64(t, root, "processes[0].blind.cpu_ns") > 0, "CPU time, wanted some");
	want(t, strstr(m.c.outs.s, "hardly ran") && !strstr(m.c.outs.s, "BLIND"), "the report:\n%s", m.c.outs.s);
	fx__quit(t, &f);
}

/* A program that malloctrace starts, over within milliseconds. */
TEST(linked_blind_own_child)
{
	struct mt m;
	json_t *root;

	mt__start(t, &m, "--json", "--", fixture("linked.unknown"), "--auto", in_dir(t, "ledger"), "3000", "own", NULL);
	root = mt__stop_json(t, &m, 0, 0);
	want_bool(t, root, "processes[0].blind.idle", false);
	want(t, strstr(jstr(root, "processes[0].blind.candidates"), "--prefix shop_"), "candidates: %s",
	     jstr(root, "processes[0].blind.candidates"));
}
