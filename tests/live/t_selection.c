// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Processes by their name or cgroup, those that come later too: each leaves a ledger of its own behind. */
#include "group.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <linux/sched.h>
#include <sys/wait.h>
#include <sys/syscall.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- --comm */

TEST_ALONE(comm_by_name)
{
	const char *dir = ledgers(t), *program = in_dir(t, "mt-by-name");
	struct fx now, later, renamed, other;
	struct spawn s = { .argv = { program, dir, "hold" } };
	struct mt m;
	json_t *root;

	copy_file(t, fixture("group"), program);
	must(t, !chmod(program, 0755), "chmod");
	fx__start_as(t, &now, &s);
	fx__start(t, &renamed, "group", dir, "name", "mt-by-name-2", "300", NULL);
	fx__start(t, &other, "group", dir, "hold", NULL);
	mt__start(t, &m, "--comm", "mt-by-name*", "--json", "-v", NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &now);
	fx__go(t, &other);
	fx__start_as(t, &later, &s);
	fx__go(t, &later);
	/* it gets such a name while it runs, and is seen from then on */
	fx__send(t, &renamed, 'g');
	fx__wait_line(t, &renamed, "named");
	child__wait_err(t, &m.c, "malloctrace: stacks of mt-by-name-2", NULL, patience_s(60));
	fx__go(t, &renamed);
	root = mt__stop_json(t, &m, SIGINT, 0);
	want_lossless(t, root);
	want_eq(t, "processes", 3, json_array_size(jget(root, "processes")));
	want_ledger(t, root, process_of(t, root, now.c.pid, 0), &now.led, LED_ALL);
	want_ledger(t, root, process_of(t, root, later.c.pid, 0), &later.led, LED_ALL);
	want_u64(t, process_of(t, root, later.c.pid, 0), "age_at_attach_ns", 0);
	want_eq(t, "ledgers", 1, want_ledgers(t, root, dir, LED_ALL));
	fx__quit(t, &now);
	fx__quit(t, &later);
	fx__quit(t, &renamed);
	fx__quit(t, &other);
}

/* Whoever is selected by name, and all that it starts, whatever that is called. */
TEST_ALONE(comm_and_children)
{
	const char *dir = ledgers(t), *program = in_dir(t, "mt-parent");
	struct spawn s = { .argv = { program, dir, "fork", "3" } };
	struct mt m;
	json_t *root;
	struct fx f;

	copy_file(t, fixture("group"), program);
	must(t, !chmod(program, 0755), "chmod");
	mt__start(t, &m, "--comm", "mt-parent", "-f", "--json", NULL);
	mt__wait_attached(t, &m);
	fx__start_as(t, &f, &s);
	fx__go(t, &f);
	fx__quit(t, &f);
	root = mt__stop_json(t, &m, SIGINT, 0);
	want_lossless(t, root);
	want_eq(t, "ledgers", 4, want_ledgers(t, root, dir, LED_ALL));
	want_eq(t, "processes", 4, json_array_size(jget(root, "processes")));
}

/* ---- --cgroup */

static void write_pid(struct test *t, const char *cgroup, pid_t pid)
{
	char path[256], text[16];
	int fd, n;

	snprintf(path, sizeof(path), "%s/cgroup.procs", cgroup);
	n = snprintf(text, sizeof(text), "%d", pid);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	must(t, fd >= 0 && write(fd, text, (size_t)n) == n, "%s: %s", path, strerror(errno));
	close(fd);
}

/* As messages have it: no part of another one's number. */
static const char *in_brackets(pid_t pid)
{
	static char text[24];

	snprintf(text, sizeof(text), "(%d)", pid);
	return text;
}

int enter_cgroup(const void *arg)
{
	char path[512];
	int fd, ok;

	snprintf(path, sizeof(path), "%s/cgroup.procs", (const char *)arg);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	ok = fd >= 0 && write(fd, "0", 1) == 1;
	close(fd);
	return !ok;
}

