// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Many that end at once, or behind the end of the trace, while malloctrace does not come to reading of it. */
#include "lt.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define N_SLOTS 4095	/* processes that have room with -f */

/* Each has a row, or is one of those that a row says it stands for; their sums are those of the process. */
static void want_all_threads(struct test *t, json_t *process, uint64_t n)
{
	static const char *const keys[] = { "alloc_calls", "alloc_bytes", "free_calls", "free_bytes" };
	uint64_t n_ended = 0, stand_for = 0, sum;
	json_t *thread;
	size_t i;

	json_array_foreach(jget(process, "threads"), i, thread) {
		if (jget(thread, "stands_for"))
			stand_for += ju64(t, thread, "stands_for");
		else
			n_ended += json_is_true(jget(thread, "ended"));
	}
	want_eq(t, "threads that ended", n, n_ended + stand_for);
	for (unsigned int k = 0; k < sizeof(keys) / sizeof(*keys); k++) {
		char what[64];

		sum = 0;
		json_array_foreach(jget(process, "threads"), i, thread)
			sum += ju64(t, jget(thread, "totals"), keys[k]);
		snprintf(what, sizeof(what), "%s of all threads", keys[k]);
		want_eq(t, what, ju64(t, jget(process, "totals"), keys[k]), sum);
	}
}

/* reads: whether malloctrace may read of it while they end. */
static void threads_end(struct test *t, bool reads, const char *more)
{
	const uint64_t n = scaled(6000);
	char number[24];
	json_t *root;
	struct fx f;
	struct mt m;

	snprintf(number, sizeof(number), "%" PRIu64, n);
	fx__start(t, &f, "ends", "threads", number, NULL);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "--json", more, NULL);
	mt__wait_attached(t, &m);
	if (!reads)
		child__kill(t, &m.c, SIGSTOP);
	fx__go(t, &f);
	child__kill(t, &m.c, SIGCONT);
	root = mt__stop_json(t, &m, SIGINT, 0);
	want_lossless(t, root);
	want_ledger(t, root, process_of(t, root, f.c.pid, 0), &f.led, LED_STACKS);
	want_all_threads(t, process_of(t, root, f.c.pid, 0), n);
	fx__quit(t, &f);
}

TEST_ALONE(threads_end_at_once) { threads_end(t, true, NULL); }
TEST_ALONE(threads_end_unread) { threads_end(t, false, NULL); }

/* What begins behind the end of the trace needs no room, and is no loss. */
TEST_ALONE(lives_behind_the_end)
{
	char number[24];
	json_t *root;
	struct fx f;
	struct mt m;

	snprintf(number, sizeof(number), "%d", N_SLOTS + 200);
	fx__start(t, &f, "ends", "children", number, NULL);
	mt__start(t, &m, "-f", "-p", pid_arg(f.c.pid), "--stop-on", "stop_here", "--json", NULL);
	mt__wait_attached(t, &m);
	child__kill(t, &m.c, SIGSTOP);
	fx__go(t, &f);
	child__kill(t, &m.c, SIGCONT);
	root = mt__stop_json(t, &m, 0, 0);
	want_lossless(t, root);
	want_ledger(t, root, process_of(t, root, f.c.pid, 0), &f.led, LED_STACKS);
	fx__quit(t, &f);
}

#define ROOM_MADE_S 10

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/*
 * More processes than there is room for, of which malloctrace hears so late that they have ended long ago; then as many
 * again and again while it makes room. Each was seen, with all that it did, or is counted as one without room.
 */
TEST_AS(overload_is_told, .limit_s = 300, .alone = true)
{
	uint64_t n = N_SLOTS + 4000, seen, rounds = 1;
	double end;
	char number[24];
	json_t *root;
	struct fx f;
	struct mt m;

	snprintf(number, sizeof(number), "%" PRIu64, n);
	fx__start(t, &f, "ends", "children", number, NULL);
	mt__start(t, &m, "-f", "-p", pid_arg(f.c.pid), "--json", NULL);
	mt__wait_attached(t, &m);
	child__kill(t, &m.c, SIGSTOP);
	fx__go(t, &f);
	/* what matters is how old the ends are when they are read */
	sleep(11);
	child__kill(t, &m.c, SIGCONT);
	/* a fast machine ends a round before the tables have been read twice */
	for (end = seconds() + ROOM_MADE_S; seconds() < end; rounds++)
		fx__go(t, &f);
	root = mt__stop_json(t, &m, SIGINT, 3);
	seen = ju64(t, root, "totals.alloc_calls");
	want_eq(t, "calls of processes that were seen, and processes that were not", rounds * (n + 1), seen + ju64(t, root, "losses.process_full"));
	want_eq(t, "other losses", 0, ju64(t, root, "losses.total") - ju64(t, root, "losses.process_full"));
	/* how many depends on how soon room is made on a busy machine; that it is made at all does not */
	want(t, seen > N_SLOTS + 400, "calls of processes that were seen, wanted some of the later rounds, got %" PRIu64, seen);
	want_invariants(t, root);
	fx__quit(t, &f);
}
