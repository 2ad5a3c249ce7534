/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* What a pass over the block table finds, by site and by age. */
#ifndef MT_AGE_COUNTS_H
#define MT_AGE_COUNTS_H

#include "model/cut.h"
#include "util/util.h"

/* Classes that lie side by side are counted side by side: a site's blocks are mostly of ages that are alike. */
#define AGE_CHUNK 8

struct age_chunk {
	uint32_t next;		/* of the same site, + 1; 0: none */
	uint32_t group;		/* its first class / AGE_CHUNK */
	struct {
		double blocks, bytes;	/* what they stand for; whole numbers without --sample */
	} of[AGE_CHUNK];
};

struct age_counts {
	uint32_t *first;	/* by site: the first chunk, + 1; 0: none */
	uint32_t n_sites;
	struct vec(struct age_chunk) chunks;
	struct cut_age *rows;	/* what age_counts__rows() gives */
	size_t n_rows, row_room;
};

void age_counts__init(struct age_counts *a, uint32_t n_sites);
void age_counts__done(struct age_counts *a);
/* Nothing is counted yet, and no rows were given. */
void age_counts__reset(struct age_counts *a);
void age_counts__add(struct age_counts *a, uint32_t site, uint64_t age_ns, double blocks, double bytes);
/* Room for rows of all that was counted and n_more. */
void age_counts__make_rows(struct age_counts *a, size_t n_more);
/* The rows of a site before those of the list; they hold until the next reset. */
struct cut_age *age_counts__rows(struct age_counts *a, uint32_t site, struct cut_age *list);
/* One more, of blocks that are not in the table any more. */
struct cut_age *age_counts__range(struct age_counts *a, uint64_t youngest_ns, uint64_t oldest_ns,
				  uint64_t blocks, uint64_t bytes, struct cut_age *list);

#endif
