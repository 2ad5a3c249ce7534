// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns nothing; messages belong to the struct err they are in. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/err.h"
#include "util/xmalloc.h"

int err_set(struct err *e, int code, const char *fmt, ...)
{
	va_list ap;

	if (!e)
		return code;
	free(e->msg);
	e->code = code;
	va_start(ap, fmt);
	e->msg = xvasprintf(fmt, ap);
	va_end(ap);
	return code;
}

static void join(struct err *e, const char *fmt, va_list ap, int before)
{
	char *add = xvasprintf(fmt, ap);
	char *both = before ? xasprintf("%s: %s", add, err_msg(e)) : xasprintf("%s\n  %s", err_msg(e), add);

	free(e->msg);
	e->msg = both;
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
	return e->msg ? e->msg : strerror(-e->code);
}

void err_done(struct err *e)
{
	free(e->msg);
	e->msg = NULL;
	e->code = 0;
}
