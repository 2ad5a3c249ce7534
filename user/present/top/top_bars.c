// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the view of sizes and lifetimes:
 *
 *	BLOCKS OF       CALLS  SHARE     LIVE                       FREED AFTER    BLOCKS  SHARE
 *	below   64 B    2.10M  95.7%        1 █████████████████     below    4ms    1.50M  69.4% ████████████
 *	below  1 KiB       12  <0.1%       12 ▏                     below    8ms  599,999  27.8% █████
 *
 * What always holds: a class is shown if anything fell into it, or into one
 * before and one after it, so that a gap is seen as one.
 */
#include <string.h>

#include "present/top/top_parts.h"

#define CLASSES_MAX 80
#define BESIDE 110	/* from here on both stand side by side */

/* ---- small drawings */

static uint32_t spark_char(double share)
{
	int eighths = isnan(share) ? 0 : (int)(share * 7 + 0.5);

	return 0x2581 + MAX(0, MIN(eighths, 7));
}

static void draw_bar(struct grid *g, int row, int col, int width, enum style style, double share)
{
	int eighths = (int)(MAX(0.0, MIN(share, 1.0)) * width * 8 + 0.5);

	if (!eighths && share > 0)
		eighths = 1;
	grid__fill(g, row, col, eighths / 8, style, 0x2588);
	/* ▏ to ▉ */
	if (eighths % 8 && eighths / 8 < width)
		grid__fill(g, row, col + eighths / 8, 1, style, 0x2590 - eighths % 8);
}

/* ---- courses */

/*
 * The courses that the live view draws, of a process, of all of them and of a site: a row of cells, each
 * for as much time as any other, from the beginning of the trace until now.
 *
 *	▁▁▂▃▅  ▆█
 *
 * What always holds: a cell's place says when, however many points there are of that time; a time
 * of which nothing is known is blank, and never drawn as if nothing had changed in it.
 */

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
		v[n++] = t->totals[i];
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
	double cells[COURSE_CELLS], max = 0;
	struct cell verdict;
	enum style style;

	column__cell(columns__find(&site_columns, "verdict"), &r->of, &verdict);
	style = verdict.tone == TONE_DIM ? STYLE_BAR : tone__style(verdict.tone);
	width = MIN(width, COURSE_CELLS);
	course__cells(s->history, s->n_history, t->shown->duration_ns, point__live, cells, width);
	for (int i = 0; i < width; i++)
		if (!isnan(cells[i]))
			max = MAX(max, cells[i]);
	for (int i = 0; i < width; i++)
		if (!isnan(cells[i]))
			grid__fill(g, row, col + i, 1, style, spark_char(max > 0 ? cells[i] / max : 0));
}

struct bar {
	uint64_t below, n, live;
};

struct bars {
	struct bar v[CLASSES_MAX];
	size_t n;
	uint64_t whole, most;
};

static void sum_up(struct bars *b)
{
	size_t first = 0;

	while (b->n && !b->v[b->n - 1].n)
		b->n--;
	while (first < b->n && !b->v[first].n)
		first++;
	memmove(b->v, b->v + first, (b->n - first) * sizeof(b->v[0]));
	b->n -= first;
	for (size_t i = 0; i < b->n; i++) {
		b->whole += b->v[i].n;
		b->most = MAX(b->most, b->v[i].n);
	}
}

static void collect(const struct top *t, struct bars *sizes, struct bars *lives)
{
	_cleanup_free_ const struct snap_process **v = xcalloc(t->shown->n_processes + 1, sizeof(*v));
	struct snapshot *own = snapshot__new();
	struct snap_process sum = {};
	size_t n = 0;

	for (size_t i = 0; i < t->shown->n_processes; i++)
		if (!t->scope || t->shown->processes[i].id == t->scope)
			v[n++] = &t->shown->processes[i];
	histograms__add_up(own, v, n, &sum);
	sizes->n = MIN(sum.n_sizes, (size_t)CLASSES_MAX);
	lives->n = MIN(sum.n_lifetimes, (size_t)CLASSES_MAX);
	for (size_t i = 0; i < sizes->n; i++)
		sizes->v[i] = (struct bar){ sum.sizes[i].below, sum.sizes[i].alloc_calls, sum.sizes[i].live_blocks };
	for (size_t i = 0; i < lives->n; i++)
		lives->v[i] = (struct bar){ sum.lifetimes[i].below_ns, sum.lifetimes[i].blocks, 0 };
	snapshot__free(own);
	sum_up(sizes);
	sum_up(lives);
}

