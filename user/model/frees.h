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

/*
 * The rows of another snapshot, whose sites and places became those of `to`: site_of by
 * site, FREES_GONE: it is not there any more, and its frees are not either; process_of by
 * process, place_of by place, each NULL: the same. Free sites that have become the same
 * are one.
 */
#define FREES_GONE UINT32_MAX
struct frees_map {
	const uint32_t *site_of, *process_of, *place_of;
};
void frees__map(struct snapshot *to, const struct snapshot *from, const struct frees_map *map);

/* Nothing is reported of frees. */
void frees__drop(struct snapshot *s);

#endif
