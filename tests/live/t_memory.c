// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* How old live blocks are, and where resident memory is. */
#include "lt.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#define S 1000000000ull

struct older {
	uint64_t blocks, bytes;
};

/* Of all sites: the blocks of classes from this age on. */
static struct older from_age(struct test *t, json_t *root, uint64_t from_ns)
{
	struct older sum = {};
	json_t *site, *age;
	size_t i, k;

	json_array_foreach(jget(root, "sites"), i, site)
		json_array_foreach(jget(site, "ages"), k, age)
			if (ju64(t, age, "from_ns") >= from_ns) {
				sum.blocks += ju64(t, age, "blocks");
				sum.bytes += ju64(t, age, "bytes");
			}
	return sum;
}

static uint64_t sum_of(struct test *t, json_t *root, const char *key)
{
	uint64_t sum = 0;
	json_t *site;
	size_t i;

	json_array_foreach(jget(root, "sites"), i, site)
		sum += ju64(t, site, key);
	return sum;
}

/* Runs report --older AGE of a file; its text is kept in m. */
static void report_older(struct test *t, struct mt *m, const char *file, const char *age)
{
	int status = mt__run(t, m, "report", file, "--older", age, "--view", "leaks", NULL);

	want(t, !status, "report --older %s ended with %d: %s", age, status, m->c.errs.s);
}

static void want_text(struct test *t, const struct mt *m, const char *wanted)
{
	want(t, strstr(m->c.outs.s, wanted), "wanted '%s' in\n%s", wanted, m->c.outs.s);
}

/*
 * What --older counted while it was recorded, and what the classes say: of an age
 * that is a border of classes both must be the same, however fast or slow all this is.
 */
TEST(ages_are_in_the_file)
{
	const char *file = in_dir(t, "x.json");
	struct older older;
	json_t *root, *again;
	struct mt m;
	struct fx f;
	char line[128];
	uint64_t unsure;

	fx__start(t, &f, "memory", "ages", "2100", NULL);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "--older", "2s", "-o", file, NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &f);
	mt__stop(t, &m, SIGINT, 0);
	fx__quit(t, &f);
	root = load_json(t, file);
	want_ledger(t, root, process_of(t, root, f.c.pid, 0), &f.led, LED_ALL);
	older = from_age(t, root, 0);
	want_u64(t, root, "totals.live_blocks", older.blocks);
	want_u64(t, root, "totals.live_bytes", older.bytes);
	older = from_age(t, root, 2 * S);
	want_eq(t, "older blocks", sum_of(t, root, "older_blocks"), older.blocks);
	want_eq(t, "older bytes", sum_of(t, root, "older_bytes"), older.bytes);
	/* 15 of the 100 were freed; what was made first is old enough, whatever became of the rest */
	want(t, older.blocks >= 85, "85 blocks are 2 s old, got %" PRIu64, older.blocks);

	/* any other age: a border again, and one in the middle of the class that the old ones are in */
	older = from_age(t, root, 1 * S);
	report_older(t, &m, file, "1s");
	want_text(t, &m, "LEAKS older than 1.0s");
	want(t, !strstr(m.c.outs.s, "at least"), "1 s is a border:\n%s", m.c.outs.s);
	mt__run(t, &m, "report", file, "--older", "1s", "--json", NULL);
	again = json_loads(m.c.outs.s, 0, NULL);
	must(t, again, "no JSON: %s", m.c.errs.s);
	want_eq(t, "blocks older than 1 s", older.blocks, sum_of(t, again, "older_blocks"));
	want_eq(t, "bytes older than 1 s", older.bytes, sum_of(t, again, "older_bytes"));
	want(t, !jget(again, "older_unsure"), "1 s is a border");
	json_decref(again);

	mt__run(t, &m, "report", file, "--older", "2050ms", "--json", NULL);
	again = json_loads(m.c.outs.s, 0, NULL);
	must(t, again, "no JSON: %s", m.c.errs.s);
	/* where all is slow they are of the next class by now */
	unsure = jget(again, "older_unsure") ? ju64(t, again, "older_unsure.blocks") : 0;
	want_eq(t, "unsure and sure", from_age(t, root, 2 * S).blocks, sum_of(t, again, "older_blocks") + unsure);
	report_older(t, &m, file, "2050ms");
	snprintf(line, sizeof(line), "at least: %" PRIu64 " more block", unsure);
	if (unsure)
		want_text(t, &m, line);
	json_decref(again);
	json_decref(root);
}

/* Weights instead of ones: what the classes hold is what is live, within rounding. */
TEST(ages_of_a_sample_add_up)
{
	const char *file = in_dir(t, "x.json");
	uint64_t live, n_sites;
	json_t *root;
	struct mt m;
	struct fx f;
	struct older all;

	fx__start(t, &f, "memory", "ages", "1", NULL);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "--sample", "64", "-o", file, NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &f);
	mt__stop(t, &m, SIGINT, 0);
	fx__quit(t, &f);
	root = load_json(t, file);
	all = from_age(t, root, 0);
	live = ju64(t, root, "totals.live_blocks");
	n_sites = json_array_size(jget(root, "sites"));
	/* each class of each site is rounded: half a block, of a hundred classes at most */
	want(t, all.blocks + 50 * n_sites >= live && all.blocks <= live + 50 * n_sites, "%" PRIu64 " blocks by age, %" PRIu64 " live", all.blocks,
	     live);
	json_decref(root);
}

TEST(ages_that_were_not_recorded)
{
	const char *file = in_dir(t, "x.json");
	struct mt m;
	FILE *out = fopen(file, "w");

	must(t, out, "%s cannot be written", file);
	fputs("{\"schema\":\"malloctrace/1\",\"totals\":{\"live_blocks\":1,\"live_bytes\":1},\"processes\":[{\"id\":1}],"
	      "\"sites\":[{\"process\":1,\"live_blocks\":1,\"live_bytes\":1,\"ages\":[]}]}", out);
	fclose(out);
	want_eq(t, "status", 1, (uint64_t)mt__run(t, &m, "report", file, "--older", "1s", NULL));
	want(t, strstr(m.c.errs.s, "--older: the ages of live blocks were not recorded"), "got: %s", m.c.errs.s);
}
