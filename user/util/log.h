/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Messages for the user, on stderr. Only the session and main print; libraries return errors. */
#ifndef MT_LOG_H
#define MT_LOG_H

#include <stdint.h>

enum log_level { LOG_QUIET = 0, LOG_NORMAL = 1, LOG_VERBOSE = 2 };

extern enum log_level log_level;

/* "malloctrace: ...\n" in one write, at NORMAL or above; say_verbose at VERBOSE; say_error always. */
void say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void say_verbose(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void say_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/*
 * What is going on, in a line that writes over itself: on a terminal, or where
 * messages go instead. NULL: it is over. At NORMAL or above.
 */
void say_progress(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* The same of a step of the start: a line is for a screen alone. */
void say_step(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/*
 * While a screen is up: messages go there, without "malloctrace: ", from any thread, one at a time; these functions say
 * nothing themselves. NULL: to stderr again, and the one before is called no more when this returns.
 */
struct log_sink {
	void (*say)(const char *text, void *arg);
	void (*progress)(const char *text, void *arg);	/* NULL text: it is over */
	void (*step)(const char *text, void *arg);	/* what begins now; over with the next one, or when nothing holds up the caller any more */
	void *arg;
};
void log__redirect(const struct log_sink *sink);

/* What a service says to systemd (sd_notify(3)): a datagram to the socket that NOTIFY_SOCKET names. Without one nothing is said. */

void notify__say(const char *state);	/* "READY=1" */
/* How often it wants to hear WATCHDOG=1, at least; 0: not at all. */
uint64_t notify__watchdog_ns(void);

#endif
