// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * --overhead: what went unseen, from looks. Programs of many courses are simulated, with
 * windows that end when their money is spent; the truth is known. What is said must
 * be true within its error, and right on average.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "budget/looks.h"
#include "budget/pace.h"

#define MS 1e6
#define SECOND 1e9
#define PAIR_NS 40.0		/* of the program's own time */
#define COST_NS 1500.0		/* of the probes, for a pair */

static uint64_t seed;

static double uniform(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (double)(seed >> 11) / 9007199254740992.0;
}

/* n pairs at once in each period of computing; in every other phase another n and period. Times are the program's own. */
struct course {
	double n, period_ns;
	double other_n, other_period_ns, phase_ns;
	double shift_ns;	/* where it begins */
};

static double in_periods(double n, double period_ns, double t)
{
	double whole = floor(t / period_ns);

	return n * whole + fmin((t - whole * period_ns) / PAIR_NS, n);
}

/* How many pairs are made until t. */
static double made(const struct course *c, double t)
{
	double whole, rest;

	t += c->shift_ns;
	if (!c->phase_ns)
		return in_periods(c->n, c->period_ns, t);
	whole = floor(t / (2 * c->phase_ns));
	rest = t - whole * 2 * c->phase_ns;
	return whole * (in_periods(c->n, c->period_ns, c->phase_ns) + in_periods(c->other_n, c->other_period_ns, c->phase_ns)) +
	       in_periods(c->n, c->period_ns, fmin(rest, c->phase_ns)) +
	       in_periods(c->other_n, c->other_period_ns, fmax(rest - c->phase_ns, 0));
}

/* Up to `until`, or where the money is spent. */
static double spends_until(const struct course *c, double from, double until, double money_ns)
{
	double low = from, high = until, n = made(c, from);

	if ((made(c, until) - n) * COST_NS <= money_ns)
		return until;
	for (int i = 0; i < 60; i++) {
		double mid = (low + high) / 2;

		if ((made(c, mid) - n) * COST_NS <= money_ns)
			low = mid;
		else
			high = mid;
	}
	return high;
}

struct outcome {
	double truth, told, error, observed;
};

struct run {
	const struct course *c;
	struct pace p;
	struct looks looks;
	struct site_looks site;
	struct early early;
	double own_ns, spent_ns;	/* its clock, and what the probes took: together the time */
	double seen, seen_ns;
};

static double now_of(const struct run *r)
{
	return r->own_ns + r->spent_ns;
}

static void note(struct run *r)
{
	pace__note(&r->p, (struct reading){ (uint64_t)(10 * SECOND + now_of(r)), (uint64_t)now_of(r), (uint64_t)r->spent_ns });
}

/* As much of it as there is money for; if that is spent, what is told of its second half. */
static double pass(struct run *r, double until, double money_ns, struct look_seen *ret)
{
	double from = r->own_ns, to = spends_until(r->c, from, until, money_ns), n = made(r->c, to) - made(r->c, from);

	r->own_ns = to;
	if (!ret)
		return n;
	*ret = (struct look_seen){ .own_ns = to - from };
	/* of a few calls, half say nothing of their pace */
	if (to < until && n >= 20) {
		ret->rest_ns = until - to;
		ret->late = 0.5;
		ret->late_own_ns = to - spends_until(r->c, from, until, money_ns / 2);
	}
	site_looks__note(&r->site, to - from, n, n, look__late(ret));
	r->spent_ns += n * COST_NS;
	r->seen += n;
	r->seen_ns += to - from;
	note(r);
	return n;
}

/* The first part of a window, that speaks for the gap before it. */
static void look(struct run *r, double after_ns, double quantum_ns, double end_ns)
{
	double until = fmin(r->own_ns + pace__look_ns(&r->p), end_ns), n;
	double weight, rate[N_SCALED] = { 0 };
	struct look_seen seen;

	n = pass(r, until, quantum_ns, &seen);
	weight = looks__take(&r->looks, after_ns, 1, seen.rest_ns > 0);
	pace__learn_look(&r->p, seen.rest_ns > 0);
	early__learn(&r->early, &seen, after_ns, n);
	rate[CALLS] = rate[BYTES] = n * look__rate(&seen, &r->early, n);
	if (weight > 0)
		site_looks__add(&r->site, look_zone(after_ns), weight, rate, seen.rest_ns > 0);
}

