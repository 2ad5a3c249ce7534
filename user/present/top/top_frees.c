// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns what the live view tells of frees, with --free-stacks: a table of sites by what
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
#include <string.h>

#include "present/figures.h"
#include "present/frames.h"
#include "present/telling.h"
#include "present/top/top_parts.h"

/* The places of a site, the one with the most calls first; the caller's. */
static struct free_place *places_of(const struct top *t, const struct snap_site *s, size_t *ret_n)
{
	struct free_place *v = NULL;

	*ret_n = 0;
	if (!t->frees.start || free_places__of(t->shown, &t->frees, (size_t)(s - t->shown->sites), &v, ret_n))
		return NULL;
	return v;
}

/* A place as a stack. */
static struct snap_site stack_of(const struct snapshot *s, const struct free_place *p)
{
	const struct snap_free_site *w = &s->free_sites[p->where];

	return (struct snap_site){ .process = w->process, .function = w->function, .n_stack = w->n_stack, .stack = w->stack, .end = w->end };
}

void top__want_frees(struct top *t, const struct snap_site *s)
{
	size_t n;
	_cleanup_free_ struct free_place *v = places_of(t, s, &n);

	for (size_t i = 0; i < MIN(n, FREE_PLACES_SHOWN); i++) {
		struct snap_site stack = stack_of(t->shown, &v[i]);

		top__want_site(t, &stack);
	}
}

/* ---- the table */

static double frees_rate_value(const struct top_row *r)
{
	return r->frees_rate;
}

static const char *frees_rate_cell(const struct top_row *r, char buf[static CELL_MAX])
{
	if (isnan(r->frees_rate))
		return "-";
	if (r->frees_rate > 0 && r->frees_rate < 9.95)
		snprintf(buf, CELL_MAX, "%.1f", r->frees_rate);
	else
		fmt_count(buf, (uint64_t)(r->frees_rate + 0.5));
	return buf;
}

static enum style frees_rate_style(const struct top_row *r)
{
	return r->frees_rate > 0 ? STYLE_PLAIN : STYLE_DIM;
}

static double frees_value(const struct top_row *r)
{
	return (double)r->of.site->c.free_calls;
}

static const char *frees_cell(const struct top_row *r, char buf[static CELL_MAX])
{
	return fmt_count(buf, r->of.site->c.free_calls);
}

static double bytes_value(const struct top_row *r)
{
	return (double)r->of.site->c.free_bytes;
}

static const char *bytes_cell(const struct top_row *r, char buf[static CELL_MAX])
{
	return fmt_bytes(buf, r->of.site->c.free_bytes);
}

static double lived_value(const struct top_row *r)
{
	return (double)r->of.site->lifetime_sum_ns / (double)MAX(r->of.site->c.free_calls, 1ull);
}

static const char *lived_cell(const struct top_row *r, char buf[static CELL_MAX])
{
	return fmt_duration(buf, (uint64_t)lived_value(r));
}

static double cross_value(const struct top_row *r)
{
	return (double)r->of.site->cross_frees / (double)MAX(r->of.site->c.free_calls, 1ull);
}

static const char *cross_cell(const struct top_row *r, char buf[static CELL_MAX])
{
	return fmt_percent(buf, r->of.site->cross_frees, r->of.site->c.free_calls);
}

static void draw_telling(const struct snapshot *s, const struct snap_site *site, struct grid *g, int row, int col, int width, const char *nobody)
{
	struct frame f;
	size_t at;

	site__telling_frame(s, site, &f, &at);
	if (f.place)
		top__draw_frame(g, row, col, width, &f, "", STYLE_PLAIN);
	else
		grid__put(g, row, col, width, STYLE_DIM, nobody);
}

