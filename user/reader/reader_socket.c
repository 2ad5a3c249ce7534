// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Bytes and a descriptor, over the sockets of readers and of their starter; for both sides. Owns nothing. */
#include <string.h>
#include <sys/socket.h>

#include "reader/reader.h"

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
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control) };
	ssize_t got = recvmsg(fd, &m, flags | MSG_CMSG_CLOEXEC);
	const struct cmsghdr *c = got < 0 ? NULL : CMSG_FIRSTHDR(&m);

	*ret_passed = -1;
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS && c->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(ret_passed, CMSG_DATA(c), sizeof(int));
	return got;
}
