// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Allocations past the probes are counted where they can be, and growth without an explanation is said to have none. */
#include "lt.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#define BLOCKS 1500
#define MIB (1ull << 20)

static const char *const blocks = "1500";

static void start(struct test *t, struct mt *m, pid_t pid, const char *points, const char *file)
{
	/* where returns are seen by uretprobes, which belong to entries, what skips the one skips the other */
	struct spawn how = { .argv = { lt_bin, "-p", pid_arg(pid), "--points", points, "-o", file }, .env = { "MALLOCTRACE_RETURNS=insns" } };

	if (!strcmp(points, "plain"))
		how.env[0] = NULL;
	mt__start_v(t, m, &how);
	mt__wait_attached(t, m);
}

/* Of one process, that may have hidden something; what the text says of the file, too. */
static json_t *traced(struct test *t, struct fx *f, const char *points, int want_exit, struct mt *report)
{
	const char *file = in_dir(t, "x.json");
	struct mt m;

	start(t, &m, f->c.pid, points, file);
	fx__go(t, f);
	if (!ledger__note(t, &f->led, "hidden_calls") && want_exit)
		skip(t, "how malloc begins here is not known to the fixture");
	mt__stop(t, &m, SIGINT, want_exit);
	fx__quit(t, f);
	want_eq(t, "report's exit status", (uint64_t)want_exit, (uint64_t)mt__run(t, report, "report", file, NULL));
	return load_json(t, file);
}

/*
 * What is claimed is what was hidden, with its headers, but for what may be older: at most the memory that was mapped when the
 * trace began, which is the fixture's own few pages and the start of its heap.
 */
static void want_claim(struct test *t, json_t *root, const struct fx *f, const struct mt *report)
{
	uint64_t hidden = ledger__note(t, &f->led, "hidden_bytes") + 8 * ledger__note(t, &f->led, "hidden_calls"), claimed = ju64(t, root, "processes[0].memory.unexplained_bytes");

	want(t, claimed <= hidden && claimed + 2 * MIB >= hidden, "unexplained, wanted %" PRIu64 " but for what may be older, got %" PRIu64, hidden, claimed);
	want(t, strstr(report->c.outs.s, "UNSEEN") && strstr(report->c.outs.s, "unseen calls"), "wanted it to be said:\n%s", report->c.outs.s);
}

TEST(hidden_calls_are_counted)
{
	struct mt report;
	json_t *root;
	struct fx f;

	fx__start(t, &f, "hiding", "hidden", blocks, NULL);
	root = traced(t, &f, "auto", 3, &report);
	/* the first might have been under way when the trace began */
	want_eq(t, "hidden calls", BLOCKS, ledger__note(t, &f.led, "hidden_calls"));
	want_u64(t, root, "losses.missed_entry", BLOCKS - 1);
	want_u64(t, root, "losses.total", BLOCKS - 1);
	want_u64(t, root, "edges.return_only", 1);
	want_ledger(t, root, process_of(t, root, f.c.pid, 0), &f.led, LED_ALL);
	want_claim(t, root, &f, &report);
}

/* Seen by nothing but what the process has come to. */
TEST(hidden_growth_is_told)
{
	struct mt report;
	json_t *root;
	struct fx f;

	fx__start(t, &f, "hiding", "hidden", blocks, NULL);
	root = traced(t, &f, "plain", 0, &report);
	if (!ledger__note(t, &f.led, "hidden_calls"))
		skip(t, "how malloc begins here is not known to the fixture");
	want_lossless(t, root);
	want_ledger(t, root, process_of(t, root, f.c.pid, 0), &f.led, LED_ALL);
	want_claim(t, root, &f, &report);
}

/* What grows for reasons of its own is not accused. */
static void grows(struct test *t, const char *what)
{
	struct mt report;
	json_t *root;
	struct fx f;

	fx__start(t, &f, "hiding", what, blocks, NULL);
	root = traced(t, &f, "auto", 0, &report);
	want_lossless(t, root);
	want_u64(t, root, "edges.return_only", 0);
	/* of a block that was there before, the first page was touched */
	want(t, ju64(t, root, "processes[0].rss_bytes") >= ju64(t, root, "processes[0].rss_at_attach_bytes") + BLOCKS * 95000ull, "%s: it did not grow", what);
	want(t, !jget(root, "processes[0].memory.unexplained_bytes"), "%s: wanted no claim", what);
	want(t, !strstr(report.c.outs.s, "UNSEEN"), "%s: wanted no claim:\n%s", what, report.c.outs.s);
}

TEST(hidden_not_touched_late) { grows(t, "late"); }
TEST(hidden_not_kept) { grows(t, "kept"); }
TEST(hidden_not_mapped) { grows(t, "mapped"); }
