/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* The snapshots that were taken of a trace before its last one: when, and why. */
#ifndef MT_TAKEN_H
#define MT_TAKEN_H

#include "model/snapshot.h"
#include "util/util.h"

struct taken {
	struct vec(struct snap_taken) v;	/* a ring once it is full; each owns its words */
	size_t first;		/* the oldest */
};

/* why: NULL for a signal. */
void taken__add(struct taken *t, uint64_t t_ns, uint32_t number, const char *why);
void taken__done(struct taken *t);
/* Into a snapshot: the newest, in the order of their time. */
void taken__list(const struct taken *t, struct snapshot *s);

#endif
