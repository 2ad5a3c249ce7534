// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* A target's memory: only pages that are there are read, and none is brought in by that. */
#include <criterion/criterion.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "process/memory.h"

static bool is_there(struct memory *f, const void *page)
{
	uint64_t entry = 0;

	cr_assert_eq(pread(f->pagemap, &entry, sizeof(entry), (off_t)((uintptr_t)page / (size_t)sysconf(_SC_PAGESIZE) * sizeof(entry))), sizeof(entry));
	return entry >> 63;
}

Test(memory_pages, stops_at_a_page_that_is_not_there)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *p = mmap(NULL, 4 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), to[64];
	_cleanup_memory_ struct memory f = {};

	cr_assert_neq(p, MAP_FAILED);
	madvise(p, 4 * page, MADV_NOHUGEPAGE);
	memset(p, 'a', page);
	memset(p + page, 'b', page);
	memset(p + 3 * page, 'd', page);
	cr_assert_eq(memory__open(&f, getpid()), 0);
	cr_expect_eq(memory__read(&f, (uintptr_t)p + page - 4, to, 8), 8);
	cr_expect(!memcmp(to, "aaaabbbb", 8));
	cr_expect_eq(memory__read(&f, (uintptr_t)p + 2 * page - 4, to, 8), 4);
	cr_expect_eq(memory__read(&f, (uintptr_t)p + 2 * page, to, 8), 0);
	cr_expect_not(is_there(&f, p + 2 * page));
	cr_expect_eq(memory__read(&f, (uintptr_t)p + 3 * page, to, 8), 8);
	cr_expect_eq(memory__read(&f, UINT64_MAX - 4, to, 8), 0);
	cr_expect_eq(memory__read(&(struct memory){}, (uintptr_t)p, to, 8), 0);
	munmap(p, 4 * page);
}

/* Of scattered words, those of pages that are there; and of a stretch, with zeros in its place. */
Test(memory_pages, leaves_out_what_is_not_there)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *p = mmap(NULL, 4 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t at[] = { (uintptr_t)p + 3 * page, (uintptr_t)p, (uintptr_t)p + 2 * page - 4, (uintptr_t)p + page, UINT64_MAX - 8, 1 };
	const uint64_t d = 0x6464646464646464, a = 0x6161616161616161, b = 0x6262626262626262, want[] = { d, a, 0, b, 0, 0 };
	uint64_t words[6], pages[4 * 65536 / 8];

	cr_assert_neq(p, MAP_FAILED);
	cr_assert_leq(4 * page, sizeof(pages));
	madvise(p, 4 * page, MADV_NOHUGEPAGE);
	memset(p, 'a', page);
	memset(p + page, 'b', page);
	memset(p + 3 * page, 'd', page);
	for (int by_mem = 0; by_mem < 2; by_mem++) {
		_cleanup_memory_ struct memory m = {};

		cr_assert_eq(memory__open(&m, getpid()), 0);
		m.runner = by_mem ? 0 : getpid();
		memset(words, 0xff, sizeof(words));
		memset(pages, 0xff, sizeof(pages));
		cr_expect_eq(memory__read_each(&m, at, 6, words, sizeof(*words)), 3 * sizeof(*words));
		cr_expect_arr_eq(words, want, sizeof(words));
		cr_expect_eq(memory__read_present(&m, (uintptr_t)p + 8, pages, 4 * page - 8), 3 * page - 8);
		cr_expect_eq(pages[0], a);
		cr_expect_eq(pages[page / 8 - 1], b);
		cr_expect_eq(pages[2 * page / 8 - 1], 0);
		cr_expect_eq(pages[3 * page / 8 - 2], 0);
		cr_expect_eq(pages[3 * page / 8 - 1], d);
		cr_expect_not(is_there(&m, p + 2 * page));
	}
	munmap(p, 4 * page);
}
