// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the columns of what a look at a process's heap found: blocks by size and by type, arenas, the rest of resident
 * memory, and from where blocks are reached. What always holds: bytes of blocks are usable ones; what was not
 * looked for is "-"; what is scaled up from a sample has a "~".
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "model/heaps.h"
#include "present/columns.h"
#include "present/figures.h"
#include "present/heap_words.h"
#include "present/telling.h"
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

#define BYTES(name, its, member) FIGURE(name, (double)r->its->member, fmt_bytes(buf, r->its->member))
#define COUNT(name, its, member) FIGURE(name, (double)r->its->member, fmt_count(buf, r->its->member))

/* ---- blocks by size */

BYTES(class_bytes, class, bytes)
COUNT(class_blocks, class, blocks)
FIGURE(class_usable, (double)r->class->usable, heap__size_words(buf, r->class))

static const char *show_class_share(const struct row_of *r, char buf[static CELL_MAX])
{
	return share(r->class->bytes, r->heap->bytes, buf);
}

FIGURE(class_unreached, r->heap->unreached.scans ? (double)r->class->unreached_bytes : NAN,
       bytes_or_dash(class_unreached(r), buf))

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

static const char *type_bytes_text(const struct snap_type *t, char buf[static CELL_MAX])
{
	char a[FMT_MAX];

	snprintf(buf, CELL_MAX, "%s%s", t->estimated ? "~" : "", fmt_bytes(a, t->bytes));
	return buf;
}

static const char *type_blocks_text(const struct snap_type *t, char buf[static CELL_MAX])
{
	char a[FMT_MAX];

	snprintf(buf, CELL_MAX, "%s%s", t->estimated ? "~" : "", fmt_count(a, t->blocks));
	return buf;
}

FIGURE(type_bytes, (double)r->type->bytes, type_bytes_text(r->type, buf))
FIGURE(type_blocks, (double)r->type->blocks, type_blocks_text(r->type, buf))

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

	return r->heap->unreached.scans ? type_bytes_text(&lost, buf) : "-";
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

	return r->heap->older_known ? type_blocks_text(&older, buf) : "-";
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

#define ARENA(name, member) \
	FIGURE(arena_##name, r->arena ? (double)r->arena->member : NAN, r->arena ? fmt_bytes(buf, r->arena->member) : "-")

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

FIGURE(arena_bytes, (double)arena_uses(r), fmt_bytes(buf, arena_uses(r)))

static uint64_t arena_has(const struct row_of *r)
{
	return r->arena ? r->arena->blocks : r->heap->mapped_blocks;
}

FIGURE(arena_blocks, (double)arena_has(r), fmt_count(buf, arena_has(r)))

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
FIGURE(part_swapped, (double)r->part->swapped_bytes,
       r->part->swapped_bytes ? fmt_bytes(buf, r->part->swapped_bytes) : "")

static const char *show_part_share(const struct row_of *r, char buf[static CELL_MAX])
{
	return share(r->part->resident_bytes, r->heap->rss_bytes, buf);
}

FIGURE(part_deepest, r->part->kind == PART_STACK ? (double)r->part->deepest_bytes : NAN,
       r->part->kind == PART_STACK ? fmt_bytes(buf, r->part->deepest_bytes) : "")

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

/* ---- live blocks */

/* The columns of live blocks (--view blocks). What always holds: what is not known, or not so, is "-". */

static double address(const struct row_of *r)
{
	return -(double)r->block->addr;
}

static const char *show_address(const struct row_of *r, char buf[static CELL_MAX])
{
	snprintf(buf, CELL_MAX, "%#" PRIx64, r->block->addr);
	return buf;
}

/* All digits: it is typed again in a debugger. */
FIGURE(size, (double)r->block->bytes, fmt_exact(buf, r->block->bytes))

/* Of a trace that leaves blocks out, one without a site may be older than it, or was not recorded. */
static bool is_older(const struct row_of *r)
{
	return !r->block->site && r->heap && r->heap->older_known;
}

static double age(const struct row_of *r)
{
	return r->block->age_ns ? (double)r->block->age_ns : NAN;
}

static const char *show_age(const struct row_of *r, char buf[static CELL_MAX])
{
	char a[FMT_MAX];

	if (r->block->age_ns)
		return fmt_duration(buf, r->block->age_ns);
	if (!is_older(r))
		return "-";
	snprintf(buf, CELL_MAX, ">%s", fmt_duration(a, r->s->duration_ns));
	return buf;
}

static double tid(const struct row_of *r)
{
	return r->block->tid ? -(double)r->block->tid : NAN;
}

static const char *show_tid(const struct row_of *r, char buf[static CELL_MAX])
{
	snprintf(buf, CELL_MAX, "%d", r->block->tid);
	return r->block->tid ? buf : "-";
}

static bool is_lost(const struct row_of *r)
{
	return r->block->reach == REACH_UNREACHED || r->block->reach == REACH_INDIRECT;
}

/* The words of the sentence above it; what a pointer was found to has none. */
static const char *show_unreached(const struct row_of *r, char buf[static CELL_MAX])
{
	return !is_lost(r) ? "-" : r->block->reach == REACH_INDIRECT ? "indirect" : "direct";
}

static enum tone block_unreached_tone(const struct row_of *r)
{
	return is_lost(r) ? TONE_BAD : TONE_DIM;
}

static const char *show_block_type(const struct row_of *r, char buf[static CELL_MAX])
{
	return r->block->type ? r->block->type : "-";
}

static const char *show_site(const struct row_of *r, char buf[static CELL_MAX])
{
	const struct column *site = columns__find(&site_columns, "site");

	/* of no trace there are no sites */
	if (!r->site)
		return is_older(r) ? "[older]" : r->s->known & HAS_ALL ? "-" : "";
	return site->format(r, buf);
}

static const struct column of_block[] = {
	{ "address", "ADDRESS", 18, .value = address, .format = show_address },
	{ "size", "BYTES", 19, .value = size, .format = show_size },
	{ "age", "AGE", 7, .value = age, .format = show_age },
	{ "tid", "TID", 7, .value = tid, .format = show_tid },
	{ "unreached", "UNREACHED", 9, true, .format = show_unreached, .tone = block_unreached_tone },
	{ "type", "TYPE", 0, true, .code = true, .format = show_block_type },
	{ "site", "SITE", 0, true, .code = true, .format = show_site },
};
const struct columns block_columns = { of_block, ARRAY_SIZE(of_block) };
