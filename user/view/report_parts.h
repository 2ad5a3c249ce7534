/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* The inside of the report, for its files alone. */
#ifndef MT_REPORT_PARTS_H
#define MT_REPORT_PARTS_H

#include <stdbool.h>

#include "util/parse.h"
#include "view/report.h"

struct para {			/* a label, then items that are broken over lines only where they must */
	FILE *out;
	size_t indent, width, col;
	bool empty;
};

struct report {
	FILE *out;
	const struct snapshot *s;
	const struct report_opts *o;
	unsigned int views;	/* enum view_bit */
	size_t width, top;
	struct para para;
	const uint64_t *n_sites_of;	/* by process, while the header says who holds the room; else NULL */
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

#define LABEL_WIDTH 7	/* "losses " */

void para__begin(struct para *p, const char *label, size_t indent);
void para__item(struct para *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void para__end(struct para *p);

int report__header(struct report *r);

/* "live-bytes" → "live bytes" */
void report__metric_words(char buf[static FMT_MAX], const struct metric *m);

/* processes.c, threads.c: their tables. */
int report__processes(struct report *r);
int report__threads(struct report *r);
/* tree_text.c */
int report__tree(struct report *r);
/* All processes, the heaviest first; *ret is the caller's. */
int processes__rank(const struct snapshot *s, const struct metric *key, const struct snap_process ***ret);

/* growth.c: what --mode growth tells instead of live memory and calls, and the rows of its tables. */
void report__growth_lines(struct report *r);
int report__growth_row(struct report *r, const struct snap_site *site, uint64_t whole);

#endif
