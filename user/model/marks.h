/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* The marks of a trace: calls of functions that the user named, the newest of them one by one. */
#ifndef MT_MARKS_H
#define MT_MARKS_H

#include "model/cut.h"
#include "model/snapshot.h"
#include "util/err.h"
#include "util/util.h"

#define MARKS_MAX 1024

struct kept_mark {
	const char *name;	/* not owned */
	uint32_t life;		/* id of the process */
	struct snap_mark row;	/* its name and process are filled in when it is listed */
};

struct marks {
	struct vec(struct kept_mark) v;	/* a ring once it is full */
	size_t first;		/* the oldest */
	uint64_t n_noted, n_whole;
};

/* row: what is known of it; name lives as long as m. */
void marks__add(struct marks *m, const char *name, uint32_t life, const struct snap_mark *row);
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

#endif
