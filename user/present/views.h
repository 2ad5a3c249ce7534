/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* The views of --view. */
#ifndef MT_VIEWS_H
#define MT_VIEWS_H

#include <stddef.h>

/* Of a trace with --mode growth, VIEW_ALLOCS is RESIDENT and MAPPED. */
enum view_bit {
	VIEW_LEAKS = 1,
	VIEW_ALLOCS = 2,
	VIEW_RESIDENT = 4,
	VIEW_MAPPED = 8,
	VIEW_PROCESSES = 16,
	VIEW_THREADS = 32,
	VIEW_TREE = 64,
	VIEW_PEAK = 128,
	VIEW_TEMPORARY = 256,
	VIEW_SIZES = 512,
	VIEW_LIFETIMES = 1024,
	VIEW_TAGS = 2048,
	VIEW_FREES = 4096,	/* of a trace with --free-stacks */
	VIEW_REALLOC = 8192,	/* goes with VIEW_ALLOCS, if blocks were passed on */
};

/* By the name that --view takes, of len bytes; 0: no such view. */
unsigned int view__find(const char *name, size_t len);

/* The views for which counters are enough; known: enum counter_bit. */
unsigned int views__of(unsigned int known);

#endif
