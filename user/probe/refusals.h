/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Where calls of an allocator fail and neither their entry nor their return shows it (bpf/refusals.bpf.h). */
#ifndef MT_REFUSALS_H
#define MT_REFUSALS_H

#include "probe/plan.h"
#include "probe/spots.h"

/* May a function of this plan leave by an exception? */
bool refusals__may_throw(const struct plan *p, const struct alloc_funcs *funcs);
/* Does it have sizes from headers, so that functions that pass calls on are left out of it? */
bool refusals__may_pass_on(const struct plan *p);
/* Places in the plan's object; n 0: it has none. -ENOMEM */
int refusals__find(const struct plan *p, const struct alloc_funcs *funcs, struct spot_points *ret);

#endif
