// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the table of keys, which is also the footer and the help. What always
 * holds: a key that is shown does something, and a key that does something is in
 * the help.
 */
#include <string.h>

#include "present/top/top_parts.h"

#define TABLE (1u << PANE_TABLE)
#define STACK (1u << PANE_STACK)
#define SOURCE (1u << PANE_SOURCE)
#define TREE (1u << PANE_TREE)
#define HELP (1u << PANE_HELP)
#define OF_HEAP (1u << PANE_N)
#define ALL (TABLE | STACK | SOURCE | TREE | HELP)

/* ---- views and panes */

static enum top_action key_group(struct top *t, int key);

static void show_view(struct top *t, size_t view)
{
	t->view = view;
	t->pane = PANE_TABLE;
	top__build_rows(t);
}

static enum top_action key_view(struct top *t, int key)
{
	const char *option = NULL;

	for (size_t i = 0; i < t->n_views && t->shown; i++) {
		if (t->views[i]->live.key != key)
			continue;
		if (top__has_view(t, t->views[i])) {
			show_view(t, i);
			return TOP_NONE;
		}
		option = t->views[i]->live.option;
	}
	if (t->shown && option)
		top__say(t, "That view goes with %s.", option);
	else if (t->shown)
		top__say(t, "This mode does not record what that view shows.");
	return TOP_NONE;
}

static enum top_action key_heap(struct top *t, int key)
{
	if (t->shown && t->pane == PANE_TABLE && top__is_heap(top__view(t)))
		return key_group(t, key);
	return key_view(t, key);
}

static enum top_action key_next_view(struct top *t, int key)
{
	for (size_t i = 1; i <= t->n_views && t->shown; i++)
		if (top__has_view(t, t->views[(t->view + i) % t->n_views]) && t->views[(t->view + i) % t->n_views]->live.key) {
			show_view(t, (t->view + i) % t->n_views);
			break;
		}
	return TOP_NONE;
}

static enum top_action key_move(struct top *t, int key)
{
	struct top_place *p = &t->at[t->view];
	struct top_place scroll = { 0 };

	switch (t->pane) {
	case PANE_TABLE:
		if (top__view(t)->live.bars) {
			list__move(p, 64, 1, key);
			break;
		}
		list__move(p, t->rows.n, t->list_rows, key);
		if (p->cursor < t->rows.n)
			p->id = t->rows.v[p->cursor].id;
		break;
	case PANE_TREE:
		list__move(&t->tree_at, t->lines.n, t->list_rows, key);
		if (t->tree_at.cursor < t->lines.n)
			t->tree_at.id = t->tree.v[t->lines.v[t->tree_at.cursor].node].id;
		break;
	case PANE_STACK:
		list__move(&t->stack_at, t->stack_lines, t->list_rows, key);
		break;
	case PANE_SOURCE:
		list__move(&t->source.at, t->source.numbers.n, t->list_rows, key);
		if (t->source.at.cursor < t->source.numbers.n)
			t->source.at.id = t->source.numbers.v[t->source.at.cursor];
		break;
	case PANE_HELP:
		scroll.cursor = t->help_scroll;
		list__move(&scroll, t->help_lines, t->list_rows, key);
		t->help_scroll = scroll.cursor;
		break;
	case PANE_N:
		break;
	}
	return TOP_NONE;
}

/* Tables of sites are of something else from now on: the first of those that this mode has. */
static enum top_action show_sites(struct top *t)
{
	size_t first = t->n_views;

	for (size_t i = t->n_views; i-- > 0;) {
		if (t->views[i]->rows != ROWS_SITES || t->views[i]->live.bars)
			continue;
		t->at[i].touched = false;
		if (top__has_view(t, t->views[i]))
			first = i;
	}
	top__drop_tree(t);
	show_view(t, first < t->n_views ? first : t->view);
	return TOP_NONE;
}

static enum top_action key_open(struct top *t, int key)
{
	const struct top_place *p = &t->at[t->view];
	const struct top_row *r = p->cursor < t->rows.n ? &t->rows.v[p->cursor] : NULL;

