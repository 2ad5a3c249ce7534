// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
#include "serve/ready.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "reader/reader.h"
#include "util/util.h"

#define WAIT_MS 20000

struct ready {
	char why[400];		/* empty: it is */
};

void ready__say(int fd, const char *why)
{
	struct ready r = {};

	snprintf(r.why, sizeof(r.why), "%s", why ? why : "");
	(void)!reader_socket__put(fd, &r, sizeof(r), -1, 0);
}

int ready__await(int fd, const char *who, struct err *e)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	struct ready r = {};
	int with = -1;
	ssize_t got = poll(&p, 1, WAIT_MS) > 0 ? reader_socket__get(fd, &r, sizeof(r), &with, MSG_DONTWAIT) : -1;

	if (with >= 0)
		close(with);
	if (got != sizeof(r))
		return err_set(e, -EIO, "%s: its process %s", who, got ? "is not ready in time" : "ended before it was ready");
	r.why[sizeof(r.why) - 1] = '\0';
	clean_name(r.why);
	return *r.why ? err_set(e, -EIO, "%s: %s", who, r.why) : 0;
}
