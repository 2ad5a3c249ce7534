// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * --mode leak while a program works: how much of what is called live is not, against a diary that the program keeps; marks; what it costs.
 */
#include "diary.h"
#include "lt.h"

#include <errno.h>
#include <signal.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <time.h>

#define TICK_NS 10000000ull	/* at most */

/* ---- a program that only gives back */

/*
 * Blocks that were in use when their part of the heap was read, and are not when the figures are taken: as nothing is allocated, no
 * address comes again that would tell of them.
 */
static void only_frees(struct test *t, const char *n_threads)
{
	int watch = inotify_init1(IN_CLOEXEC), n = 0;
	const char *diary = in_dir(t, "diary");
	uint64_t unsure = 0, over = 0;
	const struct diary *d;
	struct bound_seen seen;
	json_t *root;
	struct fx f;
	struct mt m;

	must(t, watch >= 0 && inotify_add_watch(watch, t->dir, IN_MOVED_TO | IN_CLOSE_WRITE) >= 0, "inotify: %s", strerror(errno));
	fx__start(t, &f, "diary", "--usable", "frees", "300000", n_threads, diary, NULL);
	d = diary__map(t, diary);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "--mode", "leak", "--batch", "-o", in_dir(t, "x.json"), NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &f);
	do {
		const char *path = in_dir(t, "x.%d.json", ++n);

		child__kill(t, &m.c, SIGUSR1);
		wait_json(t, watch, path);
		root = load_json(t, path);
		want_invariants(t, root);
		want_lossless(t, root);
		seen = want_bound(t, root, process_of(t, root, f.c.pid, 0), d);
		unsure += seen.unsure;
		over += seen.live > seen.most ? seen.live - seen.most : 0;
		json_decref(root);
	} while (seen.most && n < 20);
	printf("  %d snapshots: %llu blocks said to be unsure, %llu at least too many\n", n, (unsigned long long)unsure, (unsigned long long)over);
	fx__send(t, &f, 's');
	fx__read_ledger(t, &f);
	mt__stop(t, &m, SIGINT, 0);
	root = load_json(t, in_dir(t, "x.json"));
	want_ledger(t, root, process_of(t, root, f.c.pid, 0), &f.led, LED_STACKS | LED_ONLY | LED_REALLOC);
	want(t, !jget(root, "live_unsure_blocks"), "live_unsure_blocks at rest, wanted none");
	fx__quit(t, &f);
}

TEST(leak_of_frees_alone) { only_frees(t, "1"); }
TEST(leak_of_frees_alone_by_two) { only_frees(t, "2"); }
TEST(leak_of_frees_alone_by_four) { only_frees(t, "4"); }

/* ---- all at once: full rate, threads that come and go, arenas that grow to several heaps and are trimmed */

static void storm(struct test *t, const char *env)
{
	const char *diary = in_dir(t, "diary");
	struct spawn s = { .argv = { fixture("diary"), "--usable", "storm", "60000", "4", diary }, .env = { env } };
	int watch = inotify_init1(IN_CLOEXEC);
	json_t *root;
	struct fx f;
	struct mt m;

	must(t, watch >= 0 && inotify_add_watch(watch, t->dir, IN_MOVED_TO | IN_CLOSE_WRITE) >= 0, "inotify: %s", strerror(errno));
	fx__start_as(t, &f, &s);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "--mode", "leak", "--batch", "-o", in_dir(t, "x.json"), NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &f);
	for (int i = 1; i <= 8; i++) {
		const char *path = in_dir(t, "x.%d.json", i);

		child__kill(t, &m.c, SIGUSR1);
		wait_json(t, watch, path);
		root = load_json(t, path);
		want_invariants(t, root);
		want_lossless(t, root);
		want(t, !jget(root, "heaps_not_read"), "heaps_not_read, wanted none");
		want_eq(t, "frees of what is kept", 0, site_sum(t, root, process_of(t, root, f.c.pid, 0), "kept_here", "free_calls"));
		want_bound(t, root, process_of(t, root, f.c.pid, 0), diary__map(t, diary));
		json_decref(root);
	}
	fx__send(t, &f, 's');
	fx__read_ledger(t, &f);
	mt__stop(t, &m, SIGINT, 0);
	root = load_json(t, in_dir(t, "x.json"));
	want_invariants(t, root);
	want_lossless(t, root);
	want_scan(t, root);
	/* threads have blocks that are none of its own */
	want_ledger(t, root, process_of(t, root, f.c.pid, 0), &f.led, LED_REALLOC);
	fx__quit(t, &f);
}

TEST(leak_storm) { storm(t, NULL); }
TEST(leak_mapped_caches_storm) { storm(t, "GLIBC_TUNABLES=glibc.malloc.mmap_threshold=256:glibc.malloc.arena_max=1"); }
TEST(leak_huge_pages_storm) { storm(t, "GLIBC_TUNABLES=glibc.malloc.hugetlb=2"); }

/* ---- marks: no heap is read at the instant of a call, and that is said */

