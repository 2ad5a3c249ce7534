// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns the rows of resident memory while they are summed up, and the choice of those that are shown. */
#include <inttypes.h>
#include <string.h>

#include "heap/parts_inner.h"

size_t part_rows__add(struct part_rows *r, enum part_kind kind, const char *name, const char *module)
{
	struct snap_part *row = vec_push(&r->all);

	if (!row)
		return SIZE_MAX;
	*row = (struct snap_part){ .kind = kind, .name = name, .module = module };
	return r->all.n - 1;
}

size_t part_rows__get(struct part_rows *r, enum part_kind kind, const char *name, const char *module)
{
	uint64_t key = hash__mix(hash__mix(kind, (uintptr_t)name), (uintptr_t)module);
	size_t i = (uintptr_t)hash__get(&r->by_key, key);

	if (i)
		return i - 1;
	i = part_rows__add(r, kind, name, module);
	/* without memory for that it gets a row of its own the next time */
	if (i != SIZE_MAX)
		hash__put(&r->by_key, key, (void *)(uintptr_t)(i + 1));
	return i;
}

void part_rows__done(struct part_rows *r)
{
	vec_done(&r->all);
	hash__done(&r->by_key);
	*r = (struct part_rows){};
}

uint64_t part_rows__resident(const struct part_rows *r)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < r->all.n; i++)
		sum += r->all.v[i].resident_bytes;
	for (size_t i = 0; i < N_PART_KINDS; i++)
		sum += r->rest[i].resident_bytes;
	return sum;
}

/* By kind, the most resident first. */
static int by_size(const void *pa, const void *pb)
{
	const struct snap_part *a = pa, *b = pb;

	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	if (a->resident_bytes != b->resident_bytes)
		return a->resident_bytes > b->resident_bytes ? -1 : 1;
	if (a->mapped_bytes != b->mapped_bytes)
		return a->mapped_bytes > b->mapped_bytes ? -1 : 1;
	if (a->addr != b->addr)
		return a->addr < b->addr ? -1 : 1;
	if (a->tid != b->tid)
		return a->tid < b->tid ? -1 : 1;
	return a->name && b->name ? strcmp(a->name, b->name) : 0;
}

static void add_to(struct snap_part *to, const struct snap_part *from)
{
	to->mapped_bytes += from->mapped_bytes;
	to->resident_bytes += from->resident_bytes;
	to->swapped_bytes += from->swapped_bytes;
}

static const char *name_of(struct snapshot *s, const struct snap_part *row)
{
	char text[32];

	if (row->name)
		return snapshot__strdup(s, row->name);
	snprintf(text, sizeof(text), "at 0x%" PRIx64, row->addr);
	return snapshot__strdup(s, text);
}

void part_rows__put(struct part_rows *r, struct snapshot *s, struct snap_heap *h)
{
	struct snap_part *to = snapshot__alloc(s, r->all.n + N_PART_KINDS, sizeof(*to));
	size_t n = 0;

	if (r->all.n)
		qsort(r->all.v, r->all.n, sizeof(*r->all.v), by_size);
	for (size_t i = 0, kind = 0, n_kind; kind < N_PART_KINDS; kind++) {
		struct snap_part *rest = &r->rest[kind];

		for (n_kind = 0; i < r->all.n && r->all.v[i].kind == kind; i++) {
			const struct snap_part *row = &r->all.v[i];

			if (!row->mapped_bytes && !row->resident_bytes)
				continue;
			if (n_kind++ >= PART_ROWS_MAX) {
				add_to(rest, row);
				continue;
			}
			to[n] = *row;
			to[n].name = name_of(s, row);
			to[n++].module = snapshot__strdup(s, row->module);
		}
		if (rest->mapped_bytes || rest->resident_bytes) {
			to[n] = *rest;
			to[n].kind = kind;
			to[n++].name = PART_REST;
		}
	}
	h->parts = to;
	h->n_parts = n;
}
