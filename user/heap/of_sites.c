// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns what a look says of the sites of a trace: their blocks' kinds, which of them nothing reaches, who holds them. */
#include <errno.h>
#include <string.h>

#include "bpf/hash.h"
#include "heap/look.h"
#include "util/hash.h"

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
	uint64_t blocks, unreached_blocks, unreached_bytes, sampled;
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

/* The sites of blocks, one after the other: both lists go by address. */
static const struct traced_block *owner(const struct look *l, size_t *at, uint64_t addr)
{
	const struct traced_blocks *t = &l->traced.first;

	while (*at < t->n && t->v[*at].addr < addr)
		(*at)++;
	return *at < t->n && t->v[*at].addr == addr ? &t->v[*at] : NULL;
}

int look__choose_for_sites(struct look *l, uint8_t *bits)
{
	uint32_t n = n_sites(l);
	_cleanup_free_ uint64_t *blocks = calloc(n + 1, sizeof(*blocks));
	const struct census *c = &l->reach.first;
	size_t at = 0;

	if (!blocks)
		return -ENOMEM;
	for (size_t i = 0; i < l->traced.first.n; i++)
		blocks[l->traced.first.v[i].site]++;
	for (size_t i = 0; i < c->blocks.n; i++) {
		const struct traced_block *t = owner(l, &at, c->blocks.v[i].addr);

		/* by chance: what lies at regular distances may be alike */
		if (t && mt_mix(t->addr) % (blocks[t->site] / SAMPLE_OF_SITE + 1) == 0)
			bits[i / 8] |= (uint8_t)(1 << i % 8);
	}
	return 0;
}

static void add_kind(struct site_sum *sum, const struct kind *kind)
{
	if (!kind)
		return;
	sum->sampled++;
	for (size_t i = 0; i < MAX_SHARES; i++) {
		if (!sum->kinds[i].kind)
			sum->kinds[i].kind = kind;
		if (sum->kinds[i].kind == kind) {
			sum->kinds[i].blocks++;
			return;
		}
	}
}

static int by_blocks(const void *a, const void *b)
{
	const struct site_kind *x = a, *y = b;

	return (x->blocks < y->blocks) - (x->blocks > y->blocks);
}

struct holding {
	struct hash pairs;	/* site and holder → struct held */
	size_t n;
};

static int add_held(struct holding *h, struct site_sum *sum, uint64_t key, const struct snap_root *holder, uint64_t bytes)
{
	struct held *held = hash__get(&h->pairs, key);

	if (!held) {
		if (h->n == MAX_HELD)
			return 0;
		held = calloc(1, sizeof(*held));
		if (!held || hash__put(&h->pairs, key, held)) {
			free(held);
			return -ENOMEM;
		}
		held->holder = holder;
		h->n++;
	}
	held->blocks++;
	held->bytes += bytes;
	if (held->bytes > sum->most.bytes || holder == sum->most.holder)
		sum->most = *held;
	return 0;
}

static void tell(const struct look *l, uint32_t site, struct site_sum *sum)
{
	struct heap_of_site is = { .blocks = sum->blocks, .unreached_blocks = sum->unreached_blocks,
				   .unreached_bytes = sum->unreached_bytes, .sampled = sum->sampled, .scans = l->reach.state ? l->reach.scans : 0 };
	struct snap_share *v = snapshot__alloc(l->s, MAX_SHARES, sizeof(*v));

	qsort(sum->kinds, MAX_SHARES, sizeof(*sum->kinds), by_blocks);
	for (size_t i = 0; i < MAX_SHARES && sum->kinds[i].kind; i++)
		v[is.n_types++] = (struct snap_share){ snapshot__strdup(l->s, sum->kinds[i].kind->name),
						       (double)sum->kinds[i].blocks / (double)sum->sampled, sum->kinds[i].kind->is_class };
	is.types = v;
	if (sum->most.holder) {
		struct snap_root held = *sum->most.holder;

		held.bytes = sum->most.bytes;
		held.blocks = sum->most.blocks;
		is.held = snap_root__copy(l->s, &held);
	}
	l->o->on_site(site, &is, l->o->arg);
}

int look__tell_sites(struct look *l)
{
	uint32_t n = n_sites(l);
	_cleanup_free_ struct site_sum *sums = calloc(n + 1, sizeof(*sums));
	const struct census *c = &l->reach.first;
	struct holding holding = {};
	size_t at = 0, chosen = 0;
	int err = sums ? 0 : -ENOMEM;

	for (size_t i = 0; i < c->blocks.n && !err; i++) {
		const struct heap_block *b = &c->blocks.v[i];
		const struct traced_block *t = owner(l, &at, b->addr);
		const struct kind *kind = look__kind(l, &chosen, i);
		const struct snap_root *holder;

		if (!t)
			continue;
		sums[t->site].blocks++;
		add_kind(&sums[t->site], kind);
		if (look__is_unreached(l, i)) {
			sums[t->site].unreached_blocks++;
			/* as the trace counts them */
			sums[t->site].unreached_bytes += t->bytes;
		}
		holder = holders__of(&l->holders, &l->reach, i);
		if (holder)
			err = add_held(&holding, &sums[t->site], (uint64_t)t->site << 32 | (uint32_t)(holder - l->holders.v.v), holder,
				       t->bytes);
	}
	for (uint32_t i = 0; i < n && !err; i++)
		if (sums[i].blocks)
			tell(l, i, &sums[i]);
	for (size_t i = 0; i < holding.pairs.room; i++)
		free(holding.pairs.slots[i].value);
	hash__done(&holding.pairs);
	return err;
}
