/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * When the probes may be in place. Plain arithmetic on readings of clocks: no
 * process is touched here.
 *
 * The promise: in each second that ends now, the probes took no more than their
 * share of the targets' CPU time. So what may be spent at this moment is the
 * share of the CPU time of the last second, less what was spent in it; and at
 * least a quarter of a millisecond a second.
 */
#ifndef MT_PACE_H
#define MT_PACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PACE_READINGS 256

struct reading {
	uint64_t t_ns;		/* CLOCK_MONOTONIC */
	uint64_t cpu_ns;	/* the targets' CPU time so far */
	uint64_t spent_ns;	/* of it, by the probes */
};

struct pace {
	double share;		/* the budget, 0..1 */
	struct reading v[PACE_READINGS];	/* a ring of the last second or more */
	size_t n, at;		/* readings, place of the next one */
	double start_rate;	/* CPU per time before the first reading */
	uint64_t tail_ns;	/* what a window costs beyond its limit: noticing, and taking the probes out */
	uint64_t front_ns;	/* and before it begins, while they are put in */
	double look_ns;		/* how long looks are, on average */
	uint64_t random;
};

void pace__init(struct pace *p, double share, double start_rate, uint64_t seed);
/* Readings come in order of time, several a second; two within 2 ms are one. */
void pace__note(struct pace *p, struct reading r);
/* What a closed window cost beyond its limit, and before it. */
void pace__learn(struct pace *p, uint64_t front_ns, uint64_t tail_ns);

/* No window for a second, because the last ones cost too much beside what they were to: perhaps the next one does not. */
void pace__forget(struct pace *p);

/* What may be spent now, in ns; negative: too much was. */
double pace__allowance(const struct pace *p);
/* What a second earns, at the targets' present pace. */
double pace__earns(const struct pace *p);
/* For a window that begins, or is open: the reading of spent_ns at which it must end. */
uint64_t pace__limit(const struct pace *p);
/*
 * A window has just ended, or could not begin: how long to wait before asking
 * may_begin. Gaps are random, so that no rhythm of the targets goes unseen:
 * exponentially distributed; and where there is money left for a window of
 * quantum_ns, half of them are short ones of any order of magnitude, because what ended
 * the window may go on for any time.
 */
uint64_t pace__gap_ns(struct pace *p, uint64_t quantum_ns);
/* The time has come and the money was not there: how long to wait for another one. Not until it is there: that has a rhythm of a second. */
uint64_t pace__wait_ns(struct pace *p);
/* How long the first part of the next window is to be, that speaks for the gap before it. Chosen beforehand, by chance. */
uint64_t pace__look_ns(struct pace *p);
/* A look has ended, as it was to or before, by its limit: few should. */
void pace__learn_look(struct pace *p, bool truncated);
bool pace__may_begin(const struct pace *p, uint64_t quantum_ns);
/* How much the next window is to spend: short ones and long ones, by chance. */
uint64_t pace__quantum_ns(struct pace *p);

#endif
