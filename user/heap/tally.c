// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the sums by size and by kind, and the list of --view blocks. What always holds: the classes add up to all
 * blocks; the types of a size add up to its blocks, whether all of these were looked at or some stand for them.
 */
#include "heap/look.h"

#include <string.h>

#define MAX_SHARES 8	/* kinds that are listed of a size */
#define MAX_TYPES 256

void tally__init(struct tally *t)
{
	*t = (struct tally){ .classes = xcalloc(N_SIZE_CLASSES, sizeof(*t->classes)) };
}

/* Neighbours are often alike: the last rows are looked at first, and few kinds share a size. */
#define ROWS_BACK 64

static void count_kind(struct tally *t, uint32_t class, const struct kind *kind, uint64_t bytes)
{
	size_t from = t->kinds.n > ROWS_BACK ? t->kinds.n - ROWS_BACK : 0;
	struct tally_kind *row;

	for (size_t i = t->kinds.n; i-- > from;) {
		row = &t->kinds.v[i];
		if (row->class == class && row->kind == kind) {
			row->blocks++;
			row->bytes += bytes;
			return;
		}
	}
	*vec_push(&t->kinds) = (struct tally_kind){ kind, class, 1, bytes };
}

COMPARATOR(by_class_and_kind, struct tally_kind,
	   ORDER(a->class, b->class) ?: ORDER(a->kind, b->kind))

/* One row for each class and kind. */
static void join(struct tally *t)
{
	size_t to = 0;

	if (!t->kinds.n)
		return;
	qsort(t->kinds.v, t->kinds.n, sizeof(*t->kinds.v), by_class_and_kind);
	for (size_t i = 1; i < t->kinds.n; i++) {
		struct tally_kind *row = &t->kinds.v[to], *next = &t->kinds.v[i];

		if (by_class_and_kind(row, next)) {
			t->kinds.v[++to] = *next;
			continue;
		}
		row->blocks += next->blocks;
		row->bytes += next->bytes;
	}
	t->kinds.n = to + 1;
}

#define JOIN_AT 4096

void tally__add(struct tally *t, const struct heap_block *b, const struct kind *kind, bool unreached)
{
	uint32_t class = size_class__of(b->usable);
	struct snap_class *c = &t->classes[class];

	c->usable = b->usable;
	c->blocks++;
	c->bytes += b->usable;
	if (unreached) {
		c->unreached_blocks++;
		c->unreached_bytes += b->usable;
	}
	if (!kind)
		return;
	c->sampled++;
	/* where rows repeat themselves there is room to be had; where they do not, it doubles */
	if (t->kinds.n >= JOIN_AT && t->kinds.n == t->kinds.room)
		join(t);
	count_kind(t, class, kind, b->usable);
}

/* ---- into a snapshot */

COMPARATOR(by_share, struct snap_share, ORDER(b->share, a->share) ?: strcmp(a->name, b->name))

/* The kinds of one class: rows from..to. */
static void put_shares(const struct tally *t, size_t from, size_t to, struct snapshot *s, struct snap_class *c)
{
	struct snap_share *v = snapshot__alloc(s, to - from + 1, sizeof(*v));

	for (size_t i = from; i < to; i++) {
		const struct tally_kind *row = &t->kinds.v[i];

		v[i - from] = (struct snap_share){ snapshot__strdup(s, row->kind->name), (double)row->blocks / (double)c->sampled,
						   row->kind->is_class };
	}
	qsort(v, to - from, sizeof(*v), by_share);
	c->types = v;
	c->n_types = MIN(to - from, (size_t)MAX_SHARES);
}

/* Where the range of a class begins, and ends; *ret_below 0: it is a single size, which its first block tells. */
static uint64_t range_from(uint32_t class, uint64_t *ret_below)
{
	*ret_below = 0;
	if (class < SIZE_CLASS_EXACT)
		return class * (uint64_t)SIZE_CLASS_STEP;
	*ret_below = 65536ull << (class - SIZE_CLASS_EXACT + 1);
	return 65536ull << (class - SIZE_CLASS_EXACT);
}

