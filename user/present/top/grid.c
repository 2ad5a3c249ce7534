// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the cells. What always holds: a wide character is a cell of width 2 and,
 * right of it in the same row, one of width 0; nothing in a cell can move a
 * terminal's cursor; whatever is written stays within its row and its bounds.
 */
#include "present/top/grid.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "util/text.h"
#include "util/util.h"

static const struct glyph blank = { .ch = ' ', .width = 1 };

void grid__resize(struct grid *g, int rows, int cols)
{
	struct glyph *cells;

	rows = MAX(1, MIN(rows, GRID_SIDE_MAX));
	cols = MAX(1, MIN(cols, GRID_SIDE_MAX));
	if (!g->cells || rows != g->rows || cols != g->cols) {
		cells = xcalloc((size_t)rows * cols, sizeof(*cells));
		free(g->cells);
		g->cells = cells;
		g->rows = rows;
		g->cols = cols;
	}
	grid__clear(g);
}

void grid__done(struct grid *g)
{
	free(g->cells);
	*g = (struct grid){};
}

void grid__clear(struct grid *g)
{
	for (int i = 0; i < g->rows * g->cols; i++)
		g->cells[i] = blank;
	g->cursor_row = g->cursor_col = -1;
}

struct glyph *grid__cell(const struct grid *g, int row, int col)
{
	if (row < 0 || row >= g->rows || col < 0 || col >= g->cols)
		return NULL;
	return &g->cells[row * g->cols + col];
}

/* Before a cell is written over: the other half of a wide character goes, too. */
static void break_pair(struct grid *g, int row, int col)
{
	struct glyph *c = grid__cell(g, row, col), *other;

	if (c->width == 1)
		return;
	other = grid__cell(g, row, c->width ? col + 1 : col - 1);
	if (other) {
		other->ch = ' ';
		other->width = 1;
		memset(other->marks, 0, sizeof(other->marks));
	}
	c->width = 1;
}

static void set(struct grid *g, int row, int col, enum style style, uint32_t ch, unsigned int width)
{
	struct glyph *c = grid__cell(g, row, col);

	break_pair(g, row, col);
	*c = (struct glyph){ .ch = ch, .width = width, .style = style, .selected = c->selected };
	if (width == 2) {
		break_pair(g, row, col + 1);
		c[1] = (struct glyph){ .ch = ' ', .width = 0, .style = style, .selected = c[1].selected };
	}
}

/* Characters that are no text: they steer terminals, or turn the direction of writing. */
static bool is_control(uint32_t c)
{
	return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0xad || (c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) ||
	       (c >= 0x2060 && c <= 0x206f) || c == 0x061c || c == 0x180e || (c >= 0xd800 && c <= 0xdfff) || c == 0xfeff ||
	       (c >= 0xfff0 && c <= 0xfffb) || (c >= 0xe0000 && c <= 0xe00ff) || c > 0x10ffff;
}

static void add_mark(struct glyph *c, uint32_t mark)
{
	for (int i = 0; i < GRID_MARKS; i++)
		if (!c->marks[i]) {
			c->marks[i] = mark;
			return;
		}
}

int grid__put(struct grid *g, int row, int col, int max, enum style style, const char *text)
{
	size_t n = strlen(text), at = 0;
	int from = col, end = MIN(col + MAX(max, 0), g->cols);
	struct glyph *last = NULL;

	if (row < 0 || row >= g->rows || col < 0)
		return 0;
	while (at < n) {
		unsigned int width;
		uint32_t c;

		at += text_next(text + at, n - at, &c, &width);
		if (is_control(c)) {
			c = '?';
			width = 1;
		}
		if (!width) {
			if (last)
				add_mark(last, c);
			continue;
		}
		if (col >= end)
			break;
		if (col + (int)width > end) {
			set(g, row, col++, style, ' ', 1);
			break;
		}
		set(g, row, col, style, c, width);
		last = grid__cell(g, row, col);
		col += width;
	}
	return col - from;
}

int grid__putf(struct grid *g, int row, int col, int max, enum style style, const char *fmt, ...)
{
	_cleanup_free_ char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	text = xvasprintf(fmt, ap);
	va_end(ap);
	return grid__put(g, row, col, max, style, text);
}

void grid__put_right(struct grid *g, int row, int col, int width, enum style style, const char *text)
{
	int have = (int)MIN(text_width(text), (size_t)GRID_SIDE_MAX);

	grid__put(g, row, col + MAX(width - have, 0), MIN(width, have), style, text);
}

void grid__fill(struct grid *g, int row, int col, int n, enum style style, uint32_t ch)
{
	if (row < 0 || row >= g->rows)
		return;
	for (int i = MAX(col, 0); i < MIN(col + n, g->cols); i++)
		set(g, row, i, style, ch, 1);
}

void grid__select(struct grid *g, int row)
{
	for (int col = 0; col < g->cols && row >= 0 && row < g->rows; col++)
		grid__cell(g, row, col)->selected = true;
}

bool glyph__same(const struct glyph *a, const struct glyph *b)
{
	return a->ch == b->ch && a->width == b->width && a->style == b->style && a->selected == b->selected &&
	       !memcmp(a->marks, b->marks, sizeof(a->marks));
}

