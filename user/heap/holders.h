/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Who holds what: words outside of the heap, put together by what they belong to. */
#ifndef MT_HOLDERS_H
#define MT_HOLDERS_H

#include "heap/parts.h"
#include "heap/reach.h"

struct holders {
	struct vec(struct snap_root) v;	/* the most bytes first; strings are those of parts */
	uint32_t *of_root;	/* owned; of each root of the result: index into v + 1 */
};

/* parts outlives it. -ENOMEM */
int holders__make(const struct reach_result *r, struct parts *parts, struct holders *ret);
void holders__done(struct holders *h);
/* Of a block of the result; NULL: nobody, or it is not known. */
const struct snap_root *holders__of(const struct holders *h, const struct reach_result *r, size_t block);
/* The first of them, into the snapshot. */
void holders__put(const struct holders *h, struct snapshot *s, struct snap_heap *to);

#endif
