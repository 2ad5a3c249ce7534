/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * The pointers of a range of memory, a window at a time: no more of a process's memory is ever here, and only for so
 * long. Pages that are not there cost nothing, however large the range is (before 6.7: page_runs.c).
 */
#ifndef MT_SEARCH_H
#define MT_SEARCH_H

#include "heap/block_index.h"
#include "heap/target.h"

/* What a window has: addr is that of its first word. */
typedef void (*window_fn)(uint64_t addr, const struct found_pointer *found, size_t n, void *arg);

struct search {
	struct target *t;	/* not owned */
	uint64_t *words;	/* owned */
	struct found_pointer *found;	/* owned; as many */
	/* for target_calls.progress: what is being done, and where its part of all begins and ends */
	char what[48];
	double part, part_end;
	uint64_t bytes, of_bytes;	/* gone through so far, and about how many there will be */
	uint64_t present_bytes;		/* that were there, in all */
	/*
	 * Words that point to a glibc block's header count, too: while it is being allocated or freed, there may be no other.
	 */
	bool headers;
};

int search__init(struct search *s, struct target *t, struct err *e);
void search__done(struct search *s);
/* From here on it is this that is being done. */
void search__begin(struct search *s, const char *what, double part, double part_end, uint64_t of_bytes);
/* Calls fn for each window of [start, end) in which a word points into a block of x. -EINTR. */
int search__range(struct search *s, const struct block_index *x, uint64_t start, uint64_t end, window_fn fn, void *arg);

#endif
