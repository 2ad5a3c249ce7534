// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the columns of what a look at a process's heap found: blocks by size and by type, arenas, the rest of resident
 * memory, from where blocks are reached, and single blocks. What always holds: bytes of blocks are usable ones; what was not
 * looked for is "-"; what is scaled up from a sample has a "~".
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/heaps.h"
#include "present/columns.h"
#include "present/figures.h"
#include "present/frames.h"
#include "present/views.h"
#include "util/text.h"
#include "util/util.h"

/* ---- words that tables and sentences have in common: none is wider than its column */

bool heaps__know_older(const struct snapshot *s)
{
	for (size_t i = 0; i < s->n_heaps; i++)
		if (s->heaps[i].older_known)
			return true;
	return false;
}

/* A bound of a range: a whole number of its unit, as they are powers of two. */
static int bound(char *buf, size_t size, uint64_t bytes, const char **ret_unit)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	size_t i = 0;

	for (; i + 1 < ARRAY_SIZE(units) && bytes && !(bytes % 1024); i++)
		bytes /= 1024;
	*ret_unit = units[i];
	return snprintf(buf, size, "%" PRIu64, bytes);
}

char *heap__size_words(char buf[static CELL_MAX], const struct snap_class *c)
{
	const char *from_unit, *end_unit;
	char from[FMT_MAX], end[FMT_MAX];

	if (!c->below)
		return fmt_exact(buf, c->usable);
	bound(from, sizeof(from), c->usable, &from_unit);
	bound(end, sizeof(end), c->below, &end_unit);
	if (c->below == UINT64_MAX)
		snprintf(buf, CELL_MAX, "%.20s %s up", from, from_unit);
	else if (from_unit == end_unit)
		snprintf(buf, CELL_MAX, "%.20s-%.20s %s", from, end, end_unit);
	else
		snprintf(buf, CELL_MAX, "%.20s %s-%.20s %s", from, from_unit, end, end_unit);
	/* bounds that are no round numbers */
	if (strlen(buf) > HEAP_SIZE_COLS)
		snprintf(buf, CELL_MAX, "%s up", fmt_bytes(from, c->usable));
	return buf;
}

/* "98%", "<1%", ">99%": a share that is neither nothing nor all is not rounded to that. */
static void percent(char buf[static 8], double share)
{
	int n = (int)(share * 100 + 0.5);

	if (n < 1 && share > 0)
		snprintf(buf, 8, "<1%%");
	else if (n >= 100 && share < 1)
		snprintf(buf, 8, ">99%%");
	else
		snprintf(buf, 8, "%d%%", MAX(0, MIN(n, 100)));
}

/* A type is as short as it can be: what follows it keeps room. */
static size_t least_of(const struct snap_share *v, size_t n)
{
	size_t sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += 2 + MIN(text_width(v[i].name) + 5, (size_t)HEAP_TYPE_COLS);
	return sum;
}

#define NEARLY_ALL 0.99

static bool is_unclassified(const struct snap_share *v)
{
	return !v->is_class && !strcmp(v->name, "other");
}

char *heap__types_text(const struct snap_share *v, size_t n, size_t width)
{
	char *text = NULL;
	size_t size, used = 0;
	FILE *out = text_stream__open(&text, &size);

	/* that they look like nothing known says nothing */
	if (n && is_unclassified(&v[0]) && v[0].share >= NEARLY_ALL)
		n = 0;
	for (size_t i = 0; i < n; i++) {
		const char *type = is_unclassified(&v[i]) ? "unclassified" : v[i].name;
		size_t left = width - used - (i ? 2 : 0), rest = least_of(v + i + 1, n - i - 1);
		_cleanup_free_ char *name = NULL;
		char share[8];

		percent(share, v[i].share);
		if (i && (width < used + 2 || left < MIN(text_width(type) + 5, (size_t)HEAP_TYPE_COLS))) {
			fprintf(out, "%s", width >= used + 2 ? " …" : "");
			break;
		}
		left = left > rest + HEAP_TYPE_COLS ? left - rest : MIN(left, (size_t)HEAP_TYPE_COLS);
		name = name__shorten(type, left > strlen(share) + 1 ? left - strlen(share) - 1 : 1);
		fprintf(out, "%s%s %s", i ? ", " : "", share, name ? name : "");
		used += (i ? 2 : 0) + strlen(share) + 1 + (name ? text_width(name) : 0);
	}
	text_stream__close(out);
	return text;
}

/* "(other data)" of a module is its other data. */
char *heap__part_text(const struct snap_part *p)
{
	const char *name = p->name ? p->name : "", *module = p->module ? path_basename(p->module) : NULL;
	size_t len = strlen(name);
	bool bare = len > 2 && name[0] == '(' && name[len - 1] == ')';

	/* some names say it already */
	if (!module || strstr(name, module))
		return xstrdup(name);
	return xasprintf("%s: %.*s", module, (int)(bare ? len - 2 : len), bare ? name + 1 : name);
}