	if (!r || top__view(t)->live.bars)
		return TOP_NONE;
	if (r->merged || (r->of.thread && r->thread.n_threads > 1)) {
		top__set_unfolded(t, r->id, !top__unfolded(t, r->id));
		t->at[t->view].touched = true;
		t->at[t->view].id = r->id;
		top__build_rows(t);
		return TOP_NONE;
	}
	if (r->of.site) {
		t->stack_id = r->id;
		t->stack_at = (struct top_place){};
		t->pane = PANE_STACK;
		return TOP_NONE;
	}
	if (r->of.tag) {
		/* its sites alone, from now on */
		snprintf(t->only_tag, sizeof(t->only_tag), "%s", r->of.tag->name);
		return show_sites(t);
	}
	if (r->of.sum) {
		/* its stacks alone, until Esc */
		t->only_sum.view = top__view(t);
		snprintf(t->only_sum.name, sizeof(t->only_sum.name), "%s", r->of.sum->key.name);
		snprintf(t->only_sum.module, sizeof(t->only_sum.module), "%s", r->of.sum->key.module);
		return show_sites(t);
	}
	/* whose a mark is, is not what it is about */
	if (!r->of.process || r->of.mark)
		return TOP_NONE;
	if (r->of.heap) {
		/* the heap of this process alone */
		t->scope = t->shown->n_processes > 1 ? r->of.process->id : 0;
		t->at[t->view].touched = false;
		top__build_rows(t);
		return TOP_NONE;
	}
	/* a process, or that of a thread: all tables are of it alone from now on */
	t->scope = r->of.process->id;
	return show_sites(t);
}

static enum top_action key_next_site(struct top *t, int key)
{
	struct top_place *p = &t->at[t->view];

	list__move(p, t->rows.n, t->list_rows, key == 'n' || key == TOP_KEY_RIGHT ? TOP_KEY_DOWN : TOP_KEY_UP);
	if (p->cursor >= t->rows.n || !t->rows.v[p->cursor].of.site)
		return TOP_NONE;
	p->id = t->rows.v[p->cursor].id;
	/* of several stacks, the heaviest is shown */
	t->stack_id = top__stack_of(t, &t->rows.v[p->cursor]);
	t->stack_at = (struct top_place){};
	return TOP_NONE;
}

/* One step back: out of the pane, of the filter, of the process. */
static enum top_action key_back(struct top *t, int key)
{
	if (t->pane == PANE_HELP) {
		t->pane = t->pane_under;
	} else if (t->pane == PANE_SOURCE) {
		t->pane = PANE_STACK;
	} else if (t->pane != PANE_TABLE) {
		t->pane = PANE_TABLE;
	} else if (*t->filter) {
		top__set_filter(t, "");
	} else if (t->only_sum.view) {
		for (size_t i = 0; i < t->n_views; i++)
			if (t->views[i] == t->only_sum.view)
				t->view = i;
		t->only_sum.view = NULL;
	} else if (*t->only_tag) {
		*t->only_tag = 0;
		for (size_t i = 0; i < t->n_views; i++)
			if (t->views[i]->rows == ROWS_TAGS && top__has_view(t, t->views[i]))
				t->view = i;
	} else if (t->scope) {
		t->scope = 0;
		for (size_t i = 0; i < t->n_views; i++)
			if (t->views[i]->rows == ROWS_PROCESSES && t->shown->n_processes > 1)
				t->view = i;
	}
	top__drop_tree(t);
	top__build_rows(t);
	return TOP_NONE;
}

static enum top_action key_tree(struct top *t, int key)
{
	t->pane = t->pane == PANE_TREE ? PANE_TABLE : PANE_TREE;
	top__drop_tree(t);
	return TOP_NONE;
}

static enum top_action key_order(struct top *t, int key)
{
	t->order = t->order == TREE_CALLERS ? TREE_CALLEES : TREE_CALLERS;
	t->tree_begun = false;
	t->tree_at = (struct top_place){};
	top__drop_tree(t);
	return TOP_NONE;
}

static enum top_action key_help(struct top *t, int key)
{
	if (t->pane == PANE_HELP) {
		t->pane = t->pane_under;
		return TOP_NONE;
	}
	t->pane_under = t->pane;
	t->pane = PANE_HELP;
	t->help_scroll = 0;
	return TOP_NONE;
}

/* ---- order */

static bool sort_by(struct top *t, size_t column)
{
	const struct view *v = top__view(t);
	struct top_place *p = &t->at[t->view];
	const struct column *is = &view__columns(v)->v[column];

	if (!v->live.columns || !t->shown || !view__has_column(t, v, is))
		return false;
	/* a trend is a picture */
	if (!is->cell && !is->field)
		return false;
	p->sort = column;
	p->sorted = true;
	p->touched = false;
	top__build_rows(t);
	return true;
}

/* ---- what a row is */

/* Those of the heap, one after the other, and again the first. */
static size_t next_beside(const struct top *t)
{
	for (size_t i = 1; i < t->n_views; i++) {
		size_t at = (t->view + i) % t->n_views;

		if (top__is_heap(t->views[at]) && top__has_view(t, t->views[at]))
			return at;
	}
	return t->view;
}

