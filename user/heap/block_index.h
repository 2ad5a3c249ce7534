/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * From any word to the block that it points into, at the cost of one cache miss.
 *
 * The blocks' addresses are cut into sections of 1 MiB, found by a hash table that stays in the cache. A section has
 * lines of 64 granules each: where blocks start, what they cover, and how many start before. The number of a
 * block is then a count of bits. A granule is 16 bytes, as glibc aligns, or 8. What lies inside one large block has no lines.
 */
#ifndef MT_BLOCK_INDEX_H
#define MT_BLOCK_INDEX_H

#include "heap/census.h"

#define NO_BLOCK UINT32_MAX

/* One for 64 granules. */
struct index_line {
	uint64_t starts, covered;
	uint32_t before;	/* blocks that start below this line */
	uint32_t unused;
};

struct index_section {
	uint64_t key;		/* its address by its size, + 1; 0: none */
	uint32_t first, n;	/* lines that it has */
	uint64_t lines;		/* where they begin in block_index.lines; without any, the one block that covers all of it */
};

/* The words that a block may be pointed to by lie in two ranges, which the largest gap divides. */
struct block_index {
	const struct heap_block *blocks;	/* not owned */
	uint32_t n_blocks;
	struct heap_range span[2];
	unsigned int granule_bits;
	/* words of the spans that lie in no block are told, too: block_index__tell_others() */
	bool others;
	bool crowded;		/* two blocks start in one granule: they are searched for */
	struct index_section *sections;	/* owned */
	unsigned int hash_bits;
	uint64_t n_sections;
	struct index_line *lines;		/* owned */
	uint64_t n_lines;
};

/* A word of memory that points into a block. */
struct found_pointer {
	uint32_t word;		/* which one of those that were looked at */
	uint32_t block;		/* NO_BLOCK: one of block_index.others */
};

/*
 * blocks: by address, and there as long as the index is used. -EINVAL: they are not in order, or too many.
 */
int block_index__build(struct block_index *ret, const struct heap_block *blocks, size_t n, struct err *e);
void block_index__done(struct block_index *x);
/* The block that an address lies in, or NO_BLOCK. Its end is outside; a block of no bytes has its own address. */
uint32_t block_index__find(const struct block_index *x, uint64_t addr);
/* All of n words that point into a block, tags aside, in their order. to has room for n. Returns how many. */
size_t block_index__pointers(const struct block_index *x, const uint64_t *words, size_t n, struct found_pointer *to);
/*
 * From here on block_index__pointers() also tells words that point into a range of memory and into no block. Some point elsewhere: it is
 * for the caller to choose.
 */
void block_index__tell_others(struct block_index *x, const struct heap_range *range);

/* A word as an address: without what the processor lets programs keep in it. */
static inline uint64_t untagged(uint64_t word)
{
#if defined(__aarch64__)
	return word << 8 >> 8;	/* the top byte is ignored */
#else
	return word & ~(0x3full << 57);	/* LAM: bits 57 to 62 */
#endif
}

#endif
