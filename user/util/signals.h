/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Signals by name, and those that wait. */
#ifndef MT_SIGNALS_H
#define MT_SIGNALS_H

#include <signal.h>
#include <stdbool.h>

#define SIGNAL_NAME_MAX 24

/* "SIGSEGV", "SIGRTMIN+3"; "signal 99" of a number that is none. In buf, or constant. */
const char *signal_name(int sig, char buf[static SIGNAL_NAME_MAX]);
/* Does it stand for a mistake of the program, rather than for a wish of a user? */
bool signal_is_crash(int sig);
/* Does SIGINT, SIGTERM or SIGHUP wait, blocked, for the code that reads signals? Long work need not be finished then. */
bool signal_asks_for_end(void);
/* These, to be blocked: SIGHUP not where it is ignored, as it would wait nevertheless. */
void signals_of_end(sigset_t *ret);

/*
 * What malloctrace inherits of signals may be anything: children that are not waited for (SIGCHLD ignored) would be missed, and a
 * file beyond `ulimit -f` would end it. At its start: as it needs them; in CMD: as they were.
 */
void signals__begin(void);
void signals__restore(void);

#endif
