// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns how a table of the live view is drawn:
 *
 *	     LIVE   GROWTH/s  BLOCKS FREED  OLDEST VERDICT  SITE
 *	 31.0 MiB +180.0 KiB  31,744    0%   2m14s leak     trackingRememberKey  tracking.c:212
 *
 * What always holds: which columns there are depends on the width of the screen,
 * on what is recorded and on whether there is a baseline, never on the figures,
 * so nothing moves sideways from one second to the next.
 */
#include <string.h>

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

bool view__has_column(const struct top *t, const struct view *v, const struct column *c)
{
	if (!column__holds(c, t->shown))
		return false;
	/* whose a row is has to be told only where there are several it could be */
	if (v->rows != ROWS_PROCESSES && !strcmp(c->as, "process"))
		return t->shown->n_processes > 1 && !t->scope;
	if (v->rows == ROWS_THREADS && !strcmp(c->as, "threads"))
		return t->threads.n < t->threads.n_members;
	if (!strcmp(c->as, "verdict"))
		return t->shown->known & (HAS_LIVE_BYTES | HAS_LIVE_BLOCKS);
	/* before there is a baseline it would be what is live, again */
	if (!strcmp(c->as, "delta"))
		return t->shown->baseline;
	if (!strcmp(c->as, "error"))
		return t->shown->estimated;
	if (!strcmp(c->as, "unreached"))
		/* beside blocks of one age it would be of all */
		return t->shown->known & HAS_UNREACHED && !t->shown->recording.older_ns;
	if (!strcmp(c->as, "older"))
		return heaps__know_older(t->shown);
	if (!strcmp(c->as, "members"))
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
	const struct column *c = columns__find(view__columns(t->views[view]), column);

	if (!c)
		return;
	t->at[view].sort = (size_t)(c - view__columns(t->views[view])->v);
	t->at[view].sorted = true;
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

/* ---- the table */

#define FLEXIBLE_MIN 24		/* columns that a site keeps before the next column goes instead */
#define DROPS 16		/* more than any column is said to go at */
#define FLEXIBLE_LEAST 6	/* and with those columns alone that stay */
#define WHERE_FROM 44		/* from here on there is room for a place in the source beside a name */
#define WIDE 100		/* from here on there are two blanks between columns */

void top__draw_frame(struct grid *g, int row, int col, int width, const struct frame *f, const char *mark, enum style style)
{
	_cleanup_free_ char *name = frame__name(f), *where = NULL, *shown = NULL, *cut = NULL;
	int room = width, mark_cols = (int)text_width(mark), at = width;

	if (width >= WHERE_FROM) {
		at = width * 3 / 5;
		where = frame__where(f, width - at);
		if (*where)
			room = at - 2;
	} else if (f->line && f->line->file) {
		/* at the right edge, if the name leaves room */
		where = frame__where(f, 0);
		if ((int)(text_width(name) + text_width(where)) + mark_cols + 2 <= width)
			at = width - (int)text_width(where);
		else
			*where = 0;
	}
	shown = name__shorten(name, MAX(room - mark_cols, 1));
	room = grid__put(g, row, col, room, frame__function(f) ? style : STYLE_DIM, shown);
	grid__put(g, row, col + room, mark_cols, STYLE_DIM, mark);
	if (where && *where) {
		cut = text_shorten(where, width - at);
		grid__put(g, row, col + at, width - at, STYLE_DIM, cut);
	}
}

/* The name first: what is beside it stands in its column, or at the right edge, or not at all. */
static void draw_name(struct grid *g, int row, int col, int width, const struct frame *f, const char *name, const char *exe)
{
	int cols = (int)text_width(name), at = width * 3 / 5, left = width - MAX(at, cols + 2);
	_cleanup_free_ char *where = frame__where_short(f, exe, width < WHERE_FROM ? 0 : MAX(left, 0)),
		*shown = name__shorten(name, width);
	int where_cols = (int)text_width(where);

	if (where_cols && (width < WHERE_FROM || where_cols > left)) {
		at = width - where_cols;
		where_cols = cols + 2 <= at ? where_cols : 0;
	}
	grid__put(g, row, col, width, frame__function(f) ? STYLE_PLAIN : STYLE_DIM, shown);
	if (where_cols)
		grid__put(g, row, col + MAX(at, cols + 2), where_cols, STYLE_DIM, where);
}

void top__draw_telling(const struct top *t, const struct snap_site *site, struct grid *g, int row, int col, int width, const char *nobody)
{
	struct frame f = tellings__of(&t->tellings, t->shown, site);
	_cleanup_free_ char *name = f.place ? tellings__name(&t->tellings, t->shown, site) : NULL;

	if (name)
		draw_name(g, row, col, width, &f, name, t->shown->processes[site->process].exe);
	else
		grid__put(g, row, col, width, STYLE_DIM, nobody);
}

/* ---- names that are missing */

static void want_place(struct top *t, uint32_t at)
{
	if (t->shown->places[at].resolved || t->is_wanted[at])
		return;
	*(uint32_t *)vec_push(&t->wanted) = at;
	t->is_wanted[at] = 1;
}

void top__want_site(struct top *t, const struct snap_site *s)
{
	for (uint32_t i = 0; i < s->n_stack; i++)
		want_place(t, s->stack[i]);
}

void top__want_attributed(struct top *t)
{
	for (size_t i = 0; i < t->shown->n_sites; i++) {
		const struct snap_site *s = &t->shown->sites[i];
		uint32_t at = 0;

		if (!top__in_scope(t, s))
			continue;
		while (at < s->n_stack && t->shown->places[s->stack[at]].resolved && !tellings__settles(&t->tellings, t->shown, s->stack[at]))
			at++;
		if (at < s->n_stack)
			want_place(t, s->stack[at]);
	}
}

void top__want_all(struct top *t)
{
	for (size_t i = 0; i < t->shown->n_sites; i++)
		if (top__in_scope(t, &t->shown->sites[i]))
			top__want_site(t, &t->shown->sites[i]);
}

/* ---- the layout */

#define COLUMNS_MAX 24

struct layout {
	const struct columns *c;
	size_t width[COLUMNS_MAX];	/* of each column; 0: it is not shown */
	size_t gap;
};

/* Names stay as long as there are figures: the last of these. */
static bool drop_figure(struct layout *l)
{
	for (size_t i = l->c->n; i-- > 0;)
		if (l->width[i] && !l->c->v[i].left) {
			l->width[i] = 0;
			return true;
		}
	return false;
}

static size_t total(const struct layout *l)
{
	return columns__width(l->c, l->width, l->gap);
}

/* Of those that had to go, what there is room for after all: a wide one may have gone last. */
static void take_back(struct layout *l, const struct layout *all, size_t cols)
{
	for (unsigned int drop = 1; drop < DROPS; drop++)
		for (size_t i = 0; i < l->c->n; i++)
			if (!l->width[i] && all->width[i] && l->c->v[i].drop == drop && total(l) + l->gap + all->width[i] <= cols)
				l->width[i] = all->width[i];
}

/* What is left is the flexible column's, or what is missing comes from it; where that is gone, the last one's. */
static void stretch(struct layout *l, size_t cols)
{
	size_t i = l->c->n, others;

	while (i > 1 && !l->width[i - 1])
		i--;
	if (!i || !l->c->v[i - 1].left)
		return;
	others = total(l) - l->width[i - 1];
	l->width[i - 1] = cols > others + FLEXIBLE_LEAST ? cols - others : FLEXIBLE_LEAST;
}

static void lay_out(const struct top *t, const struct view *v, size_t cols, struct layout *l)
{
	struct layout all;

	*l = (struct layout){ .c = view__columns(v), .gap = cols >= WIDE ? 2 : 1 };
	for (size_t i = 0; i < l->c->n && i < COLUMNS_MAX; i++) {
		const struct column *c = &l->c->v[i];

		if (view__has_column(t, v, c) && cols >= c->from_cols)
			l->width[i] = c->width + (t->shown->estimated && c->scaled) ?: FLEXIBLE_MIN;
	}
	all = *l;
	while (total(l) > cols && columns__drop(l->c, l->width, 1))
		;
	take_back(l, &all, cols);
	stretch(l, cols);
	while (total(l) > cols && drop_figure(l))
		;
	stretch(l, cols);
}

/* ---- drawing */

/* sorts: those of the table, which the mouse sorts by */
static void draw_heads(struct top *t, const struct layout *l, struct grid *g, int row, bool sorts)
{
	int col = 0;

	if (sorts) {
		t->head_row = row;
		t->n_heads = 0;
	}
	grid__fill(g, row, 0, g->cols, STYLE_HEAD, ' ');
	for (size_t i = 0; i < l->c->n; i++) {
		enum style style = sorts && i == t->at[t->view].sort ? STYLE_HEAD_SORT : STYLE_HEAD;
		const char *title = column__title(&l->c->v[i], t->shown);
		int width = (int)l->width[i], end = col + width + (int)l->gap;

		if (!width)
			continue;
		if (l->c->v[i].left)
			grid__put(g, row, col, width, style, title);
		else
			grid__put_right(g, row, col, width, style, title);
		if (sorts && t->n_heads < ARRAY_SIZE(t->heads)) {
			t->heads[t->n_heads].from = col;
			t->heads[t->n_heads].end = end;
			t->heads[t->n_heads++].column = i;
		}
		col = end;
	}
}

static void draw_cell(const struct top *t, const struct column *c, const struct top_row *r, struct grid *g, int row, int col, int width)
{
	top_draw draw = column__draws(c);
	struct cell cell;
	enum style style;

	if (draw) {
		draw(t, r, g, row, col, width);
		return;
	}
	column__marked_cell(c, &r->of, &cell);
	style = strcmp(cell.text, "-") ? tone__style(cell.tone) : STYLE_DIM;
	if (c->left) {
		_cleanup_free_ char *cut = text_shorten(cell.text, width);

		grid__put(g, row, col, width, style, cut);
	} else {
		grid__put_right(g, row, col, width, style, cell.text);
	}
}

static void draw_row(struct top *t, const struct view *v, const struct layout *l, const struct top_row *r, struct grid *g, int row)
{
	int col = 0;

	for (size_t i = 0; i < l->c->n; i++) {
		int width = (int)l->width[i];

		if (!width)
			continue;
		draw_cell(t, &l->c->v[i], r, g, row, col, MIN(width, g->cols - col));
		col += width + (int)l->gap;
	}
	if (r->of.site)
		top__want_site(t, r->of.site);
	if (r->of.site && v->bit == VIEW_FREES)
		top__want_frees(t, r->of.site);
}

/* ---- the sum of filtered rows */

/*
 * What is said below the rows that a filter, a tag or a function leaves: what they add up to, and which share of
 * all that is.
 *
 *	sum of 5 of 9 sites: 2.2 MiB live (5.6%) in 39 blocks (0.1%); 12,345 calls (1.2%)
 *
 * What always holds: each site, process or thread counts once, however the rows show it; the whole is all that is in
 * sight without the filter.
 */

#define SUM_OF_FROM 60	/* columns; below, what it is stands to reason */

/* Of sites, whether each is a row or a part of one. */
static void add_sites(struct top *t, const struct view *v, struct top_filtered *f)
{
	const struct snapshot *s = t->shown;

	f->what = "site";
	for (size_t i = 0; i < s->n_sites; i++) {
		const struct snap_site *site = &s->sites[i];

		if (!top__in_scope(t, site))
			continue;
		counters__add(&f->whole, &site->c);
		f->of += view__shows(v, site, false);
		if (!view__shows(v, site, false) || !top__matches(t, site))
			continue;
		counters__add(&f->part, &site->c);
		f->n++;
	}
}

static void add_processes(const struct top *t, struct top_filtered *f)
{
	f->what = "process";
	for (size_t i = 0; i < t->rows.n; i++)
		counters__add(&f->part, &t->rows.v[i].of.process->c);
	f->n = t->rows.n;
	f->of = t->shown->n_processes;
	f->whole = t->shown->totals;
}

static void add_up_filtered(struct top *t, struct top_filtered *f)
{
	const struct view *v = top__view(t);

	f->known = t->shown->known;
	f->unit = f->known & HAS_LIVE_BYTES ? "live" : "allocated";
	if (top__is_heap(v) && *t->filter)
		top__heap_filtered(t, f);
	else if (v->rows == ROWS_SITES || v->rows == ROWS_SUMS)
		add_sites(t, v, f);
	else if (v->rows == ROWS_PROCESSES && *t->filter)
		add_processes(t, f);
}

struct words {
	char *buf;
	size_t size, n;
	int width;
};

/* Whole parts alone: half a say_figure tells something else. */
static void say(struct words *w, const char *text)
{
	if ((int)(text_width(w->buf) + text_width(text)) <= w->width)
		w->n += (size_t)snprintf(w->buf + w->n, w->size - w->n, "%s", text);
	else
		w->width = 0;
}

static void say_figure(struct words *w, const char *before, const char *mark, const char *say_figure, const char *unit, uint64_t part, uint64_t whole)
{
	char text[128];

	snprintf(text, sizeof(text), "%s%s%s %s (%s)", before, mark, say_figure, unit, SHARE(part, whole));
	say(w, text);
}

static void filtered_words(struct top *t, char *buf, size_t size, int width)
{
	struct words w = { buf, size, 0, MIN(width, (int)size / 4) };
	const char *mark = t->shown->estimated && !top__is_heap(top__view(t)) ? "~" : "";
	struct top_filtered f = {};
	char text[128];

	*buf = 0;
	add_up_filtered(t, &f);
	if (!f.what)
		return;
	snprintf(text, sizeof(text), "%s%s of %s %s%s:", width < SUM_OF_FROM ? "" : "sum of ", EXACT(f.n), EXACT(f.of), f.what,
		 f.of == 1 ? "" : strcmp(f.what, "process") ? "s" : "es");
	say(&w, text);
	if (f.known & HAS_LIVE_BYTES)
		say_figure(&w, " ", mark, BYTES(f.part.live_bytes), f.unit, f.part.live_bytes, f.whole.live_bytes);
	else
		say_figure(&w, " ", mark, BYTES(f.part.alloc_bytes), f.unit, f.part.alloc_bytes, f.whole.alloc_bytes);
	if (f.known & HAS_LIVE_BLOCKS)
		say_figure(&w, " in ", mark, COUNT(f.part.live_blocks), f.part.live_blocks == 1 ? "block" : "blocks", f.part.live_blocks, f.whole.live_blocks);
	if (f.known & HAS_ALLOC_CALLS)
		say_figure(&w, ", ", mark, COUNT(f.part.alloc_calls), f.part.alloc_calls == 1 ? "call" : "calls", f.part.alloc_calls, f.whole.alloc_calls);
}

/* Below a filter's rows, always in the same place: what they add up to. How many rows it takes. */
static int put_sum(struct top *t, struct grid *g, int row, int n)
{
	char text[1024];

	if (!top__filters(t) || n < 4)
		return 0;
	filtered_words(t, text, sizeof(text), g->cols);
	if (!*text)
		return 0;
	grid__put(g, row, 0, g->cols, STYLE_MATCH, text);
	return 1;
}

/* ---- below processes */

#define LEAST_PROCESSES 5	/* rows of processes that stay */

/*
 * The sites of the processes that grow or hold most, below a table of processes, where the screen has room for both:
 *
 *	SITES of the processes that grow most
 *	     LIVE   GROWTH/s VERDICT  PROCESS                SITE
 *	 31.0 MiB   +1.0 MiB leak     redis-server (1432)    raxGenericInsert  rax.c:494
 *
 * How many of the n rows from `row` on they took, at the end.
 */
static int draw_growers(struct top *t, struct grid *g, int row, int n)
{
	const struct view *live = view__of(VIEW_LIVE);
	int n_rows = (int)t->n_growers;
	struct layout l;

	/* a blank line, the title and the heads */
	if (!n_rows || n - (n_rows + 3) < 1 + MIN((int)t->rows.n, LEAST_PROCESSES))
		return 0;
	row += n - n_rows - 2;
	lay_out(t, live, (size_t)g->cols, &l);
	grid__putf(g, row, 0, g->cols, STYLE_LABEL, "SITES of the %s that %s most", snapshot__is_grouped(t->shown) ? "groups" : "processes",
		   t->growers_do);
	draw_heads(t, &l, g, row + 1, false);
	for (int i = 0; i < n_rows; i++)
		draw_row(t, live, &l, &t->growers[i], g, row + 2 + i);
	top__want_attributed(t);
	return n_rows + 3;
}

void top__draw_table(struct top *t, struct grid *g, int row, int n)
{
	const struct view *v = top__view(t);
	struct top_place *p = &t->at[t->view];
	struct layout l;

	if (v->rows == ROWS_MARKS && n > 2) {
		char text[512];

		top__mark_note(t, text, sizeof(text));
		grid__put(g, row++, 0, g->cols, STYLE_PLAIN, text);
		n--;
	}
	if (top__is_heap(v)) {
		int head = top__draw_heap_head(t, g, row, n);

		row += head;
		n -= head;
	}
	if (n < 1)
		return;
	n -= draw_growers(t, g, row, n);
	lay_out(t, v, (size_t)g->cols, &l);
	draw_heads(t, &l, g, row, true);
	t->list_row = row + 1;
	t->list_rows = n - 1 - put_sum(t, g, row + n - 1, n);
	if (!t->rows.n && *t->filter)
		grid__putf(g, row + 1, 1, g->cols - 2, STYLE_DIM, "nothing matches %s", t->filter);
	else if (!t->rows.n)
		grid__putf(g, row + 1, 1, g->cols - 2, STYLE_DIM, "%s%s", v->empty, recording__is_partial(&t->shown->recording) ? ", of what is recorded" : "");
	else
		list__fit(p, t->rows.n, t->list_rows);
	for (int i = 0; i < t->list_rows && p->scroll + i < t->rows.n; i++) {
		draw_row(t, v, &l, &t->rows.v[p->scroll + i], g, t->list_row + i);
		if (p->scroll + i == p->cursor)
			grid__select(g, t->list_row + i);
	}
	/* which rows there are depends on the names of all */
	if (top__filters(t) || v->rows == ROWS_TAGS || v->rows == ROWS_SUMS)
		top__want_all(t);
	else if (v->rows == ROWS_SITES)
		top__want_attributed(t);
}
