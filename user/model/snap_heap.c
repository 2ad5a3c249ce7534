// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Copies of what was found in memory, from one snapshot into another. Strings are those that the tables of fields name. */
#include <string.h>

#include "model/schema.h"

static void own_strings(struct snapshot *s, const struct fields *fields, void *row)
{
	for (size_t i = 0; i < fields->n; i++) {
		const char **str = (const char **)((char *)row + fields->v[i].offset);

		if (fields->v[i].type == FIELD_STR)
			*str = snapshot__strdup(s, *str);
	}
}

static void *copy_rows(struct snapshot *s, const struct fields *fields, const void *from, size_t n, size_t size)
{
	char *to = snapshot__alloc(s, n + 1, size);

	if (n)
		memcpy(to, from, n * size);
	for (size_t i = 0; i < n; i++)
		own_strings(s, fields, to + i * size);
	return to;
}
#define COPY(s, fields, from, n) copy_rows(s, &(fields), from, n, sizeof(*(from)))

static const struct snap_class *copy_classes(struct snapshot *s, const struct snap_class *from, size_t n)
{
	struct snap_class *to = COPY(s, class_fields, from, n);

	for (size_t i = 0; i < n; i++)
		to[i].types = COPY(s, share_fields, from[i].types, from[i].n_types);
	return to;
}

const struct snap_root *snap_root__copy(struct snapshot *s, const struct snap_root *root)
{
	return COPY(s, root_fields, root, 1);
}

static const struct snap_part *copy_parts(struct snapshot *s, const struct snap_part *from, size_t n)
{
	struct snap_part *to = COPY(s, part_fields, from, n);

	for (size_t i = 0; i < n; i++)
		if (from[i].n_stack)
			to[i].stack = memcpy(snapshot__alloc(s, from[i].n_stack, sizeof(*to[i].stack)), from[i].stack,
					     from[i].n_stack * sizeof(*to[i].stack));
	return to;
}

struct snap_heap snap_heap__copy(struct snapshot *s, const struct snap_heap *h)
{
	struct snap_heap to = *h;

	own_strings(s, &heap_fields, &to);
	own_strings(s, &unreached_fields, &to.unreached);
	to.comm = snapshot__strdup(s, h->comm);
	to.older_classes = copy_classes(s, h->older_classes, h->n_older_classes);
	to.older_types = COPY(s, type_fields, h->older_types, h->n_older_types);
	to.arenas = COPY(s, arena_fields, h->arenas, h->n_arenas);
	to.classes = copy_classes(s, h->classes, h->n_classes);
	to.types = COPY(s, type_fields, h->types, h->n_types);
	to.unreached.classes = copy_classes(s, h->unreached.classes, h->unreached.n_classes);
	to.unreached.types = COPY(s, type_fields, h->unreached.types, h->unreached.n_types);
	to.roots = COPY(s, root_fields, h->roots, h->n_roots);
	to.parts = copy_parts(s, h->parts, h->n_parts);
	to.list = COPY(s, block_fields, h->list, h->n_list);
	return to;
}
