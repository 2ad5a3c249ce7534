/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Where the memory of the traced processes is, and what their allocators make of it: mappings, and
 * the headers of blocks.
 */
#ifndef MT_RESIDENT_H
#define MT_RESIDENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "process/maps.h"
#include "tracee/tracee.h"

/* Where the memory of a process is: what it has mapped, and how much of that is resident. */

struct memmap_resident {
	uint64_t bytes;
	bool estimated;		/* of a huge mapping, some pages stand for all */
};

struct memmap {
	uint64_t heap_mapped, other_mapped;
	struct memmap_resident heap;	/* [heap], and what glibc's arenas may use */
	struct memmap_resident other;	/* anonymous memory beside that */
	struct memmap_resident stack;
	uint64_t file_resident;	/* what is left of rss_bytes */
	uint64_t shmem_resident;	/* of that */
	uint64_t rss_bytes;
	uint32_t n_arenas;	/* beside the main one */
	size_t n_mappings;
};

/* glibc's heap_info: what stands at the start of each piece of an arena. */
struct memmap_heap_info {
	uint64_t arena, prev, size, usable;
};

/* Takes mappings, one after the other. */
struct memmap_parser {
	struct memmap sums;		/* but for file_resident and rss_bytes */
	/* Reads memory of the process; false: it cannot be read. NULL: no piece of an arena is recognised. */
	bool (*peek)(uint64_t addr, void *to, size_t len, void *arg);
	/* What is resident from start to end is to be added to *to, now or later. */
	void (*resident)(uint64_t start, uint64_t end, struct memmap_resident *to, void *arg);
	void *arg;
};

void memmap_parser__take(struct memmap_parser *p, const struct mapping *m);

/*
 * A reading of a process, which goes on in slices: the more it has mapped, the longer it takes.
 * What it maps and touches in between may be in it or not.
 */
struct memmap_look;

/* About so many pages are a slice: 3 ms, if all of them are there. A mapping is as much work as MEMMAP_MAPPING_PAGES. */
#define MEMMAP_SLICE_PAGES (1u << 15)
#define MEMMAP_MAPPING_PAGES 16

/* Its mappings are those of this moment. -errno: it has ended, or may not be read. */
int memmap_look__new(pid_t pid, struct memmap_look **ret);
/* NULL: nothing. */
void memmap_look__free(struct memmap_look *l);
/*
 * Reads pages as long as *pages is above 0, and takes those off: by less than what the kernel is
 * queried for at once it may go below. True: there is more.
 */
bool memmap_look__go_on(struct memmap_look *l, int64_t *pages);
/* When there is no more. */
int memmap_look__end(struct memmap_look *l, struct memmap *ret);

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

/* Are all its blocks glibc's, and their sizes those that were requested? C++ libraries call malloc. */
bool resident__is_glibc(const struct tracees *t, const struct tracee *p);

/* For the tests: sums of the blocks whose headers, in glibc's form, make sense. v and headers are n. */
void resident__size_blocks(const struct cut_block *v, const uint64_t *headers, size_t n, struct snap_memory *sum);

#endif
