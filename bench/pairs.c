// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * bench/pairs: what a malloc and its free cost a program, bare and under each
 * tool. Owns the samples: one per tool, mode, round and slice.
 *
 * Always holds: a figure comes from rounds in which every tool had its turn, so
 * that whatever else the machine does falls on all of them; and a tool whose
 * own count of calls is not the target's is shown as WRONG, however fast it was.
 *
 * A round gives each tool a fresh target, attaches it, lets it run every mode
 * in a few slices, detaches it and compares counts. The order rotates from
 * round to round, so that no tool always follows the same other one. Slices
 * are short (some ten milliseconds) and many: one that was disturbed is then
 * one odd sample, which a median does not see. What clock is read: target.c.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "bench/tools.h"
#include "probe/features.h"
#include "util/parse.h"
#include "util/util.h"

#define N_SLICES 3
#define MAX_ROUNDS 100
#define MAX_SAMPLES (MAX_ROUNDS * N_SLICES)
#define WARM_UP_PAIRS 3000
#define PATIENCE_S 70	/* on a busy machine: fewer rounds, no new one after this */

/* The promise that this benchmark keeps: where it must hold, see must_hold(). */
#define PROMISED_SHARE 0.75
#define PROMISED_MODE MODE_DEEP

enum mode_id { MODE_TIGHT, MODE_DEEP, MODE_TIGHT_2, MODE_DEEP_2, MODE_LIVE, N_MODES };

static const struct mode {
	const char *name;
	uint32_t n_threads, n_frames, n_live;
} modes[N_MODES] = {
	[MODE_TIGHT] = { "tight loop, 1 thread", 1, 0, 0 },
	[MODE_DEEP] = { "10 frames deeper, 1 thread", 1, 10, 0 },
	[MODE_TIGHT_2] = { "tight loop, 2 threads", 2, 0, 0 },
	[MODE_DEEP_2] = { "10 frames deeper, 2 threads", 2, 10, 0 },
	[MODE_LIVE] = { "100,000 live blocks, the oldest freed, 1 thread", 1, 0, 100000 },
};

struct samples {
	double v[MAX_SAMPLES];	/* ns per pair */
	size_t n;
};

struct bench {
	struct paths paths;
	uint32_t n_rounds, n_rounds_done;
	uint64_t n_pairs;
	char cpu_text[2][16];
	char *cpus[3];
	struct samples samples[N_TOOLS][N_MODES];
	const char *missing[N_TOOLS];
	char *wrong[N_TOOLS];	/* owned; how its counts differ, first time */
};

/* ---- measuring */

static int run_mode(struct bench *b, struct session *s, enum tool_id id, const struct mode *m,
		    struct answer *ledger, struct err *e)
{
	struct samples *samples = &b->samples[id][m - modes];
	struct order fill = { ORDER_FILL, m->n_threads, m->n_frames, m->n_live, 0 };
	struct order pairs = { ORDER_PAIRS, m->n_threads, m->n_frames, m->n_live, WARM_UP_PAIRS };
	struct order drain = { ORDER_DRAIN, m->n_threads, m->n_frames, m->n_live, 0 };

	if ((m->n_live && session__order(s, &fill, ledger, e)) || session__order(s, &pairs, ledger, e))
		return e->code;
	pairs.n_pairs = b->n_pairs;
	for (int i = 0; i < N_SLICES; i++) {
		if (session__order(s, &pairs, ledger, e))
			return e->code;
		samples->v[samples->n++] = (double)ledger->cpu_ns / ledger->n_pairs;
	}
	return m->n_live ? session__order(s, &drain, ledger, e) : 0;
}

static int run_tool(struct bench *b, enum tool_id id, struct err *e)
{
	const struct tool *t = &tools[id];
	struct answer ledger = { 0 };
	struct session s;
	int r = session__open(&s, &b->paths, t, b->cpus, e);

	for (size_t m = 0; !r && m < N_MODES; m++)
		r = run_mode(b, &s, id, &modes[m], &ledger, e);
	if (!r && t->detach) {
		r = t->detach(&s, &ledger, e);
		if (r == -EBADMSG) {
			if (!b->wrong[id])
				b->wrong[id] = strdup(err_msg(e));
			err_done(e);
			*e = (struct err){ 0 };
			r = 0;
		}
	}
	session__close(&s);
	return r ? err_wrap(e, "%s", t->name) : 0;
}

