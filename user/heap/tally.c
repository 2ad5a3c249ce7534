// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the sums by size and by kind. What always holds: the classes add up to all blocks; the types of a size add
 * up to its blocks, whether all of these were looked at or some stand for them.
 */
#include "heap/look.h"

#include <math.h>
#include <string.h>

#define MAX_SHARES 8	/* kinds that are listed of a size */
#define MAX_TYPES 256

void tally__init(struct tally *t)
{
	*t = (struct tally){ .classes = xcalloc(N_SIZE_CLASSES, sizeof(*t->classes)) };
}

void tally__done(struct tally *t)
{
	free(t->classes);
	vec_done(&t->kinds);
	*t = (struct tally){};
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

void tally__add(struct tally *t, const struct heap_block *b, const struct block_facts *f, bool unreached)
{
	uint32_t class = size_class__of(b->usable);
	struct tally_class *c = &t->classes[class];

	c->usable = b->usable;
	c->blocks++;
	c->bytes += b->usable;
	if (unreached) {
		c->unreached_blocks++;
		c->unreached_bytes += b->usable;
	}
	if (!f->kind || !f->counts)
		return;
	c->sampled++;
	/* where rows repeat themselves there is room to be had; where they do not, it doubles */
	if (t->kinds.n >= JOIN_AT && t->kinds.n == t->kinds.room)
		join(t);
	count_kind(t, class, f->kind, b->usable);
}

void tally__end(struct tally *t)
{
	join(t);
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

void tally__classes(const struct tally *t, struct snapshot *s, const struct snap_class **ret, size_t *ret_n)
{
	struct snap_class *v;
	size_t n = 0, kind = 0;

	for (uint32_t i = 0; i < N_SIZE_CLASSES; i++)
		n += t->classes[i].blocks > 0;
	v = snapshot__alloc(s, n + 1, sizeof(*v));
	n = 0;
	for (uint32_t i = 0; i < N_SIZE_CLASSES; i++) {
		const struct tally_class *c = &t->classes[i];
		struct snap_class *to = &v[n];
		size_t from;

		while (kind < t->kinds.n && t->kinds.v[kind].class < i)
			kind++;
		for (from = kind; kind < t->kinds.n && t->kinds.v[kind].class == i; kind++)
			;
		if (!c->blocks)
			continue;
		*to = (struct snap_class){ .blocks = c->blocks, .bytes = c->bytes, .unreached_blocks = c->unreached_blocks,
					   .unreached_bytes = c->unreached_bytes, .sampled = c->sampled };
		to->usable = size_class__from(i, &to->below);
		if (!to->below)
			to->usable = c->usable;
		if (kind > from)
			put_shares(t, from, kind, s, to);
		n++;
	}
	*ret = v;
	*ret_n = n;
}

COMPARATOR(by_bytes, struct snap_type, ORDER(b->bytes, a->bytes) ?: strcmp(a->name, b->name))

COMPARATOR(by_name, struct snap_type, strcmp(a->name, b->name))

/* What a row stands for; of the last row of a class, what is left, so that sums hold. */
static void scale(const struct tally *t, size_t i, struct tally_class *dealt, struct snap_type *ret)
{
	const struct tally_kind *row = &t->kinds.v[i];
	const struct tally_class *c = &t->classes[row->class];
	bool last = i + 1 == t->kinds.n || t->kinds.v[i + 1].class != row->class;
	double part = (double)row->blocks / (double)c->sampled;
	struct tally_class *d = &dealt[row->class];
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

void tally__types(const struct tally *t, struct snapshot *s, const struct snap_type **ret, size_t *ret_n)
{
	_cleanup_free_ struct tally_class *dealt = xcalloc(N_SIZE_CLASSES, sizeof(*dealt));
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
