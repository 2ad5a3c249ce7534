/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* The source of a function, with what its lines allocate: for reports and the live view. */
#ifndef MT_LISTING_H
#define MT_LISTING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/snapshot.h"

struct listed_line {
	uint32_t number;
	const char *text;	/* the snapshot's; NULL: it was not read */
	bool calls;		/* stacks go through it: c holds */
	struct counters c;	/* of these; a stack that goes through it twice is counted once */
};

struct listing {		/* all zero: none */
	struct line of;		/* function, file and dir; strings are the snapshot's */
	struct listed_line *v;	/* owned; in order, with gaps */
	size_t n;
	struct counters sum;	/* of all stacks that go through the function, each once */
	bool has_text, newer;	/* newer: than the program */
	const char *why;	/* there is no text; NULL: not known. The snapshot's */
};

/*
 * Of the function and file that a line names. around: how many lines without calls are listed before and after one with.
 * takes NULL: all sites; else those that it takes.
 */
void listing__init(struct listing *l, const struct snapshot *s, const struct line *of, uint32_t around,
		  bool (*takes)(void *arg, const struct snap_site *site), void *arg);
void listing__done(struct listing *l);

#endif
