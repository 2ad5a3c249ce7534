/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * A breakpoint ends what a translator runs (process/translator.h), and the kernel puts shared probes into every process that maps
 * their files: there is no way to except one. So as long as a translator runs, shared probes are out, and the trace waits.
 *
 * What always holds: what is recorded is right. A process that goes on may have freed meanwhile what it held, so it begins another
 * life when its probes are back; what it held is its former life's, which ended unseen.
 */
#ifndef MT_TRACEE_PAUSE_H
#define MT_TRACEE_PAUSE_H

#include "tracee/tracee.h"

/*
 * It has begun, or runs already: probes go at once, if there are any. name: translator__of(). Of a file that is not installed
 * (translator__is_installed) its name is believed for two seconds, in which a translator makes code; and not at all after three
 * that did not. So nobody can keep a trace waiting by a name alone.
 */
void tracees__pause_for(struct tracees *t, pid_t pid, const char *name, bool installed);
/* For those that run. */
void tracees__pause_for_any(struct tracees *t);
/* The trace has just begun: if one ran before that, nothing is recorded all the same, page faults neither. */
void tracees__begin_paused(struct tracees *t);
/* Once a second: have they all ended? Then the probes come back. Fails for lack of memory or rights. */
int tracees__try_to_resume(struct tracees *t, struct err *e);
/* A life that ends during a pause was not seen to its end. Before the model hears of that. */
void tracees__note_unseen_end(struct tracees *t, uint32_t proc);
/* The trace is over: what goes on was not seen to the end, either. */
void tracees__end_pause(struct tracees *t);
/* Nanoseconds without probes, up to now. */
uint64_t tracees__paused_ns(const struct tracees *t);

#endif
