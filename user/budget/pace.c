// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns nothing but what its caller reported. */
#include <math.h>
#include <string.h>

#include "budget/pace.h"
#include "util/util.h"

#define SAME_NS 2000000ull
/* A window in a tight loop holds the target at a fiftieth of its pace: never for longer than this. */
#define HOLD_MAX_NS 120000000.0
/* The estimate of the cost has an error of some percent: the promise shall hold all the same. */
#define CAUTION 0.9
/* Looks, in time that the target has for itself. They become longer until they are dear. */
#define LOOK_FIRST_NS 1e6
#define LOOK_MIN_NS 20e3
#define LOOK_MAX_NS 1000e6
#define LOOK_GROWS 1.08
/* A look is to spend this part of what a second earns, at most. */
#define PARTS 8
#define DEAR_LEAST_NS 0.5e6
/* What was learned of looks is forgotten with each of them: most meet nothing. By half in 140, in 23, in 7. */
#define DEAREST_FADES 0.995
#define TAIL_FADES 0.97
#define FRONT_FADES 0.9
/* What looks cost on average: at first, and over how many it is learned. */
#define COST_FIRST_NS 1.5e6
#define COST_LOOKS 32
/* What looks are to spend of what is earned: the rest is for when several in a second are dear. */
#define SPEND 0.7
/* How soon looks become rarer when money goes, and how rare at most. */
#define STEEP 2
#define RAREST 0.15
#define GAP_MIN_NS 40e6
#define GAP_MAX_NS 1000e6
/* Our own work for a look, which is none of the budget's but takes a CPU: not more than this part of the time. */
#define WORK_TIMES 20
#define MAKE_UP_PARTS 6
#define MAKE_UP_NS 2e6

void pace__init(struct pace *p, double share, double start_rate, uint64_t seed)
{
	memset(p, 0, sizeof(*p));
	p->share = share;
	p->start_rate = start_rate;
	p->look_ns = LOOK_FIRST_NS;
	p->cost_ns = COST_FIRST_NS;
	/* of a small seed the first numbers would be small, too */
	p->random = (seed | 1) * 0x9e3779b97f4a7c15;
	/* until it is known: all the CPU time of the two milliseconds that taking the probes out takes (6.18, arm64) */
	p->tail_ns = (uint64_t)(2e6 * MIN(start_rate, 4.0));
}

/* xorshift */
double pace__uniform(struct pace *p)
{
	p->random ^= p->random << 13;
	p->random ^= p->random >> 7;
	p->random ^= p->random << 17;
	return (double)(p->random >> 11) / 9007199254740992.0;
}

static const struct reading *back(const struct pace *p, size_t i)
{
	return &p->v[(p->at + PACE_READINGS - 1 - i) % PACE_READINGS];
}

void pace__note(struct pace *p, struct reading r)
{
	/* a window's end may be reported after a reading that was made a moment later */
	if (p->n) {
		r.t_ns = MAX(r.t_ns, back(p, 0)->t_ns);
		r.cpu_ns = MAX(r.cpu_ns, back(p, 0)->cpu_ns);
		r.spent_ns = MAX(r.spent_ns, back(p, 0)->spent_ns);
	}
	/* the older of two stays: the second ends a little later then, not earlier */
	if (p->n > 1 && r.t_ns - back(p, 1)->t_ns < SAME_NS) {
		p->v[(p->at + PACE_READINGS - 1) % PACE_READINGS] = r;
		return;
	}
	p->v[p->at] = r;
	p->at = (p->at + 1) % PACE_READINGS;
	p->n = MIN(p->n + 1, (size_t)PACE_READINGS);
}

void pace__learn(struct pace *p, uint64_t front_ns, uint64_t tail_ns)
{
	/* the worst of the last ones, slowly forgotten: most looks meet nothing and have no tail */
	p->tail_ns = MAX((uint64_t)(p->tail_ns * TAIL_FADES), tail_ns);
	p->front_ns = MAX((uint64_t)(p->front_ns * FRONT_FADES), front_ns);
}

void pace__forget(struct pace *p)
{
	p->tail_ns -= p->tail_ns / 8;
	p->front_ns -= p->front_ns / 8;
}

/* The second that ends with the last reading. */
static void last_second(const struct pace *p, double *ret_cpu_ns, double *ret_spent_ns)
{
	const struct reading *now = back(p, 0), *r = now, *later = now;
	uint64_t from;

	*ret_cpu_ns = *ret_spent_ns = 0;
	if (!p->n)
		return;
	from = now->t_ns > SECOND_NS ? now->t_ns - SECOND_NS : 0;
	for (size_t i = 0; i < p->n && r->t_ns > from; i++) {
		later = r;
		r = back(p, i);
	}
	if (r->t_ns > from) {
		/* the trace is younger: before it the targets ran as they did while the cost of a hit was measured */
		*ret_cpu_ns = (now->cpu_ns - r->cpu_ns) + p->start_rate * (r->t_ns - from);
		*ret_spent_ns = now->spent_ns - r->spent_ns;
	} else {
		double part = later->t_ns > r->t_ns ? (double)(from - r->t_ns) / (later->t_ns - r->t_ns) : 0;

		*ret_cpu_ns = now->cpu_ns - r->cpu_ns - part * (later->cpu_ns - r->cpu_ns);
		/* of what was spent around its beginning, all belongs to this second */
		*ret_spent_ns = now->spent_ns - r->spent_ns;
	}
}

