/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* A look at a heap under way, for the files that it is made of: heap.c its order, traced.c what sites get, tally.c sums and --view blocks. */
#ifndef MT_LOOK_H
#define MT_LOOK_H

#include <signal.h>
#include <stdint.h>

#include "heap/census.h"
#include "heap/heap.h"
#include "heap/parts.h"
#include "heap/reach.h"
#include "model/snapshot.h"
#include "util/sorted.h"

/*
 * What blocks are: C++ objects by the vtable that they begin with, others by what their bytes look like. Contents
 * are read, classified and dropped: nothing of them is shown or kept.
 */

#define CONTENT_HEAD_BYTES 256	/* of a block, at most: what it is told by */

enum content { CONTENT_ZEROS, CONTENT_TEXT, CONTENT_POINTERS, CONTENT_OTHER, N_CONTENTS };

/* A C++ class, or one of enum content: never changes once it was met. */
struct kind {
	const char *name;	/* clean; "app::Session", "text" */
	bool is_class;
};

struct kinds;			/* what was met so far of a process: vtables and their names */

/* objects: by which a vtable without type information is named (_ZTV symbols); NULL: not. */
struct kinds *kinds__new(struct target *t, struct objects *objects);
void kinds__free(struct kinds *k);
/*
 * The kinds of n blocks, by address; to[i] is NULL where the memory could not be read. Names live as long as k.
 */
int kinds__look(struct kinds *k, const struct heap_block *const *blocks, size_t n, const struct kind **to, struct err *e);
/* For the tests: what bytes look like. is_pointer says whether a word is an address of the process. */
enum content content__of(const void *bytes, size_t n, bool (*is_pointer)(uint64_t word, void *arg), void *arg);

/* Who holds what: words outside of the heap, put together by what they belong to. */

struct holders {
	struct vec(struct snap_root) v;	/* the most bytes first; strings are those of parts */
	uint32_t *of_root;	/* owned; of each root of the result: index into v + 1 */
};

/*
 * A trace's live blocks beside those of a census: whose a block is, and which of them are older than the trace.
 *
 * The process goes on while both are read. What is in the census and in no table that was read before and after it is
 * older than the trace, or was born and freed in between. The latter is gone from the next census: so there are two at
 * least. How many went in the second one says how many more may be wrong.
 */

struct traced {
	const struct heap_opts *o;	/* not owned; o->traced NULL: there is no trace, and all below is empty */
	/* before and after the first census; after the last one. The one before is needed no longer than until the next is there */
	struct traced_blocks before, first, now;
	struct vec(struct heap_block) older;	/* by address: of the first census, as far as later ones agree */
	uint64_t n_dropped;	/* from these, by later ones */
	unsigned int n_looks;
	uint64_t now_ns;	/* on the trace's clock: when the table was last read */
};

void traced__done(struct traced *t);
/* Just before a census, and just after it. */
void traced__before(struct traced *t);
void traced__after(struct traced *t, const struct census *c);
/*
 * Blocks of other allocators: those of the trace that lie outside of what the census covers are added to it. maps: what
 * was mapped when that was taken.
 */
void traced__add_foreign(const struct traced *t, const struct maps *maps, struct census *c);
/* As it was at the first census; NULL: older than the trace, or not traced. */
const struct traced_block *traced__find(const struct traced *t, uint64_t addr);
/* Is a block of the first census still the same, by the table that was read last? */
bool traced__is_same(const struct traced *t, const struct heap_block *b);

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
	return sorted__meet(one, l->chosen.v, l->chosen.n, at, *one, block) ? l->kind_of[*at] : NULL;
}

/* traced.c: which blocks of a site are to be looked at: a bit for each block is set. */
void look__choose_for_sites(struct look *l, uint8_t *bits);
/* Reports what there is to say of each site. */
void look__tell_sites(struct look *l);
void look__list_blocks(struct look *l);	/* for --view blocks */

/*
 * Blocks counted by size and by kind. Sizes are counted of every block; kinds of every block where there are
 * few, else of a part of each size, which stands for the rest.
 */

/* Blocks by size: each usable size up to 64 KiB is a class of its own, larger ones go by powers of two. */

/* An allocator's sizes are 16 bytes apart. */
#define SIZE_CLASS_STEP 16
#define SIZE_CLASS_EXACT (65536 / SIZE_CLASS_STEP)
#define N_SIZE_CLASSES (SIZE_CLASS_EXACT + 48)

static inline uint32_t size_class__of(uint64_t usable)
{
	uint32_t i = 0;

	if (usable < SIZE_CLASS_EXACT * (uint64_t)SIZE_CLASS_STEP)
		return (uint32_t)(usable / SIZE_CLASS_STEP);
	for (usable >>= 16; usable >>= 1; i++)
		;
	return SIZE_CLASS_EXACT + (i < 47 ? i : 47);
}

struct tally_kind {
	const struct kind *kind;
	uint32_t class;
	uint64_t blocks, bytes;	/* that were looked at */
};

struct tally {
	struct snap_class *classes;	/* owned; N_SIZE_CLASSES; usable: of the last block met */
	struct vec(struct tally_kind) kinds;	/* by class and kind, once they are put */
};

void tally__init(struct tally *t);
/* kind: NULL if it was not looked up, or not by chance but for a site's sake. */
void tally__add(struct tally *t, const struct heap_block *b, const struct kind *kind, bool unreached);
/* Into the snapshot, by size, and by what they are, the most bytes first; after that nothing is left of it. */
void tally__put(struct tally *t, struct snapshot *s, const struct snap_class **ret_classes, size_t *ret_n_classes,
		const struct snap_type **ret_types, size_t *ret_n_types);

#endif
