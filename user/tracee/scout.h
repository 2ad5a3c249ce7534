/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * --overhead where processes come and go (-a, --comm, --cgroup, -f): which of them get probes of their
 * own, for the budget to look at by turns. All that are selected are read in /proc once a second, which takes a few
 * microseconds each; those that grow, run or hold much are watched, and the budget looks at them the more often the more they
 * do (tracee.attention).
 */
#ifndef MT_SCOUT_H
#define MT_SCOUT_H

#include "tracee/selection.h"
#include "tracee/tracee.h"

struct scout;

/*
 * Of tracees whose probes are not shared. Before probing->attach(); selection outlives it. own_share: of the machine's CPU time, beyond
 * which malloctrace's own makes it begin to watch fewer processes.
 */
void tracees__scout(struct tracees *t, const struct selection *selection, double own_share);
void scout__free(struct scout *s);	/* takes NULL */

struct scouted {		/* at this moment */
	size_t selected;	/* processes that run */
	size_t watched;		/* of these */
	size_t ever;		/* were watched */
	uint64_t machine_cpu_ns;	/* that all processes used since the trace began, malloctrace too; 0: not known */
};
struct scouted scout__sums(const struct tracees *t);

/* ---- plain arithmetic, for the tests */

struct scout_reading {		/* of a process */
	uint64_t t_ns;
	uint64_t cpu_ns, rss_bytes;
};

struct scout_pulse {		/* what is known of it */
	struct scout_reading last;
	double cpus;		/* CPU time per time, lately */
	double grows_per_s;	/* bytes, lately; never below 0 */
};

#endif
