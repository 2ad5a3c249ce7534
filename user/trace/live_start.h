/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* The screen while programs are loaded and probes are set, which holds up everything else. */
#ifndef MT_LIVE_START_H
#define MT_LIVE_START_H

#include "util/err.h"

struct starting_calls {
	void (*draw)(void *arg);	/* now and then, and whenever said_fd is readable */
	void (*quit)(void *arg);	/* q, Ctrl-C, or the terminal is gone: does not return */
	void *arg;
};

struct starting;

/*
 * From here to starting__end() the terminal belongs to a thread, which alone
 * calls these. The signals of the session and of the live view are blocked
 * already. said_fd, an eventfd, stays the caller's.
 */
int starting__begin(const struct starting_calls *calls, int said_fd, struct starting **ret, struct err *e);
/* The thread has ended when this returns. */
void starting__end(struct starting *s);

#endif
