// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns how a table of columns is laid out in a report:
 *
 *	     LIVE    GROWTH/s  CALLS/s        RSS  VERDICT   PID  PROCESS       WHERE
 *	 38.0 MiB    +1.3 MiB   73,130   96.0 MiB  leak     1432  redis-server  redis-server.service
 *	  1.2 MiB           -        -          -  ended    1501  worker
 *
 * What always holds: a line is not wider than asked for, its columns stand below
 * their titles, and no blanks end it. Columns are as wide as their widest cell;
 * when they do not fit, those go that are said to go first, then names are cut.
 */
#include <ctype.h>
#include <stdarg.h>
#include <string.h>

#include "present/text/report_parts.h"

#define GAP 2
#define NAME_MIN 15	/* columns that a name keeps before the next column goes instead of its letters */
#define NAME_LONG 32	/* beyond that, letters go before any column does */
#define LUXURY 7	/* columns that go before a name is cut */
#define LUXURY_WHOLE 9	/* and where none is ever cut */

struct layout {
	const struct snapshot *s;
	const struct columns *c;
	size_t *widths;		/* 0: not shown */
	const struct row_of *rows;
	char **cells;		/* by row, then by column; owned */
	size_t n_rows;
};

static char **cell_at(const struct layout *l, size_t row, size_t col)
{
	return &l->cells[row * l->c->n + col];
}

static void fill(struct layout *l)
{
	const struct row_of *rows = l->rows;

	for (size_t i = 0; i < l->n_rows; i++)
		for (size_t k = 0; k < l->c->n; k++) {
			const struct column *c = &l->c->v[k];
			bool shown = !c->two_snapshots && column__holds(c, rows[i].s);
			struct cell cell = { .text = "" };

			if (shown)
				column__marked_cell(c, &rows[i], &cell);
			*cell_at(l, i, k) = shown && c->fit ? c->fit(&rows[i], SIZE_MAX) : xstrdup(cell.text);
		}
}

/* Is this the last column but one, whose cell may take the room of the last one's? */
static bool runs_on(const struct layout *l, size_t row, size_t col)
{
	return l->c->v[col].code && col + 2 == l->c->n && l->widths[col + 1] && !**cell_at(l, row, col + 1);
}

/* From the last column on: a name that runs on is as wide as both. Where nobody knows anything, there is no column. */
static void measure(struct layout *l, bool without_last)
{
	for (size_t k = l->c->n; k-- > 0;) {
		l->widths[k] = 0;
		for (size_t i = 0; i < l->n_rows && !(without_last && k + 1 == l->c->n); i++) {
			const char *text = *cell_at(l, i, k);
			size_t cols = text_width(text), more = runs_on(l, i, k) ? GAP + l->widths[k + 1] : 0;

			if (*text && strcmp(text, "-"))
				l->widths[k] = MAX(l->widths[k], MAX(cols > more ? cols - more : 0, strlen(column__title(&l->c->v[k], l->s))));
		}
	}
}

static size_t line_width(const struct layout *l)
{
	return columns__width(l->c, l->widths, GAP);
}

/* Names give way first, as long as they stay readable; then columns go; then what is left of the names. */
static void cut_names(struct layout *l, size_t width, size_t least)
{
	for (size_t k = l->c->n; k-- > 0 && line_width(l) > width;) {
		size_t over = line_width(l) - width;

		if (!l->c->v[k].width && l->widths[k] > least)
			l->widths[k] -= MIN(over, l->widths[k] - least);
	}
}

/* Names are cut to `least`, and columns go until that suffices: what goes may leave room for whole names. */
static bool fit_by(struct layout *l, size_t width, size_t least_name, unsigned int least_drop, size_t *tmp)
{
	size_t bytes = l->c->n * sizeof(*tmp);

	for (;;) {
		memcpy(tmp, l->widths, bytes);
		cut_names(l, width, least_name);
		if (line_width(l) <= width)
			return true;
		memcpy(l->widths, tmp, bytes);
		if (!columns__drop(l->c, l->widths, least_drop))
			return false;
	}
}

static void fit(struct layout *l, size_t width, bool whole, size_t *tmp)
{
	if (whole)
		fit_by(l, width, SIZE_MAX, LUXURY_WHOLE, tmp);
	else if (!fit_by(l, width, NAME_LONG, LUXURY, tmp) && !fit_by(l, width, NAME_MIN, 1, tmp))
		cut_names(l, width, 1);
}

