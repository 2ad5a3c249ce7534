/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * --overhead: probes that are in place part of the time, so that they take no
 * more than a share of the targets' CPU time, and figures that are estimated
 * from what was seen meanwhile.
 */
#ifndef MT_BUDGET_H
#define MT_BUDGET_H

#include "collect/collect.h"
#include "tracee/tracee.h"
#include "unwind/tables.h"
#include "util/loop.h"

struct budget;

struct budget_opts {
	struct kernel *kernel;	/* opened with --overhead; none of these is owned */
	struct collect *collect;
	struct unwind *unwind;
	struct tracees *tracees;
};

/* Measures what a hit costs: before anything is attached. */
int budget__new(const struct budget_opts *o, struct budget **ret, struct err *e);
void budget__free(struct budget *b);	/* takes NULL */

/* All probes are in place and the trace has begun: from here on they come and go. */
int budget__begin(struct budget *b, struct loop *l);
/* The trace has ended and nothing is recorded any more; the session takes the probes out. */
void budget__end(struct budget *b);

/* May processes that have ended leave the tables now? By turns, while nobody is looked at. */
bool budget__may_forget(const struct budget *b);
void budget__forget(struct budget *b, uint32_t proc);	/* it does, and is known to the tracees still */

/*
 * A cut of the session's, as it would be had everything been seen: what b makes
 * of it, or the cut itself as long as everything was. Holds until the next call.
 * All cuts must come here, in order.
 */
const struct cut *budget__estimate(struct budget *b, const struct cut *cut);
/* For the last cut: what part of the time was observed, and what the probes took, in ns. */
double budget__observed_share(const struct budget *b);
uint64_t budget__spent_ns(const struct budget *b);

#endif
