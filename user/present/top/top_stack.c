// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the pane with one site's stack:
 *
 *	trackingRememberKey: leak, 0 of 31,744 blocks freed, +180.0 KiB/s for 2m14s
 *	31.0 MiB in 31,744 blocks of 1.0 KiB, by malloc, Δ +30.1 MiB, 182/s
 *	oldest 2m14s, last one 0.1s ago; freed ones lived 40ms on average
 *
 *	FRAME                                            WHERE              TOTAL  SHARE
 *	raxGenericInsert (inlined)                       src/rax.c:494   31.0 MiB   100%
 *	trackingRememberKey                              tracking.c:212  31.0 MiB  81.2%
 *
 * A frame's total is that of all stacks in sight that go through its function,
 * each once, by the metric chosen. What always holds: the pane belongs to a site,
 * not to a row of the table, and says so if the site is gone.
 */
#include <inttypes.h>
#include <string.h>

#include "present/top/top_parts.h"

#define FRAMES_MAX 1024	/* of a stack, with what was inlined */

struct sum {
	struct frame frame;
	uint64_t total;
	uint32_t seen;		/* in the site looked at last, from 1 */
};

static bool same(const struct sum *s, const struct frame *f)
{
	const char *function = f->line ? f->line->function : NULL,
		*own = s->frame.line ? s->frame.line->function : NULL;

	if (!function || !own)
		return !function && !own && f->place == s->frame.place;
	if (f->module != s->frame.module && (!f->module || !s->frame.module || strcmp(f->module, s->frame.module)))
		return false;
	return function == own || !strcmp(function, own);
}

/* For each place: is any of its frames among those of the stack? Most are not, and need no look per site. */
static void add_totals(struct top *t, struct sum *v, size_t n)
{
	const struct snapshot *s = t->shown;
	_cleanup_free_ uint8_t *common = xcalloc(s->n_places + 1, 1);

	for (size_t i = 0; i < s->n_places; i++)
		for (size_t k = 0; k < place__n_frames(&s->places[i]) && !common[i]; k++) {
			struct frame f = place__frame(s, &s->places[i], k);

			for (size_t j = 0; j < n && !common[i]; j++)
				common[i] = same(&v[j], &f);
		}
	for (size_t i = 0; i < s->n_sites; i++) {
		const struct snap_site *site = &s->sites[i];
		uint64_t weight = metric__of(t->metric, site);

		if (!weight || !top__in_scope(t, site))
			continue;
		for (uint32_t k = 0; k < site->n_stack; k++) {
			const struct place *p = &s->places[site->stack[k]];

			for (size_t m = 0; common[site->stack[k]] && m < place__n_frames(p); m++) {
				struct frame f = place__frame(s, p, m);

				for (size_t j = 0; j < n; j++)
					if (v[j].seen != i + 1 && same(&v[j], &f)) {
						v[j].seen = i + 1;
						v[j].total += weight;
					}
			}
		}
	}
}

static size_t frames_of(const struct snapshot *s, const struct snap_site *site, struct sum *v)
{
	size_t n = MIN(site__n_frames(s, site), (size_t)FRAMES_MAX);

	for (size_t i = 0; i < n; i++)
		v[i].frame = site__frame(s, site, i);
	return n;
}

/* ---- the words above the frames */

static void live_words(const struct top *t, const struct snap_site *s, struct flow *w)
{
	const char *mark = t->shown->estimated ? "~" : "";

	if (t->shown->known & HAS_LIVE_BYTES) {
		flow__putf(w, STYLE_FIGURE, "%s%s in %s%s block%s", mark, BYTES(s->c.live_bytes), mark,
			   EXACT(s->c.live_blocks), plural(s->c.live_blocks));
		if (t->shown->baseline)
			flow__putf(w, STYLE_PLAIN, ", Δ %s", CHANGE((double)s->since_baseline_bytes));
	}
	if (s->c.alloc_calls && s->max_size && s->min_size == s->max_size)
		flow__putf(w, STYLE_PLAIN, "  each of %s", BYTES(s->max_size));
	else if (s->c.alloc_calls && s->max_size)
		flow__putf(w, STYLE_PLAIN, "  sizes %s to %s", BYTES(s->min_size), BYTES(s->max_size));
	flow__putf(w, STYLE_PLAIN, "  by %.64s", s->function);
	if (t->shown->n_processes > 1) {
		const struct snap_process *p = &t->shown->processes[s->process];

		flow__putf(w, STYLE_PLAIN, "  in %s%s%s%s", PROCESS_NAME(t->shown, p), p->ended ? " [" : "", DEATH(p),
			   p->ended ? "]" : "");
	}
	flow__end_line(w);
}

