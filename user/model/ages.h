/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Live blocks by age, in classes. Two classes to a doubling, more or less, and
 * their borders are what people ask for: 10 s, 30 s, 1 m, 5 m, 1 h.
 */
#ifndef MT_AGES_H
#define MT_AGES_H

#include <stddef.h>
#include <stdint.h>

#include "model/snapshot.h"

#define AGES_N_CLASSES 78

/*
 * Blocks of one site and one age: those of classes first to last. Of blocks that are in the table,
 * both are the same.
 */
struct cut_age {
	struct cut_age *next;	/* of the same site; in no order */
	uint64_t blocks, bytes;
	uint8_t first, last;
};

uint8_t age__class(uint64_t age_ns);
uint64_t age__from_ns(uint8_t class);	/* the least age in it */
uint64_t age__below_ns(uint8_t class);	/* UINT64_MAX: it has no end */

/*
 * A site's ages, ordered, each range once. blocks_in_all, bytes_in_all: what they
 * are scaled to, where figures are estimates; UINT64_MAX: they are not.
 */
void ages__build(struct snapshot *s, const struct cut_age *v, uint64_t blocks_in_all, uint64_t bytes_in_all,
		 struct snap_site *to);
/* Of one range of ages: from the youngest of them to the oldest. */
void ages__build_range(struct snapshot *s, uint64_t youngest_ns, uint64_t oldest_ns, uint64_t blocks,
		       uint64_t bytes, struct snap_site *to);
/* The ages of several sites as if they were one. */
void ages__add_up(struct snapshot *s, const struct snap_site *const *v, size_t n, struct snap_site *to);

#endif
