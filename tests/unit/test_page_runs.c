// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Which pages of our own memory are there: as the kernel lists them, and by each page's word, as kernels before 6.7 have them. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>

#include "heap/target.h"

static struct target t;

/* The ways that there are here: how many times a test runs. */
static bool learn(int way)
{
	t = (struct target){ .memory.pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC), .page_bytes = (uint64_t)sysconf(_SC_PAGESIZE) };
	cr_assert_geq(t.memory.pagemap, 0);
	setenv("MALLOCTRACE_PAGES", way ? "words" : "", 1);
	page_runs__learn(&t);
	cr_assert(!way || !page_runs__passes_over(&t));
	/* before 6.7 */
	return way || page_runs__passes_over(&t);
}

static char *map(size_t bytes)
{
	char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	cr_assert(p != MAP_FAILED && !madvise(p, bytes, MADV_NOHUGEPAGE));
	return p;
}

static void touch(char *p, size_t first, size_t n)
{
	for (size_t i = first; i < first + n; i++)
		p[i * t.page_bytes] = 1;
}

static struct page_runs runs_of(char *p, uint64_t from, uint64_t until)
{
	return (struct page_runs){ .t = &t, .at = (uintptr_t)p + from, .end = (uintptr_t)p + until };
}

/* The next one, in pages from p on; what only root could tell from zeros is passed over. */
static void expect_run(struct page_runs *r, char *p, size_t first, size_t n)
{
	struct page_run run = {};
	int found;

	do
		found = page_runs__next(r, &run);
	while (found > 0 && run.is == RUN_UNSURE);
	cr_expect_eq(found, n > 0, "found %d", found);
	if (!n || found <= 0)
		return;
	cr_expect_eq((run.start - (uintptr_t)p) / t.page_bytes, first);
	cr_expect_eq((run.end - run.start) / t.page_bytes, n);
	cr_expect_eq(run.is, RUN_RESIDENT);
}

static void expect_page(struct page_runs *r, char *p, size_t n)
{
	uint64_t at = 0;

	cr_expect(page_runs__next_page(r, &at));
	cr_expect_eq((at - (uintptr_t)p) / t.page_bytes, n, "page %d, not %zu", (int)((at - (uintptr_t)p) / t.page_bytes), n);
}

Test(page_runs, what_was_touched)
{
	for (int way = 0; way < 2; way++) {
		struct page_runs r;
		char *p;

		if (!learn(way))
			continue;
		p = map(64 * t.page_bytes);
		touch(p, 0, 1);
		touch(p, 3, 3);
		touch(p, 63, 1);
		/* the kernel's zeros */
		cr_assert_eq(*(volatile char *)(p + 10 * t.page_bytes), 0);
		r = runs_of(p, 0, 64 * t.page_bytes);
		expect_run(&r, p, 0, 1);
		expect_run(&r, p, 3, 3);
		expect_run(&r, p, 63, 1);
		expect_run(&r, p, 0, 0);
		expect_run(&r, p, 0, 0);
		/* pages that a stretch has a part of are whole */
		r = runs_of(p, 5 * t.page_bytes - 1, 5 * t.page_bytes + 1);
		expect_run(&r, p, 4, 2);
		expect_run(&r, p, 0, 0);
		/* but where it is asked how much is there */
		cr_expect_eq(page_runs__resident(&t, (uintptr_t)p + 3 * t.page_bytes, (uintptr_t)p + 9 * t.page_bytes), 3 * t.page_bytes);
		cr_expect_eq(page_runs__resident(&t, (uintptr_t)p + 3 * t.page_bytes + 1, (uintptr_t)p + 6 * t.page_bytes - 1), t.page_bytes);
		cr_expect_eq(page_runs__resident(&t, (uintptr_t)p + 4 * t.page_bytes + 1, (uintptr_t)p + 4 * t.page_bytes + 2), 0);
	}
}

