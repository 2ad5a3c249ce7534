// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns nothing. The protocol is this small: libsystemd would be a library more for one datagram. */
#include "util/notify.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "util/parse.h"
#include "util/util.h"

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
