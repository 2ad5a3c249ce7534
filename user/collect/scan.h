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
#include "collect/map_walk.h"
#include "model/cut.h"

/* The kernel's tables in our memory. Of those that can be written, recycle.c and sweep.c alone do. */
struct tables {
	struct mt_bucket *buckets;
	uint64_t n_buckets;
	struct mt_site *sites;
	uint32_t n_sites;	/* numbers that a block may name, spare sites among them */
	uint64_t *index;
	uint32_t n_index;
	struct mt_counts *counts;
	struct mt_vars *vars;	/* --sample alone */
	struct mt_ages *ages;	/* --overhead alone */
	struct mt_moves *moves;	/* of site i: 2i and 2i + 1 */
	struct mt_link *links;	/* --free-stacks alone */
	uint32_t n_links;
	uint64_t sample_bytes;	/* 0: every block is there */
	enum mt_mode mode;
	uint64_t born_unit_ns;	/* of the clock of births */
	const uint64_t *words;
	struct mt_proc *procs;
	struct mt_hist *hists;
	const struct mt_spot *spots;
	const struct mt_thread *threads;
	uint32_t n_threads;
	int overflow_fd;
	volatile __u64 *n_over;	/* blocks in the overflow map */
	volatile __u64 *links_used;
	int parts_fd, nodes_fd;	/* --mmap: of mappings; else 0, which is no map */
};

/* What a site's record says of its stack; the time stands before the frames. */
static inline void tables__stack(const struct tables *t, uint64_t stack, struct cut_site *to)
{
	to->frames = t->words + MT_STACK_AT(stack);
	to->n_frames = MT_STACK_DEPTH(stack);
	to->end = MT_STACK_END(stack);
	to->met_ns = to->n_frames ? to->frames[-1] : 0;
}

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
	uint64_t bucket;	/* where the pass is */
	struct map_walk over;	/* and in the overflow map */
	/* --sample: each block stands for some; of the pass under way, or the last one */
	struct weighed *weighed;
	/* not owned; counted into as long as they are there */
	struct age_counts *ages;
	struct block_sample *blocks;
};

int scan__init(struct scan *s, const struct tables *t);	/* -ENOMEM */
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
