// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * --when: limits that are passed, processes that die. The fixture does a step and
 * waits, so what a snapshot holds is what the ledger says. That something did not
 * tell is known from another condition that did: both are looked at together.
 */
#include "lt.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "group.h"

static void do_step(struct test *t, struct fx *f, char what)
{
	fx__send(t, f, what);
	fx__read_ledger(t, f);
}

static void do_steps(struct test *t, struct fx *f, const char *steps)
{
	for (; *steps; steps++)
		do_step(t, f, *steps);
}

/* The line that tells of a snapshot, without the newline. */
static const char *fired(struct test *t, struct mt *m, const char *also)
{
	static char line[1024];
	const char *from;

	child__wait_err(t, &m->c, "malloctrace: ", also, patience_s(30));
	for (from = m->c.errs.s + m->c.err_seen - 1; from > m->c.errs.s && from[-1] != '\n'; from--)
		;
	snprintf(line, sizeof(line), "%.*s", (int)strcspn(from, "\n"), from);
	return line;
}

/* A snapshot of a process at rest. */
static json_t *want_file(struct test *t, struct fx *f, const char *path, const char *trigger)
{
	json_t *root = load_json(t, path);

	want(t, !strncmp(jstr(root, "trigger"), trigger, strlen(trigger)), "%s: trigger is '%s', wanted '%s...'", path, jstr(root, "trigger"),
	     trigger);
	want_invariants(t, root);
	want_lossless(t, root);
	want_ledger(t, root, process_of(t, root, f->c.pid, 0), &f->led, LED_ALL);
	return root;
}

TEST(when_limits_again)
{
	const char *out = in_dir(t, "heap.json"), *line;
	json_t *last;
	char who[64];
	struct fx f;
	struct mt m;

	fx__start(t, &f, "when", NULL);
	snprintf(who, sizeof(who), "live>10M: when (%d) holds 12.0 MiB", f.c.pid);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "-o", out, "--batch", "--when", "live>10M", "--when", "blocks > 1003", "--when",
		  "allocs>10K/min", "--pause", "0", "-v", NULL);
	mt__wait_attached(t, &m);
	do_steps(t, &f, "lll");
	line = fired(t, &m, "live>10M: ");
	want(t, strstr(line, "snapshot 1 written") != NULL, "%s", line);
	want_file(t, &f, in_dir(t, "heap.1.json"), who);

	/* 16 MiB are not twice as much */
	do_steps(t, &f, "ls");
	/* all of them, also if the look was in the midst of the step before */
	line = fired(t, &m, "blocks > 1003: ");
	want(t, !strstr(line, "live>10M"), "%s", line);
	want(t, strstr(line, "holds 1,004 blocks; ") || strstr(line, "holds 1,004 blocks: "), "%s", line);
	want_file(t, &f, in_dir(t, "heap.2.json"), "blocks > 1003: ");

	do_steps(t, &f, "ll");
	fired(t, &m, "live>10M: ");
	want_file(t, &f, in_dir(t, "heap.3.json"), "live>10M: ");

	/* below, which the look that sees the churn sees as well; then above it again */
	do_steps(t, &f, "fc");
	line = fired(t, &m, "allocs>10K/min: ");
	want(t, !strstr(line, "live>10M"), "%s", line);
	/* it may have been in the midst of it */
	want(t, !strncmp(jstr(load_json(t, in_dir(t, "heap.4.json")), "trigger"), "allocs>10K/min: ", 16), "heap.4.json: another trigger");
	do_steps(t, &f, "lll");
	fired(t, &m, "live>10M: ");
	want_file(t, &f, in_dir(t, "heap.5.json"), who);
	child__kill(t, &m.c, SIGINT);
	want_eq(t, "exit status", 0, (uint64_t)child__wait(t, &m.c));
	last = load_json(t, out);
	want(t, json_is_null(jget(last, "trigger")), "the last report has a trigger");
	/* and it lists those before it, as they were */
	want_eq(t, "earlier snapshots", 5, json_array_size(jget(last, "snapshots")));
	for (size_t i = 0; i < 5; i++) {
		json_t *row = json_array_get(jget(last, "snapshots"), i), *file;
		char name[32];

		snprintf(name, sizeof(name), "heap.%zu.json", i + 1);
		file = load_json(t, in_dir(t, name));
		want_eq(t, "its number", i + 1, ju64(t, row, "number"));
		want_eq(t, "its moment", ju64(t, file, "duration_ns"), ju64(t, row, "t_ns"));
		want(t, !strcmp(jstr(row, "trigger"), jstr(file, "trigger")), "'%s' in the list, '%s' in %s", jstr(row, "trigger"),
		     jstr(file, "trigger"), name);
		want_eq(t, "those before that", i, json_array_size(jget(file, "snapshots")));
	}
	want(t, access(in_dir(t, "heap.6.json"), F_OK), "one more file than was asked for");
	fx__quit(t, &f);
}

