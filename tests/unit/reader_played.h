/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* For tests that play the reader: each of them is a process of its own. */
#ifndef MT_READER_PLAYED_H
#define MT_READER_PLAYED_H

#include <criterion/criterion.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "reader/reader.h"

/* What was told of files that were lost: how often, and the last of it. */
static unsigned int n_told;
static char told[1024];
static bool told_figures;

static inline void on_lost(const char *path, const char *why, bool in_figures)
{
	n_told++;
	told_figures = in_figures;
	snprintf(told, sizeof(told), "%s: %s", path ? path : "all", why);
}

static int peer = -1;		/* the reader's end */

static inline void play_reader(void)
{
	int pair[2];

	if (peer >= 0)
		close(peer);
	cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	peer = pair[1];
	readers__lend(pair[0]);
}

static inline void say_frame(uint32_t what, int err, const void *bytes, uint64_t len)
{
	struct reader_head head = { what, err, len };

	cr_assert_eq(write(peer, &head, sizeof(head)), (ssize_t)sizeof(head));
	if (bytes)
		cr_assert_eq(write(peer, bytes, len), (ssize_t)len);
}

#endif