/* The view after this one in the order of g: sites, then the sums of them in the order of the table. */
static size_t next_grouping(const struct top *t)
{
	size_t from = top__view(t)->rows == ROWS_SUMS ? t->view + 1 : 0;

	for (size_t i = from; i < t->n_views; i++)
		if (t->views[i]->rows == ROWS_SUMS && top__has_view(t, t->views[i]))
			return i;
	return t->sites_view;
}

/* What is a row for each site, function, file, module, and again: in the same order, if the other one has that column. */
static enum top_action key_group(struct top *t, int key)
{
	const struct view *from = top__view(t), *to;
	const struct column *same;
	const char *by;

	if (!t->shown || from->live.bars)
		return TOP_NONE;
	if (top__is_heap(from)) {
		show_view(t, next_beside(t));
		return TOP_NONE;
	}
	if (from->rows == ROWS_SITES)
		t->sites_view = t->view;
	by = view__columns(from)->v[t->at[t->view].sort].as;
	/* a row that was opened is one of the others, too */
	t->only_sum.view = NULL;
	show_view(t, next_grouping(t));
	to = top__view(t);
	same = columns__find(view__columns(to), by);
	if (same && view__has_column(t, to, same))
		sort_by(t, (size_t)(same - view__columns(to)->v));
	return TOP_NONE;
}

/* ---- order, metric */

static enum top_action key_sort(struct top *t, int key)
{
	const struct view *v = top__view(t);
	struct top_place *p = &t->at[t->view];
	size_t n = view__columns(v)->n, step = key == 's' || key == '>' ? 1 : n - 1;

	for (size_t i = 1; i < n; i++)
		if (sort_by(t, (p->sort + i * step) % n))
			break;
	return TOP_NONE;
}

static size_t column_of_growth(const struct top *t, size_t view)
{
	const struct view *v = t->views[view];
	const struct column *c = columns__find(view__columns(v), "growth");

	return c && top__has_view(t, v) && view__has_column(t, v, c) ? (size_t)(c - view__columns(v)->v) : SIZE_MAX;
}

/* What grows the most, first; where that is how it is, as the view has it by itself. */
static enum top_action key_growth(struct top *t, int key)
{
	size_t view = t->view;

	if (!t->shown)
		return TOP_NONE;
	/* where growth is no figure, what is live has it */
	for (size_t i = 0; column_of_growth(t, view) == SIZE_MAX && i < t->n_views; i++)
		view = i;
	if (column_of_growth(t, view) == SIZE_MAX) {
		top__say(t, "This mode does not record what is live, so nothing is known to grow.");
		return TOP_NONE;
	}
	if (view == t->view && t->at[view].sorted && t->at[view].sort == column_of_growth(t, view)) {
		t->at[view].sorted = t->at[view].touched = false;
		top__build_rows(t);
		return TOP_NONE;
	}
	if (view != t->view)
		show_view(t, view);
	t->at[view].reverse = false;
	sort_by(t, column_of_growth(t, view));
	return TOP_NONE;
}

static enum top_action key_reverse(struct top *t, int key)
{
	t->at[t->view].reverse = !t->at[t->view].reverse;
	t->at[t->view].touched = false;
	top__build_rows(t);
	return TOP_NONE;
}

static enum top_action key_metric(struct top *t, int key)
{
	size_t at = t->metric - metrics;

	for (size_t i = 1; i <= n_metrics && t->shown; i++) {
		const struct metric *m = &metrics[(at + i) % n_metrics];

		if (!(m->needs & ~t->shown->known)) {
			t->metric = m;
			break;
		}
	}
	t->tree_begun = false;
	top__drop_tree(t);
	if (t->pane == PANE_TABLE)
		top__say(t, "The call tree (t) and the sums of a stack (Enter) weigh %s.", t->metric->name);
	return TOP_NONE;
}

/* ---- time */

static enum top_action key_freeze(struct top *t, int key)
{
	t->frozen = !t->frozen;
	if (!t->frozen && t->waiting) {
		struct snapshot *s = t->waiting;

		t->waiting = NULL;
		top__update(t, s);
	}
	return TOP_NONE;
}

static enum top_action key_interval(struct top *t, int key)
{
	static const uint64_t ms[] = { 250, 500, 1000, 2000, 5000, 10000, 30000, 60000 };
	size_t at = 0;

	while (at + 1 < ARRAY_SIZE(ms) && ms[at] * 1000000 < t->o.interval_ns)
		at++;
	if (key == '-')
		at -= at > 0;
	else
		at += at + 1 < ARRAY_SIZE(ms);
	t->o.interval_ns = ms[at] * 1000000;
	top__say(t, "An update every %s.", DURATION(t->o.interval_ns));
	return TOP_INTERVAL;
}