static int run(struct bench *b, struct err *e)
{
	time_t since = time(NULL);

	for (uint32_t round = 0; round < b->n_rounds && time(NULL) - since < PATIENCE_S; round++) {
		if (isatty(STDERR_FILENO))
			fprintf(stderr, "round %u of %u\r", round + 1, b->n_rounds);
		for (size_t i = 0; i < N_TOOLS; i++) {
			enum tool_id id = (i + round) % N_TOOLS;

			if (!b->missing[id] && run_tool(b, id, e))
				return e->code;
		}
		b->n_rounds_done++;
	}
	return 0;
}

/* ---- the table */

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* share 0.5: the median; 0.25 and 0.75: the quartiles. Sorts. */
static double quantile(struct samples *s, double share)
{
	double at = share * (s->n - 1);
	size_t low = at;

	qsort(s->v, s->n, sizeof(s->v[0]), by_value);
	return low + 1 < s->n ? s->v[low] + (at - low) * (s->v[low + 1] - s->v[low]) : s->v[low];
}

static double added_ns(struct bench *b, enum tool_id id, enum mode_id mode)
{
	return quantile(&b->samples[id][mode], 0.5) - quantile(&b->samples[TOOL_BARE][mode], 0.5);
}

static void print_ratio(struct bench *b, enum tool_id id, enum tool_id to, enum mode_id mode)
{
	if (id == TOOL_BARE || b->missing[to])
		printf(" %9s", "");
	else
		printf(" %8.2fx", added_ns(b, id, mode) / added_ns(b, to, mode));
}

/*
 *	10 frames deeper, 1 thread             ns/pair  quartiles      added  /bpftrace  /floor  counts
 *	  bare                                    12.5   12.4-12.9
 *	  malloctrace -p                         951.0  940.0-970.2    938.5     0.50x    1.38x  right
 */
static void print_mode(struct bench *b, enum mode_id mode)
{
	printf("\n%-48s %8s %17s %8s %9s %9s  %s\n", modes[mode].name, "ns/pair", "quartiles", "added", "/bpftrace", "/floor",
	       "counts");
	for (enum tool_id id = 0; id < N_TOOLS; id++) {
		struct samples *s = &b->samples[id][mode];
		char quartiles[48];

		if (b->missing[id]) {
			printf("  %-46s %s\n", tools[id].name, b->missing[id]);
			continue;
		}
		snprintf(quartiles, sizeof(quartiles), "%.1f-%.1f", quantile(s, 0.25), quantile(s, 0.75));
		printf("  %-46s %8.1f %17s", tools[id].name, quantile(s, 0.5), quartiles);
		if (id != TOOL_BARE)
			printf(" %8.1f", added_ns(b, id, mode));
		else
			printf(" %8s", "");
		print_ratio(b, id, TOOL_BPFTRACE, mode);
		print_ratio(b, id, TOOL_FLOOR, mode);
		printf("  %s\n", b->wrong[id] ? "WRONG" : tools[id].counts ? "right" : "");
	}
}

static void print_table(struct bench *b)
{
	struct utsname u;
	char date[32];
	time_t now = time(NULL);

	uname(&u);
	strftime(date, sizeof(date), "%Y-%m-%d", gmtime(&now));
	printf("%s, Linux %s %s, %ld CPUs; target on CPU %s (2 threads: and %s)\n", date, u.release, u.machine,
	       sysconf(_SC_NPROCESSORS_ONLN), b->cpus[0], b->cpus[1]);
	printf("CPU ns of the target's threads per malloc/free pair: medians of %u slices of %" PRIu64 " pairs, in %u rounds\n",
	       b->n_rounds_done * N_SLICES, b->n_pairs, b->n_rounds_done);
	printf("added: over bare; /bpftrace, /floor: added, as a multiple of what bpftrace and the first empty probes add\n");
	for (enum mode_id mode = 0; mode < N_MODES; mode++)
		print_mode(b, mode);
	for (enum tool_id id = 0; id < N_TOOLS; id++)
		if (b->wrong[id])
			printf("\nWRONG: %s counted %s\n", tools[id].name, b->wrong[id]);
}

/* ---- the verdict */

/* Promised where it was measured: other architectures and older kernels have other prices for a trap. */
static bool must_hold(void)
{
#ifdef __aarch64__
	return feature__has(FEATURE_UPROBE_MULTI);
#else
	return false;
#endif
}

