// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the columns of what a look at a process's heap found: blocks by size and by type, arenas, the rest of resident
 * memory, and from where blocks are reached. What always holds: bytes of blocks are usable ones; what was not
 * looked for is "-"; what is scaled up from a sample has a "~".
 */
#include <math.h>
#include <string.h>

#include "model/heaps.h"
#include "present/columns.h"
#include "present/figures.h"
#include "present/heap_words.h"
#include "util/parse.h"
#include "util/text.h"
#include "util/util.h"

/* ---- figures of any row */

static const char *count_or_dash(double n, char buf[static CELL_MAX])
{
	return isnan(n) ? "-" : fmt_count(buf, (uint64_t)n);
}

static const char *bytes_or_dash(double n, char buf[static CELL_MAX])
{
	return isnan(n) ? "-" : fmt_bytes(buf, (uint64_t)n);
}

static const char *share(uint64_t n, uint64_t whole, char buf[static CELL_MAX])
{
	return whole ? fmt_share(buf, n, whole) : "-";
}

static enum tone unreached_tone(double n)
{
	return n > 0 ? TONE_BAD : TONE_DIM;
}

static const char *show_process(const struct row_of *r, char buf[static CELL_MAX])
{
	const char *comm = heap__comm(r->s, r->heap);

	snprintf(buf, CELL_MAX, "%.*s (%d)", (int)text_head(comm, CELL_MAX / 4), comm, (int)heap__pid(r->s, r->heap));
	return buf;
}

#define PROCESS { "process", "PROCESS", 0, true, .groups = true, .format = show_process }

/* A column of a figure that its row has. */
#define FIGURE(name, its, member)							\
	static double name(const struct row_of *r) { return (double)r->its->member; }	\
	static const char *show_##name(const struct row_of *r, char buf[static CELL_MAX])

#define BYTES(name, its, member) FIGURE(name, its, member) { return fmt_bytes(buf, r->its->member); }
#define COUNT(name, its, member) FIGURE(name, its, member) { return fmt_count(buf, r->its->member); }

/* ---- blocks by size */

BYTES(class_bytes, class, bytes)
COUNT(class_blocks, class, blocks)
FIGURE(class_usable, class, usable) { return heap__size_words(buf, r->class); }

static const char *show_class_share(const struct row_of *r, char buf[static CELL_MAX])
{
	return share(r->class->bytes, r->heap->bytes, buf);
}

static double class_unreached(const struct row_of *r)
{
	return r->heap->unreached.scans ? (double)r->class->unreached_bytes : NAN;
}

static const char *show_class_unreached(const struct row_of *r, char buf[static CELL_MAX])
{
	return bytes_or_dash(class_unreached(r), buf);
}

static enum tone class_unreached_tone(const struct row_of *r)
{
	return unreached_tone(class_unreached(r));
}

static double class_older(const struct row_of *r)
{
	if (!r->heap->older_known)
		return NAN;
	for (size_t i = 0; i < r->heap->n_older_classes; i++)
		if (r->heap->older_classes[i].usable == r->class->usable)
			return (double)r->heap->older_classes[i].blocks;
	return 0;
}

static const char *show_class_older(const struct row_of *r, char buf[static CELL_MAX])
{
	return count_or_dash(class_older(r), buf);
}

static char *fit_class_types(const struct row_of *r, size_t width)
{
	return r->class->n_types ? heap__types_text(r->class->types, r->class->n_types, width) : text_shorten("not examined", width);
}

/* What rows are ordered by. */
static const char *show_class_types(const struct row_of *r, char buf[static CELL_MAX])
{
	return r->class->n_types ? r->class->types[0].name : "";
}

static const struct column of_class[] = {
	{ "usable", "USABLE", HEAP_SIZE_COLS, .value = class_usable, .format = show_class_usable },
	{ "blocks", "BLOCKS", 7, .value = class_blocks, .format = show_class_blocks },
	{ "bytes", "BYTES", 9, .value = class_bytes, .format = show_class_bytes },
	{ "share", "SHARE", 5, .value = class_bytes, .format = show_class_share },
	{ "older", "OLDER", 7, .value = class_older, .format = show_class_older },
	{ "unreached", "UNREACHED", 9, .value = class_unreached, .format = show_class_unreached, .tone = class_unreached_tone },
	PROCESS,
	{ "types", "TYPES", 0, true, .format = show_class_types, .fit = fit_class_types },
};
const struct columns class_columns = { of_class, ARRAY_SIZE(of_class) };

/* ---- blocks by type */

static double type_bytes(const struct row_of *r)
{
	return (double)r->type->bytes;
}

static double type_blocks(const struct row_of *r)
{
	return (double)r->type->blocks;
}

static const char *show_type_bytes(const struct row_of *r, char buf[static CELL_MAX])
{
	char a[FMT_MAX];

	snprintf(buf, CELL_MAX, "%s%s", r->type->estimated ? "~" : "", fmt_bytes(a, r->type->bytes));
	return buf;
}

