// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns nothing but what it was told. */
#include <math.h>
#include <string.h>

#include "budget/pace.h"
#include "util/util.h"

#define SECOND_NS 1000000000ull
#define SAME_NS 2000000ull
/* A window in a tight loop holds the target at a fiftieth of its pace: never for longer than this. */
#define HOLD_MAX_NS 120000000.0
/* The estimate of the cost has an error of some percent: the promise shall hold all the same. */
#define CAUTION 0.9
/* A target that sleeps has next to no CPU time to share; a few hundred hits in a second are nobody's burden. */
#define LEAST_NS 250000.0
/* A look has some hundreds of microseconds at least: clocks are read to a few. */
#define LOOK_FIRST_NS 2e6
#define LOOK_MIN_NS 0.3e6
#define LOOK_MAX_NS 20e6
/* Short gaps: what taking the probes out and in takes, to where others begin. */
#define SECONDS_WINDOWS 3
#define SHORT_GAP_NS 2e6
#define SHORT_GAP_TIMES 256.0

void pace__init(struct pace *p, double share, double start_rate, uint64_t seed)
{
	memset(p, 0, sizeof(*p));
	p->share = share;
	p->start_rate = start_rate;
	p->look_ns = LOOK_FIRST_NS;
	p->random = seed | 1;
	/* until it is known: all the CPU time of the two milliseconds that taking the probes out takes (6.18, arm64) */
	p->tail_ns = (uint64_t)(2e6 * MIN(start_rate, 4.0));
}

/* 0 <= x < 1; xorshift */
static double uniform(struct pace *p)
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
	/* the worst of the last ones, slowly forgotten */
	p->tail_ns = MAX(p->tail_ns * 7 / 8, tail_ns);
	p->front_ns = MAX(p->front_ns * 7 / 8, front_ns);
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
	return MAX(CAUTION * p->share * cpu_ns, LEAST_NS) - spent_ns;
}

uint64_t pace__limit(const struct pace *p)
{
	double left = MIN(pace__allowance(p), HOLD_MAX_NS) - p->tail_ns;

	return p->n ? back(p, 0)->spent_ns + (left > 0 ? (uint64_t)left : 0) : 0;
}

/* What a second earns, at the targets' present pace. */
double pace__earns(const struct pace *p)
{
	double cpu_ns, spent_ns;

	last_second(p, &cpu_ns, &spent_ns);
	return MAX(CAUTION * p->share * cpu_ns, LEAST_NS);
}

uint64_t pace__quantum_ns(struct pace *p)
{
	double most = MIN(pace__earns(p) - p->tail_ns - p->front_ns, HOLD_MAX_NS), floor, least, u;

	if (most <= 0)
		return 0;
	/* half of them so small that there is money left to look again soon */
	floor = uniform(p) < 0.5 ? p->tail_ns : 2.0 * p->tail_ns + p->front_ns;
	least = MIN(MAX(floor, pace__earns(p) / 12), most);
	/* several windows in each second: else all of it goes by what the last second was like */
	most = MAX(MIN(most, pace__earns(p) / SECONDS_WINDOWS), least);
	u = uniform(p);
	/* mostly short: the more windows, the more pairs of them that a block may be born and freed in */
	return (uint64_t)(least * pow(most / MAX(least, 1.0), u * u));
}

/* By what is left: so that it lasts for the second, and no part of that is without looks. */
uint64_t pace__wait_ns(struct pace *p)
{
	double need = (double)pace__quantum_ns(p) + p->tail_ns + p->front_ns, left = MAX(pace__allowance(p), pace__earns(p) / 2);
	double mean = left > 0 ? need / left * SECOND_NS * 0.2 : SECOND_NS;

	return (uint64_t)(MIN(mean, (double)SECOND_NS) * -log(1 - uniform(p)));
}

uint64_t pace__gap_ns(struct pace *p, uint64_t quantum_ns)
{
	double need = (double)quantum_ns + 2.0 * p->tail_ns + p->front_ns + pace__earns(p) / 6;

	/* what putting them in costs must be known */
	if (p->front_ns && uniform(p) < 0.5 && pace__allowance(p) >= need)
		return (uint64_t)(SHORT_GAP_NS * pow(SHORT_GAP_TIMES, uniform(p)));
	return pace__wait_ns(p);
}

uint64_t pace__look_ns(struct pace *p)
{
	return (uint64_t)(p->look_ns * (0.5 + uniform(p)));
}

void pace__learn_look(struct pace *p, bool truncated)
{
	p->look_ns = truncated ? MAX(p->look_ns * 0.7, LOOK_MIN_NS) : MIN(p->look_ns * 1.1, LOOK_MAX_NS);
}

bool pace__may_begin(const struct pace *p, uint64_t quantum_ns)
{
	double need = (double)quantum_ns + p->tail_ns + p->front_ns;

	return quantum_ns && pace__allowance(p) >= MIN(need, pace__earns(p) * 0.95);
}
