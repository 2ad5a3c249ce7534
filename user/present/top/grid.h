/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * A screen as cells: what the live view draws on, what a terminal is given the
 * changes of, and what tests read. It knows no terminal.
 */
#ifndef MT_GRID_H
#define MT_GRID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a text is, not how it looks: term.c has the colours. */
enum style {
	STYLE_PLAIN,
	STYLE_TITLE,		/* who is looked at */
	STYLE_LABEL,		/* names of figures */
	STYLE_FIGURE,		/* the figures that matter */
	STYLE_DIM,
	STYLE_RULE,		/* lines between parts */
	STYLE_TAB,		/* the view that is shown */
	STYLE_HEAD,		/* titles of columns */
	STYLE_HEAD_SORT,	/* the one that rows are sorted by */
	STYLE_BAD,		/* a leak */
	STYLE_WARN,
	STYLE_GOOD,
	STYLE_BAR,
	STYLE_LOSS,		/* cannot be missed */
	STYLE_KEY,		/* a key in the footer */
	STYLE_MESSAGE,
	STYLE_PROMPT,
	STYLE_MATCH,		/* what the filter found */
	STYLE_N,
};

#define GRID_MARKS 2	/* combining characters kept on one cell */

struct glyph {
	uint32_t ch;		/* never a control character; ' ' where nothing is */
	uint32_t marks[GRID_MARKS];	/* 0: none */
	uint8_t width;		/* 1 or 2; 0: the right half of the one before */
	uint8_t style;		/* enum style */
	bool selected;
};

struct grid {
	int rows, cols;
	struct glyph *cells;	/* owned; row by row */
	int cursor_row, cursor_col;	/* where a prompt waits; -1: nowhere */
};

#define GRID_SIDE_MAX 1000

/* All blank; sizes below 1 are taken as 1, beyond GRID_SIDE_MAX as that. */
void grid__resize(struct grid *g, int rows, int cols);
void grid__done(struct grid *g);
void grid__clear(struct grid *g);
struct glyph *grid__cell(const struct grid *g, int row, int col);	/* NULL: out of it */

/*
 * Text from col on, in at most max columns; what is beyond the edge is cut off.
 * A character that is wider than what is left is a blank. Returns the columns
 * that it took. Control and format characters become '?'.
 */
int grid__put(struct grid *g, int row, int col, int max, enum style style, const char *text);
int grid__putf(struct grid *g, int row, int col, int max, enum style style, const char *fmt, ...)
	__attribute__((format(printf, 6, 7)));
/* The same, ending before col + width; returns nothing: the whole width is taken. */
void grid__put_right(struct grid *g, int row, int col, int width, enum style style, const char *text);
void grid__fill(struct grid *g, int row, int col, int n, enum style style, uint32_t ch);
/* A whole row is the one under the cursor. */
void grid__select(struct grid *g, int row);

bool glyph__same(const struct glyph *a, const struct glyph *b);
void grid__copy(struct grid *to, const struct grid *from);
/* Every character that needs more than ASCII gives way to one that looks like it. */
void grid__to_ascii(struct grid *g);

/* ---- sentences, one after the other */

struct flow {
	struct grid *g;
	int row, col, end;	/* the next line; where to go on in it; lines end before */
};
/* In one piece: on the next line, if it does not fit into this one any more. */
void flow__put(struct flow *f, enum style style, const char *text);
/* Word by word. */
void flow__words(struct flow *f, enum style style, const char *text);
enum flow_how { FLOW_PIECE, FLOW_WORDS, FLOW_CLAUSE };	/* a clause is in one piece, unless it is wider than a line */
void flow__printf(struct flow *f, enum flow_how how, enum style style, const char *fmt, ...) __attribute__((format(printf, 4, 5)));
#define flow__putf(f, style, ...) flow__printf(f, FLOW_PIECE, style, __VA_ARGS__)
#define flow__wordsf(f, style, ...) flow__printf(f, FLOW_WORDS, style, __VA_ARGS__)
#define flow__clausef(f, style, ...) flow__printf(f, FLOW_CLAUSE, style, __VA_ARGS__)
void flow__end_line(struct flow *f);
/*
 * In one line, up to the right edge: as many whole clauses as there is room for, and "…" for the rest, because half a number is
 * another number. Returns the columns that it took.
 */
int clauses__put(struct grid *g, int row, int col, enum style style, const char *text);
int clauses__putf(struct grid *g, int row, int col, enum style style, const char *fmt, ...) __attribute__((format(printf, 5, 6)));

#endif
