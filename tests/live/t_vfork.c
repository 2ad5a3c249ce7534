// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Children that share their parent's memory: what they do with its heap is its own. */
#include "chain.h"
#include "group.h"

#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

/* From 6.12 on the kernel runs no programs of the parent's links for them: right, or told. */
TEST(vfork_right_or_told)
{
	struct fx f;
	struct mt m;
	json_t *root, *p;

	fx__start(t, &f, "life", "vfork", NULL);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "--json", NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &f);
	root = stop_group(t, &m, SIGINT);
	p = process_of(t, root, f.c.pid, 0);
	if (!ju64(t, root, "losses.borrowed_unseen")) {
		want_ledger(t, root, p, &f.led, LED_ALL);
	} else {
		want_u64(t, root, "losses.borrowed_unseen", 1);
		/* three of 13 allocations are the child's */
		want_u64(t, p, "totals.alloc_calls", ledger__sum(&f.led, LED_ALLOC_CALLS) - 3);
	}
	fx__quit(t, &f);
}

/* As the words of that loss say. */
TEST(vfork_followed)
{
	struct fx f;
	json_t *root;

	fx__start(t, &f, "life", "vfork", NULL);
	root = trace(t, &f, 0, "-f", NULL);
	want_ledger(t, root, process_of(t, root, f.c.pid, 0), &f.led, LED_ALL & ~LED_ONLY);
	fx__quit(t, &f);
}

/* Most of them touch no heap: nothing to tell. */
TEST(vfork_spawn)
{
	struct fx f;
	json_t *root;

	fx__start(t, &f, "life", "spawn", NULL);
	root = trace(t, &f, 0, NULL);
	want_ledger(t, root, process_of(t, root, f.c.pid, 0), &f.led, LED_ALL);
	fx__quit(t, &f);
}

/*
 * The same with another tracer's uretprobe pending in the parent: the kernel hands its note of that down to such children,
 * who look as if they had met breakpoints of their own then. That is not known, and no loss.
 */
TEST(vfork_spawn_pending)
{
	uint64_t hits = 0, unclear;
	json_t *root;
	struct fx f;
	struct mt m;
	int fd;

	fx__start(t, &f, "life", "place-spawn", NULL);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "--json", NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &f);
	fd = other_uretprobe(t, fixture("life"), ledger__note(t, &f.led, "with_spawned"), f.c.pid);
	fx__go(t, &f);
	must(t, read(fd, &hits, sizeof(hits)) == sizeof(hits), "read: %s", strerror(errno));
	want_eq(t, "hits of the other tracer's probe", 1, hits);
	root = mt__stop_json(t, &m, SIGINT, 0);
	want_lossless(t, root);
	unclear = ju64(t, root, "edges.borrowed_unclear");
	/* before 6.12 the kernel runs the programs for them, and all is known */
	want(t, !unclear || unclear == 5, "edges.borrowed_unclear: wanted none or all 5, got %lu", (unsigned long)unclear);
	want_ledger(t, root, process_of(t, root, f.c.pid, 0), &f.led, LED_ALL);
	close(fd);
	fx__quit(t, &f);
}

/* ---- those that stay: processes that share a memory for good are one target */

#define LED_BOTH (LED_ALL & ~LED_STACKS)	/* main is in no stack of the sibling */

static void run_sibling(struct test *t, struct fx *f, struct mt *m, unsigned int turns)
{
	mt__wait_attached(t, m);
	for (unsigned int i = 0; i < turns; i++)
		fx__go(t, f);
}

/* turns: after one the sibling is alive, after two it has ended. */
static void siblings(struct test *t, const char *when, unsigned int turns, const char *option)
{
	struct fx f;
	struct mt m;
	json_t *root;

	fx__start(t, &f, "sibling", when, NULL);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "--json", option, NULL);
	run_sibling(t, &f, &m, turns);
	root = mt__stop_json(t, &m, SIGINT, 0);
	want_lossless(t, root);
	want_eq(t, "processes", 1, json_array_size(jget(root, "processes")));
	want_ledger(t, root, process_of(t, root, f.c.pid, 0), &f.led, LED_BOTH);
	fx__quit(t, &f);
}

