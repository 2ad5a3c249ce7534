/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* The inside of verdicts, for judge.c and judge_words.c alone. */
#ifndef MT_JUDGE_PARTS_H
#define MT_JUDGE_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/judge.h"

#define MAX_WINDOWS 12
#define MIN_WINDOWS 5
#define N_THIRDS 3
/* Examined from the end: all of the time, if that says nothing its last quarter, and so on. */
#define SHRINK 4
/* A change is worth a word from 1% of what is held on. */
#define MATERIAL 0.01

struct shape {			/* of the course from from_ns on */
	double span_s;
	size_t n;		/* windows that have a point; less than MIN_WINDOWS: nothing can be said */
	double t_s[MAX_WINDOWS], floor[MAX_WINDOWS];	/* the least in each, and when that was */
	double slope;		/* bytes per second */
	/* mean of the increments over its standard error; either sign, INFINITY if they are equal */
	double t;
	double t_needed;
	size_t n_up, n_down;	/* increments */
	double path;		/* their sum, all taken for positive */
	double third[N_THIRDS];	/* bytes per second */
	double low, high;	/* of all points in it */
	double high_before;	/* the highest floor of any point before it, 0 if there is none */
	double alloc_rate;	/* calls per second, at the end */
	bool busier;		/* they rose by a quarter or more from the first half to the second */
};

static inline uint64_t evidence__watched_ns(const struct evidence *e)
{
	return e->end_ns > e->first_ns ? e->end_ns - e->first_ns : 0;
}

static inline double evidence__mean_life_s(const struct evidence *e)
{
	return e->free_calls ? (double)e->lifetime_sum_ns / (double)e->free_calls / 1e9 : 0;
}

/* The reasons of a verdict, one after the other. */
struct why {
	const struct evidence *e;
	const struct shape *w;
	bool held;		/* a pointer was found to each block */
	char text[192];
	size_t len;
	bool unreached;		/* it says what no pointer was found to */
};

/* Each adds one, as far as there is something to say. */
void why__freed(struct why *y);
void why__rate(struct why *y);
void why__slowing(struct why *y);
void why__oldest(struct why *y);
void why__masked(struct why *y);
void why__down_from(struct why *y);
void why__range(struct why *y);
void why__last(struct why *y);
void why__first(struct why *y);
void why__was_higher(struct why *y);
void why__lost(struct why *y);
void why__held(struct why *y);

#endif