Test(page_runs, page_by_page)
{
	for (int way = 0; way < 2; way++) {
		struct page_runs r;
		uint64_t at;
		char *p;

		if (!learn(way))
			continue;
		p = map(64 * t.page_bytes);
		touch(p, 2, 8);
		touch(p, 20, 10);
		r = runs_of(p, 0, 64 * t.page_bytes);
		expect_page(&r, p, 2);
		expect_page(&r, p, 3);
		/* moved on within a run, into the middle of a page, and to another one */
		r.at = (uintptr_t)p + 7 * t.page_bytes + 100;
		expect_page(&r, p, 7);
		expect_page(&r, p, 8);
		r.at = (uintptr_t)p + 28 * t.page_bytes;
		expect_page(&r, p, 28);
		expect_page(&r, p, 29);
		cr_expect(!page_runs__next_page(&r, &at));
		cr_expect_eq(r.swapped_bytes, 0);
	}
}

/* More runs than are known at a time, and more pages in one. */
Test(page_runs, many)
{
	for (int way = 0; way < 2; way++) {
		size_t n = 5 * PAGE_RUNS_KNOWN, pages = 0;
		struct page_runs r;
		uint64_t at;
		char *p;

		if (!learn(way))
			continue;
		p = map((2 * n + 4096) * t.page_bytes);
		for (size_t i = 0; i < n; i++)
			touch(p, 2 * i, 1);
		touch(p, 2 * n, 4096);
		r = runs_of(p, 0, 2 * n * t.page_bytes);
		for (size_t i = 0; i < n; i++)
			expect_run(&r, p, 2 * i, 1);
		expect_run(&r, p, 0, 0);
		r = runs_of(p, 0, (2 * n + 4096) * t.page_bytes);
		for (; page_runs__next_page(&r, &at); pages++)
			if (pages >= n)
				cr_expect_eq(at, (uintptr_t)p + (2 * n + pages - n) * t.page_bytes);
		cr_expect_eq(pages, n + 4096);
		cr_expect_eq(page_runs__resident(&t, (uintptr_t)p, (uintptr_t)p + (2 * n + 4096) * t.page_bytes), (n + 4096) * t.page_bytes);
	}
}

/* Terabytes: the kernel passes over them; where it does not, so do we, say so, and still look at what is small. */
Test(page_runs, vast)
{
	const size_t bytes = 2ull << 40;

	for (int way = 0; way < 2; way++) {
		struct page_run run;
		struct page_runs r;
		char *p, *small;

		if (!learn(way))
			continue;
		p = map(bytes);
		small = map(64 * t.page_bytes);
		touch(p, 0, 1);
		touch(p, bytes / t.page_bytes - 1, 1);
		touch(small, 63, 1);
		r = runs_of(p, 0, bytes);
		expect_run(&r, p, 0, 1);
		if (page_runs__passes_over(&t)) {
			expect_run(&r, p, bytes / t.page_bytes - 1, 1);
			expect_run(&r, p, 0, 0);
			cr_expect_eq(t.passed_over_bytes, 0);
		} else {
			/* two of these, and nothing is left of the bound for all of them */
			for (int i = 0; i < 4; i++, r = runs_of(p, t.page_bytes, bytes))
				cr_expect_eq(page_runs__next(&r, &run), -E2BIG);
			cr_expect_gt(t.passed_over_bytes, 3 * bytes);
			cr_expect_lt(t.passed_over_bytes, 4 * bytes);
			cr_expect_eq(t.absent_left, 0);
		}
		r = runs_of(small, 0, 64 * t.page_bytes);
		expect_run(&r, small, 63, 1);
		expect_run(&r, small, 0, 0);
		page_runs__begin(&t);
		cr_expect_eq(t.passed_over_bytes, 0);
		munmap(p, bytes);
	}
}

static bool is_over(void *arg)
{
	return *(bool *)arg;
}

Test(page_runs, is_over)
{
	bool over = false;
	const struct target_calls calls = { .is_over = is_over, .arg = &over };

	for (int way = 0; way < 2; way++) {
		struct page_run run;
		struct page_runs r;
		uint64_t at;
		char *p;

		if (!learn(way))
			continue;
		t.calls = &calls;
		p = map(64 * t.page_bytes);
		touch(p, 0, 64);
		over = true;
		r = runs_of(p, 0, 64 * t.page_bytes);
		cr_expect_eq(page_runs__next(&r, &run), -EINTR);
		cr_expect(!page_runs__next_page(&r, &at));
		over = false;
		expect_run(&r, p, 0, 64);
	}
}
