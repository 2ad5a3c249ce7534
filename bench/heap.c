// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * bench/heap: what a look at a large heap takes, of malloctrace's CPU time and memory, and what a program that is read loses
 * meanwhile: 4 million blocks, a GiB. Owns the target and one run of malloctrace after the other.
 *
 *	census                      0.39 s of CPU time; must be below 0.5: ok
 *	one scan for pointers       0.95 s of CPU time
 *	the target, while it is read: 78% of its walks
 *
 * Always holds: looks and the time between them alternate, so that what else the machine does falls on both; blocks, and what
 * is lost of them, must be the target's own figures.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bench/child.h"
#include "bench/text.h"
#include "bench/tree.h"
#include "util/parse.h"
#include "util/util.h"

#define MAX_ROUNDS 25
#define REST_NS 1000000000	/* between two looks */
#define MAX_CENSUS_S 0.5
#define BLOCK_BYTES 232

enum kind { CENSUS, SEARCH, N_KINDS };

static const struct {
	const char *name;
	char *const args[3];
	uint64_t lost;
} kinds[N_KINDS] = {
	[CENSUS] = { "the heap as it is", {}, 0 },
	[SEARCH] = { "and what nothing points to", { "--reachable" }, TREE_LOST },
};

struct look {
	double cpu_s, wall_s;
	double rate;		/* of walks, as a part of that at rest just before */
	double max_mib;		/* of malloctrace's memory */
};

struct bench_heap {
	const char *dir;
	uint64_t n_blocks, n_rounds;
	volatile uint64_t *shared;
	int fd;
	struct look looks[N_KINDS][MAX_ROUNDS];
};

static double seconds_of(struct timeval t)
{
	return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

static void rest(uint64_t ns)
{
	struct timespec t = { (time_t)(ns / SECOND_NS), (long)(ns % SECOND_NS) };

	while (nanosleep(&t, &t) && errno == EINTR)
		;
}

static double walks_per_s(const struct bench_heap *b, uint64_t walks, uint64_t since_ns)
{
	return (double)(b->shared[0] - walks) / ((double)(now_ns() - since_ns) / 1e9);
}

/* ---- one look */

static int run(const struct bench_heap *b, enum kind kind, const char *pid, const char *json, struct look *ret, struct err *e)
{
	_cleanup_free_ char *tool = NULL;
	struct rusage use;
	uint64_t since_ns = now_ns(), walks = b->shared[0];
	int status;
	pid_t child;

	if (asprintf(&tool, "%s/malloctrace", b->dir) < 0)
		return err_set(e, -ENOMEM, "out of memory");
	child = fork();
	if (!child) {
		char *argv[12] = { tool, "heap", "-p", (char *)pid, "-q", "-o", (char *)json };
		size_t n = 7;

		for (size_t i = 0; i < ARRAY_SIZE(kinds[kind].args) && kinds[kind].args[i]; i++)
			argv[n++] = kinds[kind].args[i];
		execv(tool, argv);
		_exit(127);
	}
	if (child < 0 || wait4(child, &status, 0, &use) != child)
		return err_set(e, -errno, "%s: %s", tool, strerror(errno));
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		return err_set(e, -EBADMSG, "%s heap: exit status %d", tool, status);
	ret->wall_s = (double)(now_ns() - since_ns) / 1e9;
	ret->rate = walks_per_s(b, walks, since_ns);
	ret->cpu_s = seconds_of(use.ru_utime) + seconds_of(use.ru_stime);
	ret->max_mib = (double)use.ru_maxrss / 1024;
	return 0;
}

static int check(const struct bench_heap *b, enum kind kind, const char *path, struct err *e)
{
	_cleanup_fclose_ FILE *f = fopen(path, "re");
	_cleanup_free_ char *text = NULL;
	uint64_t blocks, lost = 0;
	size_t room = 0;

	if (!f || getdelim(&text, &room, '\0', f) < 0)
		return err_set(e, -errno, "%s: %s", path, strerror(errno));
	if (text__number(text, "\"in_use\":", "\"blocks\":", &blocks))
		return err_set(e, -EBADMSG, "%s: no blocks", path);
	/* libc's own are a few more */
	if (blocks < b->n_blocks + TREE_LOST || blocks > b->n_blocks + TREE_LOST + 8)
		return err_set(e, -EBADMSG, "%" PRIu64 " blocks, not %" PRIu64 " and a few", blocks, b->n_blocks + TREE_LOST);
	if (kinds[kind].lost && text__number(text, "\"unreached\":", "\"blocks\":", &lost))
		return err_set(e, -EBADMSG, "%s: not searched", path);
	return lost == kinds[kind].lost ? 0 : err_set(e, -EBADMSG, "%" PRIu64 " blocks lost, not %" PRIu64, lost, kinds[kind].lost);
}

static int look(struct bench_heap *b, enum kind kind, uint64_t round, const char *pid, const char *json, struct err *e)
{
	uint64_t since_ns = now_ns(), walks = b->shared[0];
	struct look *to = &b->looks[kind][round];
	double at_rest;
	int err;

	rest(REST_NS);
	at_rest = walks_per_s(b, walks, since_ns);
	err = run(b, kind, pid, json, to, e);
	if (err)
		return err;
	to->rate /= at_rest;
	return check(b, kind, json, e);
}

/* ---- all of them */

static int start(struct bench_heap *b, struct child *target, struct err *e)
{
	_cleanup_free_ char *path = NULL;
	char n[24], bytes[24], fd[16];

	b->fd = memfd_create("walks", 0);
	if (b->fd < 0 || ftruncate(b->fd, 4096) || asprintf(&path, "%s/bench/tree", b->dir) < 0)
		return err_set(e, -errno, "memory to share with the target: %s", strerror(errno));
	b->shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, b->fd, 0);
	if (b->shared == MAP_FAILED)
		return err_set(e, -errno, "memory to share with the target: %s", strerror(errno));
	snprintf(n, sizeof(n), "%" PRIu64, b->n_blocks);
	snprintf(bytes, sizeof(bytes), "%d", BLOCK_BYTES);
	snprintf(fd, sizeof(fd), "%d", b->fd);
	if (child__start_target((char *[]){ path, n, bytes, fd, NULL }, NULL, NULL, target, e))
		return e->code;
	for (int i = 0; i < 600 && !b->shared[1]; i++)
		rest(SECOND_NS / 10);
	return b->shared[1] ? 0 : err_set(e, -ETIMEDOUT, "%s does not start", path);
}

