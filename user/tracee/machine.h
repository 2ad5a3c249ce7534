/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Processes that come and go: those that are there at the start, those that are
 * forked, started or renamed later, and what they map; -a, --comm, --cgroup, -f.
 */
#ifndef MT_MACHINE_H
#define MT_MACHINE_H

#include "tracee/selection.h"
#include "tracee/tracee.h"

struct machine;

/* A running process, as it is now. */
bool machine__wants(const struct selection *selection, pid_t pid);

void machine__free(struct machine *m);	/* takes NULL; made by tracees__share() */

#endif
