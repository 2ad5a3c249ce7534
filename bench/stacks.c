// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * bench/stacks: what a stack costs, by its length and by the method it is
 * walked with, and what making the tables costs.
 *
 * Always holds: every figure is the median of rounds in which each method had
 * its turn, and a method whose count of calls is not the target's own ends the
 * run. The target keeps frame pointers, so that both methods see one stack.
 *
 *   frames       bare  frame pointers   tables
 *       10         13             900     1400   ns per pair
 */
#include <errno.h>
#include <ftw.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "bench/child.h"
#include "bench/target.h"
#include "elf/cfi.h"
#include "util/util.h"

#define N_ROUNDS 7
#define N_SLICES 3
#define N_SAMPLES (N_ROUNDS * N_SLICES)
#define WARM_UP_PAIRS 3000
#define N_PAIRS 20000
#define TIMEOUT_MS 20000

static const uint32_t depths[] = { 10, 30, 60, 120 };

enum { BARE, FP, TABLE, N_METHODS };
static char *const methods[N_METHODS] = { NULL, "fp", "table" };

static double samples[N_METHODS][ARRAY_SIZE(depths)][N_SAMPLES];

/* ---- the cost of a stack */

static int order(struct child *target, uint32_t depth, uint64_t n_pairs, struct answer *ret, struct err *e)
{
	struct order o = { ORDER_PAIRS, 1, depth - TARGET_OWN_FRAMES, 0, 0, 0, n_pairs };

	if (write(target->in, &o, sizeof(o)) != sizeof(o) || read(target->out, ret, sizeof(*ret)) != sizeof(*ret))
		return err_set(e, -EIO, "the target ended before its time");
	return 0;
}

static int number_in(const char *text, const char *object, const char *key, uint64_t *ret)
{
	const char *at = strstr(text, object);

	at = at ? strstr(at, key) : NULL;
	if (!at)
		return -ENOENT;
	*ret = strtoull(at + strlen(key), NULL, 10);
	return 0;
}

static int check(struct child *tool, const char *method, const struct answer *ledger, struct err *e)
{
	_cleanup_free_ char *text = NULL;
	uint64_t allocs = 0, whole = 0;
	int status = child__finish(tool, SIGINT, TIMEOUT_MS, &text, e);

	if (status < 0)
		return status;
	if (status || number_in(text, "\"totals\":", "\"alloc_calls\":", &allocs) || number_in(text, "\"stacks\":", "\"whole\":", &whole))
		return err_set(e, -EBADMSG, "%s: exit status %d", method, status);
	/* one stack per depth, walked to its end: fewer frames would be cheaper, but wrong */
	if (allocs != ledger->n_mallocs || whole != ARRAY_SIZE(depths))
		return err_set(e, -EBADMSG, "%s: %" PRIu64 " calls of %" PRIu64 ", %" PRIu64 " whole stacks of %zu", method, allocs,
			       ledger->n_mallocs, whole, ARRAY_SIZE(depths));
	return 0;
}

