/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * --exec: a program that gets the files that conditions of --when have written. The process that traces can start nothing any more:
 * it asks the one that listens, which runs one program at a time, as a user without rights.
 */
#ifndef MT_HOOK_H
#define MT_HOOK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "util/err.h"

#define HOOK_LIMIT_S 60		/* then it is killed, with all of its session */

struct hook {
	int asked_fd;		/* where files are named; -1: there is none */
	int ask_fd;		/* the other end, for the process that traces */
	pid_t pid;		/* what runs; 0: nothing */
	uint64_t until_ns;
};

int hook__open(struct hook *h, struct err *e);
/* From the process that traces: false, and nothing will be run: the file is gone, or too many wait already. */
bool hook__ask(int fd, const char *path, const char *why);

/* For poll(): whether asked_fd is to be looked at, and for how long at most; -1: for ever. */
bool hook__is_idle(const struct hook *h);
int hook__wait_ms(const struct hook *h);
/* One that was asked for. */
void hook__run(struct hook *h, const char *program);
/* After SIGCHLD, and when the time is over. */
void hook__reap(struct hook *h);
/* What runs is ended. */
void hook__end(struct hook *h);

#endif