static enum top_action key_programs(struct top *t, int key)
{
	if (!top__has_several(t)) {
		top__say(t, "There is one process.");
		return TOP_NONE;
	}
	if (t->frozen) {
		top__say(t, "The screen is frozen: space goes on, then p.");
		return TOP_NONE;
	}
	/* the row that was looked into is no more */
	t->scope = 0;
	for (size_t i = 0; i < t->n_views; i++)
		t->at[i].touched = false;
	return TOP_GROUP;
}

/* What whoever runs the view does. */
static enum top_action key_ask(struct top *t, int key)
{
	return key == 'b' ? TOP_BASELINE : key == TOP_KEY_REDRAW ? TOP_REPAINT : TOP_QUIT;
}

/* ---- the table: order is that of the footer and of the help */

const struct top_key_row top_keys[] = {
	{ TOP_KEY_UP, 'k', "↑↓", "move", "one row up or down (also k, j)", ALL, key_move },
	{ TOP_KEY_DOWN, 'j', NULL, NULL, NULL, ALL, key_move },
	{ TOP_KEY_ENTER, 0, "Enter", "open", "a site: its stack; a function, a process, a tag: its tables; threads: each one", TABLE, key_open },
	{ TOP_KEY_ENTER, 0, "Enter", "source", "in a stack: the source of the frame's function, with what its lines allocate", STACK, top__open_source },
	{ TOP_KEY_ENTER, 0, "Enter", "unfold", "in the tree: fold or unfold (also → and ←, l and h)", TREE, top__tree_key },
	{ TOP_KEY_RIGHT, 'l', NULL, NULL, NULL, TREE, top__tree_key },
	{ TOP_KEY_LEFT, 'h', NULL, NULL, NULL, TREE, top__tree_key },
	{ '*', 0, "*", "heaviest", "in the tree: unfold the heaviest path from here", TREE, top__tree_key },
	{ 'c', 0, "c", "callers/callees", "in the tree: callers first, or callees first", TREE, key_order },
	{ 'n', TOP_KEY_RIGHT, "n", "next", "in a stack: that of the next row (also →)", STACK, key_next_site },
	{ 'p', TOP_KEY_LEFT, "p", "previous", "in a stack: that of the row before (also ←)", STACK, key_next_site },
	{ TOP_KEY_ESC, TOP_KEY_BACKSPACE, "Esc", "back", "out of a source, a stack, the tree, a filter, a function, a tag, a process", STACK | SOURCE | TREE | HELP, key_back },
	{ TOP_KEY_ESC, TOP_KEY_BACKSPACE, NULL, NULL, NULL, TABLE, key_back },
	{ '1', '2', "1-6", NULL, "live blocks, allocations, peak, processes, threads, sizes and lifetimes", ALL, key_view },
	{ '3', '4', NULL, NULL, NULL, ALL, key_view },
	{ '5', '6', NULL, NULL, NULL, ALL, key_view },
	{ '7', '8', "7-9 0", NULL, "views of options: --tag, --mark, --free-stacks, --when", ALL, key_view },
	{ '9', '0', NULL, NULL, NULL, ALL, key_view },
	{ 'g', 0, "g", "group", "a row for each site, then function, file, module: their stacks added up; Enter: its stacks. Of the heap: "
	  "sizes, types, arenas, resident memory, what holds it", TABLE, key_group },
	{ 'p', 0, "p", "procs", "of several processes: a row for each, or for each program (--by comm), with ended processes apart", TABLE, key_programs },
	{ 'H', 0, "H", NULL, "the heap as it is, with what is older than the trace: sizes, types, free memory; again: as g", ALL, key_heap },
	{ 'h', 0, "h", "scan", "scan the heap now", TABLE | STACK | OF_HEAP, top__look_at_heap },
	{ 'u', 0, "u", "unreached", "search the heap now for blocks that no pointer reaches; with -p and -- CMD it repeats by itself, with at most 2% of a CPU; "
	  "tables of sites then have a column UNREACHABLE", TABLE | STACK | OF_HEAP,
	  top__look_at_heap },
	{ 'f', 0, "f F M", NULL, "the same at once: functions, files, modules", ALL, key_view },
	{ 'F', 'M', NULL, NULL, NULL, ALL, key_view },
	{ TOP_KEY_TAB, 0, "Tab", NULL, "the next view", ALL, key_next_view },
	{ 't', 0, "t", "tree", "the call tree, and back to the table", TABLE | STACK | TREE, key_tree },
	{ 's', '>', "s", "sort", "sort by the next column (also >); or click on its title", TABLE, key_sort },
	{ 'G', 0, "G", "growth", "sort by growth: what grows the most is first; again: as before", TABLE, key_growth },
	{ 'S', '<', "S", NULL, "sort by the column before (also <)", TABLE, key_sort },
	{ 'r', 0, "r", "reverse", "the other way round", TABLE, key_reverse },
	{ '/', 0, "/", "filter", "show what matches: functions, files, modules, processes", TABLE | TREE, top__ask_filter },
	{ 'b', 0, "b", "baseline", "a column Δ, which counts from now on (also SIGUSR2)", TABLE | STACK | TREE, key_ask },
	{ 'm', 0, "m", "metric", "what the tree and the sums of a stack weigh", TABLE | STACK | TREE, key_metric },
	{ 'o', 0, "o", "export", "write a snapshot to a file", TABLE | STACK | TREE, top__ask_path },
	{ ' ', 0, "space", "freeze", "freeze the screen; recording goes on", ALL, key_freeze },
	{ '+', '=', "+ -", NULL, "more or less time between updates", ALL, key_interval },
	{ '-', 0, NULL, NULL, NULL, ALL, key_interval },
	{ TOP_KEY_PAGE_UP, TOP_KEY_PAGE_DOWN, "PgUp PgDn", NULL, "one screen up or down", ALL, key_move },
	{ TOP_KEY_HOME, 0, "Home", NULL, "the first row, whichever that becomes", ALL, key_move },
	{ TOP_KEY_END, 0, "End", NULL, "the last row", ALL, key_move },
	{ TOP_KEY_REDRAW, 0, "Ctrl-L", NULL, "draw all of the screen again", ALL, key_ask },
	{ '?', 0, "?", "help", "this page, and back", ALL, key_help },
	{ 'q', 'Q', "q", "quit", "end the trace; the final report goes to the normal screen", ALL, key_ask },
};
const size_t n_top_keys = ARRAY_SIZE(top_keys);

