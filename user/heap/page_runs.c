// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns how resident pages are found. From 6.7 on the kernel lists runs of them (PAGEMAP_SCAN): it passes over what was never
 * touched, be it terabytes, and says which are its own zeros. Before that each page's word of pagemap is read, and
 * there is a bound on how many are.
 *
 * What always holds: the kernel holds the lock of the address space for a fraction of a millisecond at a time.
 */
#include "heap/page_runs.h"

#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>

#include "process/zero_pages.h"

/* of pagemap's words */
#define WORD_PRESENT (1ull << 63)
#define WORD_SWAPPED (1ull << 62)
#define WORD_FILE (1ull << 61)		/* or shared memory: counted as such */
#define WORD_GUARD (1ull << 58)		/* is there in order not to be there: no swapped one */
#define WORD_EXCLUSIVE (1ull << 56)	/* nobody else maps it; a page of zeros never has it */
#define WORD_PFN ((1ull << 55) - 1)

#define WORDS_AT_ONCE 4096
#define WORDS_MAX (1ull << 28)		/* in all: 1 TiB of pages of 4 KiB, a second; */
#define RANGE_MAX (1ull << 26)		/* of one range */
#define FOUND_AT_ONCE (1u << 15)	/* pages */
#define REGIONS 512

/* linux/fs.h, which may be older than that */
struct scan_region {
	uint64_t start, end, categories;
};

struct scan_arg {
	uint64_t size, flags, start, end, walk_end, vec, vec_len, max_pages;
	uint64_t category_inverted, category_mask, category_anyof_mask, return_mask;
};

#define SCAN _IOWR('f', 16, struct scan_arg)
#define SCAN_PRESENT (1 << 3)
#define SCAN_SWAPPED (1 << 4)
#define SCAN_ZERO (1 << 5)
#define SCAN_GUARD (1 << 8)		/* from 6.15 on */

struct page_runs {
	struct target *t;
	const struct zero_pages *zeros;
	bool can_scan;
	uint64_t scan_mask;
	uint64_t words_left;
	double part;
	struct scan_region regions[REGIONS];
	uint64_t words[WORDS_AT_ONCE];
};

static int scan(struct page_runs *r, struct scan_arg *a)
{
	return ioctl(r->t->pagemap, SCAN, a);
}

/* Is it there, and with guards? */
static void try_scan(struct page_runs *r)
{
	static const uint64_t masks[] = { SCAN_PRESENT | SCAN_SWAPPED | SCAN_ZERO | SCAN_GUARD, SCAN_PRESENT | SCAN_SWAPPED | SCAN_ZERO };
	const uint64_t page = r->t->page_bytes;

	for (size_t i = 0; i < ARRAY_SIZE(masks) && !r->can_scan; i++) {
		struct scan_arg a = { .size = sizeof(a), .start = page, .end = 2 * page, .vec = (uintptr_t)r->regions, .vec_len = 1,
				      .category_anyof_mask = SCAN_PRESENT, .return_mask = masks[i] };

		r->can_scan = scan(r, &a) >= 0;
		r->scan_mask = masks[i];
	}
}

struct page_runs *page_runs__new(struct target *t)
{
	struct page_runs *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->t = t;
	r->zeros = zero_pages__get();
	r->words_left = WORDS_MAX;
	/* for the tests: as kernels before 6.7 */
	if (strcmp(getenv("MALLOCTRACE_PAGES") ?: "", "words"))
		try_scan(r);
	return r;
}

void page_runs__free(struct page_runs *r)
{
	free(r);
}

bool page_runs__passes_over(const struct page_runs *r)
{
	return r->can_scan;
}

static int each_region(struct page_runs *r, uint64_t start, uint64_t end, run_fn fn, void *arg)
{
	int n;

	while (start < end) {
		struct scan_arg a = { .size = sizeof(a), .start = start, .end = end, .vec = (uintptr_t)r->regions, .vec_len = REGIONS,
				      .max_pages = FOUND_AT_ONCE, .category_anyof_mask = SCAN_PRESENT | SCAN_SWAPPED,
				      .return_mask = r->scan_mask };

		n = scan(r, &a);
		/* unmapped meanwhile, or all of the process is gone */
		if (n < 0 || a.walk_end <= start)
			return 0;
		for (int i = 0; i < n; i++) {
			const struct scan_region *g = &r->regions[i];

			if (!(g->categories & (SCAN_ZERO | SCAN_GUARD)))
				fn(g->start, g->end, g->categories & SCAN_PRESENT ? RUN_RESIDENT : RUN_SWAPPED, arg);
		}
		start = a.walk_end;
		n = target__go_on(r->t, "resident memory", r->part);
		if (n)
			return n;
	}
	return 0;
}

/* False: nothing of it is in memory. */
static bool run_of(const struct page_runs *r, uint64_t word, enum run *ret)
{
	if (word & WORD_PRESENT) {
		*ret = word & (WORD_FILE | WORD_EXCLUSIVE | WORD_PFN) ? RUN_RESIDENT : RUN_UNSURE;
		return zero_pages__is_memory(r->zeros, word);
	}
	*ret = RUN_SWAPPED;
	return word & WORD_SWAPPED && !(word & WORD_GUARD);
}

static int each_word(struct page_runs *r, uint64_t start, uint64_t end, run_fn fn, void *arg)
{
	uint64_t page = r->t->page_bytes, all = (end - start) / page;

	/* one that is too large is left out as a whole, so that others are looked at */
	if (all > RANGE_MAX || all > r->words_left)
		return -E2BIG;
	r->words_left -= all;
	for (size_t n; start < end; start += n * page) {
		ssize_t got = 0;
		size_t i, j;
		int over = target__go_on(r->t, "resident memory", r->part);

		if (over)
			return over;
		n = MIN((end - start) / page, (uint64_t)WORDS_AT_ONCE);
		got = pread(r->t->pagemap, r->words, n * sizeof(*r->words), (off_t)(start / page * sizeof(*r->words)));
		if (got < (ssize_t)sizeof(*r->words))
			return 0;
		n = (size_t)got / sizeof(*r->words);
		for (i = 0; i < n; i = j) {
			enum run is, next;
			bool there = run_of(r, r->words[i], &is);

			for (j = i + 1; j < n && run_of(r, r->words[j], &next) == there && (!there || next == is); j++)
				;
			if (there)
				fn(start + i * page, start + j * page, is, arg);
		}
	}
	return 0;
}

int page_runs__each(struct page_runs *r, uint64_t start, uint64_t end, double part, run_fn fn, void *arg)
{
	r->part = part;
	return r->can_scan ? each_region(r, start, end, fn, arg) : each_word(r, start, end, fn, arg);
}
