// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns sections and lines. Lines take 24 bytes for each KiB (each 512 bytes, with granules of 8) between the first
 * and the last block of a section, so never more than a fortieth (twentieth) of the memory that blocks lie in.
 */
#include <errno.h>

#include "heap/block_index.h"
#include "util/sorted.h"

#define SECTION_BITS 20
#define SECTION_BYTES (1ull << SECTION_BITS)
#define LINE_GRANULES 64
/* Words whose lines are fetched before the first of them is looked at. */
#define AHEAD 256

static inline uint64_t end_of(const struct heap_block *b)
{
	return b->addr + MAX((uint64_t)b->usable, 1);
}

static inline unsigned int line_bits(const struct block_index *x)
{
	return x->granule_bits + 6;
}

static inline size_t slot_of(const struct block_index *x, uint64_t key)
{
	return key * 0x9e3779b97f4a7c15ull >> (64 - x->hash_bits);
}

/* The section of an address, or an empty slot, or NULL if there is none. At most half of the slots are used. */
static inline struct index_section *section_of(const struct block_index *x, uint64_t addr)
{
	uint64_t key = (addr >> SECTION_BITS) + 1;
	size_t mask = (1ull << x->hash_bits) - 1, i;

	for (i = slot_of(x, key); x->sections[i].key != key; i = (i + 1) & mask)
		if (!x->sections[i].key)
			return NULL;
	return &x->sections[i];
}

static struct index_section *add_section(struct block_index *x, uint64_t number)
{
	size_t mask = (1ull << x->hash_bits) - 1, i;

	for (i = slot_of(x, number + 1); x->sections[i].key; i = (i + 1) & mask)
		;
	x->sections[i].key = number + 1;
	return &x->sections[i];
}

/* ---- what there is to be indexed */

static int check_order(const struct heap_block *blocks, size_t n, struct err *e)
{
	if (n >= NO_BLOCK)
		return err_set(e, -EINVAL, "%zu blocks are more than can be numbered", n);
	for (size_t i = 0; i < n; i++)
		if (end_of(&blocks[i]) < blocks[i].addr || (i && blocks[i].addr <= blocks[i - 1].addr))
			return err_set(e, -EINVAL, "blocks are not in the order of their addresses");
	return 0;
}

static void choose_granules(struct block_index *x)
{
	uint64_t low = 0;

	for (uint32_t i = 0; i < x->n_blocks; i++)
		low |= x->blocks[i].addr;
	x->granule_bits = low & 15 ? 3 : 4;
	for (uint32_t i = 1; low & 7 && i < x->n_blocks; i++)
		if (x->blocks[i].addr >> 3 == x->blocks[i - 1].addr >> 3)
			x->crowded = true;
}

/* All blocks lie in these two. */
static void find_spans(struct block_index *x)
{
	uint64_t largest = 0, end = 0, before_gap = 0;
	uint32_t behind = 0;

	for (uint32_t i = 0; i < x->n_blocks; i++) {
		if (i && x->blocks[i].addr > end && x->blocks[i].addr - end > largest) {
			largest = x->blocks[i].addr - end;
			before_gap = end;
			behind = i;
		}
		end = MAX(end, end_of(&x->blocks[i]));
	}
	if (!x->n_blocks)
		return;
	x->span[0] = (struct heap_range){ x->blocks[0].addr, behind ? before_gap : end };
	if (behind)
		x->span[1] = (struct heap_range){ x->blocks[behind].addr, end };
}

/* ---- sections: what each of them holds, in the order of addresses */

struct piece {
	uint64_t number;	/* of the section */
	uint32_t block;
	bool whole;		/* the block begins before it, and does not end in it */
	uint64_t first, last;	/* bytes of the section that blocks cover, counted from its start */
};

/*
 * Calls fn for each section once, as blocks are in order. Where they overlap, which a heap that is read while it changes may
 * show, sections that were passed are not gone back to: what begins there is not found.
 */
