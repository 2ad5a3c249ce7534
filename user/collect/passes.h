/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Passes over the kernel's tables of blocks and of frees: what is there, and what is taken out. For collect/ alone. */
#ifndef MT_PASSES_H
#define MT_PASSES_H

#include "collect/blocks.h"
#include "model/cut.h"
#include "util/util.h"

struct use_calls;

/* What a pass over the block table finds, by site and by age. */

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

/*
 * Some of the live blocks, with their addresses: all of them if they are few, else
 * each with the same chance. Large ones are few and hold much: they are apart.
 */

#define BLOCK_SAMPLE_MAX 65536	/* of each kind */
#define BLOCK_SAMPLE_LARGE 65536	/* bytes */

struct block_sample {
	struct {
		struct vec(struct cut_block) blocks;
		uint64_t mask;	/* those whose hash has none of these bits are kept */
	} kind[2];
	struct vec(struct cut_block) all;	/* what block_sample__all() gave */
};

void block_sample__done(struct block_sample *s);
void block_sample__reset(struct block_sample *s);
void block_sample__add(struct block_sample *s, uint32_t proc, uint64_t addr, uint64_t size);
/* Both kinds, by process and address; they hold until the next reset. */
void block_sample__all(struct block_sample *s, const struct cut_block **ret, size_t *ret_n);

/*
 * The block table, visited entry by entry: ages, and the proof that the counters
 * are right. All at once, or a part at a time: what a pass over the table costs
 * then does not grow with it.
 */

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
	struct birth_clock clock;	/* when the part of a pass under way began */
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

/*
 * The blocks of processes that have ended leave the table: a pass over it, a part
 * at a time. What a scan would have found of them is kept, by site.
 */

struct sweep {
	const struct tables *tables;	/* not owned */
	uint16_t dead[MT_MAX_PROCS];	/* by slot: the process whose blocks go; 0: none */
	bool under_way;
	struct birth_clock clock;	/* when the pass began */
	uint64_t older_born_ns;	/* blocks born then or before count as older */
	struct block_walk walk;	/* where the pass is */
	struct map_walk keys;	/* and in the map of its stage */
	unsigned int stage;	/* the block table, then --mmap's two maps */
	uint64_t n_removed, cpu_ns;	/* of this pass */
	struct seen *gone;	/* by site number: what passes have taken out; NULL before the first */
	struct weighed *weighed;	/* --sample: what that stands for */
};

void sweep__init(struct sweep *s, const struct tables *t);
void sweep__done(struct sweep *s);
/* An entry left this bucket: if that is not its home, home need not send anybody for it any more. UINT64_MAX: the overflow map. */
void tables__note_left(const struct tables *t, uint64_t bucket, uint64_t addr, uint32_t proc);
/* A pass begins, for these processes: they have ended. now_ns on the programs' clock. */
void sweep__begin(struct sweep *s, const uint32_t *procs, size_t n, uint64_t now_ns, uint64_t older_ns);
/* For about budget_ns of our time, and one slice at least; true: the pass is over. */
bool sweep__some(struct sweep *s, uint64_t budget_ns);
/* Is this number one of those that the pass is, or was, made for? */
bool sweep__is_dead(const struct sweep *s, uint32_t proc);

/*
 * --mode leak: no free is seen. A block that was freed is noticed when its address comes again, by the programs, or when somebody
 * who has read the heap knows that it is not in use (struct use_calls): then it is taken out of the table here.
 */

struct freed_site {		/* that were taken out here */
	uint64_t calls, bytes;
};

struct freed {
	const struct tables *tables;	/* not owned */
	struct freed_site *sites;	/* by number; NULL: frees are seen */
	struct freed_site *since;	/* the same since the last cut of our own: a mark's may be of before, and is read later */
};

void freed__init(struct freed *f, const struct tables *t);
void freed__done(struct freed *f);
/* What was taken out so far is in the cuts from now on. Called after the flip of a cut of our own. */
void freed__fold(struct freed *f);
/* Adds it to the frees of a cut's rows. */
void freed__settle(const struct freed *f, struct snap_site *v, size_t n);
/* A site's number is given to another. */
void freed__forget(struct freed *f, uint32_t site);
/* Takes what is not in use out of the table. If all is in use, nobody has to know that it is asked. */
void freed__drop(struct freed *f, const struct use_calls *uses, uint64_t now_ns);
/* --free-stacks: the kernel's table of which thread frees which blocks where, as rows of a cut. For collect/ alone. */

struct links {
	const struct tables *tables;	/* not owned */
	struct mt_freed (*rest)[2];	/* by place: what each bank held when it last came to rest */
	uint32_t *seen;		/* by site number: the cut that has it among its wheres */
	uint32_t n_cuts;
	struct vec(struct snap_free) frees;
	struct vec(struct snap_site) wheres;
};

void links__init(struct links *l, const struct tables *t);
void links__done(struct links *l);
/* The bank has come to rest. first_spare: from this number on sites are those of what found no room. */
void links__read(struct links *l, uint32_t bank, uint32_t first_spare, struct cut *cut);
/* The rows of processes that this sweep was for are given back, before their sites are. */
void links__release(struct links *l, uint32_t first_spare, const struct sweep *sweep);

#endif
