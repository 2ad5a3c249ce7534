// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Threads: exact figures whoever frees, snapshots under load, probes that come and go. */
#include "lt.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <poll.h>
#include <time.h>
#include <unistd.h>

static const char *number(uint64_t n)
{
	static char text[4][24];
	static unsigned int i;
	char *p = text[i++ % 4];

	snprintf(p, sizeof(text[0]), "%llu", (unsigned long long)n);
	return p;
}

/* What the threads did adds up to what the process did; the frees of others' blocks are the freeing thread's. */
static void want_threads_add_up(struct test *t, json_t *process)
{
	static const char *const keys[] = { "alloc_calls", "alloc_bytes", "free_calls", "free_bytes", "realloc_calls", "failed_calls" };

	for (unsigned int i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		uint64_t sum = 0;
		json_t *thread;
		char what[64];
		size_t k;

		json_array_foreach(jget(process, "threads"), k, thread)
			sum += ju64(t, jget(thread, "totals"), keys[i]);
		snprintf(what, sizeof(what), "%s of all threads", keys[i]);
		want_eq(t, what, ju64(t, jget(process, "totals"), keys[i]), sum);
	}
}

/* Blocks freed or moved by another thread than the one that allocated them. */
static void want_crossed(struct test *t, json_t *root, const struct fx *f)
{
	static const struct {
		const char *function, *note;
	} rows[] = { { "malloc", "crossed_malloc" }, { "calloc", "crossed_calloc" }, { "realloc", "crossed_realloc" } };

	for (unsigned int i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		uint64_t sum = 0;
		json_t *site;
		char what[64];
		size_t k;

		json_array_foreach(jget(root, "sites"), k, site)
			if (!strcmp(jstr(site, "function"), rows[i].function))
				sum += ju64(t, site, "cross_frees");
		snprintf(what, sizeof(what), "cross_frees of %s", rows[i].function);
		want_eq(t, what, ledger__note(t, &f->led, rows[i].note), sum);
	}
}

static void threads(struct test *t, const char *name, const char *what, uint64_t ops, const char *n_threads, unsigned int checks)
{
	struct fx f;
	json_t *root;

	fx__start(t, &f, name, what, number(ops), n_threads, NULL);
	root = trace(t, &f, 0, NULL);
	want_eq(t, "blocks that the program found damaged", 0, ledger__note(t, &f.led, "wrong"));
	want_ledger(t, root, process_of(t, root, f.c.pid, 0), &f.led, checks);
	want_threads_add_up(t, process_of(t, root, f.c.pid, 0));
	want_crossed(t, root, &f);
	want(t, strcmp(what, "cross") || ledger__note(t, &f.led, "crossed_malloc"), "blocks that another thread freed, wanted some, got none");
	fx__quit(t, &f);
}

TEST(threads_cross_frees) { threads(t, "threads", "cross", scaled(1000000) / 24 + 1, "8", LED_STACKS | LED_ONLY | LED_REALLOC); }
TEST(threads_cross_frees_nofp) { threads(t, "threads.nofp", "cross", scaled(200000) / 24 + 1, "8", LED_TOTALS | LED_REALLOC); }
TEST(threads_realloc_race) { threads(t, "threads", "race", scaled(100000), "3", LED_STACKS | LED_ONLY | LED_REALLOC); }
TEST(threads_first_of_arena) { threads(t, "threads", "first", 1, "4", LED_STACKS | LED_ONLY | LED_REALLOC); }

/* Waits until path is there whole: malloctrace renames it into place, or closes it. */
/* A whole file of JSON is there. */
void wait_json(struct test *t, int watch, const char *path)
{
	struct timespec ts;
	uint64_t until;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	until = (uint64_t)ts.tv_sec + patience_s(30);
	for (;;) {
		struct pollfd p = { .fd = watch, .events = POLLIN };
		char buf[4096] __attribute__((aligned(8)));
		json_t *j = with_frames(json_load_file(path, 0, NULL));

		if (j) {
			json_decref(j);
			return;
		}
		clock_gettime(CLOCK_MONOTONIC, &ts);
		must(t, (uint64_t)ts.tv_sec < until && poll(&p, 1, (int)patience_s(30) * 1000) == 1 &&
		     read(watch, buf, sizeof(buf)) > 0, "no whole %s in %u s after SIGUSR1", path, patience_s(30));
	}
}