/* Where most of its blocks were freed, and "+2" for the places beside it. */
static void where_draw(const struct top *t, const struct top_row *r, struct grid *g, int row, int col, int width)
{
	size_t n;
	_cleanup_free_ struct free_place *v = places_of(t, r->of.site, &n);
	char more[FMT_MAX] = "";
	struct snap_site stack;
	int cols;

	if (!n)
		return;
	if (n > 1)
		snprintf(more, sizeof(more), " +%zu", n - 1);
	cols = (int)strlen(more);
	stack = stack_of(t->shown, v);
	draw_telling(t->shown, &stack, g, row, col, width - cols, "[not seen]");
	grid__put(g, row, col + width - cols, cols, STYLE_DIM, more);
}

static void site_draw(const struct top *t, const struct top_row *r, struct grid *g, int row, int col, int width)
{
	draw_telling(t->shown, r->of.site, g, row, col, width, "[no stack]");
}

static const char *site_cell(const struct top_row *r, char buf[static CELL_MAX])
{
	struct frame f;
	size_t at;

	site__telling_frame(r->of.s, r->of.site, &f, &at);
	return f.line && f.line->function ? f.line->function : f.module ? path_basename(f.module) : "";
}

#define OWN(id, head, cols, f) .name = id, .title = head, .width = cols, .value = f##_value, .format = f##_cell

const struct top_column top_free_columns[] = {
	{ OWN("frees-rate", "FREES/s", 7, frees_rate), .drop = 2, .style = frees_rate_style },
	{ OWN("frees", "FREES", 7, frees) },
	{ .name = "freed", .drop = 3 },
	{ OWN("bytes", "BYTES", 9, bytes), .drop = 5 },
	{ OWN("lived", "LIVED", 6, lived) },
	{ OWN("cross", "CROSS", 5, cross), .drop = 6 },
	{ .name = "where", .title = "FREED AT", .width = 26, .left = true, .draw = where_draw, .drop = 1 },
	{ .name = "process", .width = 22, .left = true, .drop = 4 },
	{ .name = "site", .title = "SITE", .left = true, .format = site_cell, .draw = site_draw, .flexible = true },
};

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
	struct snap_site stack = stack_of(t->shown, p);
	char a[FMT_MAX], b[FMT_MAX], c[FMT_MAX], d[FMT_MAX], e[FMT_MAX], cross[FMT_MAX + 64] = "";
	int row = next_row(l);

	if (p->cross_calls)
		snprintf(cross, sizeof(cross), ", %s by another thread than allocated", fmt_exact(e, p->cross_calls));
	if (row >= 0)
		grid__putf(l->g, row, 0, l->g->cols, STYLE_FIGURE, "freed by %.64s: %s, %s call%s, %s, after %s%s",
			   stack.n_stack ? stack.function : "[not seen]", fmt_percent(a, p->calls, whole), fmt_exact(b, p->calls),
			   p->calls == 1 ? "" : "s", fmt_bytes(c, p->bytes), fmt_duration(d, p->lifetime_sum_ns / MAX(p->calls, 1)), cross);
	for (uint32_t i = 0; i < stack.n_stack; i++) {
		const struct place *at = &t->shown->places[stack.stack[i]];

		for (size_t k = 0; k < place__n_frames(at); k++) {
			struct frame f = place__frame(t->shown, at, k);

			row = next_row(l);
			if (row >= 0)
				top__draw_frame(l->g, row, 2, l->g->cols - 2, &f, f.inlined ? INLINED : "",
						frame__is_telling(&f) ? STYLE_PLAIN : STYLE_DIM);
		}
	}
}

int top__draw_free_lines(const struct top *t, struct grid *g, int row, int from, int end, const struct snap_site *s)
{
	struct lines l = { g, row, from, end, 0 };
	size_t n;
	_cleanup_free_ struct free_place *v = places_of(t, s, &n);
	uint64_t others = 0;
	char a[FMT_MAX];

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
				   n - FREE_PLACES_SHOWN == 1 ? "" : "s", fmt_percent(a, others, s->c.free_calls));
	}
	return l.n;
}
