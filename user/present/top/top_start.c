// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the first screen of the live view, before there is anything to show but
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
#include <string.h>

#include "present/top/top_parts.h"

#define HEADER_ROWS 3
#define BYTES_COLS 9

void top__target(struct top *t, const char *who, uint64_t age_ns, uint64_t rss_bytes)
{
	snprintf(t->start.who, sizeof(t->start.who), "%s", who);
	t->start.age_ns = age_ns;
	t->start.rss_bytes = rss_bytes;
}

void top__note_step(struct top *t, const char *text)
{
	char *last = t->start.n_steps ? t->start.steps[t->start.n_steps - 1] : NULL;
	size_t size = sizeof(t->start.steps[0]);

	if (last && !strncmp(last, text, size - 1))
		return;
	/* the oldest goes: the present is what matters */
	if (t->start.n_steps == TOP_STEPS)
		memmove(t->start.steps[0], t->start.steps[1], --t->start.n_steps * size);
	snprintf(t->start.steps[t->start.n_steps++], size, "%s", text);
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

void top__draw_start(struct top *t, struct grid *g)
{
	int col = grid__put(g, 0, 0, g->cols, STYLE_TITLE, *t->start.who ? t->start.who : "malloctrace"), last = g->rows - 1;
	char a[FMT_MAX];

	if (t->start.age_ns)
		col += grid__putf(g, 0, col, g->cols - col, STYLE_PLAIN, "  up %s", fmt_duration(a, t->start.age_ns));
	grid__put(g, 0, col, g->cols - col, STYLE_WARN, "  not traced yet");
	if (t->start.rss_bytes) {
		grid__put(g, 1, 0, g->cols, STYLE_LABEL, "RSS");
		grid__put_right(g, 1, 6, BYTES_COLS, STYLE_FIGURE, fmt_bytes(a, t->start.rss_bytes));
	}
	grid__fill(g, HEADER_ROWS, 0, g->cols, STYLE_RULE, 0x2500);
	draw_steps(t, g, HEADER_ROWS + 1, last - 1 - (HEADER_ROWS + 1));
	if (*t->message)
		grid__put(g, last - 1, 0, g->cols, STYLE_MESSAGE, t->message);
	col = grid__put(g, last, 0, g->cols, STYLE_KEY, "q") + 1;
	grid__put(g, last, col, g->cols - col, STYLE_PLAIN, "quit: nothing is recorded yet");
}
