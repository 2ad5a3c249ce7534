/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* What the machine has, and what cgroups may use of it, for the snapshot that is about to be shown. */
#ifndef MT_LIMITS_H
#define MT_LIMITS_H

#include "model/snapshot.h"

/* All processes of the machine are traced: its memory, now. */
void limits__of_machine(struct snapshot *s);
/*
 * Of the cgroups that processes of `of` run in, as many as can be read in so much of our CPU time: those that hold the most before others.
 * What is read is kept in `to`. -ENOMEM
 */
int limits__of_cgroups(struct snapshot *to, const struct snapshot *of, uint64_t most_ns);

#endif
