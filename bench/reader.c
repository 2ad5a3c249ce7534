// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * bench/reader: what malloctrace itself takes while it looks at a large heap
 * that changes slowly: 10,000 call stacks, 4 million live blocks. Owns the
 * target and the tool of each of its two runs, and the files they write.
 *
 * Always holds: figures are taken while all blocks are live. That they were
 * counted exactly is checked at the end: the first run's totals against the
 * target's ledger, the second's losses.
 *
 * The first run has a report every second and is watched for a while: that is
 * the share of a CPU. Then it is asked for JSON files. The second run is asked
 * for reports in text, and does nothing else: that is the time of a snapshot.
 *
 *	a report every second           1.31 % of one CPU; must be below 2: ok
 *	a snapshot, as a report         72.0 ms (fastest 70.1, slowest 80.2), CPU time 60.3 ms; must be below 100: ok
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bench/child.h"
#include "bench/target.h"
#include "bench/text.h"
#include "util/parse.h"
#include "util/util.h"

#define TIMEOUT_MS 60000
#define N_SNAPSHOTS 9
#define MAX_SHARE 0.02
#define MAX_SNAPSHOT_MS 100.0

struct reader {
	const char *dir;
	uint64_t n_live, watch_s;
	/* results */
	double share;
	double snapshot_ms[2][N_SNAPSHOTS], snapshot_cpu_ms[2][N_SNAPSHOTS];	/* [0]: text, [1]: json */
	uint64_t peak_kb, anon_kb, file_kb;	/* at most, of both runs */
	uint64_t json_bytes;
};

enum { SNAPSHOT_TEXT, SNAPSHOT_JSON };

static int note_memory(struct reader *r, pid_t pid, struct err *e)
{
	const struct {
		const char *key;
		uint64_t *kb;
	} wanted[] = { { "VmHWM:", &r->peak_kb }, { "RssAnon:", &r->anon_kb }, { "RssFile:", &r->file_kb } };
	_cleanup_free_ char *text = NULL;
	char path[48];
	size_t len;
	uint64_t kb;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	if (read_small_file(path, &text, &len))
		return err_set(e, -ENOENT, "malloctrace is gone");
	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++)
		if (!text__number(text, wanted[i].key, ":", &kb))
			*wanted[i].kb = MAX(*wanted[i].kb, kb);
	return 0;
}

/* ---- the target */

static int ask(struct child *target, struct answer *ret, struct err *e)
{
	if (write(target->in, "", 1) != 1 || read(target->out, ret, sizeof(*ret)) != sizeof(*ret))
		return err_set(e, -EIO, "the target ended before its time");
	return 0;
}

/* With the tool attached to it before the first block. */
static int start(struct reader *r, char *const more[], struct child *target, struct child *tool, struct err *e)
{
	_cleanup_free_ char *target_path = NULL, *tool_path = NULL;
	char n_live[24], pid[16], ready;
	char *argv[16] = { NULL, "-p", pid, "--max-live", "5M", "--batch" };
	struct answer a;
	int n = 6, err;

	if (asprintf(&target_path, "%s/bench/many", r->dir) < 0 || asprintf(&tool_path, "%s/malloctrace", r->dir) < 0)
		return err_set(e, -ENOMEM, "out of memory");
	snprintf(n_live, sizeof(n_live), "%" PRIu64, r->n_live);
	err = child__start_target((char *[]){ target_path, n_live, NULL }, NULL, NULL, target, e);
	if (!err && read(target->out, &ready, 1) != 1)
		err = err_set(e, -EIO, "%s does not start", target_path);
	if (err)
		return err;
	snprintf(pid, sizeof(pid), "%d", (int)target->pid);
	argv[0] = tool_path;
	while (*more)
		argv[n++] = *more++;
	err = child__start_tool(argv, NULL, NULL, tool, e);
	if (!err)
		err = child__wait_for_text(tool, "malloctrace: attached", TIMEOUT_MS, e);
	return err ? err : ask(target, &a, e);
}

/* ---- the tool */

