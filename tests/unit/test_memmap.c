// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Where memory is: text of the kernel's, and text that nobody would write. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "process/memory.h"
#include "tracee/resident.h"
#include "util/util.h"

#define KIB 1024ull
#define MIB (1024 * KIB)
#define ARENA 0x7f5c00000000ull	/* a multiple of 64 MiB */

static struct memmap_heap_info info;
static uint64_t info_at;

static bool peek(uint64_t addr, void *to, size_t len, void *arg)
{
	if (addr != info_at)
		return false;
	memcpy(to, &info, MIN(len, sizeof(info)));
	return true;
}

/* All of it but a page. */
static void resident(uint64_t start, uint64_t end, struct memmap_resident *to, void *arg)
{
	to->bytes += end - start - 4 * KIB;
}

static struct memmap parse(const char *text)
{
	struct memmap_parser p = { .peek = peek, .resident = resident };
	struct maps m;

	maps__parse(text, strlen(text), &m);
	for (size_t i = 0; i < m.n; i++)
		memmap_parser__take(&p, &m.v[i]);
	maps__done(&m);
	return p.sums;
}

static const char usual[] =
	"aaaac0000000-aaaac0010000 r-xp 00000000 103:01 1234                      /usr/bin/x y [heap]\n"
	"aaaad5a40000-aaaad5b40000 rw-p 00000000 00:00 0                          [heap]\n"
	"7f5c00000000-7f5c00021000 rw-p 00000000 00:00 0 \n"
	"7f5c00021000-7f5c04000000 ---p 00000000 00:00 0 \n"
	"7f5c10000000-7f5c10800000 rw-p 00000000 00:00 0                          [anon:stack of a worker]\n"
	"7f5c20000000-7f5c20100000 rw-s 00000000 00:01 99                         /dev/zero (deleted)\n"
	"7ffc00000000-7ffc00021000 rw-p 00000000 00:00 0                          [stack]\n"
	"7ffc00030000-7ffc00032000 r-xp 00000000 00:00 0                          [vdso]\n";

Test(memmap, kinds_of_mappings)
{
	struct memmap s;

	info_at = ARENA;
	info = (struct memmap_heap_info){ ARENA + 0x30, 0, 0x21000, 0x21000 };
	s = parse(usual);
	cr_expect_eq(s.n_mappings, 8);
	cr_expect_eq(s.heap_mapped, 1 * MIB + 132 * KIB);
	cr_expect_eq(s.heap.bytes, s.heap_mapped - 8 * KIB);
	cr_expect_eq(s.n_arenas, 1);
	cr_expect_eq(s.other_mapped, 8 * MIB);
	cr_expect_eq(s.other.bytes, 8 * MIB - 4 * KIB);
	cr_expect_eq(s.stack.bytes, 128 * KIB);
}

/* Only what says of itself what the kernel says of it is a piece of an arena. */
Test(memmap, what_is_no_arena)
{
	static const struct memmap_heap_info bad[] = {
		{ 0, 0, 0x21000, 0x21000 },		/* no arena */
		{ ARENA + 0x30, 0, 0x21000, 0x20000 },	/* another size than the kernel's */
		{ ARENA + 0x30, 0, 0x21000, 0 },
		{ ARENA + 0x30, 0, UINT64_MAX, 0x21000 },
	};

	info_at = ARENA;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		info = bad[i];
		cr_expect_eq(parse(usual).n_arenas, 0, "%zu", i);
		cr_expect_eq(parse(usual).heap_mapped, MIB, "%zu", i);
	}
	info = (struct memmap_heap_info){ ARENA + 0x30, 0, 0x21000, 0x21000 };
	info_at = 0;
	cr_expect_eq(parse(usual).n_arenas, 0, "it cannot be read");
	/* the second piece of an arena is heap, and no arena more */
	info_at = ARENA;
	info = (struct memmap_heap_info){ 0x7f5b00000030, 0x7f5b00000000, 0x21000, 0x21000 };
	cr_expect_eq(parse(usual).n_arenas, 0);
	cr_expect_eq(parse(usual).heap_mapped, MIB + 132 * KIB);
	/* pieces side by side that are full are one mapping */
	info = (struct memmap_heap_info){ ARENA + 0x30, 0, 64 * MIB, 64 * MIB };
	cr_expect_eq(parse("7f5c00000000-7f5c08000000 rw-p 00000000 00:00 0 \n").heap_mapped, 128 * MIB);
}

