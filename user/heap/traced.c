// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns copies of the trace's table, and the list of what is older than the trace. */
#include "heap/look.h"

#include "util/sorted.h"

static void drop(struct traced_blocks *b)
{
	free(b->v);
	*b = (struct traced_blocks){};
}

void traced__done(struct traced *t)
{
	drop(&t->before);
	drop(&t->first);
	drop(&t->now);
	vec_done(&t->older);
}

static void read_table(struct traced *t, struct traced_blocks *to)
{
	drop(to);
	t->o->traced(t->o->arg, to, &t->now_ns);
}

void traced__before(struct traced *t)
{
	if (t->o->traced && !t->n_looks)
		read_table(t, &t->before);
}

static const struct traced_block *find(const struct traced_blocks *b, uint64_t addr)
{
	size_t i = sorted__count(one, b->v, b->n, one->addr < addr);

	return i < b->n && b->v[i].addr == addr ? &b->v[i] : NULL;
}

/* Both go by address: a step ahead in one table for a step in the other. */
static bool meets(const struct traced_blocks *b, size_t *at, uint64_t addr)
{
	while (*at < b->n && b->v[*at].addr < addr)
		(*at)++;
	return *at < b->n && b->v[*at].addr == addr;
}

static void list_older(struct traced *t, const struct census *c)
{
	size_t before = 0, first = 0;

	for (size_t i = 0; i < c->blocks.n; i++) {
		const struct heap_block *b = &c->blocks.v[i];
		bool was = meets(&t->before, &before, b->addr), is = meets(&t->first, &first, b->addr);

		/* what libc allocates for itself passes no probe: it may have come at any time */
		if (!was && !is && !(b->flags & BLOCK_LIBC))
			*vec_push(&t->older) = *b;
	}
}

static void keep_older(struct traced *t, const struct census *c)
{
	size_t to = 0, now = 0, at = 0;

	for (size_t i = 0; i < t->older.n; i++) {
		const struct heap_block *b = &t->older.v[i];

		while (at < c->blocks.n && c->blocks.v[at].addr < b->addr)
			at++;
		if (at < c->blocks.n && c->blocks.v[at].addr == b->addr && c->blocks.v[at].usable == b->usable &&
		    !meets(&t->now, &now, b->addr))
			t->older.v[to++] = *b;
	}
	t->n_dropped += t->older.n - to;
	t->older.n = to;
}

void traced__after(struct traced *t, const struct census *c)
{
	bool is_first = !t->n_looks++;

	if (!t->o->traced)
		return;
	read_table(t, is_first ? &t->first : &t->now);
	if (is_first) {
		list_older(t, c);
		drop(&t->before);
	} else {
		keep_older(t, c);
	}
}

/* In one of the first n ranges. */
static bool is_within(const struct census *c, size_t n, size_t *at, uint64_t addr)
{
	while (*at < n && c->ranges.v[*at].end <= addr)
		(*at)++;
	return *at < n && c->ranges.v[*at].start <= addr;
}

COMPARATOR(by_addr, struct heap_block, ORDER(a->addr, b->addr))

COMPARATOR(by_start, struct heap_range, ORDER(a->start, b->start))

#define MAX_USABLE ((1ull << USABLE_BITS) - 1)

/* What the census could have seen: memory that came after it is not another allocator's because of that. */
static bool was_there(const struct maps *maps, uint64_t addr)
{
	const struct mapping *m = maps__find(maps, addr);

	return m && m->read && m->write;
}

void traced__add_foreign(const struct traced *t, const struct maps *maps, struct census *c)
{
	const struct traced_blocks *from = t->n_looks > 1 ? &t->now : &t->first;
	size_t n_ranges = c->ranges.n, at = 0;
	uint64_t end = 0;

	for (size_t i = 0; i < from->n; i++) {
		const struct traced_block *b = &from->v[i];

		/* one that lies in another one, as a wrapper's does, would be counted twice */
		if (!b->bytes || b->bytes > MAX_USABLE || is_within(c, n_ranges, &at, b->addr) || b->addr < end ||
		    !was_there(maps, b->addr))
			continue;
		end = b->addr + b->bytes;
		*vec_push(&c->blocks) = (struct heap_block){ .addr = b->addr, .usable = b->bytes, .flags = BLOCK_FOREIGN };
		*vec_push(&c->ranges) = (struct heap_range){ b->addr, end };
	}
	if (c->ranges.n == n_ranges)
		return;
	qsort(c->blocks.v, c->blocks.n, sizeof(*c->blocks.v), by_addr);
	qsort(c->ranges.v, c->ranges.n, sizeof(*c->ranges.v), by_start);
}

const struct traced_block *traced__find(const struct traced *t, uint64_t addr)
{
	return find(&t->first, addr);
}

bool traced__is_same(const struct traced *t, const struct heap_block *b)
{
	const struct traced_block *was = find(&t->first, b->addr), *is = find(&t->now, b->addr);

	if (t->n_looks < 2)
		return true;
	return was && is ? was->born_ns == is->born_ns && was->bytes == is->bytes : was == is;
}
