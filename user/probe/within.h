/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* --within: where functions outside of which nothing is recorded begin and end. bpf/within.bpf.h has the idea. */
#ifndef MT_WITHIN_H
#define MT_WITHIN_H

#include "bpf/abi.h"
#include "probe/spots.h"

struct within {			/* of one file */
	struct mt_within_list ranges;	/* n 0: it has none */
	bool inlined;			/* some are inlined copies */
	struct spot_points points;	/* owned; cookies without the number of the list */
};

/* Of what spots__find() found in obj, those that are MT_SPOT_WITHIN_ENTER. -E2BIG: too many in one file. */
int within__find(const struct spots *s, struct object *obj, const struct spot_points *found,
		 struct within *ret, struct err *e);
void within__done(struct within *w);
/* The list that the kernel will have the ranges in. */
void within__number(struct within *w, uint32_t list);

#endif
