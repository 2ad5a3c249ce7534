// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* More stacks than there is room for, of one process that goes on: those that hold nothing give up their room, and no figure changes. */
#include "lt.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define ROOM 2000
#define IN_ROUND 100	/* twice as many, and there is still room: see table_sizes__choose() */
#define STACKS_IN_ROUND 105	/* at least: realloc has two */
#define N_ROUNDS 48

/* Each of these has blocks of one size: a stack that another one's calls are charged to has two. */
static const struct {
	const char *function;
	uint64_t size;
} sizes[] = { { "pass_here", 48 }, { "keep_here", 56 }, { "again_here", 72 } };

static void want_own_sizes(struct test *t, json_t *site)
{
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		if (!strcmp(jstr(site, "stack[0].function"), sizes[i].function)) {
			want_u64(t, site, "min_size", sizes[i].size);
			want_u64(t, site, "max_size", sizes[i].size);
		}
}

static void want_evicted(struct test *t, json_t *root, const struct fx *f, bool holds)
{
	uint64_t n_evicted = 0, kept = 0, n_stacks = 0;
	json_t *s;
	size_t i;

	want_lossless(t, root);
	want_ledger(t, root, process_of(t, root, f->c.pid, 0), &f->led, LED_TOTALS | (holds ? LED_TEMP | LED_REALLOC : LED_COUNT));
	json_array_foreach(jget(root, "sites"), i, s) {
		if (jget(s, "evicted_stacks")) {
			n_evicted += ju64(t, s, "evicted_stacks");
			want_eq(t, "frames of what was evicted", 0, json_array_size(jget(s, "stack")));
			continue;
		}
		n_stacks++;
		want_own_sizes(t, s);
		if (!strcmp(jstr(s, "stack[0].function"), "keep_here")) {
			kept++;
			want(t, !strcmp(jstr(s, "end"), "whole"), "a stack that holds memory is %s", jstr(s, "end"));
		}
	}
	want(t, n_evicted > 0, "no stack gave up its room");
	want(t, n_stacks <= ROOM * 5 / 4, "%" PRIu64 " stacks have room", n_stacks);
	if (holds)
		want_eq(t, "stacks that hold memory", ledger__site(t, &f->led, "keep_here")->v[LED_ALLOC_CALLS], kept);
}

/* Of the last line before an offset. */
static uint64_t n_given_up(const struct child *c, size_t end)
{
	static const char before[] = "malloctrace: ";
	const char *line = c->errs.s + end - 1;

	while (line > c->errs.s && line[-1] != '\n')
		line--;
	return strtoull(line + strlen(before), NULL, 10);
}

static void rounds(struct test *t, const char *how, const char *value, bool holds)
{
	uint64_t n_evicted = 0;
	size_t seen = 0;
	struct fx f;
	struct mt m;
	json_t *root;

	fx__start(t, &f, "evict", number_arg(IN_ROUND), NULL);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "--json", "-v", "--max-stacks", number_arg(ROOM), how, value, NULL);
	mt__wait_attached(t, &m);
	for (int i = 0; i < N_ROUNDS; i++) {
		fx__go(t, &f);
		/* what was used just now goes later */
		while ((i + 1ull) * STACKS_IN_ROUND > ROOM + n_evicted) {
			seen = child__see_err(t, &m.c, seen, "malloctrace: ", "gave their room to others", 30);
			n_evicted += n_given_up(&m.c, seen);
		}
	}
	root = mt__stop_json(t, &m, SIGINT, 0);
	want_evicted(t, root, &f, holds);
	if (holds)
		want_scan(t, root);
	fx__quit(t, &f);
}

TEST(evict_full)
{
	rounds(t, NULL, NULL, true);
}

/* A report each second: what it knew of a number's stack is not what the number means later. */
TEST(evict_between_reports)
{
	size_t seen = 0;
	uint64_t n_evicted = 0;
	struct fx f;
	struct mt m;
	json_t *root;

	fx__start(t, &f, "evict", number_arg(IN_ROUND), NULL);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "-v", "-o", in_dir(t, "last.json"), "--max-stacks", number_arg(ROOM), "1", NULL);
	mt__wait_attached(t, &m);
	for (int i = 0; i < N_ROUNDS; i++) {
		fx__go(t, &f);
		/* all have been in a report */
		if (i % 8 == 7)
			seen = child__see_err(t, &m.c, seen, "malloctrace: snapshot of ", NULL, 30);
		while ((i + 1ull) * STACKS_IN_ROUND > ROOM + n_evicted) {
			seen = child__see_err(t, &m.c, seen, "malloctrace: ", "gave their room to others", 30);
			n_evicted += n_given_up(&m.c, seen);
		}
	}
	mt__stop(t, &m, SIGINT, 0);
	root = with_frames(load_json(t, in_dir(t, "last.json")));
	want_evicted(t, root, &f, true);
	fx__quit(t, &f);
}

TEST(evict_by_tables)
{
	rounds(t, "--unwind", "table", true);
}

TEST(evict_count)
{
	rounds(t, "--mode", "count", false);
}