const char *heap__arena_words(char buf[static CELL_MAX], const struct snap_heap *h, const struct snap_arena *a)
{
	if (!a)
		return "own mappings";
	if (a->main)
		return "main";
	snprintf(buf, CELL_MAX, "arena %zu", (size_t)(a - h->arenas) + 1);
	return buf;
}

/* ---- rows */

size_t heap__n_rows(const struct snap_heap *h, unsigned int rows)
{
	const size_t n[N_VIEW_ROWS] = {
		[ROWS_HEAP] = h->n_classes, [ROWS_TYPES] = h->n_types, [ROWS_ARENAS] = h->n_arenas + (h->mapped_blocks > 0),
		[ROWS_PARTS] = h->n_parts, [ROWS_ROOTS] = h->n_roots, [ROWS_BLOCKS] = h->n_list,
	};

	return n[rows];
}

struct row_of heap__row(const struct snapshot *s, const struct snap_heap *h, unsigned int rows, size_t i)
{
	struct row_of r = { .s = s, .process = &s->processes[h->process], .heap = h };

	r.class = rows == ROWS_HEAP ? &h->classes[i] : NULL;
	r.type = rows == ROWS_TYPES ? &h->types[i] : NULL;
	r.arena = rows == ROWS_ARENAS && i < h->n_arenas ? &h->arenas[i] : NULL;
	r.part = rows == ROWS_PARTS ? &h->parts[i] : NULL;
	r.root = rows == ROWS_ROOTS ? &h->roots[i] : NULL;
	r.block = rows == ROWS_BLOCKS ? &h->list[i] : NULL;
	r.site = r.block && r.block->site ? &s->sites[r.block->site - 1] : NULL;
	return r;
}

void heap__row_sums(const struct row_of *r, uint64_t *ret_bytes, uint64_t *ret_blocks)
{
	*ret_bytes = r->class ? r->class->bytes : r->type ? r->type->bytes : r->part ? r->part->resident_bytes :
		     r->root ? r->root->bytes : r->arena ? r->arena->bytes : r->heap->mapped_bytes;
	*ret_blocks = r->class ? r->class->blocks : r->type ? r->type->blocks : r->part ? 0 :
		      r->root ? r->root->blocks : r->arena ? r->arena->blocks : r->heap->mapped_blocks;
}

/* ---- cells of any row */

#define CELL(name, what) static void name(const struct row_of *r, struct cell *c) { what; }

static void share(const struct row_of *r, struct cell *c)
{
	uint64_t whole = r->part ? r->heap->rss_bytes : r->heap->bytes, bytes, blocks;

	heap__row_sums(r, &bytes, &blocks);
	cell__share(c, bytes, whole);
	if (!whole)
		c->text = "-";
}

static void process(const struct row_of *r, struct cell *c)
{
	const char *comm = heap__comm(r->s, r->heap);

	snprintf(c->buf, CELL_MAX, "%.*s (%d)", (int)text_head(comm, CELL_MAX / 4), comm, (int)heap__pid(r->s, r->heap));
	c->text = c->buf;
}

#define PROCESS { "process", "PROCESS", 0, true, .groups = true, .cell = process }

/* Blocks that may be lost. */
CELL(unreached, c->tone = c->sort > 0 ? TONE_BAD : TONE_DIM)

/* ---- blocks by size */


static void usable(const struct row_of *r, struct cell *c)
{
	c->sort = (double)r->class->usable;
	c->text = heap__size_words(c->buf, r->class);
}

static void class_older(const struct row_of *r, struct cell *c)
{
	if (!r->heap->older_known) {
		cell__unknown(c);
		return;
	}
	cell__count(c, 0);
	for (size_t i = 0; i < r->heap->n_older_classes; i++)
		if (r->heap->older_classes[i].usable == r->class->usable)
			cell__count(c, r->heap->older_classes[i].blocks);
}

/* What rows are ordered by. */
CELL(class_types, c->text = r->class->n_types ? r->class->types[0].name : "")

static char *fit_class_types(const struct row_of *r, size_t width)
{
	return r->class->n_types ? heap__types_text(r->class->types, r->class->n_types, width) : text_shorten("not examined", width);
}

#define CLASS(key) IS(class_fields, key)

