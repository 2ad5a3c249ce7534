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
/* In a second: a target that sleeps has next to no CPU time to share, and a few hundred hits are no burden. */
#define PACE_LEAST_NS 250000.0

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
	double dearest;		/* what the probes took, per time that the target had for itself: of looks, the most */
	double cost_ns;		/* of a look, on average, with front and tail */
	unsigned int n_looks;	/* that the mean is of */
	double broke_ns;	/* what looks were to speak for that could not be made */
	double work_ns;		/* that the end of a look makes for us, on average */
	uint64_t random;
};

double pace__uniform(struct pace *p);	/* 0 <= x < 1, at random */
void pace__init(struct pace *p, double share, double start_rate, uint64_t seed);
/* Readings come in order of time, several a second; two within 2 ms are one. */
void pace__note(struct pace *p, struct reading r);
/* What a closed window cost beyond its limit, and before it. */
void pace__learn(struct pace *p, uint64_t front_ns, uint64_t tail_ns);

/*
 * No window for a second, because the last ones cost too much beside what they were to: perhaps the
 * next one does not.
 */
void pace__forget(struct pace *p);

/* What may be spent now, in ns; negative: too much was. */
double pace__allowance(const struct pace *p);
/* What a second earns, at the targets' present pace. */
double pace__earns(const struct pace *p);
/* For a window that begins, or is open: the reading of spent_ns at which it must end. */
uint64_t pace__limit(const struct pace *p);
/* Between looks on average, so that they spend what they may; by what is known before. */
double pace__mean_gap_ns(const struct pace *p);
/*
 * How long to wait for the next look, by chance: exponentially distributed, so that no rhythm of
 * the targets is in step with it.
 */
uint64_t pace__gap_ns(struct pace *p, double mean_ns);
/* How much waiting may cost, for as long as the probes held the target up while they were put in. */
double pace__make_up_ns(const struct pace *p);
/* How long the next look is to be, in time as it passes without probes. Chosen beforehand, by chance. */
uint64_t pace__look_ns(struct pace *p);
/*
 * Part of a window, or of a look, cost so much, and so much per time that the target had for
 * itself: how long looks may be.
 */
void pace__learn_dear(struct pace *p, double dear, double cost_ns);
void pace__learn_look(struct pace *p, double dear, double cost_ns);
/* What a look cost in all, with front and tail. */
void pace__learn_cost(struct pace *p, double ns);
/* How long the session was at work for a look. */
void pace__learn_work(struct pace *p, uint64_t ns);
/*
 * The time of a look has come. The less money there is left, the fewer looks are made, by chance,
 * and each speaks for the more time: if all were made that there is money for, what comes after
 * dear times would be seen less than others. The chance that it had, or 0: another time is drawn.
 */
double pace__may_begin(struct pace *p, double mean_gap_ns, uint64_t quantum_ns);
/* What the next look is to spend at most, as far as is known. */
uint64_t pace__quantum_ns(const struct pace *p);

#endif
