/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* The inside of the report, for its files alone. */
#ifndef MT_REPORT_PARTS_H
#define MT_REPORT_PARTS_H

#include <stdbool.h>

#include "present/columns.h"
#include "present/rank.h"
#include "present/text/free_rows.h"
#include "present/text/para.h"
#include "present/text/report.h"
#include "util/parse.h"

struct report {
	FILE *out;
	const struct snapshot *s;
	const struct report_opts *o;
	unsigned int views;	/* enum view_bit */
	size_t width, top;
	struct para para;
	struct free_lists free_lists;	/* with VIEW_FREES */
};

static inline const char *plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

/* What stands before an estimated figure. */
static inline const char *report__mark(const struct report *r)
{
	return r->s->estimated ? "~" : "";
}

/* The same, put before a figure in its own buffer. */
char *report__mark_figure(const struct report *r, char buf[static FMT_MAX]);

#define WIDE 100	/* from here on there is room for a second ±, and for lifetimes beside sizes */
#define LABEL_WIDTH 7	/* "losses " */

/* One that begins at the left, and is of a line unless the screen is narrow. */
void __attribute__((format(printf, 2, 3))) report__line(struct report *r, const char *fmt, ...);

int report__header(struct report *r);
/* Those that its rows stand for. */
uint64_t report__n_processes(const struct report *r, bool ended);
/* It is of a single process, whose own words the header has. */
bool report__is_one(const struct report *r);
/* loss_lines.c: "losses none", or all of them, loudly; edges. -ENOMEM */
int report__losses(struct report *r);
void report__edge_lines(struct report *r);
/* What stands above a table of n sites, which weigh so much of the whole. */
void report__site_title(struct report *r, const struct view *v, const struct rank *k, size_t n, uint64_t listed, uint64_t whole);
/* The line that a report begins with; what: "malloctrace". */
void report__title(struct report *r, const char *what);
/* The tables of the views that lead a report, or of the others. */
int report__views(struct report *r, bool leading);
/* brief.c: the report of one screen; and its sentence, in the header. */
int report__brief(struct report *r);
void report__names_line(struct report *r);	/* names_line.c */
void report__verdict_line(struct report *r);
/* The sites that it names, beside those of its rows; NULL: none. */
const struct snap_site *report__alarming_site(const struct snapshot *s);
const struct snap_site *report__most_called(const struct snapshot *s);
/* blind.c: of whom no call was seen. */
void report__blind_lines(struct report *r);
/* Processes that grew by what was not seen. */
void report__unexplained_lines(struct report *r);
/* deaths.c: whom a signal ended. */
void report__died_line(struct report *r);

/* "live-bytes" → "live bytes" */
void report__metric_words(char buf[static FMT_MAX], const struct metric *m);

/* processes.c, threads.c: their tables. */
int report__processes(struct report *r);
int report__threads(struct report *r);
/* tags.c: what each tag allocated and holds; and, between marks, what all did. */
int report__tags(struct report *r);
/* tree_text.c */
int report__tree(struct report *r);
/* source_text.c */
int report__source(struct report *r);
/* All processes, the heaviest first; ended_last: those that have ended after all that run. *ret is the caller's. */
int processes__rank(const struct snapshot *s, const struct metric *key, bool ended_last, const struct snap_process ***ret);

/* What a view of sites looks like; what it shows, and how it is called, is in present/views.c. */
struct site_lines {
	enum view_bit view;
	const struct site_cell *cells;
	size_t n_cells;
	int (*bars)(struct report *r);	/* before the title; NULL: none */
	void (*says)(struct report *r);	/* below it; NULL: nothing */
	int (*below)(struct report *r, const struct snap_site *site, size_t indent);	/* a row's stack; NULL: nothing */
};
const struct site_lines *site_lines__of(const struct view *v);	/* NULL: it is no view of sites */
/* The columns that it printed. */
size_t site_lines__write(const struct report *r, const struct site_lines *l, const struct row_of *row);

/* moments.c: realloc's share; what was held at the highest moment, and what was freed at once. */
void report__realloc_lines(struct report *r);
void report__peak_lines(struct report *r);
void report__temporary_lines(struct report *r);

/* free_rows.c: below a stack, where its blocks were freed. */
int report__free_places(struct report *r, const struct snap_site *site, size_t indent);

/* realloc.c: how blocks grow, and what that means. */
void report__realloc_words(struct report *r, const struct snap_site *site, size_t indent);

/* hists.c: sizes and lifetimes of processes. */
int report__size_bars(struct report *r);
int report__lifetime_bars(struct report *r);

void report__put_bar(struct report *r, size_t room, uint64_t n, uint64_t most);	/* and the end of the line */
size_t report__room_for_bar(const struct report *r, size_t cols);

/* memory.c: where resident memory is, and what explains it. */
void report__memory_lines(struct report *r);
int report__memory_of(struct report *r, const struct snap_process *p);	/* a paragraph, if it is known; -ENOMEM */

/* ages.c: live blocks by age; and what --older cannot tell. */
int report__age_bars(struct report *r, const struct snap_process *p);
void report__older_lines(struct report *r);

/* "worker (1501) [ended]", "nginx (40 processes)", "/system.slice"; the caller's, NULL without memory. */
char *report__owner(const struct report *r, const struct snap_process *p, size_t width);

/* between.c: what changed between two moments. The names of its sites are not asked for: they come with a profile. */
void report__spot_lines(struct report *r);
int report__between(struct report *r);

/* heap_tables.c: heaps that were looked at, and blocks of them; heap_lines.c: what is said of one. */
int report__heaps(struct report *r);
int report__blocks(struct report *r);
void report__heap_lines(struct report *r, const struct snap_heap *h);
/* Beside blocks that no pointer was found to, where their sentence is not: why some of them may be pointed to. */
void report__search_doubts(struct report *r, const struct snap_heap *h);
/* On one screen of a trace, what is worth knowing of heaps before the sites. */
int report__heap_sentences(struct report *r);
/* Those that have most to tell first; the caller's. NULL: no memory. */
const struct snap_heap **report__heaps_in_order(const struct snapshot *s);
/* What a look at the heap says of a site's blocks, below it. */
void report__site_blocks(struct report *r, const struct snap_site *site, size_t indent);
/* "server (redis-server)", "thread worker", "the stack of main"; the caller's, NULL without memory. */
char *heap__root_words(const struct snap_root *root, size_t width);

/* growth.c: what --mode growth tells instead of live memory and calls. */
void report__growth_lines(struct report *r);

#endif
