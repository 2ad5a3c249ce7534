// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns how heaps are read. What always holds: a heap is of a process that is there, or of one that is made for it;
 * a listed block names a site that is there, or none; names are there.
 */
#include <errno.h>

#include "files/json/json_fields.h"
#include "model/heaps.h"

#define HEAPS_MAX 100000

/* A name that is not there is none of ours, but nothing that could not be shown. */
static void named(const char **name, size_t n, size_t size)
{
	for (size_t i = 0; i < n; i++, name = (const char **)((char *)name + size))
		if (!*name)
			*name = "?";
}
#define NAMED(v, n) named((const char **)&((__typeof__(*(v)) *)(v))->name, n, sizeof(*(v)))

static bool is_there(json_t *v)
{
	return v && !json_is_null(v);
}

static int read_shares(struct reader *r, json_t *from, const struct snap_share **to, size_t *n)
{
	int err = READ_ROWS(r, from, "types", &share_fields, to, n);

	if (!err)
		NAMED(*to, *n);
	return err;
}

static int read_root(struct reader *r, json_t *from, const struct snap_root **ret)
{
	struct snap_root *to = snapshot__alloc(r->s, 1, sizeof(*to));
	int err = reader__row(r, from, to, &root_fields, "held");

	NAMED(to, 1);
	*ret = to;
	return err;
}

int reader__site_blocks(struct reader *r, json_t *from, struct snap_site *to)
{
	json_t *held = json_object_get(from, "held");

	/* a file of the contract's least does not tell blocks that came after the search */
	if (json_is_integer(json_object_get(from, "unreached_blocks")) && !json_object_get(from, "looked_blocks"))
		to->looked_blocks = to->c.live_blocks;
	return read_shares(r, from, &to->types, &to->n_types) ?: is_there(held) ? read_root(r, held, &to->held) : 0;
}

static int read_classes(struct reader *r, json_t *from, const struct snap_class **to, size_t *n)
{
	int err = READ_ROWS(r, from, "classes", &class_fields, to, n);
	struct snap_class *v = (struct snap_class *)*to;
	json_t *array = json_object_get(from, "classes");

	for (size_t i = 0; !err && i < *n; i++)
		err = read_shares(r, json_array_get(array, i), &v[i].types, &v[i].n_types);
	return err;
}

static int read_types(struct reader *r, json_t *from, const struct snap_type **to, size_t *n)
{
	int err = READ_ROWS(r, from, "types", &type_fields, to, n);

	if (!err)
		NAMED(*to, *n);
	return err;
}

static int read_parts(struct reader *r, json_t *from, struct snap_heap *h)
{
	int err = READ_ROWS(r, from, "parts", &part_fields, &h->parts, &h->n_parts);
	struct snap_part *v = (struct snap_part *)h->parts;
	json_t *array = json_object_get(from, "parts");

	if (!err)
		NAMED(v, h->n_parts);
	for (size_t i = 0; !err && i < h->n_parts; i++) {
		json_t *one = json_array_get(array, i);

		if (json_object_get(one, "stack"))
			err = reader__stack(r, one, &v[i].n_stack, &v[i].stack);
	}
	return err;
}

static int read_blocks(struct reader *r, json_t *from, struct snap_heap *h)
{
	static const struct field of = ROW("blocks_of", FIELD_U64, AT(snap_heap, n_list_of));
	int err = reader__row(r, from, h, &(struct fields){ &of, 1 }, "heap") ?: READ_ROWS(r, from, "blocks", &block_fields, &h->list, &h->n_list);
	struct snap_block *v = (struct snap_block *)h->list;
	json_t *array = json_object_get(from, "blocks");

	for (size_t i = 0; !err && i < h->n_list; i++) {
		json_t *site = json_object_get(json_array_get(array, i), "site");

		if (!is_there(site))
			continue;
		if (!json_is_integer(site) || json_integer_value(site) < 0 || (uint64_t)json_integer_value(site) >= r->s->n_sites)
			return err_set(r->e, -EINVAL, "blocks: site: want the number of a site");
		v[i].site = (uint32_t)json_integer_value(site) + 1;
	}
	return err;
}

