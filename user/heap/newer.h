/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Blocks that a census does not have because they are newer. A list that grows at its head is held by one of them: the variable
 * points to a block that was not there yet, which leads to all that was. Without it the whole list would be told by whatever
 * else points into it, which may be a word that a function left on its stack long ago.
 *
 * They are told by the words that point to them, and numbered in the order in which these are met. Where one begins and ends,
 * glibc's own headers say. Of free memory, which stale pointers lead to, none is made.
 */
#ifndef MT_NEWER_H
#define MT_NEWER_H

#include "heap/block_index.h"
#include "util/hash.h"

struct lines;

struct newer {
	struct target *t;	/* not owned, all three */
	const struct census *c;
	const struct block_index *index;
	struct lines *lines;	/* owned */
	struct vec(uint64_t) at;	/* where words point to */
	uint32_t *slots;	/* owned; index into at + 1, by the hash of it */
	unsigned int hash_bits;
	struct vec(struct heap_range) grown;	/* roots.grown */
	struct hash gaps;	/* number of the block before it → struct gap */
	uint64_t n_steps;	/* from header to header, in all */
};

#define MAX_NEWER (1u << 20)

int newer__init(struct newer *n, struct target *t, const struct census *c, const struct block_index *x, struct err *e);
void newer__done(struct newer *n);
/* Is it the allocator's memory? */
bool newer__may_be(const struct newer *n, uint64_t addr);
/*
 * Which one an address that lies in no block belongs to, or NO_BLOCK: it is not the allocator's memory, or there are too many. Several addresses
 * in one block have several numbers.
 */
uint32_t newer__number(struct newer *n, uint64_t addr);
/* Where the block of a number lies. false: none is there that is in use. Memory is read, once: to be called when all numbers were given that others than these blocks lead to. */
bool newer__find(struct newer *n, uint32_t number, struct heap_range *ret);
/* The same of any address. */
bool newer__find_at(struct newer *n, uint64_t addr, struct heap_range *ret);
/* A word of the process's memory, as it was when the page was first read; after newer__forget(), as it is. */
bool newer__word(struct newer *n, uint64_t addr, uint64_t *ret);
void newer__forget(struct newer *n);

#endif
