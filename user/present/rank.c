// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the order of rows. It is total: two runs over the same snapshot, and two
 * snapshots with the same figures, give the same rows in the same order,
 * whether names are known or not (ties end at the stack's modules and offsets,
 * never at names or at indexes that depend on the order of arrival).
 */
#include "present/views.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "present/columns.h"
#include "util/util.h"

static uint64_t live_bytes(const struct rank *r, const struct snap_site *site)
{
	return r->older ? site->older_bytes : site->c.live_bytes;
}

#define SWAP(a, b)				\
	do {					\
		__typeof__(a) swap_ = (a);	\
		(a) = (b);			\
		(b) = swap_;			\
	} while (0)

struct order {
	const struct snapshot *s;
	const struct rank *r;
	const struct view *view;
	bool ended_last;
};

uint64_t rank__weight(const struct rank *r, const struct metric *m, const struct snap_site *site)
{
	if (r->older && !strcmp(m->name, "live-bytes"))
		return site->older_bytes;
	if (r->older && !strcmp(m->name, "live-blocks"))
		return site->older_blocks;
	return metric__of(m, site);
}

static int by_place(const struct snapshot *s, const struct place *a, const struct place *b)
{
	const char *ma, *mb;
	int d = 0;

	if (a->module != b->module) {
		ma = place__frame(s, a, 0).module;
		mb = place__frame(s, b, 0).module;
		d = strcmp(ma ? ma : "", mb ? mb : "");
	}
	return d ?: ORDER(a->offset, b->offset);
}

/* What is not known comes last. */
static int larger_first(double a, double b)
{
	if (isnan(a) || isnan(b))
		return isnan(a) - isnan(b);
	return ORDER(b, a);
}

static int by_key(const struct rank *r, const struct snap_site *a, const struct snap_site *b)
{
	uint64_t wa, wb;

	if (r->by->value)
		return larger_first(r->by->value(a), r->by->value(b));
	wa = rank__weight(r, r->by, a);
	wb = rank__weight(r, r->by, b);
	return ORDER(wb, wa);
}

static int by_rank(const void *pa, const void *pb, void *arg)
{
	const struct snap_site *a = *(const struct snap_site *const *)pa, *b = *(const struct snap_site *const *)pb;
	const struct order *o = arg;
	const struct snapshot *s = o->s;
	int d = o->ended_last ? s->processes[a->process].ended - s->processes[b->process].ended : 0;

	d = d ?: by_key(o->r, a, b) ?: (o->view->older ? ORDER(live_bytes(o->r, b), live_bytes(o->r, a)) : 0) ?:
	    ORDER(b->c.alloc_bytes, a->c.alloc_bytes) ?: ORDER(b->c.alloc_calls, a->c.alloc_calls) ?:
	    ORDER(s->processes[a->process].id, s->processes[b->process].id) ?: ORDER((uint64_t)a->tid, (uint64_t)b->tid) ?:
	    strcmp(a->function, b->function);
	for (uint32_t i = 0; !d && i < MIN(a->n_stack, b->n_stack); i++)
		if (a->stack[i] != b->stack[i])
			d = by_place(s, &s->places[a->stack[i]], &s->places[b->stack[i]]);
	return d ?: ORDER(a->n_stack, b->n_stack);
}

static double freed(const struct snap_site *site)
{
	return site->c.alloc_calls ? (double)site->c.free_calls / (double)site->c.alloc_calls : NAN;
}

/* Orders of rows, but nothing that a graph could weigh. */
static const struct metric orders[] = {
	{ .name = "growth", .unit = "bytes", .needs = HAS_LIVE_BYTES, .value = site__growth_order },
	{ .name = "freed", .unit = "frees", .needs = HAS_FREE_CALLS | HAS_ALLOC_CALLS, .value = freed },
	METRIC("oldest", "ns", "oldest_ns", HAS_LIVE_BLOCKS, oldest_ns),
	METRIC("freed-calls", "frees", "free_calls", HAS_FREE_CALLS, c.free_calls),
	METRIC("moved-bytes", "bytes", "moved_bytes", HAS_REALLOC_CALLS, moves.moved_bytes),
};