enum top_action top__key(struct top *t, int key)
{
	*t->message = 0;
	if (t->prompt != PROMPT_NONE)
		return top__prompt_key(t, key);
	for (size_t i = 0; i < n_top_keys; i++)
		if ((top_keys[i].key == key || (top_keys[i].other && top_keys[i].other == key)) && top_keys[i].panes & 1u << t->pane)
			return top_keys[i].fn(t, key);
	return TOP_NONE;
}

/* ---- the mouse */

static void click(struct top *t, int row, int col)
{
	size_t at;

	for (size_t i = 0; row == t->tabs_row && i < t->n_tabs; i++)
		if (col >= t->tabs[i].from && col < t->tabs[i].end)
			show_view(t, t->tabs[i].view);
	for (size_t i = 0; t->pane == PANE_TABLE && row == t->head_row && i < t->n_heads; i++)
		if (col >= t->heads[i].from && col < t->heads[i].end) {
			if (t->heads[i].column == t->at[t->view].sort)
				key_reverse(t, 0);
			else
				sort_by(t, t->heads[i].column);
			return;
		}
	if (row < t->list_row || row >= t->list_row + t->list_rows)
		return;
	at = row - t->list_row;
	if (t->pane == PANE_TABLE && t->at[t->view].scroll + at < t->rows.n) {
		struct top_place *p = &t->at[t->view];

		/* on the row that has the cursor already, a click opens it */
		if (p->cursor == p->scroll + at && p->touched) {
			key_open(t, TOP_KEY_ENTER);
			return;
		}
		p->cursor = p->scroll + at;
		p->id = t->rows.v[p->cursor].id;
		p->touched = true;
	} else if (t->pane == PANE_STACK && t->stack_at.scroll + at < t->stack_lines) {
		t->stack_at.cursor = t->stack_at.scroll + at;
	} else if (t->pane == PANE_TREE && t->tree_at.scroll + at < t->lines.n) {
		t->tree_at.cursor = t->tree_at.scroll + at;
		top__tree_key(t, TOP_KEY_ENTER);
	}
}

enum top_action top__mouse(struct top *t, enum top_mouse what, int row, int col)
{
	if (!t->shown || t->prompt != PROMPT_NONE)
		return TOP_NONE;
	*t->message = 0;
	if (what == TOP_CLICK) {
		click(t, row, col);
		return TOP_NONE;
	}
	for (int i = 0; i < 3; i++)
		key_move(t, what == TOP_WHEEL_UP ? TOP_KEY_UP : TOP_KEY_DOWN);
	return TOP_NONE;
}
