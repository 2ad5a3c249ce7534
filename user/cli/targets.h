/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* -p NAME, --container and --pod: which processes that are. */
#ifndef MT_TARGETS_H
#define MT_TARGETS_H

#include "options/opts.h"

/*
 * The pids of o->names, into o->pids; cgroups of containers and pods (container_targets.h). -ESRCH, -ENOENT: nothing is called so;
 * -EINVAL: several are, and the message lists them.
 */
int targets__find(struct opts *o, struct err *e);

#endif
