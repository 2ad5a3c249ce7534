/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Tells a thread that polls that it is over, in a way that cannot fail: who joins it would wait for good. Not a write, which may be
 * refused; nor the end of a pipe, which does not come as long as a child of a fork has the pipe, too.
 */
#ifndef MT_ENDING_H
#define MT_ENDING_H

#include <sys/socket.h>
#include <unistd.h>

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
