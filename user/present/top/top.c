// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the state of the live view: which snapshot is shown, what is remembered
 * of those before it, and the screen as a whole:
 *
 *	header	three lines, one more where something was lost, and the tabs
 *	pane	a table, a stack, the tree or the help
 *	line	what was said, what is going on, or what is being typed
 *	footer	the keys
 *
 * What always holds: the same state gives the same grid; nothing here waits,
 * reads a clock, or fails for lack of anything but memory.
 */
#include <stdarg.h>
#include <string.h>

#include "present/top/top_parts.h"

#define RATE_MIN_NS (TOP_NS_PER_S / 10)	/* snapshots that are closer together give no rates */

/* By their keys: 1 to 9, 0, letters, each with those beside it; of two with one key a trace has only one. */
static void list_views(struct top *t)
{
	static const char digits[] = "1234567890";

	for (const char *key = digits; *key; key++)
		for (size_t i = 0; i < n_views; i++)
			if (views[i].live.key == *key)
				t->views[t->n_views++] = &views[i];
	for (size_t i = 0; i < n_views; i++)
		if (views[i].live.key && !strchr(digits, views[i].live.key)) {
			t->views[t->n_views++] = &views[i];
			for (size_t k = 0; k < n_views; k++)
				if (views[k].live.beside & views[i].bit)
					t->views[t->n_views++] = &views[k];
		}
}

struct top *top__new(const struct top_opts *o)
{
	struct top *t = xcalloc(1, sizeof(*t));

	t->o = *o;
	t->metric = &metrics[0];
	list_views(t);
	return t;
}

static void drop(struct top *t, struct snapshot *s)
{
	if (s && t->drop)
		t->drop(s, t->drop_arg);
	snapshot__free(s);
}

void top__free(struct top *t)
{
	if (!t)
		return;
	top__drop_tree(t);
	top__set_filter(t, "");
	t->rows.n = 0;
	top__drop_merged(t);
	drop(t, t->shown);
	drop(t, t->waiting);
	seen__done(&t->before);
	seen__done(&t->unfolded);
	tellings__done(&t->tellings);
	sum_rows__done(&t->sums);
	thread_rows__done(&t->threads);
	free_lists__done(&t->frees);
	free(t->tags);
	vec_done(&t->rows);
	vec_done(&t->lines);
	vec_done(&t->source.numbers);
	top__forget_source(t);
	free(t->heap_failed);
	vec_done(&t->wanted);
	free(t->site_ids);
	free(t->moved);
	free(t->place_matches);
	free(t->is_wanted);
	free(t);
}

void top__on_drop(struct top *t, void (*fn)(struct snapshot *s, void *arg), void *arg)
{
	t->drop = fn;
	t->drop_arg = arg;
}

struct snapshot *top__shown(const struct top *t)
{
	return t->shown;
}

const char *top__path(const struct top *t)
{
	return t->path;
}

uint64_t top__interval_ns(const struct top *t)
{
	return t->o.interval_ns;
}

void top__all_ended(struct top *t)
{
	t->all_ended = true;
	*t->message = 0;	/* of before: this matters more */
}

/* ---- before the first snapshot */

/*
 * The first screen of the live view, before there is anything to show but
 * who will be traced and what is being done for it:
 *
 *	redis-server (1432)  up 3d04h  not traced yet
 *	RSS    96.0 MiB
 *
 *	─────────────────────────────────────────────
 *	  ✓ Loading programs and tables into the kernel.
 *	  … Probing libc.so.6: 11 functions, 35 points.
 *
 * What always holds: it needs no snapshot, and says what goes on now last.
 */

#define HEADER_ROWS 3
#define BYTES_COLS 9

void top__target(struct top *t, const char *who, uint64_t age_ns, uint64_t rss_bytes)
{
	snprintf(t->start.who, sizeof(t->start.who), "%s", who);
	t->start.age_ns = age_ns;
	t->start.rss_bytes = rss_bytes;
}

static void note_step(struct top *t, const char *text)
{
	char *last = t->start.n_steps ? t->start.steps[t->start.n_steps - 1] : NULL;
	size_t size = sizeof(t->start.steps[0]);

	if (last && !strncmp(last, text, size - 1))
		return;
	/* the oldest goes: the present is what matters */
	if (t->start.n_steps == TOP_STEPS)
		memmove(t->start.steps[0], t->start.steps[1], --t->start.n_steps * size);
	snprintf(t->start.steps[t->start.n_steps++], size, "%.*s", (int)size - 1, text);
}

