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

static void join(struct err *e, const char *fmt, va_list ap, int before)
{
	char *add = NULL, *both = NULL;

	if (vasprintf(&add, fmt, ap) < 0)
		return;
	if (before ? asprintf(&both, "%s: %s", add, err_msg(e)) >= 0 :
		     asprintf(&both, "%s\n  %s", err_msg(e), add) >= 0) {
		free(e->msg);
		e->msg = both;
	}
	free(add);
}

int err_wrap(struct err *e, int code, const char *fmt, ...)
{
	va_list ap;

	if (!e)
		return code;
	e->code = code;
	va_start(ap, fmt);
	join(e, fmt, ap, 1);
	va_end(ap);
	return code;
}

void err_hint(struct err *e, const char *fmt, ...)
{
	va_list ap;

	if (!e)
		return;
	va_start(ap, fmt);
	join(e, fmt, ap, 0);
	va_end(ap);
}

const char *err_msg(const struct err *e)
{
	const char *words = e->msg ? e->msg : strerror(-e->code);

	/* words for a number that the C library does not know, such as libbpf's own, take memory, too */
	return words ? words : "out of memory";
}

void err_done(struct err *e)
{
	free(e->msg);
	e->msg = NULL;
	e->code = 0;
}
