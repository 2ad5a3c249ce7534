// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the pane with the call tree, which folds and unfolds:
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
#include <string.h>

#include "present/figures.h"
#include "present/frames.h"
#include "present/top/top_parts.h"
#include "util/text.h"

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

static void set_unfolded(struct top *t, uint32_t node, bool unfolded)
{
	top__set_unfolded(t, t->tree.v[node].id, unfolded);
}

static bool open_now(const struct top *t, uint32_t node)
{
	return top__unfolded(t, t->tree.v[node].id);
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
		if (open_now(t, first + i)) {
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
		set_unfolded(t, child, true);
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

static void refill(struct top *t)
{
	struct top_place *p = &t->tree_at;

	if (p->cursor < t->lines.n)
		p->id = t->tree.v[t->lines.v[p->cursor].node].id;
	p->touched = true;
	fill_lines(t);
}

static void go_to_parent(struct top *t, uint32_t node)
{
	for (size_t i = 0; i < t->lines.n; i++)
		if (t->lines.v[i].node == t->tree.v[node].parent)
			t->tree_at.cursor = i;
}

enum top_action top__tree_key(struct top *t, int key)
{
	struct top_place *p = &t->tree_at;
	uint32_t node;

	if (!t->tree_holds || p->cursor >= t->lines.n)
		return TOP_NONE;
	node = t->lines.v[p->cursor].node;
	switch (key) {
	case TOP_KEY_ENTER:
		set_unfolded(t, node, !open_now(t, node) && !t->tree.v[node].leaf);
		break;
	case TOP_KEY_RIGHT:
	case 'l':
		set_unfolded(t, node, !t->tree.v[node].leaf);
		break;
	case TOP_KEY_LEFT:
	case 'h':
		if (open_now(t, node))
			set_unfolded(t, node, false);
		else
			go_to_parent(t, node);
		break;
	case '*':
		set_unfolded(t, node, !t->tree.v[node].leaf);
		unfold_heaviest(t, node);
		break;
	}
	refill(t);
	return TOP_NONE;
}

/* ---- drawing */

static void draw_line(struct top *t, struct grid *g, int row, const struct tree_line *l)
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
	grid__put(g, row, at, 2, STYLE_KEY, n->leaf ? LEAF : open_now(t, l->node) ? UNFOLDED : FOLDED);
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
		draw_line(t, g, row + 1 + i, &t->lines.v[p->scroll + i]);
		if (p->scroll + i == p->cursor)
			grid__select(g, row + 1 + i);
	}
}
