// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * --mode growth of processes that come and go: -a, --comm, --cgroup, -f. Each process of a fixture leaves a ledger of its own
 * behind, from its first page on, and the report must equal all of them.
 */
#include "group.h"
#include "growth.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* DIR/PID.LIFE; execed: this pid has a life before its first program, as what forked it. */
static unsigned int want_all_grown(struct test *t, json_t *root, const char *dir, pid_t execed)
{
	DIR *d = opendir(dir);
	struct dirent *entry;
	unsigned int n = 0;

	must(t, d != NULL, "%s: %s", dir, strerror(errno));
	while ((entry = readdir(d))) {
		unsigned int nth;
		struct ledger l;
		char *text;
		int pid;

		if (sscanf(entry->d_name, "%d.%u", &pid, &nth) != 2)
			continue;
		text = read_all(in_dir(t, "ledgers/%s", entry->d_name), NULL);
		must(t, text && ledger__parse(&l, text), "a ledger that makes no sense: %s", entry->d_name);
		if (getenv("LIVE_TESTS_WRONG") && l.n)
			l.site[0].v[LED_ALLOC_CALLS]++;
		want_grown(t, root, process_of(t, root, pid, nth + (pid == execed)), &l);
		free(text);
		n++;
	}
	closedir(d);
	return n;
}

static void run(struct test *t, struct fx *f, char how)
{
	fx__send(t, f, how);
	fx__quit(t, f);
}

/* ---- -a */

TEST_ALONE(growth_all_now_and_later)
{
	const char *dir = ledgers(t);
	struct fx now, later;
	struct mt m;
	json_t *root;

	fx__start(t, &now, "growers", dir, "fork", "3", NULL);
	mt__start(t, &m, "-a", "--mode", "growth", SHORT, NULL);
	mt__wait_attached(t, &m);
	run(t, &now, 'n');
	fx__start(t, &later, "growers", dir, "fork", "3", NULL);
	run(t, &later, 'g');
	root = stop_group(t, &m, SIGINT);
	want_eq(t, "ledgers", 8, want_all_grown(t, root, dir, later.c.pid));
	want_eq(t, "lives of the later one", 2, lives_of(t, root, later.c.pid));
	want_eq(t, "malloctrace's own", 0, lives_of(t, root, m.c.pid));
}

/* ---- --comm, --cgroup */

TEST_ALONE(growth_comm)
{
	const char *dir = ledgers(t), *program = in_dir(t, "mt-grows");
	struct spawn s = { .argv = { program, dir, "exec", "2" } };
	struct fx now, later, other;
	struct mt m;
	json_t *root;

	copy_file(t, fixture("growers"), program);
	must(t, !chmod(program, 0755), "chmod");
	fx__start_as(t, &now, &s);
	fx__start(t, &other, "growers", t->dir, "fork", "1", NULL);
	mt__start(t, &m, "--comm", "mt-grow*", "--mode", "growth", "--json", NULL);
	mt__wait_attached(t, &m);
	run(t, &now, 'n');
	run(t, &other, 'n');
	fx__start_as(t, &later, &s);
	run(t, &later, 'g');
	root = mt__stop_json(t, &m, SIGINT, 0);
	want_lossless(t, root);
	want_eq(t, "ledgers", 6, want_all_grown(t, root, dir, 0));
	want_eq(t, "processes", 6, json_array_size(jget(root, "processes")));
}

/* Nobody has looked when it enters, grows and ends. */
TEST_ALONE(growth_cgroup_unseen)
{
	const char *cgroup = make_cgroup(t), *dir = ledgers(t);
	struct spawn s = { .argv = { fixture("growers"), dir, "deep", "2", "0" }, .become = enter_cgroup, .become_arg = cgroup };
	struct child entered;
	struct mt m;
	json_t *root;

	mt__start(t, &m, "--cgroup", cgroup, "--mode", "growth", "--json", NULL);
	mt__wait_attached(t, &m);
	child__kill(t, &m.c, SIGSTOP);
	child__start(t, &entered, &s);
	want_eq(t, "exit status", 0, (uint64_t)child__wait(t, &entered));
	child__kill(t, &m.c, SIGCONT);
	root = mt__stop_json(t, &m, SIGINT, 0);
	want(t, !rmdir(cgroup), "rmdir %s: %s", cgroup, strerror(errno));
	want_lossless(t, root);
	/* it was the runner's copy when it entered */
	want_eq(t, "ledgers", 5, want_all_grown(t, root, dir, entered.pid));
}

/* ---- -f */

static void follow(struct test *t, const char *what, const char *n, unsigned int n_lives)
{
	const char *dir = ledgers(t);
	struct fx f;
	struct mt m;
	json_t *root;

	fx__start(t, &f, "growers", dir, what, n, NULL);
	mt__start(t, &m, "-f", "-p", pid_arg(f.c.pid), "--mode", "growth", "--json", NULL);
	mt__wait_attached(t, &m);
	run(t, &f, 'n');
	root = mt__stop_json(t, &m, 0, 0);	/* it ends with the last of them */
	want_lossless(t, root);
	want_eq(t, "processes", n_lives, json_array_size(jget(root, "processes")));
	want_eq(t, "ledgers", n_lives, want_all_grown(t, root, dir, 0));
}

TEST(growth_follow_fork) { follow(t, "fork", "10", 11); }
TEST(growth_follow_tree) { follow(t, "deep", "4", 9); }

/* A program that its user may not read: the kernel takes perf events of its own away from who execs it. */
TEST(growth_follow_unreadable)
{
	const char *dir = ledgers(t), *program = in_dir(t, "growers-unreadable");
	struct spawn s = { .argv = { program, dir, "exec", "3" }, .uid = 65534 };
	struct fx f;
	struct mt m;
	json_t *root;

	copy_file(t, fixture("growers"), program);
	must(t, !chmod(program, 0711) && !chmod(dir, 0777) && !chmod(t->dir, 0755), "chmod");
	fx__start_as(t, &f, &s);
	mt__start(t, &m, "-f", "-p", pid_arg(f.c.pid), "--mode", "growth", "--json", NULL);
	mt__wait_attached(t, &m);
	run(t, &f, 'n');
	root = mt__stop_json(t, &m, 0, 0);
	want_lossless(t, root);
	want_eq(t, "ledgers", 4, want_all_grown(t, root, dir, 0));
}

TEST(growth_follow_command)
{
	const char *dir = ledgers(t);
	struct mt m;
	json_t *root;

	mt__start(t, &m, "-f", "--mode", "growth", "--json", "--", fixture("growers"), dir, "deep", "3", "0", NULL);
	root = mt__stop_json(t, &m, 0, 0);
	want_lossless(t, root);
	want_eq(t, "processes", 7, json_array_size(jget(root, "processes")));
	want_eq(t, "ledgers", 7, want_all_grown(t, root, dir, 0));
}
