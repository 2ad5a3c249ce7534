// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns the level of talk. One message is one write, so that lines of several processes do not mix. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "util/log.h"

enum log_level log_level = LOG_NORMAL;

static void put(const char *fmt, va_list ap)
{
	char *text = NULL, *line = NULL;
	int len;

	if (vasprintf(&text, fmt, ap) < 0)
		return;
	len = asprintf(&line, "malloctrace: %s\n", text);
	if (len > 0 && write(STDERR_FILENO, line, len) < 0) {
		/* nobody listens any more */
	}
	free(line);
	free(text);
}

void say(const char *fmt, ...)
{
	va_list ap;

	if (log_level < LOG_NORMAL)
		return;
	va_start(ap, fmt);
	put(fmt, ap);
	va_end(ap);
}

void say_verbose(const char *fmt, ...)
{
	va_list ap;

	if (log_level < LOG_VERBOSE)
		return;
	va_start(ap, fmt);
	put(fmt, ap);
	va_end(ap);
}

void say_error(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	put(fmt, ap);
	va_end(ap);
}
