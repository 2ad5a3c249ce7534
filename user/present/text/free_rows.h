/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* --free-stacks: where the blocks of a site were freed, the place with the most calls first. */
#ifndef MT_FREE_ROWS_H
#define MT_FREE_ROWS_H

#include <stddef.h>
#include <stdint.h>

#include "model/snapshot.h"

struct free_lists {		/* of site i: v[start[i]] up to v[start[i + 1]], indexes of frees */
	size_t *start;
	uint32_t *v;
};

int free_lists__init(struct free_lists *l, const struct snapshot *s);	/* -ENOMEM */
void free_lists__done(struct free_lists *l);

struct free_place {
	uint32_t where;		/* index into free_sites */
	uint64_t calls, bytes, cross_calls, lifetime_sum_ns;
};

/* All places of a site; *ret is the caller's. -ENOMEM */
int free_places__of(const struct snapshot *s, const struct free_lists *l, size_t site, struct free_place **ret, size_t *ret_n);

/* The places that a report shows of a site. */
#define FREE_PLACES_SHOWN 3

/* The free sites that a report of these sites shows, each once; *ret is the caller's. -ENOMEM */
int free_places__shown(const struct snapshot *s, const size_t *sites, size_t n, uint32_t **ret, size_t *ret_n);

#endif
