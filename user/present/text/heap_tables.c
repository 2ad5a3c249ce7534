// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the report of heaps: what `malloctrace heap` prints, and --view heap and blocks.
 *
 *	malloctrace heap  redis-server (1432)                       2026-11-14 23:59:02
 *	(sentences and figures: heap_lines.c)
 *
 *	SIZES by bytes (10 of 34 sizes, 97.1% of bytes)
 *
 *	  USABLE   BLOCKS      BYTES  SHARE  UNREACHED  TYPES
 *	     264    8,974    2.3 MiB   0.2%      8,974  97% text, 3% other
 *
 * What always holds: a table that leaves something out says in its title how much.
 */
#include <stdlib.h>
#include <string.h>

#include "present/text/report_parts.h"

#define HEAPS_SHOWN 10
#define OTHER_LINES 20
#define LEAST_ROWS 4

/* ---- tables of chosen columns */

#define OF_CLASSES "usable blocks/3 bytes share/9 older/2 unreached types/1"
#define OF_TYPES "bytes share/9 blocks/2 older/3 unreached/1 type"
#define OF_ARENAS "arena bytes blocks/4 free bins/2 top/3 tcache/8 trimmable/1 largest/9"
#define OF_PARTS "resident share/6 mapped/3 swapped/7 deepest/8 kind part"
#define OF_BLOCKS "address size age tid/3 unreached/1 type/6 site"

static void write_table(struct report *r, const struct columns *from, const char *list, const struct row_of *rows, size_t n)
{
	struct columns c = columns__choose(from, list);

	fputc('\n', r->out);
	columns__write(r->out, &c, rows, n, r->width, r->o->whole_names);
	free((struct column *)c.v);
}

/* ---- rows in their order */

COMPARATOR(by_class, struct row_of,
	   ORDER(b->class->unreached_bytes, a->class->unreached_bytes) ?:
	   ORDER(b->class->bytes, a->class->bytes) ?:
	   ORDER(a->class->usable, b->class->usable))

COMPARATOR(by_free, struct row_of,
	   ORDER(b->arena->free_bytes, a->arena->free_bytes) ?:
	   ORDER(a->arena - a->heap->arenas, b->arena - b->heap->arenas))

/* What stands for many comes after each of the others. */
static bool is_rest(const struct snap_part *p)
{
	return p->name && !strcmp(p->name, "(the rest)");
}

COMPARATOR(by_resident, struct row_of,
	   ORDER(is_rest(a->part), is_rest(b->part)) ?: ORDER(b->part->resident_bytes, a->part->resident_bytes) ?:
	   ORDER(a->part - a->heap->parts, b->part - b->heap->parts))

/* All of a kind; the caller's. */
static struct row_of *rows_of(const struct report *r, const struct snap_heap *h, enum view_rows rows, size_t n)
{
	struct row_of *v = xcalloc(n + 1, sizeof(*v));

	for (size_t i = 0; i < n; i++) {
		v[i] = heap__row(r->s, h, rows, i);
		v[i].tellings = r->o->tellings;
	}
	return v;
}

/* ---- what blocks are */

static bool has_classes(const struct snap_heap *h)
{
	for (size_t i = 0; i < h->n_types; i++)
		if (h->types[i].is_class)
			return true;
	return false;
}

/* Of a program in C there are no names: what its bytes look like is a line. */
static void contents_line(struct report *r, const struct snap_heap *h)
{
	if (!h->n_types || (h->n_types == 1 && !strcmp(h->types->name, "other")))
		return;
	fputc('\n', r->out);
	para__begin(&r->para, "", 0);
	for (size_t i = 0; i < h->n_types; i++)
		para__item(&r->para, "%s%s%s %s", i ? "" : "No C++ class was recognised; blocks look like: ", h->types[i].estimated ? "~" : "",
			   BYTES(h->types[i].bytes), strcmp(h->types[i].name, "other") ? h->types[i].name : "unclassified");
	para__end(&r->para);
}

/* ---- all of a heap */

static const struct table {
	enum view_rows rows;
	const char *title, *noun, *unit;	/* "SIZES by bytes (10 of 34 sizes, 97.1% of bytes)" */
	const struct columns *of;
	const char *columns;
	int (*order)(const void *a, const void *b);	/* NULL: as they are kept */
	size_t least;		/* of fewer rows there is no table */
} of_heap[] = {
	{ ROWS_HEAP, "SIZES by bytes", "size", "bytes", &class_columns, OF_CLASSES, by_class, 1 },
	{ ROWS_TYPES, "TYPES by bytes", "type", "bytes", &type_columns, OF_TYPES, NULL, 1 },
	{ ROWS_ARENAS, "ARENAS by free bytes", "arena", "free bytes", &arena_columns, OF_ARENAS, by_free, 2 },
	{ ROWS_PARTS, "RESIDENT MEMORY", "part", "RSS", &part_columns, OF_PARTS, by_resident, 1 },
};

