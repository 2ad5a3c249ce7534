/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * How long a file may be worked on. Files are the targets', and can be made to take for ever: tables that lie over one another,
 * names without an end, lists in circles. Each loop that a file decides the length of asks here whether to leave off.
 *
 * A stint is all that is done with a file at a stretch. It has seconds of CPU time, which no file that somebody uses takes; once
 * such stints have taken many seconds in all, each has less. After a moment it is also over when a user asks for the end.
 */
#ifndef MT_STINT_H
#define MT_STINT_H

#include <stdbool.h>
#include <stdint.h>

struct stint {
	bool is_outer;
};

/* To the end of the block that it stands in. One within another is a part of that. */
#define _cleanup_stint_ __attribute__((cleanup(stint__end), unused))

struct stint stint__begin(void);
void stint__end(struct stint *s);
/* One with a time of its own, which takes nothing from others: where a file without an answer would be without probes. */
struct stint stint__begin_for(uint64_t most_ns);
/* True, and from then on: leave off, with what there is. Outside of all stints never. */
bool stint__is_over(void);

#endif
