// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns what the live view makes of the views and their columns (present/views.c,
 * present/columns.c): which of them a trace has, and the cells that only a screen
 * can show.
 *
 * What always holds: a column has the same width in every row and in every
 * update; what is not known is "-".
 */
#include <string.h>

#include "model/group.h"
#include "present/heap_words.h"
#include "present/rank.h"
#include "present/top/top_parts.h"

/* ---- cells */

enum style tone__style(enum tone tone)
{
	static const enum style styles[] = {
		[TONE_PLAIN] = STYLE_PLAIN, [TONE_DIM] = STYLE_DIM, [TONE_GOOD] = STYLE_GOOD, [TONE_WARN] = STYLE_WARN, [TONE_BAD] = STYLE_BAD,
	};

	return styles[tone];
}

static void site_draw(const struct top *t, const struct top_row *r, struct grid *g, int row, int col, int width)
{
	int indent = r->member ? 2 : 0;

	if (r->merged && width > 2) {
		grid__put(g, row, col, width, STYLE_KEY, top__unfolded(t, r->id) ? "▾" : "▸");
		indent = 2;
	}
	top__draw_telling(t, r->of.site, g, row, col + indent, width - indent, site__no_stack(r->of.site));
}

/* Those of one kind fold and unfold, like the tree. */
static void thread_draw(const struct top *t, const struct top_row *r, struct grid *g, int row, int col, int width)
{
	bool any = t->threads.n < t->threads.n_members;
	int indent = (any ? 2 : 0) + (r->thread.member ? 2 : 0);

	if (r->thread.n_threads > 1)
		grid__put(g, row, col, width, STYLE_KEY, top__unfolded(t, r->id) ? "▾" : "▸");
	grid__put(g, row, col + indent, width - indent, STYLE_PLAIN, r->thread.name);
}

/* By the column's name, which means the same in every table that has it. */
static const struct {
	const char *column;
	top_draw draw;
} drawings[] = {
	{ "trend", top__draw_trend },
	{ "site", site_draw },
	{ "thread", thread_draw },
	{ "freed-at", top__draw_freed_at },
	{ "types", top__draw_types },
	{ "arena", top__draw_arena },
	{ "part", top__draw_part },
};

top_draw column__draws(const struct column *c)
{
	for (size_t i = 0; i < ARRAY_SIZE(drawings); i++)
		if (!strcmp(drawings[i].column, c->name))
			return drawings[i].draw;
	return NULL;
}

/* ---- what a trace has */

const struct view *top__view(const struct top *t)
{
	return t->views[t->view];
}

bool top__has_view(const struct top *t, const struct view *v)
{
	unsigned int where = v->live.where;

	if ((where & WHERE_TAGGED && !(t->o.tagger && tagger__any(t->o.tagger))) || (where & WHERE_MARKED && !t->o.marks))
		return false;
	/* where no heap was looked at, that view says how to */
	if (v->bit == VIEW_HEAP)
		return true;
	return view__holds(v, t->shown) && where__holds(where, t->shown);
}

const struct column *view_column__is(const struct view *v, const struct view_column *c)
{
	return columns__find(v->columns, c->of ? c->of : c->name);
}

const char *view_column__title(const struct top *t, const struct view *v, const struct view_column *c)
{
	return c->title ? c->title : column__title(view_column__is(v, c), t->shown);
}

bool view_column__holds(const struct top *t, const struct view *v, const struct view_column *c)
{
	if (c->needs & ~t->shown->known || !column__holds(view_column__is(v, c), t->shown))
		return false;
	/* whose a row is has to be told only where there are several it could be */
	if (v->rows != ROWS_PROCESSES && !strcmp(c->name, "process"))
		return t->shown->n_processes > 1 && !t->scope;
	if (v->rows == ROWS_THREADS && !strcmp(c->name, "threads"))
		return t->threads.n < t->threads.n_members;
	/* before there is a baseline it would be what is live, again */
	if (!strcmp(c->name, "delta"))
		return t->shown->baseline;
	if (!strcmp(c->name, "error"))
		return t->shown->estimated;
	if (!strcmp(c->name, "unreached"))
		/* beside blocks of one age it would be of all */
		return t->shown->known & HAS_UNREACHED && !t->shown->recording.older_ns;
	if (!strcmp(c->name, "older"))
		return heaps__know_older(t->shown);
	if (!strcmp(c->name, "members"))
		return snapshot__is_grouped(t->shown) || t->shown->machine.known;
	return true;
}

/* ---- what to begin with */

/* The columns of --sort; a view without that one keeps its own order. */
static const struct {
	const char *sort, *column;
} sorts[] = {
	{ "live-bytes", "live" }, { "live-blocks", "blocks" },	     { "alloc-bytes", "bytes" }, { "alloc-calls", "calls" },
	{ "peak-bytes", "peak" }, { "temp-calls", "temporary" }, { "oldest", "oldest" },	 { "growth", "growth" },
	{ "freed", "freed" },
};

static void sort_at_first(struct top *t, size_t view, const char *column)
{
	for (size_t i = 0; i < t->views[view]->live.n_columns; i++)
		if (!strcmp(t->views[view]->live.columns[i].name, column)) {
			t->at[view].sort = i;
			t->at[view].sorted = true;
		}
}

void top__choose_first(struct top *t)
{
	/* of several processes, who grows is the first question */
	unsigned int wanted = t->o.views ? t->o.views : t->shown->n_processes > 1 ? VIEW_PROCESSES : 0;
	const struct metric *key = t->o.sort ? rank__key(t->o.sort) : NULL;

	for (size_t k = 0; key && k < ARRAY_SIZE(sorts); k++)
		for (size_t i = 0; i < t->n_views && !strcmp(sorts[k].sort, key->name); i++)
			sort_at_first(t, i, sorts[k].column);
	if (!t->o.sort && t->o.views & VIEW_TEMPORARY && !(t->o.views & VIEW_ALLOCS))
		for (size_t i = 0; i < t->n_views; i++)
			if (t->views[i]->live.with & VIEW_TEMPORARY)
				sort_at_first(t, i, "temporary");
	for (size_t i = 0; i < t->n_views; i++)
		if (wanted & (t->views[i]->bit | t->views[i]->with | t->views[i]->live.with) && top__has_view(t, t->views[i])) {
			t->view = i;
			return;
		}
	if (t->o.views & VIEW_TREE)
		t->pane = PANE_TREE;
}