static void call_words(const struct top *t, const struct snap_site *s, uint64_t id, struct flow *w)
{
	const struct seen *b = seen__find(&t->before, id);
	const struct counters *c = &s->c;
	unsigned int known = t->shown->known;
	uint64_t now = t->shown->duration_ns;

	flow__putf(w, STYLE_PLAIN, "%s calls, %s", EXACT(c->alloc_calls), BYTES(c->alloc_bytes));
	if (t->before.holds && now > t->before.t_ns && !top__site_has_moved(t, s))
		flow__putf(w, STYLE_PLAIN, ", now %s",
			   RATE(c->alloc_calls - MIN(c->alloc_calls, b ? b->c.alloc_calls : 0),
			   now - t->before.t_ns));
	if (known & HAS_FREE_CALLS)
		flow__putf(w, STYLE_PLAIN, "  %s freed", PERCENT(c->free_calls, c->alloc_calls));
	if (known & HAS_TEMP_CALLS && c->temp_calls)
		flow__putf(w, STYLE_PLAIN, ", %s temporary", PERCENT(c->temp_calls, c->alloc_calls));
	if (known & HAS_LIFETIMES && c->free_calls)
		flow__putf(w, STYLE_PLAIN, ", lived %s on average", LIVED(t->shown, s->lifetime_sum_ns, c->free_calls));
	if (s->oldest_ns)
		flow__putf(w, STYLE_PLAIN, "  oldest %s", OLDEST(s));
	if (s->last_ns && now >= s->last_ns)
		flow__putf(w, STYLE_PLAIN, "  last call %s ago", DURATION(now - s->last_ns));
	flow__end_line(w);
}

/* What the last search says of its blocks, of those that were there, and how long ago that was. */
static void search_words(const struct top *t, const struct snap_site *s, struct flow *w)
{
	const struct snap_heap *h = snapshot__heap_of(t->shown, s->process);
	uint64_t newer = s->c.live_blocks - MIN(s->looked_blocks, s->c.live_blocks);

	if (s->unreached_blocks)
		flow__clausef(w, STYLE_BAD, "no pointer found to %s of %s block%s, %s", EXACT(s->unreached_blocks), EXACT(s->looked_blocks),
			      plural(s->looked_blocks), BYTES(s->unreached_bytes));
	else
		flow__clausef(w, STYLE_GOOD, "no block without a pointer to it");
	flow__clausef(w, STYLE_PLAIN, "  searched %s ago", DURATION(top__ago_ns(t, h)));
	if (newer)
		flow__clausef(w, STYLE_PLAIN, ", %s block%s newer", EXACT(newer), newer == 1 ? " is" : "s are");
}

/* What the last look at the heap says of its blocks. */
static void heap_words(const struct top *t, const struct snap_site *s, struct flow *w)
{
	_cleanup_free_ char *types = heap__types_text(s->types, s->n_types, SIZE_MAX);
	bool any = false;

	if (site__was_searched(t->shown, s)) {
		any = true;
		search_words(t, s, w);
	}
	if (s->held) {
		flow__clausef(w, STYLE_PLAIN, "%sheld through %s%s", any ? "  " : "", root_kind__before(s->held->kind), s->held->name ? s->held->name : "");
		any = true;
	}
	if (types && *types) {
		flow__clausef(w, STYLE_PLAIN, "%s%s", any ? "  " : "", types);
		any = true;
	}
	if (any)
		flow__end_line(w);
}

static void title_words(const struct top *t, const struct snap_site *s, struct flow *w)
{
	_cleanup_free_ char *name = tellings__name(&t->tellings, t->shown, s),
		*cut = name__shorten(name, MAX(w->g->cols - 10, 20));

	flow__put(w, STYLE_TITLE, cut);
	if (s->trend.verdict) {
		flow__put(w, STYLE_PLAIN, ": ");
		flow__put(w, strcmp(s->trend.verdict, "leak") ? STYLE_FIGURE : STYLE_BAD, s->trend.verdict);
	}
	flow__end_line(w);
	if (s->trend.why) {
		flow__put(w, STYLE_PLAIN, s->trend.why);
		flow__end_line(w);
	}
}