static void each_section(struct block_index *x, void (*fn)(struct block_index *x, const struct piece *p))
{
	struct piece p = {};
	bool open = false;

	for (uint32_t i = 0; i < x->n_blocks; i++) {
		uint64_t start = x->blocks[i].addr, last = end_of(&x->blocks[i]) - 1;

		for (uint64_t number = start >> SECTION_BITS; number <= last >> SECTION_BITS; number++) {
			uint64_t from = MAX(start, number << SECTION_BITS) & (SECTION_BYTES - 1);
			uint64_t to = number == last >> SECTION_BITS ? last & (SECTION_BYTES - 1) : SECTION_BYTES - 1;

			if (open && number <= p.number) {
				p.last = number < p.number ? p.last : MAX(p.last, to);
				p.whole = p.whole && number < p.number;
				continue;
			}
			if (open)
				fn(x, &p);
			open = true;
			p = (struct piece){ number, i, number > start >> SECTION_BITS && to == SECTION_BYTES - 1, from, to };
		}
	}
	if (open)
		fn(x, &p);
}

static void count_section(struct block_index *x, const struct piece *p)
{
	x->n_sections++;
}

static void make_section(struct block_index *x, const struct piece *p)
{
	struct index_section *s = add_section(x, p->number);

	if (p->whole) {
		s->lines = p->block;
		return;
	}
	s->first = p->first >> line_bits(x);
	s->n = (p->last >> line_bits(x)) - s->first + 1;
	s->lines = x->n_lines;
	x->n_lines += s->n;
}

/* ---- lines */

static struct index_line *line_of(const struct block_index *x, uint64_t addr)
{
	struct index_section *s = section_of(x, addr);

	return s && s->n ? &x->lines[s->lines + ((addr & (SECTION_BYTES - 1)) >> line_bits(x)) - s->first] : NULL;
}

static void cover(struct block_index *x, const struct heap_block *b)
{
	uint64_t granule = b->addr >> x->granule_bits, end = ((end_of(b) - 1) >> x->granule_bits) + 1;

	while (granule < end) {
		struct index_line *l = line_of(x, granule << x->granule_bits);
		uint64_t bit = granule % LINE_GRANULES, n = MIN(end - granule, LINE_GRANULES - bit);

		if (l) {
			l->covered |= (n == LINE_GRANULES ? ~0ull : (1ull << n) - 1) << bit;
			granule += n;
		} else {	/* one block's section: on to the next */
			granule = ((granule << x->granule_bits >> SECTION_BITS) + 1) << SECTION_BITS >> x->granule_bits;
		}
	}
}

/* Lines lie in the order of addresses. One in which no block starts is of the last block before it. */
static void fill_lines(struct block_index *x)
{
	uint64_t next = 0;

	for (uint32_t i = 0; i < x->n_blocks; i++) {
		const struct heap_block *b = &x->blocks[i];
		struct index_line *l = line_of(x, b->addr);

		if (l) {
			for (; next <= (uint64_t)(l - x->lines); next++)
				x->lines[next].before = i;
			l->starts |= 1ull << (b->addr >> x->granule_bits) % LINE_GRANULES;
		}
		cover(x, b);
	}
	for (; next < x->n_lines; next++)
		x->lines[next].before = x->n_blocks;
}

/* ---- finding */

/* v lies in a granule that is covered. */
static uint32_t by_search(const struct block_index *x, uint64_t v)
{
	uint32_t n = sorted__count(b, x->blocks, x->n_blocks, b->addr <= v);

	return n && v < end_of(&x->blocks[n - 1]) ? n - 1 : NO_BLOCK;
}

/* What to look at for an address: a line, or the one block that covers its section. */
struct place {
	const struct index_line *line;	/* NULL: block says it */
	uint32_t block;
};

