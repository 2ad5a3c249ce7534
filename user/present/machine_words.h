/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* What reports, the live view and pages say of a machine as a whole, in words. Strings are the caller's; NULL: nothing is to be said. */
#ifndef MT_MACHINE_WORDS_H
#define MT_MACHINE_WORDS_H

#include "model/snapshot.h"
#include "util/parse.h"

/* "23.5 GiB, 22.9 GiB available, 21.2 GiB free" */
char *machine__words(const struct snapshot *s);

/* --overhead of processes that come and go: "12% of the CPU time observed", "12% of the time observed" where they were named. */
const char *observed__words(const struct snapshot *s, char buf[static 3 * FMT_MAX]);
/* "31 processes were probed in turn, and the figures cover only these; 120 run now"; NULL where all are watched. */
char *watched__words(const struct snapshot *s);
/* What "?" means where an error is not known, and a figure with it; NULL: all are. Nobody's. */
const char *unmet__words(const struct snapshot *s);
/* Are estimates of live memory less than their standard error? Then rows of sites say nothing. */
bool is_noise(const struct snapshot *s);
/* "trace for about 2 min, or use --sample 64K": what makes them precise enough. The caller's. */
char *noise__advice(const struct snapshot *s);

/* What the probes take of the targets' CPU time, in parts of a hundred; 0: not known. From COST_SAID_PCT on it is worth a word. */
#define COST_SAID_PCT 5
double cost__pct(uint64_t probe_ns, uint64_t target_cpu_ns);
/* "about 31% of its CPU time; --overhead 5 bounds it" */
char *cost__words(const struct snapshot *s);
/* Can --overhead be given with what this trace recorded? */
bool cost__can_be_bounded(const struct snapshot *s);

/* Processes that have ended, among others that run. */
struct ended {
	uint64_t n, live_blocks, live_bytes;
};
/* of: the row of a program's processes, say; NULL: all. False: none has, or all have. */
bool ended__sum(const struct snapshot *s, const struct snap_process *of, struct ended *ret);
/* "112, held 12.3 MiB when they did: cc1 9.1 MiB, awk 1.2 MiB and 14 others" */
char *ended__words(const struct snapshot *s, const struct snap_process *of);

/* ---- --mode leak: what the figures of live blocks go by, in words */

/*
 * "read in 17ms, 20ms before this report; up to 200 blocks that were freed since may still count as live". The caller's; NULL: it
 * is another mode.
 */
char *reading__words(const struct snapshot *s);
/* "live figures of a mark are those of the last time before it that the heap was read"; NULL: they are of the mark. */
const char *reading__mark_words(const struct snapshot *s);

#endif
