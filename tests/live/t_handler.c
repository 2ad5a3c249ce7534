// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Signal handlers that allocate while their thread is inside of malloc: the fixture is handler.c. */
#include "lt.h"

#include <stdlib.h>

static json_t *handler(struct test *t, struct fx *f, const char *name, const char *what, int status, const char *option, const char *value)
{
	json_t *root;

	fx__start(t, f, name, what, what[0] == 'd' ? "7" : "100", NULL);
	root = trace(t, f, status, option, value, NULL);
	return root;
}

/* All of it, the handler's and what it has interrupted. */
static void exact(struct test *t, const char *name, const char *what, unsigned int checks, const char *option, const char *value)
{
	struct fx f;
	json_t *root = handler(t, &f, name, what, 0, option, value);

	want_ledger(t, root, process_of(t, root, f.c.pid, 0), &f.led, checks);
	want_u64(t, root, "edges.abandoned", 0);
	if (!(checks & LED_COUNT))
		want_u64(t, root, "edges.own_frees", 0);
	fx__quit(t, &f);
}

TEST(handler_trap) { exact(t, "handler", "trap", LED_ALL, NULL, NULL); }
TEST(handler_trap_nofp) { exact(t, "handler.nofp", "trap", LED_TOTALS | LED_PEAK | LED_REALLOC, NULL, NULL); }
TEST(handler_trap_tables) { exact(t, "handler", "trap", LED_ALL, "--unwind", "table"); }
TEST(handler_trap_plain) { exact(t, "handler", "trap", LED_ALL, "--points", "plain"); }
TEST(handler_trap_free_stacks) { exact(t, "handler", "trap", LED_ALL, "--free-stacks", NULL); }
TEST(handler_trap_count) { exact(t, "handler", "trap", LED_TOTALS | LED_COUNT, "--mode", "count"); }
TEST(handler_stack) { exact(t, "handler", "stack", LED_ALL, NULL, NULL); }
TEST(handler_stack_nofp) { exact(t, "handler.nofp", "stack", LED_TOTALS | LED_PEAK | LED_REALLOC, NULL, NULL); }

/*
 * Its stack lies above what it has interrupted. There the kernel forgets a uretprobe that is pending below (docs/SECURITY.md,
 * "Other tracers"), whoever has set it, and the program dies of that: so without any.
 */
static void above(struct test *t, const char *name, unsigned int checks)
{
	struct fx f;
	json_t *root;

	setenv("MALLOCTRACE_RETURNS", "insns", 1);
	root = handler(t, &f, name, "above", 0, NULL, NULL);
	want_ledger(t, root, process_of(t, root, f.c.pid, 0), &f.led, checks);
	want_u64(t, root, "totals.unknown_frees", f.led.unknown_frees);
	want_u64(t, root, "edges.abandoned", 0);
	fx__quit(t, &f);
}

/* Another trace of libc would set uretprobes in it, too. */
TEST_ALONE(handler_above) { above(t, "handler", LED_ALL); }
TEST_ALONE(handler_above_nofp) { above(t, "handler.nofp", LED_TOTALS | LED_PEAK | LED_REALLOC); }

/* What the handler has jumped out of is left, and nothing else. */
TEST(handler_jump)
{
	struct fx f;
	json_t *root = handler(t, &f, "handler", "jump", 0, NULL, NULL);

	want_ledger(t, root, process_of(t, root, f.c.pid, 0), &f.led, LED_TOTALS);
	/* the last one is not known to be left: nothing comes after it */
	want_u64(t, root, "edges.abandoned", 99);
	want_u64(t, root, "edges.inside_at_end", 1);
	fx__quit(t, &f);
}

/* A realloc that was left is not what returns later from where it was called, where malloc's entry is not probed. */
TEST(handler_jump_leak)
{
	json_t *root;
	struct fx f;

	fx__start(t, &f, "handler", "--usable", "jump-realloc", "100", NULL);
	root = trace(t, &f, 0, "--mode", "leak", NULL);
	want_ledger(t, root, process_of(t, root, f.c.pid, 0), &f.led, LED_STACKS | LED_ONLY);
	want_u64(t, root, "edges.abandoned", 1);
	fx__quit(t, &f);
}

/* Four calls can wait for handlers; what is made while they all do is told as not seen. */
TEST(handler_deep)
{
	/* of malloc and of realloc, with seven handlers, each of which allocates, and six of which are interrupted in that */
	enum { CALLS = 2 * (1 + 7 + 6), LOST = 2 * (3 + 2) };
	struct fx f;
	json_t *root = handler(t, &f, "handler", "deep", 3, NULL, NULL);

	want_eq(t, "calls made", CALLS, ledger__sum(&f.led, LED_ALLOC_CALLS));
	want_u64(t, root, "losses.inflight_full", LOST);
	want_u64(t, root, "losses.total", LOST);
	want_u64(t, root, "totals.alloc_calls", CALLS - LOST);
	want_u64(t, root, "edges.abandoned", 0);
	fx__quit(t, &f);
}

/* The thread ends in the midst of it, and realloc's old block lives on. */
TEST(handler_dies)
{
	struct fx f;
	json_t *root = handler(t, &f, "handler", "dies", 0, NULL, NULL);

	/* pthread_create allocates, too */
	want_ledger(t, root, process_of(t, root, f.c.pid, 0), &f.led, LED_STACKS | LED_REALLOC);
	want_u64(t, root, "edges.died_inside", 2);
	want_u64(t, root, "edges.abandoned", 0);
	fx__quit(t, &f);
}
