// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the level of talk, and where it goes. One message is one write, so that lines of several
 * processes do not mix; any thread may talk. What a message names (a command, a path, a process) may have
 * been called anything: no escape code gets from there to a terminal.
 */
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>

#include "util/log.h"
#include "util/parse.h"
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
	char *text = xvasprintf(fmt, ap);

	clean_message(text);
	return text;
}

static void write_line(const char *text)
{
	struct iovec line[] = { { "malloctrace: ", 13 }, { (char *)text, strlen(text) }, { "\n", 1 } };

	/* what is going on stands in a line that has not ended */
	if (progress_shown) {
		fputs("\r\033[K", stderr);
		fflush(stderr);
	}
	progress_shown = false;
	if (writev(STDERR_FILENO, line, ARRAY_SIZE(line)) < 0) {
		/* nothing reads it any more */
	}
}

static void put(const char *fmt, va_list ap)
{
	_cleanup_free_ char *text = clean_text(fmt, ap);

	pthread_mutex_lock(&lock);
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
	if (sink.step)
		sink.step(text, sink.arg);
	pthread_mutex_unlock(&lock);
}

/* ---- the service manager */

/* Owns nothing. The protocol is this small: libsystemd would be a library more for one datagram. */

void notify__say(const char *state)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	size_t len = path ? strlen(path) : 0;
	_cleanup_close_ int fd = -1;

	if (!len || len >= sizeof(to.sun_path) || (*path != '/' && *path != '@'))
		return;
	memcpy(to.sun_path, path, len);
	/* a name that no file system has */
	if (*path == '@')
		to.sun_path[0] = '\0';
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	/* a service manager that does not listen changes nothing for us */
	if (fd >= 0)
		(void)!sendto(fd, state, strlen(state), MSG_NOSIGNAL | MSG_DONTWAIT, (const struct sockaddr *)&to, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len));
}

uint64_t notify__watchdog_ns(void)
{
	const char *usec = getenv("WATCHDOG_USEC");
	uint64_t n;

	return usec && !parse_u64(usec, 1, UINT64_MAX / 1000, &n) ? n * 1000 : 0;
}
