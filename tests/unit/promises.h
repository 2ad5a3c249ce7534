/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* What must hold of any snapshot in which all was recorded, for tests. */
#ifndef MT_PROMISES_H
#define MT_PROMISES_H

#include <criterion/criterion.h>
#include <stdlib.h>

#include "model/snapshot.h"

static inline void add_six(struct counters *sum, const struct counters *c)
{
	sum->alloc_calls += c->alloc_calls;
	sum->alloc_bytes += c->alloc_bytes;
	sum->free_calls += c->free_calls;
	sum->free_bytes += c->free_bytes;
	sum->live_blocks += c->live_blocks;
	sum->live_bytes += c->live_bytes;
}

static inline void expect_same_six(const struct counters *a, const struct counters *b)
{
	cr_assert_eq(a->alloc_calls, b->alloc_calls);
	cr_assert_eq(a->alloc_bytes, b->alloc_bytes);
	cr_assert_eq(a->free_calls, b->free_calls);
	cr_assert_eq(a->free_bytes, b->free_bytes);
	cr_assert_eq(a->live_blocks, b->live_blocks);
	cr_assert_eq(a->live_bytes, b->live_bytes);
}

static inline void expect_balanced(const struct counters *c)
{
	cr_assert_eq(c->alloc_calls - c->free_calls, c->live_blocks);
	cr_assert_eq(c->alloc_bytes - c->free_bytes, c->live_bytes);
}

/* The promises of a snapshot: per site, per process, in total; and sites add up. */
static inline void expect_promises(const struct snapshot *s)
{
	struct counters *sums = calloc(s->n_processes + 1, sizeof(*sums)), total = {};

	for (size_t i = 0; i < s->n_sites; i++) {
		cr_assert_lt(s->sites[i].process, s->n_processes);
		expect_balanced(&s->sites[i].c);
		add_six(&sums[s->sites[i].process], &s->sites[i].c);
		for (uint32_t k = 0; k < s->sites[i].n_stack; k++)
			cr_assert_lt(s->sites[i].stack[k], s->n_places);
	}
	for (size_t i = 0; i < s->n_processes; i++) {
		expect_balanced(&s->processes[i].c);
		expect_same_six(&s->processes[i].c, &sums[i]);
		add_six(&total, &s->processes[i].c);
	}
	expect_balanced(&s->totals);
	expect_same_six(&s->totals, &total);
	free(sums);
}

#endif
