/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* What reports, the live view and pages say of a machine as a whole, in words. Strings are the caller's; NULL: nothing is to be said, or no memory. */
#ifndef MT_MACHINE_WORDS_H
#define MT_MACHINE_WORDS_H

#include "model/snapshot.h"
#include "util/parse.h"

/* "23.5 GiB, 22.9 GiB available, 21.2 GiB free, pressure 0.00%" */
char *machine__words(const struct snapshot *s);

/* --overhead of processes that come and go: "12% of the CPU time observed", "12% of the time observed" where they were named. */
const char *observed__words(const struct snapshot *s, char buf[static 3 * FMT_MAX]);
/* "31 processes were watched by turns, and figures are of these alone; 120 run now"; NULL where all are watched. */
char *watched__words(const struct snapshot *s);
/* What "?" means where an error is not known, and a figure with it; NULL: all are. Nobody's. */
const char *unmet__words(const struct snapshot *s);

/* Processes that have ended, among others that run. */
struct ended {
	uint64_t n, live_blocks, live_bytes;
};
/* of: the row of a program's processes, say; NULL: all. False: none has, or all have. */
bool ended__sum(const struct snapshot *s, const struct snap_process *of, struct ended *ret);
/* "112, held 12.3 MiB when they did: cc1 9.1 MiB, awk 1.2 MiB and 14 others" */
char *ended__words(const struct snapshot *s, const struct snap_process *of);

/* "412.0 MiB of 512.0 MiB (80%), 3 kills by OOM": how near it is to its limit, or to that of one above. */
char *cgroup__words(const struct snap_cgroup *c);
/* The share of its limit that is used; NAN: there is none. */
double cgroup__nearness(const struct snap_cgroup *c);
/* Of a row of --by cgroup; NULL: it is none, or nothing was read of it. */
const struct snap_cgroup *cgroup__of_row(const struct snapshot *s, const struct snap_process *p);

#endif