/* The file of a mark's snapshot says as much as its row does. */
static void want_file(struct test *t, size_t number, json_t *mark)
{
	/* a request before each mark has a number, too */
	json_t *root = load_json(t, in_dir(t, "m.%zu.json", 2 * number));

	want_u64(t, root, "live_unsure_blocks", ju64(t, mark, "live_unsure_blocks"));
	want_u64(t, root, "totals.live_blocks", ju64(t, mark, "live_blocks"));
	want(t, !jget(root, "heap_read_at_ns") == !jget(mark, "heap_read_at_ns"), "heap_read_at_ns of its file, wanted it where its row has it");
	json_decref(root);
}

TEST(leak_marks)
{
	const char *out = in_dir(t, "m.json");
	unsigned int n_whole = 0;
	static struct ledger at[20];
	json_t *root, *v;
	struct fx f;
	struct mt m;
	size_t i;

	fx__start(t, &f, "spots", "--usable", "marks", "20", NULL);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "--mode", "leak", "-o", out, "--mark", "spot_mark", NULL);
	mt__wait_attached(t, &m);
	for (i = 0; i < 20; i++) {
		/* so that one was made before */
		child__kill(t, &m.c, SIGUSR1);
		child__wait_err(t, &m.c, "malloctrace: snapshot", NULL, 30);
		fx__go(t, &f);
		at[i] = f.led;
		child__wait_err(t, &m.c, "malloctrace: mark", NULL, 30);
	}
	fx__go(t, &f);
	mt__stop(t, &m, SIGINT, 0);
	root = load_json(t, out);
	json_array_foreach(jget(root, "marks"), i, v) {
		uint64_t live = ledger__sum(&at[i], LED_ALLOC_BYTES) - ledger__sum(&at[i], LED_FREE_BYTES);

		if (!json_is_true(jget(v, "whole"))) {
			want(t, json_is_null(jget(v, "live_bytes")), "live_bytes of a mark without figures, wanted null");
			continue;
		}
		n_whole++;
		want_u64(t, v, "alloc_calls", ledger__sum(&at[i], LED_ALLOC_CALLS));
		/* before the first one there was no heap; a mark's time is that of the tick before it */
		want(t, i || !jget(v, "heap_read_at_ns"), "heap_read_at_ns of the first, wanted none, as nothing was read before it");
		want(t, ju64(t, v, "live_unsure_blocks") > 0 && ju64(t, v, "live_unsure_blocks") <= ju64(t, v, "live_blocks"),
		     "live_unsure_blocks, wanted what may have been freed since the reading, got %llu", (unsigned long long)ju64(t, v, "live_unsure_blocks"));
		want_file(t, i + 1, v);
		want(t, !i || (ju64(t, v, "heap_read_at_ns") && ju64(t, v, "heap_read_at_ns") <= ju64(t, v, "t_ns") + TICK_NS),
		     "heap_read_at_ns, wanted a time before the mark's %llu, got %llu", (unsigned long long)ju64(t, v, "t_ns"),
		     i ? (unsigned long long)ju64(t, v, "heap_read_at_ns") : 0);
		want(t, ju64(t, v, "live_bytes") >= live && ju64(t, v, "all_live_bytes") == ju64(t, v, "live_bytes"), "live_bytes, wanted at least %llu, got %llu",
		     (unsigned long long)live, (unsigned long long)ju64(t, v, "live_bytes"));
	}
	want(t, n_whole > 1, "marks with figures, wanted some, got %u", n_whole);
	mt__run(t, &m, "report", out, "--view", "tags", NULL);
	want(t, strstr(m.c.outs.s, "live figures of a mark are of the last reading of the heap before it"), "the table of marks, wanted that in it, got: %.600s", m.c.outs.s);
	/* at rest, and read at the end */
	want_ledger(t, root, process_of(t, root, f.c.pid, 0), &f.led, LED_REALLOC);
	fx__quit(t, &f);
}

/* One that comes while the heap is read for the last time: what is found then is not in its cut, which is read after it. */
TEST(leak_mark_in_the_last_reading)
{
	const char *out = in_dir(t, "m.json");
	unsigned int n_whole = 0;
	json_t *root, *v;
	struct fx f;
	struct mt m;
	size_t i;

	fx__start(t, &f, "spots", "--usable", "crowd", "300000", NULL);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "--mode", "leak", "-o", out, "--mark", "spot_mark", NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &f);
	child__wait_err(t, &m.c, "malloctrace: mark", NULL, 30);
	mt__stop(t, &m, SIGINT, 0);
	root = load_json(t, out);
	json_array_foreach(jget(root, "marks"), i, v) {
		uint64_t at_ns = jget(v, "heap_read_at_ns") ? ju64(t, v, "heap_read_at_ns") : 0;

		if (!json_is_true(jget(v, "whole")))
			continue;
		n_whole++;
		want(t, at_ns <= ju64(t, v, "t_ns") + TICK_NS, "heap_read_at_ns, wanted a time before the mark's %llu, got %llu",
		     (unsigned long long)ju64(t, v, "t_ns"), (unsigned long long)at_ns);
		/* it ran */
		want(t, ju64(t, v, "live_blocks") && jget(v, "live_unsure_blocks") && ju64(t, v, "live_unsure_blocks") == ju64(t, v, "live_blocks"),
		     "live_unsure_blocks, wanted all %llu that are live", (unsigned long long)ju64(t, v, "live_blocks"));
	}
	want(t, n_whole, "marks with figures, wanted some");
	fx__quit(t, &f);
}

