// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* What a grid shows, for those who read it without a terminal. */
#include "grid_text.h"

#include "util/util.h"

#define BYTES_MAX 4	/* of a character as UTF-8 */

static char *put_utf8(char *to, uint32_t c)
{
	if (c < 0x80) {
		*to++ = (char)c;
	} else if (c < 0x800) {
		*to++ = (char)(0xc0 | c >> 6);
		*to++ = (char)(0x80 | (c & 0x3f));
	} else if (c < 0x10000) {
		*to++ = (char)(0xe0 | c >> 12);
		*to++ = (char)(0x80 | (c >> 6 & 0x3f));
		*to++ = (char)(0x80 | (c & 0x3f));
	} else {
		*to++ = (char)(0xf0 | c >> 18);
		*to++ = (char)(0x80 | (c >> 12 & 0x3f));
		*to++ = (char)(0x80 | (c >> 6 & 0x3f));
		*to++ = (char)(0x80 | (c & 0x3f));
	}
	return to;
}

static char *put_row(const struct grid *g, int row, char *to)
{
	int last = g->cols - 1;

	while (last >= 0 && grid__cell(g, row, last)->ch == ' ' && grid__cell(g, row, last)->width == 1)
		last--;
	for (int col = 0; col <= last; col++) {
		const struct glyph *c = grid__cell(g, row, col);

		if (!c->width)
			continue;
		to = put_utf8(to, c->ch);
		for (int i = 0; i < GRID_MARKS && c->marks[i]; i++)
			to = put_utf8(to, c->marks[i]);
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
