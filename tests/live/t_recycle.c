// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* More lives, blocks and stacks than the tables have room for, one after the other: each is counted, none is lost. */
#include "lt.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LEAKS 40
#define DEEP 8		/* stacks of leak_deep in the fixture, with a block each */
#define LIVE (LEAKS + DEEP)
#define SITES (1 + DEEP + 1)

static const char *number(uint64_t n)
{
	static char text[4][24];
	static unsigned int at;
	char *p = text[at++ % 4];

	snprintf(p, sizeof(text[0]), "%" PRIu64, n);
	return p;
}

/* What all lives of the pid have in this counter, and how many there are. */
static uint64_t sum_of(struct test *t, json_t *root, pid_t pid, const char *path, uint64_t *ret_n)
{
	uint64_t sum = 0;
	json_t *p;
	size_t i;

	*ret_n = 0;
	json_array_foreach(jget(root, "processes"), i, p)
		if (ju64(t, p, "pid") == (uint64_t)pid) {
			sum += ju64(t, p, path);
			++*ret_n;
		}
	return sum;
}

static const struct {
	const char *path;
	enum led_count which;
} six[] = {
	{ "totals.alloc_calls", LED_ALLOC_CALLS },
	{ "totals.alloc_bytes", LED_ALLOC_BYTES },
	{ "totals.free_calls", LED_FREE_CALLS },
	{ "totals.free_bytes", LED_FREE_BYTES },
};

/*
 * Every life is there, with its own stacks and what it left behind. named: it was looked at
 * while it was there, so its code has names.
 */
static void want_lives(struct test *t, json_t *root, const struct fx *f, uint64_t n_lives, bool named)
{
	uint64_t n, wrong_live = 0, wrong_sites = 0, nameless = 0, n_unsure = 0;
	json_t *p, *s;
	size_t i;

	for (i = 0; i < sizeof(six) / sizeof(six[0]); i++) {
		want_eq(t, six[i].path, ledger__sum(&f->led, six[i].which), sum_of(t, root, f->c.pid, six[i].path, &n));
		want_eq(t, "lives", n_lives, n);
	}
	json_array_foreach(jget(root, "processes"), i, p)
		if (ju64(t, p, "pid") == (uint64_t)f->c.pid) {
			wrong_live += ju64(t, p, "totals.live_blocks") != LIVE;
			nameless += strcmp(jstr(p, "comm"), "lives") && strcmp(jstr(p, "comm"), "exe");
		}
	want_eq(t, "lives with another number of live blocks", 0, wrong_live);
	want_eq(t, "lives without their name", 0, nameless);
	n = 0;
	json_array_foreach(jget(root, "sites"), i, s) {
		if (ju64(t, s, "pid") != (uint64_t)f->c.pid)
			continue;
		n++;
		n_unsure += !strcmp(jstr(s, "end"), "unsure");
		wrong_sites += strcmp(jstr(s, "stack[0].function"), "leak_here") && strcmp(jstr(s, "stack[0].function"), "leak_deep") &&
			       strcmp(jstr(s, "stack[0].function"), "churn_here");
	}
	/* one that execs before its code is known has stacks that say so, beside those that are whole */
	if (!named)
		want(t, n >= n_lives * SITES && n - n_lives * SITES <= n_unsure, "%llu sites of %llu, %llu of them unsure", (unsigned long long)n,
		     (unsigned long long)(n_lives * SITES), (unsigned long long)n_unsure);
	else
		want_eq(t, "sites", n_lives * SITES, n);
	if (named)
		want_eq(t, "sites of another function", 0, wrong_sites);
}

/* More lives than have room at a time; for half of their stacks and blocks. It does not wait for malloctrace. */
TEST(recycle_lives)
{
	const uint64_t n = scaled(1100);
	struct fx f;
	struct mt m;
	json_t *root;

	fx__start(t, &f, "lives", number(n), number(LEAKS), NULL);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "--json", "--max-live", number(n * LIVE / 2), "--max-stacks", number(n * SITES / 2), NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &f);
	root = mt__stop_json(t, &m, SIGINT, 0);
	want_lossless(t, root);
	want_scan(t, root);
	want_lives(t, root, &f, n, false);
	fx__quit(t, &f);
}