static void draw_steps(const struct top *t, struct grid *g, int row, int n)
{
	size_t room = (size_t)MAX(n, 0), from = t->start.n_steps > room ? t->start.n_steps - room : 0;

	for (size_t i = from; i < t->start.n_steps; i++, row++) {
		bool over = i + 1 < t->start.n_steps;

		grid__put(g, row, 2, 1, over ? STYLE_GOOD : STYLE_WARN, over ? "✓" : "…");
		grid__put(g, row, 4, g->cols - 4, over ? STYLE_DIM : STYLE_PLAIN, t->start.steps[i]);
	}
}

static void draw_start(struct top *t, struct grid *g)
{
	int col = grid__put(g, 0, 0, g->cols, STYLE_TITLE, *t->start.who ? t->start.who : "malloctrace"), last = g->rows - 1;

	if (t->start.age_ns)
		col += grid__putf(g, 0, col, g->cols - col, STYLE_PLAIN, "  up %s", DURATION(t->start.age_ns));
	grid__put(g, 0, col, g->cols - col, STYLE_WARN, "  not traced yet");
	if (t->start.rss_bytes) {
		grid__put(g, 1, 0, g->cols, STYLE_LABEL, "RSS");
		grid__put_right(g, 1, 6, BYTES_COLS, STYLE_FIGURE, BYTES(t->start.rss_bytes));
	}
	grid__fill(g, HEADER_ROWS, 0, g->cols, STYLE_RULE, 0x2500);
	draw_steps(t, g, HEADER_ROWS + 1, last - 1 - (HEADER_ROWS + 1));
	if (*t->message)
		grid__put(g, last - 1, 0, g->cols, STYLE_MESSAGE, t->message);
	col = grid__put(g, last, 0, g->cols, STYLE_KEY, "q") + 1;
	grid__put(g, last, col, g->cols - col, STYLE_PLAIN, "quit: nothing is recorded yet");
}

/* One line, whatever it was. */
static void set_line(char *to, size_t size, const char *text)
{
	snprintf(to, size, "%s", text ? text : "");
	for (char *s = to; *s; s++)
		if (*s == '\n')
			*s = ' ';
}

void top__say(struct top *t, const char *fmt, ...)
{
	_cleanup_free_ char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	text = xvasprintf(fmt, ap);
	va_end(ap);
	set_line(t->message, sizeof(t->message), text);
}

void top__progress(struct top *t, const char *text)
{
	set_line(t->progress, sizeof(t->progress), text);
	if (!t->shown && *t->progress)
		note_step(t, t->progress);
}

/* ---- snapshots */

static void note_totals(struct top *t)
{
	struct snap_point now = { .t_ns = t->shown->duration_ns, .live_bytes = t->shown->totals.live_bytes };
	struct ended ended;

	if (ended__sum(t->shown, NULL, &ended))
		now.live_bytes -= MIN(ended.live_bytes, now.live_bytes);
	for (size_t i = 0; i < t->shown->n_processes; i++)
		now.rss_bytes += t->shown->processes[i].ended ? 0 : t->shown->processes[i].rss_bytes;
	/* when there is no room any more, every other one goes */
	if (t->n_totals == HEADER_POINTS) {
		for (size_t i = 0; i < HEADER_POINTS / 2; i++)
			t->totals[i] = t->totals[2 * i + 1];
		t->n_totals = HEADER_POINTS / 2;
	}
	t->totals[t->n_totals++] = now;
}

struct top_cost top__cost(const struct snapshot *s)
{
	return (struct top_cost){ s->probe_hits, s->tool_cpu_ns, s->target_cpu_ns, s->probe_ns_estimate };
}

/* The first view for which there are figures, if the one at hand has none. */
static void choose_view(struct top *t)
{
	if (top__has_view(t, top__view(t)))
		return;
	for (size_t i = 0; i < t->n_views; i++)
		if (top__has_view(t, t->views[i])) {
			t->view = i;
			return;
		}
}

/* Of programs in both, or of processes in both. */
static bool same_rows(const struct snapshot *a, const struct snapshot *b)
{
	return a->by && b->by ? !strcmp(a->by, b->by) : a->by == b->by;
}

static void show(struct top *t, struct snapshot *s)
{
	if (t->shown && !same_rows(t->shown, s)) {
		seen__clear(&t->before);
	} else if (t->shown && s->duration_ns > t->shown->duration_ns + RATE_MIN_NS) {
		top__remember(t, &t->before);
		t->cost_before = top__cost(t->shown);
	}
	top__drop_tree(t);
	t->rows.n = 0;
	sum_rows__done(&t->sums);
	free(t->tags);
	t->tags = NULL;
	t->tagged = false;
	top__drop_merged(t);
	drop(t, t->shown);
	t->shown = s;
	tellings__begin(&t->tellings, s);
	if (s->n_places + 1 > t->room_places) {
		free(t->place_matches);
		free(t->is_wanted);
		t->room_places = 2 * s->n_places + 1;
		t->place_matches = xcalloc(t->room_places, 1);
		t->is_wanted = xcalloc(t->room_places, 1);
	} else {
		memset(t->place_matches, 0, s->n_places + 1);
	}
	if (t->metric->needs & ~s->known)
		t->metric = metric__preset(s->known);
	if (!t->chosen)
		top__choose_first(t);
	t->chosen = true;
	choose_view(t);
	note_totals(t);
	top__find_moves(t);
}