TEST(when_resident_and_rates)
{
	const char *line;
	struct fx f;
	struct mt m;
	json_t *root;

	fx__start(t, &f, "when", NULL);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "-o", in_dir(t, "heap-%%n.json"), "-v", "--batch", "--when", "rss>50M", "--when",
		  "rss-growth>55M/h", "--when", "growth>20M/min", "--pause", "0", NULL);
	mt__wait_attached(t, &m);
	do_step(t, &f, 'm');
	/* together, or a look was in the midst of it: then this one comes later */
	line = fired(t, &m, "rss");
	if (!strstr(line, "rss-growth>55M/h: "))
		line = fired(t, &m, "rss-growth>55M/h: ");
	want(t, strstr(line, "more resident than") != NULL, "%s", line);
	do_steps(t, &f, "llllll");
	line = fired(t, &m, "growth>20M/min: ");
	want(t, strstr(line, " holds 24.0 MiB more than ") || strstr(line, " holds 20.0 MiB more than "), "%s", line);
	child__kill(t, &m.c, SIGINT);
	want_eq(t, "exit status", 0, (uint64_t)child__wait(t, &m.c));
	root = load_json(t, in_dir(t, "heap-1.json"));
	want(t, strstr(jstr(root, "trigger"), "rss>50M: when (") != NULL, "trigger %s", jstr(root, "trigger"));
	want(t, ju64(t, root, "processes[0].rss_bytes") > 50 << 20, "RSS %" PRIu64, ju64(t, root, "processes[0].rss_bytes"));
	want_u64(t, root, "totals.live_bytes", 0);
	fx__quit(t, &f);
}

/* What is passed within the pause tells nothing; a death waits for the next snapshot, which is the last one here. */
TEST(when_pause)
{
	const char *out = in_dir(t, "heap.json");
	struct fx a, b;
	struct mt m;
	char pids[32];
	json_t *root;

	fx__start(t, &a, "when", NULL);
	fx__start(t, &b, "when", NULL);
	snprintf(pids, sizeof(pids), "%d,%d", a.c.pid, b.c.pid);
	mt__start(t, &m, "-p", pids, "-o", out, "-v", "--batch", "--when", "blocks>500", "--when", "killed", "--pause", "1h", NULL);
	mt__wait_attached(t, &m);
	do_step(t, &a, 's');
	fired(t, &m, "blocks>500: ");
	do_step(t, &b, 's');
	fx__send(t, &b, 'K');
	child__wait(t, &b.c);
	fired(t, &m, "was ended by SIGKILL; it held 62.5 KiB in 1,000 blocks");
	fx__quit(t, &a);
	want_eq(t, "exit status", 0, (uint64_t)child__wait(t, &m.c));
	want(t, access(in_dir(t, "heap.2.json"), F_OK), "a second file, within the pause");
	root = load_json(t, out);
	want(t, strstr(jstr(root, "trigger"), "killed: when (") && !strstr(jstr(root, "trigger"), "blocks>"), "trigger %s", jstr(root, "trigger"));
	want_u64(t, process_of(t, root, b.c.pid, 0), "exit_signal", SIGKILL);
	want(t, json_is_null(jget(process_of(t, root, a.c.pid, 0), "exit_signal")), "a signal ended the one that ended by itself");
	want_ledger(t, root, process_of(t, root, b.c.pid, 0), &b.led, LED_STACKS);
}

TEST(when_reports)
{
	struct fx f;
	struct mt m;

	fx__start(t, &f, "when", NULL);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "--batch", "--when", "blocks>999", NULL);
	mt__wait_attached(t, &m);
	do_step(t, &f, 's');
	fired(t, &m, "blocks>999: ");
	child__kill(t, &m.c, SIGINT);
	want_eq(t, "exit status", 0, (uint64_t)child__wait(t, &m.c));
	want(t, strstr(m.c.outs.s, "\nwhy    blocks>999: when (") != NULL, "stdout: %.600s", m.c.outs.s);
	want(t, strstr(m.c.outs.s, ") holds 1,000 blocks\ntraced ") != NULL, "stdout: %.600s", m.c.outs.s);
	fx__quit(t, &f);
}