/* Until its money is spent; what was earned meanwhile may be. */
static void window(struct run *r, double after_ns, double quantum_ns, double end_ns)
{
	double from = now_of(r), spent = r->spent_ns, n;
	struct look_seen seen;

	look(r, after_ns, quantum_ns, end_ns);
	while (r->own_ns < end_ns) {
		double to = fmin(r->own_ns + 5 * MS, end_ns), used = r->spent_ns - spent, money = quantum_ns - used;

		if (used <= r->p.share * (now_of(r) - from))
			money = fmax(quantum_ns, pace__earns(&r->p) / 4);
		money = fmin(money, pace__allowance(&r->p) - r->p.tail_ns);
		if (money <= 0)
			break;
		n = pass(r, to, money, &seen);
		early__learn(&r->early, &seen, -1, n);
		if (r->own_ns < to)
			break;
	}
}

static void gap(struct run *r, double *quantum_ns, double end_ns)
{
	double began = r->own_ns, wait = pace__gap_ns(&r->p, (uint64_t)*quantum_ns);

	do {
		for (double to = r->own_ns + wait; r->own_ns < fmin(to, end_ns); note(r))
			pass(r, fmin(fmin(r->own_ns + 50 * MS, to), end_ns), INFINITY, NULL);
		wait = pace__wait_ns(&r->p);
		if (r->own_ns - began > SECOND) {
			pace__forget(&r->p);
			*quantum_ns = pace__quantum_ns(&r->p);
		}
	} while (r->own_ns < end_ns && !pace__may_begin(&r->p, (uint64_t)*quantum_ns));
	looks__wait(&r->looks, 0, r->own_ns - began, r->own_ns - began);
}

static struct outcome simulate(struct course c, double share, double seconds, uint64_t a_seed)
{
	static struct run r;
	struct look_scale scale;
	double end_ns = seconds * SECOND, quantum, after;

	seed = a_seed * 2654435761 + 1;
	for (int i = 0; i < 5; i++)
		uniform();
	c.shift_ns = uniform() * 2 * (c.phase_ns ? c.phase_ns : c.period_ns);
	memset(&r, 0, sizeof(r));
	r.c = &c;
	pace__init(&r.p, share, 1, a_seed * 7919);
	pace__learn(&r.p, (uint64_t)(0.5 * MS), (uint64_t)(1 * MS));
	note(&r);
	quantum = pace__quantum_ns(&r.p);
	window(&r, 0, quantum, end_ns);
	while (r.own_ns < end_ns) {
		double began = r.own_ns;

		pace__learn(&r.p, (uint64_t)(0.5 * MS), (uint64_t)(1 * MS));
		quantum = pace__quantum_ns(&r.p);
		gap(&r, &quantum, end_ns);
		after = r.own_ns - began;
		if (r.own_ns < end_ns)
			window(&r, after, quantum, end_ns);
	}
	scale = looks__scale(&r.looks);
	return (struct outcome){
		.truth = made(&c, end_ns) - made(&c, 0),
		.told = r.seen + site_looks__unseen(&r.site, &scale, CALLS),
		.error = sqrt(site_looks__variance(&r.site, &r.looks, &scale, CALLS)),
		.observed = r.seen_ns / end_ns,
	};
}

#define RUNS 200

/*
 * within: how far the mean of all runs may be from the truth; useful: how large errors may be on
 * average; unlucky: what part of the runs may be further from the truth than 4 standard errors. A sample may always be an unlucky one.
 */
struct bounds {
	double within, useful, unlucky;
};

