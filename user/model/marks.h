/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* The marks of a trace: calls of functions that the user named, the newest of them one by one. */
#ifndef MT_MARKS_H
#define MT_MARKS_H

#include "model/cut.h"
#include "model/snapshot.h"
#include "util/err.h"
#include "util/util.h"

#define MARKS_MAX 1024

struct marks {
	struct vec(struct snap_mark) v;	/* a ring once it is full; process is an id until they are listed */
	size_t first;		/* the oldest */
	uint64_t n_noted, n_whole;
};

/* Its name lives as long as m; process: its id. */
void marks__add(struct marks *m, const struct snap_mark *row);
void marks__done(struct marks *m);
/* enum counter_bit: what is known of it; --mode leak has no live bytes of one without a snapshot. */
unsigned int marks__known(const struct snapshot *s, const struct snap_mark *m);
/* Into a snapshot; n_seen: all that were counted up to it. */
void marks__list(const struct marks *m, uint64_t n_seen, struct snapshot *s);

/*
 * A moment as `report --between` takes it: an age, "mark:2", or "handle#2".
 * -EINVAL: s has no such mark, or it is not clear which one; e says so.
 */
int marks__moment(const struct snapshot *s, const char *text, uint64_t *ret_ns, struct err *e);
/* Could that be one? */
bool marks__is_moment(const char *text);

/* ---- The snapshots that were taken of a trace before its last one: when, and why. */

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