/*
 * --start-on: what was held before, what was resident before and who died before does not count. The death is told
 * in a message, behind which whatever was due would be done.
 */
TEST(when_counts_from_the_start)
{
	const char *out = in_dir(t, "heap.json"), *line;
	struct fx a, b;
	struct mt m;
	char pids[32];
	json_t *root;

	fx__start(t, &a, "when", NULL);
	fx__start(t, &b, "when", NULL);
	snprintf(pids, sizeof(pids), "%d,%d", a.c.pid, b.c.pid);
	mt__start(t, &m, "-p", pids, "-o", out, "--batch", "--start-on", "begin_here", "--when", "rss>64K", "--when", "blocks>1999", "--when",
		  "allocs>1999/h", "--when", "killed", "--pause", "0", NULL);
	mt__wait_attached(t, &m);
	child__wait_err(t, &m.c, "malloctrace: waiting for ", "begin_here", patience_s(20));
	do_steps(t, &a, "ss");
	do_steps(t, &b, "ss");
	fx__send(t, &b, 'K');
	child__wait(t, &b.c);
	child__wait_err(t, &m.c, "malloctrace: ", "was ended by SIGKILL", patience_s(20));
	do_step(t, &a, 'b');
	child__wait_err(t, &m.c, "malloctrace: ", "the trace begins", patience_s(20));
	want(t, !strstr(m.c.errs.s, "snapshot"), "a snapshot before the trace began: %s", m.c.errs.s);
	line = fired(t, &m, "rss>64K: ");
	want(t, strstr(line, "snapshot 1 written") && !strstr(line, "blocks") && !strstr(line, "allocs") && !strstr(line, "killed"), "%s", line);
	root = load_json(t, in_dir(t, "heap.1.json"));
	want_u64(t, root, "totals.alloc_calls", 0);
	want(t, !strcmp(jstr(root, "started_on"), "begin_here"), "started_on: %s", jstr(root, "started_on"));

	/* 2,000 blocks since then: not before the last of them */
	do_steps(t, &a, "ss");
	line = fired(t, &m, "blocks>1999: ");
	want(t, strstr(line, "allocs>1999/h") && strstr(line, "holds 2,000 blocks") && strstr(line, "made 2,000 allocations"), "%s", line);
	root = load_json(t, in_dir(t, "heap.2.json"));
	want_invariants(t, root);
	want_lossless(t, root);
	want_u64(t, root, "totals.alloc_calls", 2000);
	want_u64(t, root, "totals.live_bytes", 128000);
	want_u64(t, root, "totals.unknown_frees", 0);
	child__kill(t, &m.c, SIGINT);
	want_eq(t, "exit status", 0, (uint64_t)child__wait(t, &m.c));
	root = load_json(t, out);
	want_eq(t, "snapshots", 2, json_array_size(jget(root, "snapshots")));
	want(t, json_is_null(jget(root, "trigger")), "trigger of the last one: '%s'", jstr(root, "trigger"));
	fx__quit(t, &a);
}

/* ---- deaths */

static void want_death(struct test *t, const char *steps, char last, int sig, const char *name)
{
	char says[128];
	struct fx f;
	struct mt m;
	json_t *root;

	fx__start(t, &f, "when", NULL);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "-o", in_dir(t, "dead.json"), NULL);
	mt__wait_attached(t, &m);
	do_steps(t, &f, steps);
	fx__send(t, &f, last);
	want_eq(t, "the fixture's exit status", 128 + (uint64_t)sig, (uint64_t)child__wait(t, &f.c));
	want_eq(t, "exit status", 0, (uint64_t)child__wait(t, &m.c));
	snprintf(says, sizeof(says), "when (%d) was ended by %s; it held ", f.c.pid, name);
	want(t, strstr(m.c.errs.s, says) != NULL, "no '%s' on stderr: %.600s", says, m.c.errs.s);
	snprintf(says, sizeof(says), "when (%d) [ended by %s]", f.c.pid, name);
	want(t, strstr(m.c.outs.s, says) != NULL, "no '%s' on stdout: %.600s", says, m.c.outs.s);
	snprintf(says, sizeof(says), "\ndied   by %s, it held ", name);
	want(t, strstr(m.c.outs.s, says) != NULL, "no '%s' on stdout: %.600s", says, m.c.outs.s);
	root = load_json(t, in_dir(t, "dead.json"));
	want_u64(t, root, "processes[0].exit_signal", (uint64_t)sig);
	want_bool(t, root, "processes[0].ended", true);
	want_bool(t, root, "processes[0].oom_killed", false);
	want(t, json_is_null(jget(root, "trigger")), "a trigger that nobody asked for");
	want_lossless(t, root);
	if (last == 'S') {	/* it got some more on its way */
		want_eq(t, "small_here live_blocks", 1100, site_sum(t, root, process_of(t, root, f.c.pid, 0), "small_here", "live_blocks"));
		want_eq(t, "small_here live_bytes", 74000, site_sum(t, root, process_of(t, root, f.c.pid, 0), "small_here", "live_bytes"));
	} else {
		want_ledger(t, root, process_of(t, root, f.c.pid, 0), &f.led, LED_STACKS);
	}
}

