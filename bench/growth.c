// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * bench/growth MALLOCTRACE: what --mode growth takes for a page fault, from the
 * program that is traced and from one beside it.
 *
 * Always holds: every figure is the median of rounds in which each way had its
 * turn, and a trace that should have seen each fault of the target and has not ends the run.
 *
 *                                      5 frames  15 frames  35 frames
 *   nothing is traced                      1270       1270       1270
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "util/parse.h"
#include "util/util.h"

#define N_ROUNDS 7
#define N_SLICES 9
#define N_PAGES 5000

static const uint32_t depths[] = { 5, 15, 35 };
#define OWN_FRAMES 5		/* the loop, main, and what calls main */

static const struct way {
	const char *name, *args;	/* args NULL: no trace; $s: the pid of another process */
	bool traced;
} ways[] = {
	{ "nothing is traced", NULL },
	{ "-- CMD: it is traced", "", .traced = true },
	{ "-a: it is traced", "-a --by none", .traced = true },
	{ "-p of another process", "-p $s" },
	{ "-f -p of another process", "-f -p $s" },
	{ "--comm of another name", "--comm no-such-name" },
};

static double samples[ARRAY_SIZE(ways)][ARRAY_SIZE(depths)][N_ROUNDS];
static size_t page_bytes;

/* ---- the target: its own CPU time for a fault, the median of some slices, on standard output */

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

__attribute__((noinline)) static void touch(volatile unsigned char *p)
{
	for (size_t i = 0; i < N_PAGES; i++)
		p[i * page_bytes] = 1;
}

__attribute__((noinline)) static void deeper(volatile unsigned char *p, uint32_t n)
{
	if (n)
		deeper(p, n - 1);
	else
		touch(p);
	/* so that the call above is no jump */
	__asm__ volatile("");
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static int target(uint32_t depth)
{
	double ns[N_SLICES];
	unsigned char *p = mmap(NULL, N_PAGES * page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return 1;
	madvise(p, N_PAGES * page_bytes, MADV_NOHUGEPAGE);
	for (int i = 0; i < N_SLICES; i++) {
		uint64_t began = cpu_ns();

		deeper(p, depth - OWN_FRAMES);
		ns[i] = (double)(cpu_ns() - began) / N_PAGES;
		madvise(p, N_PAGES * page_bytes, MADV_DONTNEED);
	}
	qsort(ns, N_SLICES, sizeof(*ns), by_value);
	printf("%f\n", ns[N_SLICES / 2]);
	return 0;
}

/* ---- the rounds */

/* What the command prints: one number. */
static int ask(const char *command, double *ret)
{
	FILE *f = popen(command, "r");
	int n = f ? fscanf(f, "%lf", ret) : 0;

	return !f || pclose(f) || n != 1 ? -EIO : 0;
}

/* All processes of the trace are one row. */
static int check_json(const char *path)
{
	_cleanup_free_ char *text = NULL;
	static const char key[] = "\"page_fault_calls\": ";
	const char *at;
	size_t len;

	if (read_small_file(path, &text, &len))
		return -EIO;
	at = strstr(text, key);
	return at && strtoull(at + strlen(key), NULL, 10) >= (uint64_t)N_SLICES * N_PAGES ? 0 : -EIO;
}

static int measure(const char *malloctrace, const char *self, const char *json, const struct way *w, uint32_t depth, double *ret)
{
	_cleanup_free_ char *command = NULL;
	int n, err;

	if (!w->args)
		n = asprintf(&command, "%s target %u", self, depth);
	else if (!*w->args)
		n = asprintf(&command, "%s -q --mode growth -o %s -- %s target %u", malloctrace, json, self, depth);
	else
		/* the trace goes on until the measured program has ended */
		n = asprintf(&command,
			     "sleep 1000 & s=$!; %s --mode growth -o %s %s > /dev/null 2> %s.err & m=$!; "
			     "until grep -q 'malloctrace: attached' %s.err; do kill -0 $m || exit 1; sleep 0.1; done; "
			     "%s target %u; kill -INT $m; wait $m; kill $s",
			     malloctrace, json, w->args, json, json, self, depth);
	if (n < 0)
		return -ENOMEM;
	err = ask(command, ret);
	return !err && w->traced ? check_json(json) : err;
}

int main(int argc, char **argv)
{
	char dir[] = "/tmp/malloctrace-growth-XXXXXX";
	_cleanup_free_ char *json = NULL, *json_err = NULL;
	uint64_t depth;
	int err = 0;

	page_bytes = sysconf(_SC_PAGESIZE);
	if (argc == 3 && !strcmp(argv[1], "target") && !parse_u64(argv[2], OWN_FRAMES, 1000, &depth))
		return target(depth);
	if (argc != 2) {
		fprintf(stderr, "usage: growth MALLOCTRACE\n");
		return 2;
	}
	if (!mkdtemp(dir) || asprintf(&json, "%s/o.json", dir) < 0 || asprintf(&json_err, "%s.err", json) < 0)
		return 1;
	for (int round = 0; round < N_ROUNDS && !err; round++)
		for (size_t d = 0; d < ARRAY_SIZE(depths) && !err; d++)
			for (size_t way = 0; way < ARRAY_SIZE(ways) && !err; way++)
				err = measure(argv[1], argv[0], json, &ways[way], depths[d], &samples[way][d][round]);
	unlink(json);
	unlink(json_err);
	rmdir(dir);
	if (err) {
		fprintf(stderr, "growth: a run failed, or not every fault was seen\n");
		return 1;
	}
	printf("%-26s", "ns per fault");
	for (size_t d = 0; d < ARRAY_SIZE(depths); d++)
		printf(" %3u frames", depths[d]);
	for (size_t way = 0; way < ARRAY_SIZE(ways); way++) {
		printf("\n%-26s", ways[way].name);
		for (size_t d = 0; d < ARRAY_SIZE(depths); d++) {
			qsort(samples[way][d], N_ROUNDS, sizeof(double), by_value);
			printf(" %10.0f", samples[way][d][N_ROUNDS / 2]);
		}
	}
	printf("\n");
	return 0;
}
