/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * An error on its way up: a negative errno for the program, a sentence for the
 * user. Lower layers set it, layers between add context, main prints it once.
 */
#ifndef MT_ERR_H
#define MT_ERR_H

#include <errno.h>
#include <stdbool.h>

struct err {
	int code;	/* negative errno, 0 if none */
	char *msg;	/* owned; NULL if none */
};

/* These return the code, so that `return err_set(...)` reads well. A NULL e is allowed. */
int err_set(struct err *e, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* Put "fmt: " before the message that is there; one that nobody has set is that of the code. */
int err_wrap(struct err *e, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* Put "\n  fmt" after it: what to do, or what was searched. */
void err_hint(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
const char *err_msg(const struct err *e);
void err_done(struct err *e);

/* Is it a want of the machine's, and says nothing of the file or the process that was asked for? */
static inline bool err_is_want(int code)
{
	return code == -ENOMEM || code == -EMFILE || code == -ENFILE || code == -EIO;
}

#define _cleanup_err_ __attribute__((cleanup(err_done)))

/* What malloctrace's exit status means; the man page has the same list. With -- CMD it is CMD's own, where that ran. */

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
