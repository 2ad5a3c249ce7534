// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the courses that the live view draws, of a process, of all of them and of a site: a row of cells, each
 * for as much time as any other, from the beginning of the trace until now.
 *
 *	▁▁▂▃▅  ▆█
 *
 * What always holds: a cell's place says when, however many points there are of that time; a time
 * of which nothing is known is blank, and never drawn as if nothing had changed in it.
 */
#include <string.h>

#include "present/top/top_parts.h"

#define COURSE_POINTS 1024
#define COURSE_CELLS 64
#define GAP_TIMES 4			/* so many times as far apart as the points beside them: nobody looked */
#define GAP_LEAST_NS (5 * TOP_NS_PER_S)
#define NOISE_SHARE 0.05		/* of the most: less than that should not look like a mountain */

uint64_t point__live(const struct snap_point *p)
{
	return p->live_bytes;
}

uint64_t point__rss(const struct snap_point *p)
{
	return p->rss_bytes;
}

static uint64_t between(const struct snap_point *v, size_t n, size_t i)
{
	return i && i < n ? v[i].t_ns - MIN(v[i - 1].t_ns, v[i].t_ns) : 0;
}

/*
 * Nothing is known of the time before point i, or, of the last one, after it? Points lie further apart the older
 * they are, so those beside it say what is usual there.
 */
static bool is_gap(const struct snap_point *v, size_t n, size_t i, uint64_t ns, uint64_t cell_ns)
{
	uint64_t usual = MAX(between(v, n, i - 1), between(v, n, i + 1));

	return ns > MAX(GAP_LEAST_NS, 2 * cell_ns) && ns > GAP_TIMES * usual;
}

void course__cells(const struct snap_point *v, size_t n, uint64_t now_ns, point_figure of, double *cells, int width)
{
	uint64_t cell_ns = now_ns / (uint64_t)MAX(width, 1);
	size_t at = 0;

	for (int i = 0; i < width; i++) {
		uint64_t from = (uint64_t)((unsigned __int128)now_ns * (unsigned int)i / (unsigned int)width);
		uint64_t until = (uint64_t)((unsigned __int128)now_ns * (unsigned int)(i + 1) / (unsigned int)width);

		while (at + 1 < n && v[at + 1].t_ns <= until)
			at++;
		cells[i] = NAN;
		if (!n || v[at].t_ns > until)
			continue;
		/* the last point before it stands for it, unless too long ago */
		if (i && v[at].t_ns <= from && is_gap(v, n, at + 1, at + 1 < n ? between(v, n, at + 1) : now_ns - MIN(now_ns, v[at].t_ns), cell_ns))
			continue;
		cells[i] = (double)of(&v[at]);
	}
}

/* Of the process in sight, or else the sums of all updates. */
static size_t points(const struct top *t, struct snap_point *v)
{
	const struct snap_process *p = top__scope_process(t);
	size_t n = 0;

	if (p && p->n_timeline) {
		size_t step = 1 + (p->n_timeline - 1) / COURSE_POINTS;

		/* the last one always is */
		for (size_t i = (p->n_timeline - 1) % step; i < p->n_timeline; i += step)
			v[n++] = p->timeline[i];
		return n;
	}
	for (size_t i = 0; !t->scope && i < t->n_totals; i++)
		v[n++] = (struct snap_point){
			.t_ns = t->totals[i].t_ns,
			.live_bytes = t->totals[i].live_bytes,
			.rss_bytes = t->totals[i].rss_bytes,
		};
	return n;
}

void top__draw_course(const struct top *t, struct grid *g, int row, int col, int width, point_figure of)
{
	struct snap_point v[COURSE_POINTS];
	double cells[COURSE_CELLS], low = INFINITY, high = 0, spread;

	width = MIN(width, COURSE_CELLS);
	course__cells(v, points(t, v), t->shown->duration_ns, of, cells, width);
	for (int i = 0; i < width; i++)
		if (!isnan(cells[i])) {
			low = MIN(low, cells[i]);
			high = MAX(high, cells[i]);
		}
	spread = MAX(high - MIN(low, high), high * NOISE_SHARE);
	for (int i = 0; i < width; i++)
		if (!isnan(cells[i]))
			grid__fill(g, row, col + i, 1, STYLE_BAR, spark_char(spread > 0 ? 1 - (high - cells[i]) / spread : 0));
}

/* Of a site's live bytes, as far as it is kept; shares of its own highest. */
void top__draw_trend(const struct top *t, const struct top_row *r, struct grid *g, int row, int col, int width)
{
	const struct snap_site *s = r->of.site;
	enum style style = column__style(columns__find(&site_columns, "verdict"), &r->of);
	double cells[COURSE_CELLS], max = 0;

	width = MIN(width, COURSE_CELLS);
	course__cells(s->history, s->n_history, t->shown->duration_ns, point__live, cells, width);
	for (int i = 0; i < width; i++)
		if (!isnan(cells[i]))
			max = MAX(max, cells[i]);
	for (int i = 0; i < width; i++)
		if (!isnan(cells[i]))
			grid__fill(g, row, col + i, 1, style == STYLE_DIM ? STYLE_BAR : style, spark_char(max > 0 ? cells[i] / max : 0));
}