static int watch(struct reader *r, const struct child *tool, struct err *e)
{
	uint64_t since_ns = now_ns(), cpu_ns = child__cpu_ns(tool), passed_ns;

	sleep(r->watch_s);
	passed_ns = now_ns() - since_ns;
	cpu_ns = child__cpu_ns(tool) - cpu_ns;
	r->share = (double)cpu_ns / passed_ns;
	return note_memory(r, tool->pid, e);
}

static int snapshots(struct reader *r, int kind, struct child *tool, struct err *e)
{
	for (int i = 0; i < N_SNAPSHOTS; i++) {
		uint64_t since_ns = now_ns(), cpu_ns = child__cpu_ns(tool);
		char written[48];

		snprintf(written, sizeof(written), "snapshot %d written", i + 1);
		kill(tool->pid, SIGUSR1);
		if (child__wait_for_text(tool, written, TIMEOUT_MS, e))
			return err_wrap(e, e->code ?: -EIO, "malloctrace");
		r->snapshot_ms[kind][i] = (now_ns() - since_ns) / 1e6;
		r->snapshot_cpu_ms[kind][i] = (child__cpu_ns(tool) - cpu_ns) / 1e6;
	}
	return note_memory(r, tool->pid, e);
}

static int finish(struct child *tool, struct err *e)
{
	int status = child__finish(tool, SIGINT, TIMEOUT_MS, NULL, e);

	if (status < 0)
		return err_wrap(e, e->code ?: -EIO, "malloctrace");
	return status ? err_set(e, -EBADMSG, "malloctrace: exit status %d", status) : 0;
}

/* The target goes on while malloctrace ends: the truth lies between the two ledgers. */
static int check(struct reader *r, const char *path, const struct answer *before, const struct answer *after, struct err *e)
{
	_cleanup_fclose_ FILE *f = fopen(path, "re");
	_cleanup_free_ char *text = NULL;
	uint64_t allocs, live, n_sites;
	size_t room = 0;

	if (!f || getdelim(&text, &room, '\0', f) < 0)
		return err_set(e, -errno, "%s: %s", path, strerror(errno));
	r->json_bytes = ftell(f);
	n_sites = text__count(text, "\"at_peak_bytes\":");
	if (text__number(text, "\"totals\":", "\"alloc_calls\":", &allocs) ||
	    text__number(text, "\"totals\":", "\"live_blocks\":", &live))
		return err_set(e, -EBADMSG, "%s: no totals", path);
	if (allocs < before->n_mallocs || allocs > after->n_mallocs)
		return err_set(e, -EBADMSG, "alloc_calls %" PRIu64 ", not %" PRIu64 " to %" PRIu64, allocs, before->n_mallocs,
			       after->n_mallocs);
	/* one may be in the middle of being replaced */
	if (live != r->n_live && live + 1 != r->n_live)
		return text__compare("live_blocks", live, r->n_live, e);
	return text__compare("sites", n_sites, MIN(r->n_live, MANY_SITES), e);
}

/* ---- the two runs */

static void remove_files(const char *path)
{
	_cleanup_free_ char *numbered = NULL;
	const char *suffix = strrchr(path, '.');

	unlink(path);
	for (int i = 1; i <= N_SNAPSHOTS; i++) {
		if (asprintf(&numbered, "%.*s.%d%s", (int)(suffix - path), path, i, suffix) < 0) {
			numbered = NULL;
			return;
		}
		unlink(numbered);
		free(numbered);
		numbered = NULL;
	}
}

static int run_reports(struct reader *r, const char *json, struct err *e)
{
	_cleanup_child_ struct child target = CHILD_NONE, tool = CHILD_NONE;
	struct answer before, after;

	if (start(r, (char *[]){ "-o", (char *)json, "1", NULL }, &target, &tool, e) || watch(r, &tool, e) ||
	    snapshots(r, SNAPSHOT_JSON, &tool, e) || ask(&target, &before, e) || finish(&tool, e) || ask(&target, &after, e))
		return e->code;
	return check(r, json, &before, &after, e);
}