static uint64_t weight_of(const struct row_of *row)
{
	uint64_t bytes, blocks;

	heap__row_sums(row, &bytes, &blocks);
	return row->arena ? row->arena->free_bytes : bytes;
}

static void table(struct report *r, const struct snap_heap *h, const struct table *t)
{
	size_t n_rows = t->rows == ROWS_ARENAS ? h->n_arenas : heap__n_rows(h, t->rows), n_all = 0, n;
	uint64_t whole = t->rows == ROWS_ARENAS ? h->free_bytes : t->rows == ROWS_PARTS ? h->rss_bytes : h->bytes, listed = 0;
	_cleanup_free_ struct row_of *rows = rows_of(r, h, t->rows, n_rows);
	bool lost = t->rows == ROWS_HEAP && heap__was_searched(h) && h->unreached.blocks;

	for (size_t i = 0; i < n_rows; i++)
		if (!rows[i].part || rows[i].part->resident_bytes || rows[i].part->swapped_bytes)
			rows[n_all++] = rows[i];
	if (n_all < t->least)
		return;
	if (t->order)
		qsort(rows, n_all, sizeof(*rows), t->order);
	n = MIN(n_all, r->top);
	for (size_t i = 0; i < n; i++)
		listed += weight_of(&rows[i]);
	fputc('\n', r->out);
	/* all types are not all bytes: large blocks are not examined */
	if (t->rows == ROWS_TYPES && n == n_all && listed < whole)
		report__line(r, "%s (%s %s%s; %s of bytes not examined)", t->title, OUT_OF(n, n_all),
			     t->noun, plural(n_all), SHARE(whole - listed, whole));
	else
		report__line(r, "%s (%s %s%s, %s of %s)",
			     lost ? "SIZES by unreached bytes, then by bytes" : t->title, OUT_OF(n, n_all), t->noun,
			     plural(n_all), SHARE(listed, whole), t->unit);
	write_table(r, t->of, t->columns, rows, n);
}

static void tables(struct report *r, const struct snap_heap *h)
{
	for (size_t i = 0; i < ARRAY_SIZE(of_heap); i++) {
		if (h->refused && of_heap[i].rows != ROWS_PARTS)
			continue;
		if (of_heap[i].rows == ROWS_TYPES && !has_classes(h))
			contents_line(r, h);
		else
			table(r, h, &of_heap[i]);
	}
}

/* "redis-server (1432)" */
static void whose(struct report *r, const struct snap_heap *h, const char *before)
{
	_cleanup_free_ char *name = text_shorten(heap__comm(r->s, h), r->width - 20);

	fputc('\n', r->out);
	report__line(r, "%s%s (%d)", before, name, (int)heap__pid(r->s, h));
}

COMPARATOR(by_weight, struct snap_heap *const,
	   ORDER((*b)->unreached.bytes, (*a)->unreached.bytes) ?:
	   ORDER((*b)->bytes, (*a)->bytes) ?:
	   ORDER((*b)->rss_bytes, (*a)->rss_bytes) ?:
	   ORDER((*a)->process, (*b)->process))

const struct snap_heap **report__heaps_in_order(const struct snapshot *s)
{
	const struct snap_heap **v = xcalloc(s->n_heaps + 1, sizeof(*v));

	for (size_t i = 0; i < s->n_heaps; i++)
		v[i] = &s->heaps[i];
	qsort(v, s->n_heaps, sizeof(*v), by_weight);
	return v;
}

static void each_heap(struct report *r, void (*write)(struct report *r, const struct snap_heap *h))
{
	_cleanup_free_ const struct snap_heap **v = report__heaps_in_order(r->s);
	size_t n = MIN(r->s->n_heaps, MAX(r->top, (size_t)HEAPS_SHOWN));

	for (size_t i = 0; i < n; i++)
		write(r, v[i]);
	if (n < r->s->n_heaps)
		report__line(r, "%zu more heaps were looked at: --top %zu shows them", r->s->n_heaps - n, r->s->n_heaps);
}