/* ---- the frames */

/* ---- where blocks were freed */

/*
 * What the live view tells of frees, with --free-stacks: a table of sites by what
 * was freed of them, and below a stack where its blocks were freed:
 *
 *	 FREES/s   FREES FREED     BYTES  LIVED CROSS FREED AT             SITE
 *	   1,204   7,744   97%   7.2 MiB   12ms    2% drop  threads.c:129  thread_alloc
 *
 *	freed by free: 78%, 6,031 calls, 5.6 MiB, after 10ms, 120 by another thread than allocated
 *	  drop                                threads.c:129
 *
 * What always holds: places are in the order of reports, and what is not shown is told
 * as a share.
 */

/* The places of a site, the one with the most calls first; the caller's. */
static struct free_place *places_of(const struct top *t, const struct snap_site *s, size_t *ret_n)
{
	struct free_place *v = NULL;

	*ret_n = 0;
	if (t->frees.start)
		free_places__of(t->shown, &t->frees, (size_t)(s - t->shown->sites), &v, ret_n);
	return v;
}

void top__want_frees(struct top *t, const struct snap_site *s)
{
	size_t n;
	_cleanup_free_ struct free_place *v = places_of(t, s, &n);

	for (size_t i = 0; i < MIN(n, FREE_PLACES_SHOWN); i++)
		top__want_site(t, &t->shown->free_sites[v[i].where]);
}

/* ---- the table */

/* Where most of its blocks were freed, and "+2" for the places beside it. */
void top__draw_freed_at(const struct top *t, const struct top_row *r, struct grid *g, int row, int col, int width)
{
	size_t n;
	_cleanup_free_ struct free_place *v = places_of(t, r->of.site, &n);
	char more[FMT_MAX] = "";
	int cols;

	if (!n)
		return;
	if (n > 1)
		snprintf(more, sizeof(more), " +%zu", n - 1);
	cols = (int)strlen(more);
	top__draw_telling(t, &t->shown->free_sites[v->where], g, row, col, width - cols, "[not seen]");
	grid__put(g, row, col + width - cols, cols, STYLE_DIM, more);
}

/* ---- below a stack */

struct lines {
	struct grid *g;
	int row, from, end;
	int n;
};

/* Where the next line goes; -1: out of sight. */
static int next_row(struct lines *l)
{
	int row = l->row + l->n++;

	return row >= l->from && row < l->end ? row : -1;
}

static void put_place(const struct top *t, struct lines *l, const struct free_place *p, uint64_t whole)
{
	const struct snap_site *at = &t->shown->free_sites[p->where];
	char cross[FMT_MAX + 64] = "";
	int row = next_row(l);

	if (p->cross_calls)
		snprintf(cross, sizeof(cross), ", %s by another thread than allocated", EXACT(p->cross_calls));
	if (row >= 0)
		grid__putf(l->g, row, 0, l->g->cols, STYLE_FIGURE, "freed by %.64s: %s, %s call%s, %s, after %s%s",
			   at->n_stack ? at->function : "[not seen]", PERCENT(p->calls, whole), EXACT(p->calls),
			   plural(p->calls), BYTES(p->bytes), LIVED(t->shown, p->lifetime_sum_ns, p->calls), cross);
	for (size_t i = 0; i < site__n_frames(t->shown, at); i++) {
		struct frame f = site__frame(t->shown, at, i);

		row = next_row(l);
		if (row >= 0)
			top__draw_frame(l->g, row, 2, l->g->cols - 2, &f, f.inlined ? INLINED : "",
					frame__is_telling(&f) ? STYLE_PLAIN : STYLE_DIM);
	}
}

