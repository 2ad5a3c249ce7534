// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns how sentences flow over the lines of a pane. What always holds: nothing is drawn at or below the flow's end. */
#include <stdarg.h>
#include <stdio.h>
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
		grid__put(f->g, f->row, f->col, f->g->cols - f->col, style, text);
	f->col += cols;
}

void flow__words(struct flow *f, enum style style, const char *text)
{
	while (*text) {
		/* a word with the blanks before it */
		size_t n = strspn(text, " ");
		char word[256];

		n += strcspn(text + n, " ");
		snprintf(word, sizeof(word), "%.*s", (int)n, text);
		flow__put(f, style, word);
		text += n;
	}
}

void flow__wordsf(struct flow *f, enum style style, const char *fmt, ...)
{
	char text[1024];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	flow__words(f, style, text);
}

void flow__clausef(struct flow *f, enum style style, const char *fmt, ...)
{
	char text[1024];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	if ((int)text_width(text) > f->g->cols)
		flow__words(f, style, text);
	else
		flow__put(f, style, text);
}

void flow__end_line(struct flow *f)
{
	f->row++;
	f->col = 0;
}
