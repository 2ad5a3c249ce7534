/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Passes over the kernel's tables of blocks and of frees: what is there, and what is taken out. For collect/ alone. */
#ifndef MT_PASSES_H
#define MT_PASSES_H

#include <bpf/bpf.h>
#include <errno.h>

#include "model/cut.h"
#include "util/util.h"

struct use_calls;

/*
 * The block table, visited entry by entry: the buckets in their order, then the overflow map. However a walk is cut into
 * parts, a block that is there all the time is seen once.
 *
 * An entry may change under our eyes: it is read, and its key is read again; what changed in between belongs to a block that
 * came or went meanwhile.
 *
 * Four million blocks are 140 MB: the walk is made for the memory's speed, and inlined with what its caller does with a block.
 */

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
	struct mt_rare *rare;	/* of site i: 2i and 2i + 1 */
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
static inline void tables__stack(const struct tables *t, uint64_t stack, struct snap_site *to)
{
	to->frames = t->words + MT_STACK_AT(stack);
	to->n_frames = MT_STACK_DEPTH(stack);
	to->end = MT_STACK_END(stack);
	to->met_ns = to->n_frames ? to->frames[-1] : 0;
}

/* A moment on the programs' clock and in its unit, from which births are computed. */
struct birth_clock {
	uint64_t now_ns, now_units, unit_ns;
};

static inline struct birth_clock birth_clock__at(const struct tables *t, uint64_t now_ns)
{
	return (struct birth_clock){ now_ns, now_ns / t->born_unit_ns, t->born_unit_ns };
}

/* born: MT_BORN() */
static inline uint64_t birth_clock__ns(const struct birth_clock *c, uint64_t born)
{
	return c->now_ns - mt_born_ago(born, c->now_units) * c->unit_ns;
}

#define BLOCKS_SLICE 512	/* buckets between two readings of a clock: 64 KiB */
#define BLOCKS_AT_ONCE 16	/* buckets that are read together, while the next ones are fetched */
#define INLINED static inline __attribute__((always_inline))
#define MAP_BATCH 1024		/* entries of a map per call */

struct map_walk {		/* where a walk through a hash map of the kernel's is; all zero: not begun */
	uint64_t at;
	bool begun;
};

/*
 * The next entries; *n is the room for them, then how many there are. False: there are no more after them. In batches:
 * walking key by key starts over whenever the key at hand is deleted meanwhile.
 */
static inline bool map_walk__next(struct map_walk *w, int fd, void *keys, void *values, uint32_t *n)
{
	uint64_t next = 0;
	int err = bpf_map_lookup_batch(fd, w->begun ? &w->at : NULL, &next, keys, values, n, NULL);

	if (err && errno != ENOENT) {
		*n = 0;
		return false;
	}
	w->at = next;
	w->begun = true;
	return !err;
}

struct block {
	uint64_t addr, size, born;	/* born: MT_BORN() */
	uint32_t proc, site, chain;
	uint64_t bucket;	/* UINT64_MAX: in no bucket */
	struct mt_block *at;	/* NULL: in no bucket */
	bool taken;		/* in no table: a realloc under way has it */
};

struct block_walk {		/* where it is; all zero: not begun */
	uint64_t bucket;
	struct map_walk over;
};

typedef void block_fn(const struct block *b, void *arg);
typedef bool block_of_fn(uint32_t proc, const void *arg);	/* are blocks of this process wanted? */

/* Neighbours at once: a barrier makes the processor wait, and two serve them all. */
INLINED void blocks__of_buckets(struct mt_bucket *b, uint64_t number, size_t n, block_of_fn *of,
			       block_fn *see, void *arg)
{
	struct mt_block got[BLOCKS_AT_ONCE][MT_WAYS];
	bool any = false;

	for (size_t i = 0; i < n; i++)
		for (int k = 0; k < MT_WAYS; k++) {
			uint64_t key = __atomic_load_n(&b[i].way[k].key, __ATOMIC_RELAXED);

			got[i][k].key = !of || of(key & 0xffff, arg) ? key : 0;
			any |= got[i][k].key > MT_KEY_CLAIMED;
		}
	if (!any)
		return;
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	for (size_t i = 0; i < n; i++)
		for (int k = 0; k < MT_WAYS; k++) {
			got[i][k].val = __atomic_load_n(&b[i].way[k].val, __ATOMIC_RELAXED);
			got[i][k].born = __atomic_load_n(&b[i].way[k].born, __ATOMIC_RELAXED);
		}
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	for (size_t i = 0; i < n; i++)
		for (int k = 0; k < MT_WAYS; k++) {
			const struct mt_block *g = &got[i][k];

			if (g->key > MT_KEY_CLAIMED && __atomic_load_n(&b[i].way[k].key, __ATOMIC_RELAXED) == g->key)
				see(&(struct block){ g->key >> 16, MT_VAL_SIZE(g->val), g->born, g->key & 0xffff,
						     MT_VAL_SITE(g->val), MT_VAL_CHAIN(g->val), number + i,
						     &b[i].way[k], false }, arg);
		}
}

INLINED bool blocks__of_overflow(struct block_walk *w, const struct tables *t, block_of_fn *of, block_fn *see,
				 void *arg)
{
	struct mt_over_key keys[MAP_BATCH];
	struct mt_over values[MAP_BATCH];
	uint32_t n = MAP_BATCH;
	bool more;

	/* an empty one is large all the same */
	if (!w->over.begun && !(t->n_over && *t->n_over))
		return false;
	more = map_walk__next(&w->over, t->overflow_fd, keys, values, &n);
	for (uint32_t i = 0; i < n; i++)
		if (!of || of(keys[i].proc, arg))
			see(&(struct block){ keys[i].addr, values[i].size, values[i].born, keys[i].proc, values[i].site,
					     values[i].chain, UINT64_MAX, NULL, false }, arg);
	return more;
}

/* The next slice, of all processes or (of) some; false: there are no more after it. */
INLINED bool block_walk__next(struct block_walk *w, const struct tables *t, block_of_fn *of, block_fn *see,
			      void *arg)
{
	uint64_t end = MIN(w->bucket + BLOCKS_SLICE, t->n_buckets);

	if (w->bucket == t->n_buckets)
		return blocks__of_overflow(w, t, of, see, arg);
	while (w->bucket < end) {
		struct mt_bucket *b = &t->buckets[w->bucket];
		size_t n = MIN((uint64_t)BLOCKS_AT_ONCE, end - w->bucket);

		for (size_t i = 0; i < n; i++) {
			__builtin_prefetch(b + n + i);
			__builtin_prefetch(b[n + i].way + 2);
		}
		blocks__of_buckets(b, w->bucket, n, of, see, arg);
		w->bucket += n;
	}
	return true;
}

/* Those that a realloc under way has taken out: they are live until it returns. */
INLINED void blocks__taken(const struct tables *t, block_fn *see, void *arg)
{
	for (uint32_t i = 0; i < t->n_threads; i++) {
		const struct mt_thread *th = &t->threads[i];

		if (th->tid && th->sp && th->old_site)
			see(&(struct block){ th->old, th->old_size, th->old_born, th->proc, th->old_site, 0, UINT64_MAX,
					     NULL, true }, arg);
	}
}

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
