/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* What a hit costs on this machine, now: measured on a child of our own. */
#ifndef MT_CALIBRATE_H
#define MT_CALIBRATE_H

#include "budget/meter.h"
#include "collect/collect.h"
#include "unwind/tables.h"

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
