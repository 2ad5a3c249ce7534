// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Children that share their parent's memory: what they do with its heap is its own. */
#include "chain.h"
#include "group.h"
#include "mishap.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
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

/* The selected one has got its name during the trace: the other one is found then. */
TEST_ALONE(sibling_of_a_chosen_one)
{
	struct fx f;
	struct mt m;
	json_t *root;

	fx__start(t, &f, "sibling", "chosen", NULL);
	mt__start(t, &m, "--comm", "chosen", "-v", "--json", "-o", in_dir(t, "x.json"), NULL);
	run_sibling(t, &f, &m, 1);
	/* what was done because of the message is done before the snapshot */
	child__wait_err(t, &m.c, "malloctrace: stacks of chosen", NULL, patience_s(20));
	child__kill(t, &m.c, SIGUSR1);
	child__wait_err(t, &m.c, "malloctrace: snapshot 1 written", NULL, patience_s(60));
	fx__go(t, &f);
	root = stop_group(t, &m, SIGINT);
	want_eq(t, "processes", 1, json_array_size(jget(root, "processes")));
	want_ledger(t, root, process_of(t, root, f.c.pid, 0), &f.led, LED_BOTH & ~LED_ONLY);
	fx__quit(t, &f);
}

#define N_CHOSEN 100u
#define N_BESIDE 100u

/* Says so when it has its name, and stays until the test ends. */
static pid_t start_idle(struct test *t, const char *name)
{
	int fds[2];
	pid_t pid;
	char c;

	must(t, !pipe(fds), "pipe: %s", strerror(errno));
	pid = fork();
	must(t, pid >= 0, "fork: %s", strerror(errno));
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prctl(PR_SET_NAME, name);
		if (write(fds[1], "", 1) == 1)
			pause();
		_exit(0);
	}
	must(t, read(fds[0], &c, 1) == 1, "read: %s", strerror(errno));
	close(fds[0]);
	close(fds[1]);
	return pid;
}

/*
 * Anybody can take a selected name, again and again: not each time are all processes compared. The
 * others that run are those of N_BESIDE, at least.
 */
TEST_ALONE(chosen_ones_without_end)
{
	struct spawn how = { .argv = { lt_bin, "--comm", "chosen", "-v", "--no-inlines", "--json" } };
	struct mishap *calls = mishap__new(t);
	uint64_t n_chosen = 0, before, n;
	char last[64];
	json_t *root, *p;
	struct mt m;
	size_t i;

	for (i = 0; i < N_BESIDE; i++)
		start_idle(t, "beside");
	mishap__ask(t, calls, 0, false);
	mishap__prepare(t, calls, MISHAP_COMPARES, &how);
	mt__start_v(t, &m, &how);
	mishap__begun();
	mt__wait_attached(t, &m);
	before = calls->n_calls;
	for (i = 0; i < N_CHOSEN; i++)
		snprintf(last, sizeof(last), "malloctrace: stacks of chosen (%d)", (int)start_idle(t, "chosen"));
	child__wait_err(t, &m.c, last, NULL, patience_s(60));
	n = calls->n_calls - before;
	root = mt__stop_json(t, &m, SIGINT, 0);
	json_array_foreach(jget(root, "processes"), i, p)
		n_chosen += !strcmp(jstr(p, "comm"), "chosen");
	want_eq(t, "processes", N_CHOSEN, n_chosen);
	printf("# %" PRIu64 " comparisons\n", n);
	want(t, n && n < N_CHOSEN * N_BESIDE, "%" PRIu64 " comparisons", n);
}

/* What is still to be handled when the trace ends is not traced, and does not make it fail. */
TEST_ALONE(chosen_ones_at_the_end)
{
	struct mt m;

	mt__start(t, &m, "--comm", "chosen", "--no-inlines", "--json", NULL);
	mt__wait_attached(t, &m);
	for (size_t i = 0; i < N_CHOSEN; i++)
		start_idle(t, "chosen");
	json_decref(mt__stop_json(t, &m, SIGINT, 0));
}

/* Does its first thread wait for time to pass, and for nothing else? Its loop waits by epoll. */
static bool sleeps(pid_t pid)
{
	char path[64], *text;
	unsigned long nr, fds;
	bool does;

	snprintf(path, sizeof(path), "/proc/%d/syscall", (int)pid);
	text = read_all(path, NULL);
	does = text && sscanf(text, "%lu %lx", &nr, &fds) == 2 && !fds &&
	       (nr == SYS_ppoll
#ifdef SYS_poll
		|| nr == SYS_poll
#endif
	       );
	free(text);
	return does;
}

/*
 * What is live when the selected one exits may be in use in the other one, which is not selected. That
 * one may be about to exit, too: malloctrace gives it time without waiting for it.
 */
TEST_ALONE(sibling_renamed_outlives_selected)
{
	static const char said[] = "exited before process";
	unsigned int left_ms = patience_s(20) * 1000, n_sleeps = 0;
	struct fx f;
	struct mt m;
	json_t *root;

	fx__start(t, &f, "sibling", "outlives", NULL);
	mt__start(t, &m, "--comm", "sibling", "--json", NULL);
	run_sibling(t, &f, &m, 1);
	fx__send(t, &f, 'g');
	for (child__drain(&m.c); !strstr(m.c.errs.s, said) && left_ms--; child__drain(&m.c)) {
		n_sleeps += sleeps(m.c.pid);
		poll(NULL, 0, 1);
	}
	want(t, strstr(m.c.errs.s, said), "nothing is said of it: %s", m.c.errs.s);
	want_eq(t, "moments in which malloctrace waited", 0, n_sleeps);
	root = stop_group(t, &m, SIGINT);
	want_eq(t, "processes", 1, json_array_size(jget(root, "processes")));
	want_u64(t, root, "losses.borrowed_unseen", 1);
	want_u64(t, root, "losses.total", 1);
	want_ledger(t, root, process_of(t, root, f.c.pid, 0), &f.led, LED_BOTH & ~LED_ONLY);
	fx__quit(t, &f);
}

/* The same at the end of the trace, when nobody waits for the next second. */
TEST_ALONE(sibling_renamed_outlives_the_trace)
{
	struct fx f;
	struct mt m;
	json_t *root;

	fx__start(t, &f, "sibling", "outlives", NULL);
	mt__start(t, &m, "--comm", "sibling", "--json", NULL);
	run_sibling(t, &f, &m, 1);
	fx__send(t, &f, 'g');
	want_state(t, f.c.pid, 'Z');
	root = stop_group(t, &m, SIGINT);
	want_u64(t, root, "losses.borrowed_unseen", 1);
	want_u64(t, root, "losses.total", 1);
	want_ledger(t, root, process_of(t, root, f.c.pid, 0), &f.led, LED_BOTH & ~LED_ONLY);
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
