// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* What a target may do to whoever reads it: libraries that nobody else can load, mappings without an end, files that change. */
#include "lt.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define N_NEVER 12
#define MS_NS 1000000ull

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / MS_NS;
}

/* ---- constructors that never return */

static void start_never(struct test *t, struct fx *f)
{
	struct spawn s = { .argv = { NULL, t->dir, number_arg(N_NEVER) }, .env = { "FIXTURE_MAY_RETURN=1" } };

	for (unsigned int i = 0; i < N_NEVER; i++)
		copy_file(t, fixture("libnever.so"), in_dir(t, "%u.so", i));
	s.argv[0] = fixture("manylibs");
	fx__start_as(t, f, &s);
	fx__go(t, f);
}

/* Each would keep the child that tries it for as long as it is let. */
TEST_ALONE(hostile_constructors)
{
	uint64_t began_ms;
	json_t *root;
	struct fx f;
	struct mt m;

	start_never(t, &f);
	began_ms = now_ms();
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "--prefix", "pre_", "--json", NULL);
	mt__wait_attached(t, &m);
	want(t, now_ms() - began_ms < 10000, "attached after %llu ms, wanted two children to be waited for, not %d", (unsigned long long)(now_ms() - began_ms), N_NEVER);
	fx__go(t, &f);
	root = mt__stop_json(t, &m, SIGINT, 0);
	want_lossless(t, root);
	want_ledger(t, root, process_of(t, root, f.c.pid, 0), &f.led, LED_STACKS | LED_TEMP);
	fx__quit(t, &f);
}

static bool has_child(pid_t pid)
{
	char path[64];
	bool has;
	char *text;
	size_t n;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid, (int)pid);
	text = read_all(path, &n);
	has = text && n > 1;
	free(text);
	return has;
}

/* Whoever waits for such a child is asked to end, and ends. */
TEST_ALONE(hostile_constructors_and_ctrl_c)
{
	const struct timespec ms = { .tv_nsec = MS_NS };
	uint64_t asked_ms;
	struct fx f;
	struct mt m;

	start_never(t, &f);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "--prefix", "pre_", "--json", NULL);
	while (!has_child(m.c.pid))
		nanosleep(&ms, NULL);
	asked_ms = now_ms();
	child__kill(t, &m.c, SIGINT);
	child__wait_for(t, &m.c, patience_s(60));
	/* a busy machine takes its time; but one that had waited would have done so for the two seconds of a child, or several */
	want(t, now_ms() - asked_ms < 2000, "it ended after %llu ms, wanted less than one child has", (unsigned long long)(now_ms() - asked_ms));
	want_unprobed(t, f.c.pid);
	fx__quit(t, &f);
}

/* ---- mappings */

/* Thirty thousand of code, and a new one every two milliseconds while it is traced: it is told what was allocated, and the end comes. */
TEST_ALONE(hostile_mappings)
{
	json_t *root;
	struct fx f;
	struct mt m;

	fx__start(t, &f, "storm", number_arg(scaled(30000)), NULL);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "--json", NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &f);
	root = mt__stop_json(t, &m, SIGINT, 0);
	want_lossless(t, root);
	want_ledger(t, root, process_of(t, root, f.c.pid, 0), &f.led, LED_STACKS | LED_TEMP | LED_PEAK);
	fx__quit(t, &f);
}
