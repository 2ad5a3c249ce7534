/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* What waits to be pushed: bounded; the oldest go first, in both ways. And when the next attempt is due. */
#ifndef MT_PUSH_QUEUE_H
#define MT_PUSH_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "serve/push.h"

#define PUSH_ITEMS_MAX 240		/* an hour, at one every 15 s */
#define PUSH_BYTES_MAX (64ull << 20)
#define PUSH_WAIT_MIN_NS (1000000000ull)
#define PUSH_WAIT_MAX_NS (60 * 1000000000ull)

struct queued {
	struct push_item item;
	int fd;			/* owned */
	uint64_t bytes;
};

struct push_queue {
	struct queued v[PUSH_ITEMS_MAX];
	size_t first, n;
	uint64_t bytes;
	uint64_t wait_ns;	/* after the next failure */
	uint64_t due_ns;	/* not before */
};

/* fd is the queue's from now on. How many were dropped for it: others, or itself if it is too large. */
size_t push_queue__put(struct push_queue *q, const struct push_item *item, int fd, uint64_t bytes);
struct queued *push_queue__first(struct push_queue *q);	/* NULL: it is empty */
void push_queue__done_first(struct push_queue *q);	/* it was taken, or will never be */
/* An attempt failed, or did not; random: any number. Each failure doubles the wait, of which up to half is left to chance. */
void push_queue__failed(struct push_queue *q, uint64_t now_ns, uint64_t random);
void push_queue__worked(struct push_queue *q);

/* URL of the server → that of its ingest: ?name=...&from=...; the caller's. NULL without memory. */
char *push__url(const char *url, const char *name, const struct push_item *item);

#endif