/* Names are the target's choice: none of them is a line of the kernel's. */
Test(memmap, hostile_text)
{
	static const char text[] =
		"1000-2000 rw-p 00000000 103:01 5      /tmp/a\\0123000-4000 rw-p 00000000 00:00 0\n"
		"5000-4000 rw-p 00000000 00:00 0 \n"		/* ends before it begins */
		"fffffffffffffffff-1 rw-p 0 0:0 0\n"
		"zzzz\n\n: :\n"
		"6000-7000 rw-p\n"
		"8000-a000 rw-p 00000000 00:00 0                [heapish]\n"
		"c000-e000 rw-p 00000000 00:00 0 \n";
	char *huge;
	struct memmap s = parse(text);

	info_at = 0;
	cr_expect_eq(s.n_mappings, 3);
	cr_expect_eq(s.other_mapped, 8 * KIB);
	cr_expect_eq(s.heap_mapped, 0);
	cr_expect_eq(parse("").n_mappings, 0);
	/* a line longer than any */
	cr_assert_gt(asprintf(&huge, "8000-9000 rw-p 00000000 103:01 5 /%0100000d[heap]\nb000-c000 rw-p 00000000 00:00 0 [heap]", 0), 0);
	cr_expect_eq(parse(huge).heap_mapped, 4 * KIB);
	cr_expect_eq(parse(huge).n_mappings, 2);
	free(huge);
}

static int read_at_once(pid_t pid, struct memmap *ret)
{
	struct memmap_look *l = NULL;
	int64_t all = INT64_MAX;
	int err = memmap_look__new(pid, &l);

	if (!err) {
		memmap_look__go_on(l, &all);
		err = memmap_look__end(l, ret);
	}
	memmap_look__free(l);
	return err;
}

/* Ourselves: what is mapped and touched here is there. */
Test(memmap, a_process)
{
	size_t n = 8 * MIB;
	struct memmap before, after;
	char *p;

	cr_assert_eq(read_at_once(getpid(), &before), 0);
	p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	cr_assert_neq(p, MAP_FAILED);
	memset(p, 1, n / 2);
	cr_assert_eq(read_at_once(getpid(), &after), 0);
	cr_expect_eq(after.other_mapped - before.other_mapped, n);
	cr_expect_geq(after.other.bytes - before.other.bytes, n / 2);
	cr_expect_lt(after.other.bytes - before.other.bytes, n / 2 + 3 * MIB, "a huge page more, at most");
	cr_expect_gt(after.file_resident, 0);
	munmap(p, n);
	cr_expect_lt(read_at_once(0x3fffffff, &after), 0, "no such process");
}

/* What was only read is the kernel's zeros, small or huge: mapped, and nobody's memory. */
Test(memmap, zeros_are_not_resident)
{
	static const int advices[] = { MADV_NOHUGEPAGE, MADV_HUGEPAGE };
	size_t n = 64 * MIB, page = (size_t)sysconf(_SC_PAGESIZE);

	if (!zero_pages__get()->page)
		cr_skip_test("numbers of pages are not told");
	for (size_t i = 0; i < ARRAY_SIZE(advices); i++) {
		volatile char *p;
		struct memmap before, after;

		if (advices[i] == MADV_HUGEPAGE && !zero_pages__get()->huge)
			continue;
		cr_assert_eq(read_at_once(getpid(), &before), 0);
		p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		cr_assert_neq(p, MAP_FAILED);
		madvise((void *)p, n, advices[i]);
		for (size_t at = 0; at < n; at += page)
			cr_assert_eq(p[at], 0);
		cr_assert_eq(read_at_once(getpid(), &after), 0);
		cr_expect_geq(after.other_mapped - before.other_mapped, n, "%zu", i);
		cr_expect_lt(after.other.bytes, before.other.bytes + MIB, "%zu", i);
		munmap((void *)p, n);
	}
}

/* Not told: it counts. Told, and no zeros: it does. */
Test(memmap, numbers_of_zeros)
{
	static const struct zero_pages none = {}, both = { 7, 512, 512 };
	static const struct {
		uint64_t pfn;
		bool memory;
	} t[] = { { 0, true }, { 6, true }, { 7, false }, { 8, true }, { 511, true }, { 512, false }, { 1023, false }, { 1024, true } };

	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		cr_expect_eq(zero_pages__is_memory(&both, 1ull << 63 | 1ull << 55 | t[i].pfn), t[i].memory, "%zu", i);
		cr_expect_eq(zero_pages__is_memory(&none, 1ull << 63 | t[i].pfn), 1, "%zu", i);
		cr_expect_eq(zero_pages__is_memory(&both, 1ull << 62 | t[i].pfn), 0, "%zu", i);
	}
}

