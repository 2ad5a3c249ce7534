// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the tables of what a heap has. A heap is one struct, and several objects in files: each has a table
 * of its own. What always holds: keys may be added, never renamed.
 */
#include "model/heaps.h"
#include "model/schema_rows.h"

#define HEAP(key, type, name, ...) ROW(key, type, AT(snap_heap, name), __VA_ARGS__)
#define FIGURE(key, name) HEAP(key, FIELD_U64, name, .needs = KNOWN_HEAP)

FIELDS(heap_fields,
	HEAP("refused", FIELD_STR, refused, .empty = EMPTY_IS_ABSENT),
	HEAP("allocator", FIELD_STR, allocator),
	HEAP("other_allocator", FIELD_STR, other_allocator, .empty = EMPTY_IS_ABSENT),
	HEAP("sites_unknown", FIELD_BOOL, sites_unknown, .empty = EMPTY_IS_ABSENT),
	HEAP("search_interrupted", FIELD_BOOL, search_interrupted, .empty = EMPTY_IS_ABSENT),
	HEAP("paused_ns", FIELD_U64, paused_ns),
	HEAP("at_ns", FIELD_U64, at_ns, .empty = EMPTY_IS_ABSENT),
	HEAP("looked_ns", FIELD_U64, looked_ns),
	HEAP("rss_bytes", FIELD_U64, rss_bytes),
	HEAP("page_table_bytes", FIELD_U64, page_table_bytes),
	HEAP("swap_bytes", FIELD_U64, swap_bytes),
	FIGURE("mapped_blocks", mapped_blocks),
	FIGURE("mapped_bytes", mapped_bytes),
	FIGURE("unsure_blocks", unsure_blocks),
	HEAP("rested", FIELD_BOOL, rested, .empty = EMPTY_IS_ABSENT),
);

FIELDS(heap_in_use_fields, FIGURE("blocks", blocks), FIGURE("bytes", bytes));

FIELDS(heap_free_fields,
	FIGURE("bytes", free_bytes), FIGURE("tcache_bytes", tcache_bytes), FIGURE("bins_bytes", bins_bytes), FIGURE("top_bytes", top_bytes),
	FIGURE("trimmable_bytes", trimmable_bytes), FIGURE("resident_bytes", free_resident_bytes),
);

FIELDS(heap_skipped_fields,
	FIGURE("swapped_bytes", swapped_bytes), FIGURE("broken_bytes", broken_bytes), FIGURE("passed_over_bytes", passed_over_bytes),
);

#define SEARCHED(key, type, name) ROW(key, FIELD_U64, AT(type, name), .needs = KNOWN_SEARCHED)

FIELDS(heap_older_fields,
	FIGURE("blocks", older_blocks),
	FIGURE("bytes", older_bytes),
	FIGURE("unsure_blocks", older_unsure_blocks),
	SEARCHED("unreached_blocks", snap_heap, older_unreached_blocks),
	SEARCHED("unreached_bytes", snap_heap, older_unreached_bytes),
);

FIELDS(unreached_fields,
	ROW("scans", FIELD_U32, AT(snap_unreached, scans)),
	ROW("blocks", FIELD_U64, AT(snap_unreached, blocks)),
	ROW("bytes", FIELD_U64, AT(snap_unreached, bytes)),
	ROW("direct_blocks", FIELD_U64, AT(snap_unreached, direct_blocks)),
	ROW("direct_bytes", FIELD_U64, AT(snap_unreached, direct_bytes)),
	ROW("root_bytes", FIELD_U64, AT(snap_unreached, root_bytes)),
	ROW("swapped_bytes", FIELD_U64, AT(snap_unreached, swapped_bytes)),
	ROW("passed_over_bytes", FIELD_U64, AT(snap_unreached, passed_over_bytes)),
	ROW("unread_shared_bytes", FIELD_U64, AT(snap_unreached, unread_shared_bytes), .empty = EMPTY_IS_ABSENT),
	ROW("async_io", FIELD_BOOL, AT(snap_unreached, async_io), .empty = EMPTY_IS_ABSENT),
	ROW("kept_in_part", FIELD_BOOL, AT(snap_unreached, kept_in_part), .empty = EMPTY_IS_ABSENT),
	ROW("registers", FIELD_STR, AT(snap_unreached, registers)),
	ROW("unread_threads", FIELD_U64, AT(snap_unreached, unread_threads), .empty = EMPTY_IS_ABSENT),
);

#define OF_ARENA(name) ROW(#name, FIELD_U64, AT(snap_arena, name))

FIELDS(arena_fields,
	ROW("main", FIELD_BOOL, AT(snap_arena, main)),
	OF_ARENA(blocks), OF_ARENA(bytes), OF_ARENA(free_bytes), OF_ARENA(tcache_bytes), OF_ARENA(bins_bytes), OF_ARENA(top_bytes),
	OF_ARENA(trimmable_bytes), OF_ARENA(largest_free_bytes), OF_ARENA(mapped_bytes),
);

