/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* What malloctrace's exit status means; the man page has the same list. With -- CMD it is CMD's own, where that ran. */
#ifndef MT_EXIT_STATUS_H
#define MT_EXIT_STATUS_H

#include <errno.h>

enum exit_status {
	EXIT_DONE = 0,
	EXIT_FAILED = 1,
	EXIT_USAGE = 2,		/* the command line is wrong */
	EXIT_LOSSES = 3,	/* something was lost, and the report says what */
	EXIT_FAIL_OVER = 4,	/* diff --fail-over: it grew by more */
	EXIT_CMD_UNTRACED = 125,	/* -- CMD: malloctrace itself failed */
	EXIT_CMD_REFUSED = 126,	/* CMD could not be run */
	EXIT_CMD_MISSING = 127,	/* there is no such CMD */
};

/* Of a CMD that could not be executed. */
static inline int exit_status__of_exec(int err)
{
	return err == ENOENT || err == ENOTDIR ? EXIT_CMD_MISSING : EXIT_CMD_REFUSED;
}

#endif
