/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* The inside of the report, for header.c and report.c alone. */
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

int report__header(struct report *r);

#endif
