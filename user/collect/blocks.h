/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * The block table, visited entry by entry: the buckets in their order, then the overflow map. However a walk is cut into
 * parts, a block that is there all the time is seen once.
 *
 * An entry may change under our eyes: it is read, and its key is read again; what changed in between belongs to a block that
 * came or went meanwhile.
 *
 * Four million blocks are 140 MB: the walk is made for the memory's speed, and inlined with what its caller does with a block.
 */
#ifndef MT_BLOCKS_H
#define MT_BLOCKS_H

#include <bpf/bpf.h>
#include <errno.h>

#include "model/cut.h"
#include "util/util.h"

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

#endif
