/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* The weights of formats that have several of them side by side. */
#ifndef MT_WEIGHTS_H
#define MT_WEIGHTS_H

#include "model/snapshot.h"

#define WEIGHTS_MAX 8

/*
 * All that is known, the metric that was requested first. With --mode growth,
 * resident memory and address space apart: a sum of both would mean nothing.
 */
size_t weights__of(const struct snapshot *s, const struct metric *first, const struct metric *ret[static WEIGHTS_MAX]);
uint64_t weights__sum(const struct snapshot *s, const struct metric *m);

#endif
