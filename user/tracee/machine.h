/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Processes that come and go: those that are there at the start, those that are
 * forked, started or renamed later, and what they map; -a, --comm, --cgroup, -f.
 */
#ifndef MT_MACHINE_H
#define MT_MACHINE_H

#include "process/watch.h"
#include "tracee/selection.h"
#include "tracee/tracee.h"

struct machine;

/* A running process, as it is now. */
bool machine__wants(const struct selection *g, pid_t pid);

/* Neither is the machine's; both outlive it. t has its kernel, model and unwind. */
int machine__new(struct tracees *t, const struct selection *g, struct machine **ret, struct err *e);
void machine__free(struct machine *m);	/* takes NULL */

/* Everyone's probes, in all that is there now; the programs are frozen. Processes that were named are tracees already. */
int machine__attach(struct machine *m, struct err *e);
/* "87 processes: libc.so.6 and 3 other files" */
char *machine__attached(const struct machine *m);	/* the caller's; NULL without memory */

/*
 * A note of a mapping, or a message about a process: of all that is there to
 * read, notes come before messages. Failing is for lack of memory or rights.
 */
int machine__on_record(struct machine *m, const struct watch_record *r, struct err *e);
int machine__on_event(struct machine *m, const struct mt_event *ev, struct err *e);
/* Behind them: unwind tables of what was mapped. */
int machine__settle(struct machine *m, struct err *e);
/* What was lost is looked for, a part of it each time. watched: there are records. */
void machine__on_second(struct machine *m, bool watched);

#endif
