// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the inotify descriptor, and the thread. Objects outlive it: the session frees it before their table.
 *
 * The code that made a link closes it, some day, by its number. So the thread does not close that:
 * it puts /dev/null in its place, and closes the link under another number, for which it takes a
 * thread each, because the kernel needs some 50 ms to give one back, though the breakpoints are
 * gone at once; or nearly, as it waits for its readers first (6.18: more than 50 ms at times on a
 * busy machine, where others set uprobes, too).
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "probe/attach.h"
#include "probe/features.h"
#include "util/loop.h"
#include "util/util.h"

struct watched {
	int wd;
	const struct object *object;
};

struct probed {
	int fd;
	const struct object *object;
	bool anchor;
};

struct writes {
	int notify_fd, null_fd, reported_fd;
	struct ending end;	/* of the thread */
	pthread_t thread;
	pthread_mutex_t lock;	/* of all that follows */
	struct vec(struct watched) watched;
	struct vec(struct probed) links;
	struct vec(const struct object *) reported;
};

/* The number stays, and is /dev/null's. */
static void take_out(const struct writes *w, int fd)
{
	int moved = fcntl(fd, F_DUPFD_CLOEXEC, 0);

	if (moved < 0)
		return;
	if (dup3(w->null_fd, fd, O_CLOEXEC) < 0) {
		close(moved);
		return;
	}
	uprobe_multi__close(moved);
}

/* Once, however many steps of an attachment find out. */
static void report(struct writes *w, const struct object *obj)
{
	if (vec_first(one, &w->reported, *one == obj))
		return;
	*vec_push(&w->reported) = obj;
	eventfd_write(w->reported_fd, 1);
}

static void take_out_of(struct writes *w, const struct object *obj, bool anchors)
{
	size_t kept = 0;

	for (size_t i = 0; i < w->links.n; i++) {
		if (w->links.v[i].object == obj && w->links.v[i].anchor == anchors)
			take_out(w, w->links.v[i].fd);
		else
			w->links.v[kept++] = w->links.v[i];
	}
	w->links.n = kept;
}

/*
 * A number is an inode's, and several objects may be its versions. Anchors last (attach.h), but not after the kernel has given the
 * others back: an anchor is a breakpoint in the new code, too, and would be there for those 50 ms.
 */
static void on_written(struct writes *w, int wd)
{
	size_t kept = 0;

	for (size_t i = 0; i < w->watched.n; i++) {
		const struct object *obj = w->watched.v[i].object;

		if (w->watched.v[i].wd != wd) {
			w->watched.v[kept++] = w->watched.v[i];
			continue;
		}
		take_out_of(w, obj, false);
		take_out_of(w, obj, true);
		report(w, obj);
	}
	/* not IN_ONESHOT, with which a watch that is added at that moment may be the one that is about to go */
	if (kept < w->watched.n)
		inotify_rm_watch(w->notify_fd, wd);
	w->watched.n = kept;
}

/* The kernel has dropped records: any of them may have been written to. One without a number is never reported. */
static void on_overflow(struct writes *w)
{
	for (size_t i = 0; i < w->watched.n;) {
		if (w->watched.v[i].wd < 0) {
			i++;
		} else {
			on_written(w, w->watched.v[i].wd);
			i = 0;
		}
	}
}

static void read_writes(struct writes *w)
{
	char buf[16 * (sizeof(struct inotify_event) + NAME_MAX + 1)] __attribute__((aligned(8)));
	ssize_t n = read(w->notify_fd, buf, sizeof(buf));

	pthread_mutex_lock(&w->lock);
	for (ssize_t at = 0; at < n;) {
		const struct inotify_event *ev = (const struct inotify_event *)(buf + at);

		if (ev->mask & IN_MODIFY)
			on_written(w, ev->wd);
		if (ev->mask & IN_Q_OVERFLOW)
			on_overflow(w);
		at += (ssize_t)(sizeof(*ev) + ev->len);
	}
	pthread_mutex_unlock(&w->lock);
}