/* The title, or a cell. */
static char *fitting(const struct layout *l, size_t row, size_t col, size_t room)
{
	const struct column *c = &l->c->v[col];

	if (!row)
		return text_shorten(column__title(c, l->s), room);
	if (c->fit && text_width(*cell_at(l, row - 1, col)) > room)
		return c->fit(&l->rows[row - 1], room);
	return (c->code ? name__shorten : text_shorten)(*cell_at(l, row - 1, col), room);
}

static void write_line(FILE *out, const struct layout *l, size_t row)
{
	size_t blanks = 0;
	bool first = true;

	for (size_t k = 0; k < l->c->n; k++) {
		const struct column *c = &l->c->v[k];
		_cleanup_free_ char *text = NULL;
		size_t pad, room = l->widths[k];

		if (!room)
			continue;
		if (row && runs_on(l, row - 1, k))
			room += GAP + l->widths[k + 1];
		text = fitting(l, row, k, room);
		pad = room - text_width(text);
		blanks += first ? 0 : GAP;
		first = false;
		if (!c->left)
			blanks += pad;
		if (*text) {
			fprintf(out, "%*s%s", (int)blanks, "", text);
			blanks = 0;
		}
		if (c->left)
			blanks += pad;
	}
	fputc('\n', out);
}

void columns__write(FILE *out, const struct columns *c, const struct row_of *rows, size_t n_rows, size_t width, bool whole)
{
	_cleanup_free_ size_t *widths = xcalloc(c->n, sizeof(*widths)), *tmp = xcalloc(c->n, sizeof(*tmp));
	struct layout l = { .s = n_rows ? rows[0].s : NULL, .c = c, .widths = widths, .rows = rows, .n_rows = n_rows };

	l.cells = xcalloc(n_rows * c->n + 1, sizeof(*l.cells));
	fill(&l);
	measure(&l, false);
	fit(&l, width, whole, tmp);
	/* nothing to run into */
	if (c->n > 1 && c->v[c->n - 2].code && !l.widths[c->n - 1]) {
		measure(&l, true);
		fit(&l, width, whole, tmp);
	}
	for (size_t i = 0; i <= n_rows; i++)
		write_line(out, &l, i);
	for (size_t i = 0; i < n_rows * c->n; i++)
		free(l.cells[i]);
	free(l.cells);
}

/* ---- paragraphs */

/*
 * Where the lines of a report's paragraphs are broken. What always holds: a line is no wider than the
 * paragraph, unless a word is and the screen is no narrow one; a figure stays with its unit.
 */

void para__begin(struct para *p, const char *label, size_t indent)
{
	p->label = label;
	p->indent = indent;
	p->empty = true;
	p->led = false;
}

/* Nothing is written of a paragraph that has nothing in it. */
static void write_label(struct para *p)
{
	if (p->empty)
		p->col = (size_t)fprintf(p->out, "%-*s", (int)p->indent, p->label);
	p->empty = false;
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
	text = xvasprintf(fmt, ap);
	va_end(ap);
	if (p->empty) {
		write_label(p);
	} else if (p->led) {
		fputc(':', p->out);
		p->col++;
		gap = true;
	} else {
		fputc(',', p->out);
		p->col++;
		/* one column more: the comma that may follow */
		if (p->col + 1 + text_width(text) + 1 > p->width)
			break_line(p);
		else
			gap = true;
	}
	p->led = false;
	put_words(p, text, gap);
}

void para__words(struct para *p, const char *fmt, ...)
{
	_cleanup_free_ char *text = NULL;
	bool gap = !p->empty;
	va_list ap;

	va_start(ap, fmt);
	text = xvasprintf(fmt, ap);
	va_end(ap);
	write_label(p);
	put_words(p, text, gap);
}

void para__end(struct para *p)
{
	if (!p->empty)
		fputc('\n', p->out);
}

void report__item(struct report *r, const char *label, size_t indent, const char *fmt, ...)
{
	_cleanup_free_ char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	text = xvasprintf(fmt, ap);
	va_end(ap);
	para__begin(&r->para, label, indent);
	para__words(&r->para, "%s", text);
	para__end(&r->para);
}
