/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Plans, spots and what else is found in the code and the notes of a file, asked of the sandbox: see elf/apart.h. */
#ifndef MT_PLAN_APART_H
#define MT_PLAN_APART_H

#include "elf/apart.h"
#include "probe/plan.h"
#include "probe/spots.h"
#include "probe/verify.h"
#include "probe/within.h"

extern const struct reader_question plan_question, spots_question;

struct plan_request {
	bool lookalikes;	/* these alone, and no plan */
	bool asked;
	struct plan_want want;
	struct alloc_funcs funcs;
};

/* All as the functions whose place they take. */
void plan_apart__make(struct object *obj, const struct alloc_funcs *funcs, const struct plan_want *want, bool asked,
		      struct plan *ret, size_t *ret_n_symbols);
char *plan_apart__lookalikes(const struct object *obj, const struct alloc_funcs *funcs);
int spots_apart__find(struct spots *s, struct object *obj, const char *debug_dir, struct spot_points *ret, struct err *e);
int spots_apart__within(const struct spots *spots, struct object *obj, const struct spot_points *found, struct within *ret, struct err *e);

static inline bool spot_point__is_verified(const struct spot_point *p, const struct verified_point *v)
{
	return v->is & (p->counter ? POINT_USDT : POINT_START | POINT_RETURN | POINT_JUMP | POINT_USDT);
}

#endif