static int run(const char *dir, int method, int round, struct err *e)
{
	_cleanup_child_ struct child target = CHILD_NONE, tool = CHILD_NONE;
	_cleanup_free_ char *target_path = NULL, *tool_path = NULL;
	struct answer a = {};
	char pid[16], ready;
	int err;

	if (asprintf(&target_path, "%s/bench/target", dir) < 0 || asprintf(&tool_path, "%s/malloctrace", dir) < 0)
		return err_set(e, -ENOMEM, "out of memory");
	err = child__start_target((char *[]){ target_path, "1", NULL }, NULL, NULL, &target, e);
	if (!err && read(target.out, &ready, 1) != 1)
		err = err_set(e, -EIO, "%s does not start", target_path);
	if (err)
		return err;
	snprintf(pid, sizeof(pid), "%d", (int)target.pid);
	if (methods[method]) {
		err = child__start_tool((char *[]){ tool_path, "-p", pid, "--json", "--unwind", methods[method], NULL }, NULL, NULL, &tool, e);
		if (!err)
			err = child__wait_for_text(&tool, "malloctrace: attached", TIMEOUT_MS, e);
	}
	for (size_t d = 0; !err && d < ARRAY_SIZE(depths); d++) {
		err = order(&target, depths[d], WARM_UP_PAIRS, &a, e);
		for (int i = 0; !err && i < N_SLICES; i++) {
			err = order(&target, depths[d], N_PAIRS, &a, e);
			samples[method][d][round * N_SLICES + i] = (double)a.cpu_ns / N_PAIRS;
		}
	}
	return !err && methods[method] ? check(&tool, methods[method], &a, e) : err;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double median(double *v)
{
	qsort(v, N_SAMPLES, sizeof(*v), by_value);
	return v[N_SAMPLES / 2];
}

static void print_costs(void)
{
	double ns[N_METHODS][ARRAY_SIZE(depths)];
	size_t last = ARRAY_SIZE(depths) - 1;

	printf("ns per malloc and free, medians of %d\n%8s %8s %16s %8s\n", N_SAMPLES, "frames", "bare", "frame pointers", "tables");
	for (size_t d = 0; d <= last; d++) {
		for (int m = 0; m < N_METHODS; m++)
			ns[m][d] = median(samples[m][d]);
		printf("%8u %8.0f %16.0f %8.0f\n", depths[d], ns[BARE][d], ns[FP][d], ns[TABLE][d]);
	}
	printf("%8s %8s %16.1f %8.1f\n", "a frame", "", (ns[FP][last] - ns[FP][0]) / (depths[last] - depths[0]),
	       (ns[TABLE][last] - ns[TABLE][0]) / (depths[last] - depths[0]));
}

/* ---- the cost of tables */

static char largest[512];
static off_t largest_bytes;

static int look(const char *path, const struct stat *st, int kind, struct FTW *f)
{
	if (kind == FTW_F && st->st_size > largest_bytes && strstr(path + f->base, ".so") && strlen(path) < sizeof(largest)) {
		largest_bytes = st->st_size;
		snprintf(largest, sizeof(largest), "%s", path);
	}
	return 0;
}

static int print_table(const char *path, bool calls_only, struct err *e)
{
	struct objects *objects = objects__new();
	struct object *obj = NULL;
	struct cfi c = {};
	uint64_t best_ns = UINT64_MAX, span = 0;
	struct stat st;
	int err = objects ? objects__get_path(objects, path, &obj, e) : err_set(e, -ENOMEM, "out of memory");

	for (int i = 0; !err && i < 3; i++) {
		uint64_t since = now_ns();

		cfi__done(&c);
		c = (struct cfi){};
		err = cfi__compile(obj, calls_only, &c, e);
		best_ns = MIN(best_ns, now_ns() - since);
	}
	if (!err) {
		span = c.n_rows ? c.rows[c.n_rows - 1].pc - c.rows[0].pc : 0;
		if (stat(path, &st))
			st.st_size = 0;
		printf("%-32.32s %7.1f %7s %9zu %9.1f %10.1f\n", strrchr(path, '/') + 1, st.st_size / 1048576.0,
		       calls_only ? "calls" : "full", c.n_rows, (c.n_rows * 8 + (span >> MT_TABLE_PAGE_SHIFT) * 8) / 1024.0, best_ns / 1e6);
	}
	cfi__done(&c);
	object__put(obj);
	objects__free(objects);
	return err;
}

static const char *first_of(const char *const *paths)
{
	for (; *paths; paths++)
		if (!access(*paths, R_OK))
			return *paths;
	return NULL;
}

static int print_tables(struct err *e)
{
	static const char *const python[] = { "/usr/bin/python3.13", "/usr/bin/python3.12", "/usr/bin/python3.11", "/usr/bin/python3", NULL };
	static const char *const cxx[] = { "/usr/lib/aarch64-linux-gnu/libstdc++.so.6", "/usr/lib/x86_64-linux-gnu/libstdc++.so.6", NULL };
	static const char *const libc[] = { "/usr/lib/aarch64-linux-gnu/libc.so.6", "/usr/lib/x86_64-linux-gnu/libc.so.6", NULL };
	const char *paths[] = { first_of(libc), first_of(cxx), first_of(python), largest };

	nftw("/usr/lib", look, 32, FTW_PHYS);
	printf("\n%-32s %7s %7s %9s %9s %10s\n", "tables", "MiB", "rows of", "rows", "KiB", "compile ms");
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
		for (int calls = 0; paths[i] && paths[i][0] && calls < 2; calls++)
			if (print_table(paths[i], calls, e))
				return e->code;
	return 0;
}

int main(int argc, char **argv)
{
	_cleanup_err_ struct err e = {};
	int err = 0;

	if (argc != 2) {
		fprintf(stderr, "usage: stacks BUILD_DIRECTORY\n");
		return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (int round = 0; !err && round < N_ROUNDS; round++)
		for (int i = 0; !err && i < N_METHODS; i++)
			err = run(argv[1], (i + round) % N_METHODS, round, &e);
	if (!err) {
		print_costs();
		err = print_tables(&e);
	}
	if (err)
		fprintf(stderr, "stacks: %s\n", err_msg(&e));
	return err ? 1 : 0;
}
