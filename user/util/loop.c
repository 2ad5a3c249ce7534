// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns the epoll, the timers and the signalfd; other fds are their owners'. */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>

#include "util/loop.h"
#include "util/util.h"

struct source {
	int fd;			/* -1: removed, and freed once no event can be of it any more */
	bool timer, signals;	/* ours to read and close */
	bool once;		/* a timer */
	loop_fn fn;
	void (*signal_fn)(int sig, void *arg);
	void *arg;
};

struct loop {
	int epoll_fd;
	bool stop, has_removed;
	struct vec(struct source *) sources;
};

struct loop *loop__new(void)
{
	struct loop *l = xcalloc(1, sizeof(*l));

	l->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (l->epoll_fd < 0) {
		free(l);
		return NULL;
	}
	return l;
}

void loop__free(struct loop *l)
{
	if (!l)
		return;
	for (size_t i = 0; i < l->sources.n; i++) {
		struct source *s = l->sources.v[i];

		if ((s->timer || s->signals) && s->fd >= 0)
			close(s->fd);
		free(s);
	}
	vec_done(&l->sources);
	close(l->epoll_fd);
	free(l);
}

static int add(struct loop *l, const struct source *model)
{
	struct source *s = xmalloc(sizeof(*s));
	struct epoll_event ev = { .events = EPOLLIN };
	int err;

	*s = *model;
	*vec_push(&l->sources) = s;
	ev.data.ptr = s;
	if (!epoll_ctl(l->epoll_fd, EPOLL_CTL_ADD, s->fd, &ev))
		return 0;
	err = -errno;
	if (s->timer || s->signals)
		close(s->fd);
	l->sources.n--;
	free(s);
	return err;
}

int loop__add_fd(struct loop *l, int fd, loop_fn fn, void *arg)
{
	return add(l, &(struct source){ .fd = fd, .fn = fn, .arg = arg });
}

void loop__remove_fd(struct loop *l, int fd)
{
	epoll_ctl(l->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
	for (size_t i = 0; i < l->sources.n; i++)
		if (l->sources.v[i]->fd == fd)
			l->sources.v[i]->fd = -1;
	l->has_removed = true;
}

static void free_removed(struct loop *l)
{
	size_t n = 0;

	for (size_t i = 0; i < l->sources.n; i++) {
		if (l->sources.v[i]->fd >= 0)
			l->sources.v[n++] = l->sources.v[i];
		else
			free(l->sources.v[i]);
	}
	l->sources.n = n;
	l->has_removed = false;
}

int loop__add_timer(struct loop *l, uint64_t interval_ns, bool once, loop_fn fn, void *arg)
{
	struct timespec t = { interval_ns / SECOND_NS, interval_ns % SECOND_NS };
	struct itimerspec spec = { .it_value = t, .it_interval = once ? (struct timespec){} : t };
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);

	if (fd < 0 || timerfd_settime(fd, 0, &spec, NULL)) {
		int err = -errno;

		if (fd >= 0)
			close(fd);
		return err;
	}
	return add(l, &(struct source){ .fd = fd, .timer = true, .once = once, .fn = fn, .arg = arg });
}

void loop__remove_timer(struct loop *l, loop_fn fn, const void *arg)
{
	for (size_t i = 0; i < l->sources.n; i++) {
		const struct source *s = l->sources.v[i];
		int fd = s->fd;

		if (fd >= 0 && s->timer && s->fn == fn && s->arg == arg) {
			loop__remove_fd(l, fd);
			close(fd);
		}
	}
}

int loop__add_signals(struct loop *l, const sigset_t *set, void (*fn)(int sig, void *arg), void *arg)
{
	int fd;

	if (sigprocmask(SIG_BLOCK, set, NULL))
		return -errno;
	fd = signalfd(-1, set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (fd < 0)
		return -errno;
	return add(l, &(struct source){ .fd = fd, .signals = true, .signal_fn = fn, .arg = arg });
}

static void dispatch(struct loop *l, struct source *s)
{
	struct signalfd_siginfo info;
	int fd = s->fd;
	uint64_t n_ticks;

	if (s->fd < 0)
		return;
	if (s->signals) {
		while (read(s->fd, &info, sizeof(info)) == sizeof(info))
			s->signal_fn(info.ssi_signo, s->arg);
		return;
	}
	if (s->timer && read(s->fd, &n_ticks, sizeof(n_ticks)) != sizeof(n_ticks))
		return;
	if (s->once) {
		loop__remove_fd(l, fd);
		close(fd);
	}
	s->fn(s->arg);
}

int loop__run(struct loop *l, struct err *e)
{
	while (!l->stop) {
		struct epoll_event ev[16];
		int n = epoll_wait(l->epoll_fd, ev, ARRAY_SIZE(ev), -1);

		if (n < 0 && errno != EINTR)
			return err_set(e, -errno, "epoll: %s", strerror(errno));
		for (int i = 0; i < n && !l->stop; i++)
			dispatch(l, ev[i].data.ptr);
		if (l->has_removed)
			free_removed(l);
	}
	return 0;
}

void loop__stop(struct loop *l)
{
	l->stop = true;
}
