/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Which blocks does a pointer reach? Conservative: any word that could be an address of a block, or of
 * its inside, is one. Roots are all memory that is written to and is not the heap, the stacks, registers
 * and what the kernel keeps. The process is not stopped, so one scan proves nothing: what moved
 * while it was read looks lost. docs/HEAP-INTERNALS.md has the rule by which several scans settle it.
 */
#ifndef MT_REACH_H
#define MT_REACH_H

#include "heap/census.h"

/* In place of a thread, of words that lie in no memory of the process: the kernel keeps them, for these. */
enum root_keeper { KEPT_FOR_TIMER = -1, KEPT_FOR_EPOLL = 0 };

enum reach { REACHED, UNREACHED, UNREACHED_INDIRECT };

/* Where pointers that lie outside of the heap were found. */
struct reach_root {
	uint64_t addr;		/* of the word; 0: of a register, or the kernel's */
	int tid;		/* of a register; of what is the kernel's: enum root_keeper; else 0 */
	uint64_t blocks, bytes;	/* first reached from it */
};

/* Registers of all threads of pid and of others with its memory, without a stop; *ret is the caller's to free. */
typedef int (*registers_fn)(pid_t pid, const struct sharers *others, struct mt_registers **ret, size_t *ret_n, void *arg, struct err *e);

struct reach_opts {
	unsigned int scans;	/* up to four times as many, as long as each still finds pointers that those before have not */
	uint64_t gap_ns;	/* between two of them */
	bool roots;		/* which root holds what: takes time and memory of its own */
	bool paused;		/* the process is stopped meanwhile: one scan is enough */
	/* NULL: it is stopped for a moment to read them */
	registers_fn registers;
	/* With roots: thread-local variables that share a mapping with a stack; by address, disjoint. */
	struct heap_ranges thread_locals;	/* not owned */
	/*
	 * The blocks of this moment, by address, and what is no root: census__take(), or that together with a trace's blocks.
	 * Called once a scan. ret is zeroed.
	 */
	int (*blocks)(struct target *t, void *arg, struct census *ret, struct err *e);
	/*
	 * Was a block of the first scan freed meanwhile, and its address given again? NULL: not known. Called at the end of each further one.
	 */
	bool (*is_same)(const struct heap_block *b, void *arg);
	void *arg;
};

/* What target_calls.progress is told between two scans; in each of them "searching for pointers, ...". */
#define REACH_AGAIN "searching for pointers again"

struct reach_result {
	struct census first;	/* owned; as the first scan saw it */
	uint8_t *state;		/* owned; enum reach, of each block of it; those that were freed meanwhile are REACHED */
	/* owned; with roots: index into roots + 1 of each block; 0: unreached, or reached by a later scan and it is not known from where; else NULL */
	uint32_t *root;
	struct vec(struct reach_root) roots;	/* the most bytes first */
	/*
	 * What was searched beside the heap, and was not (on the disk, too much of it, not mapped at the moment, in the kernel's hand): what only
	 * pointers in there hold is called unreached. Without sums of blocks, and without what is said of registers.
	 */
	struct snap_unreached is;
	bool registers_stopped, registers_missing;
	uint64_t n_unread_threads;	/* registers of all but so many were read; if they are not missing */
	bool crowded;		/* more pointers than there is memory for: some blocks were taken for reached that may not be */
	uint64_t n_candidates;	/* after the first scan */
};

/* -EINTR: ret->first may be there all the same, to be freed. */
int reach__run(struct target *t, const struct reach_opts *o, struct reach_result *ret, struct err *e);
void reach_result__done(struct reach_result *r);

#endif
