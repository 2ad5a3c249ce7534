/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Which ranges of a space lie where: a process may have tens of thousands of them, and map another one each millisecond. */
#ifndef MT_SPACE_INDEX_H
#define MT_SPACE_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/util.h"

struct space;
struct space_range;

struct space_positions vec(uint32_t);	/* of ranges in space.v */

struct space_index {
	struct space_positions alive;	/* no two overlap: by address */
	struct space_positions dead;	/* by position: few, as old ones are dropped (space__tidy) */
	struct space_positions near;	/* what was asked for last */
};

/* Room for one range more than there are; -ENOMEM. What follows does not fail then. */
int space_index__reserve(struct space *s);
void space_index__add(struct space *s, size_t at);	/* the range at a position, which is new */
void space_index__end(struct space *s, size_t at);	/* it has died just now */
void space_index__renew(struct space *s);		/* positions are other ones */

/* Those that overlap, as s->index.near, until the next call: only those that live, or all. */
void space_index__find(struct space *s, uint64_t start, uint64_t end, bool alive_only);
/* Of those that live: where in index.alive the first one is that ends behind an address; and the one that it is in, or NULL. */
size_t space_index__first(const struct space *s, uint64_t addr);
const struct space_range *space_index__at(const struct space *s, uint64_t addr);
void space_index__done(struct space *s);

#endif
