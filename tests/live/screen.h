/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * A terminal for tests: a person's keys are sent through tmux, and what is on the
 * screen is read. A key that came to nothing shows as a text that does not come: each
 * has a limit of its own.
 */
#ifndef MT_LIVE_SCREEN_H
#define MT_LIVE_SCREEN_H

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lt.h"

#define COME_S patience_s(60)
#define LOOK_MS 40	/* between two looks at the screen */

struct screen {
	struct fx fx;
	char socket[192];
};

/* What tmux says to a command; arguments end with NULL. */
static inline char *tmux(struct test *t, const struct screen *s, const char *arg, ...)
{
	struct spawn how = { .argv = { "/usr/bin/tmux", "-S", s->socket, "-f", "/dev/null", arg }, .env = { "LC_ALL=C.UTF-8", "TERM=xterm-256color" } };
	struct child c;
	va_list ap;

	va_start(ap, arg);
	for (unsigned int n = 6; n < 60 && (how.argv[n] = va_arg(ap, const char *)); n++)
		;
	va_end(ap);
	child__start(t, &c, &how);
	must(t, !child__wait(t, &c), "tmux %s: %s", arg, c.errs.s);
	return c.outs.s;
}

static inline void keys(struct test *t, struct screen *s, const char *a)
{
	tmux(t, s, "send-keys", a, NULL);
}

static inline void type(struct test *t, struct screen *s, const char *text)
{
	tmux(t, s, "send-keys", "-l", text, NULL);
}

static inline char *look(struct test *t, struct screen *s)
{
	return tmux(t, s, "capture-pane", "-p", NULL);
}

static inline uint64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

/* All of these are on the screen at once, before the limit is over. A leading '!': it is not there. */
static inline void comes(struct test *t, struct screen *s, const char *text, ...)
{
	uint64_t until = now_ms() + COME_S * 1000ull;
	const char *missing = NULL;
	char *seen;

	do {
		const char *want = text;
		va_list ap;

		seen = look(t, s);
		missing = NULL;
		va_start(ap, text);
		for (; want && !missing; want = va_arg(ap, const char *))
			if (*want == '!' ? !!strstr(seen, want + 1) : !strstr(seen, want))
				missing = want;
		va_end(ap);
		if (!missing)
			break;
		free(seen);
		seen = NULL;
		poll(NULL, 0, LOOK_MS);
	} while (now_ms() < until);
	if (!seen)
		seen = look(t, s);
	must(t, !missing, "did not come: %s. The screen is:\n%s", missing, seen);
	want(t, true, "%s came", text);
	free(seen);
}

#define COMES(...) comes(t, &s, __VA_ARGS__, NULL)

/* A shell line in a terminal of this size. */
static inline void begin_shell(struct test *t, struct screen *s, const char *cols, const char *rows, const char *line)
{
	static unsigned int n;

	/* a server that was told to go may still be there */
	snprintf(s->socket, sizeof(s->socket), "%s/tmux-%u", t->dir, n++);
	if (access("/usr/bin/tmux", X_OK))
		skip(t, "there is no tmux");
	tmux(t, s, "new-session", "-d", "-x", cols, "-y", rows, line, NULL);
}

/* malloctrace over the fixture, then its exit status, in a terminal that stays. */
static inline void begin(struct test *t, struct screen *s, const char *cols, const char *rows, const char *env, const char *more)
{
	char line[2048];

	fx__start(t, &s->fx, "screen", NULL);
	snprintf(line, sizeof(line), "cd %s; stty -a > before; %s %s -p %d %s; status=$?; stty -a > after; echo EXIT $status; exec cat", t->dir, env, lt_bin,
		 (int)s->fx.c.pid, more);
	begin_shell(t, s, cols, rows, line);
	/* what is allocated from now on is seen */
	comes(t, s, strstr(env, "dumb") ? "attached" : "losses none", NULL);
}

static inline void end(struct test *t, struct screen *s)
{
	size_t n;
	char *before = read_all(in_dir(t, "before"), &n), *after = read_all(in_dir(t, "after"), &n);
	/* behind its size */
	const char *was = before ? strstr(before, "intr") : NULL, *is = after ? strstr(after, "intr") : NULL;

	want(t, was && is && !strcmp(was, is), "the terminal is as it was: %s, now %s", before, after);
	tmux(t, s, "kill-server", NULL);
	free(before);
	free(after);
}

#endif
