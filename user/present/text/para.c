// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns where the lines of a report's paragraphs are broken. What always holds: a line is no wider than the
 * paragraph, unless a word is and the screen is no narrow one; a figure stays with its unit.
 */
#include "present/text/para.h"

#include <ctype.h>
#include <stdarg.h>
#include <string.h>

#include "present/text/report.h"
#include "util/text.h"
#include "util/util.h"

void para__begin(struct para *p, const char *label, size_t indent)
{
	p->col = (size_t)fprintf(p->out, "%-*s", (int)indent, label);
	p->indent = indent;
	p->empty = true;
}

static void break_line(struct para *p)
{
	fprintf(p->out, "\n%*s", (int)p->indent, "");
	p->col = p->indent;
}

static void put_word(struct para *p, const char *word, int len, bool gap)
{
	size_t cols = text_width_n(word, len), head;

	if (p->col > p->indent && p->col + gap + cols > p->width) {
		break_line(p);
		gap = false;
	}
	/* a name that is longer than a line of a narrow screen */
	while (p->width < REPORT_WIDTH && p->col + cols > p->width && (head = text_head(word, p->width - p->col)) && head < (size_t)len) {
		fprintf(p->out, "%.*s", (int)head, word);
		break_line(p);
		word += head;
		len -= (int)head;
		cols = text_width_n(word, len);
	}
	fprintf(p->out, "%s%.*s", gap ? " " : "", len, word);
	p->col += cols + gap;
}

/* A figure and its unit, "24.1 MiB/min", are one word. */
static int word_len(const char *w)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	size_t len = strcspn(w, " "), unit;

	if (!len || !isdigit((unsigned char)w[len - 1]) || w[len] != ' ')
		return (int)len;
	unit = strspn(w + len + 1, "KMGTPEiB");
	for (size_t i = 0; i < ARRAY_SIZE(units); i++)
		if (unit == strlen(units[i]) && !memcmp(w + len + 1, units[i], unit))
			return (int)(len + 1 + strcspn(w + len + 1, " "));
	return (int)len;
}

static void put_words(struct para *p, const char *text, bool gap)
{
	for (const char *w = text; *w;) {
		int len = word_len(w);

		put_word(p, w, len, gap);
		gap = true;
		w += len;
		w += strspn(w, " ");
	}
}

void para__item(struct para *p, const char *fmt, ...)
{
	_cleanup_free_ char *text = NULL;
	bool gap = false;
	va_list ap;

	va_start(ap, fmt);
	text = vformat(fmt, ap);
	va_end(ap);
	if (!text)
		return;
	if (!p->empty) {
		fputc(',', p->out);
		p->col++;
		/* one column more: the comma that may follow */
		if (p->col + 1 + text_width(text) + 1 > p->width)
			break_line(p);
		else
			gap = true;
	}
	p->empty = false;
	put_words(p, text, gap);
}

void para__words(struct para *p, const char *fmt, ...)
{
	_cleanup_free_ char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	text = vformat(fmt, ap);
	va_end(ap);
	put_words(p, text ? text : "", !p->empty);
	p->empty = false;
}

void para__end(struct para *p)
{
	fputc('\n', p->out);
}
