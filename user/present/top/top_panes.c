// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns two panes: the call tree below, and the source of a frame's function:
 *
 *	token_make, src/session.c: 7.8 MiB in 32,030 blocks, 32,030 calls
 *
 *	     LIVE   BLOCKS    CALLS  LINE
 *	                                41  static char *token_make(struct session *s)
 *	                                42  {
 *	  7.8 MiB   32,030   32,030     43      char *t = malloc(256);
 *
 * The view knows no files: whoever runs it is asked for the text (TOP_SOURCE), once for each frame that is opened. What always
 * holds: figures are those of the snapshot that is shown, of the sites in sight; without the text they are there all the same.
 */
#include <stdlib.h>
#include <string.h>

#include "present/top/top_parts.h"

#define AROUND 40		/* lines before and after those with calls: the list scrolls */
#define CELL 10			/* columns of a figure */
/* on narrower screens the line itself comes before what is known by others */
#define WITH_BLOCKS 64
#define WITH_CALLS 50

void top__forget_source(struct top *t)
{
	free(t->source.function);
	free(t->source.file);
	free(t->source.dir);
	free(t->source.module);
	t->source.function = t->source.file = t->source.dir = t->source.module = NULL;
}

enum top_action top__open_source(struct top *t, int key)
{
	const struct snap_site *site = top__find_site(t, t->stack_id, NULL);
	struct frame f = site ? site__frame(t->shown, site, t->stack_at.cursor) : (struct frame){};

	if (!f.place)
		return TOP_NONE;
	if (!f.line || !f.line->file || !f.line->line || !f.line->function) {
		top__say(t, "The source of this frame is not known: no debug information.");
		return TOP_NONE;
	}
	top__forget_source(t);
	t->source.function = xstrdup(f.line->function);
	t->source.file = xstrdup(f.line->file);
	t->source.dir = f.line->dir ? xstrdup(f.line->dir) : NULL;
	t->source.module = f.module ? xstrdup(f.module) : NULL;
	t->source.line = f.line->line;
	t->source.at = (struct top_place){ .id = f.line->line, .scroll = SIZE_MAX };
	t->source.numbers.n = 0;
	t->source.text = NULL;
	*t->source.why = 0;
	t->pane = PANE_SOURCE;
	return TOP_SOURCE;
}

static struct line line_of(const struct top *t)
{
	return (struct line){ .function = t->source.function, .file = t->source.file, .dir = t->source.dir, .line = t->source.line };
}

struct line top__source_of(const struct top *t, const char **ret_module)
{
	*ret_module = t->source.module;
	return line_of(t);
}

void top__give_source(struct top *t, const struct snap_source *text, const char *path, const char *why)
{
	t->source.text = text;
	*t->source.why = 0;
	if (why)
		snprintf(t->source.why, sizeof(t->source.why), "%s: %s", path, why);
}

/* ---- drawing */

static bool takes(void *arg, const struct snap_site *site)
{
	struct top *t = arg;

	return top__in_scope(t, site);
}

/* The columns of figures, those that there is room for; l NULL: their titles. The column after them. */
static int draw_figures(const struct top *t, struct grid *g, int row, const struct listed_line *l)
{
	bool live = t->shown->known & HAS_LIVE_BYTES;
	const struct counters c = l ? l->c : (struct counters){};
	const struct {
		bool shown;
		const char *title;
		uint64_t n;
		char *(*fmt)(char buf[static FMT_MAX], uint64_t n);
		int step;
	} figures[] = {
		{ true, live ? "LIVE" : "BYTES", live ? c.live_bytes : c.alloc_bytes, fmt_bytes, CELL + 1 },
		{ live && g->cols >= WITH_BLOCKS, "BLOCKS", c.live_blocks, fmt_count, CELL - 1 },
		{ !live || g->cols >= WITH_CALLS, "CALLS", c.alloc_calls, fmt_count, CELL + 1 },
	};
	int col = 0;

	for (size_t i = 0; i < ARRAY_SIZE(figures); i++) {
		char n[FMT_MAX], text[FMT_MAX + 1] = "";

		if (!figures[i].shown)
			continue;
		if (l && l->calls && figures[i].n)
			snprintf(text, sizeof(text), "%s%s", t->shown->estimated ? "~" : "", figures[i].fmt(n, figures[i].n));
		grid__put_right(g, row, col, CELL, l ? STYLE_FIGURE : STYLE_HEAD, l ? text : figures[i].title);
		col += figures[i].step;
	}
	return col;
}

static void draw_source_line(const struct top *t, struct grid *g, int row, const struct listed_line *l)
{
	int col = draw_figures(t, g, row, l);
	char number[16];

	snprintf(number, sizeof(number), "%u", l->number);
	grid__put_right(g, row, col, 6, STYLE_DIM, number);
	col += 8;
	if (l->text && col < g->cols && (int)text_width(l->text) > g->cols - col)
		grid__putf(g, row, col, g->cols - col, l->calls ? STYLE_PLAIN : STYLE_DIM, "%.*s…", (int)text_head(l->text, (size_t)(g->cols - col - 1)), l->text);
	else if (l->text && col < g->cols)
		grid__put(g, row, col, g->cols - col, l->calls ? STYLE_PLAIN : STYLE_DIM, l->text);
}

static int draw_title(const struct top *t, struct grid *g, int row, const struct listing *l)
{
	char text[256];
	int col = grid__put(g, row, 0, g->cols, STYLE_TITLE, t->source.function);

	grid__putf(g, row, col, g->cols - col, STYLE_DIM, "  %s", t->source.file);
	if (t->shown->known & HAS_LIVE_BYTES)
		snprintf(text, sizeof(text), "%s in %s block%s, %s call%s", BYTES(l->sum.live_bytes), EXACT(l->sum.live_blocks),
			 plural(l->sum.live_blocks), EXACT(l->sum.alloc_calls), plural(l->sum.alloc_calls));
	else
		snprintf(text, sizeof(text), "%s in %s calls", BYTES(l->sum.alloc_bytes), EXACT(l->sum.alloc_calls));
	grid__put(g, row + 1, 0, g->cols, STYLE_PLAIN, text);
	row += 2;
	if (*t->source.why)
		grid__putf(g, row++, 0, g->cols, STYLE_WARN, "No source: %s", t->source.why);
	else if (l->newer)
		grid__put(g, row++, 0, g->cols, STYLE_WARN, "The source is newer than the program: lines may have moved.");
	return row;
}

/* The cursor stays with its line, also while a snapshot has no names yet; at first it is in the middle. */
static void place_cursor(struct top *t, const struct listing *l)
{
	struct top_place *p = &t->source.at;
	size_t half = (size_t)t->list_rows / 2;

	t->source.numbers.n = 0;
	for (size_t i = 0; i < l->n; i++) {
		*(uint32_t *)vec_push(&t->source.numbers) = l->v[i].number;
		if (l->v[i].number == p->id) {
			size_t above = p->scroll == SIZE_MAX ? MIN(i, half) : p->cursor - MIN(p->scroll, p->cursor);

			p->cursor = i;
			p->scroll = i - MIN(i, above);
		}
	}
	if (l->n && p->scroll != SIZE_MAX)
		list__fit(p, l->n, (size_t)t->list_rows);
}

void top__draw_source(struct top *t, struct grid *g, int row, int n)
{
	struct top_place *p = &t->source.at;
	struct line of = line_of(t);
	struct listing l;
	int end = row + n;

	t->shown->sources = t->source.text;
	t->shown->n_sources = t->source.text ? 1 : 0;
	top__want_all(t);
	listing__init(&l, t->shown, &of, AROUND, takes, t);
	row = draw_title(t, g, row, &l);
	if (row < end) {
		grid__fill(g, row, 0, g->cols, STYLE_HEAD, ' ');
		grid__put_right(g, row, draw_figures(t, g, row, NULL), 6, STYLE_HEAD, "LINE");
		row++;
	}
	t->list_row = row;
	t->list_rows = MAX(end - row, 0);
	place_cursor(t, &l);
	for (int i = 0; i < t->list_rows && p->scroll < l.n && p->scroll + (size_t)i < l.n; i++) {
		draw_source_line(t, g, t->list_row + i, &l.v[p->scroll + (size_t)i]);
		if (p->scroll + (size_t)i == p->cursor)
			grid__select(g, t->list_row + i);
	}
	listing__done(&l);
}

/* ---- the call tree */

/*
 * The pane with the call tree, which folds and unfolds:
 *
 *	   TOTAL   SHARE      SELF
 *	31.0 MiB   81.3%       0 B  ▾ main                     server.c:7280
 *	31.0 MiB   81.3%       0 B    ▸ aeMain                 ae.c:496
 *
 * Where a function has one caller or callee alone, the next one stands right
 * below it and not further to the right: stacks are deep and screens narrow.
 * What always holds: what is unfolded is known by its path, so it stays unfolded
 * from one snapshot to the next.
 */

#define FOLDED "▸ "
#define UNFOLDED "▾ "
#define LEAF "· "
#define INDENT_MAX_SHARE 3	/* of the width, the part that indentation may take at most */
#define HEAVY_PCT 50		/* at first, what weighs as much is unfolded */

void top__drop_tree(struct top *t)
{
	if (t->tree_holds)
		tree__done(&t->tree);
	t->tree_holds = false;
	t->lines.n = 0;
}

static bool keep(const struct snap_site *s, void *arg)
{
	struct top *t = arg;

	return top__in_scope(t, s) && top__matches(t, s);
}

/* The lines below a node, with what is unfolded of them. Recursion is as deep as a stack: --depth 512 and inlines. */
static void add_lines(struct top *t, uint32_t node, uint32_t indent)
{
	uint32_t first, n;

	tree__expand(&t->tree, node);
	first = t->tree.v[node].first_child;
	n = t->tree.v[node].n_children;
	for (uint32_t i = 0; i < n; i++) {
		struct tree_line *l = vec_push(&t->lines);

		*l = (struct tree_line){ first + i, indent };
		if (top__unfolded(t, t->tree.v[first + i].id)) {
			tree__expand(&t->tree, first + i);
			add_lines(t, first + i, indent + (t->tree.v[first + i].n_children != 1));
		}
	}
}

/* The answer first: the heaviest path is open, as far as it is the greater part. */
static void unfold_heaviest(struct top *t, uint32_t node)
{
	uint64_t whole = t->tree.v[0].weight;

	for (;;) {
		uint32_t child;

		tree__expand(&t->tree, node);
		child = t->tree.v[node].first_child;

		if (!t->tree.v[node].n_children || t->tree.v[child].leaf || t->tree.v[child].weight < whole / 100 * HEAVY_PCT)
			break;
		top__set_unfolded(t, t->tree.v[child].id, true);
		node = child;
	}
}

static void follow_cursor(struct top *t)
{
	struct top_place *p = &t->tree_at;

	for (size_t i = 0; p->touched && i < t->lines.n; i++)
		if (t->tree.v[t->lines.v[i].node].id == p->id) {
			p->cursor = i;
			return;
		}
	if (p->cursor >= t->lines.n)
		p->cursor = t->lines.n ? t->lines.n - 1 : 0;
}

static void fill_lines(struct top *t)
{
	t->lines.n = 0;
	if (t->tree_holds)
		add_lines(t, 0, 0);
	follow_cursor(t);
}

static void plant(struct top *t)
{
	struct tree_opts o = {
		.order = t->order,
		.metric = t->metric,
		.processes = t->shown->n_processes > 1 && !t->scope,
		.keep = keep,
		.arg = t,
	};

	if (t->tree_holds)
		return;
	tree__init(&t->tree, t->shown, &o);
	t->tree_holds = true;
	if (!t->tree_begun)
		unfold_heaviest(t, 0);
	t->tree_begun = true;
	fill_lines(t);
}

/* ---- keys */

enum top_action top__tree_key(struct top *t, int key)
{
	struct top_place *p = &t->tree_at;
	const struct tree_node *node;
	bool close, open;

	if (!t->tree_holds || p->cursor >= t->lines.n)
		return TOP_NONE;
	node = &t->tree.v[t->lines.v[p->cursor].node];
	open = top__unfolded(t, node->id);
	close = key == TOP_KEY_LEFT || key == 'h';
	top__set_unfolded(t, node->id, !node->leaf && !close && (key != TOP_KEY_ENTER || !open));
	/* what is folded already leads to its parent */
	for (size_t i = 0; close && !open && i < t->lines.n; i++)
		if (t->lines.v[i].node == node->parent)
			p->cursor = i;
	if (key == '*')
		unfold_heaviest(t, t->lines.v[p->cursor].node);
	p->id = t->tree.v[t->lines.v[p->cursor].node].id;
	p->touched = true;
	fill_lines(t);
	return TOP_NONE;
}

/* ---- drawing */

static void draw_tree_line(struct top *t, struct grid *g, int row, const struct tree_line *l)
{
	const struct tree_node *n = &t->tree.v[l->node];
	int at = 28, indent = (int)MIN((size_t)l->indent * 2, (size_t)(g->cols - at) / INDENT_MAX_SHARE);
	_cleanup_free_ char *name = NULL, *shown = NULL, *where = NULL;
	bool bytes = !strcmp(t->metric->unit, "bytes");
	int room = g->cols - at - indent - 2, where_at;

	grid__put_right(g, row, 0, 9, STYLE_FIGURE, bytes ? BYTES(n->weight) : COUNT(n->weight));
	grid__put_right(g, row, 9, 7, STYLE_DIM, SHARE(n->weight, t->tree.v[0].weight));
	grid__put_right(g, row, 16, 10, n->self ? STYLE_PLAIN : STYLE_DIM, bytes ? BYTES(n->self) : COUNT(n->self));
	at += indent;
	grid__put(g, row, at, 2, STYLE_KEY,
		  n->leaf ? LEAF : top__unfolded(t, t->tree.v[l->node].id) ? UNFOLDED : FOLDED);
	at += 2;
	where_at = MAX(room * 3 / 5, 16);
	where = room >= 44 ? tree__where(&t->tree, l->node, room - where_at) : NULL;
	name = tree__name(&t->tree, l->node);
	shown = name ? name__shorten(name, where && *where ? where_at - 2 : MAX(room, 1)) : NULL;
	if (shown)
		grid__put(g, row, at, room, n->kind == TREE_FRAME ? STYLE_PLAIN : STYLE_TITLE, shown);
	if (where && *where) {
		_cleanup_free_ char *cut = text_shorten(where, room - where_at);

		grid__put(g, row, at + where_at, room - where_at, STYLE_DIM, cut);
	}
}

void top__draw_tree(struct top *t, struct grid *g, int row, int n)
{
	struct top_place *p = &t->tree_at;

	plant(t);
	top__want_all(t);
	grid__fill(g, row, 0, g->cols, STYLE_HEAD, ' ');
	grid__put_right(g, row, 0, 9, STYLE_HEAD, "TOTAL");
	grid__put_right(g, row, 9, 7, STYLE_HEAD, "SHARE");
	grid__put_right(g, row, 16, 10, STYLE_HEAD, "SELF");
	grid__putf(g, row, 28, g->cols - 28, STYLE_HEAD, "%s by %s",
		   t->order == TREE_CALLERS ? "FROM THE THREAD'S FIRST FUNCTION DOWN" : "FROM THE ALLOCATION'S CALLER UP", t->metric->name);
	t->list_row = row + 1;
	t->list_rows = n - 1;
	if (!t->lines.n) {
		grid__put(g, row + 1, 1, g->cols - 1, STYLE_DIM, *t->filter ? "nothing matches the filter" : "nothing weighs anything by this metric");
		return;
	}
	list__fit(p, t->lines.n, MAX(t->list_rows, 0));
	for (int i = 0; i < n - 1 && p->scroll + i < t->lines.n; i++) {
		draw_tree_line(t, g, row + 1 + i, &t->lines.v[p->scroll + i]);
		if (p->scroll + i == p->cursor)
			grid__select(g, row + 1 + i);
	}
}