/* A program of our own, which waits at each exec: a tenth of the room will do. Its stacks by tables. */
TEST(recycle_command)
{
	const uint64_t n = scaled(500);
	struct spawn s = { .argv = { lt_bin, "--json", "--unwind", "table", "--max-live", number(n * LIVE / 10), "--max-stacks",
				     number(n * SITES / 10), "--", fixture("lives"), "--auto", in_dir(t, "ledger"), number(n),
				     number(LEAKS) } };
	struct fx f = { 0 };
	struct mt m;
	json_t *root;
	char *text;

	mt__start_v(t, &m, &s);
	root = mt__stop_json(t, &m, 0, 0);
	text = read_all(in_dir(t, "ledger"), NULL);
	must(t, text && ledger__parse(&f.led, text), "no ledger");
	f.c.pid = (pid_t)ju64(t, root, "processes[0].pid");
	want_lossless(t, root);
	want_scan(t, root);
	want_lives(t, root, &f, n, true);
}

/* Threads of another process allocate meanwhile in the same tables: they take the places of the dead while these are swept away. */
TEST(recycle_under_load)
{
	const uint64_t n = scaled(500);
	struct fx lives, threads;
	struct mt m;
	json_t *root;
	char pids[40];

	fx__start(t, &threads, "threads", "cross", number(scaled(2000000) / 24 + 1), "8", NULL);
	fx__start(t, &lives, "lives", number(n), number(LEAKS), NULL);
	snprintf(pids, sizeof(pids), "%d,%d", lives.c.pid, threads.c.pid);
	mt__start(t, &m, "-p", pids, "--json", "--max-live", number(n * LIVE / 2), "--max-stacks", number(n * SITES / 2), NULL);
	mt__wait_attached(t, &m);
	fx__send(t, &lives, 'g');
	fx__go(t, &threads);
	want_eq(t, "blocks that the program found damaged", 0, ledger__note(t, &threads.led, "wrong"));
	fx__read_ledger(t, &lives);
	root = mt__stop_json(t, &m, SIGINT, 0);
	want_lossless(t, root);
	want_scan(t, root);
	want_lives(t, root, &lives, n, false);
	want_ledger(t, root, process_of(t, root, threads.c.pid, 0), &threads.led, LED_STACKS | LED_REALLOC);
	fx__quit(t, &threads);
	fx__quit(t, &lives);
}

/* Reports while it goes on: each adds up, and nothing that was told is taken back. */
TEST(recycle_snapshots)
{
	const uint64_t n = scaled(500);
	uint64_t calls = 0, lives = 0, k;
	struct fx f;
	struct mt m;
	json_t *root;

	fx__start(t, &f, "lives", number(n), number(LEAKS), NULL);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "--batch", "-o", in_dir(t, "x.json"), "--max-live", number(n * LIVE / 2), "--max-stacks",
		  number(n * SITES / 2), NULL);
	mt__wait_attached(t, &m);
	fx__send(t, &f, 'g');
	for (unsigned int i = 1; i <= 6; i++) {
		char line[32];

		snprintf(line, sizeof(line), "snapshot %u written", i);
		child__kill(t, &m.c, SIGUSR1);
		child__wait_err(t, &m.c, "malloctrace:", line, patience_s(60));
		root = load_json(t, in_dir(t, "x.%u.json", i));
		want_invariants(t, root);
		want(t, ju64(t, root, "totals.alloc_calls") >= calls, "alloc_calls went back from %" PRIu64, calls);
		calls = ju64(t, root, "totals.alloc_calls");
		sum_of(t, root, f.c.pid, "id", &k);
		want(t, k >= lives, "%" PRIu64 " lives, then %" PRIu64, lives, k);
		lives = k;
		json_decref(root);
	}
	fx__read_ledger(t, &f);
	mt__stop(t, &m, SIGINT, 0);
	root = load_json(t, in_dir(t, "x.json"));
	want_invariants(t, root);
	want_lossless(t, root);
	want_scan(t, root);
	want_lives(t, root, &f, n, false);
	fx__quit(t, &f);
}

#define CHURNED 200	/* blocks of a life that are freed, at one site */
#define CHURN_BYTES 33

