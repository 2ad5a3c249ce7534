// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns how heaps are written. What always holds: of a heap whose layout was not recognised there are no figures,
 * but null; json_read_heap.c reads what is written here.
 */
#include "files/json/json_parts.h"
#include "files/json/json_rows.h"
#include "model/heaps.h"

static void shares(struct json *j, const struct snap_share *v, size_t n)
{
	if (n)
		json__array_of(j, "types", 0, &share_fields, v, n, sizeof(*v), 0);
	else
		json__null(j, "types");
}

void json__site_blocks(struct json *j, const struct snap_site *site)
{
	shares(j, site->types, site->n_types);
	/* no key where it was not asked who holds what */
	if (site->held)
		json__object_of(j, "held", &root_fields, site->held, 0);
}

static void classes(struct json *j, int indent, const struct snap_class *v, size_t n, unsigned int known)
{
	json__array(j, "classes");
	for (size_t i = 0; i < n; i++) {
		json__line(j, indent);
		json__object(j, NULL);
		json__row(j, &class_fields, &v[i], known);
		shares(j, v[i].types, v[i].n_types);
		json__object_end(j);
	}
	json__array_end(j);
}

static void types(struct json *j, int indent, const struct snap_type *v, size_t n, unsigned int known)
{
	json__array_of(j, "types", indent, &type_fields, v, n, sizeof(*v), known);
}

static void parts(struct json *j, const struct snap_heap *h, unsigned int known, struct frame_numbers *frames)
{
	json__array(j, "parts");
	for (size_t i = 0; i < h->n_parts; i++) {
		json__line(j, 8);
		json__object(j, NULL);
		json__row(j, &part_fields, &h->parts[i], known);
		/* --mmap: where it was mapped */
		if (h->parts[i].n_stack)
			json__stack(j, 0, h->parts[i].stack, h->parts[i].n_stack, frames);
		json__object_end(j);
	}
	json__array_end(j);
}

/* --view blocks; "site" is the number of one of "sites". */
static void blocks(struct json *j, const struct snap_heap *h, unsigned int known)
{
	json__u64(j, "blocks_of", h->n_list_of);
	json__array(j, "blocks");
	for (size_t i = 0; i < h->n_list; i++) {
		json__line(j, 8);
		json__object(j, NULL);
		json__row(j, &block_fields, &h->list[i], known);
		if (h->list[i].site)
			json__u64(j, "site", h->list[i].site - 1);
		else
			json__null(j, "site");
		json__object_end(j);
	}
	json__array_end(j);
}

/* An object on a line of its own; null, if it is not known. */
static bool begin(struct json *j, const char *key, bool is_known)
{
	json__line(j, 6);
	if (is_known)
		json__object(j, key);
	else
		json__null(j, key);
	return is_known;
}

static void unreached(struct json *j, const struct snap_heap *h, unsigned int known)
{
	const struct snap_unreached *u = &h->unreached;

	if (!begin(j, "unreached", heap__was_searched(h)))
		return;
	json__row(j, &unreached_fields, u, known);
	classes(j, 8, u->classes, u->n_classes, known);
	types(j, 8, u->types, u->n_types, known);
	json__object_end(j);
}

static void older(struct json *j, const struct snap_heap *h, unsigned int known)
{
	if (!begin(j, "older", h->older_known))
		return;
	json__row(j, &heap_older_fields, h, known);
	classes(j, 8, h->older_classes, h->n_older_classes, known);
	types(j, 8, h->older_types, h->n_older_types, known);
	json__object_end(j);
}

static void object(struct json *j, const char *key, const struct fields *fields, const struct snap_heap *h, unsigned int known)
{
	if (!begin(j, key, !h->refused))
		return;
	json__row(j, fields, h, known);
	json__object_end(j);
}

static void heap(struct json *j, const struct snapshot *s, const struct snap_heap *h, struct frame_numbers *frames)
{
	unsigned int known = heap__known(s, h);

	json__line(j, 4);
	json__object(j, NULL);
	json__u64(j, "process", s->processes[h->process].id);
	json__i64(j, "pid", heap__pid(s, h));
	json__str(j, "comm", heap__comm(s, h));
	json__row(j, &heap_fields, h, known);
	object(j, "in_use", &heap_in_use_fields, h, known);
	object(j, "free", &heap_free_fields, h, known);
	object(j, "skipped", &heap_skipped_fields, h, known);
	json__line(j, 6);
	json__array_of(j, "arenas", 8, &arena_fields, h->arenas, h->n_arenas, sizeof(*h->arenas), known);
	json__line(j, 6);
	classes(j, 8, h->classes, h->n_classes, known);
	json__line(j, 6);
	types(j, 8, h->types, h->n_types, known);
	older(j, h, known);
	unreached(j, h, known);
	json__line(j, 6);
	if (h->roots_known)
		json__array_of(j, "roots", 8, &root_fields, h->roots, h->n_roots, sizeof(*h->roots), known);
	else
		json__null(j, "roots");
	json__line(j, 6);
	parts(j, h, known, frames);
	if (h->n_list) {
		json__line(j, 6);
		blocks(j, h, known);
	}
	json__object_end(j);
}

void json__heaps(struct json *j, const struct snapshot *s, struct frame_numbers *frames)
{
	json__line(j, 2);
	if (!s->n_heaps) {
		json__null(j, "heap");
		return;
	}
	json__array(j, "heap");
	for (size_t i = 0; i < s->n_heaps; i++)
		heap(j, s, &s->heaps[i], frames);
	json__array_end(j);
}