double pace__allowance(const struct pace *p)
{
	double cpu_ns, spent_ns;

	last_second(p, &cpu_ns, &spent_ns);
	return MAX(CAUTION * p->share * cpu_ns, PACE_LEAST_NS) - spent_ns;
}

/* What a second earns, at the targets' present pace. */
double pace__earns(const struct pace *p)
{
	double cpu_ns, spent_ns;

	last_second(p, &cpu_ns, &spent_ns);
	return MAX(CAUTION * p->share * cpu_ns, PACE_LEAST_NS);
}

uint64_t pace__limit(const struct pace *p)
{
	double left = MIN(pace__allowance(p), HOLD_MAX_NS) - p->tail_ns;

	/* what it takes to end a window here is not known yet */
	if (!p->n_looks)
		left = MIN(left, MAX(pace__earns(p) / 2, PACE_LEAST_NS));
	return p->n ? back(p, 0)->spent_ns + (left > 0 ? (uint64_t)left : 0) : 0;
}

/* What a look is to spend at most, as far as is known. */
static double part_ns(const struct pace *p)
{
	double beside = (double)p->tail_ns + p->front_ns;

	return MAX(MIN(MAX(pace__earns(p) / PARTS, beside / 2), pace__earns(p) - beside), 0);
}

uint64_t pace__quantum_ns(const struct pace *p)
{
	return (uint64_t)MIN(part_ns(p), HOLD_MAX_NS);
}

void pace__learn_dear(struct pace *p, double dear, double cost_ns)
{
	double fits_ns;

	p->dearest *= DEAREST_FADES;
	/* of few calls it says little how many there are in a longer time */
	if (cost_ns > MAX(part_ns(p) / 2, DEAR_LEAST_NS))
		p->dearest = MAX(p->dearest, dear);
	fits_ns = p->dearest > 0 ? part_ns(p) / p->dearest : LOOK_MAX_NS;
	p->look_ns = MAX(MIN(MIN(p->look_ns, fits_ns), LOOK_MAX_NS), LOOK_MIN_NS);
}

/* Between looks that cost so much, if all is to be spent that is earned. */
static double affords_ns(const struct pace *p, double cost_ns)
{
	return MAX(cost_ns / (SPEND * pace__earns(p)) * SECOND_NS, MAX(GAP_MIN_NS, WORK_TIMES * p->work_ns));
}

double pace__mean_gap_ns(const struct pace *p)
{
	return MIN(affords_ns(p, p->cost_ns), GAP_MAX_NS);
}

uint64_t pace__gap_ns(struct pace *p, double mean_ns)
{
	return (uint64_t)(mean_ns * -log(1 - pace__uniform(p)));
}

double pace__make_up_ns(const struct pace *p)
{
	return MIN(pace__earns(p) / MAKE_UP_PARTS, MAKE_UP_NS);
}

uint64_t pace__look_ns(struct pace *p)
{
	return (uint64_t)(p->look_ns * (0.5 + pace__uniform(p)));
}

void pace__learn_look(struct pace *p, double dear, double cost_ns)
{
	p->look_ns *= LOOK_GROWS;
	pace__learn_dear(p, dear, cost_ns);
}

void pace__learn_cost(struct pace *p, double ns)
{
	p->n_looks = MIN(p->n_looks + 1, COST_LOOKS);
	p->cost_ns += (ns - p->cost_ns) / (p->n_looks + 1);
}

void pace__learn_work(struct pace *p, uint64_t ns)
{
	p->work_ns += ((double)ns - p->work_ns) / 8;
}

double pace__may_begin(struct pace *p, double mean_gap_ns, uint64_t quantum_ns)
{
	double need = (double)quantum_ns + p->tail_ns + p->front_ns, left = pace__allowance(p) - need,
	       most = pace__earns(p) - need;
	double rich = most > 0 ? MIN(MAX(left / most, RAREST), 1) : 1,
	       dear = MIN(mean_gap_ns / affords_ns(p, need), 1), chance;

	if (!quantum_ns || left < 0) {
		p->broke_ns += mean_gap_ns;
		return 0;
	}
	/*
	 * with all the money there, as often as looks cost on average; the less there is, the more
	 * as if all were dear
	 */
	chance = rich * dear + (1 - dear) * pow(rich, STEEP);
	return pace__uniform(p) < chance ? chance : 0;
}
