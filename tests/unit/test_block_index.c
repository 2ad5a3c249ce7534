// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* From words to blocks: beside a search of all of them, for every kind of layout. */
#include <criterion/criterion.h>
#include <string.h>

#include "heap/block_index.h"
#include "util/util.h"

#define BASE 0xaaaa12340000ull
#define FAR 0xffff80000000ull

static uint32_t search_all(const struct heap_block *b, size_t n, uint64_t v)
{
	for (size_t i = 0; i < n; i++)
		if (v >= b[i].addr && v < b[i].addr + MAX((uint64_t)b[i].usable, 1))
			return i;
	return NO_BLOCK;
}

static uint64_t seed = 1;

static uint64_t any(uint64_t below)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (seed >> 33) % below;
}

/* Every address around the ends of each block, and some within. */
static void check(const struct heap_block *b, size_t n)
{
	struct block_index x;

	cr_assert_eq(block_index__build(&x, b, n, NULL), 0);
	for (size_t i = 0; i < n; i++) {
		for (int d = -20; d <= 20; d++) {
			uint64_t at[] = { b[i].addr + d, b[i].addr + b[i].usable + d };

			for (size_t k = 0; k < 2; k++)
				cr_assert_eq(block_index__find(&x, at[k]), search_all(b, n, at[k]), "%llx", (unsigned long long)at[k]);
		}
		for (int k = 0; k < 10; k++) {
			uint64_t v = b[i].addr + any(b[i].usable + 1);

			cr_assert_eq(block_index__find(&x, v), search_all(b, n, v));
		}
	}
	block_index__done(&x);
}

static size_t make(struct heap_block *to, size_t n, uint64_t from, uint64_t align, uint64_t most)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t usable = any(most);

		to[i] = (struct heap_block){ .addr = from, .usable = usable };
		from = (from + MAX(usable, 1) + any(4) * align + align - 1) / align * align;
	}
	return n;
}

Test(block_index, none)
{
	struct found_pointer to[1];
	struct block_index x;
	uint64_t word = BASE;

	cr_assert_eq(block_index__build(&x, NULL, 0, NULL), 0);
	cr_assert_eq(block_index__find(&x, BASE), NO_BLOCK);
	cr_assert_eq(block_index__pointers(&x, &word, 1, to), 0);
	block_index__done(&x);
}

Test(block_index, small)
{
	struct heap_block b[600];

	for (int round = 0; round < 20; round++) {
		check(b, make(b, 600, BASE + 16 * any(70000), 16, 100));
		check(b, make(b, 600, BASE + 8 * any(70000), 8, 60));
	}
}

/* Blocks that are not aligned, several to a granule. */
Test(block_index, crowded)
{
	struct heap_block b[400];

	for (int round = 0; round < 10; round++)
		check(b, make(b, 400, BASE + any(70000), 1, 12));
}

/* Larger than sections, at their ends, and among small ones. */
Test(block_index, large)
{
	struct heap_block b[300];

	for (int round = 0; round < 20; round++)
		check(b, make(b, 300, BASE + 16 * any(70000), 16, round % 2 ? 3u << 20 : 1u << 19));
	check((struct heap_block[]){ { .addr = 1 << 20, .usable = 1 << 20 }, { .addr = 2 << 20, .usable = 4 << 20 }, { .addr = 6 << 20, .usable = 16 } },
	      3);
	check((struct heap_block[]){ { .addr = (1 << 20) + 16, .usable = 8ull << 20 }, { .addr = 9 << 20 | 32, .usable = 64 } }, 2);
}

Test(block_index, clusters)
{
	struct heap_block b[60];
	size_t n = 0;

	for (uint64_t i = 0; i < 6; i++)
		n += make(b + n, 10, BASE + (i << 38) + 16 * any(1000), 16, 5000);
	check(b, n);
}

/* A terabyte in one block takes a ten-thousandth of it. */
Test(block_index, memory)
{
	struct heap_block b[] = { { .addr = BASE + 16, .usable = (1ull << 40) - 64 }, { .addr = FAR, .usable = 32 } };
	struct block_index x;

	cr_assert_eq(block_index__build(&x, b, 2, NULL), 0);
	cr_assert_lt((sizeof(*x.sections) << x.hash_bits) + x.n_lines * sizeof(*x.lines), (1ull << 40) / 10000);
	cr_assert_eq(block_index__find(&x, BASE + (1ull << 39)), 0);
	cr_assert_eq(block_index__find(&x, FAR + 31), 1);
	cr_assert_eq(block_index__find(&x, FAR + 32), NO_BLOCK);
	block_index__done(&x);
}

Test(block_index, words)
{
	struct heap_block b[] = { { .addr = BASE, .usable = 24 }, { .addr = BASE + 32, .usable = 24 }, { .addr = FAR, .usable = 100 } };
#if defined(__aarch64__)
	uint64_t tagged = FAR | 0xa5ull << 56, not_tagged = FAR | 1ull << 55;
#else
	uint64_t tagged = FAR | 0x2aull << 57, not_tagged = FAR | 1ull << 63;
#endif
	/* the end of a block is none of it, and the header of the next is none either */
	uint64_t words[] = { 0, BASE + 23, BASE + 24, BASE + 32, FAR - 8, tagged, not_tagged, UINT64_MAX, FAR + 99, FAR + 100 };
	struct found_pointer to[ARRAY_SIZE(words)];
	struct block_index x;

	cr_assert_eq(block_index__build(&x, b, 3, NULL), 0);
	cr_assert_eq(block_index__pointers(&x, words, ARRAY_SIZE(words), to), 4);
	cr_assert_eq(to[0].word, 1);
	cr_assert_eq(to[0].block, 0);
	cr_assert_eq(to[1].word, 3);
	cr_assert_eq(to[1].block, 1);
	cr_assert_eq(to[2].word, 5);
	cr_assert_eq(to[2].block, 2);
	cr_assert_eq(to[3].word, 8);
	block_index__done(&x);
}

/* What a hostile heap may look like: no order is refused, blocks that overlap do no harm. */
Test(block_index, hostile)
{
	struct heap_block twice[] = { { .addr = BASE, .usable = 16 }, { .addr = BASE, .usable = 16 } };
	struct heap_block back[] = { { .addr = BASE + 32, .usable = 16 }, { .addr = BASE, .usable = 16 } };
	struct heap_block over[] = { { .addr = UINT64_MAX - 15, .usable = 64 } };
	struct heap_block into[] = { { .addr = BASE, .usable = 8 << 20 }, { .addr = BASE + 16, .usable = 32 }, { .addr = BASE + (3 << 20), .usable = 64 },
				     { .addr = BASE + (9 << 20), .usable = 16 } };
	struct block_index x;

	cr_assert_lt(block_index__build(&x, twice, 2, NULL), 0);
	cr_assert_lt(block_index__build(&x, back, 2, NULL), 0);
	cr_assert_lt(block_index__build(&x, over, 1, NULL), 0);
	cr_assert_eq(block_index__build(&x, into, 4, NULL), 0);
	for (uint64_t v = BASE - 64; v < BASE + (10 << 20); v += 8) {
		uint32_t block = block_index__find(&x, v);

		cr_assert(block == NO_BLOCK || block < 4);
	}
	cr_assert_eq(block_index__find(&x, BASE + (9 << 20)), 3);
	block_index__done(&x);
}
