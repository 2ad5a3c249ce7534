/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * What a stack should be: a list of words, one per frame from the allocation's caller on.
 *   name      this function; "a|b": one of them
 *   name*N    it, N times
 *   ~name     this one, or a frame without a name: C libraries are stripped
 *   ?         a frame without a name
 *   +         at least one frame of somebody else's code
 */
#ifndef LT_CHAIN_H
#define LT_CHAIN_H

#include "lt.h"

/* Does the whole stack fit? ret_at: the first frame that does not, or the number of frames. */
bool chain__fits(const char *const *word, json_t *stack, size_t *ret_at);
/* Is the name, without a C++ function's arguments, one of "a|b"? */
bool chain__one_of(const char *names, const char *got);
const char *chain__draw(json_t *stack);	/* as text; valid until the next call */
/* Another tracer's return probe in one process; counts its hits, to be read and closed. */
int other_uretprobe(struct test *t, const char *path, uint64_t offset, pid_t pid);

#endif
