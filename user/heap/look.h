/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* A look at a heap under way, for the files that it is made of: heap.c its order, of_sites.c what sites get, block_list.c --view blocks. */
#ifndef MT_LOOK_H
#define MT_LOOK_H

#include <signal.h>

#include "heap/heap.h"
#include "heap/holders.h"
#include "heap/kinds.h"
#include "heap/traced.h"

struct look {
	const struct heap_opts *o;
	struct snapshot *s;
	struct snap_heap *h;
	struct target target;
	struct glibc glibc;
	struct traced traced;
	struct kinds *kinds;
	struct parts *parts;
	/* state and root are NULL where pointers were not searched for */
	struct reach_result reach;	/* reach.first: the blocks that all else is about */
	struct holders holders;
	/* blocks whose kinds were looked up, by address: indexes, and what was found */
	struct vec(uint32_t) chosen;
	const struct kind **kind_of;	/* owned */
	uint8_t *for_size;	/* owned; of each of these: it stands for its size, and is not there for a site alone */
	struct sigaction was[3];	/* what signals that stop us did before; if holds_stops */
	bool holds_stops;
	bool moved_too_fast;	/* for a second census */
	struct target_calls calls;	/* those of o, and yet it goes on */
	bool has_census;	/* one of them held */
	bool rested;		/* nothing ran while the first one was taken */
	struct err refused;	/* owned: why there is no census */
};

static inline bool look__is_unreached(const struct look *l, size_t block)
{
	return l->reach.state && l->reach.state[block] != REACHED;
}

/* The next chosen one from *at on, if that is it; NULL: it was not looked at. */
static inline const struct kind *look__kind(const struct look *l, size_t *at, size_t block)
{
	while (*at < l->chosen.n && l->chosen.v[*at] < block)
		(*at)++;
	return *at < l->chosen.n && l->chosen.v[*at] == block ? l->kind_of[*at] : NULL;
}

/* of_sites.c: which blocks of a site are to be looked at: a bit for each block is set. -ENOMEM */
int look__choose_for_sites(struct look *l, uint8_t *bits);
/* Reports what there is to say of each site. -ENOMEM */
int look__tell_sites(struct look *l);
/* block_list.c. -ENOMEM */
int look__list_blocks(struct look *l);

#endif
