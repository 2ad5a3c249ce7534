/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Sites that would have the same name in a list, and what is added to it:
 *
 *	parse:120			another line of the same function
 *	leaf_183 < mid_4		another caller
 *	leaf_183 < … < top_2		another caller further out: those between are the same
 */
#ifndef MT_ALIKE_H
#define MT_ALIKE_H

#include <stddef.h>
#include <stdint.h>

#include "model/snapshot.h"

struct alike_site {
	const struct snap_site *site;
	size_t at;		/* its telling frame's number */
	struct frame frame;	/* and that frame; place NULL: no stack */
	struct alike_frame *frames;	/* alike.c's own, while it works */
	size_t n_frames;
	char *name;		/* given to those that are alike others; the caller's. NULL: it is its frame's (frame__own_name) */
};

/*
 * Those that would have the same name have the same key, never 0. Sites of different processes are never alike: their rows say
 * whose they are.
 */
uint64_t alike__key(const struct snap_site *site, const struct frame *telling);
/* All sites of one key. */
void alike__tell_apart(const struct snapshot *s, struct alike_site *v, size_t n);

#endif
