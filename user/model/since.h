/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* What was allocated and freed between two snapshots of one trace, stack by stack. */
#ifndef MT_SINCE_H
#define MT_SINCE_H

#include "model/snapshot.h"

/*
 * The later one, whose counts are those since the earlier one, and whose live figures are what they changed by. A difference below 0, which live bytes may have,
 * is its two's complement, as pprof takes it; sites that were there and are gone are left out. Strings, places and
 * modules remain those of `after`, which must outlive it; `before` need not.
 */
struct snapshot *snapshot__since(const struct snapshot *before, const struct snapshot *after);

/* What processes held that have ended is nobody's memory any more: sites of theirs hold nothing, in place. */
void snapshot__free_ended(struct snapshot *s);

#endif