/* Rows are found by names: those that were looked up for the snapshot before are there at once. */
static void fill_names(struct top *t)
{
	bool any = false;

	for (bool more = t->o.name; more; any |= more) {
		t->wanted.n = 0;
		memset(t->is_wanted, 0, t->shown->n_places + 1);
		top__want_attributed(t);
		more = t->wanted.n && t->o.name(t->shown, t->wanted.v, t->wanted.n, t->o.name_arg);
	}
	if (any)
		tellings__begin(&t->tellings, t->shown);
}

void top__update(struct top *t, struct snapshot *s)
{
	if (t->frozen && t->shown) {
		drop(t, t->waiting);
		t->waiting = s;
		return;
	}
	show(t, s);
	top__identify(t);
	fill_names(t);
	top__build_rows(t);
}

void top__named(struct top *t)
{
	const struct top_place *p = &t->at[t->view];
	const struct view *v = top__view(t);
	bool by_name = view__columns(v)->n && column__draws(&view__columns(v)->v[p->sort]);

	top__drop_tree(t);
	top__drop_merged(t);
	tellings__begin(&t->tellings, t->shown);
	memset(t->place_matches, 0, t->shown->n_places + 1);
	t->tagged = false;
	if (top__filters(t) || by_name || v->rows == ROWS_TAGS || v->rows == ROWS_SUMS || v->rows == ROWS_SITES ||
	    v->rows == ROWS_PROCESSES)
		top__build_rows(t);
}

/* ---- the screen */

static void draw_pane(struct top *t, struct grid *g, int row, int n)
{
	static void (*const draw[PANE_N])(struct top *t, struct grid *g, int row, int n) = {
		[PANE_TABLE] = top__draw_table, [PANE_STACK] = top__draw_stack, [PANE_SOURCE] = top__draw_source,
		[PANE_TREE] = top__draw_tree, [PANE_HELP] = top__draw_help,
	};

	t->head_row = -1;
	t->list_rows = 0;
	if (t->pane == PANE_TABLE && top__view(t)->live.bars)
		top__draw_bars(t, g, row, n);
	else
		draw[t->pane](t, g, row, n);
}

void top__draw(struct top *t, struct grid *g)
{
	int row, below = g->rows - 2;

	grid__clear(g);
	t->wanted.n = 0;
	if (!t->shown) {
		draw_start(t, g);
		return;
	}
	if (t->is_wanted)
		memset(t->is_wanted, 0, t->shown->n_places + 1);
	row = top__draw_header(t, g);
	if (below > row)
		draw_pane(t, g, row, below - row);
	/* a pane may have drawn over what lies below it if the screen is too low for both */
	for (int i = MAX(below, 0); i < g->rows; i++)
		grid__fill(g, i, 0, g->cols, STYLE_PLAIN, ' ');
	top__draw_footer(t, g);
}

size_t top__wanted(struct top *t, const uint32_t **ret)
{
	*ret = t->wanted.v;
	return t->wanted.n;
}

/* ---- cursor and scrolling, for every list */

void list__fit(struct top_place *p, size_t n, size_t page)
{
	if (p->cursor >= n)
		p->cursor = n ? n - 1 : 0;
	if (p->cursor < p->scroll)
		p->scroll = p->cursor;
	if (page && p->cursor >= p->scroll + page)
		p->scroll = p->cursor - page + 1;
	/* no empty space at the end while there is something above */
	if (p->scroll && p->scroll + page > n)
		p->scroll = n > page ? n - page : 0;
}

void list__move(struct top_place *p, size_t n, size_t page, int key)
{
	size_t step = page > 1 ? page - 1 : 1;

	switch (key) {
	case 'k':
	case TOP_KEY_UP:
		p->cursor -= p->cursor > 0;
		break;
	case 'j':
	case TOP_KEY_DOWN:
		p->cursor += p->cursor + 1 < n;
		break;
	case TOP_KEY_PAGE_UP:
		p->cursor -= MIN(p->cursor, step);
		break;
	case TOP_KEY_PAGE_DOWN:
		p->cursor = MIN(p->cursor + step, n ? n - 1 : 0);
		break;
	case TOP_KEY_HOME:
		p->cursor = 0;
		break;
	case TOP_KEY_END:
		p->cursor = n ? n - 1 : 0;
		break;
	}
	/* whoever goes home wants to see what is first, whatever that will be */
	p->touched = key != TOP_KEY_HOME;
	list__fit(p, n, page);
}