static const char *show_type_blocks(const struct row_of *r, char buf[static CELL_MAX])
{
	char a[FMT_MAX];

	snprintf(buf, CELL_MAX, "%s%s", r->type->estimated ? "~" : "", fmt_count(a, r->type->blocks));
	return buf;
}

static const char *show_type_share(const struct row_of *r, char buf[static CELL_MAX])
{
	return share(r->type->bytes, r->heap->bytes, buf);
}

/* The same type among others: all zero, if it is not there. Two estimates of one thing: a part is no more than the whole. */
static struct snap_type same_type(const struct row_of *r, const struct snap_type *v, size_t n)
{
	struct snap_type found = {};

	for (size_t i = 0; i < n; i++)
		if (v[i].is_class == r->type->is_class && !strcmp(v[i].name, r->type->name))
			found = v[i];
	found.estimated |= r->type->estimated && found.blocks;
	found.blocks = MIN(found.blocks, r->type->blocks);
	found.bytes = MIN(found.bytes, r->type->bytes);
	return found;
}

static struct snap_type unreached_of(const struct row_of *r)
{
	return same_type(r, r->heap->unreached.types, r->heap->unreached.n_types);
}

static double type_unreached(const struct row_of *r)
{
	return r->heap->unreached.scans ? (double)unreached_of(r).bytes : NAN;
}

static const char *show_type_unreached(const struct row_of *r, char buf[static CELL_MAX])
{
	struct snap_type lost = unreached_of(r);
	char a[FMT_MAX];

	if (!r->heap->unreached.scans)
		return "-";
	snprintf(buf, CELL_MAX, "%s%s", lost.estimated ? "~" : "", fmt_bytes(a, lost.bytes));
	return buf;
}

static enum tone type_unreached_tone(const struct row_of *r)
{
	return unreached_tone(type_unreached(r));
}

static struct snap_type older_of(const struct row_of *r)
{
	return same_type(r, r->heap->older_types, r->heap->n_older_types);
}

static double type_older(const struct row_of *r)
{
	return r->heap->older_known ? (double)older_of(r).blocks : NAN;
}

static const char *show_type_older(const struct row_of *r, char buf[static CELL_MAX])
{
	struct snap_type older = older_of(r);
	char a[FMT_MAX];

	if (!r->heap->older_known)
		return "-";
	snprintf(buf, CELL_MAX, "%s%s", older.estimated ? "~" : "", fmt_count(a, older.blocks));
	return buf;
}

static const char *show_type_what(const struct row_of *r, char buf[static CELL_MAX])
{
	return r->type->is_class ? "class" : "looks";
}

static const char *show_type(const struct row_of *r, char buf[static CELL_MAX])
{
	return r->type->name;
}

static const struct column of_type[] = {
	{ "bytes", "BYTES", 10, .value = type_bytes, .format = show_type_bytes },
	{ "share", "SHARE", 5, .value = type_bytes, .format = show_type_share },
	{ "blocks", "BLOCKS", 8, .value = type_blocks, .format = show_type_blocks },
	{ "older", "OLDER", 8, .value = type_older, .format = show_type_older },
	{ "unreached", "UNREACHED", 10, .value = type_unreached, .format = show_type_unreached, .tone = type_unreached_tone },
	{ "what", "KNOWN BY", 8, true, .format = show_type_what },
	PROCESS,
	{ "type", "TYPE", 0, true, .code = true, .format = show_type },
};
const struct columns type_columns = { of_type, ARRAY_SIZE(of_type) };

/* ---- arenas: a row without one is that of blocks with a mapping of their own, of which nothing is free */

#define ARENA(name, member)									\
	static double arena_##name(const struct row_of *r) { return r->arena ? (double)r->arena->member : NAN; }	\
	static const char *show_arena_##name(const struct row_of *r, char buf[static CELL_MAX])	\
	{											\
		return r->arena ? fmt_bytes(buf, r->arena->member) : "-";			\
	}

ARENA(free, free_bytes)
ARENA(tcache, tcache_bytes)
ARENA(bins, bins_bytes)
ARENA(top, top_bytes)
ARENA(trimmable, trimmable_bytes)
ARENA(largest, largest_free_bytes)
ARENA(mapped, mapped_bytes)

static uint64_t arena_uses(const struct row_of *r)
{
	return r->arena ? r->arena->bytes : r->heap->mapped_bytes;
}

static double arena_bytes(const struct row_of *r)
{
	return (double)arena_uses(r);
}

static const char *show_arena_bytes(const struct row_of *r, char buf[static CELL_MAX])
{
	return fmt_bytes(buf, arena_uses(r));
}

static uint64_t arena_has(const struct row_of *r)
{
	return r->arena ? r->arena->blocks : r->heap->mapped_blocks;
}

static double arena_blocks(const struct row_of *r)
{
	return (double)arena_has(r);
}

static const char *show_arena_blocks(const struct row_of *r, char buf[static CELL_MAX])
{
	return fmt_count(buf, arena_has(r));
}

