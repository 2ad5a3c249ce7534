// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns addresses of newer blocks, and what was learnt of the gaps between known ones that they lie in. */
#include "heap/reach_parts.h"

#include "heap/glibc_parts.h"
#include "util/sorted.h"

#define MAX_STEPS (4u * MAX_NEWER)

/* Chunks that follow a known block, as far as they have been gone through. */
struct gap {
	struct vec(uint64_t) chunks;
	uint64_t next;		/* where the next one would be */
	bool ended;
};

void newer__init(struct newer *n, struct target *t, const struct census *c, const struct block_index *x)
{
	*n = (struct newer){ .t = t, .c = c, .index = x };
	/* of these, pages are touched where there are some */
	id_table__init(&n->numbers, MAX_NEWER);
	n->lines = lines__new(t);
}

void newer__done(struct newer *n)
{
	for (size_t i = 0; i < n->gaps.room; i++) {
		struct gap *g = n->gaps.slots[i].value;

		if (g)
			vec_done(&g->chunks);
		free(g);
	}
	hash__done(&n->gaps);
	vec_done(&n->at);
	vec_done(&n->grown);
	lines__free(n->lines);
	id_table__done(&n->numbers);
	*n = (struct newer){};
}

/* ---- numbers */

static bool is_grown(const struct newer *n, uint64_t addr)
{
	return sorted__range_of(n->grown.v, n->grown.n, addr) != NULL;
}

bool newer__may_be(const struct newer *n, uint64_t addr)
{
	return sorted__range_of(n->c->ranges.v, n->c->ranges.n, addr) || is_grown(n, addr);
}

struct wanted {
	const struct newer *in;
	uint64_t addr;
};

static bool is_wanted(const void *arg, uint32_t number)
{
	const struct wanted *w = arg;

	return w->in->at.v[number] == w->addr;
}

uint32_t newer__number(struct newer *n, uint64_t addr)
{
	uint32_t *slot;

	if (!newer__may_be(n, addr))
		return NO_BLOCK;
	slot = id_table__find(&n->numbers, hash__mix(addr, 0), is_wanted, &(struct wanted){ n, addr });
	if (*slot)
		return *slot - 1;
	/* a holder is not found then, and nothing else is lost */
	if (n->at.n == MAX_NEWER)
		return NO_BLOCK;
	*vec_push(&n->at) = addr;
	*slot = n->at.n;
	return n->at.n - 1;
}

/* ---- where they are */

/* What free() writes into a block that goes to a tcache, at its second word. */
static bool is_in_tcache(struct newer *n, uint64_t block)
{
	uint64_t word;
	uint32_t to;

	if (!lines__word(n->lines, block + 8, &word))
		return false;
	to = block_index__find(n->index, word);
	return (word && word == n->c->tcache_key) ||
	       (to != NO_BLOCK && n->index->blocks[to].addr == word && n->index->blocks[to].flags & BLOCK_LIBC);
}

static bool is_size(uint64_t word)
{
	uint64_t size = word & ~CHUNK_FLAGS;

	return size >= CHUNK_MIN && size % CHUNK_ALIGN == 0 && size < CHUNK_LIMIT;
}

/* The size of the chunk at an address if one could be there, by its header; 0: none. */
static uint64_t size_at(struct newer *n, uint64_t chunk)
{
	uint64_t word;

	return lines__word(n->lines, chunk + 8, &word) && is_size(word) ? word & ~CHUNK_FLAGS : 0;
}

static bool is_in_use(struct newer *n, uint64_t chunk, uint64_t size)
{
	uint64_t behind;

	return lines__word(n->lines, chunk + size + 8, &behind) && behind & CHUNK_PREV_IN_USE && is_size(behind) &&
	       !is_in_tcache(n, chunk + CHUNK_HEADER);
}

/* A block that begins at an address. */
static bool find_there(struct newer *n, uint64_t addr, struct heap_range *ret)
{
	uint64_t chunk = addr - CHUNK_HEADER, word, size;

	if (addr % CHUNK_ALIGN || !lines__word(n->lines, chunk + 8, &word) || !is_size(word))
		return false;
	size = word & ~CHUNK_FLAGS;
	if (word & CHUNK_IS_MAPPED) {
		*ret = (struct heap_range){ addr, chunk + size };
		return is_grown(n, addr) && size % 4096 == 0;
	}
	*ret = (struct heap_range){ addr, chunk + size + 8 };
	return is_in_use(n, chunk, size);
}

/* The last known block before an address; NO_BLOCK: none from which chunks could lead there. */
static uint32_t block_before(const struct newer *n, uint64_t addr)
{
	size_t n_before = sorted__count(b, n->c->blocks.v, n->c->blocks.n, b->addr <= addr);
	const struct heap_block *last = n_before ? &n->c->blocks.v[n_before - 1] : NULL;

	return last && !(last->flags & (BLOCK_MAPPED | BLOCK_FOREIGN)) ? n_before - 1 : NO_BLOCK;
}

static struct gap *gap_behind(struct newer *n, uint32_t block)
{
	const struct heap_block *b = &n->c->blocks.v[block];
	struct gap *g = hash__get(&n->gaps, block);

	if (g)
		return g;
	g = xcalloc(1, sizeof(*g));
	hash__put(&n->gaps, block, g);
	g->next = b->addr + b->usable - 8;
	return g;
}

static void walk(struct newer *n, struct gap *g, uint64_t addr)
{
	while (!g->ended && g->next <= addr) {
		uint64_t size = n->n_steps++ < MAX_STEPS ? size_at(n, g->next) : 0;

		g->ended = !size;
		if (!size)
			return;
		*vec_push(&g->chunks) = g->next;
		g->next += size;
	}
}

/* An address within a block: chunks are gone through from the last known block on. */
static bool find_around(struct newer *n, uint64_t addr, struct heap_range *ret)
{
	uint32_t before = block_before(n, addr);
	struct gap *g = before != NO_BLOCK ? gap_behind(n, before) : NULL;
	uint64_t chunk, size;
	size_t n_before;

	if (!g)
		return false;
	walk(n, g, addr);
	n_before = sorted__count(one, g->chunks.v, g->chunks.n, *one + CHUNK_HEADER <= addr);
	if (!n_before)
		return false;
	chunk = g->chunks.v[n_before - 1];
	size = size_at(n, chunk);
	*ret = (struct heap_range){ chunk + CHUNK_HEADER, chunk + size + 8 };
	return size && addr < ret->end && is_in_use(n, chunk, size);
}

bool newer__find(struct newer *n, uint64_t addr, struct heap_range *ret)
{
	return find_there(n, addr, ret) || find_around(n, addr, ret);
}
