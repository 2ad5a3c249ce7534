// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the samples and the table that is printed of them.
 *
 * A ratio is made in each round, of the medians of the slices that both sides
 * had in it, and then the median over the rounds is taken: so a change of the
 * machine's pace from round to round falls on both sides of it.
 */
#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "bench/results.h"
#include "util/util.h"

const struct load loads[N_LOADS] = {
	[LOAD_10] = { "10 frames, 1 thread", "10 frames", "pairs", "ns", 1, 10, 0 },
	[LOAD_30] = { "30 frames, 1 thread", "30 frames", "pairs", "ns", 1, 30, 0 },
	[LOAD_40] = { "40 frames, 1 thread", "40 frames", "pairs", "ns", 1, 40, 0 },
	[LOAD_2_THREADS] = { "10 frames, 2 threads", "2 threads", "pairs", "ns", 2, 10, 0 },
	[LOAD_100K] = { "100 thousand live blocks, the oldest freed", "100 k live", "pairs", "ns", 1, 10, 100000 },
	[LOAD_4M] = { "4 million live blocks, the oldest freed", "4 M live, oldest", "large", "ns", 1, 10, 4000000 },
	[LOAD_4M_ANY] = { "4 million live blocks, any of them freed", "4 M live, any", "large", "ns", 1, 10, 4000000, true },
	[LOAD_SQLITE] = { "sqlite3: CPU time of a load", "sqlite3, ms", "sqlite", "ms" },
	[LOAD_GCC] = { "gcc: CPU time of cc1 -O2 -g with one file", "gcc, ms", "gcc", "ms" },
	[LOAD_REDIS] = { "redis-server: CPU time of a request", "redis, ns", "redis", "ns" },
};

/* ---- what is asked for */

static bool matches(const struct bench *b, enum tool_id id, const char *part)
{
	_cleanup_free_ char *globs = strdup(b->only);
	char name[64], *rest = globs, *glob;

	snprintf(name, sizeof(name), "%s/%s", part, tools[id].slug);
	while ((glob = strsep(&rest, ",")))
		if (!fnmatch(glob, name, 0))
			return true;
	return false;
}

bool bench__wants_any(const struct bench *b, const char *part)
{
	if (!b->only)
		return true;
	for (enum tool_id id = 0; id < N_TOOLS; id++)
		if (matches(b, id, part))
			return true;
	return false;
}

bool bench__asks(const struct bench *b, enum tool_id id, const char *part)
{
	return !b->only || (id == TOOL_BARE ? bench__wants_any(b, part) : matches(b, id, part));
}

bool bench__wants(const struct bench *b, enum tool_id id, const char *part)
{
	return !b->missing[id] && bench__asks(b, id, part);
}

void bench__progress(const char *part, uint32_t round, uint32_t n_rounds)
{
	if (isatty(STDERR_FILENO))
		fprintf(stderr, "\r%s: round %u of %u   \r", part, round + 1, n_rounds);
}

/* ---- samples */

int bench__add(struct bench *b, enum tool_id id, enum load_id load, uint32_t round, double value, struct err *e)
{
	struct sample *s = vec_push(&b->cells[id][load]);

	if (!s)
		return err_set(e, -ENOMEM, "out of memory");
	*s = (struct sample){ value, round };
	return 0;
}

