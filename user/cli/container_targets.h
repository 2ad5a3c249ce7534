/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* --container and --pod: which cgroups these are. */
#ifndef MT_CONTAINER_TARGETS_H
#define MT_CONTAINER_TARGETS_H

#include "options/opts.h"

/*
 * The cgroups of o->containers and o->pods, into o->cgroups. -ENOENT: there is none, and the message lists what there is; -EINVAL: several
 * are meant, and it lists these.
 */
int container_targets__find(struct opts *o, struct err *e);

#endif
