/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* A hash map of the kernel's, visited a batch at a time. */
#ifndef MT_MAP_WALK_H
#define MT_MAP_WALK_H

#include <stdbool.h>
#include <stdint.h>

struct map_walk {		/* where it is; all zero: not begun */
	uint64_t at;
	bool begun;
};

/* The next entries; *n is the room for them, then how many there are. False: there are no more after them. */
bool map_walk__next(struct map_walk *w, int fd, void *keys, void *values, uint32_t *n);

#endif