static void put_classes(const struct tally *t, struct snapshot *s, const struct snap_class **ret, size_t *ret_n)
{
	struct snap_class *v;
	size_t n = 0, kind = 0;

	for (uint32_t i = 0; i < N_SIZE_CLASSES; i++)
		n += t->classes[i].blocks > 0;
	v = snapshot__alloc(s, n + 1, sizeof(*v));
	*ret = v;
	*ret_n = n;
	for (uint32_t i = 0; i < N_SIZE_CLASSES; i++) {
		uint64_t from, below;
		size_t first = kind;

		/* a class without blocks has no kinds either */
		if (!t->classes[i].blocks)
			continue;
		while (kind < t->kinds.n && t->kinds.v[kind].class == i)
			kind++;
		*v = t->classes[i];
		from = range_from(i, &below);
		v->usable = below ? from : v->usable;
		v->below = below;
		if (kind > first)
			put_shares(t, first, kind, s, v);
		v++;
	}
}

COMPARATOR(by_bytes, struct snap_type, ORDER(b->bytes, a->bytes) ?: strcmp(a->name, b->name))

COMPARATOR(by_name, struct snap_type, strcmp(a->name, b->name))

/* What a row stands for; of the last row of a class, what is left, so that sums hold. */
static void scale(const struct tally *t, size_t i, struct snap_class *dealt, struct snap_type *ret)
{
	const struct tally_kind *row = &t->kinds.v[i];
	const struct snap_class *c = &t->classes[row->class];
	bool last = i + 1 == t->kinds.n || t->kinds.v[i + 1].class != row->class;
	double part = (double)row->blocks / (double)c->sampled;
	struct snap_class *d = &dealt[row->class];
	uint64_t blocks = last ? c->blocks - d->blocks : (uint64_t)((double)c->blocks * part);
	uint64_t bytes = last ? c->bytes - d->bytes : (uint64_t)((double)c->bytes * part);

	if (c->sampled == c->blocks) {
		blocks = row->blocks;
		bytes = row->bytes;
	}
	d->blocks += blocks;
	d->bytes += bytes;
	*ret = (struct snap_type){ row->kind->name, blocks, bytes, row->kind->is_class, c->sampled < c->blocks };
}

static void put_types(const struct tally *t, struct snapshot *s, const struct snap_type **ret, size_t *ret_n)
{
	_cleanup_free_ struct snap_class *dealt = xcalloc(N_SIZE_CLASSES, sizeof(*dealt));
	_cleanup_free_ struct snap_type *v = xcalloc(t->kinds.n + 1, sizeof(*v));
	struct snap_type *kept;
	size_t n = 0;

	for (size_t i = 0; i < t->kinds.n; i++)
		scale(t, i, dealt, &v[i]);
	qsort(v, t->kinds.n, sizeof(*v), by_name);
	for (size_t i = 0; i < t->kinds.n; i++) {
		if (!n || strcmp(v[n - 1].name, v[i].name)) {
			v[n++] = v[i];
			continue;
		}
		v[n - 1].blocks += v[i].blocks;
		v[n - 1].bytes += v[i].bytes;
		v[n - 1].estimated |= v[i].estimated;
	}
	qsort(v, n, sizeof(*v), by_bytes);
	/* one row for all that are not listed */
	for (size_t i = MAX_TYPES; i < n; i++) {
		if (i > MAX_TYPES) {
			v[MAX_TYPES].blocks += v[i].blocks;
			v[MAX_TYPES].bytes += v[i].bytes;
			v[MAX_TYPES].estimated |= v[i].estimated;
		}
		v[MAX_TYPES].name = "(the rest)";
		v[MAX_TYPES].is_class = false;
	}
	n = MIN(n, (size_t)MAX_TYPES + 1);
	kept = snapshot__alloc(s, n + 1, sizeof(*kept));
	for (size_t i = 0; i < n; i++) {
		kept[i] = v[i];
		kept[i].name = snapshot__strdup(s, v[i].name);
	}
	*ret = kept;
	*ret_n = n;
}

void tally__put(struct tally *t, struct snapshot *s, const struct snap_class **ret_classes, size_t *ret_n_classes,
		const struct snap_type **ret_types, size_t *ret_n_types)
{
	join(t);
	put_classes(t, s, ret_classes, ret_n_classes);
	put_types(t, s, ret_types, ret_n_types);
	free(t->classes);
	vec_done(&t->kinds);
}

/* ---- the list of --view blocks */

/* Of each site those without a pointer, then the oldest or largest, so that a view of some sites has theirs. */

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