void grid__copy(struct grid *to, const struct grid *from)
{
	grid__resize(to, from->rows, from->cols);
	memcpy(to->cells, from->cells, (size_t)from->rows * from->cols * sizeof(*to->cells));
	to->cursor_row = from->cursor_row;
	to->cursor_col = from->cursor_col;
}

/* Runs of characters and what takes their place: one each, or as many as there are. */
static const struct {
	uint32_t from, to;
	const char *by;
} look_alikes[] = {
	{ 0x2013, 0x2014, "--" },	/* dashes */
	{ 0x2026, 0x2026, "~" },	/* … */
	{ 0x2190, 0x2193, "<^>v" },	/* arrows */
	{ 0x21b3, 0x21b3, "`" },	/* ↳ */
	{ 0x2500, 0x2500, "-" },	/* lines */
	{ 0x2502, 0x2502, "|" },
	{ 0x2514, 0x2514, "`" },
	{ 0x251c, 0x251c, "|" },
	{ 0x2581, 0x2588, "_.-=+*#@" },	/* ▁ to █ */
	{ 0x2589, 0x258f, "#######" },	/* parts of a bar */
	{ 0x25b6, 0x25b6, ">" },
	{ 0x25b8, 0x25b8, "+" },	/* ▸ folded */
	{ 0x25be, 0x25be, "-" },	/* ▾ unfolded */
	{ 0x2713, 0x2713, "*" },	/* ✓ */
	{ 0x00b1, 0x00b1, "+" },	/* ± */
	{ 0x00b7, 0x00b7, "." },
	{ 0x0394, 0x0394, "d" },	/* Δ */
};

static uint32_t look_alike(uint32_t c)
{
	for (size_t i = 0; i < ARRAY_SIZE(look_alikes); i++)
		if (c >= look_alikes[i].from && c <= look_alikes[i].to)
			return look_alikes[i].by[c - look_alikes[i].from];
	return '?';
}

void grid__to_ascii(struct grid *g)
{
	for (int i = 0; i < g->rows * g->cols; i++) {
		struct glyph *c = &g->cells[i];

		memset(c->marks, 0, sizeof(c->marks));
		if (!c->width) {
			c->ch = '?';
			c->width = 1;
		} else if (c->ch >= 0x7f) {
			c->ch = look_alike(c->ch);
			c->width = 1;
		}
	}
}

/* ---- sentences */

/*
 * How sentences flow over the lines of a pane, and what becomes of one that has a single line. What always holds: nothing is
 * drawn at or below the flow's end; what is left out shows.
 */

void flow__put(struct flow *f, enum style style, const char *text)
{
	int cols = (int)text_width(text);

	if (f->col && f->col + cols > f->g->cols) {
		f->row++;
		f->col = 0;
	}
	/* what would part it from the one before, the line's end does */
	if (!f->col) {
		text += strspn(text, " ,;");
		cols = (int)text_width(text);
	}
	if (f->row < f->end)
		clauses__put(f->g, f->row, f->col, style, text);
	f->col += cols;
}

void flow__words(struct flow *f, enum style style, const char *text)
{
	while (*text) {
		/* a word with the blanks before it */
		size_t n = strspn(text, " ");
		_cleanup_free_ char *word = NULL;

		n += strcspn(text + n, " ");
		word = xstrndup(text, n);
		flow__put(f, style, word);
		text += n;
	}
}

void flow__printf(struct flow *f, enum flow_how how, enum style style, const char *fmt, ...)
{
	_cleanup_free_ char *text = NULL;
	va_list args;

	va_start(args, fmt);
	text = xvasprintf(fmt, args);
	va_end(args);
	if (how == FLOW_WORDS || (how == FLOW_CLAUSE && (int)text_width(text) > f->g->cols))
		flow__words(f, style, text);
	else
		flow__put(f, style, text);
}

void flow__end_line(struct flow *f)
{
	f->row++;
	f->col = 0;
}

/* ---- one line */

/* Where a sentence may end: before these. */
static bool is_clause_end(const char *s)
{
	static const char *const begins[] = { ", ", "; ", ": ", " and ", " (" };

	for (size_t i = 0; i < ARRAY_SIZE(begins); i++)
		if (!strncmp(s, begins[i], strlen(begins[i])))
			return true;
	return false;
}

int clauses__put(struct grid *g, int row, int col, enum style style, const char *text)
{
	int room = g->cols - col;
	_cleanup_free_ char *cut = NULL;
	size_t n = 0;

	if (room < 1 || (int)text_width(text) <= room)
		return grid__put(g, row, col, room, style, text);
	cut = xstrdup(text);
	for (size_t i = 1; text[i]; i++) {
		if (!is_clause_end(text + i))
			continue;
		cut[i] = 0;
		if ((int)text_width(cut) + 2 <= room)
			n = i;
		cut[i] = text[i];
	}
	cut[n] = 0;
	/* the first of them alone is too long */
	if (!n) {
		free(cut);
		cut = text_shorten(text, (size_t)room);
		return grid__put(g, row, col, room, style, cut);
	}
	col += grid__put(g, row, col, room, style, cut);
	return (int)text_width(cut) + grid__put(g, row, col, 2, style, " …");
}

int clauses__putf(struct grid *g, int row, int col, enum style style, const char *fmt, ...)
{
	_cleanup_free_ char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	text = xvasprintf(fmt, ap);
	va_end(ap);
	return clauses__put(g, row, col, style, text);
}
