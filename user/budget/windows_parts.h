/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * A budget, for the files that it is made of: budget.c its life and turns, windows.c when the probes are in place, books.c what
 * that cost and what was seen.
 */
#ifndef MT_WINDOWS_PARTS_H
#define MT_WINDOWS_PARTS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "budget/budget.h"
#include "budget/meter.h"
#include "budget/cpu_clock.h"
#include "budget/estimate.h"
#include "budget/pace.h"
#include "util/loop.h"
#include "util/util.h"

enum state { SHUT, OPEN, SHUTTING };

struct thread_account {		/* as of the stretch's begin */
	uint32_t tid;
	uint64_t hits, cpu_ns;
	bool clocked;		/* it has a clock of its own, since an earlier stretch */
};

struct account {
	struct tracee *tracee;	/* whose it is; NULL, by turns: of one that has left the tables, and free */
	struct cpu_clock *clock;
	/* by turns (budget.c) */
	struct cpu_clock *fine;	/* while it is looked at: by threads; the other one is that of the process then, and lags by a tick */
	uint64_t fine_ns;	/* when that was last booked */
	double unbooked_ns;	/* of the other one: what is not booked yet */
	double purse_ns;	/* what looks at it may spend now */
	double cpus;		/* CPU time per time, in the last second */
	double since_ns;	/* how long it was not looked at */
	uint64_t met_ns;	/* when it came, */
	uint64_t had_ns;	/* and what it had used of CPU time by then */
	bool met;		/* it has had its first turn, which is no look */
	bool booked;
	uint64_t cpu_ns;	/* when it was last booked */
	uint64_t shut_cpu_ns;	/* when the last window ended */
	uint64_t hits;		/* when a stretch last ended */
	double window_ns, gap_ns;	/* CPU time since then */
	struct vec(struct thread_account) threads;
	struct vec(struct thread_calls) calls;	/* of the stretch that is reported */
	/*
	 * over all looks, each for the gap before it: CPU time in it, as it would be; the probes'
	 * part of that; and as it was
	 */
	double looked_cpu_ns, looked_cost_ns, looked_gap_ns;
	double gaps_cpu_ns, gaps_clock_ns;	/* all gaps: CPU time in them, and how long they were */
	double ran_cpu_ns, ran_clock_ns;	/* all looks that found it running: the same */
	struct reading ticks[2];	/* of the gap at hand: two bookings 25 ms or more after each other, or its begin */
	double before;		/* CPU time per time just before the last window */
	struct awake opened, shut;	/* when the last window began, and ended */
	double gap_reported_ns;	/* of the gap at hand, its CPU time so far */
	unsigned int n_looks;
};

struct budget {
	struct budget_opts o;
	struct meter *meter;
	struct hit_cost cost;
	struct pace pace;
	struct estimate *estimate;
	int timer_fd, closed_fd, shut_fd;
	struct ending quit;	/* of the guard */
	pthread_t guard;
	bool guarded;
	struct closing *links;	/* of the window that is open, or shutting */
	struct vec(struct closing *) closing;
	uint64_t longest_out_ns;	/* that the kernel took to take the probes out */
	struct account *accounts;	/* one for each tracee; but for turns their number does not change */
	size_t n_accounts, account_room;
	bool by_turns;		/* each look is at one process */
	struct account *looked;	/* by turns: at whom; NULL: at nobody */
	double seen_cpu_ns, unseen_cpu_ns;	/* by turns: of all processes */
	uint64_t gone_cpu_ns;	/* by turns: of those that have left the tables */
	enum state state;
	bool over;
	bool limited;		/* the last window was ended by its limit */
	bool partial;		/* there was a gap: figures are estimates */
	uint64_t began_ns, ended_ns;
	uint64_t booked_ns;	/* the clock when CPU times were last booked */
	uint64_t stretch_ns;	/* the clock when the stretch at hand began */
	uint64_t observed_ns;
	uint64_t gap_spent_ns;	/* by probes that came or went, since the last stretch ended */
	uint64_t gap_clock_ns;	/* how long they were not there, since then */
	uint64_t booked_spent_ns;
	struct spent stretch_spent;	/* when the stretch at hand began */
	struct gaps gaps, gaps_before;
	bool looking;		/* the window is a look: one after a gap */
	uint64_t look_ns;	/* how long it is to be */
	uint64_t due_ns;	/* no window before */
	uint64_t after_ns;	/* how long that gap was */
	double mean_gap_ns;	/* that its time was drawn from */
	uint64_t opening_spent_ns;	/* before its probes were put in */
	double speaks_ns;	/* how much time the next look speaks for, or the one at hand */
	uint64_t quantum_ns, quantum_end_ns;
	uint64_t limit_ns;	/* as it was set last */
	uint64_t opened_spent_ns, opened_cpu_ns, opened_ns;
	struct spent shut_spent;	/* when the last window ended */
	uint64_t shut_at_ns;
	uint64_t scanned_ns;
	uint64_t waited_ns;	/* when the last window ended, or the wait was last found long */
	uint64_t start_spent_ns;	/* by the child that was measured */
};

/*
 * A process's first turn is no look: it lasts until its money is spent, or so long. So what comes in bursts has been met once, and
 * the error of what looks miss of it is known to be large.
 */
#define TURNS_FIRST_NS (300 * MS_NS)
/* budget.c, by turns: accounts for those that have come. */
void turns__meet(struct budget *b);
/* Whose turn it is, by chance; NULL: nobody's. *ret_chance: that it had. */
struct account *turns__draw(struct budget *b, double *ret_chance);
void turns__begin_look(struct budget *b, struct account *a);	/* its clocks, by thread */
void turns__end_look(struct budget *b, uint64_t spent_ns);
/* CPU time since it was last booked. in_window: of the one that is looked at, by this reading of its clock. */
void turns__book(struct account *a, const struct budget *b, bool in_window, uint64_t fine_ns, double lasted_ns);

/* Has it probes in the window at hand? By turns, only the one that is looked at. */
static inline bool account__is_seen(const struct budget *b, const struct account *a)
{
	return a->tracee && (!b->by_turns || a == b->looked);
}

static inline struct cpu_clock *account__clock(const struct budget *b, const struct account *a)
{
	return b->by_turns ? a->fine : a->clock;
}

struct thread_account *account__thread(struct account *a, uint32_t tid);	/* made if there is none */
/* The CPU time of all targets, booked to the window or the gap that this moment is in. */
struct reading budget__book(struct budget *b, bool in_window);
/* The probes are about to come: what the targets did until now (window__ran). */
void budget__note_before(struct budget *b);
/* How long that would have taken without probes: all targets together. */
double budget__passed_ns(const struct budget *b, double clock_ns, double cpu_ns, double spent_ns);
/* The window that the guard, or the session, has ended. */
void budget__book_shut(struct budget *b);
/* What a cut shows of the stretch that ended until_ns. now: what was spent then, without what programs spend frozen. */
void budget__observe(struct budget *b, const struct cut *cut, uint64_t until_ns, struct spent now);
/* A stretch begins: where the threads' clocks are. */
void budget__begin_stretch(struct budget *b);

static inline enum state budget__state(const struct budget *b)
{
	return __atomic_load_n(&b->state, __ATOMIC_ACQUIRE);
}

#endif
