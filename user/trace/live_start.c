// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the thread that has the terminal until the trace begins. Loading and
 * attaching are system calls that may take seconds: a loop that they are part of
 * would answer no key.
 *
 * What always holds: signals and keys that arrive here are handled here or end
 * the program; those that arrive later are the loop's.
 */
#include "trace/live_start.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "present/top/term.h"
#include "util/ending.h"
#include "util/util.h"

#define REDRAW_MS 250	/* ages go on */

struct starting {
	struct starting_calls calls;
	int said_fd, signal_fd;
	struct ending end;	/* of the thread */
	pthread_t thread;
};

static void on_keys(struct starting *s)
{
	struct term_event ev;
	bool any = false;

	while (term__read(&ev)) {
		any = true;
		if (ev.mouse)
			continue;
		if (ev.key == 'q' || ev.key == 'Q')
			s->calls.quit(s->calls.arg);
		if (ev.key == TOP_KEY_REDRAW)
			term__repaint();
	}
	if (!any && term__gone())
		s->calls.quit(s->calls.arg);
}

static void on_signals(struct starting *s)
{
	struct signalfd_siginfo info;

	while (read(s->signal_fd, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGWINCH)
			term__resized();
		else if (info.ssi_signo == SIGTSTP)
			term__stop();
		else
			s->calls.quit(s->calls.arg);
	}
}

static void *show_progress(void *arg)
{
	struct starting *s = arg;
	uint64_t n;

	for (;;) {
		struct pollfd fds[] = {
			{ s->end.fd, POLLIN, 0 }, { s->signal_fd, POLLIN, 0 }, { term__input_fd(), POLLIN, 0 }, { s->said_fd, POLLIN, 0 },
		};

		s->calls.draw(s->calls.arg);
		if (poll(fds, ARRAY_SIZE(fds), REDRAW_MS) < 0 && errno != EINTR)
			return NULL;
		if (fds[0].revents)
			return NULL;
		if (fds[1].revents)
			on_signals(s);
		if (fds[2].revents)
			on_keys(s);
		if (fds[3].revents && read(s->said_fd, &n, sizeof(n)) < 0)
			return NULL;
	}
}

int starting__begin(const struct starting_calls *calls, int said_fd, struct starting **ret, struct err *e)
{
	struct starting *s = calloc(1, sizeof(*s));
	sigset_t set;
	int err;

	if (!s)
		return err_set(e, -ENOMEM, "out of memory");
	s->calls = *calls;
	s->end = ENDING_NONE;
	s->said_fd = said_fd;
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGTSTP);
	sigaddset(&set, SIGWINCH);
	s->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	err = s->signal_fd < 0 || ending__open(&s->end) ? errno : pthread_create(&s->thread, NULL, show_progress, s);
	if (!err) {
		*ret = s;
		return 0;
	}
	if (s->signal_fd >= 0)
		close(s->signal_fd);
	ending__close(&s->end);
	free(s);
	return err_set(e, -err, "the live view: %s", strerror(err));
}

void starting__end(struct starting *s)
{
	if (!s)
		return;
	ending__tell(&s->end);
	pthread_join(s->thread, NULL);
	close(s->signal_fd);
	ending__close(&s->end);
	free(s);
}
