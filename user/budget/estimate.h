/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Cuts of a trace that saw part of the time → cuts of the whole. */
#ifndef MT_ESTIMATE_H
#define MT_ESTIMATE_H

#include "budget/meter.h"
#include "model/cut.h"

struct estimate;

/* n_sites: with the spare ones. */
int estimate__new(const struct meter *m, uint32_t n_sites, uint32_t n_procs, struct estimate **ret, struct err *e);
void estimate__free(struct estimate *es);

struct thread_calls {
	uint32_t tid;
	double rate;		/* as in struct times */
};

/* Of a process, since the last call, in ns. */
struct times {
	double unseen;		/* CPU time that was its own, in a gap */
	double gap_from, gap_to;	/* when that was, since the last window ended */
	bool cut_short;		/* the stretch, by its limit */
	bool look;		/* the stretch at hand begins when that gap ended */
	double after;		/* the gap's length, then */
	double busy;		/* CPU time per time in the stretch at hand */
	double own;		/* of that, its own */
	double rate;		/* what a call that was seen in it says: calls per ns of the process's own CPU time */
	double late;		/* the same towards its end, if it was cut short */
	const struct thread_calls *threads;	/* of those that differ; holds until the stretch is told */
	size_t n_threads;
	double error;		/* of the rates, as a part of them */
};

void estimate__time(struct estimate *es, uint32_t proc, const struct times *t);
/* Everything in the cut that was not in the one before happened between from and to; after estimate__time. */
int estimate__stretch(struct estimate *es, uint64_t from_ns, uint64_t to_ns, const struct cut *cut);
/* Looks at the block table. */
void estimate__scan(struct estimate *es);
/* The whole, as of now; holds until the next call. NULL without memory. */
const struct cut *estimate__cut(struct estimate *es, const struct cut *cut, uint64_t now_ns);

#endif
