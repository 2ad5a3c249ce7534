// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Which blocks of a process no pointer reaches, by address, for live tests and measurements:
 *
 *	reach-tool PID [--scans N] [--gap MS] [--roots] [--pause] [--no-bpf] [--wait]
 *
 * --wait: before the second scan it says "again" and waits for a byte on standard input.
 * "ADDRESS USABLE direct|indirect" for each; with --roots also "root ADDRESS TID BLOCKS BYTES". What it took goes to standard error.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "heap/reach.h"
#include "probe/kernel.h"
#include "util/parse.h"
#include "util/util.h"

static struct glibc glibc;
static uint64_t census_cpu_ns;
static bool waits;
static unsigned int n_takes;

static int take(struct target *t, void *arg, struct census *ret, struct err *e)
{
	uint64_t began = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	int err;
	char c;

	if (n_takes++ == 1 && waits && (write(1, "again\n", 6) != 6 || read(0, &c, 1) != 1))
		return err_set(e, -EIO, "nobody says when");
	err = census__take(t, &glibc, ret, e);
	census_cpu_ns += clock_ns(CLOCK_PROCESS_CPUTIME_ID) - began;
	fprintf(stderr, "census: %zu blocks, %.1f ms of CPU so far, of these %.1f for censuses\n", ret->blocks.n,
		clock_ns(CLOCK_PROCESS_CPUTIME_ID) / 1e6, census_cpu_ns / 1e6);
	return err;
}

static uint64_t option(int argc, char **argv, const char *name, uint64_t otherwise)
{
	for (int i = 2; i < argc; i++)
		if (!strcmp(argv[i], name))
			return i + 1 < argc ? strtoull(argv[i + 1], NULL, 10) ?: 1 : 1;
	return otherwise;
}

static void print(const struct reach_result *r)
{
	for (size_t i = 0; i < r->first.blocks.n; i++)
		if (r->state[i] != REACHED)
			printf("%llx %llu %s\n", (unsigned long long)r->first.blocks.v[i].addr,
			       (unsigned long long)r->first.blocks.v[i].usable, r->state[i] == UNREACHED ? "direct" : "indirect");
	for (size_t i = 0; i < r->roots.n; i++)
		printf("root %llx %d %llu %llu\n", (unsigned long long)r->roots.v[i].addr, r->roots.v[i].tid,
		       (unsigned long long)r->roots.v[i].blocks, (unsigned long long)r->roots.v[i].bytes);
	printf("registers %s, but for %llu threads\n", r->registers_missing ? "missing" : r->registers_stopped ? "stopped" : "read",
	       (unsigned long long)r->n_unread_threads);
}

int main(int argc, char **argv)
{
	_cleanup_err_ struct err e = {};
	struct reach_result r = {};
	struct target t = {};
	struct reach_opts o = { .blocks = take };
	uint64_t began = now_ns();
	struct rusage use;
	int err;

	if (argc < 2)
		return 2;
	o.scans = option(argc, argv, "--scans", 3);
	o.gap_ns = option(argc, argv, "--gap", 200) * MS_NS;
	o.roots = option(argc, argv, "--roots", 0);
	o.paused = option(argc, argv, "--pause", 0);
	waits = option(argc, argv, "--wait", 0);
	o.registers = option(argc, argv, "--no-bpf", 0) ? NULL : registers__read;
	err = target__open(atoi(argv[1]), NULL, &t, &e);
	if (!err && o.paused)
		err = target__pause(&t, &e);
	if (!err)
		err = reach__run(&t, &o, &r, &e);
	if (err) {
		fprintf(stderr, "reach-tool: %s\n", err_msg(&e));
		return 1;
	}
	target__resume(&t);
	print(&r);
	getrusage(RUSAGE_SELF, &use);
	fprintf(stderr, "%u scans, %llu candidates, %llu root bytes; %.1f ms, %.1f of CPU, %.1f stopped; %ld KiB; %llu reads, %llu bytes\n",
		r.is.scans, (unsigned long long)r.n_candidates, (unsigned long long)r.is.root_bytes, (now_ns() - began) / 1e6,
		clock_ns(CLOCK_PROCESS_CPUTIME_ID) / 1e6, t.paused_ns / 1e6, use.ru_maxrss, (unsigned long long)t.memory.n_reads,
		(unsigned long long)t.memory.read_bytes);
	reach_result__done(&r);
	glibc__done(&glibc);
	target__done(&t);
	registers__close();
	return 0;
}
