// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns nothing; messages belong to the struct err they are in. A message is never lost to a failed
 * allocation: then the errno speaks.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/err.h"

int err_set(struct err *e, int code, const char *fmt, ...)
{
	va_list ap;

	if (!e)
		return code;
	free(e->msg);
	e->msg = NULL;
	e->code = code;
	va_start(ap, fmt);
	if (vasprintf(&e->msg, fmt, ap) < 0)
		e->msg = NULL;
	va_end(ap);
	return code;
}

static int join(struct err *e, const char *fmt, va_list ap, int before)
{
	char *add = NULL, *both = NULL;

	/* the caller did not want the message; which error it was is lost with it, but an error it stays */
	if (!e)
		return -EIO;
	if (vasprintf(&add, fmt, ap) < 0)
		return e->code;
	if (before ? asprintf(&both, "%s: %s", add, err_msg(e)) >= 0 :
		     asprintf(&both, "%s\n  %s", err_msg(e), add) >= 0) {
		free(e->msg);
		e->msg = both;
	}
	free(add);
	return e->code;
}

int err_wrap(struct err *e, const char *fmt, ...)
{
	va_list ap;
	int code;

	va_start(ap, fmt);
	code = join(e, fmt, ap, 1);
	va_end(ap);
	return code;
}

int err_hint(struct err *e, const char *fmt, ...)
{
	va_list ap;
	int code;

	va_start(ap, fmt);
	code = join(e, fmt, ap, 0);
	va_end(ap);
	return code;
}

const char *err_msg(const struct err *e)
{
	return e->msg ? e->msg : strerror(-e->code);
}

void err_done(struct err *e)
{
	free(e->msg);
	e->msg = NULL;
	e->code = 0;
}
