/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Signals by name, and those that wait. */
#ifndef MT_SIGNALS_H
#define MT_SIGNALS_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#define SIGNAL_NAME_MAX 24

/* "SIGSEGV", "SIGRTMIN+3"; "signal 99" of a number that is none. In buf, or constant. */
const char *signal_name(int sig, char buf[static SIGNAL_NAME_MAX]);
/* Does it stand for a mistake of the program, rather than for a wish of a user? */
bool signal_is_crash(int sig);
/*
 * Does SIGINT, SIGTERM or SIGHUP wait, blocked, for the code that reads signals? Long work need not be finished then. Repeats of
 * one that was noted do not count, and are dropped.
 */
bool signal_asks_for_end(void);
/* These, to be blocked: SIGHUP not where it is ignored, as it would wait nevertheless. */
void signals_of_end(sigset_t *ret);

/*
 * The end of a trace, and the report after it. The first SIGINT, SIGTERM or SIGHUP ends the trace. Service managers, sudo, timeout(1)
 * and impatient users repeat it: repeats within a second of the first, or before the report began, are part of it. A later one
 * kills malloctrace at once, and the kernel removes the probes.
 */
void signals__note_end(void);		/* the first one is here; no-op if it is noted already */
uint64_t signals__end_ns(void);		/* when it was noted; 0: not yet */
void signals__begin_report(sigset_t *ret_before);	/* unblocks SIGINT and SIGTERM, which are noted, or kill; the mask before, unless NULL */
void signals__end_report(void);		/* nothing is left that a first one would have to wait for: it kills, too */

/*
 * What malloctrace inherits of signals may be anything: children that are not waited for (SIGCHLD ignored) would be missed, and a
 * file beyond `ulimit -f` would end it. At its start: as it needs them; in CMD: as they were.
 */
void signals__begin(void);
void signals__restore(void);

#endif
