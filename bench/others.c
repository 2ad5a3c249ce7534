// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * bench/others MALLOCTRACE: what a process pays that nobody asked about, while
 * another one is traced: CPU time for a malloc and its free, and for a fork, an exec
 * and the child's end.
 *
 * Always holds: every figure is the median of rounds in which each way had its
 * turn; a trace stays in place until the process that is measured has ended, and
 * only -a may have counted it.
 *
 *                                     malloc + free, ns   fork + exec, us
 *   nothing is traced                                20               480
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "util/util.h"

#define N_ROUNDS 3
#define N_SLICES 9
#define N_PAIRS 50000
#define N_FORKS 40

static const struct way {
	const char *name, *args;	/* args NULL: no trace; %s: the pid of another process */
} ways[] = {
	{ "nothing is traced", NULL },
	{ "-p of another process", "-p $s" },
	{ "-f -p of another process", "-f -p $s" },
	{ "--comm of another name", "--comm no-such-name" },
	{ "--cgroup of others", "--cgroup /no-such-cgroup" },
	{ "-a: it is traced itself", "-a" },
};

static double samples[2][ARRAY_SIZE(ways)][N_ROUNDS];

/* ---- the target: its own CPU time for a pair, and for a fork with that of the child */

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

static double children_us(void)
{
	struct rusage r;

	getrusage(RUSAGE_CHILDREN, &r);
	return (r.ru_utime.tv_sec + r.ru_stime.tv_sec) * 1e6 + r.ru_utime.tv_usec + r.ru_stime.tv_usec;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double pairs(void)
{
	void *(*volatile alloc)(size_t) = malloc;
	void (*volatile give_back)(void *) = free;
	uint64_t began = cpu_ns();

	for (int i = 0; i < N_PAIRS; i++)
		give_back(alloc(64));
	return (double)(cpu_ns() - began) / N_PAIRS;
}

static double forks(const char *self)
{
	double began_us = children_us();
	uint64_t began = cpu_ns();

	for (int i = 0; i < N_FORKS; i++) {
		pid_t pid = fork();
		int status;

		if (pid == 0) {
			execl(self, self, "nothing", NULL);
			_exit(1);
		}
		if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
			_exit(1);
	}
	return ((cpu_ns() - began) / 1e3 + children_us() - began_us) / N_FORKS;
}

static int target(const char *self)
{
	double ns[N_SLICES], us[N_SLICES];

	for (int i = 0; i < N_SLICES; i++) {
		ns[i] = pairs();
		us[i] = forks(self);
	}
	qsort(ns, N_SLICES, sizeof(*ns), by_value);
	qsort(us, N_SLICES, sizeof(*us), by_value);
	printf("%f %f\n", ns[N_SLICES / 2], us[N_SLICES / 2]);
	return 0;
}

/* ---- the rounds */

static int measure(const char *malloctrace, const char *self, const char *err_path, const struct way *w, double ret[2])
{
	_cleanup_free_ char *command = NULL;
	FILE *f;
	int n;

	if (!w->args)
		n = asprintf(&command, "%s target", self);
	else
		n = asprintf(&command,
			     "sleep 1000 & s=$!; %s %s --depth 8 > /dev/null 2> %s & m=$!; "
			     "until grep -q 'malloctrace: attached' %s; do kill -0 $m || exit 1; sleep 0.1; done; "
			     "%s target; kill -INT $m; wait $m; kill $s",
			     malloctrace, w->args, err_path, err_path, self);
	if (n < 0)
		return -ENOMEM;
	f = popen(command, "r");
	n = f ? fscanf(f, "%lf %lf", &ret[0], &ret[1]) : 0;
	if (f)
		pclose(f);
	return n == 2 ? 0 : -EIO;
}

int main(int argc, char **argv)
{
	char err_path[] = "/tmp/malloctrace-others-XXXXXX";
	int err = 0, fd;

	if (argc == 2 && !strcmp(argv[1], "nothing"))
		return 0;
	if (argc == 2 && !strcmp(argv[1], "target"))
		return target(argv[0]);
	if (argc != 2) {
		fprintf(stderr, "usage: others MALLOCTRACE\n");
		return 2;
	}
	fd = mkstemp(err_path);
	if (fd < 0)
		return 1;
	close(fd);
	for (int round = 0; round < N_ROUNDS && !err; round++)
		for (size_t k = 0; k < ARRAY_SIZE(ways) && !err; k++) {
			size_t way = (k + round) % ARRAY_SIZE(ways);
			double got[2] = {};

			err = measure(argv[1], argv[0], err_path, &ways[way], got);
			samples[0][way][round] = got[0];
			samples[1][way][round] = got[1];
		}
	unlink(err_path);
	if (err) {
		fprintf(stderr, "others: a run failed\n");
		return 1;
	}
	printf("%-30s %20s %18s\n", "", "malloc + free, ns", "fork + exec, us");
	for (size_t way = 0; way < ARRAY_SIZE(ways); way++) {
		for (int i = 0; i < 2; i++)
			qsort(samples[i][way], N_ROUNDS, sizeof(double), by_value);
		printf("%-30s %20.1f %18.0f\n", ways[way].name, samples[0][way][N_ROUNDS / 2], samples[1][way][N_ROUNDS / 2]);
	}
	return 0;
}
