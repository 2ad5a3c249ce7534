/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Where the memory of the traced processes is, and what their allocators make of it: mappings, and
 * the headers of blocks.
 */
#ifndef MT_RESIDENT_H
#define MT_RESIDENT_H

#include "tracee/tracee.h"

struct memmap_look;

/*
 * Readings, one after the other. One of them may be under way: it goes on a slice at a time, so
 * that a caller that has huge processes is not kept from all else. A zeroed one is ready.
 */
struct resident_looks {
	uint64_t next_ns;	/* not read again before; CLOCK_MONOTONIC */
	/*
	 * Called between two slices of a reading that must be finished at once; NULL: nothing is
	 * called. Neither tracees nor cuts may change in it.
	 */
	void (*meanwhile)(void *arg);
	void *arg;
	/* what is under way */
	struct vec(uint32_t) procs;	/* lives, in their order */
	size_t at;		/* the one that is read, or is next */
	struct memmap_look *look;	/* NULL: not begun */
	uint64_t spent_ns;
	size_t n_slices;
	int64_t most_pages;	/* in one of them */
	struct vec(uint32_t) last;	/* lives that the last reading of the trace covered */
};

/*
 * At the start of a trace of these processes: growth is counted from here. All at once, with
 * m->meanwhile in between.
 */
void resident__begin(struct resident_looks *m, struct tracees *t);
/*
 * Reports to the model where memory is. now: all of it, with m->meanwhile in between. Else: if the
 * last time is long enough ago for what it cost, a reading begins, with its first slice; where that
 * is not all, resident__go_on() has to follow. The cut may have a sample of the live blocks; their
 * headers are read then, of what is read in this call.
 */
void resident__look(struct resident_looks *m, struct tracees *t, const struct cut *cut, bool now);
/* The next slice. True: there is more. */
bool resident__go_on(struct resident_looks *m, struct tracees *t);
/*
 * Just before the trace ends: from there on the targets allocate what is not recorded, which would
 * be taken for memory that is free. A tenth of a second of it, with m->meanwhile in between;
 * resident__end() does what is left of it, and reads the headers of the blocks that lived at the
 * end.
 */
void resident__look_last(struct resident_looks *m, struct tracees *t);
void resident__end(struct resident_looks *m, struct tracees *t, const struct cut *cut);
void resident__done(struct resident_looks *m);

/* For the tests: sums of the blocks whose headers, in glibc's form, make sense. v and headers are n. */
void resident__size_blocks(const struct cut_block *v, const uint64_t *headers, size_t n, struct snap_memory *sum);

#endif
