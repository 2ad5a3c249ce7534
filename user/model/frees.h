/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* --free-stacks: where blocks were freed, and what becomes of that when sites become others. */
#ifndef MT_FREES_H
#define MT_FREES_H

#include "model/life.h"
#include "model/snapshot.h"

/*
 * Cut → snapshot, which has its processes and sites already: those of the cut, then those
 * of lives that left the tables. process_of_proc: number of the process's row + 1, 0: it
 * has none.
 */
void frees__build(struct snapshot *s, struct model *m, const struct cut *cut, const uint32_t *process_of_proc,
		 const struct model_calls *calls);

/* In place: rows that have become the same are one. How many there are then. */
size_t frees__join(struct snap_free *v, size_t n);

/* Nothing is reported of frees. */
void frees__drop(struct snapshot *s);

#endif
