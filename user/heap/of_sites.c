// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns what a look says of the sites of a trace: their blocks' kinds, which of them nothing reaches, who holds them. */
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

void look__choose_for_sites(struct look *l, uint8_t *bits)
{
	uint32_t n = n_sites(l);
	_cleanup_free_ uint64_t *blocks = xcalloc(n + 1, sizeof(*blocks));
	const struct census *c = &l->reach.first;
	size_t at = 0;

	for (size_t i = 0; i < l->traced.first.n; i++)
		blocks[l->traced.first.v[i].site]++;
	for (size_t i = 0; i < c->blocks.n; i++) {
		const struct traced_block *t = owner(l, &at, c->blocks.v[i].addr);

		/* by chance: what lies at regular distances may be alike */
		if (t && mt_mix(t->addr) % (blocks[t->site] / SAMPLE_OF_SITE + 1) == 0)
			bits[i / 8] |= (uint8_t)(1 << i % 8);
	}
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

COMPARATOR(by_blocks, struct site_kind, ORDER(b->blocks, a->blocks))

struct holding {
	struct hash pairs;	/* site and holder → struct held */
	size_t n;
};

static void add_held(struct holding *h, struct site_sum *sum, uint64_t key, const struct snap_root *holder, uint64_t bytes)
{
	struct held *held = hash__get(&h->pairs, key);

	if (!held) {
		if (h->n == MAX_HELD)
			return;
		held = xcalloc(1, sizeof(*held));
		hash__put(&h->pairs, key, held);
		held->holder = holder;
		h->n++;
	}
	held->blocks++;
	held->bytes += bytes;
	if (held->bytes > sum->most.bytes || holder == sum->most.holder)
		sum->most = *held;
}

static void tell(const struct look *l, uint32_t site, struct site_sum *sum)
{
	struct heap_of_site is = { .blocks = sum->blocks, .unreached_blocks = sum->unreached_blocks,
				   .unreached_bytes = sum->unreached_bytes, .sampled = sum->sampled, .scans = l->reach.state ? l->reach.scans : 0,
				   .partial = snap_unreached__is_partial(&l->h->unreached) };
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

void look__tell_sites(struct look *l)
{
	uint32_t n = n_sites(l);
	_cleanup_free_ struct site_sum *sums = xcalloc(n + 1, sizeof(*sums));
	const struct census *c = &l->reach.first;
	struct holding holding = {};
	size_t at = 0, chosen = 0;

	for (size_t i = 0; i < c->blocks.n; i++) {
		const struct heap_block *b = &c->blocks.v[i];
		const struct traced_block *t = owner(l, &at, b->addr);
		const struct kind *kind = look__kind(l, &chosen, i);
		const struct snap_root *holder;

		if (!t || (l->o->until_ns && t->born_ns > l->o->until_ns))
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
			add_held(&holding, &sums[t->site], (uint64_t)t->site << 32 | (uint32_t)(holder - l->holders.v.v), holder,
				 t->bytes);
	}
	for (uint32_t i = 0; i < n; i++)
		if (sums[i].blocks)
			tell(l, i, &sums[i]);
	for (size_t i = 0; i < holding.pairs.room; i++)
		free(holding.pairs.slots[i].value);
	hash__done(&holding.pairs);
}

/* ---- the list of --view blocks */

/* Owns the list of --view blocks: of each site those without a pointer, then the oldest or largest, so that a view of some sites has theirs. */

#define MAX_LISTED 100000
#define LISTED_OF_SITE 100u	/* and so many at least, if there are */

struct listed {
	const struct heap_block *block;
	const struct traced_block *traced;	/* NULL: older than the trace, or there is none */
	size_t at;
	bool first;		/* no pointer was found to it: those are what somebody goes on with */
};

static uint32_t site_of(const struct listed *x)
{
	return x->traced ? x->traced->site + 1 : 0;
}

/* Births that are not known come first: those blocks are older than the trace. */
static uint64_t born(const struct listed *x)
{
	return x->traced ? x->traced->born_ns : 0;
}

COMPARATOR(by_size, struct listed,
	   ORDER(b->first, a->first) ?: ORDER(b->block->usable, a->block->usable) ?: ORDER(a->block->addr, b->block->addr))

COMPARATOR(by_age, struct listed, ORDER(b->first, a->first) ?: ORDER(born(a), born(b)) ?: by_size(a, b))

COMPARATOR(by_site_and_size, struct listed, ORDER(site_of(a), site_of(b)) ?: by_size(a, b))

COMPARATOR(by_site_and_age, struct listed, ORDER(site_of(a), site_of(b)) ?: by_age(a, b))

static size_t n_sites_of(const struct listed *v, size_t n)
{
	size_t sites = 1;

	for (size_t i = 1; i < n; i++)
		sites += site_of(&v[i]) != site_of(&v[i - 1]);
	return sites;
}

/* Of each site, the first ones. */
static size_t keep_first(struct listed *v, size_t n, size_t most)
{
	size_t to = 0, of_site = 0;

	for (size_t i = 0; i < n; i++) {
		of_site = i && site_of(&v[i]) == site_of(&v[i - 1]) ? of_site + 1 : 1;
		if (of_site <= most)
			v[to++] = v[i];
	}
	return to;
}

static int reach_of(const struct look *l, size_t at)
{
	static const int words[] = { [REACHED] = REACH_REACHED, [UNREACHED] = REACH_UNREACHED, [UNREACHED_INDIRECT] = REACH_INDIRECT };

	return l->reach.state ? words[l->reach.state[at]] : REACH_UNKNOWN;
}

struct asked {
	const struct heap_block *block;
	size_t at;		/* in the list */
};

COMPARATOR(by_addr, struct asked, ORDER(a->block->addr, b->block->addr))

static void name_kinds(struct look *l, const struct listed *v, size_t n, struct snap_block *to)
{
	_cleanup_free_ struct asked *asked = xcalloc(n + 1, sizeof(*asked));
	_cleanup_free_ const struct heap_block **blocks = xcalloc(n + 1, sizeof(*blocks));
	_cleanup_free_ const struct kind **kinds = xcalloc(n + 1, sizeof(*kinds));

	for (size_t i = 0; i < n; i++)
		asked[i] = (struct asked){ v[i].block, i };
	qsort(asked, n, sizeof(*asked), by_addr);
	for (size_t i = 0; i < n; i++)
		blocks[i] = asked[i].block;
	/* what cannot be read any more has no kind */
	if (l->kinds && !kinds__look(l->kinds, blocks, n, kinds, NULL))
		for (size_t i = 0; i < n; i++)
			to[asked[i].at].type = kinds[i] ? snapshot__strdup(l->s, kinds[i]->name) : NULL;
}

void look__list_blocks(struct look *l)
{
	const struct census *c = &l->reach.first;
	_cleanup_free_ struct listed *v = xcalloc(c->blocks.n + 1, sizeof(*v));
	uint64_t now = l->traced.now_ns;
	struct snap_block *to;
	size_t n = 0;

	for (size_t i = 0; i < c->blocks.n; i++)
		if (!(c->blocks.v[i].flags & BLOCK_LIBC))
			v[n++] = (struct listed){ &c->blocks.v[i], traced__find(&l->traced, c->blocks.v[i].addr), i, look__is_unreached(l, i) };
	l->h->n_list_of = n;
	qsort(v, n, sizeof(*v), l->o->list_oldest ? by_site_and_age : by_site_and_size);
	/* all sites have their part of the room */
	n = keep_first(v, n, MIN(l->o->list, MAX(LISTED_OF_SITE, MAX_LISTED / n_sites_of(v, n))));
	qsort(v, n, sizeof(*v), l->o->list_oldest ? by_age : by_size);
	n = MIN(n, (size_t)MAX_LISTED);
	to = snapshot__alloc(l->s, n + 1, sizeof(*to));
	for (size_t i = 0; i < n; i++) {
		const struct traced_block *t = v[i].traced;

		to[i] = (struct snap_block){ .addr = v[i].block->addr, .bytes = v[i].block->usable, .reach = reach_of(l, v[i].at) };
		/* the trace's number of it: the caller, who knows the snapshot's, puts that there */
		to[i].site = t ? t->site + 1 : 0;
		to[i].age_ns = t && t->born_ns && t->born_ns < now ? now - t->born_ns : 0;
		to[i].tid = t ? t->tid : 0;
	}
	l->h->list = to;
	l->h->n_list = n;
	name_kinds(l, v, n, to);
}

/* ---- who holds what */

/* Owns the sums by holder. How many roots there may be is bounded by reach.h. */

#define MAX_HOLDERS 64

static bool is_same(const struct snap_root *a, const struct snap_root *b)
{
	return a->kind == b->kind && !strcmp(a->name, b->name) && !a->module == !b->module &&
	       (!a->module || !strcmp(a->module, b->module));
}

struct named {
	struct snap_root root;
	uint32_t at;		/* of the roots */
};

COMPARATOR(by_name, struct named,
	   ORDER(a->root.kind, b->root.kind) ?: strcmp(a->root.name, b->root.name) ?:
	   strcmp(a->root.module ?: "", b->root.module ?: ""))

COMPARATOR(by_bytes, struct snap_root, ORDER(b->bytes, a->bytes) ?: strcmp(a->name, b->name))

/* Sums, in the order of names; of_root are indexes into that. */
static void add_up(struct holders *h, const struct named *v, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct snap_root *last = h->v.n ? &h->v.v[h->v.n - 1] : NULL;

		if (!last || !is_same(last, &v[i].root)) {
			last = vec_push(&h->v);
			*last = v[i].root;
			last->blocks = last->bytes = 0;
		}
		last->blocks += v[i].root.blocks;
		last->bytes += v[i].root.bytes;
		h->of_root[v[i].at] = (uint32_t)h->v.n;
	}
}

/* The most bytes first; of_root follows. */
static void rank(struct holders *h, size_t n_roots)
{
	struct ranked {
		struct snap_root root;
		uint32_t was;
	};
	_cleanup_free_ struct ranked *v = xcalloc(h->v.n + 1, sizeof(*v));
	_cleanup_free_ uint32_t *to = xcalloc(h->v.n + 1, sizeof(*to));

	for (size_t i = 0; i < h->v.n; i++)
		v[i] = (struct ranked){ h->v.v[i], (uint32_t)i };
	/* the root comes first in it */
	qsort(v, h->v.n, sizeof(*v), by_bytes);
	for (size_t i = 0; i < h->v.n; i++) {
		h->v.v[i] = v[i].root;
		to[v[i].was] = (uint32_t)i + 1;
	}
	for (size_t i = 0; i < n_roots; i++)
		if (h->of_root[i])
			h->of_root[i] = to[h->of_root[i] - 1];
}

void holders__make(const struct reach_result *r, struct parts *parts, struct holders *ret)
{
	size_t n = r->roots.n;
	_cleanup_free_ struct named *v = xcalloc(n + 1, sizeof(*v));

	*ret = (struct holders){ .of_root = xcalloc(r->roots.n + 1, sizeof(*ret->of_root)) };
	for (size_t i = 0; i < n; i++) {
		const struct reach_root *root = &r->roots.v[i];

		parts__name_root(parts, root->addr, root->tid, &v[i].root);
		v[i].root.blocks = root->blocks;
		v[i].root.bytes = root->bytes;
		v[i].at = (uint32_t)i;
	}
	qsort(v, n, sizeof(*v), by_name);
	add_up(ret, v, n);
	rank(ret, r->roots.n);
}

void holders__done(struct holders *h)
{
	vec_done(&h->v);
	free(h->of_root);
	*h = (struct holders){};
}

const struct snap_root *holders__of(const struct holders *h, const struct reach_result *r, size_t block)
{
	uint32_t root = r->root && h->of_root ? r->root[block] : 0, holder = root ? h->of_root[root - 1] : 0;

	return holder ? &h->v.v[holder - 1] : NULL;
}

void holders__put(const struct holders *h, struct snapshot *s, struct snap_heap *to)
{
	size_t n = MIN(h->v.n, (size_t)MAX_HOLDERS);
	struct snap_root *v = snapshot__alloc(s, n + 1, sizeof(*v));

	for (size_t i = 0; i < n; i++)
		v[i] = *snap_root__copy(s, &h->v.v[i]);
	to->roots_known = true;
	to->roots = v;
	to->n_roots = n;
}
