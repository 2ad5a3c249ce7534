/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* What main() calls: the commands, and whom their options mean. A trace is trace/session.h's. */
#ifndef MT_COMMANDS_H
#define MT_COMMANDS_H

#include <stdbool.h>
#include <stdio.h>

#include "options/opts.h"
#include "reader/reader.h"
#include "util/err.h"

/* What this kernel and user may do, what is missing, how to mend it. */
/* *ret_status: 0 if malloctrace can trace here, 1 if not. */
void doctor__run(FILE *out, const struct opts *o, int *ret_status);

/* `malloctrace heap`: the heap of a process as it is, without a trace. */
/* *ret_status: EXIT_FAILED if the heap of one of them could not be read; what was found of others is shown. */
int heap_command__run(const struct opts *o, int *ret_status, struct err *e);

/* `report` and `diff`: profiles that were written before, shown again. No BPF, no privileges. */
int profiles__report(const struct opts *o, int *ret_status, struct err *e);
int profiles__diff(const struct opts *o, int *ret_status, struct err *e);

/*
 * `malloctrace serve`: two processes. This one listens, keeps its rights, and does nothing but wait; the other one traces, and gives
 * up what it does not need. At SIGHUP the options are read again and another one takes over; whoever asks meanwhile waits.
 *
 * Before anything else was started. true: this is the process that is to trace, with o. false: all is over; status or err says how.
 */
bool serve_command__begin(struct opts *o, int argc, char **argv, int *ret_status, int *ret_err, struct err *e);

/* -p NAME, --container and --pod: which processes that are. */
/*
 * The pids of o->names, into o->pids; cgroups of containers and pods. -ESRCH, -ENOENT: nothing is called so;
 * -EINVAL: several are, and the message lists them.
 */
int targets__find(struct opts *o, struct err *e);

/* What a reader can be asked for, and who answers. */
extern const struct reader_question *const reader_questions[N_READER_KINDS];

#endif
