/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * The kernel's side of --overhead (bpf/budget.bpf.h): what the probes took, and the limit.
 */
#ifndef MT_METER_H
#define MT_METER_H

#include "budget/pace.h"
#include "collect/collect.h"
#include "probe/kernel.h"
#include "unwind/tables.h"

struct spent {			/* since the programs were loaded */
	uint64_t ns;		/* of the targets' CPU time, by all probes; an estimate */
	uint64_t timed, timed_ns;	/* hits that were timed, and how long their programs ran */
};

enum { OUTSIDE, INSIDE };	/* of an allocation call */

struct gaps {			/* between two hits of a thread, by length, as in bpf/abi.h */
	uint64_t n[2][MT_N_GAPS], ns[2][MT_N_GAPS];
};

struct meter;

int meter__new(struct kernel *k, struct meter **ret, struct err *e);
void meter__free(struct meter *m);

struct spent meter__spent(const struct meter *m);
void meter__gaps(const struct meter *m, struct gaps *ret);
void meter__set_trap_ns(struct meter *m, uint64_t ns);
/* alarm_fd becomes readable when this is passed, once; setting it arms it again. */
void meter__set_limit(struct meter *m, uint64_t spent_ns);
/* Half way to a limit: what was spent then, and when; false: not yet, since it was set. */
void meter__set_mark(struct meter *m, uint64_t spent_ns);
bool meter__mark(const struct meter *m, struct reading *ret);
int meter__alarm_fd(const struct meter *m);
bool meter__read_alarm(struct meter *m);	/* was there one since the limit was last set? */
/* A window begins: what threads had under way in an earlier one is void. after_gap: blocks may have gone unseen. */
void meter__next_window(struct meter *m, bool after_gap);

/* ---- what a hit costs */

/* What a hit costs on this machine, now: measured on a child of our own. */

struct hit_cost {
	double trap_ns;		/* into the kernel and out again, without the program */
	double hit_ns;		/* all of a hit, in the child's loop */
	double bare_ns;		/* of the allocator's own work, per hit, without probes */
	double inside_ns;	/* from a program's end to the next one's begin, inside of a call */
	bool gaps_compare;	/* those outside of a call are like those */
	double gap_ns;		/* but for that much, by which they are longer */
};

/*
 * How long a gap inside of a call is, and by how much one outside is longer. An
 * interrupt, or another process, makes a few of them long: those do not count.
 * False: there are not enough.
 */
bool gaps__inside(const struct gaps *before, const struct gaps *now, double *ret_ns);
bool gaps__compare(const struct gaps *before, const struct gaps *now, double *ret_ns);

/*
 * The child calls malloc and free in a loop, first without probes and then with
 * the same programs as the targets get. It is a process of its own in the
 * tables, of no life that the model knows, so it is in no figure. Nothing may be
 * attached yet.
 */
int calibrate__run(struct kernel *k, struct collect *c, struct unwind *u, struct meter *m,
		   struct hit_cost *ret, struct err *e);

#endif
