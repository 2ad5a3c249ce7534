/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Which pages of a process count as resident, as the kernel counts them. */
#ifndef MT_PAGE_RUNS_H
#define MT_PAGE_RUNS_H

#include "heap/target.h"

/* RUN_UNSURE: a page of zeros that is nobody's, or one that is shared with a child; told by kernels from 6.7 on, or to root */
enum run { RUN_RESIDENT, RUN_SWAPPED, RUN_UNSURE };

typedef void (*run_fn)(uint64_t start, uint64_t end, enum run is, void *arg);

struct page_runs;

/* NULL without memory. */
struct page_runs *page_runs__new(struct target *t);
void page_runs__free(struct page_runs *r);
/* Does what was never touched cost nothing? */
bool page_runs__passes_over(const struct page_runs *r);
/*
 * fn for each run of pages of [start, end) that are there or swapped, by address. What is a device's and no memory is
 * not told. part: how much is done already, from 0 to 1. 0: that was all; -E2BIG: there is too much of it to be looked at; -EINTR.
 */
int page_runs__each(struct page_runs *r, uint64_t start, uint64_t end, double part, run_fn fn, void *arg);

#endif