/* Lines below a stack: the first would be at row; those from `from` up to `end` are drawn. How many there are. */
static int draw_free_lines(const struct top *t, struct grid *g, int row, int from, int end, const struct snap_site *s)
{
	struct lines l = { g, row, from, end, 0 };
	size_t n;
	_cleanup_free_ struct free_place *v = places_of(t, s, &n);
	uint64_t others = 0;

	if (!n)
		return 0;
	next_row(&l);	/* a blank one */
	for (size_t i = 0; i < n; i++) {
		if (i < FREE_PLACES_SHOWN)
			put_place(t, &l, &v[i], s->c.free_calls);
		else
			others += v[i].calls;
	}
	if (others) {
		row = next_row(&l);
		if (row >= 0)
			grid__putf(g, row, 0, g->cols, STYLE_DIM, "and %zu other place%s: %s", n - FREE_PLACES_SHOWN,
				   plural(n - FREE_PLACES_SHOWN), PERCENT(others, s->c.free_calls));
	}
	return l.n;
}

static void draw_frames(struct top *t, struct grid *g, int row, int n, const struct snap_site *site)
{
	_cleanup_free_ struct sum *v = xcalloc(FRAMES_MAX, sizeof(*v));
	size_t n_frames = frames_of(t->shown, site, v);
	int width = g->cols - 9 - 7 - 1;
	uint64_t whole = 0;
	size_t n_base;

	if (n < 1)
		return;
	add_totals(t, v, n_frames);
	for (size_t i = 0; i < t->shown->n_sites; i++)
		whole += top__in_scope(t, &t->shown->sites[i]) ? metric__of(t->metric, &t->shown->sites[i]) : 0;
	grid__fill(g, row, 0, g->cols, STYLE_HEAD, ' ');
	grid__put(g, row, 0, width, STYLE_HEAD, g->cols >= 70 ? "FRAME, the allocation's caller first" : "FRAME");
	grid__put_right(g, row, width - 16, 26, STYLE_HEAD, t->metric->name);
	grid__put_right(g, row, g->cols - 7, 7, STYLE_HEAD, "SHARE");
	t->stack_lines = n_frames + (site->end || !n_frames);
	n_base = t->stack_lines;
	t->stack_lines += draw_free_lines(t, g, 0, 0, 0, site);
	t->list_row = row + 1;
	t->list_rows = n - 1;
	list__fit(&t->stack_at, t->stack_lines, (size_t)MAX(t->list_rows, 0));
	for (int i = 0; i < n - 1 && t->stack_at.scroll + i < n_frames; i++) {
		const struct sum *s = &v[t->stack_at.scroll + i];
		bool telling = frame__is_telling(&s->frame);

		top__draw_frame(g, row + 1 + i, 0, width, &s->frame, s->frame.inlined ? INLINED : "", telling ? STYLE_PLAIN : STYLE_DIM);
		grid__put_right(g, row + 1 + i, width + 1, 9, STYLE_FIGURE,
				strcmp(t->metric->unit, "bytes") ? COUNT(s->total) : BYTES(s->total));
		grid__put_right(g, row + 1 + i, g->cols - 7, 7, STYLE_DIM, SHARE(s->total, whole));
		if (t->stack_at.scroll + (size_t)i == t->stack_at.cursor)
			grid__select(g, row + 1 + i);
	}
	row += 1 + (int)(n_frames - t->stack_at.scroll);
	if (!n_frames)
		grid__put(g, row, 0, g->cols, STYLE_DIM, site__no_stack(site));
	else if (site->end && row < t->list_row + t->list_rows)
		grid__putf(g, row, 0, g->cols, STYLE_DIM, "… truncated: %s", site__end_says(t->shown, site));
	draw_free_lines(t, g, t->list_row + (int)(n_base - t->stack_at.scroll), t->list_row, t->list_row + t->list_rows, site);
}

void top__draw_stack(struct top *t, struct grid *g, int row, int n)
{
	struct flow w = { .g = g, .row = row, .end = row + n };
	const struct snap_site *site = top__find_site(t, t->stack_id, NULL);

	if (!site) {
		grid__put(g, row, 1, g->cols - 1, STYLE_DIM, "This stack is not among those that are kept any more. Esc goes back.");
		return;
	}
	top__want_site(t, site);
	top__want_frees(t, site);
	/* the sums need the names of all */
	top__want_all(t);
	title_words(t, site, &w);
	/* on a small screen the frames are what is wanted */
	if (n >= 9) {
		live_words(t, site, &w);
		call_words(t, site, t->stack_id, &w);
		heap_words(t, site, &w);
		w.row++;
	}
	draw_frames(t, g, w.row, row + n - w.row, site);
}
