/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Whose a stack is, for formats that put it at the root: "comm-pid" where there
 * are several processes, and with --by thread "thread-tid" after it; with --by
 * comm or cgroup the group's name; with --by none nothing.
 */
#ifndef MT_OWNER_H
#define MT_OWNER_H

#include "model/snapshot.h"

bool owner__has_process(const struct snapshot *s);
/* The caller's. */
char *owner__process(const struct snapshot *s, const struct snap_process *p);
/* The same for a site's thread; site->tid must not be 0. */
char *owner__thread(const struct snap_site *site);
/* "redis-server (1432)", "nginx (40 processes)": of a snapshot with one row. The caller's. */
char *owner__title(const struct snap_process *p);

#endif
