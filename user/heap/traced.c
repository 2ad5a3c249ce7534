// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns copies of the trace's table, the list of what is older than the trace, and what a look says of the trace's sites: their
 * blocks' kinds, which of them nothing reaches, who holds them.
 */
#include "heap/look.h"

#include "bpf/hash.h"
#include "util/hash.h"

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

/* Of blocks that are asked for by address. */
static const struct traced_block *meet(const struct traced_blocks *b, size_t *at, uint64_t addr)
{
	return sorted__meet(one, b->v, b->n, at, one->addr, addr);
}

static void list_older(struct traced *t, const struct census *c)
{
	size_t before = 0, first = 0;

	for (size_t i = 0; i < c->blocks.n; i++) {
		const struct heap_block *b = &c->blocks.v[i];
		bool was = meet(&t->before, &before, b->addr), is = meet(&t->first, &first, b->addr);

		/* what libc allocates for itself passes no probe: it may have come at any time */
		if (!was && !is && !(b->flags & BLOCK_LIBC))
			*vec_push(&t->older) = *b;
	}
}

static void keep_older(struct traced *t, const struct census *c)
{
	size_t to = 0, now = 0, at = 0;

	for (size_t i = 0; i < t->older.n; i++) {
		const struct heap_block *b = &t->older.v[i], *is = sorted__meet(one, c->blocks.v, c->blocks.n, &at, one->addr, b->addr);

		if (is && is->usable == b->usable && !meet(&t->now, &now, b->addr))
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
		if (b->bytes > MAX_USABLE || is_within(c, n_ranges, &at, b->addr) || b->addr < end ||
		    !was_there(maps, b->addr))
			continue;
		/* a pointer to one of 0 bytes is to its start */
		end = b->addr + MAX(b->bytes, 1);
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

/* ---- sites */

#define SAMPLE_OF_SITE 64
#define MAX_SHARES 8
#define MAX_HELD 262144		/* pairs of a site and a holder */

struct site_kind {
	const struct kind *kind;
	uint32_t blocks;
};

struct held {			/* by one holder, of one site */
	uint64_t blocks, bytes;
	const struct snap_root *holder;
};

struct site_sum {
	struct site_look is;
	struct site_kind kinds[MAX_SHARES];
	struct held most;
};

static uint32_t n_sites(const struct look *l)
{
	uint32_t n = 0;

	for (size_t i = 0; i < l->traced.first.n; i++)
		n = MAX(n, l->traced.first.v[i].site + 1);
	return n;
}

void look__choose_for_sites(struct look *l, uint8_t *bits)
{
	uint32_t n = n_sites(l);
	_cleanup_free_ uint64_t *blocks = xcalloc(n + 1, sizeof(*blocks));
	const struct census *c = &l->reach.first;
	size_t at = 0;

	for (size_t i = 0; i < l->traced.first.n; i++)
		blocks[l->traced.first.v[i].site]++;
	for (size_t i = 0; i < c->blocks.n; i++) {
		const struct traced_block *t = meet(&l->traced.first, &at, c->blocks.v[i].addr);

		/* by chance: what lies at regular distances may be alike */
		if (t && mt_mix(t->addr) % (blocks[t->site] / SAMPLE_OF_SITE + 1) == 0)
			bits[i / 8] |= (uint8_t)(1 << i % 8);
	}
}

static void add_kind(struct site_sum *sum, const struct kind *kind)
{
	if (!kind)
		return;
	sum->is.sampled++;
	for (size_t i = 0; i < MAX_SHARES; i++) {
		if (!sum->kinds[i].kind)
			sum->kinds[i].kind = kind;
		if (sum->kinds[i].kind == kind) {
			sum->kinds[i].blocks++;
			return;
		}
	}
}

COMPARATOR(by_blocks, struct site_kind, ORDER(b->blocks, a->blocks))

/* pairs: site and holder → struct held */
static void add_held(struct hash *pairs, struct site_sum *sum, uint64_t key, const struct snap_root *holder, uint64_t bytes)
{
	struct held *held = hash__get(pairs, key);

	if (!held) {
		if (pairs->n == MAX_HELD)
			return;
		held = xcalloc(1, sizeof(*held));
		hash__put(pairs, key, held);
		held->holder = holder;
	}
	held->blocks++;
	held->bytes += bytes;
	if (held->bytes > sum->most.bytes || holder == sum->most.holder)
		sum->most = *held;
}

static void tell(const struct look *l, uint32_t site, struct site_sum *sum)
{
	struct snap_share *v = snapshot__alloc(l->s, MAX_SHARES, sizeof(*v));
	struct site_look *is = &sum->is;

	is->scans = l->reach.state ? l->reach.is.scans : 0;
	is->partial = snap_unreached__is_partial(&l->h->unreached);
	qsort(sum->kinds, MAX_SHARES, sizeof(*sum->kinds), by_blocks);
	for (size_t i = 0; i < MAX_SHARES && sum->kinds[i].kind; i++)
		v[is->n_types++] = (struct snap_share){ snapshot__strdup(l->s, sum->kinds[i].kind->name),
						       (double)sum->kinds[i].blocks / (double)is->sampled, sum->kinds[i].kind->is_class };
	is->types = v;
	if (sum->most.holder) {
		struct snap_root held = *sum->most.holder;

		held.bytes = sum->most.bytes;
		held.blocks = sum->most.blocks;
		is->held = snap_root__copy(l->s, &held);
	}
	l->o->on_site(site, is, l->o->arg);
}

/* Of a block; NULL: nobody, or it is not known. */
static const struct snap_root *holder_of(const struct holders *h, const struct reach_result *r, size_t block)
{
	uint32_t root = r->root && h->of_root ? r->root[block] : 0, holder = root ? h->of_root[root - 1] : 0;

	return holder ? &h->v.v[holder - 1] : NULL;
}

void look__tell_sites(struct look *l)
{
	uint32_t n = n_sites(l);
	_cleanup_free_ struct site_sum *sums = xcalloc(n + 1, sizeof(*sums));
	const struct census *c = &l->reach.first;
	struct hash pairs = {};
	size_t at = 0, chosen = 0;

	for (size_t i = 0; i < c->blocks.n; i++) {
		const struct heap_block *b = &c->blocks.v[i];
		const struct traced_block *t = meet(&l->traced.first, &at, b->addr);
		const struct kind *kind = look__kind(l, &chosen, i);
		const struct snap_root *holder;
		struct site_sum *sum;

		if (!t || (l->o->until_ns && t->born_ns > l->o->until_ns))
			continue;
		sum = &sums[t->site];
		sum->is.blocks++;
		add_kind(sum, kind);
		if (look__is_unreached(l, i)) {
			sum->is.unreached_blocks++;
			/* as the trace counts them */
			sum->is.unreached_bytes += t->bytes;
		}
		holder = holder_of(&l->holders, &l->reach, i);
		if (holder)
			add_held(&pairs, sum, (uint64_t)t->site << 32 | (uint32_t)(holder - l->holders.v.v), holder, t->bytes);
	}
	for (uint32_t i = 0; i < n; i++)
		if (sums[i].is.blocks)
			tell(l, i, &sums[i]);
	hash__free(&pairs);
}
