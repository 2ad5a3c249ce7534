/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* The inside of the report, for its files alone. */
#ifndef MT_REPORT_PARTS_H
#define MT_REPORT_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "model/group.h"
#include "model/heaps.h"
#include "model/merge.h"
#include "present/caveats.h"
#include "present/columns.h"
#include "present/figures.h"
#include "present/frames.h"
#include "present/rows.h"
#include "present/text/report.h"
#include "util/text.h"
#include "util/util.h"

/* A paragraph: a label, then items that are broken over lines between words only where they must. */
struct para {
	FILE *out;
	const char *label;
	size_t indent, width, col;
	bool empty;
	bool led;		/* a colon comes before the next item */
};

void para__begin(struct para *p, const char *label, size_t indent);
/* After a comma, unless it is the first. */
void para__item(struct para *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Sentences: a blank between them. */
void para__words(struct para *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void para__end(struct para *p);

struct report {
	FILE *out;
	const struct snapshot *s;
	const struct report_opts *o;
	unsigned int views;	/* enum view_bit */
	size_t width, top;
	struct para para;
	struct free_lists free_lists;	/* with VIEW_FREES */
};

/* What stands before an estimated figure. */
static inline const char *report__mark(const struct report *r)
{
	return r->s->estimated ? "~" : "";
}

/* The same, put before a figure in its own buffer. */
char *report__mark_figure(const struct report *r, char buf[static FMT_MAX]);

#define WIDE 100	/* from here on there is room for a second ±, and for lifetimes beside sizes */
#define LABEL_WIDTH 7	/* "losses " */

/* A paragraph of one item. */
void __attribute__((format(printf, 4, 5))) report__item(struct report *r, const char *label, size_t indent, const char *fmt, ...);
/* One that begins at the left, and is of a line unless the screen is narrow. */
#define report__line(r, ...) report__item(r, "", 0, __VA_ARGS__)

void report__header(struct report *r);
/* Those that its rows stand for. */
uint64_t report__n_processes(const struct report *r, bool ended);
/* It is of a single process, whose own words the header has. */
bool report__is_one(const struct report *r);
/* loss_lines.c: all of them, or "losses none" where that was asked for, loudly; edges. */
void report__losses(struct report *r);
void report__edge_lines(struct report *r);
/* What stands above a table of n sites, which weigh so much of the whole. */
void report__site_title(struct report *r, const struct view *v, const struct rank *k, size_t n, uint64_t listed, uint64_t whole);
/* The line that a report begins with; what: "malloctrace". */
void report__title(struct report *r, const char *what);
/* The tables of the views that lead a report, or of the others. */
void report__views(struct report *r, bool leading);
/* brief.c: the report of one screen; and its sentence, in the header. */
void report__brief(struct report *r);
void report__verdict_line(struct report *r);
/* Of several processes whose live blocks are known: the rows are sites of those that grow most. */
bool report__is_many(const struct report *r);
/* The site that it names, beside those of its rows; NULL: none. */
const struct snap_site *report__most_called(const struct snapshot *s);
/* loss_lines.c: of whom no call was seen. */
void report__blind_lines(struct report *r);
/* Processes that grew by what was not seen. */
void report__unexplained_lines(struct report *r);
/* And whom a signal ended. */
void report__died_line(struct report *r);

/* "live-bytes" → "live bytes" */
char *report__metric_words(char buf[static FMT_MAX], const struct metric *m);
#define METRIC_WORDS(m) report__metric_words((char[FMT_MAX]){}, m)

/* row_tables.c: their tables. */
void report__processes(struct report *r);
void report__threads(struct report *r);
/* What each tag allocated and holds; and, between marks, what all did. */
void report__tags(struct report *r);
void report__tree(struct report *r);
void report__source(struct report *r);
/* All processes, the heaviest first; ended_last: those that have ended after all that run. The caller's. */
const struct snap_process **processes__rank(const struct snapshot *s, const struct metric *key, bool ended_last);

/* What a view of sites looks like; what it shows, and how it is called, is in present/views.c. */
struct site_lines {
	enum view_bit view;
	const struct site_cell *cells;
	size_t n_cells;
	void (*bars)(struct report *r);	/* before the title; NULL: none */
	void (*says)(struct report *r);	/* below it; NULL: nothing */
	void (*below)(struct report *r, const struct snap_site *site, size_t indent);	/* a row's stack; NULL: nothing */
};
const struct site_lines *site_lines__of(const struct view *v);	/* NULL: it is no view of sites */
/* The columns that it printed. */
size_t site_lines__write(const struct report *r, const struct site_lines *l, const struct row_of *row);

/* realloc's share */
void report__realloc_lines(struct report *r);

/* hists.c: sizes and lifetimes of processes. */
void report__size_bars(struct report *r);
void report__lifetime_bars(struct report *r);

/* memory_lines.c: where resident memory is, and what explains it. */
void report__memory_lines(struct report *r);
void report__memory_of(struct report *r, const struct snap_process *p);	/* a paragraph, if it is known */

/* "worker (1501) [ended]", "nginx (40 processes)", "/system.slice"; the caller's. */
char *report__owner(const struct report *r, const struct snap_process *p, size_t width);

/* heap_tables.c: heaps that were looked at, and blocks of them; heap_lines.c: what is said of one. */
void report__heaps(struct report *r);
void report__blocks(struct report *r);
void report__heap_lines(struct report *r, const struct snap_heap *h);
/* Beside blocks that no pointer was found to, where their sentence is not: why some of them may be pointed to. */
void report__search_doubts(struct report *r, const struct snap_heap *h);
/* On one screen of a trace, what is worth knowing of heaps before the sites. */
void report__heap_sentences(struct report *r);
/* Those that have most to tell first; the caller's. */
const struct snap_heap **report__heaps_in_order(const struct snapshot *s);
/* What a look at the heap says of a site's blocks, below it. */
void report__site_blocks(struct report *r, const struct snap_site *site, size_t indent);

/* And what --mode growth tells instead of live memory and calls. */
void report__growth_lines(struct report *r);

#endif
