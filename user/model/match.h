/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Numbers for stacks of (file name of the module, function), the same in two profiles: what diff compares by. */
#ifndef MT_MATCH_H
#define MT_MATCH_H

#include "model/snapshot.h"
#include "util/ids.h"

struct matcher {
	struct string_ids strings;
	struct key_ids frames;	/* (module, name or offset, which of them) */
	struct key_ids stacks;	/* (number + 1 of the stack without its last frame, that frame) */
	struct key_ids rows;	/* the number of a whole stack; the process's name; the kind of growth */
	bool by_comm;		/* one of the two has processes of several names: rows are kept apart by them */
};

void matcher__init(struct matcher *m, const struct snapshot *before, const struct snapshot *after);
void matcher__done(struct matcher *m);
/* Its number, and whether it is the first time. */
void matcher__row(struct matcher *m, const struct snapshot *s, const struct snap_site *site, uint32_t *ret,
		 bool *ret_new);

#endif
