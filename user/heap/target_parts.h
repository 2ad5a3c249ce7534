/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* What target.c and target_stop.c, and the readers of heaps share. */
#ifndef MT_TARGET_PARTS_H
#define MT_TARGET_PARTS_H

#include "heap/target.h"

/* Has it ended, or become another program? What was read until now may be of both then. */
bool target__is_gone(struct target *t);
/* Some bytes at n addresses, each within a page that is there; of those that went away meanwhile: zeros. */
void target__read_heads(struct target *t, const uint64_t *addrs, size_t n, void *to, size_t bytes);

#endif
