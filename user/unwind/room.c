// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns which parts of an array are free. */
#include <errno.h>

#include "unwind/room.h"

void room__init(struct room *r, uint32_t n)
{
	struct extent *e = vec_push(&r->free);

	*e = (struct extent){ 0, n };
}

bool room__take(struct room *r, uint32_t n, struct extent *ret)
{
	for (size_t i = 0; i < r->free.n; i++) {
		struct extent *e = &r->free.v[i];

		if (e->n < n)
			continue;
		*ret = (struct extent){ e->at, n };
		e->at += n;
		e->n -= n;
		return true;
	}
	return false;
}

void room__give_back(struct room *r, struct extent e)
{
	struct extent *slot;

	if (!e.n)
		return;
	for (size_t i = 0; i < r->free.n; i++) {
		struct extent *f = &r->free.v[i];

		if (f->at == e.at + e.n) {
			f->at = e.at;
			f->n += e.n;
			return;
		}
		if (f->at + f->n == e.at) {
			f->n += e.n;
			return;
		}
	}
	slot = vec_push(&r->free);
		*slot = e;
}

void room__done(struct room *r)
{
	vec_done(&r->free);
}