TEST(died_by_segv)
{
	want_death(t, "s", 'S', SIGSEGV, "SIGSEGV");
}

TEST(died_by_segv_with_threads)
{
	want_death(t, "ts", 'S', SIGSEGV, "SIGSEGV");
}

TEST(died_by_kill)
{
	want_death(t, "ls", 'K', SIGKILL, "SIGKILL");
}

TEST(died_by_term)
{
	want_death(t, "ls", 'T', SIGTERM, "SIGTERM");
}

/* -- CMD: its status is the signal's, and the report tells. */
TEST(died_command)
{
	struct mt m;

	want_eq(t, "exit status", 128 + SIGTERM, (uint64_t)mt__run(t, &m, "--", "/bin/sh", "-c", "kill -TERM $$", NULL));
	want(t, strstr(m.c.outs.s, " [ended by SIGTERM]") != NULL, "stdout: %.600s", m.c.outs.s);
}

/* A child dies while others go on: the snapshot has all that it held. */
TEST(when_killed_child)
{
	const char *out = in_dir(t, "heap.json");
	uint64_t child;
	struct fx f;
	struct mt m;
	json_t *root, *p;

	fx__start(t, &f, "when", NULL);
	mt__start(t, &m, "-f", "-p", pid_arg(f.c.pid), "-o", out, "--batch", "--when", "killed", "--when", "oom", NULL);
	mt__wait_attached(t, &m);
	do_step(t, &f, 'x');
	child = ledger__note(t, &f.led, "child");
	fired(t, &m, "was ended by SIGSEGV; it held 9.8 KiB in 100 blocks");
	fired(t, &m, "killed: when (");
	root = load_json(t, in_dir(t, "heap.1.json"));
	want(t, !strstr(jstr(root, "trigger"), "oom"), "trigger %s", jstr(root, "trigger"));
	p = process_of(t, root, (pid_t)child, 0);
	want_u64(t, p, "exit_signal", SIGSEGV);
	want_u64(t, p, "totals.live_blocks", 100);
	want_u64(t, p, "totals.live_bytes", 10000);
	want_eq(t, "small_here live_blocks", 100, site_sum(t, root, p, "small_here", "live_blocks"));
	want_bool(t, process_of(t, root, f.c.pid, 0), "ended", false);
	child__kill(t, &m.c, SIGINT);
	want_eq(t, "exit status", 0, (uint64_t)child__wait(t, &m.c));
	want(t, strstr(m.c.outs.s, "\ndied   when (") != NULL, "stdout: %.800s", m.c.outs.s);
	fx__quit(t, &f);
}

/* ---- out of memory */

#define ROOM "50331648"

/* A memory cgroup with little room; its directory, to be removed by the test. Either version. */
static const char *make_small_cgroup(struct test *t)
{
	static const char *const parents[] = { "/sys/fs/cgroup/memory", "/sys/fs/cgroup" };
	static char cgroup[128];

	for (size_t i = 0; i < sizeof(parents) / sizeof(*parents); i++) {
		snprintf(cgroup, sizeof(cgroup), "%s/malloctrace-test-%d", parents[i], getpid());
		/* where nothing manages them, nobody has asked for the controller yet */
		put_text(parents[i], "cgroup.subtree_control", "+memory");
		if (mkdir(cgroup, 0755))
			continue;
		put_text(cgroup, "memory.swap.max", "0");
		if (put_text(cgroup, "memory.max", ROOM) ||
		    (put_text(cgroup, "memory.limit_in_bytes", ROOM) && (put_text(cgroup, "memory.memsw.limit_in_bytes", ROOM) || true)))
			return cgroup;
		rmdir(cgroup);
	}
	skip(t, "no memory cgroup can be made below /sys/fs/cgroup");
}

