// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns how sentences flow over the lines of a pane, and what becomes of one that has a single line. What always holds: nothing is
 * drawn at or below the flow's end; what is left out shows.
 */
#include <stdarg.h>
#include <string.h>

#include "present/top/top_parts.h"
#include "util/text.h"

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
		word = strndup(text, n);
		flow__put(f, style, word ? word : "");
		text += n;
	}
}

void flow__wordsf(struct flow *f, enum style style, const char *fmt, ...)
{
	_cleanup_free_ char *text = NULL;
	va_list args;

	va_start(args, fmt);
	text = vformat(fmt, args);
	va_end(args);
	flow__words(f, style, text ? text : "");
}

void flow__clausef(struct flow *f, enum style style, const char *fmt, ...)
{
	_cleanup_free_ char *text = NULL;
	va_list args;

	va_start(args, fmt);
	text = vformat(fmt, args);
	va_end(args);
	if (text && (int)text_width(text) > f->g->cols)
		flow__words(f, style, text);
	else
		flow__put(f, style, text ? text : "");
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
	cut = strdup(text);
	for (size_t i = 1; cut && text[i]; i++) {
		if (!is_clause_end(text + i))
			continue;
		cut[i] = 0;
		if ((int)text_width(cut) + 2 <= room)
			n = i;
		cut[i] = text[i];
	}
	if (cut)
		cut[n] = 0;
	/* the first of them alone is too long */
	if (!n) {
		free(cut);
		cut = text_shorten(text, (size_t)room);
		return grid__put(g, row, col, room, style, cut ? cut : "");
	}
	col += grid__put(g, row, col, room, style, cut);
	return (int)text_width(cut) + grid__put(g, row, col, 2, style, " …");
}

int clauses__putf(struct grid *g, int row, int col, enum style style, const char *fmt, ...)
{
	_cleanup_free_ char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	text = vformat(fmt, ap);
	va_end(ap);
	return text ? clauses__put(g, row, col, style, text) : 0;
}