FIELDS(class_fields,
	ROW("usable", FIELD_U64, AT(snap_class, usable)),
	ROW("below", FIELD_U64, AT(snap_class, below), .empty = EMPTY_IS_ABSENT),
	ROW("blocks", FIELD_U64, AT(snap_class, blocks)),
	ROW("bytes", FIELD_U64, AT(snap_class, bytes)),
	SEARCHED("unreached_blocks", snap_class, unreached_blocks),
	SEARCHED("unreached_bytes", snap_class, unreached_bytes),
	ROW("sampled", FIELD_U64, AT(snap_class, sampled)),
);

FIELDS(share_fields,
	ROW("name", FIELD_STR, AT(snap_share, name), .missing = "?"),
	ROW("share", FIELD_DOUBLE, AT(snap_share, share)),
	ROW("class", FIELD_BOOL, AT(snap_share, is_class)),
);

FIELDS(type_fields,
	ROW("name", FIELD_STR, AT(snap_type, name), .missing = "?"),
	ROW("blocks", FIELD_U64, AT(snap_type, blocks)),
	ROW("bytes", FIELD_U64, AT(snap_type, bytes)),
	ROW("estimated", FIELD_BOOL, AT(snap_type, estimated)),
	ROW("class", FIELD_BOOL, AT(snap_type, is_class)),
);

FIELDS(root_fields,
	ROW("kind", FIELD_ENUM, AT(snap_root, kind), .choices = &root_choices),
	ROW("name", FIELD_STR, AT(snap_root, name), .missing = "?"),
	ROW("module", FIELD_STR, AT(snap_root, module)),
	ROW("bytes", FIELD_U64, AT(snap_root, bytes)),
	ROW("blocks", FIELD_U64, AT(snap_root, blocks)),
);

FIELDS(part_fields,
	ROW("kind", FIELD_ENUM, AT(snap_part, kind), .choices = &part_choices),
	ROW("name", FIELD_STR, AT(snap_part, name), .missing = "?"),
	ROW("module", FIELD_STR, AT(snap_part, module), .empty = EMPTY_IS_ABSENT),
	ROW("tid", FIELD_INT, AT(snap_part, tid), .empty = EMPTY_IS_ABSENT),
	ROW("address", FIELD_ADDR, AT(snap_part, addr), .empty = EMPTY_IS_ABSENT),
	ROW("mapped_bytes", FIELD_U64, AT(snap_part, mapped_bytes)),
	ROW("resident_bytes", FIELD_U64, AT(snap_part, resident_bytes)),
	ROW("swapped_bytes", FIELD_U64, AT(snap_part, swapped_bytes)),
	ROW("deepest_bytes", FIELD_U64, AT(snap_part, deepest_bytes), .empty = EMPTY_IS_ABSENT),
);

FIELDS(block_fields,
	ROW("address", FIELD_ADDR, AT(snap_block, addr)),
	ROW("bytes", FIELD_U64, AT(snap_block, bytes)),
	ROW("age_ns", FIELD_U64, AT(snap_block, age_ns), .empty = EMPTY_IS_NULL),
	ROW("tid", FIELD_INT, AT(snap_block, tid), .empty = EMPTY_IS_NULL),
	ROW("type", FIELD_STR, AT(snap_block, type)),
	ROW("reach", FIELD_ENUM, AT(snap_block, reach), .choices = &reach_choices),
);

/* ---- members */

static const struct member class_members[] = {
	ROWS("types", &share_fields, snap_class, types, n_types, .any = AT(snap_class, n_types)), {},
};

#define CLASSES(type, v, n, ...) \
	ROWS("classes", &class_fields, type, v, n, .members = class_members, .row_line = 8, \
	     __VA_ARGS__)
#define TYPES(type, v, n, ...) ROWS("types", &type_fields, type, v, n, .row_line = 8, __VA_ARGS__)

const struct member heap_members[] = {
	PROCESS(snap_heap),
	OF_FIELDS(THESE(ROW("pid", FIELD_INT, AT(snap_heap, pid)),
			ROW("comm", FIELD_STR, AT(snap_heap, comm))), .own = OWN_WHOSE),
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
	     .any = AT(snap_heap, n_list), OR_ABSENT,
	     MEMBERS(INDEX("site", snap_block, site, TABLE_SITES, .none = INDEX_PLUS_1))),
	{},
};

_Static_assert(sizeof(enum root_kind) == sizeof(unsigned int) && sizeof(enum part_kind) == sizeof(unsigned int) &&
		       sizeof(((struct snap_block *)NULL)->reach) == sizeof(unsigned int),
	       "FIELD_ENUM");