static int run_snapshots(struct reader *r, const char *text, struct err *e)
{
	_cleanup_child_ struct child target = CHILD_NONE, tool = CHILD_NONE;

	if (start(r, (char *[]){ "-o", (char *)text, NULL }, &target, &tool, e) || snapshots(r, SNAPSHOT_TEXT, &tool, e))
		return e->code;
	return finish(&tool, e);
}

/* ---- what it found */

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double v[static N_SNAPSHOTS])
{
	qsort(v, N_SNAPSHOTS, sizeof(v[0]), by_value);
	return v[N_SNAPSHOTS / 2];
}

/* Median, fastest and slowest; the median is judged. */
static void print_snapshots(struct reader *r, int kind)
{
	double ms = median(r->snapshot_ms[kind]), cpu_ms = median(r->snapshot_cpu_ms[kind]);

	printf("%8.1f ms (fastest %.1f, slowest %.1f), CPU time %.1f ms", ms, r->snapshot_ms[kind][0],
	       r->snapshot_ms[kind][N_SNAPSHOTS - 1], cpu_ms);
}

static bool print(struct reader *r)
{
	bool share_holds = r->share < MAX_SHARE, snapshot_holds;
	char a[FMT_MAX], b[FMT_MAX], c[FMT_MAX];

	printf("%" PRIu64 " live blocks, %u call stacks, 10,000 replaced a second; medians of %d snapshots\n", r->n_live,
	       MANY_SITES, N_SNAPSHOTS);
	printf("  a report every second       %8.2f %% of one CPU; must be below %.0f: %s\n", r->share * 100, MAX_SHARE * 100,
	       share_holds ? "ok" : "NOT SO");
	printf("  a snapshot, as a report     ");
	print_snapshots(r, SNAPSHOT_TEXT);
	snapshot_holds = r->snapshot_ms[SNAPSHOT_TEXT][N_SNAPSHOTS / 2] < MAX_SNAPSHOT_MS;	/* sorted */
	printf("; must be below %.0f: %s\n", MAX_SNAPSHOT_MS, snapshot_holds ? "ok" : "NOT SO");
	printf("  a snapshot, all as JSON     ");
	print_snapshots(r, SNAPSHOT_JSON);
	printf("; %s\n", fmt_bytes(a, r->json_bytes));
	printf("  memory of malloctrace       %s at its peak: %s of its own, %s of the kernel's tables\n",
	       fmt_bytes(a, r->peak_kb * 1024), fmt_bytes(b, r->anon_kb * 1024), fmt_bytes(c, r->file_kb * 1024));
	printf("  counts                      right\n");
	return share_holds && snapshot_holds;
}

static int usage(void)
{
	fprintf(stderr, "usage: reader [--live N] [--watch SECONDS] BUILD_DIR\n");
	return 2;
}

int main(int argc, char **argv)
{
	static const struct option options[] = { { "live", 1, NULL, 'l' }, { "watch", 1, NULL, 'w' }, { 0 } };
	struct reader r = { .n_live = 4000000, .watch_s = 15 };
	_cleanup_free_ char *json = NULL, *text = NULL;
	_cleanup_err_ struct err e = { 0 };
	int c;

	while ((c = getopt_long(argc, argv, "l:w:", options, NULL)) != -1) {
		if (c == 'l' ? parse_u64(optarg, 1, 5000000, &r.n_live) : c != 'w' || parse_u64(optarg, 1, 600, &r.watch_s))
			return usage();
	}
	if (optind + 1 != argc)
		return usage();
	r.dir = argv[optind];
	if (asprintf(&json, "%s/bench/reader.json", r.dir) < 0 || asprintf(&text, "%s/bench/reader.txt", r.dir) < 0)
		return 1;
	c = run_reports(&r, json, &e);
	if (!c)
		c = run_snapshots(&r, text, &e);
	remove_files(json);
	remove_files(text);
	if (c) {
		fprintf(stderr, "reader: %s\n", err_msg(&e));
		return 1;
	}
	return print(&r) ? 0 : 1;
}