static void *wait_for_writes(void *arg)
{
	struct writes *w = arg;
	struct pollfd fds[] = { { w->notify_fd, POLLIN, 0 }, { w->end.fd, POLLIN, 0 } };

	while (poll(fds, 2, -1) >= 0 || errno == EINTR) {
		if (fds[1].revents)
			return NULL;
		if (fds[0].revents)
			read_writes(w);
	}
	return NULL;
}

/* Signals are the loop's. And it comes before others on a busy machine, if it may. */
static int start(struct writes *w)
{
	struct sched_param first = { .sched_priority = 1 };
	sigset_t all, before;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&w->thread, NULL, wait_for_writes, w);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (!err)
		pthread_setschedparam(w->thread, SCHED_RR, &first);
	return err;
}

static void close_all(struct writes *w)
{
	if (w->notify_fd >= 0)
		close(w->notify_fd);
	if (w->null_fd >= 0)
		close(w->null_fd);
	if (w->reported_fd >= 0)
		close(w->reported_fd);
	ending__close(&w->end);
	free(w);
}

struct writes *writes__new(void)
{
	struct writes *w = xcalloc(1, sizeof(*w));

	w->notify_fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	w->end = ENDING_NONE;
	w->null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	w->reported_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	pthread_mutex_init(&w->lock, NULL);
	if (w->notify_fd >= 0 && w->null_fd >= 0 && w->reported_fd >= 0 && !ending__open(&w->end) && !start(w))
		return w;
	close_all(w);
	return NULL;
}

void writes__free(struct writes *w)
{
	if (!w)
		return;
	ending__tell(&w->end);
	pthread_join(w->thread, NULL);
	vec_done(&w->watched);
	vec_done(&w->links);
	vec_done(&w->reported);
	pthread_mutex_destroy(&w->lock);
	close_all(w);
}

int writes__fd(const struct writes *w)
{
	return w ? w->reported_fd : -1;
}

static bool is_watched(const struct writes *w, const struct object *obj)
{
	return vec_first(one, &w->watched, one->object == obj);
}

/* The last one of these goes, and the number with it unless it is another's. */
static void unwatch_last(struct writes *w)
{
	int wd = w->watched.v[--w->watched.n].wd;

	if (wd >= 0 && !vec_first(other, &w->watched, other->wd == wd))
		inotify_rm_watch(w->notify_fd, wd);
}

static int watch(struct writes *w, struct object *obj)
{
	if (is_watched(w, obj))
		return 0;
	/* one that cannot be watched has no number, and is never reported */
	*vec_push(&w->watched) = (struct watched){ obj->fd_path ? inotify_add_watch(w->notify_fd, obj->fd_path, IN_MODIFY) : -1, obj };
	/* after the watch: what comes later is reported by it */
	if (!object__look_for_change(obj))
		return 0;
	unwatch_last(w);
	report(w, obj);
	return -ESTALE;
}

int writes__watch(struct writes *w, struct object *obj)
{
	int err;

	if (!w)
		return 0;
	pthread_mutex_lock(&w->lock);
	err = watch(w, obj);
	pthread_mutex_unlock(&w->lock);
	return err;
}

void writes__add_link(struct writes *w, const struct object *obj, int fd, bool anchor)
{
	if (!w)
		return;
	pthread_mutex_lock(&w->lock);
	if (is_watched(w, obj))
		*vec_push(&w->links) = (struct probed){ fd, obj, anchor };
	else
		take_out(w, fd);	/* it was written to while this link was made */
	pthread_mutex_unlock(&w->lock);
}

void writes__drop_link(struct writes *w, int fd)
{
	if (!w)
		return;
	pthread_mutex_lock(&w->lock);
	for (size_t i = 0; i < w->links.n; i++)
		if (w->links.v[i].fd == fd) {
			w->links.v[i] = w->links.v[--w->links.n];
			break;
		}
	pthread_mutex_unlock(&w->lock);
}

const struct object *writes__next(struct writes *w)
{
	const struct object *obj = NULL;
	eventfd_t n;

	if (!w)
		return NULL;
	pthread_mutex_lock(&w->lock);
	eventfd_read(w->reported_fd, &n);
	if (w->reported.n)
		obj = w->reported.v[--w->reported.n];
	pthread_mutex_unlock(&w->lock);
	return obj;
}
