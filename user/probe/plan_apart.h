/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Plans, spots and what else is found in the code and the notes of a file, asked of a reader: see elf/apart.h. */
#ifndef MT_PLAN_APART_H
#define MT_PLAN_APART_H

#include "elf/apart.h"
#include "probe/plan.h"
#include "probe/spots.h"
#include "probe/within.h"

/* ---- the questions; all as the functions whose place they take */

int plan_apart__make(struct object *obj, const struct alloc_funcs *funcs, const struct plan_want *want, bool asked, struct plan *ret,
		     size_t *ret_n_symbols, struct err *e);
int loader_apart__find(const struct object *obj, struct spot_points *ret);
int refusals_apart__find(const struct plan *p, const struct alloc_funcs *funcs, struct spot_points *ret);
char *lookalikes_apart__of(const struct object *obj, const struct alloc_funcs *funcs);
int spots_apart__find(struct spots *s, struct object *obj, const char *debug_dir, struct spot_points *ret, struct err *e);
int within_apart__find(const struct spots *spots, struct object *obj, const struct spot_points *found, struct within *ret, struct err *e);
void closest_apart__look(struct closest *c, const struct spot *s, struct object *obj);

/* ---- the answers */

reader_serve_fn plan_apart__serve, loader_apart__serve, refusals_apart__serve, lookalikes_apart__serve;
reader_serve_fn spots_apart__serve, within_apart__serve, closest_apart__serve;

/* ---- for both */

void alloc_funcs__put(struct wire *w, const struct alloc_funcs *funcs);
/* In a reader, which can trust malloctrace. Names are those of the request; free ret->v. */
int alloc_funcs__get(struct wire_in *in, struct alloc_funcs *ret);

void spot_points__put(struct wire *w, const struct spot_points *p);
/* Each is in code that is in the file; -ENOMEM. */
int spot_points__get(struct wire_in *in, const struct object *obj, struct spot_points *ret);

#endif
