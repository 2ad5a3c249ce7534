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

/* Where most of its blocks were freed, and "+2" for the places beside it. */
void top__draw_freed_at(const struct top *t, const struct top_row *r, struct grid *g, int row, int col, int width)
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
	top__draw_telling(t, &stack, g, row, col, width - cols, "[not seen]");
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
	struct snap_site stack = stack_of(t->shown, p);
	char a[FMT_MAX], b[FMT_MAX], c[FMT_MAX], d[FMT_MAX], e[FMT_MAX], cross[FMT_MAX + 64] = "";
	int row = next_row(l);

	if (p->cross_calls)
		snprintf(cross, sizeof(cross), ", %s by another thread than allocated", fmt_exact(e, p->cross_calls));
	if (row >= 0)
		grid__putf(l->g, row, 0, l->g->cols, STYLE_FIGURE, "freed by %.64s: %s, %s call%s, %s, after %s%s",
			   stack.n_stack ? stack.function : "[not seen]", fmt_percent(a, p->calls, whole), fmt_exact(b, p->calls),
			   p->calls == 1 ? "" : "s", fmt_bytes(c, p->bytes), fmt_lived(d, t->shown, p->lifetime_sum_ns, p->calls), cross);
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
