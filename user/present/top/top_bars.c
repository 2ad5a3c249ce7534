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

#include "present/figures.h"
#include "present/top/top_parts.h"

#define CLASSES_MAX 80
#define BESIDE 110	/* from here on both stand side by side */

struct bar {
	uint64_t below, n, live;
};

struct bars {
	struct bar v[CLASSES_MAX];
	size_t n;
	uint64_t whole, most;
};

/* Classes are the same in every process; they are kept in order all the same. */
static void add(struct bars *b, uint64_t below, uint64_t n, uint64_t live)
{
	size_t at = 0;

	while (at < b->n && b->v[at].below < below)
		at++;
	if (at == b->n || b->v[at].below != below) {
		if (b->n == CLASSES_MAX)
			return;
		memmove(&b->v[at + 1], &b->v[at], (b->n - at) * sizeof(b->v[0]));
		b->v[at] = (struct bar){ .below = below };
		b->n++;
	}
	b->v[at].n += n;
	b->v[at].live += live;
}

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
	*sizes = *lives = (struct bars){};
	for (size_t i = 0; i < t->shown->n_processes; i++) {
		const struct snap_process *p = &t->shown->processes[i];

		if (t->scope && p->id != t->scope)
			continue;
		for (size_t k = 0; k < p->n_sizes; k++)
			add(sizes, p->sizes[k].below, p->sizes[k].alloc_calls, p->sizes[k].live_blocks);
		for (size_t k = 0; k < p->n_lifetimes; k++)
			add(lives, p->lifetimes[k].below_ns, p->lifetimes[k].blocks, 0);
	}
	sum_up(sizes);
	sum_up(lives);
}

static void label(char buf[static CELL_MAX], uint64_t below, uint64_t before, bool ns)
{
	char a[FMT_MAX];
	bool rest = below == UINT64_MAX;
	uint64_t bound = rest ? before : below;

	/* lifetimes are counted in ticks of the clock */
	if (ns && bound == 1) {
		snprintf(buf, CELL_MAX, "less than a tick");
		return;
	}
	snprintf(buf, CELL_MAX, "%s %9s", rest ? "and on" : "below ", ns ? fmt_duration(a, bound) : fmt_bytes(a, bound));
}

static void draw(const struct top *t, struct grid *g, int row, int n, int col, int width, const struct bars *b, bool ns,
		 const char *empty)
{
	bool live = !ns && t->shown->known & HAS_LIFETIMES;
	int bar = width - 16 - 8 - 7 - (live ? 8 : 0) - 2;
	char text[CELL_MAX], num[FMT_MAX];

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
		grid__put_right(g, row + 1 + i, col + 16, 8, r->n ? STYLE_PLAIN : STYLE_DIM, fmt_count(num, r->n));
		grid__put_right(g, row + 1 + i, col + 24, 7, STYLE_DIM, fmt_share(num, r->n, b->whole));
		if (live) {
			grid__put_right(g, row + 1 + i, at, 8, r->live ? STYLE_PLAIN : STYLE_DIM, fmt_count(num, r->live));
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
	struct bars sizes, lives;
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
