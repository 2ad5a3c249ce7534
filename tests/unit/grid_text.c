// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* What a grid shows, for those who read it without a terminal. */
#include "grid_text.h"

#include "util/text.h"
#include "util/util.h"

#define BYTES_MAX 4	/* of a character as UTF-8 */

static char *put_row(const struct grid *g, int row, char *to)
{
	int last = g->cols - 1;

	while (last >= 0 && grid__cell(g, row, last)->ch == ' ' && grid__cell(g, row, last)->width == 1)
		last--;
	for (int col = 0; col <= last; col++) {
		const struct glyph *c = grid__cell(g, row, col);

		if (!c->width)
			continue;
		to += utf8__encode(to, c->ch);
		for (int i = 0; i < GRID_MARKS && c->marks[i]; i++)
			to += utf8__encode(to, c->marks[i]);
	}
	return to;
}

char *grid__row_text(const struct grid *g, int row)
{
	char *ret = xmalloc((size_t)g->cols * (1 + GRID_MARKS) * BYTES_MAX + 1);

	*put_row(g, row, ret) = 0;
	return ret;
}

char *grid__text(const struct grid *g)
{
	char *ret = xmalloc((size_t)g->rows * ((size_t)g->cols * (1 + GRID_MARKS) * BYTES_MAX + 1) + 1), *to = ret;

	for (int row = 0; row < g->rows; row++) {
		to = put_row(g, row, to);
		*to++ = '\n';
	}
	*to = 0;
	return ret;
}

/* Is it shown as another one, because it would steer a terminal? */
static bool is_control(uint32_t c)
{
	struct grid one = {};
	char text[5] = "";
	bool ret;

	if (c >= ' ' && c < 0x7f)
		return false;
	utf8__encode(text, c);
	grid__resize(&one, 1, 2);
	grid__put(&one, 0, 0, 2, STYLE_PLAIN, text);
	ret = grid__cell(&one, 0, 0)->ch != c;
	grid__done(&one);
	return ret;
}

int grid__broken_row(const struct grid *g)
{
	for (int row = 0; row < g->rows; row++)
		for (int col = 0; col < g->cols; col++) {
			const struct glyph *c = grid__cell(g, row, col), *next = grid__cell(g, row, col + 1);
			bool pair = next && !next->width;

			if (c->width > 2 || (c->width == 2) != pair || (!c->width && !col) || is_control(c->ch) || !c->ch)
				return row;
		}
	return -1;
}
