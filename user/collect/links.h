/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* --free-stacks: the kernel's table of which thread frees which blocks where, as rows of a cut. For collect/ alone. */
#ifndef MT_LINKS_H
#define MT_LINKS_H

#include "collect/scan.h"
#include "collect/sweep.h"
#include "model/cut.h"
#include "util/util.h"

struct links {
	const struct tables *tables;	/* not owned */
	struct mt_freed (*rest)[2];	/* by place: what each bank held when it last came to rest */
	uint32_t *seen;		/* by site number: the cut that has it among its wheres */
	uint32_t n_cuts;
	struct vec(struct snap_free) frees;
	struct vec(struct snap_site) wheres;
};

void links__init(struct links *l, const struct tables *t);
void links__done(struct links *l);
/* The bank has come to rest. first_spare: from this number on sites are those of what found no room. */
void links__read(struct links *l, uint32_t bank, uint32_t first_spare, struct cut *cut);
/* The rows of processes that this sweep was for are given back, before their sites are. */
void links__release(struct links *l, uint32_t first_spare, const struct sweep *sweep);

#endif
