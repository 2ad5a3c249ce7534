/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * The block table, visited entry by entry: ages, and the proof that the counters
 * are right. All at once, or a part at a time: what a pass over the table costs
 * then does not grow with it.
 */
#ifndef MT_SCAN_H
#define MT_SCAN_H

#include "collect/age_counts.h"
#include "collect/block_sample.h"
#include "collect/blocks.h"
#include "model/cut.h"

struct seen {			/* the live blocks of a site, in one pass over the table */
	uint64_t bytes, older_bytes;
	uint64_t oldest_born_ns;	/* 0: no block */
	uint32_t blocks, older_blocks;
};

struct spotted {		/* where a pass found the oldest block of a site */
	const struct mt_block *at;	/* NULL: not in a bucket, or none was found */
	uint64_t born;		/* as it stood there */
};

struct weighed {
	double blocks, bytes, older_blocks, older_bytes;
};

static inline void seen__add(struct seen *row, uint64_t size, uint64_t born_ns, uint64_t older_born_ns)
{
	row->blocks++;
	row->bytes += size;
	if (!row->oldest_born_ns || born_ns < row->oldest_born_ns)
		row->oldest_born_ns = born_ns;
	if (born_ns <= older_born_ns) {
		row->older_blocks++;
		row->older_bytes += size;
	}
}

/* What a recorded block stands for. */
void weighed__add(struct weighed *w, uint64_t size, uint64_t sample_bytes, bool older);

struct scan {
	const struct tables *tables;	/* not owned */
	struct seen *now;	/* by site number: the pass under way */
	struct seen *last;	/* and the last whole one */
	struct spotted *now_oldest, *last_oldest;	/* the same of their oldest blocks */
	uint64_t began_ns;	/* of the pass under way; 0: there is none */
	uint64_t last_began_ns;	/* 0: there was none yet */
	uint64_t now_ns, now_units;	/* births are computed from here: when the part of a pass under way began */
	uint64_t older_born_ns;	/* blocks born then or before count as older */
	struct block_walk walk;	/* where the pass is */
	/* --sample: each block stands for some; of the pass under way, or the last one */
	struct weighed *weighed;
	/* not owned; counted into as long as they are there */
	struct age_counts *ages;
	struct block_sample *blocks;
};

void scan__init(struct scan *s, const struct tables *t);
void scan__done(struct scan *s);

/* A whole pass; now_ns on the programs' clock. s->last is of this moment. */
void scan__all(struct scan *s, uint64_t now_ns, uint64_t older_ns);
/* A part of a pass: for about budget_ns of our time, and one slice at least. */
void scan__some(struct scan *s, uint64_t now_ns, uint64_t budget_ns);

/*
 * When the oldest live block of a site was born, as far as passes under way can
 * show: never too late. It is known, and *ret_known set, if the one that the last whole pass
 * found is there still: nothing older was passed by. Else it may be the birth of a block that was
 * freed since that pass began. first_ns: no block of it is older.
 */
uint64_t scan__oldest_born_ns(const struct scan *s, uint32_t site, uint64_t first_ns, bool *ret_known);
/* A site's number is given to another. */
void scan__forget(struct scan *s, uint32_t site);

#endif
