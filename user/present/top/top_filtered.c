// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns what is said below the rows that a filter, a tag or a function leaves: what they add up to, and which share of
 * all that is.
 *
 *	sum of 5 of 9 sites: 2.2 MiB live (5.6%) in 39 blocks (0.1%); 12,345 calls (1.2%)
 *
 * What always holds: each site, process or thread counts once, however the rows show it; the whole is all that is in
 * sight without the filter.
 */
#include <string.h>

#include "model/merge.h"
#include "present/figures.h"
#include "present/top/top_parts.h"
#include "util/text.h"

#define SUM_OF_FROM 60	/* columns; below, what it is stands to reason */

struct filtered {
	struct counters part, whole;
	size_t n, of;
	const char *what;	/* "site" */
};

/* Of sites, whether each is a row or a part of one. */
static void add_sites(struct top *t, const struct view *v, struct filtered *f)
{
	const struct snapshot *s = t->shown;

	f->what = "site";
	for (size_t i = 0; i < s->n_sites; i++) {
		const struct snap_site *site = &s->sites[i];

		if (!top__in_scope(t, site))
			continue;
		counters__add(&f->whole, &site->c);
		f->of += v->shows(site, false);
		if (!v->shows(site, false) || !top__matches(t, site))
			continue;
		counters__add(&f->part, &site->c);
		f->n++;
	}
}

static void add_processes(const struct top *t, struct filtered *f)
{
	f->what = "process";
	for (size_t i = 0; i < t->rows.n; i++)
		counters__add(&f->part, &t->rows.v[i].of.process->c);
	f->n = t->rows.n;
	f->of = t->shown->n_processes;
	f->whole = t->shown->totals;
}

static void add_up(struct top *t, struct filtered *f)
{
	const struct view *v = top__view(t);

	if (v->rows == ROWS_SITES || v->rows == ROWS_SUMS)
		add_sites(t, v, f);
	else if (v->rows == ROWS_PROCESSES && *t->filter)
		add_processes(t, f);
}

struct words {
	char *buf;
	size_t size, n;
	int width;
};

/* Whole parts alone: half a figure tells something else. */
static void say(struct words *w, const char *text)
{
	if ((int)(text_width(w->buf) + text_width(text)) <= w->width)
		w->n += (size_t)snprintf(w->buf + w->n, w->size - w->n, "%s", text);
	else
		w->width = 0;
}

static void figure(struct words *w, const char *before, const char *mark, const char *figure, const char *unit, uint64_t part, uint64_t whole)
{
	char a[FMT_MAX], text[128];

	snprintf(text, sizeof(text), "%s%s%s %s (%s)", before, mark, figure, unit, fmt_share(a, part, whole));
	say(w, text);
}

/* Of a heap there are neither sites nor calls. */
static void heap_words(const struct top *t, struct words *w)
{
	static const char *const what[N_VIEW_ROWS] = {
		[ROWS_HEAP] = "size", [ROWS_TYPES] = "type", [ROWS_ARENAS] = "arena", [ROWS_PARTS] = "part", [ROWS_ROOTS] = "root",
	};
	enum view_rows rows = top__view(t)->rows;
	char a[FMT_MAX], b[FMT_MAX], text[128];
	struct heap_filtered f;

	top__heap_filtered(t, &f);
	snprintf(text, sizeof(text), "%s%s of %s %s%s:", w->width < SUM_OF_FROM ? "" : "sum of ", fmt_exact(a, f.n), fmt_exact(b, f.of), what[rows], f.of == 1 ? "" : "s");
	say(w, text);
	figure(w, " ", "", fmt_bytes(a, f.bytes), rows == ROWS_PARTS ? "resident" : "in use", f.bytes, f.all_bytes);
	if (rows != ROWS_PARTS)
		figure(w, " in ", "", fmt_count(a, f.blocks), f.blocks == 1 ? "block" : "blocks", f.blocks, f.all_blocks);
}

void top__filtered_words(struct top *t, char *buf, size_t size, int width)
{
	struct words w = { buf, size, 0, MIN(width, (int)size / 4) };
	unsigned int known = t->shown->known;
	const char *mark = t->shown->estimated ? "~" : "";
	struct filtered f = {};
	char a[FMT_MAX], b[FMT_MAX], text[128];

	*buf = 0;
	if (top__is_heap(top__view(t))) {
		if (*t->filter)
			heap_words(t, &w);
		return;
	}
	add_up(t, &f);
	if (!f.what)
		return;
	snprintf(text, sizeof(text), "%s%s of %s %s%s:", width < SUM_OF_FROM ? "" : "sum of ", fmt_exact(a, f.n), fmt_exact(b, f.of), f.what,
		 f.of == 1 ? "" : strcmp(f.what, "process") ? "s" : "es");
	say(&w, text);
	if (known & HAS_LIVE_BYTES)
		figure(&w, " ", mark, fmt_bytes(a, f.part.live_bytes), "live", f.part.live_bytes, f.whole.live_bytes);
	else
		figure(&w, " ", mark, fmt_bytes(a, f.part.alloc_bytes), "allocated", f.part.alloc_bytes, f.whole.alloc_bytes);
	if (known & HAS_LIVE_BLOCKS)
		figure(&w, " in ", mark, fmt_count(a, f.part.live_blocks), f.part.live_blocks == 1 ? "block" : "blocks", f.part.live_blocks, f.whole.live_blocks);
	if (known & HAS_ALLOC_CALLS)
		figure(&w, ", ", mark, fmt_count(a, f.part.alloc_calls), f.part.alloc_calls == 1 ? "call" : "calls", f.part.alloc_calls, f.whole.alloc_calls);
}