/* ---- reports between which nothing is read, as it would cost more than it is worth: nobody was stopped for these */

TEST(leak_exact_stops_nobody_in_vain)
{
	uint64_t last_at_ns = 0;
	unsigned int n_same = 0;
	json_error_t where;
	const char *at;
	json_t *root;
	struct fx f;
	struct mt m;

	fx__start(t, &f, "spots", "--usable", "crowd", "300000", NULL);
	child__start(t, &m.c, &(struct spawn){ .argv = { lt_bin, "-p", pid_arg(f.c.pid), "--mode", "leak", "--exact", "--json", "1" } });
	mt__wait_attached(t, &m);
	fx__go(t, &f);
	child__kill(t, &m.c, SIGUSR1);
	child__wait_err(t, &m.c, "malloctrace: snapshot", NULL, 30);
	child__wait_out(t, &m.c, "\n}\n", 5);
	mt__stop(t, &m, SIGINT, 0);
	for (at = m.c.outs.s; (root = json_loads(at, JSON_DISABLE_EOF_CHECK, &where)); at += where.position) {
		uint64_t at_ns = jget(root, "heap_read_at_ns") ? ju64(t, root, "heap_read_at_ns") : 0;

		if (at_ns && at_ns == last_at_ns) {
			n_same++;
			want(t, !jget(root, "heap_read_paused_ns"), "heap_read_paused_ns of a report that no heap was read for, wanted none");
		}
		last_at_ns = at_ns;
		json_decref(root);
	}
	if (!n_same)
		skip(t, "each report had a reading of its own");
	fx__quit(t, &f);
}

/* ---- what it is for */

#define COST_ROUNDS 3
#define COST_PARTS 11

static uint64_t cpu_ns_of(pid_t pid)
{
	struct timespec ts = {};
	clockid_t clock;

	if (clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &ts))
		return 0;
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static int by_ns(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Of a part of a second. */
static double pair_ns_now(struct test *t, struct fx *f)
{
	struct timespec while_ = { .tv_nsec = 70000000 };
	uint64_t ops, cpu_ns;

	fx__go(t, f);
	ops = ledger__note(t, &f->led, "ops");
	cpu_ns = cpu_ns_of(f->c.pid);
	/* not to wait for anything: this is what is measured */
	nanosleep(&while_, NULL);
	fx__go(t, f);
	cpu_ns = cpu_ns_of(f->c.pid) - cpu_ns;
	ops = ledger__note(t, &f->led, "ops") - ops;
	must(t, cpu_ns, "its CPU time cannot be told");
	return ops ? (double)cpu_ns / (double)ops : 1e9;
}

/* CPU time of a pair of malloc and free, ns, the median of some parts; mode NULL: nobody looks on. */
static double pair_ns(struct test *t, const char *mode)
{
	double ns[COST_PARTS];
	struct fx f;
	struct mt m;

	fx__start(t, &f, "threads", "busy", "0", "1", NULL);
	if (mode) {
		mt__start(t, &m, "-p", pid_arg(f.c.pid), "--mode", mode, "--size", "usable", "--json", NULL);
		mt__wait_attached(t, &m);
	}
	for (int i = 0; i < COST_PARTS; i++)
		ns[i] = pair_ns_now(t, &f);
	qsort(ns, COST_PARTS, sizeof(*ns), by_ns);
	if (mode)
		mt__stop(t, &m, SIGINT, 0);
	fx__send(t, &f, 's');
	fx__read_ledger(t, &f);
	fx__quit(t, &f);
	return ns[COST_PARTS / 2];
}

/* With the same sizes. Medians: others on this machine add to single times, and a virtual machine's clock may stand still. */
TEST_ALONE(leak_costs_less)
{
	double bare = 1e9, full = 1e9, leak_ns = 1e9;

	for (int i = 0; i < COST_ROUNDS; i++) {
		bare = fmin(bare, pair_ns(t, NULL));
		full = fmin(full, pair_ns(t, "full"));
		leak_ns = fmin(leak_ns, pair_ns(t, "leak"));
	}
	printf("  a pair takes %.0f ns, %.0f more with --mode full --size usable, %.0f more with --mode leak: %.2f of it\n", bare, full - bare, leak_ns - bare,
	       (leak_ns - bare) / (full - bare));
	want(t, leak_ns < full, "--mode leak, wanted less than the %.0f ns of full mode, got %.0f", full, leak_ns);
}