/* What --sort takes beside the names of metrics: the titles of the columns that have them. */
static const struct {
	const char *title, *key;
} titles[] = {
	{ "live", "live-bytes" }, { "growth", "growth" },     { "blocks", "live-blocks" }, { "freed", "freed" },     { "oldest", "oldest" },
	{ "calls", "alloc-calls" }, { "bytes", "alloc-bytes" }, { "peak", "peak-bytes" },   { "temp", "temp-calls" },
	{ "unreached", "unreached-bytes" },
	/* of --view blocks, where a row is a block */
	{ "age", "oldest" }, { "size", "live-bytes" },
};

const char *rank__words(void)
{
	static char words[512];
	size_t at = 0;

	if (*words)
		return words;
	for (size_t i = 0; i < ARRAY_SIZE(titles); i++)
		at += (size_t)snprintf(words + at, sizeof(words) - at, "%s%s", at ? " " : "", titles[i].title);
	for (size_t i = 0; i < n_metrics; i++)
		at += (size_t)snprintf(words + at, sizeof(words) - at, " %s", metrics[i].name);
	return words;
}

const struct metric *rank__metric(const char *name)
{
	const struct metric *key = name ? rank__key(name) : NULL;

	return key ? metric__find(key->name) : NULL;
}

const struct metric *rank__key(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(titles); i++)
		if (!strcmp(name, titles[i].title))
			name = titles[i].key;
	for (size_t i = 0; i < ARRAY_SIZE(orders); i++)
		if (!strcmp(name, orders[i].name))
			return &orders[i];
	return metric__find(name);
}

/* v[at] may be lighter than what hangs below it in the heap: of two, the one that ranks later is above. */
static void sift(const struct snap_site **v, size_t n, size_t at, struct order *o)
{
	for (;;) {
		size_t last = at;

		for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < n; child++)
			if (by_rank(&v[child], &v[last], o) > 0)
				last = child;
		if (last == at)
			return;
		SWAP(v[at], v[last]);
		at = last;
	}
}

/*
 * The first of all in their order, the others after them in none: ten rows of
 * ten thousand sites are shown, once a second. A heap holds the best so far, the
 * last of them on top.
 */
static void sort_first(const struct snap_site **v, size_t n, size_t first, struct order *o)
{
	if (first && first < n) {
		for (size_t i = first / 2; i-- > 0;)
			sift(v, first, i, o);
		for (size_t i = first; i < n; i++)
			if (by_rank(&v[i], &v[0], o) < 0) {
				SWAP(v[i], v[0]);
				sift(v, first, 0, o);
			}
	}
	qsort_r(v, MIN(first, n), sizeof(*v), by_rank, o);
}

void rank__init(struct rank *r, const struct snapshot *s, enum view_bit view, const char *sort, bool older, size_t top)
{
	const struct view *v = view__of(view);
	struct order o = { .s = s, .r = r, .view = v };

	*r = (struct rank){ .by = rank__key(sort ? sort : v->sort), .older = older };
	/* what is held now is not among what was held then, unless that was asked for */
	o.ended_last = r->ended_last = !sort && v->holds && snapshot__has_both(s);
	r->v = xcalloc(s->n_sites + 1, sizeof(*r->v));
	for (size_t i = 0; i < s->n_sites; i++)
		if (v->shows(&s->sites[i], older))
			r->v[r->n++] = &s->sites[i];
	sort_first(r->v, r->n, top, &o);
}

void rank__sums(const struct rank *r, const struct metric *m, size_t n, uint64_t *ret_whole, uint64_t *ret_first)
{
	*ret_whole = *ret_first = 0;
	for (size_t i = 0; i < r->n; i++) {
		uint64_t weight = rank__weight(r, m, r->v[i]);

		*ret_whole += weight;
		*ret_first += i < n ? weight : 0;
	}
}

void rank__done(struct rank *r)
{
	free(r->v);
	r->v = NULL;
	r->n = 0;
}

uint64_t rank__of_counters(const struct metric *key, const struct counters *c)
{
	struct snap_site as_site = { .c = *c, .at_peak_bytes = c->peak_bytes };

	return metric__of(key, &as_site);
}