static bool judge(struct bench *b)
{
	double share;
	bool holds;

	if (b->missing[TOOL_BPFTRACE]) {
		printf("\nmalloctrace adds at most %.2f of bpftrace's cost: not measured, %s\n", PROMISED_SHARE,
		       b->missing[TOOL_BPFTRACE]);
		return !must_hold() && !b->wrong[TOOL_MALLOCTRACE];
	}
	share = added_ns(b, TOOL_MALLOCTRACE, PROMISED_MODE) / added_ns(b, TOOL_BPFTRACE, PROMISED_MODE);
	holds = share <= PROMISED_SHARE;
	printf("\nmalloctrace adds at most %.2f of bpftrace's cost: %s, %.3f (%s)%s\n", PROMISED_SHARE, holds ? "ok" : "NOT SO",
	       share, modes[PROMISED_MODE].name, must_hold() ? "" : "; promised for arm64 with uprobe_multi, not here");
	return (holds || !must_hold()) && !b->wrong[TOOL_MALLOCTRACE];
}

/* ---- set-up */

/* The last CPUs that we may use: interrupts and daemons like the first. */
static void choose_cpus(struct bench *b)
{
	cpu_set_t set;
	size_t n = 0;

	if (sched_getaffinity(0, sizeof(set), &set))
		CPU_ZERO(&set);
	for (int cpu = CPU_SETSIZE - 1; cpu >= 0 && n < 2; cpu--)
		if (CPU_ISSET(cpu, &set))
			snprintf(b->cpu_text[n++], sizeof(b->cpu_text[0]), "%d", cpu);
	for (; n < 2; n++)
		snprintf(b->cpu_text[n], sizeof(b->cpu_text[n]), "%s", n ? b->cpu_text[0] : "0");
	b->cpus[0] = b->cpu_text[0];
	b->cpus[1] = b->cpu_text[1];
}

static int find_paths(struct paths *p, const char *build_dir, struct err *e)
{
	const struct {
		char **path;
		const char *name;
	} wanted[] = {
		{ &p->malloctrace, "malloctrace" },
		{ &p->target, "bench/target" },
		{ &p->lib_dir, "bench/lib" },
		{ &p->libc, "bench/lib/libc.so.6" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++) {
		_cleanup_free_ char *path = NULL;

		if (asprintf(&path, "%s/%s", build_dir, wanted[i].name) < 0) {
			path = NULL;
			return err_set(e, -ENOMEM, "out of memory");
		}
		*wanted[i].path = realpath(path, NULL);
		if (!*wanted[i].path)
			return err_set(e, -errno, "%s: %s", path, strerror(errno));
	}
	return 0;
}

static void bench_done(struct bench *b)
{
	free(b->paths.malloctrace);
	free(b->paths.target);
	free(b->paths.lib_dir);
	free(b->paths.libc);
	for (size_t i = 0; i < N_TOOLS; i++)
		free(b->wrong[i]);
}

static int usage(void)
{
	fprintf(stderr, "usage: pairs [--rounds N] [--pairs N] BUILD_DIR\n");
	return 2;
}

int main(int argc, char **argv)
{
	static struct bench b = { .n_rounds = 7, .n_pairs = 10000 };
	static const struct option options[] = { { "rounds", 1, NULL, 'r' }, { "pairs", 1, NULL, 'n' }, { 0 } };
	_cleanup_err_ struct err e = { 0 };
	uint64_t n;
	bool good = false;
	int c;

	while ((c = getopt_long(argc, argv, "r:n:", options, NULL)) != -1) {
		if ((c != 'r' && c != 'n') || parse_u64(optarg, 1, c == 'r' ? MAX_ROUNDS : 1000000, &n))
			return usage();
		if (c == 'r')
			b.n_rounds = n;
		else
			b.n_pairs = n;
	}
	if (optind + 1 != argc)
		return usage();
	if (geteuid()) {
		fprintf(stderr, "pairs: probes need root: run with sudo\n");
		return 1;
	}
	choose_cpus(&b);
	for (size_t i = 0; i < N_TOOLS; i++)
		b.missing[i] = tools[i].missing ? tools[i].missing() : NULL;
	if (find_paths(&b.paths, argv[optind], &e) || run(&b, &e)) {
		fprintf(stderr, "pairs: %s\n", err_msg(&e));
	} else {
		print_table(&b);
		good = judge(&b);
	}
	bench_done(&b);
	return good ? 0 : 1;
}