const char *make_cgroup(struct test *t)
{
	/* hierarchies in which a group needs no settings */
	static const char *const parents[] = { "/sys/fs/cgroup/systemd", "/sys/fs/cgroup/freezer", "/sys/fs/cgroup/pids", "/sys/fs/cgroup/unified",
					       "/sys/fs/cgroup" };
	static char cgroup[128];

	for (size_t i = 0; i < sizeof(parents) / sizeof(*parents); i++) {
		char path[160];

		snprintf(cgroup, sizeof(cgroup), "%s/malloctrace-test-%d", parents[i], getpid());
		snprintf(path, sizeof(path), "%s/cgroup.procs", cgroup);
		if (!mkdir(cgroup, 0755) && !access(path, W_OK))
			return cgroup;
		rmdir(cgroup);
	}
	skip(t, "no cgroup can be made below /sys/fs/cgroup");
}

/* Each enters the cgroup and execs at once: it goes by its new name, whichever of the two is noticed first. */
TEST_ALONE(cgroup_names)
{
	const char *cgroup = make_cgroup(t);
	struct spawn s = { .argv = { fixture("basic"), "hold", "10" }, .become = enter_cgroup, .become_arg = cgroup };
	struct fx f[40];
	struct mt m;
	json_t *root, *p;
	size_t i;

	mt__start(t, &m, "--cgroup", cgroup, "--json", "-v", NULL);
	mt__wait_attached(t, &m);
	for (i = 0; i < sizeof(f) / sizeof(*f); i++)
		fx__start_as(t, &f[i], &s);
	/* one that has ended is in no cgroup any more; they are noticed in any order */
	for (i = 0; i < sizeof(f) / sizeof(*f); i++)
		child__see_err(t, &m.c, m.c.err_seen, "malloctrace: stacks of ", in_brackets(f[i].c.pid), patience_s(30));
	for (i = 0; i < sizeof(f) / sizeof(*f); i++)
		fx__quit(t, &f[i]);
	root = mt__stop_json(t, &m, SIGINT, 0);
	for (i = 0; i < sizeof(f) / sizeof(*f); i++) {
		p = last_life_of(t, root, f[i].c.pid);
		want(t, !strcmp(jstr(p, "comm"), "basic"), "%d goes by '%s'", f[i].c.pid, jstr(p, "comm"));
	}
	want(t, !rmdir(cgroup), "rmdir %s: %s", cgroup, strerror(errno));
}

/*
 * Whoever enters is traced from that moment on, though nobody has looked at it yet, and though it has ended when somebody
 * does. One that enters a group beside it, with a longer name, is not.
 */
TEST_ALONE(cgroup_entered_unseen)
{
	const char *cgroup = make_cgroup(t), *ledger = in_dir(t, "ledger"), *not_ours = in_dir(t, "not-ours");
	char beside[256];
	struct spawn in = { .argv = { fixture("basic"), "--auto", ledger, "leak", "300" }, .become = enter_cgroup, .become_arg = cgroup };
	struct spawn out = { .argv = { fixture("basic"), "--auto", not_ours, "leak", "300" }, .become = enter_cgroup, .become_arg = beside };
	struct child entered, passed;
	struct ledger led;
	struct fx moved;
	struct mt m;
	json_t *root, *p;
	char *text;

	snprintf(beside, sizeof(beside), "%s-beside", cgroup);
	must(t, !mkdir(beside, 0755), "mkdir %s: %s", beside, strerror(errno));
	fx__start(t, &moved, "basic", "leak", "200", NULL);
	mt__start(t, &m, "--cgroup", cgroup, "--json", "-v", NULL);
	mt__wait_attached(t, &m);
	child__kill(t, &m.c, SIGSTOP);
	child__start(t, &entered, &in);
	want_eq(t, "exit status", 0, (uint64_t)child__wait(t, &entered));
	child__start(t, &passed, &out);
	want_eq(t, "exit status", 0, (uint64_t)child__wait(t, &passed));
	write_pid(t, cgroup, moved.c.pid);
	fx__go(t, &moved);
	fx__quit(t, &moved);
	child__kill(t, &m.c, SIGCONT);
	root = mt__stop_json(t, &m, SIGINT, 0);
	want(t, !rmdir(cgroup) && !rmdir(beside), "rmdir %s: %s", cgroup, strerror(errno));
	want_lossless(t, root);
	text = read_all(ledger, NULL);
	must(t, text && ledger__parse(&led, text), "no ledger in %s", ledger);
	p = last_life_of(t, root, entered.pid);
	want_ledger(t, root, p, &led, LED_ALL);
	want(t, !strcmp(jstr(p, "comm"), "basic"), "comm '%s'", jstr(p, "comm"));
	want(t, strstr(jstr(p, "exe"), "/basic") != NULL, "exe '%s'", jstr(p, "exe"));
	want_eq(t, "lives of who passed by", 0, lives_of(t, root, passed.pid));
	/* what it mapped nobody knows: its sites have no names */
	p = last_life_of(t, root, moved.c.pid);
	want_u64(t, p, "totals.alloc_calls", 200);
	want_u64(t, p, "totals.live_blocks", 200);
	want_bool(t, p, "ended", true);
	free(text);
}

