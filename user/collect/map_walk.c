// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns nothing. In batches: walking key by key starts over whenever the key at
 * hand is deleted meanwhile. What always holds: an entry that is there all the
 * time is seen once.
 */
#include "collect/map_walk.h"

#include <bpf/bpf.h>
#include <errno.h>

bool map_walk__next(struct map_walk *w, int fd, void *keys, void *values, uint32_t *n)
{
	uint64_t next = 0;
	int err = bpf_map_lookup_batch(fd, w->begun ? &w->at : NULL, &next, keys, values, n, NULL);

	if (err && errno != ENOENT) {
		*n = 0;
		return false;
	}
	w->at = next;
	w->begun = true;
	return !err;
}
