/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Which sites a view shows, in which order, and what they add up to. */
#ifndef MT_RANK_H
#define MT_RANK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/snapshot.h"
#include "present/views.h"

struct rank {
	const struct snap_site **v;	/* owned; all sites of the view: the heaviest, as many as asked for, in order; then the rest in none */
	size_t n;
	const struct metric *by;
	bool ended_last;	/* sites of processes that have ended come after the others */
	bool older;		/* live figures are those of blocks older than snapshot.older_ns */
};

/* What --sort takes: the title of a column in small letters, or a metric; NULL: no such key. */
const struct metric *rank__key(const char *name);
const char *rank__words(void);	/* all of them, with a blank between two */
/* The same, of rows that are no sites: NULL, too, where it is no metric, or the name is NULL. */
const struct metric *rank__metric(const char *name);
/* sort NULL: by the view. top: how many are put in order; SIZE_MAX: all. The view is one of sites, and sort names a metric. */
void rank__init(struct rank *r, const struct snapshot *s, enum view_bit view, const char *sort, bool older, size_t top);
void rank__done(struct rank *r);

/* What a site weighs by m. */
uint64_t rank__weight(const struct rank *r, const struct metric *m, const struct snap_site *site);
/* What all of them weigh, and the first n. */
void rank__sums(const struct rank *r, const struct metric *m, size_t n, uint64_t *ret_whole, uint64_t *ret_first);

/* A metric weighs sites: of a process or a tag, all of them together. */
uint64_t rank__of_counters(const struct metric *key, const struct counters *c);

#endif
