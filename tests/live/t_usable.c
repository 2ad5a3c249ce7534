// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * --size usable: with glibc, each block has the size that malloc_usable_size()
 * gave the fixture; with others, the size asked for, and a line that says so.
 */
#include "lt.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#define FALLBACK "sizes are the requested ones"

static json_t *usable(struct test *t, const char *name, const char *a, const char *b, const char *c, unsigned int checks)
{
	struct fx f;
	json_t *root;

	if (!fixture_there(name))
		skip(t, "no fixture %s was built", name);
	fx__start(t, &f, name, "--usable", a, b, c, NULL);
	root = trace(t, &f, 0, "--size", "usable", NULL);
	want(t, !strcmp(jstr(root, "size"), "usable"), "size, wanted usable, got '%s'", jstr(root, "size"));
	want_ledger(t, root, process_of(t, root, f.c.pid, 0), &f.led, checks);
	fx__quit(t, &f);
	return root;
}

TEST(usable_hundred_is_104)
{
	json_t *root = usable(t, "basic", "hundred", "1000", NULL, LED_ALL);

	want_u64(t, root, "totals.alloc_bytes", 104 * 1000);
	want_u64(t, root, "totals.live_bytes", 104 * 1000);
	want_u64(t, root, "sites[0].min_size", 104);
	want_u64(t, root, "sites[0].max_size", 104);
}

/* glibc's reallocarray is not probed but the realloc that it calls: where it is, main's caller is frame 1. */
#define LED_BUT_STACKS (LED_ALL & ~LED_STACKS)
TEST(usable_family) { usable(t, "basic", "family", NULL, NULL, LED_BUT_STACKS); }
TEST(usable_chunks_of_every_kind) { usable(t, "basic", "chunks", NULL, NULL, LED_BUT_STACKS); }
TEST(usable_realloc) { usable(t, "basic", "reallocs", NULL, NULL, LED_BUT_STACKS); }
TEST(usable_failures) { usable(t, "basic", "failures", NULL, NULL, LED_BUT_STACKS); }
TEST(usable_big_blocks) { usable(t, "basic", "big", NULL, NULL, LED_ALL); }
TEST(usable_unknown_frees) { usable(t, "basic", "unknown", NULL, NULL, LED_ALL); }
TEST(usable_no_frame_pointer) { usable(t, "basic.nofp", "chunks", NULL, NULL, LED_TOTALS | LED_TEMP | LED_REALLOC | LED_PEAK); }
TEST(usable_cxx) { usable(t, "cxx", "forms", NULL, NULL, LED_ONLY | LED_TEMP | LED_REALLOC | LED_PEAK); }
TEST(usable_arenas) { usable(t, "threads", "cross", "20000", "8", LED_STACKS | LED_ONLY | LED_REALLOC); }
TEST(usable_realloc_race) { usable(t, "threads", "race", "20000", "3", LED_STACKS | LED_ONLY | LED_REALLOC); }
TEST(usable_first_of_arena) { usable(t, "threads", "first", "1", "4", LED_STACKS | LED_ONLY | LED_REALLOC); }

/* The range is one of usable sizes: 17 to 24 bytes take 24, 25 to 40 take 40. */
TEST(usable_size_range)
{
	struct fx f;
	json_t *root;

	fx__start(t, &f, "basic", "sizes", NULL);	/* one block of each size 1..1000; even ones are freed */
	root = trace(t, &f, 0, "--size", "usable", "--min-size", "40", "--max-size", "56", NULL);
	want_u64(t, root, "totals.alloc_calls", 32);
	want_u64(t, root, "totals.alloc_bytes", 16 * 40 + 16 * 56);
	want_u64(t, root, "totals.free_calls", 16);
	fx__quit(t, &f);
}

/* What else there is of sizes is the one asked for: told, and right. object: whose sizes those are. */
/* Who reads the file later is told, too. */
static void want_report_says(struct test *t, json_t *root, const char *object)
{
	const char *file = in_dir(t, "usable.json");
	char says[256];
	struct mt m;

	/* where nothing else was probed, the whole says so */
	if (!strcmp(jstr(root, "size"), "requested"))
		return;
	json_dump_file(root, file, 0);
	snprintf(says, sizeof(says), "requested sizes of %s", object);
	want_eq(t, "exit status of report", 0, (uint64_t)mt__run(t, &m, "report", file, "--view", "leaks", NULL));
	want(t, strstr(m.c.outs.s, says), "'%s', wanted in %.600s", says, m.c.outs.s);
}

static void fallback(struct test *t, struct spawn *s, const char *object, unsigned int checks)
{
	struct fx f;
	struct mt m;
	json_t *root, *p;
	bool found = false;
	size_t i;

	fx__start_as(t, &f, s);
	if (strstr(f.c.errs.s, "cannot be preloaded"))
		skip(t, "no library for %s", s->env[0]);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "--size", "usable", "--json", NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &f);
	root = mt__stop_json(t, &m, SIGINT, 0);
	want(t, strstr(m.c.errs.s, FALLBACK), "'" FALLBACK "', wanted on stderr, got: %.300s", m.c.errs.s);
	/* libc is there beside a preloaded allocator, and its sizes are known */
	json_array_foreach(jget(root, "probes"), i, p) {
		const char *size = jget(p, "size") ? jstr(p, "size") : jstr(root, "size");

		if (!strstr(jstr(p, "object"), object))
			continue;
		found = true;
		want(t, !strcmp(size, "requested"), "the size of %s, wanted requested, got '%s'", object, size);
	}
	want(t, found, "%s among the probes, wanted", object);
	want_ledger(t, root, process_of(t, root, f.c.pid, 0), &f.led, checks);
	want_report_says(t, root, object);
	fx__quit(t, &f);
}

TEST(usable_musl)
{
	if (!fixture_there("basic.musl"))
		skip(t, "no fixture basic.musl was built");
	fallback(t, &(struct spawn){ .argv = { fixture("basic.musl"), "family" } }, "musl", LED_ALL & ~LED_STACKS);
}

TEST(usable_jemalloc)
{
	fallback(t, &(struct spawn){ .argv = { fixture("basic"), "common" }, .env = { "LD_PRELOAD=libjemalloc.so.2" } }, "libjemalloc",
		 LED_ONLY | LED_TEMP | LED_REALLOC | LED_PEAK);
}
