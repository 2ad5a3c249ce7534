// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the members of heaps. What always holds: of a heap whose layout was not recognised there
 * are no figures, but null; a heap that was read is of a process that is there, or of one that is
 * made for it; a listed block names a site that is there, or none.
 */
#include <errno.h>

#include "files/json/json_members.h"
#include "model/heaps.h"

/* ---- rows of several of its objects */

static const struct member class_members[] = {
	ROWS("types", &share_fields, snap_class, types, n_types, .any = AT(snap_class, n_types)), {},
};

#define CLASSES(type, v, n, ...) \
	ROWS("classes", &class_fields, type, v, n, .members = class_members, .row_line = 8, __VA_ARGS__)
#define TYPES(type, v, n, ...) ROWS("types", &type_fields, type, v, n, .row_line = 8, __VA_ARGS__)

/* ---- --view blocks */

/* The number of one of "sites". */
static void write_site(struct writer *w, const struct member *m, const void *row)
{
	const struct snap_block *b = row;

	json__u64_or_null(w->j, m->key, b->site, b->site - 1);
}

static int read_site(struct reader *r, const struct member *m, json_t *from, void *row)
{
	json_t *site = json_object_get(from, m->key);
	struct snap_block *b = row;

	if (!json_value__is_there(site))
		return 0;
	if (!json_is_integer(site) || json_integer_value(site) < 0 ||
	    (uint64_t)json_integer_value(site) >= r->s->n_sites)
		return err_set(r->e, -EINVAL, "blocks: site: want the number of a site");
	b->site = (uint32_t)json_integer_value(site) + 1;
	return 0;
}

/* ---- heaps */

/* They are the heap's own where a row of processes is of several. */
static void write_whose(struct writer *w, const struct member *m, const void *row)
{
	json__i64(w->j, "pid", heap__pid(w->s, row));
	json__str(w->j, "comm", heap__comm(w->s, row));
}

const struct member heap_members[] = {
	PROCESS(snap_heap),
	OF_FIELDS(THESE(ROW("pid", FIELD_INT, AT(snap_heap, pid)),
			ROW("comm", FIELD_STR, AT(snap_heap, comm))),
		  .write = write_whose),
	OF_FIELDS(&heap_fields),
	OBJECT("in_use", &heap_in_use_fields, .needs = KNOWN_HEAP, .line = 6),
	OBJECT("free", &heap_free_fields, .needs = KNOWN_HEAP, .line = 6),
	OBJECT("skipped", &heap_skipped_fields, .needs = KNOWN_HEAP, .line = 6),
	ROWS("arenas", &arena_fields, snap_heap, arenas, n_arenas, .line = 6, .row_line = 8),
	CLASSES(snap_heap, classes, n_classes, .line = 6),
	TYPES(snap_heap, types, n_types, .line = 6),
	OBJECT("older", &heap_older_fields, .flag = AT(snap_heap, older_known), .line = 6,
	       MEMBERS(CLASSES(snap_heap, older_classes, n_older_classes),
		       TYPES(snap_heap, older_types, n_older_types))),
	OBJECT("unreached", &unreached_fields, .offset = AT(snap_heap, unreached), .line = 6,
	       .needs = KNOWN_SEARCHED,
	       MEMBERS(CLASSES(snap_unreached, classes, n_classes),
		       TYPES(snap_unreached, types, n_types))),
	ROWS("roots", &root_fields, snap_heap, roots, n_roots, .line = 6, .row_line = 8,
	     .flag = AT(snap_heap, roots_known)),
	ROWS("parts", &part_fields, snap_heap, parts, n_parts, .line = 6, .row_line = 8,
	     MEMBERS(STACK(snap_part, OR_ABSENT))),	/* --mmap: where it was mapped */
	OF_FIELDS(THESE(ROW("blocks_of", FIELD_U64, AT(snap_heap, n_list_of))), .line = 6,
		  .any = AT(snap_heap, n_list), OR_ABSENT),
	ROWS("blocks", &block_fields, snap_heap, list, n_list, .row_line = 8,
	     .any = AT(snap_heap, n_list), OR_ABSENT, MEMBERS(OWN("site", write_site, read_site))),
	{},
};

/* ---- files of the contract's least, which have no processes of their own */

static int number_process(struct reader *r, const struct member *m, json_t *from, void *row)
{
	const struct snap_process *p = row;
	uint32_t index;
	bool is_new;

	key_ids__get(&r->process_ids, (struct key){ .a = p->id }, &index, &is_new);
	return is_new ? 0 : err_set(r->e, -EINVAL, "heap: two have the process %u", p->id);
}

static const struct fields *const process_of_heap_fields =
	THESE(ROW("process", FIELD_U32, AT(snap_process, id)),
	      ROW("pid", FIELD_INT, AT(snap_process, pid)),
	      ROW("comm", FIELD_STR, AT(snap_process, comm), .missing = ""),
	      ROW("rss_bytes", FIELD_U64, AT(snap_process, rss_bytes)));

int reader__processes_of_heaps(struct reader *r, const struct member *m, json_t *from, void *row)
{
	const struct member processes =
		ROWS("heap", process_of_heap_fields, snapshot, processes, n_processes,
		     MEMBERS(OWN(NULL, NULL, number_process)), .max = HEAPS_MAX);

	return r->s->n_processes ? 0 : reader__rows(r, &processes, from, row);
}

int reader__heaps(struct reader *r, const struct member *m, json_t *from, void *row)
{
	snapshot__set_heaps(r->s, r->s->heaps, r->s->n_heaps);
	return 0;
}
