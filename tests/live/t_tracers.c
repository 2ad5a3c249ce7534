// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Others that trace the same processes, or the same files, at the same time. */
#include "lt.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* ---- a second malloctrace */

static void copy_program(struct test *t, const char *to)
{
	copy_file(t, fixture("basic.static"), to);
	must(t, !chmod(to, 0755), "chmod");
}

static void start_tracer(struct test *t, struct mt *m, const char *comm)
{
	mt__start(t, m, "--comm", comm, "--json", "-v", NULL);
	mt__wait_attached(t, m);
}

/*
 * Two copies of a program, as two containers have one each: of one build, but two files. One tracer has both, the other one has
 * the second: breakpoints that are there already are not those of the first's.
 */
static void two_tracers(struct test *t, bool other_first)
{
	const char *one = in_dir(t, "mtfx-one"), *two = in_dir(t, "mtfx-two");
	struct spawn first = { .argv = { one, "leak", "100" } }, second = { .argv = { two, "leak", "200" } };
	struct fx a, b, c;
	struct mt both, other;
	json_t *root;

	copy_program(t, one);
	copy_program(t, two);
	fx__start_as(t, &a, &first);
	fx__start_as(t, &b, &second);
	if (other_first)
		start_tracer(t, &other, "mtfx-two");
	start_tracer(t, &both, "mtfx-*");
	if (!other_first)
		start_tracer(t, &other, "mtfx-two");
	fx__start_as(t, &c, &second);
	fx__go(t, &a);
	fx__go(t, &b);
	fx__go(t, &c);
	root = mt__stop_json(t, &both, SIGINT, 0);
	want_lossless(t, root);
	want_ledger(t, root, process_of(t, root, a.c.pid, 0), &a.led, LED_ALL & ~LED_ONLY);
	want_ledger(t, root, process_of(t, root, b.c.pid, 0), &b.led, LED_ALL & ~LED_ONLY);
	want_ledger(t, root, process_of(t, root, c.c.pid, 0), &c.led, LED_ALL & ~LED_ONLY);
	root = mt__stop_json(t, &other, SIGINT, 0);
	want_lossless(t, root);
	want_ledger(t, root, process_of(t, root, b.c.pid, 0), &b.led, LED_ALL & ~LED_ONLY);
	want_ledger(t, root, process_of(t, root, c.c.pid, 0), &c.led, LED_ALL & ~LED_ONLY);
	fx__quit(t, &a);
	fx__quit(t, &b);
	fx__quit(t, &c);
}

TEST(tracers_two_copies)
{
	two_tracers(t, true);
}

TEST(tracers_two_copies_after)
{
	two_tracers(t, false);
}
