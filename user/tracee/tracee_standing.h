/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Are the probes of the tracees still in place, and is there a debugger?
 *
 * A debugger that sets a breakpoint where one of ours is takes ours for the program's code: it
 * keeps it, and writes it back when it takes its own out. If malloctrace has gone by then, nothing
 * knows that breakpoint, and the process is killed by SIGTRAP. So malloctrace goes on with its
 * probes in place until the debugger's are out; nothing is recorded meanwhile. To refuse such a
 * process would be no help: a debugger may come later.
 */
#ifndef MT_TRACEE_STANDING_H
#define MT_TRACEE_STANDING_H

#include "process/debugger.h"
#include "tracee/tracee.h"

/*
 * Checks the tracees, each once a second at most; where probes are shared, some of them in turn.
 * all: now. What is found is reported once.
 */
void tracees__look_at_probes(struct tracees *t, bool all);
/* Probe points that were not in place at any such check. */
uint64_t tracees__n_unprobed(const struct tracees *t);
/* A process that a debugger's breakpoints are in, where taking ours out would do harm; 0: there is none. */
pid_t tracees__debugged(const struct tracees *t, struct debugger *ret);

#endif
