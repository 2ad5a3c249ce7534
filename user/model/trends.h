/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Histories, verdicts and the change since a baseline, for the rows of a snapshot. For model/ alone. */
#ifndef MT_TRENDS_H
#define MT_TRENDS_H

#include "model/history.h"

struct baseline {		/* all zero: none */
	bool set;
	uint64_t t_ns;		/* since the trace's start */
	struct vec(struct baseline_site) sites;	/* by site number */
};

void baseline__done(struct baseline *b);
void baseline__set(struct baseline *b, const struct cut *cut, uint64_t t_ns);

/* By how much a site's live bytes have changed since then; 0 without a baseline. */
int64_t baseline__change(const struct baseline *b, const struct snap_site *s);

struct model;
struct snapshot_info;

/* The row's process is in the snapshot already, with its timeline. c: its course, NULL: it has none. */
void trends__site(const struct model *m, const struct cut *cut, const struct snapshot_info *info,
		  const struct course *c, struct snapshot *s, struct snap_site *to);
/* A row of several sites, by its own history; leak_after_ns 0: the usual. */
void trends__row(struct snapshot *s, struct snap_site *row, uint64_t leak_after_ns);
/* All sites are there. */
void trends__processes(const struct snapshot_info *info, struct snapshot *s);

#endif
