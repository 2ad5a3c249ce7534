/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* The plain report: what a pipe, a file or a terminal without escape codes gets. */
#ifndef MT_REPORT_H
#define MT_REPORT_H

#include <stddef.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "model/snapshot.h"
#include "present/views.h"

#define REPORT_WIDTH 80
#define REPORT_NARROW 40	/* what one screen can do with */
#define REPORT_TOP 10

struct report_opts {
	unsigned int views;	/* enum view_bit, 0: all that the snapshot has figures for */
	const char *sort;	/* name of a metric; NULL: by view */
	unsigned int top;	/* rows of a table, 0: REPORT_TOP */
	uint64_t older_ns;	/* not 0: live blocks older than that; the snapshot must have counted for the same age */
	const char *between_names;	/* "mark:1 and mark:2"; NULL: the moments have none */
	uint64_t between_from_ns, between_to_ns;	/* not 0, 0: what changed between these; alone, if no views are asked for */
	unsigned int height;	/* of the screen that a brief one is to fit; 0: it is none */
	bool brief;		/* one screen: a sentence, rows without their stacks, what to do next */
	const struct filter *filter;	/* of --view source alone: whose functions are shown; NULL: those of the heaviest sites */
	const struct tellings *tellings;	/* of the snapshot; NULL: report__write keeps its own */
	const char *sentence;	/* what is said first, of rows by line; NULL: what the snapshot's sites say */
	const char *missing_names;	/* what is said of them (caveats.h); NULL: what the snapshot alone says */
	bool verbose;		/* also that there were no losses */
	bool whole_names;	/* no screen cuts them: names in tables are never cut, and lines may be longer */
	unsigned int width;	/* columns, at least REPORT_WIDTH is taken, of one screen REPORT_NARROW; 0: REPORT_WIDTH */
	/* of the tree alone */
	const struct metric *metric;	/* NULL: metric__preset() */
	double threshold_pct;	/* what is lighter is folded into one line */
	bool callees;		/* from the allocation up to the thread's first function */
};

/*
 * 0; -EINVAL: no such metric, a view or an order of what was not recorded, or
 * the snapshot counted for another age; -EIO and the like: out failed.
 */
int report__write(FILE *out, const struct snapshot *s, const struct report_opts *o);

/*
 * The sites that report__write will list, as indexes, each once: theirs are
 * the names worth looking up. The order of rows does not depend on names.
 * *ret is the caller's.
 */
int report__shown(const struct snapshot *s, const struct report_opts *o, size_t **ret, size_t *ret_n);

#endif
