// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* What ends or interrupts a call in the middle is right with the chosen points and with plain ones; wrong points are noticed. */
#include "lt.h"

#include <signal.h>
#include <string.h>

static json_t *custom(struct test *t, const char *points, const char *what, const char *n, unsigned int checks)
{
	struct fx f;
	json_t *root;

	fx__start(t, &f, "custom", what, n, NULL);
	root = trace(t, &f, 0, "--points", points, "-O", fixture("liballoc.so"), "--sym", "malloc=my_alloc", "--sym", "calloc=my_calloc", "--sym",
		     "realloc=my_realloc", "--sym", "free=my_free", NULL);
	want_ledger(t, root, process_of(t, root, f.c.pid, 0), &f.led, checks);
	fx__quit(t, &f);
	return root;
}

#define BOTH(what, n, checks)								\
	TEST(points_chosen_##what) { custom(t, "auto", #what, n, checks); }		\
	TEST(points_plain_##what) { custom(t, "plain", #what, n, checks); }

BOTH(nested, "300", LED_ALL)
BOTH(jumps, "30", LED_ALL)
BOTH(signals, "200", LED_ALL)
BOTH(forks, "20", LED_ALL)
/* libc allocates for threads */
BOTH(dying, "300", LED_ALL & ~LED_ONLY & ~LED_PEAK)
BOTH(cancels, "20", LED_ALL & ~LED_ONLY & ~LED_PEAK)

static void exact_family(struct test *t, const char *points)
{
	struct fx f;
	json_t *root;

	fx__start(t, &f, "basic", "family", NULL);
	root = trace(t, &f, 0, "--points", points, NULL);
	want_ledger(t, root, process_of(t, root, f.c.pid, 0), &f.led, LED_ALL);
	fx__quit(t, &f);
}

TEST(points_plain_family) { exact_family(t, "plain"); }

/* The decoder believes the code of libfool; the child does not. */
TEST(points_fooled)
{
	struct fx f;
	struct mt m;
	json_t *root;

	fx__start(t, &f, "fool", NULL);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "--json", "-v", "-O", fixture("libfool.so"), "--sym", "malloc=fool_alloc", "--sym",
		  "free=fool_free", NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &f);
	root = mt__stop_json(t, &m, SIGINT, 0);
	if (strstr(m.c.errs.s, "libfool.so: probe points not tested"))
		skip(t, "the self-check cannot run here: %.200s", strstr(m.c.errs.s, "libfool.so: probe points"));
	want(t, strstr(m.c.errs.s, "libfool.so: optimised probe points failed their self-test (fool_alloc)") != NULL,
	     "stderr, wanted a word on libfool's points, got %s", m.c.errs.s);
	want(t, strstr(m.c.errs.s, "fool_alloc: first instruction, uretprobe") != NULL, "stderr, wanted plain points for fool_alloc, got %s",
	     m.c.errs.s);
	want_lossless(t, root);
	want_ledger(t, root, process_of(t, root, f.c.pid, 0), &f.led, LED_ALL);
	fx__quit(t, &f);
}

/* All that glibc has is tried out, and nothing of it is in the figures. */
TEST(points_tried_out)
{
	struct fx f;
	struct mt m;
	json_t *root;

	fx__start(t, &f, "basic", "family", NULL);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "--json", "-v", NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &f);
	root = mt__stop_json(t, &m, SIGINT, 0);
	if (strstr(m.c.errs.s, ": probe points not tested"))
		skip(t, "the self-check cannot run here: %.200s", strstr(m.c.errs.s, ": probe points"));
	want(t, strstr(m.c.errs.s, "9 functions called in a child process, each reported correctly") != NULL,
	     "stderr, wanted a word on nine functions, got %s", m.c.errs.s);
	want_u64(t, root, "edges.return_only", 0);
	want_eq(t, "processes", 1, json_array_size(jget(root, "processes")));
	want_ledger(t, root, process_of(t, root, f.c.pid, 0), &f.led, LED_ALL);
	fx__quit(t, &f);
}