TEST(sibling_alive) { siblings(t, "before", 1, NULL); }
TEST(sibling_ended) { siblings(t, "before", 2, NULL); }
TEST(sibling_followed) { siblings(t, "before", 1, "-f"); }
TEST(sibling_followed_ended) { siblings(t, "before", 2, "-f"); }
TEST(sibling_followed_from_birth) { siblings(t, "during", 1, "-f"); }

/* Where all of a name are traced, each is examined by itself: the two are one all the same. */
static void selected(struct test *t, const char *when)
{
	struct fx f;
	struct mt m;
	json_t *root;

	fx__start(t, &f, "sibling", when, NULL);
	mt__start(t, &m, "--comm", "sibling", "--json", NULL);
	run_sibling(t, &f, &m, 1);
	root = stop_group(t, &m, SIGINT);
	want_eq(t, "processes", 1, json_array_size(jget(root, "processes")));
	want_ledger(t, root, process_of(t, root, f.c.pid, 0), &f.led, LED_BOTH & ~LED_ONLY);
	fx__quit(t, &f);
}

TEST_ALONE(sibling_selected) { selected(t, "before"); }
/* The other one has a name that is not selected: what it frees is freed. */
TEST_ALONE(sibling_renamed_selected) { selected(t, "renamed"); }
/* The kernel compares memories by threads, and the first one has none any more. */
TEST_ALONE(sibling_headless_selected) { selected(t, "headless"); }

/*
 * What is live when the selected one exits may be in use in the other one, which is not selected.
 */
TEST_ALONE(sibling_renamed_outlives_selected)
{
	struct fx f;
	struct mt m;
	json_t *root;

	fx__start(t, &f, "sibling", "outlives", NULL);
	mt__start(t, &m, "--comm", "sibling", "--json", NULL);
	run_sibling(t, &f, &m, 1);
	fx__send(t, &f, 'g');
	child__wait_err(t, &m.c, "malloctrace: sibling", "exited before process", patience_s(20));
	root = stop_group(t, &m, SIGINT);
	want_eq(t, "processes", 1, json_array_size(jget(root, "processes")));
	want_u64(t, root, "losses.borrowed_unseen", 1);
	want_u64(t, root, "losses.total", 1);
	want_ledger(t, root, process_of(t, root, f.c.pid, 0), &f.led, LED_BOTH & ~LED_ONLY);
	fx__quit(t, &f);
}

/* Nor need one be the parent of the other: theirs has exited. */
TEST_ALONE(sibling_orphans_selected)
{
	struct fx f;
	struct mt m;
	json_t *root;
	size_t first;

	fx__start(t, &f, "sibling", "orphans", NULL);
	mt__start(t, &m, "--comm", "sibling", "--json", NULL);
	run_sibling(t, &f, &m, 1);
	root = stop_group(t, &m, SIGINT);
	/* the other one is that which waits for them */
	want_eq(t, "processes", 2, json_array_size(jget(root, "processes")));
	first = ju64(t, root, "processes[0].pid") == (uint64_t)f.c.pid ? 1 : 0;
	want_ledger(t, root, json_array_get(jget(root, "processes"), first), &f.led, LED_BOTH & ~LED_ONLY);
	fx__quit(t, &f);
}

/* Addresses that the sibling uses again are not what they were. */
TEST(sibling_leak_exact)
{
	struct fx f;
	struct mt m;
	json_t *root;

	fx__start(t, &f, "sibling", "--usable", "before", NULL);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "--json", "--mode", "leak", "--exact", NULL);
	run_sibling(t, &f, &m, 1);
	root = mt__stop_json(t, &m, SIGINT, 0);
	want_lossless(t, root);
	want_ledger(t, root, process_of(t, root, f.c.pid, 0), &f.led, LED_ONLY | LED_REALLOC);
	fx__quit(t, &f);
}

