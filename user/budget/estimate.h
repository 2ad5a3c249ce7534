/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Cuts of a trace that saw part of the time → cuts of the whole. */
#ifndef MT_ESTIMATE_H
#define MT_ESTIMATE_H

#include "budget/looks.h"
#include "budget/meter.h"
#include "model/cut.h"

struct estimate;

/* n_sites: with the spare ones. */
struct estimate *estimate__new(const struct meter *m, uint32_t n_sites, uint32_t n_procs);
void estimate__free(struct estimate *es);

/* What a call that was seen says. */
struct call_rate {
	double rate;		/* calls per ns of the process's own CPU time */
	double doubt;		/* a part of that */
	struct look_seen seen;	/* what it is reckoned from */
};

struct thread_calls {
	uint32_t tid;
	struct call_rate call;
};

/* Of a process, since the last call, in ns. */
struct times {
	bool seen;		/* it had probes in the stretch; by turns, most have not */
	double unseen;		/* CPU time that was its own, in a gap */
	double gap;		/* how long that gap was */
	double speaks;		/* how much time the stretch at hand speaks for; 0: it is no look */
	double broke;		/* and how much looks were to speak for that could not be made, since the trace began */
	double busy;		/* CPU time per time in the stretch at hand */
	double ran;		/* what that says of gaps (window__ran) */
	struct call_rate call;	/* in the stretch at hand */
	const struct thread_calls *threads;	/* of those that differ; holds until the stretch is reported */
	size_t n_threads;
};

/* It leaves the tables: its number, and those of its sites, may be others' from now on. */
void estimate__forget(struct estimate *es, uint32_t proc);
void estimate__time(struct estimate *es, uint32_t proc, const struct times *t);
/* Everything in the cut that was not in the one before happened between from and to; after estimate__time. */
void estimate__stretch(struct estimate *es, uint64_t from_ns, uint64_t to_ns, const struct cut *cut);
/* Who has ended: blocks of these are freed by nobody, and may leave the table. Before the next scan. */
void estimate__note_ends(struct estimate *es, const struct cut *cut, uint64_t now_ns);
/* Looks at the block table. */
void estimate__scan(struct estimate *es);
/* The whole, as of now; holds until the next call. */
const struct cut *estimate__cut(struct estimate *es, const struct cut *cut, uint64_t now_ns);

#endif