static const struct column of_class[] = {
	{ "usable", "USABLE", HEAP_SIZE_COLS, .cell = usable },
	{ "blocks", "BLOCKS", 7, .field = CLASS("blocks") },
	{ "bytes", "BYTES", 9, .unit = UNIT_BYTES, .field = CLASS("bytes") },
	{ "share", "SHARE", 5, .cell = share },
	{ "older", "OLDER", 7, .cell = class_older },
	{ "unreached", "UNREACHED", 9, .unit = UNIT_BYTES, .field = CLASS("unreached_bytes"), .cell = unreached },
	PROCESS,
	{ "types", "TYPES", 0, true, .cell = class_types, .fit = fit_class_types },
};
const struct columns class_columns = { of_class, ARRAY_SIZE(of_class) };

/* ---- blocks by type */

CELL(known_by, c->text = r->type->is_class ? "class" : "looks")

static void of_sample(const struct row_of *r, struct cell *c)
{
	if (r->type->estimated)
		cell__mark(c);
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

static void type_unreached(const struct row_of *r, struct cell *c)
{
	struct snap_type lost = same_type(r, r->heap->unreached.types, r->heap->unreached.n_types);

	cell__bytes(c, lost.bytes);
	if (lost.estimated)
		cell__mark(c);
	if (!r->heap->unreached.scans)
		cell__unknown(c);
	unreached(r, c);
}

static void type_older(const struct row_of *r, struct cell *c)
{
	struct snap_type older = same_type(r, r->heap->older_types, r->heap->n_older_types);

	cell__count(c, older.blocks);
	if (older.estimated)
		cell__mark(c);
	if (!r->heap->older_known)
		cell__unknown(c);
}

#define TYPE(key) IS(type_fields, key)

static const struct column of_type[] = {
	{ "bytes", "BYTES", 10, .unit = UNIT_BYTES, .field = TYPE("bytes"), .cell = of_sample },
	{ "share", "SHARE", 5, .cell = share },
	{ "blocks", "BLOCKS", 8, .field = TYPE("blocks"), .cell = of_sample },
	{ "older", "OLDER", 8, .cell = type_older },
	{ "unreached", "UNREACHED", 10, .cell = type_unreached },
	{ "what", "KNOWN BY", 8, true, .cell = known_by },
	PROCESS,
	{ "type", "TYPE", 0, true, .code = true, .field = TYPE("name") },
};
const struct columns type_columns = { of_type, ARRAY_SIZE(of_type) };

/* ---- arenas: a row without one is that of blocks with a mapping of their own, of which nothing is free */

CELL(arena_bytes, cell__bytes(c, r->arena ? r->arena->bytes : r->heap->mapped_bytes))
CELL(arena_blocks, cell__count(c, r->arena ? r->arena->blocks : r->heap->mapped_blocks))
CELL(arena, c->text = heap__arena_words(c->buf, r->heap, r->arena))

/* Half of what it has, and at least a megabyte, is free: that is worth a look. */
static void arena_free(const struct row_of *r, struct cell *c)
{
	if (r->arena && r->arena->free_bytes >= 1 << 20 && r->arena->free_bytes > r->arena->bytes)
		c->tone = TONE_WARN;
}

#define ARENA(key) .unit = UNIT_BYTES, .field = IS(arena_fields, key)

static const struct column of_arena[] = {
	{ "bytes", "IN USE", 9, .cell = arena_bytes },
	{ "blocks", "BLOCKS", 7, .cell = arena_blocks },
	{ "free", "FREE", 9, ARENA("free_bytes"), .cell = arena_free },
	{ "tcache", "TCACHES", 9, ARENA("tcache_bytes") },
	{ "bins", "BINS", 9, ARENA("bins_bytes") },
	{ "top", "TOP", 9, ARENA("top_bytes") },
	{ "trimmable", "TRIMMABLE", 9, ARENA("trimmable_bytes") },
	{ "largest", "LARGEST", 9, ARENA("largest_free_bytes") },
	{ "mapped", "MAPPED", 9, ARENA("mapped_bytes") },
	PROCESS,
	{ "arena", "ARENA", 0, true, .cell = arena },
};
const struct columns arena_columns = { of_arena, ARRAY_SIZE(of_arena) };

/* ---- the rest of resident memory */

/* What most rows have not is left blank. */
static void swapped(const struct row_of *r, struct cell *c)
{
	if (!r->part->swapped_bytes)
		c->text = "";
}

static void deepest(const struct row_of *r, struct cell *c)
{
	if (r->part->kind == PART_STACK)
		return;
	c->sort = NAN;
	c->text = "";
}

static void part_tid(const struct row_of *r, struct cell *c)
{
	if (r->part->tid)
		return;
	c->sort = NAN;
	c->text = "";
}

/* "redis-server: server", "worker (1435)" */
static char *fit_part(const struct row_of *r, size_t width)
{
	_cleanup_free_ char *name = heap__part_text(r->part), *with_tid = r->part->tid ? xasprintf("%s (%d)", name, r->part->tid) : NULL;

	return text_shorten(with_tid ? with_tid : name, width);
}

#define PART(key) IS(part_fields, key)

static const struct column of_part[] = {
	{ "resident", "RESIDENT", 9, .unit = UNIT_BYTES, .field = PART("resident_bytes") },
	{ "share", "SHARE", 5, .cell = share },
	{ "mapped", "MAPPED", 9, .unit = UNIT_BYTES, .field = PART("mapped_bytes") },
	{ "swapped", "SWAPPED", 9, .unit = UNIT_BYTES, .field = PART("swapped_bytes"), .cell = swapped },
	{ "deepest", "DEEPEST", 9, .unit = UNIT_BYTES, .field = PART("deepest_bytes"), .cell = deepest },
	{ "tid", "TID", 7, .unit = UNIT_ID, .field = PART("tid"), .cell = part_tid },
	{ "kind", "WHAT", 9, true, .field = PART("kind") },
	PROCESS,
	{ "part", "WHOSE", 0, true, .field = PART("name"), .fit = fit_part },
};
const struct columns part_columns = { of_part, ARRAY_SIZE(of_part) };

/* ---- from where blocks are reached */

CELL(root_kind, c->text = root_kind__word(r->root->kind))
CELL(root_module, c->text = r->root->module ? path_basename(r->root->module) : "")

#define ROOT(key) IS(root_fields, key)

static const struct column of_root[] = {
	{ "bytes", "BYTES", 9, .unit = UNIT_BYTES, .field = ROOT("bytes") },
	{ "share", "SHARE", 5, .cell = share },
	{ "blocks", "BLOCKS", 7, .field = ROOT("blocks") },
	{ "kind", "THROUGH", 8, true, .cell = root_kind },
	{ "module", "MODULE", 0, true, .cell = root_module },
	PROCESS,
	{ "root", "NAME", 0, true, .field = ROOT("name") },
};
const struct columns root_columns = { of_root, ARRAY_SIZE(of_root) };

/* ---- live blocks (--view blocks): what is not known, or not so, is "-" */

static void address(const struct row_of *r, struct cell *c)
{
	c->sort = -(double)r->block->addr;
	snprintf(c->buf, CELL_MAX, "%#" PRIx64, r->block->addr);
	c->text = c->buf;
}

/* All digits: it is typed again in a debugger. */
CELL(size, c->text = fmt_exact(c->buf, r->block->bytes))

/* Of a trace that leaves blocks out, one without a site may be older than it, or was not recorded. */
static bool is_older(const struct row_of *r)
{
	return !r->block->site && r->heap && r->heap->older_known;
}

static void age(const struct row_of *r, struct cell *c)
{
	if (r->block->age_ns || !is_older(r))
		return;
	snprintf(c->buf, CELL_MAX, ">%s", DURATION(r->s->duration_ns));
	c->text = c->buf;
}

static void block_tid(const struct row_of *r, struct cell *c)
{
	if (!r->block->tid)
		cell__unknown(c);
}

/* The words of the sentence above it; what a pointer was found to has none. */
static void lost(const struct row_of *r, struct cell *c)
{
	bool direct = r->block->reach == REACH_UNREACHED, indirect = r->block->reach == REACH_INDIRECT;

	c->text = direct ? "direct" : indirect ? "indirect" : "-";
	c->tone = direct || indirect ? TONE_BAD : TONE_DIM;
}

static void block_type(const struct row_of *r, struct cell *c)
{
	if (!r->block->type)
		c->text = "-";
}

static void site(const struct row_of *r, struct cell *c)
{
	/* of no trace there are no sites */
	if (r->site)
		column__cell(columns__find(&site_columns, "site"), r, c);
	else
		c->text = is_older(r) ? "[older]" : r->s->known & HAS_ALL ? "-" : "";
}

#define BLOCK(key) IS(block_fields, key)

static const struct column of_block[] = {
	{ "address", "ADDRESS", 18, .cell = address },
	{ "size", "BYTES", 19, .field = BLOCK("bytes"), .cell = size },
	{ "age", "AGE", 7, .unit = UNIT_NS, .field = BLOCK("age_ns"), .cell = age },
	{ "tid", "TID", 7, .unit = UNIT_ID, .field = BLOCK("tid"), .cell = block_tid },
	{ "unreached", "UNREACHED", 9, true, .cell = lost },
	{ "type", "TYPE", 0, true, .code = true, .field = BLOCK("type"), .cell = block_type },
	{ "site", "SITE", 0, true, .code = true, .cell = site },
};
const struct columns block_columns = { of_block, ARRAY_SIZE(of_block) };
