/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Blocks counted by size and by kind. Sizes are counted of every block; kinds of every block where there are
 * few, else of a part of each size, which stands for the rest.
 */
#ifndef MT_TALLY_H
#define MT_TALLY_H

#include "heap/census.h"
#include "heap/kinds.h"
#include "heap/size_classes.h"
#include "model/snapshot.h"

/* What is known of a block beside where it is. */
struct block_facts {
	const struct kind *kind;	/* NULL: not looked at */
	bool counts;			/* for its size class: chosen by chance, not for a site's sake */
};

struct tally_class {
	uint64_t usable;	/* of the last one met: of an exact class, the size */
	uint64_t blocks, bytes;
	uint64_t unreached_blocks, unreached_bytes;
	uint64_t sampled;	/* of blocks: their kinds were looked up */
};

struct tally_kind {
	const struct kind *kind;
	uint32_t class;
	uint64_t blocks, bytes;	/* that were looked at */
};

struct tally {
	struct tally_class *classes;	/* owned; N_SIZE_CLASSES */
	struct vec(struct tally_kind) kinds;	/* by class and kind: tally__end() sorts them */
};

int tally__init(struct tally *t);
void tally__done(struct tally *t);
int tally__add(struct tally *t, const struct heap_block *b, const struct block_facts *f, bool unreached);
/* After the last one. */
void tally__end(struct tally *t);
/* Into the snapshot: by size; by what they are, the most bytes first. */
void tally__classes(const struct tally *t, struct snapshot *s, const struct snap_class **ret, size_t *ret_n);
int tally__types(const struct tally *t, struct snapshot *s, const struct snap_type **ret, size_t *ret_n);

#endif
