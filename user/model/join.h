/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Several profiles as one: those of several hosts, of several processes, of several times. */
#ifndef MT_JOIN_H
#define MT_JOIN_H

#include "model/snapshot.h"
#include "util/err.h"

/*
 * Is `a` a snapshot of the trace that `b` is of, and not a later one? Figures count from the
 * trace's start, so that to add the two up would count most of it twice.
 */
bool snapshot__same_trace(const struct snapshot *a, const struct snapshot *b);

/*
 * Processes side by side, in the order given, numbered anew; totals and losses
 * added up. Times go on counting from each trace's own start; the duration is
 * the longest one's. names: for messages. Strings, stacks and threads remain
 * those of v, which must outlive it.
 *
 * -EINVAL: they do not add up, e.g. requested sizes and usable ones.
 */
int snapshot__join(struct snapshot *const *v, const char *const *names, size_t n, struct snapshot **ret, struct err *e);

/* Were they recorded in the same way? verb: "add up", "compare". */
int snapshots__check_alike(const struct snapshot *a, const struct snapshot *b, const char *name_a,
			   const char *name_b, const char *verb, struct err *e);

/*
 * Traces of one process cannot be added up: its live blocks and its resident memory would count once
 * per trace, and what an earlier trace saw may have been freed before a later one began. Each process stays
 * in one profile: of traces at the same time in the longest one, of others in the latest.
 *
 * v[i] becomes NULL where none of its processes stays, and a new snapshot, which refers to the old one, where some
 * of them stay. What was done, in one sentence, the caller's; NULL: each process is in one
 * profile. names: of the files.
 */
char *snapshots__drop_repeats(struct snapshot **v, const char *const *names, size_t n);

#endif
