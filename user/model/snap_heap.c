// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Copies of what was found in memory, from one snapshot into another. */
#include <string.h>

#include "model/snapshot.h"

static const struct snap_share *copy_shares(struct snapshot *s, const struct snap_share *from, size_t n)
{
	struct snap_share *to = snapshot__alloc(s, n + 1, sizeof(*to));

	for (size_t i = 0; i < n; i++) {
		to[i] = from[i];
		to[i].name = snapshot__strdup(s, from[i].name);
	}
	return to;
}

static const struct snap_class *copy_classes(struct snapshot *s, const struct snap_class *from, size_t n)
{
	struct snap_class *to = snapshot__alloc(s, n + 1, sizeof(*to));

	for (size_t i = 0; i < n; i++) {
		to[i] = from[i];
		to[i].types = copy_shares(s, from[i].types, from[i].n_types);
	}
	return to;
}

static const struct snap_type *copy_types(struct snapshot *s, const struct snap_type *from, size_t n)
{
	struct snap_type *to = snapshot__alloc(s, n + 1, sizeof(*to));

	for (size_t i = 0; i < n; i++) {
		to[i] = from[i];
		to[i].name = snapshot__strdup(s, from[i].name);
	}
	return to;
}

static void copy_root(struct snapshot *s, const struct snap_root *from, struct snap_root *to)
{
	*to = *from;
	to->name = snapshot__strdup(s, from->name);
	to->module = snapshot__strdup(s, from->module);
}

const struct snap_root *snap_root__copy(struct snapshot *s, const struct snap_root *root)
{
	struct snap_root *to = snapshot__alloc(s, 1, sizeof(*to));

	copy_root(s, root, to);
	return to;
}

static const struct snap_root *copy_roots(struct snapshot *s, const struct snap_root *from, size_t n)
{
	struct snap_root *to = snapshot__alloc(s, n + 1, sizeof(*to));

	for (size_t i = 0; i < n; i++)
		copy_root(s, &from[i], &to[i]);
	return to;
}

static const struct snap_part *copy_parts(struct snapshot *s, const struct snap_part *from, size_t n)
{
	struct snap_part *to = snapshot__alloc(s, n + 1, sizeof(*to));

	for (size_t i = 0; i < n; i++) {
		to[i] = from[i];
		to[i].name = snapshot__strdup(s, from[i].name);
		to[i].module = snapshot__strdup(s, from[i].module);
		if (from[i].n_stack)
			to[i].stack = memcpy(snapshot__alloc(s, from[i].n_stack, sizeof(*to[i].stack)), from[i].stack,
					     from[i].n_stack * sizeof(*to[i].stack));
	}
	return to;
}

static const struct snap_block *copy_list(struct snapshot *s, const struct snap_block *from, size_t n)
{
	struct snap_block *to = snapshot__alloc(s, n + 1, sizeof(*to));

	for (size_t i = 0; i < n; i++) {
		to[i] = from[i];
		to[i].type = snapshot__strdup(s, from[i].type);
	}
	return to;
}

struct snap_heap snap_heap__copy(struct snapshot *s, const struct snap_heap *h)
{
	struct snap_heap to = *h;

	to.refused = snapshot__strdup(s, h->refused);
	to.allocator = snapshot__strdup(s, h->allocator);
	to.other_allocator = snapshot__strdup(s, h->other_allocator);
	to.comm = snapshot__strdup(s, h->comm);
	to.older_classes = copy_classes(s, h->older_classes, h->n_older_classes);
	to.older_types = copy_types(s, h->older_types, h->n_older_types);
	if (h->n_arenas)
		to.arenas = memcpy(snapshot__alloc(s, h->n_arenas, sizeof(*to.arenas)), h->arenas, h->n_arenas * sizeof(*to.arenas));
	to.classes = copy_classes(s, h->classes, h->n_classes);
	to.types = copy_types(s, h->types, h->n_types);
	to.unreached.classes = copy_classes(s, h->unreached.classes, h->unreached.n_classes);
	to.unreached.types = copy_types(s, h->unreached.types, h->unreached.n_types);
	to.unreached.registers = snapshot__strdup(s, h->unreached.registers);
	to.roots = copy_roots(s, h->roots, h->n_roots);
	to.parts = copy_parts(s, h->parts, h->n_parts);
	to.list = copy_list(s, h->list, h->n_list);
	return to;
}