/* One that is made during the trace meets probes whose programs the kernel may not run for it: right, or a loss. */
static void right_or_told(struct test *t, unsigned int turns, const char *mode)
{
	struct fx f;
	struct mt m;
	json_t *root, *p;

	fx__start(t, &f, "sibling", "--usable", "during", NULL);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "--json", "--mode", mode, "--size", "usable", NULL);
	run_sibling(t, &f, &m, turns);
	root = stop_group(t, &m, SIGINT);
	p = process_of(t, root, f.c.pid, 0);
	if (ju64(t, root, "losses.borrowed_unseen")) {
		want_u64(t, root, "losses.borrowed_unseen", 1);
		want_u64(t, root, "losses.total", 1);
	} else {
		want_ledger(t, root, p, &f.led, LED_ONLY | LED_REALLOC);
	}
	fx__quit(t, &f);
}

TEST(sibling_made_is_told) { right_or_told(t, 1, "full"); }
TEST(sibling_made_and_ended_is_told) { right_or_told(t, 2, "full"); }
TEST(sibling_made_is_told_in_leak_mode) { right_or_told(t, 1, "leak"); }

static bool has_maps(pid_t pid)
{
	char path[64], to[64];
	bool found = false;
	struct dirent *d;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	dir = opendir(path);
	while (dir && !found && (d = readdir(dir))) {
		ssize_t n = readlinkat(dirfd(dir), d->d_name, to, sizeof(to) - 1);

		to[n > 0 ? n : 0] = 0;
		found = strstr(to, "bpf-map");
	}
	if (dir)
		closedir(dir);
	return found;
}

/* One that is made while malloctrace loads its programs: after it listed the processes that share the memory. */
TEST(sibling_made_while_attaching)
{
	struct fx f;
	struct mt m;
	json_t *root;

	fx__start(t, &f, "sibling", "attaching", NULL);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "--json", NULL);
	while (!has_maps(m.c.pid))
		sched_yield();
	fx__go(t, &f);
	run_sibling(t, &f, &m, 1);
	root = stop_group(t, &m, SIGINT);
	if (!ju64(t, root, "losses.borrowed_unseen") && !ju64(t, root, "edges.borrowed_unclear"))
		want_ledger(t, root, process_of(t, root, f.c.pid, 0), &f.led, LED_BOTH);
	fx__quit(t, &f);
}

/* The trace ends with the process that -p names; what the sibling does from then on is in no figure. */
TEST(sibling_left_is_a_loss)
{
	struct fx f;
	struct mt m;
	json_t *root;

	fx__start(t, &f, "sibling", "left", NULL);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "--json", NULL);
	run_sibling(t, &f, &m, 1);
	fx__send(t, &f, 'g');
	root = stop_group(t, &m, 0);
	want_u64(t, root, "losses.borrowed_unseen", 1);
	want_u64(t, root, "losses.total", 1);
	want_ledger(t, root, process_of(t, root, f.c.pid, 0), &f.led, LED_BOTH);
	fx__quit(t, &f);
}

static pid_t child_of(struct test *t, pid_t pid)
{
	char path[64];
	int child = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid, (int)pid);
	f = fopen(path, "re");
	must(t, f && fscanf(f, "%d", &child) == 1, "%s: no child", path);
	fclose(f);
	return child;
}

/* Whichever of them is named, and how often: one target. */
TEST(sibling_named)
{
	char both[40];
	struct fx f;
	struct mt m;
	json_t *root;
	pid_t sibling;

	fx__start(t, &f, "sibling", "before", NULL);
	sibling = child_of(t, f.c.pid);
	snprintf(both, sizeof(both), "%d,%d", (int)sibling, (int)f.c.pid);
	mt__start(t, &m, "-p", both, "--json", NULL);
	run_sibling(t, &f, &m, 1);
	root = mt__stop_json(t, &m, SIGINT, 0);
	want_lossless(t, root);
	want_eq(t, "processes", 1, json_array_size(jget(root, "processes")));
	want_ledger(t, root, process_of(t, root, sibling, 0), &f.led, LED_BOTH);
	fx__quit(t, &f);
}
