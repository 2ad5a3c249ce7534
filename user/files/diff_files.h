/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* A diff as text, as folded stacks with two columns, as JSON, and as the HTML report of the later one. */
#ifndef MT_DIFF_FILES_H
#define MT_DIFF_FILES_H

#include <stdio.h>

#include "model/diff.h"
#include "model/snapshot.h"

struct diff_opts {
	const char *before, *after;	/* the files' names */
	size_t top;			/* rows of the text */
	size_t width;
	bool estimated;
	uint32_t depth;			/* stacks are compared by so many frames; 0: by all of them */
	const char *flat;		/* then: the file that has no more */
};

struct diff_format {
	const char *name;
	int (*write)(FILE *out, const struct diff *d, const struct diff_opts *o);	/* 0 or -errno */
	unsigned int needs;	/* enum counter_bit: of both profiles */
};

const struct diff_format *diff_format__find(const char *name);	/* NULL: there is no diff in this format */

/* ---- what changed between two looks at a heap (`malloctrace heap`): sizes and types of blocks, not stacks. */

/* As text; 0 or -errno. */
void heap_diff__write(FILE *out, const struct snapshot *before, const struct snapshot *after, const struct diff_opts *o);
/* A heap whose figures are not known; NULL: there is none. */
const struct snap_heap *heap_diff__unknown(const struct snapshot *s);
/* Bytes in use, of all heaps; holds if none is unknown. */
uint64_t heap_diff__in_use(const struct snapshot *s);

#endif