/* Slice by slice: none is larger than it may be, and all of them come to what one look at all comes to. */
Test(memmap, slices)
{
	const int64_t at_most = MEMMAP_SLICE_PAGES, piece = 4096;
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), n_pages = 10 * MEMMAP_SLICE_PAGES, seen = 0, n_slices = 0;
	struct memmap before, whole, sliced;
	struct memmap_look *l;
	char *p;
	bool left;

	cr_assert_eq(read_at_once(getpid(), &before), 0);
	p = mmap(NULL, n_pages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	cr_assert_neq(p, MAP_FAILED);
	madvise(p, n_pages * page, MADV_NOHUGEPAGE);
	for (uint64_t i = 0; i < n_pages; i += 1000)
		p[i * page] = 1;
	cr_assert_eq(memmap_look__new(getpid(), &l), 0);
	do {
		int64_t pages = at_most;

		left = memmap_look__go_on(l, &pages);
		/* beyond it by what is asked for at once, at most */
		cr_expect_gt(pages, -piece);
		cr_expect(!left || pages <= 0, "a slice that is not used up is the last one");
		seen += (uint64_t)(at_most - pages);
		n_slices++;
	} while (left);
	cr_assert_eq(memmap_look__end(l, &sliced), 0);
	memmap_look__free(l);
	cr_expect_geq(n_slices, 10);
	cr_expect_geq(seen, n_pages);
	cr_assert_eq(read_at_once(getpid(), &whole), 0);
	cr_expect_eq(sliced.other_mapped, whole.other_mapped);
	cr_expect_geq(sliced.other.bytes - before.other.bytes, (n_pages + 999) / 1000 * page);
	cr_expect_lt(sliced.other.bytes - before.other.bytes, (n_pages + 999) / 1000 * page + 3 * MIB);
	cr_expect_not(sliced.other.estimated);
	munmap(p, n_pages * page);
}

/* Beyond 2^20 pages some stand for all, which is told: of that kind of mappings, and of no other. */
Test(memmap, huge_mappings_are_estimates)
{
	static const struct {
		uint64_t n_pages;
		bool estimated;
	} t[] = { { 1 << 20, false }, { (1 << 20) + 1, true }, { (5 << 20) / 2, true } };
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		struct memmap before, s;
		char *p;

		cr_assert_eq(read_at_once(getpid(), &before), 0);
		p = mmap(NULL, t[i].n_pages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		cr_assert_neq(p, MAP_FAILED);
		madvise(p, t[i].n_pages * page, MADV_NOHUGEPAGE);
		/* neighbours without anything are one mapping with it */
		for (uint64_t k = 0; k < t[i].n_pages; k += 2048)
			p[k * page] = 1;
		cr_assert_eq(read_at_once(getpid(), &s), 0);
		cr_expect_eq(s.other.estimated, t[i].estimated, "%zu", i);
		cr_expect_not(s.heap.estimated);
		cr_expect_not(s.stack.estimated);
		cr_expect_not(before.other.estimated);
		/* evenly spread: the estimate is right, but for the end */
		cr_expect_geq(s.other.bytes - before.other.bytes + MIB, t[i].n_pages / 2048 * page, "%zu", i);
		cr_expect_leq(s.other.bytes - before.other.bytes, t[i].n_pages / 2048 * page + 4 * MIB, "%zu", i);
		munmap(p, t[i].n_pages * page);
	}
}

/* ---- headers of blocks */

Test(memory, sizes_from_headers)
{
	static const struct cut_block v[] = {
		{ .addr = 0x1000, .size = 24, .stands_for = 1 },
		{ .addr = 0x2000, .size = 100, .stands_for = 1 },
		{ .addr = 0x3010, .size = 1 << 20, .stands_for = 1 },	/* with a mapping of its own */
	};
	static const uint64_t headers[] = { 32 | 1, 112 | 1 | 4, ((1 << 20) + 4096) | 2 };
	struct snap_memory m = { .sized_all = true };

	resident__size_blocks(v, headers, 3, &m);
	cr_expect_eq(m.sized_blocks, 3);
	cr_expect_eq(m.sized_requested, 124 + (1 << 20));
	cr_expect_eq(m.sized_usable, 144 + (1 << 20) + 4096);
	cr_expect_eq(m.sized_apart, (1 << 20) + 4096);
	cr_expect(m.sized_all);
}

/* Freed and given to others meanwhile, or never glibc's. */
Test(memory, headers_that_make_no_sense)
{
	static const struct cut_block v[] = {
		{ .size = 100, .stands_for = 1 }, { .size = 100, .stands_for = 1 }, { .size = 100, .stands_for = 1 },
		{ .size = UINT64_MAX, .stands_for = 1 }, { .size = 16, .stands_for = 1 },
	};
	static const uint64_t headers[] = { 0, 96 | 1, 1 << 20 | 1, 15, 32 | 1 };
	struct snap_memory m = { .sized_all = true };

	resident__size_blocks(v, headers, 5, &m);
	cr_expect_eq(m.sized_blocks, 1);
	cr_expect_eq(m.sized_requested, 16);
	cr_expect_eq(m.sized_usable, 32);
	cr_expect_not(m.sized_all);
}

Test(memory, a_sample_stands_for_all)
{
	static const struct cut_block v[] = { { .size = 24, .stands_for = 8 }, { .size = 24, .stands_for = 8 } };
	static const uint64_t headers[] = { 32, 48 };
	struct snap_memory m = { .sized_all = true };

	resident__size_blocks(v, headers, 2, &m);
	cr_expect_eq(m.sized_blocks, 2);
	cr_expect_eq(m.sized_requested, 16 * 24);
	cr_expect_eq(m.sized_usable, 8 * 80);
	cr_expect_not(m.sized_all);
}