/* Where they were freed: in each life as often as it did, by nobody but itself, in places that have names. */
static void want_frees(struct test *t, json_t *root, const struct fx *f, uint64_t n_lives)
{
	json_t *sites = jget(root, "sites"), *wheres = jget(root, "free_sites"), *row;
	uint64_t *of_life = calloc(json_array_size(jget(root, "processes")) + 1, sizeof(*of_life));
	uint64_t calls = 0, bytes = 0, strange = 0, n_wrong = 0, n = 0, unnamed = 0;
	size_t i;

	must(t, of_life != NULL, "no memory");
	json_array_foreach(jget(root, "frees"), i, row) {
		json_t *site = json_array_get(sites, ju64(t, row, "site")), *where = json_array_get(wheres, ju64(t, row, "where"));
		uint64_t life = ju64(t, site, "process");

		if (ju64(t, site, "pid") != (uint64_t)f->c.pid)
			continue;
		must(t, life && life <= json_array_size(jget(root, "processes")), "no process %" PRIu64, life);
		strange += life != ju64(t, where, "process") || strcmp(jstr(site, "stack[0].function"), "churn_here");
		unnamed += !*jstr(where, "stack[0].function") || ju64(t, row, "tid") != (uint64_t)f->c.pid;
		of_life[life - 1] += ju64(t, row, "calls");
		calls += ju64(t, row, "calls");
		bytes += ju64(t, row, "bytes");
	}
	for (i = 0; i < json_array_size(jget(root, "processes")); i++) {
		n += of_life[i] > 0;
		n_wrong += of_life[i] && of_life[i] != CHURNED;
	}
	free(of_life);
	want_eq(t, "frees in all rows", ledger__sum(&f->led, LED_FREE_CALLS), calls);
	want_eq(t, "bytes in all rows", ledger__sum(&f->led, LED_FREE_BYTES), bytes);
	want_eq(t, "the same, by the program's source", n_lives * CHURNED * CHURN_BYTES, bytes);
	want_eq(t, "lives with frees", n_lives, n);
	want_eq(t, "lives with another number of frees", 0, n_wrong);
	want_eq(t, "rows of another site or process", 0, strange);
	want_eq(t, "rows without a place or a thread", 0, unnamed);
}

/* --free-stacks: sites that free and rows of frees are used again, too. There is room for twenty lives at a time. */
TEST_LIMIT(recycle_frees, 300)
{
	const uint64_t n = scaled(500);
	struct spawn s = { .argv = { lt_bin, "--json", "--free-stacks", "--unwind", "table", "--max-live", number(n * LIVE / 10),
				     "--max-stacks", "250", "--", fixture("lives"), "--auto", in_dir(t, "ledger"), number(n),
				     number(LEAKS) } };
	struct fx f = { 0 };
	struct mt m;
	json_t *root;
	char *text;

	mt__start_v(t, &m, &s);
	root = mt__stop_json(t, &m, 0, 0);
	text = read_all(in_dir(t, "ledger"), NULL);
	must(t, text && ledger__parse(&f.led, text), "no ledger");
	f.c.pid = (pid_t)ju64(t, root, "processes[0].pid");
	want_lossless(t, root);
	want_scan(t, root);
	want_lives(t, root, &f, n, true);
	want_frees(t, root, &f, n);
}

/* Who finds no room is told by name, and that one alone. */
TEST(losses_by_process)
{
	struct fx hungry, modest;
	json_t *root, *p;
	char pids[40];
	struct mt m;

	fx__start(t, &modest, "basic", "leak", "5", NULL);
	fx__start(t, &hungry, "basic", "leak", "50000", NULL);
	snprintf(pids, sizeof(pids), "%d,%d", hungry.c.pid, modest.c.pid);
	mt__start(t, &m, "-p", pids, "--json", "--max-live", "1000", NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &modest);
	fx__go(t, &hungry);
	root = mt__stop_json(t, &m, SIGINT, 3);
	p = process_of(t, root, hungry.c.pid, 0);
	want_eq(t, "what was counted and what was lost", 50000, ju64(t, p, "totals.alloc_calls") + ju64(t, p, "lost_blocks"));
	want_eq(t, "lost_blocks of the one that filled the table", ju64(t, root, "losses.live_full"), ju64(t, p, "lost_blocks"));
	p = process_of(t, root, modest.c.pid, 0);
	want_u64(t, p, "lost_blocks", 0);
	want_u64(t, p, "totals.live_blocks", 5);
	fx__quit(t, &hungry);
	fx__quit(t, &modest);
}
