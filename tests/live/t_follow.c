// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Children, across fork and exec: -f. Each process of a fixture leaves a ledger of
 * its own behind, and the report must equal all of them.
 */
#include "group.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* A fixture with -f -p from its start to the end of all its processes. */
static json_t *follow(struct test *t, const char *what, const char *n, unsigned int n_lives)
{
	const char *dir = ledgers(t);
	struct fx f;
	struct mt m;
	json_t *root;

	fx__start(t, &f, "group", dir, what, n, NULL);
	mt__start(t, &m, "-f", "-p", pid_arg(f.c.pid), "--json", NULL);
	mt__wait_attached(t, &m);
	fx__send(t, &f, 'g');
	fx__quit(t, &f);
	root = mt__stop_json(t, &m, 0, 0);	/* it ends with the last of them */
	want_lossless(t, root);
	want_scan(t, root);
	want_eq(t, "processes", n_lives, json_array_size(jget(root, "processes")));
	want_eq(t, "ledgers", n_lives, want_ledgers(t, root, dir, LED_ALL));
	for (size_t i = 0; i < n_lives; i++) {
		char path[64];

		snprintf(path, sizeof(path), "processes[%zu].ended", i);
		want_bool(t, root, path, true);
	}
	return root;
}

TEST(follow_fork)
{
	follow(t, "fork", "20", 21);
}

/* Four deep, an exec in each. */
TEST(follow_tree)
{
	follow(t, "deep", "4", 9);
}

TEST(follow_exec_chain)
{
	follow(t, "exec", "10", 11);
}

TEST(follow_spawn)
{
	follow(t, "spawn", "10", 21);
}

TEST(follow_clone)
{
	follow(t, "clone", "10", 11);
}

/* Children that are there already: a server and its workers. */
TEST(follow_existing_children)
{
	follow(t, "brood", "5", 6);
}

TEST(follow_pid_reuse)
{
	const char *dir = ledgers(t);
	json_t *root;
	struct fx f;
	struct mt m;

	if (access("/proc/sys/kernel/ns_last_pid", W_OK))
		skip(t, "no /proc/sys/kernel/ns_last_pid: %s", strerror(errno));
	fx__start(t, &f, "group", dir, "reuse", NULL);
	mt__start(t, &m, "-f", "-p", pid_arg(f.c.pid), "--json", NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &f);
	fx__quit(t, &f);
	root = mt__stop_json(t, &m, 0, 0);
	want_lossless(t, root);
	want_eq(t, "ledgers", 3, want_ledgers(t, root, dir, LED_ALL));
}

/* A command and what it starts, from the first allocation of each. */
TEST(follow_command)
{
	const char *dir = ledgers(t);
	struct mt m;
	json_t *root;

	mt__start(t, &m, "-f", "--json", "--", fixture("group"), dir, "deep", "3", "0", NULL);
	root = mt__stop_json(t, &m, 0, 0);
	want_lossless(t, root);
	want_eq(t, "ledgers", 7, want_ledgers(t, root, dir, LED_ALL));
	want_eq(t, "processes", 7, json_array_size(jget(root, "processes")));
}

/* The child of a process that was killed is waited for. */
TEST(follow_killed)
{
	const char *dir = ledgers(t);
	struct fx f;
	struct mt m;
	json_t *root;

	fx__start(t, &f, "group", dir, "hold", NULL);
	mt__start(t, &m, "-f", "-p", pid_arg(f.c.pid), "--json", NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &f);
	child__kill(t, &f.c, SIGKILL);
	/* a zombie until it is waited for: it has ended all the same */
	root = mt__stop_json(t, &m, 0, 0);
	child__wait(t, &f.c);
	want_bool(t, root, "processes[0].ended", true);
	want_ledger(t, root, process_of(t, root, f.c.pid, 0), &f.led, LED_ALL);
}

/* With -p nobody else meets a probe; with -f nobody else is counted. */
TEST_ALONE(others_are_left_alone)
{
	struct fx mine, other;
	struct mt m;
	json_t *root;

	fx__start(t, &mine, "group", ledgers(t), "hold", NULL);
	fx__start(t, &other, "group", ledgers(t), "hold", NULL);
	mt__start(t, &m, "-p", pid_arg(mine.c.pid), "--json", NULL);
	mt__wait_attached(t, &m);
	want(t, changed_bytes(t, mine.c.pid, "libc.so") > 0, "breakpoints in the target, wanted some");
	want_eq(t, "breakpoints in another process", 0, changed_bytes(t, other.c.pid, "libc.so"));
	fx__go(t, &mine);
	fx__go(t, &other);
	root = mt__stop_json(t, &m, SIGINT, 0);
	want_ledger(t, root, process_of(t, root, mine.c.pid, 0), &mine.led, LED_ALL);
	want_eq(t, "processes", 1, json_array_size(jget(root, "processes")));
	mt__start(t, &m, "-f", "-p", pid_arg(mine.c.pid), "--json", NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &other);
	root = mt__stop_json(t, &m, SIGINT, 0);
	want_eq(t, "processes with -f", 1, json_array_size(jget(root, "processes")));
	want_u64(t, root, "totals.alloc_calls", 0);
	want_eq(t, "breakpoints after the trace", 0, changed_bytes(t, other.c.pid, "libc.so"));
	fx__quit(t, &mine);
	fx__quit(t, &other);
}
