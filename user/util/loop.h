/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* One epoll: everything that malloctrace waits for. */
#ifndef MT_LOOP_H
#define MT_LOOP_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <unistd.h>

#include "util/err.h"

typedef void (*loop_fn)(void *arg);

struct loop;

struct loop *loop__new(void);
void loop__free(struct loop *l);

/* fn is called while fd is readable. The fd stays the caller's. */
int loop__add_fd(struct loop *l, int fd, loop_fn fn, void *arg);
void loop__remove_fd(struct loop *l, int fd);
/* fn every interval_ns, first after that time; once: only then. */
int loop__add_timer(struct loop *l, uint64_t interval_ns, bool once, loop_fn fn, void *arg);
/* The one that was added with these two; no-op if there is none. */
void loop__remove_timer(struct loop *l, loop_fn fn, const void *arg);
/* fn(signal): the signals of the set are blocked and arrive here. */
int loop__add_signals(struct loop *l, const sigset_t *set, void (*fn)(int sig, void *arg), void *arg);

/* Until loop__stop(). */
int loop__run(struct loop *l, struct err *e);
void loop__stop(struct loop *l);

/*
 * Tells a thread that polls that it is over, in a way that cannot fail: who joins it would wait for good. Not a write, which may be
 * refused; nor the end of a pipe, which does not come as long as a child of a fork has the pipe, too.
 */

struct ending {
	int fd;		/* owned; to be polled for POLLIN: anything means the end. -1: none */
	int other;	/* owned */
};

#define ENDING_NONE ((struct ending){ -1, -1 })

/* -1 and errno */
static inline int ending__open(struct ending *ret)
{
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds))
		return -1;
	*ret = (struct ending){ fds[0], fds[1] };
	return 0;
}

static inline void ending__tell(const struct ending *e)
{
	shutdown(e->other, SHUT_RDWR);
}

static inline void ending__close(struct ending *e)
{
	if (e->fd >= 0)
		close(e->fd);
	if (e->other >= 0)
		close(e->other);
	*e = ENDING_NONE;
}

#endif