/* One process of a name is taken for it, by its own name or by its program's; of several, none is. */
TEST(pid_by_name)
{
	char name[32];
	const char *program;
	struct fx f, second;
	struct mt m;
	json_t *root;

	/* longer than what the kernel keeps of a name */
	snprintf(name, sizeof(name), "daemon-of-test-%d", getpid());
	program = in_dir(t, "%s", name);
	copy_file(t, fixture("basic"), program);
	fx__start_as(t, &f, &(struct spawn){ .argv = { program, "leak", "300" } });
	mt__start(t, &m, "-p", name, "--json", NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &f);
	root = mt__stop_json(t, &m, SIGINT, 0);
	want_ledger(t, root, process_of(t, root, f.c.pid, 0), &f.led, LED_ALL);

	fx__start_as(t, &second, &(struct spawn){ .argv = { program, "leak", "300" } });
	mt__start(t, &m, name, NULL);
	want_eq(t, "exit status", 2, (uint64_t)child__wait(t, &m.c));
	want(t, strstr(m.c.errs.s, ": 2 processes match; give pids:") != NULL, "stderr: %s", m.c.errs.s);
	for (size_t i = 0; i < 2; i++) {
		char row[32];

		snprintf(row, sizeof(row), "\n  %7d  ", i ? second.c.pid : f.c.pid);
		want(t, strstr(m.c.errs.s, row) != NULL, "no row '%s': %s", row, m.c.errs.s);
	}
	fx__quit(t, &f);
	fx__quit(t, &second);
	mt__start(t, &m, "-p", name, NULL);
	want_eq(t, "exit status", 1, (uint64_t)child__wait(t, &m.c));
	want(t, strstr(m.c.errs.s, "no process is called '") != NULL, "stderr: %s", m.c.errs.s);
}

struct on_its_way {
	const char *first, *then;	/* cgroups; NULL: none */
	useconds_t us;
};

static int go_its_way(const void *arg)
{
	const struct on_its_way *w = arg;

	return enter_cgroup(w->first) || usleep(w->us) || (w->then && enter_cgroup(w->then));
}

/* 60 processes; the last program of each counts, though it has ended before anybody has looked. */
static void want_all_counted(struct test *t, const char *cgroup, struct on_its_way *way)
{
	struct spawn s = { .argv = { fixture("basic"), "--auto", in_dir(t, "ledger"), "leak", "30" }, .become = go_its_way, .become_arg = way };
	pid_t pids[60];
	struct mt m;
	json_t *root;

	mt__start(t, &m, "--cgroup", cgroup, "--json", "-v", NULL);
	mt__wait_attached(t, &m);
	for (size_t i = 0; i < sizeof(pids) / sizeof(*pids); i++) {
		struct child c;

		way->us = (useconds_t)(i % 20 * 150);
		child__start(t, &c, &s);
		want_eq(t, "exit status", 0, (uint64_t)child__wait(t, &c));
		pids[i] = c.pid;
	}
	root = mt__stop_json(t, &m, SIGINT, 0);
	want_lossless(t, root);
	for (size_t i = 0; i < sizeof(pids) / sizeof(*pids); i++) {
		json_t *p = last_life_of(t, root, pids[i]);

		want_u64(t, p, "totals.live_blocks", 30);
		want_eq(t, "leak_here live_blocks", 30, site_sum(t, root, p, "leak_here", "live_blocks"));
	}
}

/* It is looked at as what it was when it entered, and has become another program and has ended when this look is over. */
TEST_ALONE(cgroup_entered_and_gone)
{
	const char *cgroup = make_cgroup(t);

	want_all_counted(t, cgroup, &(struct on_its_way){ .first = cgroup });
	want(t, !rmdir(cgroup), "rmdir %s: %s", cgroup, strerror(errno));
}

