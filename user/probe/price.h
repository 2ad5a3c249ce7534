/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* What a hit of a probe takes of its target's CPU time, where no budget (budget/budget.h) keeps account of it. */
#ifndef MT_PRICE_H
#define MT_PRICE_H

#include "probe/kernel.h"

/* The way into a program and out of it, on probes of our own; takes about a millisecond. Unmeasured without uprobe_multi. */
void price__measure_trap(struct kernel *k);
/* Of the hits so far: that way, and the mean of what was timed of their programs. 0: not measured. */
double price__hit_ns(const struct kernel *k);

#endif