int bench__note_wrong(struct bench *b, enum tool_id id, const char *part, int result, struct err *e)
{
	if (result != -EBADMSG)
		return result;
	if (!b->wrong[id] && asprintf(&b->wrong[id], "%s: %s", part, err_msg(e)) < 0)
		b->wrong[id] = NULL;
	err_done(e);
	*e = (struct err){ 0 };
	return 0;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double quantile(double *v, size_t n, double share)
{
	double at = share * (n - 1);
	size_t low = at;

	if (!n)
		return NAN;
	qsort(v, n, sizeof(v[0]), by_value);
	return low + 1 < n ? v[low] + (at - low) * (v[low + 1] - v[low]) : v[low];
}

/* round UINT32_MAX: all */
static double cell_quantile(const struct cell *c, uint32_t round, double share)
{
	double v[c->n + 1];
	size_t n = 0;

	for (size_t i = 0; i < c->n; i++)
		if (round == UINT32_MAX || c->v[i].round == round)
			v[n++] = c->v[i].value;
	return quantile(v, n, share);
}

bool cell__has(const struct bench *b, enum tool_id id, enum load_id load)
{
	return b->cells[id][load].n > 0;
}

double cell__quantile(const struct bench *b, enum tool_id id, enum load_id load, double share)
{
	return cell_quantile(&b->cells[id][load], UINT32_MAX, share);
}

double cell__of_round(const struct bench *b, enum tool_id id, enum load_id load, uint32_t round)
{
	return cell_quantile(&b->cells[id][load], round, 0.5);
}

static double of_side(const struct bench *b, struct side s, uint32_t round, bool whole)
{
	double all = cell__of_round(b, s.tool, s.load, round);

	return whole ? all : all - cell__of_round(b, TOOL_BARE, s.load, round);
}

bool ratio__make(const struct bench *b, struct side a, struct side by, bool whole, struct ratio *ret)
{
	double v[MAX_ROUNDS];
	size_t n = 0;

	for (uint32_t round = 0; round < MAX_ROUNDS; round++) {
		double ratio = of_side(b, a, round, whole) / of_side(b, by, round, whole);

		if (isfinite(ratio))
			v[n++] = ratio;
	}
	if (!n)
		return false;
	*ret = (struct ratio){ quantile(v, n, 0.5), quantile(v, n, 0), quantile(v, n, 1) };
	return true;
}

/* ---- the table */

static void print_ratio(const struct bench *b, enum tool_id id, enum tool_id by, enum load_id load)
{
	struct ratio r;

	if (id == TOOL_BARE || !ratio__make(b, (struct side){ id, load }, (struct side){ by, load }, false, &r))
		printf(" %9s", "");
	else
		printf(" %9.3f", r.median);
}

static const char *counts_of(const struct bench *b, enum tool_id id, enum load_id load)
{
	if (b->wrong[id])
		return "WRONG";
	if (load == LOAD_REDIS || load == LOAD_GCC)
		return "";	/* keeps no ledger: losses were looked at, and that there were enough */
	switch (tools[id].check) {
	case CHECK_NONE:
	case CHECK_ALIVE:
		return "";
	case CHECK_ESTIMATE:
	case CHECK_BUDGET:
		return "near";
	default:
		return "right";
	}
}

static void print_row(const struct bench *b, enum tool_id id, enum load_id load)
{
	double median = cell__quantile(b, id, load, 0.5), bare = cell__quantile(b, TOOL_BARE, load, 0.5);
	char quartiles[48];

	if (!cell__has(b, id, load)) {
		if (load == LOAD_10 && b->missing[id] && b->missing[id][0])
			printf("  %-48s %s\n", tools[id].name, b->missing[id]);
		return;
	}
	snprintf(quartiles, sizeof(quartiles), "%.1f-%.1f", cell__quantile(b, id, load, 0.25), cell__quantile(b, id, load, 0.75));
	printf("  %-48s %8.1f %17s", tools[id].name, median, quartiles);
	if (id == TOOL_BARE)
		printf(" %8s %7s", "", "");
	else
		printf(" %8.1f %6.2fx", median - bare, median / bare);
	print_ratio(b, id, TOOL_BPFTRACE, load);
	print_ratio(b, id, TOOL_BPFTRACE_CALLS, load);
	print_ratio(b, id, TOOL_THREE_TRAPS, load);
	printf("  %s", counts_of(b, id, load));
	if (load == LOAD_REDIS && b->redis_rate[id] > 0)
		printf("  %.0f requests/s", b->redis_rate[id]);
	printf("\n");
}

/*
 *	10 frames, 1 thread                                   ns         quartiles    added    bare  bpftrace     calls   3 traps  counts
 *	  bare                                              19.6         19.6-19.7
 *	  malloctrace                                      951.0       940.0-970.2    931.4  48.52x     0.441     0.502     1.312  right
 */
static void print_load(const struct bench *b, enum load_id load)
{
	if (b->left_out[load]) {
		printf("\n%s: %s\n", loads[load].name, b->left_out[load]);
		return;
	}
	if (!cell__has(b, TOOL_BARE, load))
		return;
	printf("\n%-50s %8s %17s %8s %7s %9s %9s %9s  %s\n", loads[load].name, loads[load].unit, "quartiles", "added", "bare",
	       "bpftrace", "calls", "3 traps", "counts");
	for (enum tool_id id = 0; id < N_TOOLS; id++)
		print_row(b, id, load);
}

void table__print(const struct bench *b)
{
	struct utsname u;
	char date[32];
	time_t now = time(NULL);

	uname(&u);
	strftime(date, sizeof(date), "%Y-%m-%d", gmtime(&now));
	printf("%s, Linux %s %s, %ld CPUs; target on CPU %s (2 threads: and %s); %u rounds\n", date, u.release, u.machine,
	       sysconf(_SC_NPROCESSORS_ONLN), b->cpus[0], b->cpus[1], b->n_rounds);
	printf("CPU time of the target per malloc/free pair, in slices of %" PRIu64 " pairs: medians, quartiles of all slices.\n",
	       b->n_pairs);
	printf("added: over bare. bare: the whole, by bare's. bpftrace, calls, 3 traps: what is added, by what bpftrace with the\n"
	       "same work, bpftrace counting calls by stack alone, and empty probes at malloctrace's points add; medians over rounds.\n");
	for (enum load_id load = 0; load < N_LOADS; load++)
		print_load(b, load);
	for (enum tool_id id = 0; id < N_TOOLS; id++)
		if (b->wrong[id])
			printf("\nWRONG: %s, %s\n", tools[id].name, b->wrong[id]);
}

void table__print_markdown(const struct bench *b)
{
	printf("\n|");
	for (enum load_id load = 0; load < N_LOADS; load++)
		printf(" | %s", loads[load].short_name);
	printf(" |\n|---");
	for (enum load_id load = 0; load < N_LOADS; load++)
		printf("|---");
	printf("|\n");
	for (enum tool_id id = 0; id < N_TOOLS; id++) {
		if (!cell__has(b, id, LOAD_10))
			continue;
		printf("| %s", tools[id].name);
		for (enum load_id load = 0; load < N_LOADS; load++) {
			int digits = cell__has(b, id, load) && cell__quantile(b, id, load, 0.5) < 100 ? 1 : 0;

			if (!cell__has(b, id, load))
				printf(" |");
			else
				printf(" | %.*f (%.*f-%.*f)", digits, cell__quantile(b, id, load, 0.5), digits,
				       cell__quantile(b, id, load, 0.25), digits, cell__quantile(b, id, load, 0.75));
		}
		printf(" |\n");
	}
}