/* It is in another one when it is looked at, and enters while this is judged. */
TEST_ALONE(cgroup_entered_after_another)
{
	const char *cgroup = make_cgroup(t);
	char beside[256];

	snprintf(beside, sizeof(beside), "%s-beside", cgroup);
	must(t, !mkdir(beside, 0755), "mkdir %s: %s", beside, strerror(errno));
	want_all_counted(t, cgroup, &(struct on_its_way){ .first = beside, .then = cgroup });
	want(t, !rmdir(cgroup) && !rmdir(beside), "rmdir %s: %s", cgroup, strerror(errno));
}

/* A group of version 2, the only one that a process can be started in; its descriptor, and its path to be removed. */
static int make_group2(struct test *t, char path[static 128])
{
	static const char *const parents[] = { "/sys/fs/cgroup/unified", "/sys/fs/cgroup" };

	for (size_t i = 0; i < sizeof(parents) / sizeof(*parents); i++) {
		char file[192];

		snprintf(file, sizeof(file), "%s/cgroup.controllers", parents[i]);
		snprintf(path, 128, "%s/malloctrace-test-%d", parents[i], getpid());
		if (!access(file, F_OK) && !mkdir(path, 0755))
			return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	}
	skip(t, "no cgroup of version 2 can be made below /sys/fs/cgroup");
}

/* One that was started inside and is gone before anybody has looked leaves no sign of where it was: that is said. */
TEST_ALONE(cgroup_started_in_and_gone)
{
	char path[128];
	struct clone_args how = { .flags = CLONE_INTO_CGROUP, .exit_signal = SIGCHLD, .cgroup = (uint64_t)make_group2(t, path) };
	struct mt m;
	pid_t pid;

	mt__start(t, &m, "--cgroup", path, "--json", "-v", NULL);
	mt__wait_attached(t, &m);
	child__kill(t, &m.c, SIGSTOP);
	pid = (pid_t)syscall(SYS_clone3, &how, sizeof(how));
	if (pid == 0)
		_exit(0);
	must(t, pid > 0 && waitpid(pid, NULL, 0) == pid, "clone3: %s", strerror(errno));
	child__kill(t, &m.c, SIGCONT);
	child__wait_err(t, &m.c, "malloctrace: process ", " was started in a cgroup of its own and ended before it was seen in which", patience_s(30));
	mt__stop_json(t, &m, SIGINT, 0);
	close((int)how.cgroup);
	want(t, !rmdir(path), "rmdir %s: %s", path, strerror(errno));
}

TEST_ALONE(cgroup_now_and_later)
{
	const char *dir = ledgers(t), *cgroup = make_cgroup(t);
	struct spawn s = { .argv = { fixture("group"), dir, "hold" }, .become = enter_cgroup, .become_arg = cgroup };
	struct fx now, later, moved, other;
	struct mt m;
	json_t *root;

	fx__start_as(t, &now, &s);
	fx__start(t, &moved, "group", dir, "hold", NULL);
	fx__start(t, &other, "group", dir, "hold", NULL);
	mt__start(t, &m, "--cgroup", cgroup, "--json", "-v", NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &now);
	fx__go(t, &other);
	/* it comes and does its work while malloctrace cannot look */
	child__kill(t, &m.c, SIGSTOP);
	fx__start_as(t, &later, &s);
	fx__go(t, &later);
	child__kill(t, &m.c, SIGCONT);
	write_pid(t, cgroup, moved.c.pid);
	child__wait_err(t, &m.c, "malloctrace: stacks of", in_brackets(moved.c.pid), patience_s(60));
	fx__go(t, &moved);
	root = mt__stop_json(t, &m, SIGINT, 0);
	want_lossless(t, root);
	want_ledger(t, root, process_of(t, root, now.c.pid, 0), &now.led, LED_ALL);
	want_ledger(t, root, process_of(t, root, moved.c.pid, 0), &moved.led, LED_ALL);
	want_eq(t, "lives of another", 0, lives_of(t, root, other.c.pid));
	/* it was forked from here, moved itself, and became the fixture */
	want_ledger(t, root, last_life_of(t, root, later.c.pid), &later.led, LED_ALL);
	fx__quit(t, &now);
	fx__quit(t, &later);
	fx__quit(t, &moved);
	fx__quit(t, &other);
	want(t, !rmdir(cgroup), "rmdir %s: %s", cgroup, strerror(errno));
}
