/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Which pages of a process are memory, as the kernel counts it: the one way in which they are looked for. The kernel's
 * pages of zeros are none, nor are guards.
 */
#ifndef MT_PAGE_RUNS_H
#define MT_PAGE_RUNS_H

#include "heap/target.h"

/* RUN_UNSURE: a page of zeros that is nobody's, or one that is shared with a child; told by kernels from 6.7 on, or to root */
enum run { RUN_RESIDENT, RUN_SWAPPED, RUN_UNSURE };

struct page_run {		/* of whole pages */
	uint64_t start, end;
	enum run is;
};

#define PAGE_RUNS_KNOWN 64

/* The runs of a stretch of memory, by address: { .t, .at, .end }. */
struct page_runs {
	struct target *t;
	uint64_t at, end;	/* what was not told yet; who asks may move at on */
	uint64_t swapped_bytes;	/* that page_runs__next_page() has passed over */
	/* page_runs.c's own: runs that are known, up to an address, and which is the next; pages that were met and are not there */
	struct page_run known[PAGE_RUNS_KNOWN];
	size_t n_known, next;
	uint64_t known_until, n_absent;
};

/* How they are to be found; t->pagemap is open. */
void page_runs__learn(struct target *t);
/* Does what was never touched cost nothing? */
bool page_runs__passes_over(const struct target *t);
/* A pass over its memory begins. Where what was never touched costs something, there is a bound on it, for each pass. */
void page_runs__begin(struct target *t);
/*
 * The next run of pages that are there or swapped. What is a device's and no memory is not told. 1: *ret is one; 0: that were
 * all; -E2BIG: what is left is too much to be looked at, and is in t->passed_over_bytes; -EINTR: t->calls says that it is over.
 */
int page_runs__next(struct page_runs *r, struct page_run *ret);
/*
 * The next page that is there, for who reads it: what is told was so a moment ago. False: there are no more, or as above; who looks for
 * much asks again whether it is over.
 */
bool page_runs__next_page(struct page_runs *r, uint64_t *ret);
/* How much of [start, end) is there, of its whole pages. */
uint64_t page_runs__resident(struct target *t, uint64_t start, uint64_t end);

#endif
