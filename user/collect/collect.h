/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Kernel tables → a cut. */
#ifndef MT_COLLECT_H
#define MT_COLLECT_H

#include "model/cut.h"
#include "probe/kernel.h"
#include "util/err.h"

struct collect;

int collect__new(struct kernel *k, struct collect **ret, struct err *e);
void collect__free(struct collect *c);

struct cut_opts {
	bool scan;		/* exact ages: visit the whole block table, at a cost that grows with it */
	uint64_t older_ns;	/* with scan: count blocks older than this */
};

/*
 * Takes a cut. The target goes on undisturbed; this waits for the programs that
 * run at this moment, some milliseconds. Rows hold until the next cut.
 */
int collect__cut(struct collect *c, const struct cut_opts *o, const struct cut **ret, struct err *e);

/*
 * Visits a part of the block table, for about budget_ns of our time: done now and
 * then, a cut without a scan knows the oldest blocks (scan__oldest_born_ns()).
 */
void collect__look(struct collect *c, uint64_t budget_ns);

#endif