static int read_objects(struct reader *r, json_t *from, struct snap_heap *h)
{
	static const struct {
		const char *key;
		const struct fields *fields;
	} objects[] = { { "in_use", &heap_in_use_fields }, { "free", &heap_free_fields }, { "skipped", &heap_skipped_fields } };
	int err = reader__row(r, from, h, &heap_fields, "heap");

	for (size_t i = 0; i < ARRAY_SIZE(objects) && !err; i++) {
		json_t *v = json_object_get(from, objects[i].key);

		if (is_there(v))
			err = reader__row(r, v, h, objects[i].fields, objects[i].key);
	}
	return err;
}

static int read_unreached(struct reader *r, json_t *from, struct snap_unreached *u)
{
	json_t *v = json_object_get(from, "unreached");

	if (!is_there(v))
		return 0;
	return reader__row(r, v, u, &unreached_fields, "unreached") ?: read_classes(r, v, &u->classes, &u->n_classes) ?:
	       read_types(r, v, &u->types, &u->n_types);
}

static int read_older(struct reader *r, json_t *from, struct snap_heap *h)
{
	json_t *v = json_object_get(from, "older");

	h->older_known = is_there(v);
	if (!h->older_known)
		return 0;
	return reader__row(r, v, h, &heap_older_fields, "older") ?: read_classes(r, v, &h->older_classes, &h->n_older_classes) ?:
	       read_types(r, v, &h->older_types, &h->n_older_types);
}

static int read_heap(struct reader *r, json_t *from, void *row)
{
	static const struct field whose[] = {
		ROW("pid", FIELD_INT, AT(snap_heap, pid)),
		ROW("comm", FIELD_STR, AT(snap_heap, comm)),
	};
	struct snap_heap *h = row;
	int err = reader__process_of(r, from, &h->process) ?: reader__row(r, from, h, &(struct fields){ whose, ARRAY_SIZE(whose) }, "heap") ?:
		  read_objects(r, from, h) ?: READ_ROWS(r, from, "arenas", &arena_fields, &h->arenas, &h->n_arenas) ?:
		  read_classes(r, from, &h->classes, &h->n_classes) ?: read_types(r, from, &h->types, &h->n_types) ?: read_older(r, from, h) ?:
		  read_unreached(r, from, &h->unreached) ?: READ_ROWS(r, from, "roots", &root_fields, &h->roots, &h->n_roots) ?:
		  read_parts(r, from, h) ?: read_blocks(r, from, h);

	h->roots_known = is_there(json_object_get(from, "roots"));
	if (!err)
		NAMED(h->roots, h->n_roots);
	return err;
}

/* A file of the contract's least has no processes of its own. */
static int read_whose(struct reader *r, json_t *from, void *row)
{
	static const struct field fields[] = {
		ROW("process", FIELD_U32, AT(snap_process, id)),
		ROW("pid", FIELD_INT, AT(snap_process, pid)),
		ROW("comm", FIELD_STR, AT(snap_process, comm)),
		ROW("rss_bytes", FIELD_U64, AT(snap_process, rss_bytes)),
	};
	struct snap_process *p = row;
	uint32_t index;
	bool is_new;
	int err;

	p->comm = "";
	err = reader__row(r, from, p, &(struct fields){ fields, ARRAY_SIZE(fields) }, "heap") ?:
	      key_ids__get(&r->process_ids, (struct key){ .a = p->id }, &index, &is_new);
	return !err && !is_new ? err_set(r->e, -EINVAL, "heap: two have the process %u", p->id) : err;
}

int reader__heaps(struct reader *r, const struct span *piece)
{
	struct snap_heap *heaps;
	size_t n;
	int err;

	/* "null" */
	if (!piece->at || *piece->at == 'n')
		return 0;
	err = reader__count(r, *piece, "heap", HEAPS_MAX, &n);
	if (err)
		return err;
	if (!r->s->n_processes) {
		struct snap_process *processes = snapshot__alloc(r->s, n + 1, sizeof(*processes));

		err = reader__elements(r, *piece, "heap", read_whose, processes, sizeof(*processes));
		r->s->processes = processes;
		r->s->n_processes = n;
	}
	heaps = snapshot__alloc(r->s, n + 1, sizeof(*heaps));
	err = err ?: reader__elements(r, *piece, "heap", read_heap, heaps, sizeof(*heaps));
	if (!err)
		snapshot__set_heaps(r->s, heaps, n);
	return err;
}
