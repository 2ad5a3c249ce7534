// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns what is known of an end that is asked for. What always holds: nobody on the other side decides how long it takes. */
#include "reader/talk.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "reader/reader.h"
#include "util/signals.h"
#include "util/util.h"

#define LOOK_NS (50 * MS_NS)	/* how often it is looked whether an end is asked for */

static struct {			/* atomic, both */
	int hurry;
	uint64_t at_ns;		/* of readers__end_at() */
} ends;

void wait__for_part(struct wait *w)
{
	uint64_t part_until_ns = now_ns() + w->part_ns, all_until_ns = w->begun_ns + WAIT_ANSWER_NS;

	w->is_last = all_until_ns < part_until_ns;
	w->until_ns = MIN(part_until_ns, all_until_ns);
}

static bool is_end(const struct wait *w)
{
	uint64_t now = now_ns(), end_ns = __atomic_load_n(&ends.at_ns, __ATOMIC_RELAXED);

	return (end_ns && now >= MAX(end_ns, w->begun_ns) + w->grace_ns) ||
	       (now - w->begun_ns > WAIT_LONG_NS && (signal_asks_for_end() || __atomic_load_n(&ends.hurry, __ATOMIC_RELAXED)));
}

bool readers__is_end(uint64_t begun_ns)
{
	return is_end(&(struct wait){ .begun_ns = begun_ns });
}

enum outcome wait__judge(const struct wait *w)
{
	return is_end(w) ? CALLED_OFF : now_ns() >= w->until_ns ? LATE : ANSWERED;
}

void readers__hurry(bool on)
{
	__atomic_fetch_add(&ends.hurry, on ? 1 : -1, __ATOMIC_RELAXED);
}

void readers__end_at(uint64_t ns)
{
	__atomic_store_n(&ends.at_ns, ns, __ATOMIC_RELAXED);
}

/* Until the socket can be read from, or written to. */
static enum outcome wait_for(int fd, short events, const struct wait *w)
{
	struct pollfd p = { .fd = fd, .events = events };

	for (;;) {
		enum outcome o = wait__judge(w);
		int n;

		if (o != ANSWERED)
			return o;
		n = poll(&p, 1, LOOK_NS / MS_NS);
		if (n > 0)
			return ANSWERED;
		if (n < 0 && errno != EINTR)
			return DIED;
	}
}

static bool try_again(void)
{
	return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

enum outcome talk__put(int fd, const void *bytes, size_t n, int passed, const struct wait *w)
{
	for (size_t done = 0; done < n;) {
		ssize_t put = reader_socket__put(fd, (const char *)bytes + done, n - done, done ? -1 : passed, MSG_DONTWAIT);
		enum outcome o;

		if (put >= 0) {
			done += (size_t)put;
			continue;
		}
		if (!try_again())
			return DIED;
		o = wait_for(fd, POLLOUT, w);
		if (o != ANSWERED)
			return o;
	}
	return ANSWERED;
}

enum outcome talk__get(int fd, void *bytes, size_t n, const struct wait *w)
{
	for (size_t done = 0; done < n;) {
		ssize_t got = recv(fd, (char *)bytes + done, n - done, MSG_DONTWAIT);
		enum outcome o;

		if (got > 0) {
			done += (size_t)got;
			continue;
		}
		if (!got || !try_again())
			return DIED;
		o = wait_for(fd, POLLIN, w);
		if (o != ANSWERED)
			return o;
	}
	return ANSWERED;
}

/* ---- for both sides: bytes and a descriptor */

ssize_t reader_socket__put(int fd, const void *bytes, size_t n, int passed, int flags)
{
	union {
		char room[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = {};
	struct iovec v = { (void *)bytes, n };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1 };

	if (passed >= 0) {
		m.msg_control = &control;
		m.msg_controllen = sizeof(control);
		*CMSG_FIRSTHDR(&m) = (struct cmsghdr){ .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof(int)) };
		memcpy(CMSG_DATA(CMSG_FIRSTHDR(&m)), &passed, sizeof(passed));
	}
	return sendmsg(fd, &m, flags | MSG_NOSIGNAL);
}

ssize_t reader_socket__get(int fd, void *bytes, size_t n, int *ret_passed, int flags)
{
	union {
		char room[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = {};
	struct iovec v = { bytes, n };
	/* with the padding, room for two: the kernel closes what has none */
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = CMSG_LEN(sizeof(int)) };
	ssize_t got = recvmsg(fd, &m, flags | MSG_CMSG_CLOEXEC);
	const struct cmsghdr *c = got < 0 ? NULL : CMSG_FIRSTHDR(&m);

	*ret_passed = -1;
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS && c->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(ret_passed, CMSG_DATA(c), sizeof(int));
	return got;
}
