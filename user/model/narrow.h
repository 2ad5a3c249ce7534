/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Some processes of a snapshot, as a snapshot of its own. */
#ifndef MT_NARROW_H
#define MT_NARROW_H

#include "model/snapshot.h"

/* Which: those that all of these hold for. 0 and NULL: any. */
struct narrowing {
	pid_t pid;
	const char *comm;	/* a glob, as of --comm */
	const char *cgroup;	/* the path, or one above it */
	const char *container;	/* its id, or how that begins */
	const char *pod;	/* its name or its uid */
	const bool *left_out;	/* by index: those that do not stay; NULL: none */
};

bool narrowing__any(const struct narrowing *n);
/*
 * Totals are those of the processes that are left, which may be none; losses and costs remain those of the whole. Strings, places
 * and modules remain those of s, which must outlive it.
 */
struct snapshot *snapshot__narrow(const struct snapshot *s, const struct narrowing *n);

#endif