static void label(char buf[static CELL_MAX], uint64_t below, uint64_t before, bool ns)
{
	bool rest = below == UINT64_MAX;
	uint64_t bound = rest ? before : below;

	/* lifetimes are counted in ticks of the clock */
	if (ns && bound == 1) {
		snprintf(buf, CELL_MAX, "less than a tick");
		return;
	}
	snprintf(buf, CELL_MAX, "%s %9s", rest ? "and on" : "below ", ns ? DURATION(bound) : BYTES(bound));
}

static void draw(const struct top *t, struct grid *g, int row, int n, int col, int width, const struct bars *b, bool ns,
		 const char *empty)
{
	bool live = !ns && t->shown->known & HAS_LIFETIMES;
	int bar = width - 16 - 8 - 7 - (live ? 8 : 0) - 2;
	char text[CELL_MAX];

	grid__fill(g, row, col, width, STYLE_HEAD, ' ');
	grid__put(g, row, col, 16, STYLE_HEAD, ns ? "FREED AFTER" : "BLOCKS OF");
	grid__put_right(g, row, col + 16, 8, STYLE_HEAD, ns ? "BLOCKS" : "CALLS");
	grid__put_right(g, row, col + 24, 7, STYLE_HEAD, "SHARE");
	if (live)
		grid__put_right(g, row, col + 31, 8, STYLE_HEAD, "LIVE");
	if (!b->whole)
		grid__put(g, row + 1, col + 1, width - 1, STYLE_DIM, empty);
	for (int i = 0; i < n - 1 && (size_t)i < b->n; i++) {
		const struct bar *r = &b->v[i];
		int at = col + 31;

		label(text, r->below, i ? b->v[i - 1].below : 0, ns);
		grid__put(g, row + 1 + i, col, 16, STYLE_PLAIN, text);
		grid__put_right(g, row + 1 + i, col + 16, 8, r->n ? STYLE_PLAIN : STYLE_DIM, COUNT(r->n));
		grid__put_right(g, row + 1 + i, col + 24, 7, STYLE_DIM, SHARE(r->n, b->whole));
		if (live) {
			grid__put_right(g, row + 1 + i, at, 8, r->live ? STYLE_PLAIN : STYLE_DIM, COUNT(r->live));
			at += 8;
		}
		if (bar > 0 && b->most)
			draw_bar(g, row + 1 + i, at + 1, bar, STYLE_BAR, (double)r->n / (double)b->most);
	}
}

void top__draw_bars(struct top *t, struct grid *g, int row, int n)
{
	const char *nothing = top__view(t)->empty, *unfreed = "no block was freed while traced";
	bool frees = t->shown->known & HAS_LIFETIMES;
	struct bars sizes = {}, lives = {};
	struct top_place *p = &t->at[t->view];
	int half = (g->cols - 4) / 2, first;
	size_t skip;

	collect(t, &sizes, &lives);
	if (top__filters(t) && n > 1) {
		grid__put(g, row++, 0, g->cols, STYLE_WARN, "These are all blocks: a filter of sites does not hold here.");
		n--;
	}
	t->list_row = row + 1;
	t->list_rows = n - 1;
	if (g->cols >= BESIDE) {
		draw(t, g, row, n, 0, half, &sizes, false, nothing);
		if (frees)
			draw(t, g, row, n, half + 4, g->cols - half - 4, &lives, true, unfreed);
		p->scroll = p->cursor = 0;
		return;
	}
	/* one above the other: the cursor scrolls them both */
	skip = MIN(p->cursor, sizes.n + lives.n + 1);
	memmove(sizes.v, sizes.v + MIN(skip, sizes.n), (sizes.n - MIN(skip, sizes.n)) * sizeof(sizes.v[0]));
	sizes.n -= MIN(skip, sizes.n);
	first = (int)MIN(sizes.n + 2, (size_t)MAX(n, 0));
	draw(t, g, row, n, 0, g->cols, &sizes, false, nothing);
	if (frees && n > first)
		draw(t, g, row + first, n - first, 0, g->cols, &lives, true, unfreed);
}
