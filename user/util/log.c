// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the level of talk, and where it goes. One message is one write, so that lines of several
 * processes do not mix; any thread may talk. What a message names (a command, a path, a process) may have
 * been called anything: no escape code gets from there to a terminal.
 */
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "util/log.h"
#include "util/util.h"

enum log_level log_level = LOG_NORMAL;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;	/* of what follows; held while a message goes where it goes */
static struct log_sink sink;
static bool progress_shown;	/* a line of it stands on the terminal */

void log__redirect(const struct log_sink *to)
{
	pthread_mutex_lock(&lock);
	sink = to ? *to : (struct log_sink){};
	pthread_mutex_unlock(&lock);
}

static char *clean_text(const char *fmt, va_list ap)
{
	char *text = vformat(fmt, ap);

	if (text)
		clean_message(text);
	return text;
}

/* One write, without memory of its own: what ran out of memory has something to say. */
static void write_line(const char *text)
{
	struct iovec line[] = { { "malloctrace: ", 13 }, { (char *)text, strlen(text) }, { "\n", 1 } };

	if (writev(STDERR_FILENO, line, ARRAY_SIZE(line)) < 0) {
		/* nothing reads it any more */
	}
}

static void put(const char *fmt, va_list ap)
{
	static char shorter[1024];	/* the lock's */
	_cleanup_free_ char *own = NULL;
	const char *text;
	va_list again;

	va_copy(again, ap);
	own = clean_text(fmt, ap);
	pthread_mutex_lock(&lock);
	text = own;
	if (!text) {
		vsnprintf(shorter, sizeof(shorter), fmt, again);
		clean_message(shorter);
		text = shorter;
	}
	va_end(again);
	if (sink.say)
		sink.say(text, sink.arg);
	else
		write_line(text);
	pthread_mutex_unlock(&lock);
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
	_cleanup_free_ char *text = NULL;
	va_list ap;

	if (log_level < LOG_NORMAL)
		return;
	if (fmt) {
		va_start(ap, fmt);
		text = clean_text(fmt, ap);
		va_end(ap);
		if (!text)
			return;
	}
	pthread_mutex_lock(&lock);
	if (sink.progress)
		sink.progress(text, sink.arg);
	else if (text && isatty(STDERR_FILENO))
		fprintf(stderr, "\rmalloctrace: %s\033[K", text);
	else if (progress_shown)
		fputs("\r\033[K", stderr);
	fflush(stderr);
	progress_shown = text && !sink.progress && isatty(STDERR_FILENO);
	pthread_mutex_unlock(&lock);
}

void say_step(const char *fmt, ...)
{
	_cleanup_free_ char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	text = clean_text(fmt, ap);
	va_end(ap);
	pthread_mutex_lock(&lock);
	if (text && sink.step)
		sink.step(text, sink.arg);
	pthread_mutex_unlock(&lock);
}
