// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the level of talk, and where it goes. One message is one write, so that lines of several
 * processes do not mix. What a message names (a command, a path, a process) may have
 * been called anything: no escape code gets from there to a terminal.
 */
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "util/log.h"
#include "util/util.h"

enum log_level log_level = LOG_NORMAL;

static struct log_sink sink;
static bool progress_shown;	/* a line of it stands on the terminal */

void log__redirect(const struct log_sink *to)
{
	sink = to ? *to : (struct log_sink){};
}

static void put(const char *fmt, va_list ap)
{
	char *text = NULL, *line = NULL;
	int len;

	if (vasprintf(&text, fmt, ap) < 0)
		return;
	clean_message(text);
	if (sink.say) {
		sink.say(text, sink.arg);
		free(text);
		return;
	}
	len = asprintf(&line, "malloctrace: %s\n", text);
	if (len > 0 && write(STDERR_FILENO, line, len) < 0) {
		/* nothing reads it any more */
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

void say_progress(const char *fmt, ...)
{
	char *text = NULL;
	va_list ap;
	int n = 0;

	if (log_level < LOG_NORMAL)
		return;
	if (fmt) {
		va_start(ap, fmt);
		n = vasprintf(&text, fmt, ap);
		va_end(ap);
	}
	if (n < 0)
		return;
	if (text)
		clean_message(text);
	if (sink.progress)
		sink.progress(text, sink.arg);
	else if (text && isatty(STDERR_FILENO))
		fprintf(stderr, "\rmalloctrace: %s\033[K", text);
	else if (progress_shown)
		fputs("\r\033[K", stderr);
	fflush(stderr);
	progress_shown = text && !sink.progress && isatty(STDERR_FILENO);
	free(text);
}

void say_step(const char *fmt, ...)
{
	char *text = NULL;
	va_list ap;
	int n;

	if (!sink.step)
		return;
	va_start(ap, fmt);
	n = vasprintf(&text, fmt, ap);
	va_end(ap);
	if (n < 0)
		return;
	clean_message(text);
	sink.step(text, sink.arg);
	free(text);
}
