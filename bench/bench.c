// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * make bench: what tracing costs, by tool and load, in one table, and the lines
 * of it that must hold. Owns the options and the order of the parts.
 *
 * Exit status 1: a line does not hold, or a tool of ours counted wrong, or
 * something could not be measured.
 */
#include <errno.h>
#include <getopt.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/results.h"
#include "util/parse.h"
#include "util/util.h"

#define QUICK_ROUNDS 2

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
		bool may_lack;
	} wanted[] = {
		{ &p->malloctrace, "malloctrace", false },
		{ &p->without_peak, "bench/without-peak/malloctrace", true },
		{ &p->target, "bench/target", false },
		{ &p->sqlite, "bench/sqlite", true },
		{ &p->source, "bench/source.i", true },
		{ &p->lib_dir, "bench/lib", false },
		{ &p->bpftrace_lib_dir, "bench/lib-bpftrace", false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++) {
		_cleanup_free_ char *path = NULL;

		if (asprintf(&path, "%s/%s", build_dir, wanted[i].name) < 0) {
			path = NULL;
			return err_set(e, -ENOMEM, "out of memory");
		}
		*wanted[i].path = realpath(path, NULL);
		if (!*wanted[i].path && !wanted[i].may_lack)
			return err_set(e, -errno, "%s: %s", path, strerror(errno));
	}
	return 0;
}

static void bench_done(struct bench *b)
{
	char *const strings[] = { b->paths.malloctrace, b->paths.without_peak, b->paths.before, b->paths.target,
				  b->paths.sqlite,	b->paths.source,       b->paths.lib_dir,
				  b->paths.bpftrace_lib_dir };

	for (size_t i = 0; i < ARRAY_SIZE(strings); i++)
		free(strings[i]);
	for (size_t id = 0; id < N_TOOLS; id++) {
		free(b->missing[id]);
		free(b->wrong[id]);
		for (size_t load = 0; load < N_LOADS; load++)
			vec_done(&b->cells[id][load]);
	}
	for (size_t load = 0; load < N_LOADS; load++)
		free(b->left_out[load]);
}

static int run(struct bench *b, const char *build_dir, struct err *e)
{
	if (find_paths(&b->paths, build_dir, e))
		return e->code;
	for (enum tool_id id = 0; id < N_TOOLS; id++)
		b->missing[id] = tools[id].missing ? tools[id].missing(&b->paths, &tools[id]) : NULL;
	if (pairs__run(b, e) || (!b->quick && pairs__run_large(b, e)) || programs__run_sqlite(b, e) || programs__run_gcc(b, e) ||
	    programs__run_redis(b, e))
		return e->code;
	return 0;
}

static int usage(void)
{
	fprintf(stderr, "usage: bench [--rounds N] [--pairs N] [--quick] [--only GLOB,...] [--before FILE] [--markdown] BUILD_DIR\n"
			"  GLOB   of PART/TOOL, such as 'pairs/*', 'large/malloctrace*' or '*/bpftrace'; parts are pairs, large, sqlite, gcc, redis\n"
			"  FILE   an earlier malloctrace, to compare with in the same rounds\n"
			"  BENCH_REDIS=FILE in the environment: a redis-server that was built with glibc's malloc (make MALLOC=libc)\n"
			"  quick  fewer rounds, and nothing with 4 million live blocks\n"
			"  tools ");
	for (enum tool_id id = 0; id < N_TOOLS; id++)
		fprintf(stderr, " %s", tools[id].slug);
	fputc('\n', stderr);
	return 2;
}

int main(int argc, char **argv)
{
	static struct bench b = { .n_rounds = 5, .n_pairs = 10000 };
	static const struct option options[] = {
		{ "rounds", 1, NULL, 'r' }, { "pairs", 1, NULL, 'n' }, { "quick", 0, NULL, 'q' }, { "only", 1, NULL, 'o' },
		{ "before", 1, NULL, 'b' }, { "markdown", 0, NULL, 'm' }, { 0 },
	};
	_cleanup_err_ struct err e = { 0 };
	uint64_t n_rounds = 0;
	bool good = false;
	int c;

	while ((c = getopt_long(argc, argv, "r:n:qo:b:m", options, NULL)) != -1) {
		if (c == 'q')
			b.quick = true;
		else if (c == 'm')
			b.markdown = true;
		else if (c == 'o')
			b.only = optarg;
		else if (c == 'b' && !(b.paths.before = realpath(optarg, NULL)))
			return fprintf(stderr, "bench: --before %s: %s\n", optarg, strerror(errno)), 2;
		else if (c == 'b')
			continue;
		else if (c == 'r' ? parse_u64(optarg, 1, MAX_ROUNDS, &n_rounds) : c != 'n' || parse_u64(optarg, 1, 1000000, &b.n_pairs))
			return usage();
	}
	if (optind + 1 != argc)
		return usage();
	if (geteuid()) {
		fprintf(stderr, "bench: probes need root: run with sudo\n");
		return 1;
	}
	if (n_rounds || b.quick)
		b.n_rounds = n_rounds ? n_rounds : QUICK_ROUNDS;
	choose_cpus(&b);
	if (run(&b, argv[optind], &e)) {
		fprintf(stderr, "bench: %s\n", err_msg(&e));
	} else {
		table__print(&b);
		if (b.markdown)
			table__print_markdown(&b);
		good = promises__judge(&b);
	}
	bench_done(&b);
	return good ? 0 : 1;
}
