// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns how resident pages are found. From 6.7 on the kernel lists runs of them (PAGEMAP_SCAN): it passes over what was never
 * touched, be it terabytes, and says which are its own zeros. Before that each page's word of pagemap is read, and
 * there is a bound on how many are of pages that are not there: those that are there cost more by far, whoever asks for them.
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

#define WORDS_AT_ONCE 512
/* Words of pages that are not there, 10 ns each: */
#define ABSENT_MAX (1ull << 27)		/* in all: 512 GiB of pages of 4 KiB; */
#define ABSENT_OF_RANGE (1ull << 26)	/* of one range, so that others are looked at, too; */
#define ABSENT_ALWAYS (1ull << 18)	/* of any range: so much is only a few milliseconds */
#define FOUND_AT_ONCE (1u << 14)	/* pages */
#define READ_AT_ONCE 512		/* of those that are going to be read, before they go away */

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

/* Is it there, and with guards? */
void page_runs__learn(struct target *t)
{
	static const uint64_t masks[] = { SCAN_PRESENT | SCAN_SWAPPED | SCAN_ZERO | SCAN_GUARD, SCAN_PRESENT | SCAN_SWAPPED | SCAN_ZERO };
	const uint64_t page = t->page_bytes;

	page_runs__begin(t);
	t->scan_mask = 0;
	/* for the tests: as kernels before 6.7 */
	if (!strcmp(getenv("MALLOCTRACE_PAGES") ?: "", "words"))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(masks) && !t->scan_mask; i++) {
		struct scan_region region;
		struct scan_arg a = { .size = sizeof(a), .start = page, .end = 2 * page, .vec = (uintptr_t)&region, .vec_len = 1,
				      .category_anyof_mask = SCAN_PRESENT, .return_mask = masks[i] };

		if (ioctl(t->pagemap, SCAN, &a) >= 0)
			t->scan_mask = masks[i];
	}
}

bool page_runs__passes_over(const struct target *t)
{
	return t->scan_mask;
}

void page_runs__begin(struct target *t)
{
	t->absent_left = ABSENT_MAX;
	t->passed_over_bytes = 0;
}

static void learn_run(struct page_runs *r, uint64_t start, uint64_t end, enum run is)
{
	r->known[r->n_known++] = (struct page_run){ start, end, is };
}

static void learn_by_scan(struct page_runs *r, uint64_t start, uint64_t end, uint64_t n_pages)
{
	struct scan_region regions[PAGE_RUNS_KNOWN] = {};	/* valgrind does not know that the call writes to it */
	struct scan_arg a = { .size = sizeof(a), .start = start, .end = end, .vec = (uintptr_t)regions, .vec_len = PAGE_RUNS_KNOWN,
			      .max_pages = n_pages, .category_anyof_mask = SCAN_PRESENT | SCAN_SWAPPED, .return_mask = r->t->scan_mask };
	int n = ioctl(r->t->pagemap, SCAN, &a);

	if (n < 0)
		r->t->failed = -errno;
	/* all of the process is gone */
	r->known_until = n < 0 || a.walk_end <= start ? end : a.walk_end;
	for (int i = 0; i < n; i++)
		if (!(regions[i].categories & (SCAN_ZERO | SCAN_GUARD)))
			learn_run(r, regions[i].start, regions[i].end, regions[i].categories & SCAN_PRESENT ? RUN_RESIDENT : RUN_SWAPPED);
}

/* False: nothing of it is in memory. */
static bool run_of(const struct zero_pages *zeros, uint64_t word, enum run *ret)
{
	if (word & WORD_PRESENT) {
		*ret = word & (WORD_FILE | WORD_EXCLUSIVE | WORD_PFN) ? RUN_RESIDENT : RUN_UNSURE;
		return zero_pages__is_memory(zeros, word);
	}
	*ret = RUN_SWAPPED;
	return word & WORD_SWAPPED && !(word & WORD_GUARD);
}

static void learn_by_words(struct page_runs *r, uint64_t start, uint64_t end)
{
	const struct zero_pages *zeros = zero_pages__get();
	uint64_t page = r->t->page_bytes, words[WORDS_AT_ONCE];
	size_t n = MIN((end - start) / page, (uint64_t)WORDS_AT_ONCE), i, j;
	ssize_t got = pread(r->t->pagemap, words, n * sizeof(*words), (off_t)(start / page * sizeof(*words)));
	uint64_t n_absent = 0;

	r->known_until = end;
	if (got < 0)
		r->t->failed = -errno;
	if (got < (ssize_t)sizeof(*words))
		return;
	n = (size_t)got / sizeof(*words);
	for (i = 0; i < n && r->n_known < PAGE_RUNS_KNOWN; i = j) {
		enum run is, next;
		bool there = run_of(zeros, words[i], &is);

		for (j = i + 1; j < n && run_of(zeros, words[j], &next) == there && (!there || next == is); j++)
			;
		if (there)
			learn_run(r, start + i * page, start + j * page, is);
		else
			n_absent += j - i;
	}
	r->known_until = start + i * page;
	r->n_absent += n_absent;
	r->t->absent_left -= MIN(n_absent, r->t->absent_left);
}

static bool is_too_much(const struct page_runs *r)
{
	return r->n_absent > (r->t->absent_left ? ABSENT_OF_RANGE : ABSENT_ALWAYS);
}

/* What is known next of it: at most so many pages are there. */
static int learn(struct page_runs *r, uint64_t n_pages)
{
	uint64_t page = r->t->page_bytes, start = r->at / page * page, end = (r->end + page - 1) / page * page;

	r->n_known = r->next = 0;
	if (target__is_over(r->t))
		return -EINTR;
	if (r->t->scan_mask) {
		learn_by_scan(r, start, end, n_pages);
		return 0;
	}
	if (is_too_much(r)) {
		r->t->passed_over_bytes += r->end - r->at;
		r->at = r->end;
		return -E2BIG;
	}
	learn_by_words(r, start, end);
	return 0;
}

/* The run at r->at, or the first one behind it. */
static int look(struct page_runs *r, uint64_t n_pages, struct page_run *ret)
{
	uint64_t page = r->t->page_bytes;
	int err;

	for (;;) {
		for (; r->next < r->n_known; r->next++) {
			*ret = r->known[r->next];
			ret->start = MAX(ret->start, r->at / page * page);
			if (ret->start < MIN(ret->end, r->end))
				return 1;
		}
		r->at = MAX(r->at, r->known_until);
		if (r->at >= r->end)
			return 0;
		err = learn(r, n_pages);
		if (err)
			return err;
	}
}

int page_runs__next(struct page_runs *r, struct page_run *ret)
{
	int found = look(r, FOUND_AT_ONCE, ret);

	if (found > 0)
		r->at = ret->end;
	return found;
}

bool page_runs__next_page(struct page_runs *r, uint64_t *ret)
{
	struct page_run run;

	while (look(r, READ_AT_ONCE, &run) > 0) {
		if (run.is == RUN_SWAPPED) {
			r->swapped_bytes += run.end - run.start;
			r->at = run.end;
			continue;
		}
		*ret = run.start;
		r->at = run.start + r->t->page_bytes;
		return true;
	}
	return false;
}

uint64_t page_runs__resident(struct target *t, uint64_t start, uint64_t end)
{
	uint64_t page = t->page_bytes, sum = 0;
	struct page_runs runs = { .t = t, .at = (start + page - 1) & ~(page - 1), .end = end & ~(page - 1) };

	for (struct page_run run; page_runs__next(&runs, &run) > 0;)
		sum += run.is == RUN_SWAPPED ? 0 : run.end - run.start;
	return sum;
}
