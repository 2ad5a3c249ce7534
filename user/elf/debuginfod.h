/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Debug files from a debuginfod server, if requested: nothing here
 * touches the network before debuginfod__get().
 */
#ifndef MT_DEBUGINFOD_H
#define MT_DEBUGINFOD_H

#include "util/err.h"

struct debuginfod;

struct debuginfod_calls {	/* any may be NULL */
	/* A download goes on: how much there is of how much (0: not known), at most a few times a second. */
	void (*progress)(const char *path, long done_bytes, long total_bytes, void *arg);
	/* It ended; err: 0, -ENOENT if no server has the file, else why it failed. */
	void (*done)(const char *path, int err, void *arg);
	void *arg;
};

/*
 * The servers are those of $DEBUGINFOD_URLS. Fails with what to do if it is not
 * set or libdebuginfod is not there.
 */
int debuginfod__new(const struct debuginfod_calls *calls, struct debuginfod **ret, struct err *e);
void debuginfod__free(struct debuginfod *d);

/*
 * An open debug file, which the caller owns, or -errno. Its build id is still to
 * be compared. path is for messages. Takes a bounded time; SIGINT and SIGTERM,
 * if blocked, end it. After a server that cannot be reached no server is asked
 * again.
 */
int debuginfod__get(struct debuginfod *d, const char *build_id, const char *path);

#endif