static void one_heap(struct report *r, const struct snap_heap *h)
{
	bool alone = snapshot__is_heap(r->s) && r->s->n_heaps == 1;

	if (!alone)
		whose(r, h, snapshot__is_heap(r->s) ? "" : "HEAP of ");
	report__heap_lines(r, h);
	tables(r, h);
}

/* What else there is to ask for; on a screen that asked for nothing. */
static void next_line(struct report *r)
{
	const struct snap_heap *one = r->s->n_heaps == 1 ? &r->s->heaps[0] : NULL;
	bool searched = false, held = false, read = false;
	uint64_t lost = 0;

	for (size_t i = 0; i < r->s->n_heaps; i++) {
		read |= !r->s->heaps[i].refused;
		searched |= heap__was_searched(&r->s->heaps[i]);
		held |= r->s->heaps[i].n_roots;
		lost += r->s->heaps[i].unreached.blocks;
	}
	fputc('\n', r->out);
	para__begin(&r->para, "next:", 6);
	if (lost && one)
		para__item(&r->para, "malloctrace -p %d -d 30 --reachable for the call stacks that leak", (int)heap__pid(r->s, one));
	if (!read && one) {
		if (!strstr(one->refused, "it allocates with"))
			para__item(&r->para, "malloctrace doctor -p %d says which allocator it has", (int)heap__pid(r->s, one));
		para__item(&r->para, "malloctrace -p %d traces what it allocates", (int)heap__pid(r->s, one));
	}
	if (read && !searched)
		para__item(&r->para, "--reachable for leaked blocks");
	if (read && !held)
		para__item(&r->para, "--roots %sfor what holds the others", searched ? "" : "also ");
	para__item(&r->para, "--full for every row");
	if (read)
		para__item(&r->para, "--view blocks for addresses");
	para__item(&r->para, "-o heap.html for pictures");
	para__end(&r->para);
}

void report__heaps(struct report *r)
{
	bool screen = r->o->brief && snapshot__is_heap(r->s);

	/* four tables, and what is above them */
	if (screen && r->o->height && !r->o->top)
		r->top = MIN(r->top, (size_t)MAX(((int)r->o->height - OTHER_LINES) / 4, LEAST_ROWS));
	each_heap(r, one_heap);
	if (screen)
		next_line(r);
}

/* ---- --view blocks */

/* What is older than the trace is older than any of it. */
static uint64_t age_of(const struct snap_heap *h, const struct snap_block *b)
{
	return !b->site && h->older_known ? UINT64_MAX : b->age_ns;
}

static bool is_lost(const struct snap_block *b)
{
	return b->reach == REACH_UNREACHED || b->reach == REACH_INDIRECT;
}

/* "the oldest first", "those without a pointer first, then the largest"; a list that is in no such order is none of ours */
static const char *order_of(const struct snap_heap *h)
{
	bool some_lost = h->n_list && is_lost(&h->list[0]), ages = h->n_list && age_of(h, &h->list[0]), sizes = h->n_list, lost = some_lost;

	for (size_t i = 1; i < h->n_list; i++) {
		const struct snap_block *before = &h->list[i - 1], *b = &h->list[i];

		lost &= is_lost(before) >= is_lost(b);
		/* the others begin anew */
		if (some_lost && is_lost(before) != is_lost(b))
			continue;
		ages &= age_of(h, before) >= age_of(h, b);
		sizes &= before->bytes >= b->bytes;
	}
	if (some_lost)
		return !lost ? "" : ages ? ", those without a pointer first, then the oldest" : sizes ? ", those without a pointer first, then the largest" :
										     ", those without a pointer first";
	return ages ? ", the oldest first" : sizes ? ", the largest first" : "";
}

static void one_list(struct report *r, const struct snap_heap *h)
{
	_cleanup_free_ struct row_of *rows = NULL;
	size_t n = MIN(h->n_list, r->top);

	if (!h->n_list_of)
		return;
	rows = rows_of(r, h, ROWS_BLOCKS, n);
	if (r->s->n_heaps > 1)
		whose(r, h, "");
	fputc('\n', r->out);
	if (!n)
		report__line(r, "BLOCKS: %s", r->s->hidden.by ? "none is left of those that were listed" : "none is in use");
	else
		report__line(r, "BLOCKS%s (%s)", order_of(h), OUT_OF(n, h->n_list_of));
	if (!(r->views & VIEW_HEAP) && !r->o->brief)
		report__search_doubts(r, h);
	if (n)
		write_table(r, &block_columns, OF_BLOCKS, rows, n);
}

void report__blocks(struct report *r)
{
	each_heap(r, one_list);
}