static void want_course(const char *what, struct course c, double share, struct bounds b)
{
	double told = 0, truth = 0, error = 0, observed = 0, worst = 0;
	unsigned int missed = 0;

	for (uint64_t i = 1; i <= RUNS; i++) {
		struct outcome o = simulate(c, share, 30, i);
		double z = o.told == o.truth ? 0 : fabs(o.told - o.truth) / o.error;

		told += o.told / RUNS;
		truth += o.truth / RUNS;
		error += o.error / RUNS;
		observed += o.observed / RUNS;
		worst = fmax(worst, z);
		missed += z > 4;
	}
	if (getenv("SHOW_COURSES"))
		fprintf(stderr, "%-24s --overhead %g: observed %.3f, told %.3f of the truth, standard error %.3f, at most %.1f of them off, beyond 4: %u\n",
			what, share * 100, observed, told / truth, error / truth, worst, missed);
	cr_expect_leq(missed, b.unlucky * RUNS, "%s: %u of %u beyond 4 standard errors, the worst %.1f", what, missed, RUNS, worst);
	cr_expect_leq(fabs(told / truth - 1), b.within, "%s: %.3f of the truth on average", what, told / truth);
	cr_expect_leq(error / truth, b.useful, "%s: an error of %.2f on average", what, error / truth);
}

#define TIMES(n_, ns) (struct course){ .n = n_, .period_ns = ns }

static const struct bounds good = { 0.03, 0.12, 0 };

Test(budget_looks, steady)
{
	want_course("a pair each 100 ns", TIMES(1, 100), 0.05, good);
	want_course("a pair each 10 us", TIMES(1, 10e3), 0.05, good);
	want_course("a pair each 100 us", TIMES(1, 100e3), 0.01, good);
	want_course("a pair each 10 us", TIMES(1, 10e3), 0.01, good);
}

Test(budget_looks, clusters)
{
	want_course("10 in 50 us", TIMES(10, 50e3), 0.05, good);
	want_course("100 in 500 us", TIMES(100, 500e3), 0.05, good);
	want_course("1000 in 3 ms", TIMES(1000, 3e6), 0.05, good);
	want_course("10 in 3 ms", TIMES(10, 3e6), 0.01, good);
	want_course("100 in 1 ms", TIMES(100, 1e6), 0.01, good);
	/* a cluster costs more than a window may: less than 1% of the time is seen */
	want_course("1000 in 3 ms", TIMES(1000, 3e6), 0.01, (struct bounds){ 0.2, 0.75, 0.01 });
}

/*
 * What ends a window is what there is to see. A burst is long compared with a look, and rare compared with
 * looks: half a minute tells its order of magnitude.
 */
Test(budget_looks, bursts)
{
	static const struct bounds rough = { 0.4, 1.6, 0.01 };

	want_course("1e5 in 100 ms", TIMES(1e5, 100e6), 0.05, rough);
	want_course("4e5 in 200 ms", TIMES(4e5, 200e6), 0.05, (struct bounds){ 0.4, 0.6, 0.01 });
	want_course("1e6 in 1 s", TIMES(1e6, 1e9), 0.05, (struct bounds){ 0.4, 0.5, 0.01 });
	/* of thirty that cost more than the budget has for them, a few are met */
	want_course("1e5 in 1 s", TIMES(1e5, 1e9), 0.05, (struct bounds){ 0.4, 2, 0.01 });
	want_course("1e5 in 100 ms", TIMES(1e5, 100e6), 0.01, rough);
	want_course("4e5 in 200 ms", TIMES(4e5, 200e6), 0.01, rough);
	want_course("1e6 in 1 s", TIMES(1e6, 1e9), 0.01, rough);
}

Test(budget_looks, phases)
{
	struct course c = { 100, 100e3, 1, 200e3, 3e9, 0 };
	static const struct bounds fair = { 0.25, 0.3, 0.01 };
	/* the budget's second: what is told is far too low, which no change of it is to make worse; the error tells so */
	static const struct bounds in_step = { 0.6, 0.4, 0.01 };

	want_course("phases of 3 s", c, 0.05, fair);
	want_course("phases of 3 s", c, 0.01, fair);
	c.phase_ns = 1e9;
	want_course("phases of 1 s", c, 0.05, in_step);
	want_course("phases of 1 s", c, 0.01, in_step);
	c.phase_ns = 0.5e9;
	want_course("phases of 0.5 s", c, 0.01, fair);
	want_course("phases of 0.5 s", c, 0.05, fair);
	c.phase_ns = 0.1e9;
	want_course("phases of 0.1 s", c, 0.05, fair);
	want_course("phases of 0.1 s", c, 0.01, fair);
}
