/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* bpftrace: the same question asked in its language. */
#ifndef MT_BENCH_BPFTRACE_H
#define MT_BENCH_BPFTRACE_H

#include <stdbool.h>

#include "bench/child.h"
#include "util/err.h"

struct bpftrace_opts {
	const char *library;	/* that is probed, for every process that maps it */
	uint64_t max_live;	/* room for so many blocks */
	bool by_stack;		/* bytes and frees by stack too: what a report of live memory takes */
	bool whole;		/* calloc and realloc too */
};

int bpftrace__start(const struct bpftrace_opts *o, struct child *ret, struct err *e);
/* Ends it and gives what it counted. */
int bpftrace__finish(struct child *c, uint64_t *ret_allocs, uint64_t *ret_frees, struct err *e);

#endif