static inline struct place place_of(const struct block_index *x, uint64_t v)
{
	const struct index_section *s = section_of(x, v);
	uint64_t line;

	if (!s)
		return (struct place){ NULL, NO_BLOCK };
	if (!s->n)
		return (struct place){ NULL, s->lines };
	line = ((v & (SECTION_BYTES - 1)) >> line_bits(x)) - s->first;
	if (line >= s->n)	/* also if it is below the first */
		return (struct place){ NULL, NO_BLOCK };
	return (struct place){ &x->lines[s->lines + line], NO_BLOCK };
}

static inline uint32_t block_at(const struct block_index *x, struct place p, uint64_t v)
{
	uint64_t bit = (v >> x->granule_bits) % LINE_GRANULES;
	uint32_t block;

	if (!p.line || !(p.line->covered >> bit & 1))
		return p.block;
	if (x->crowded)
		return by_search(x, v);
	block = p.line->before + __builtin_popcountll(p.line->starts & ((2ull << bit) - 1)) - 1;
	/* a block may begin or end within a granule */
	if (v & ((1ull << x->granule_bits) - 1) && (block == NO_BLOCK || v < x->blocks[block].addr || v >= end_of(&x->blocks[block])))
		return by_search(x, v);
	return block;
}

uint32_t block_index__find(const struct block_index *x, uint64_t addr)
{
	return x->n_blocks ? block_at(x, place_of(x, addr), addr) : NO_BLOCK;
}

size_t block_index__pointers(const struct block_index *x, const uint64_t *words, size_t n, struct found_pointer *to)
{
	uint64_t low = x->span[0].start, bytes = x->span[0].end - low;
	uint64_t low_2 = x->span[1].start, bytes_2 = x->span[1].end - low_2;
	size_t n_found = 0;

	for (size_t i = 0; i < n;) {
		struct place places[AHEAD];
		uint32_t at[AHEAD];
		unsigned int n_maybe = 0;

		/* first the lines are fetched, then they are looked at */
		for (; i < n && n_maybe < AHEAD; i++) {
			uint64_t v = untagged(words[i]);

			if (v - low >= bytes && v - low_2 >= bytes_2)
				continue;
			places[n_maybe] = place_of(x, v);
			__builtin_prefetch(places[n_maybe].line);
			at[n_maybe++] = i;
		}
		for (unsigned int k = 0; k < n_maybe; k++) {
			uint32_t block = block_at(x, places[k], untagged(words[at[k]]));

			if (block != NO_BLOCK || x->others)
				to[n_found++] = (struct found_pointer){ at[k], block };
		}
	}
	return n_found;
}

/* What a span has to grow by to hold a range. An empty one has its size. */
static uint64_t growth(const struct heap_range *span, const struct heap_range *r)
{
	if (span->start == span->end)
		return r->end - r->start;
	return (span->start > r->start ? span->start - r->start : 0) + (r->end > span->end ? r->end - span->end : 0);
}

void block_index__tell_others(struct block_index *x, const struct heap_range *range)
{
	struct heap_range *span = growth(&x->span[0], range) <= growth(&x->span[1], range) ? &x->span[0] : &x->span[1];

	x->others = true;
	if (span->start == span->end)
		*span = *range;
	span->start = MIN(span->start, range->start);
	span->end = MAX(span->end, range->end);
}

void block_index__done(struct block_index *x)
{
	free(x->sections);
	free(x->lines);
	*x = (struct block_index){};
}

int block_index__build(struct block_index *ret, const struct heap_block *blocks, size_t n, struct err *e)
{
	struct block_index x = { .blocks = blocks, .n_blocks = n };
	int err = check_order(blocks, n, e);

	if (err)
		return err;
	choose_granules(&x);
	find_spans(&x);
	each_section(&x, count_section);
	for (x.hash_bits = 4; 1ull << x.hash_bits < 2 * x.n_sections; x.hash_bits++)
		;
	x.sections = xcalloc(1ull << x.hash_bits, sizeof(*x.sections));
	each_section(&x, make_section);
	x.lines = xcalloc(x.n_lines + 1, sizeof(*x.lines));
	fill_lines(&x);
	*ret = x;
	return 0;
}
