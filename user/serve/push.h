/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * --push: profiles to a server that cannot ask for them (Pyroscope's ingest). Sent by a process of its own, without rights, which
 * queues what the server does not take now.
 */
#ifndef MT_PUSH_H
#define MT_PUSH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "util/err.h"

#define PUSH_CHILD_NAME "malloctrace-push"

struct push_item {		/* a descriptor with the profile goes with it */
	int64_t from_s, until_s;	/* since 1970 */
};

struct push_counts {
	uint64_t pushed, failed, dropped;	/* profiles; attempts; profiles */
};

struct push {
	pid_t pid;
	int fd;			/* struct push_counts comes from here; -1: there is none */
	struct push_counts counts;
	uint64_t n_refused;	/* that the process did not even take */
};

/* name: the application's, as the server is to call it. It is ready then; libcurl may not be there. */
int push__start(const char *url, const char *name, struct push *ret, struct err *e);
void push__end(struct push *p);
/* fd stays the caller's. What cannot be taken is counted. */
void push__put(struct push *p, const struct push_item *item, int fd);
bool push__read_counts(struct push *p);	/* what has come by now; false: the process has ended */

int push_child__main(void);

#endif