/* 200,000 blocks held while two threads allocate and free: each snapshot is consistent, none disturbs. */
TEST(snapshots_under_churn)
{
	const uint64_t n_held = scaled(200000);
	uint64_t calls = 0;
	struct fx f;
	struct mt m;
	json_t *root;
	int watch = inotify_init1(IN_CLOEXEC);

	must(t, watch >= 0 && inotify_add_watch(watch, t->dir, IN_MOVED_TO | IN_CLOSE_WRITE) >= 0, "inotify");
	fx__start(t, &f, "threads", "churn", number(n_held), "2", NULL);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "--batch", "-o", in_dir(t, "x.json"), NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &f);		/* all are held; the others are at it */
	for (int i = 1; i <= 5; i++) {
		const char *path = in_dir(t, "x.%d.json", i);
		json_t *p, *totals;
		uint64_t blocks;

		child__kill(t, &m.c, SIGUSR1);
		wait_json(t, watch, path);
		root = load_json(t, path);
		want_invariants(t, root);
		want_lossless(t, root);
		p = process_of(t, root, f.c.pid, 0);
		totals = jget(p, "totals");
		want_eq(t, "held blocks", n_held, site_sum(t, root, p, "hold_here", "live_blocks"));
		want_eq(t, "held bytes", n_held * 40, site_sum(t, root, p, "hold_here", "live_bytes"));
		blocks = site_sum(t, root, p, "churn_here", "live_blocks");
		want(t, blocks <= 128, "churn_here live_blocks, wanted at most the 128 that can be held, got %llu", (unsigned long long)blocks);
		want_eq(t, "churn_here live_bytes", 72 * blocks, site_sum(t, root, p, "churn_here", "live_bytes"));
		want_eq(t, "churn_here alloc_bytes", 72 * site_sum(t, root, p, "churn_here", "alloc_calls"),
			site_sum(t, root, p, "churn_here", "alloc_bytes"));
		want(t, ju64(t, totals, "alloc_calls") >= calls, "alloc_calls, wanted never less than before");
		calls = ju64(t, totals, "alloc_calls");
		json_decref(root);
		fx__go(t, &f);
	}
	fx__send(t, &f, 's');
	fx__read_ledger(t, &f);
	mt__stop(t, &m, SIGINT, 0);
	root = load_json(t, in_dir(t, "x.json"));
	want_invariants(t, root);
	want_lossless(t, root);
	want_scan(t, root);
	want_ledger(t, root, process_of(t, root, f.c.pid, 0), &f.led, LED_STACKS | LED_ONLY | LED_REALLOC);
	fx__quit(t, &f);
}

/* Probes come and go fifty times in a process that never stops working. */
TEST_LIMIT(attach_twenty_times, 900)
{
	unsigned int n = (unsigned int)scaled(20);
	/* where all is slow, four busy threads would leave malloctrace no time to attach */
	const unsigned int n_threads = lt_scale_pct < 100 ? 1 : 4;
	uint64_t before = 0;
	struct fx f;

	fx__start(t, &f, "threads", "busy", "1", n_threads == 1 ? "1" : "4", NULL);
	for (unsigned int i = 0; i < n && !t->n_failed; i++) {
		struct mt m;
		json_t *root;

		mt__start(t, &m, "-p", pid_arg(f.c.pid), "--json", NULL);
		mt__wait_attached(t, &m);
		fx__go(t, &f);
		want_eq(t, "blocks that the program found damaged", 0, ledger__note(t, &f.led, "wrong"));
		root = mt__stop_json(t, &m, SIGINT, 0);
		want_lossless(t, root);
		json_decref(root);
		/* its work goes on; if it does not, the time is up one day */
		do
			fx__go(t, &f);
		while (ledger__note(t, &f.led, "ops") <= before);
		before = ledger__note(t, &f.led, "ops");
	}
	fx__send(t, &f, 's');
	fx__read_ledger(t, &f);
	want_eq(t, "the program's own count of live blocks", n_threads * 64, ledger__sum(&f.led, LED_ALLOC_CALLS) - ledger__sum(&f.led, LED_FREE_CALLS));
	fx__quit(t, &f);
}