/* Whom it kills has written down what it had. */
static void want_hungry(struct test *t, json_t *root, pid_t pid, const char *count_file)
{
	json_t *p = last_life_of(t, root, pid);
	size_t n;
	char *text = read_all(count_file, &n);
	const uint64_t *count = (const uint64_t *)text;

	must(t, text && n >= 16, "%s: no count", count_file);
	want(t, count[0] > 100, "it got no more than %" PRIu64 " blocks", count[0]);
	want_bool(t, p, "ended", true);
	want_bool(t, p, "oom_killed", true);
	want_u64(t, p, "exit_signal", SIGKILL);
	want_eq(t, "hungry_here live_blocks", count[0], site_sum(t, root, p, "hungry_here", "live_blocks"));
	want_eq(t, "hungry_here live_bytes", count[1], site_sum(t, root, p, "hungry_here", "live_bytes"));
	want_lossless(t, root);
	free(text);
}

TEST(oom_of_one)
{
	const char *cgroup = make_small_cgroup(t), *count = in_dir(t, "count"), *out = in_dir(t, "heap.json");
	struct spawn s = { .argv = { fixture("when"), count }, .become = enter_cgroup, .become_arg = cgroup };
	struct fx f;
	struct mt m;
	json_t *root;

	fx__start_as(t, &f, &s);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "-o", out, "--when", "oom", "-v", NULL);
	mt__wait_attached(t, &m);
	fx__send(t, &f, 'o');
	want_eq(t, "the fixture's exit status", 128 + SIGKILL, (uint64_t)child__wait(t, &f.c));
	want_eq(t, "exit status", 0, (uint64_t)child__wait(t, &m.c));
	want(t, !rmdir(cgroup), "rmdir %s: %s", cgroup, strerror(errno));
	want(t, strstr(m.c.errs.s, " was killed by the kernel: out of memory; it held ") != NULL, "stderr: %.600s", m.c.errs.s);
	want(t, strstr(m.c.outs.s, "\ndied   killed by the kernel: out of memory, it held ") != NULL, "stdout: %.600s", m.c.outs.s);
	root = load_json(t, out);
	want(t, !strncmp(jstr(root, "trigger"), "oom: when (", 11), "trigger '%s'", jstr(root, "trigger"));
	want_hungry(t, root, f.c.pid, count);
}

/* The trace of a cgroup goes on: what its victim held is in a file of its own. One that enters it and becomes the victim has
   an earlier life, if it was seen in between; with a program in front it has one for sure. */
static void oom_in_cgroup(struct test *t, bool program_before)
{
	const char *cgroup = make_small_cgroup(t), *count = in_dir(t, "count"), *out = in_dir(t, "heap.json");
	struct spawn s = { .argv = { fixture("when"), count }, .become = enter_cgroup, .become_arg = cgroup };
	struct spawn before = { .argv = { fixture("life"), "exec", fixture("when"), count }, .become = enter_cgroup, .become_arg = cgroup };
	struct ledger first;
	struct fx f;
	struct mt m;

	mt__start(t, &m, "--cgroup", cgroup, "-o", out, "--batch", "--when", "oom", NULL);
	mt__wait_attached(t, &m);
	fx__start_as(t, &f, program_before ? &before : &s);
	if (program_before) {
		fx__go(t, &f);
		first = f.led;
		fx__send(t, &f, 'g');
		fx__wait_ready(t, &f);
	}
	fx__send(t, &f, 'o');
	want_eq(t, "the fixture's exit status", 128 + SIGKILL, (uint64_t)child__wait(t, &f.c));
	fired(t, &m, " was killed by the kernel: out of memory; it held ");
	fired(t, &m, "oom: when (");
	want_hungry(t, load_json(t, in_dir(t, "heap.1.json")), f.c.pid, count);
	child__kill(t, &m.c, SIGINT);
	want_eq(t, "exit status", 0, (uint64_t)child__wait(t, &m.c));
	want(t, !rmdir(cgroup), "rmdir %s: %s", cgroup, strerror(errno));
	want_hungry(t, load_json(t, out), f.c.pid, count);
	if (program_before) {
		json_t *root = load_json(t, out);
		json_t *p = process_of(t, root, f.c.pid, (unsigned int)lives_of(t, root, f.c.pid) - 2);

		want_ledger(t, root, p, &first, LED_ALL);
		want_bool(t, p, "ended", true);
		want_bool(t, p, "oom_killed", false);
		want(t, json_is_null(jget(p, "exit_signal")), "the program before has an exit_signal");
	}
}

TEST(oom_in_cgroup)
{
	oom_in_cgroup(t, false);
}

TEST(oom_after_exec)
{
	oom_in_cgroup(t, true);
}