/* Half of what it has, and at least a megabyte, is free: that is worth a look. */
static enum tone free_tone(const struct row_of *r)
{
	return r->arena && r->arena->free_bytes >= 1 << 20 && r->arena->free_bytes > r->arena->bytes ? TONE_WARN : TONE_PLAIN;
}

static const char *show_arena(const struct row_of *r, char buf[static CELL_MAX])
{
	return heap__arena_words(buf, r->heap, r->arena);
}

static const struct column of_arena[] = {
	{ "bytes", "IN USE", 9, .value = arena_bytes, .format = show_arena_bytes },
	{ "blocks", "BLOCKS", 7, .value = arena_blocks, .format = show_arena_blocks },
	{ "free", "FREE", 9, .value = arena_free, .format = show_arena_free, .tone = free_tone },
	{ "tcache", "TCACHES", 9, .value = arena_tcache, .format = show_arena_tcache },
	{ "bins", "BINS", 9, .value = arena_bins, .format = show_arena_bins },
	{ "top", "TOP", 9, .value = arena_top, .format = show_arena_top },
	{ "trimmable", "TRIMMABLE", 9, .value = arena_trimmable, .format = show_arena_trimmable },
	{ "largest", "LARGEST", 9, .value = arena_largest, .format = show_arena_largest },
	{ "mapped", "MAPPED", 9, .value = arena_mapped, .format = show_arena_mapped },
	PROCESS,
	{ "arena", "ARENA", 0, true, .format = show_arena },
};
const struct columns arena_columns = { of_arena, ARRAY_SIZE(of_arena) };

/* ---- the rest of resident memory */

BYTES(part_resident, part, resident_bytes)
BYTES(part_mapped, part, mapped_bytes)
FIGURE(part_swapped, part, swapped_bytes) { return r->part->swapped_bytes ? fmt_bytes(buf, r->part->swapped_bytes) : ""; }

static const char *show_part_share(const struct row_of *r, char buf[static CELL_MAX])
{
	return share(r->part->resident_bytes, r->heap->rss_bytes, buf);
}

static double part_deepest(const struct row_of *r)
{
	return r->part->kind == PART_STACK ? (double)r->part->deepest_bytes : NAN;
}

static const char *show_part_deepest(const struct row_of *r, char buf[static CELL_MAX])
{
	return r->part->kind == PART_STACK ? fmt_bytes(buf, r->part->deepest_bytes) : "";
}

static double part_tid(const struct row_of *r)
{
	return r->part->tid ? -(double)r->part->tid : NAN;
}

static const char *show_part_tid(const struct row_of *r, char buf[static CELL_MAX])
{
	snprintf(buf, CELL_MAX, "%d", r->part->tid);
	return r->part->tid ? buf : "";
}

static const char *show_part_kind(const struct row_of *r, char buf[static CELL_MAX])
{
	return choices__name(&part_choices, r->part->kind);
}

static const char *show_part(const struct row_of *r, char buf[static CELL_MAX])
{
	return r->part->name ? r->part->name : "";
}

static const struct column of_part[] = {
	{ "resident", "RESIDENT", 9, .value = part_resident, .format = show_part_resident },
	{ "share", "SHARE", 5, .value = part_resident, .format = show_part_share },
	{ "mapped", "MAPPED", 9, .value = part_mapped, .format = show_part_mapped },
	{ "swapped", "SWAPPED", 9, .value = part_swapped, .format = show_part_swapped },
	{ "deepest", "DEEPEST", 9, .value = part_deepest, .format = show_part_deepest },
	{ "tid", "TID", 7, .value = part_tid, .format = show_part_tid },
	{ "kind", "WHAT", 9, true, .format = show_part_kind },
	PROCESS,
	{ "part", "WHOSE", 0, true, .format = show_part },
};
const struct columns part_columns = { of_part, ARRAY_SIZE(of_part) };

/* ---- from where blocks are reached */

BYTES(root_bytes, root, bytes)
COUNT(root_blocks, root, blocks)

static const char *show_root_share(const struct row_of *r, char buf[static CELL_MAX])
{
	return share(r->root->bytes, r->heap->bytes, buf);
}

static const char *show_root_kind(const struct row_of *r, char buf[static CELL_MAX])
{
	return root_kind__word(r->root->kind);
}

static const char *show_root_module(const struct row_of *r, char buf[static CELL_MAX])
{
	return r->root->module ? path_basename(r->root->module) : "";
}

static const char *show_root(const struct row_of *r, char buf[static CELL_MAX])
{
	return r->root->name ? r->root->name : "";
}

static const struct column of_root[] = {
	{ "bytes", "BYTES", 9, .value = root_bytes, .format = show_root_bytes },
	{ "share", "SHARE", 5, .value = root_bytes, .format = show_root_share },
	{ "blocks", "BLOCKS", 7, .value = root_blocks, .format = show_root_blocks },
	{ "kind", "THROUGH", 8, true, .format = show_root_kind },
	{ "module", "MODULE", 0, true, .format = show_root_module },
	PROCESS,
	{ "root", "NAME", 0, true, .format = show_root },
};
const struct columns root_columns = { of_root, ARRAY_SIZE(of_root) };