static int measure(struct bench_heap *b, struct err *e)
{
	_cleanup_child_ struct child target = CHILD_NONE;
	_cleanup_free_ char *json = NULL;
	int err = start(b, &target, e);
	char pid[16];

	if (!err && asprintf(&json, "%s/bench/heap.json", b->dir) < 0)
		err = err_set(e, -ENOMEM, "out of memory");
	snprintf(pid, sizeof(pid), "%d", (int)target.pid);
	for (uint64_t round = 0; round < b->n_rounds && !err; round++)
		for (enum kind kind = 0; kind < N_KINDS && !err; kind++)
			err = look(b, kind, round, pid, json, e);
	if (json)
		unlink(json);
	return err;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(const struct bench_heap *b, enum kind kind, size_t offset)
{
	double v[MAX_ROUNDS];

	for (uint64_t i = 0; i < b->n_rounds; i++)
		memcpy(&v[i], (const char *)&b->looks[kind][i] + offset, sizeof(v[i]));
	qsort(v, b->n_rounds, sizeof(v[0]), by_value);
	return v[b->n_rounds / 2];
}

static bool print(const struct bench_heap *b)
{
	bool holds = median(b, CENSUS, offsetof(struct look, cpu_s)) < MAX_CENSUS_S;

	printf("%" PRIu64 " blocks of %d bytes; medians of %" PRIu64 " looks\n", b->n_blocks, BLOCK_BYTES, b->n_rounds);
	for (enum kind kind = 0; kind < N_KINDS; kind++)
		printf("  %-28s %5.2f s of CPU time, %5.2f s in all; malloctrace takes %4.0f MiB; the target does %3.0f%% of its work meanwhile%s\n",
		       kinds[kind].name, median(b, kind, offsetof(struct look, cpu_s)), median(b, kind, offsetof(struct look, wall_s)),
		       median(b, kind, offsetof(struct look, max_mib)), 100 * median(b, kind, offsetof(struct look, rate)),
		       kind != CENSUS ? "" : holds ? "; must be below 0.5: ok" : "; must be below 0.5: NOT SO");
	printf("  counts                       right\n");
	return holds;
}

static int usage(void)
{
	fprintf(stderr, "usage: heap [--blocks N] [--rounds N] BUILD_DIR\n");
	return 2;
}

int main(int argc, char **argv)
{
	static const struct option options[] = { { "blocks", 1, NULL, 'b' }, { "rounds", 1, NULL, 'r' }, { 0 } };
	struct bench_heap b = { .n_blocks = 4000000, .n_rounds = 5, .fd = -1 };
	_cleanup_err_ struct err e = {};
	int c;

	while ((c = getopt_long(argc, argv, "b:r:", options, NULL)) != -1)
		if (c == 'b' ? parse_u64(optarg, 1000, 100000000, &b.n_blocks) : c != 'r' || parse_u64(optarg, 1, MAX_ROUNDS, &b.n_rounds))
			return usage();
	if (optind + 1 != argc)
		return usage();
	b.dir = argv[optind];
	if (measure(&b, &e)) {
		fprintf(stderr, "heap: %s\n", err_msg(&e));
		return 1;
	}
	return print(&b) ? 0 : 1;
}
