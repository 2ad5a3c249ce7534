// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * --overhead: what went unseen, from looks. Programs of many courses are simulated, which
 * probes slow down and which are looked at as far as the money goes; the truth is known. What is said must
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
	double truth, told, error, observed, n, refused, cut_short, spent, look;
};

struct run {
	const struct course *c;
	struct pace p;
	struct looks looks;
	struct site_looks site;
	double own_ns, spent_ns;	/* its clock, and what the probes took: together the time */
	double seen, seen_ns;
	double speaks_ns;	/* what the next look speaks for */
	double n, asked, refused, cut_short;
};

static double now_of(const struct run *r)
{
	return r->own_ns + r->spent_ns;
}

static void note(struct run *r)
{
	pace__note(&r->p, (struct reading){ (uint64_t)(10 * SECOND + now_of(r)), (uint64_t)now_of(r), (uint64_t)r->spent_ns });
}

static void note_late(struct run *r, double n, const struct look_seen *s)
{
	site_looks__note(&r->site, s, n, n);
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
	r->spent_ns += n * COST_NS;
	r->seen += n;
	r->seen_ns += to - from;
	note(r);
	return n;
}

static double dear_of(const struct look_seen *s, double n)
{
	double rate = look__late(s) > 0 ? look__late(s) : s->own_ns > 0 ? 1 / s->own_ns : 0;

	return n * rate * COST_NS;
}

static void look(struct run *r, double end_ns)
{
	double until = fmin(r->own_ns + pace__look_ns(&r->p), end_ns), n, doubt;
	double weight, rate[N_SCALED] = { 0 }, doubts[2];
	struct look_seen seen;

	n = pass(r, until, fmax(pace__limit(&r->p) - r->spent_ns, 0), &seen);
	r->looks.broke_ns = r->p.broke_ns;
	weight = looks__take(&r->looks, r->speaks_ns, 1, seen.own_ns);
	note_late(r, n, &seen);
	r->cut_short += seen.rest_ns > 0;
	r->speaks_ns = 0;
	pace__learn_look(&r->p, dear_of(&seen, n), n * COST_NS * (seen.late > 0 ? seen.late : 1));
	rate[CALLS] = rate[BYTES] = n * look__rate(&seen, &doubt);
	doubts[CALLS] = doubts[BYTES] = rate[CALLS] * doubt;
	site_looks__add(&r->site, weight, rate, doubts);
}

/* Probes that come or go: they cost, and nothing is seen. For so long, as far as the money goes. */
static double beside(struct run *r, double clock_ns, double own_ns, double money_ns, double end_ns)
{
	double from = r->own_ns, low = from, high = fmin(from + fmin(own_ns, clock_ns), end_ns), n = made(r->c, from);

	for (int i = 0; i < 60; i++) {
		double mid = (low + high) / 2, cost = (made(r->c, mid) - n) * COST_NS;

		if (cost <= money_ns && mid - from + cost <= clock_ns)
			low = mid;
		else
			high = mid;
	}
	r->own_ns = high;
	n = made(r->c, high) - n;
	r->spent_ns += n * COST_NS;
	r->looks.unseen_ns += high - from;
	note(r);
	return n * COST_NS;
}

#define FRONT_NS (0.3 * MS)
#define TAIL_NS (1.5 * MS)
#define OPENING_NS (8 * MS)

static void wait_until(struct run *r, double to, double end_ns)
{
	double from = r->own_ns;

	for (to = fmin(to, end_ns); r->own_ns < to; note(r))
		pass(r, fmin(r->own_ns + 50 * MS, to), INFINITY, NULL);
	r->looks.unseen_ns += r->own_ns - from;
}

/* The mean that its time was drawn from. */
static double wait_for_look(struct run *r, double end_ns)
{
	double mean = pace__mean_gap_ns(&r->p), due = r->own_ns + pace__gap_ns(&r->p, mean);

	while (r->own_ns < fmin(due, end_ns)) {
		double now = pace__mean_gap_ns(&r->p);

		if (now < mean / 2 || now > mean * 2) {
			mean = now;
			due = r->own_ns + pace__gap_ns(&r->p, mean);
		}
		wait_until(r, fmin(r->own_ns + 50 * MS, due), end_ns);
	}
	return mean;
}

static void gap(struct run *r, double *quantum_ns, double end_ns)
{
	double mean, chance = 0;

	while (r->own_ns < end_ns && !chance) {
		mean = wait_for_look(r, end_ns);
		*quantum_ns = pace__quantum_ns(&r->p);
		chance = pace__may_begin(&r->p, mean, (uint64_t)*quantum_ns);
		r->asked++;
		r->refused += !chance;
	}
	wait_until(r, r->own_ns + OPENING_NS, end_ns);
	r->speaks_ns = chance > 0 ? mean / chance + OPENING_NS : 0;
}

static struct outcome simulate(struct course c, double share, double seconds, bool idle, uint64_t a_seed)
{
	static struct run r;
	double end_ns = seconds * SECOND, quantum;

	seed = a_seed * 2654435761 + 1;
	for (int i = 0; i < 5; i++)
		uniform();
	c.shift_ns = uniform() * 2 * (c.phase_ns ? c.phase_ns : c.period_ns);
	memset(&r, 0, sizeof(r));
	r.c = &c;
	pace__init(&r.p, share, idle ? 0 : 1, a_seed * 7919);
	note(&r);
	/* at first the probes are in place, for as long as that is cheap */
	for (double money = pace__earns(&r.p); r.own_ns < end_ns; money = fmin(pace__earns(&r.p) / 4, pace__allowance(&r.p) - r.p.tail_ns)) {
		double to = fmin(r.own_ns + 5 * MS, end_ns);
		struct look_seen seen;

		double n = pass(&r, to, fmax(money, 0), &seen);

		note_late(&r, n, &seen);
		pace__learn_dear(&r.p, dear_of(&seen, n), n * COST_NS * (seen.late > 0 ? seen.late : 1));
		if (r.own_ns < to)
			break;
	}
	beside(&r, TAIL_NS, INFINITY, INFINITY, end_ns);
	while (r.own_ns < end_ns) {
		double spent = r.spent_ns, before, held;

		quantum = pace__quantum_ns(&r.p);
		gap(&r, &quantum, end_ns);
		if (r.own_ns >= end_ns)
			break;
		spent = r.spent_ns;
		/* what the probes took while they were put in is waited for: else looks begin where it is dear */
		held = beside(&r, FRONT_NS, INFINITY, INFINITY, end_ns);
		beside(&r, INFINITY, held, pace__make_up_ns(&r.p), end_ns);
		pace__learn(&r.p, (uint64_t)(r.spent_ns - spent), 0);
		look(&r, end_ns);
		before = r.spent_ns;
		beside(&r, TAIL_NS, INFINITY, INFINITY, end_ns);
		pace__learn(&r.p, 0, (uint64_t)(r.spent_ns - before));
		pace__learn_cost(&r.p, r.spent_ns - spent);
		r.n++;
	}
	return (struct outcome){
		.truth = made(&c, end_ns) - made(&c, 0),
		.told = r.seen + site_looks__unseen(&r.site, &r.looks, CALLS),
		.error = sqrt(site_looks__variance(&r.site, &r.looks, CALLS)),
		.observed = r.seen_ns / end_ns, .n = r.n, .refused = r.refused / fmax(r.asked, 1), .look = r.p.look_ns, .cut_short = r.cut_short, .spent = r.spent_ns / end_ns,
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
	double told = 0, truth = 0, error = 0, observed = 0, worst = 0, n = 0, refused = 0, len = 0, sd = 0, cut_short = 0, spent = 0;
	unsigned int missed = 0;

	for (uint64_t i = 1; i <= RUNS; i++) {
		struct outcome o = simulate(c, share, 30, i % 2, i);
		double z = o.told == o.truth ? 0 : fabs(o.told - o.truth) / o.error;

		told += o.told / RUNS;
		truth += o.truth / RUNS;
		error += o.error / RUNS;
		observed += o.observed / RUNS;
		n += o.n / RUNS;
		refused += o.refused / RUNS;
		len += o.look / RUNS;
		cut_short += o.cut_short / RUNS;
		spent += o.spent / RUNS;
		sd += pow(o.told / o.truth - 1, 2) / RUNS;
		worst = fmax(worst, z);
		missed += z > 4;
	}
	if (getenv("SHOW_COURSES"))
		fprintf(stderr, "%-24s --overhead %g: observed %.3f, told %.3f of the truth, standard error %.3f, at most %.1f of them off, beyond 4: %u; %.0f looks of %.2f ms, refused %.2f, cut %.1f, spent %.4f, rms %.3f\n",
			what, share * 100, observed, told / truth, error / truth, worst, missed, n, len / 1e6, refused, cut_short, spent, sqrt(sd));
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
	want_course("1000 in 3 ms", TIMES(1000, 3e6), 0.05, (struct bounds){ 0.05, 0.3, 0 });
	want_course("10 in 3 ms", TIMES(10, 3e6), 0.01, good);
	want_course("100 in 1 ms", TIMES(100, 1e6), 0.01, good);
	/* a cluster costs more than a look may: a thousandth of the time is seen */
	want_course("1000 in 3 ms", TIMES(1000, 3e6), 0.01, (struct bounds){ 0.1, 2.2, 0.01 });
}

/* A burst is long compared with a look, and what looks meet of it costs them all their money. */
Test(budget_looks, bursts)
{
	static const struct bounds fair = { 0.12, 0.45, 0 }, rough = { 0.15, 1.8, 0.01 };

	want_course("1e5 in 100 ms", TIMES(1e5, 100e6), 0.05, fair);
	want_course("4e5 in 200 ms", TIMES(4e5, 200e6), 0.05, fair);
	want_course("1e6 in 1 s", TIMES(1e6, 1e9), 0.05, fair);
	want_course("1e5 in 1 s", TIMES(1e5, 1e9), 0.05, rough);
	want_course("1e5 in 100 ms", TIMES(1e5, 100e6), 0.01, rough);
	want_course("4e5 in 200 ms", TIMES(4e5, 200e6), 0.01, rough);
	want_course("1e6 in 1 s", TIMES(1e6, 1e9), 0.01, rough);
}

Test(budget_looks, phases)
{
	struct course c = { 100, 100e3, 1, 200e3, 3e9, 0 };
	static const double phases_ns[] = { 3e9, 1e9, 0.5e9, 0.1e9 };
	char what[32];

	for (size_t i = 0; i < 4; i++) {
		c.phase_ns = phases_ns[i];
		snprintf(what, sizeof(what), "phases of %g s", c.phase_ns / 1e9);
		want_course(what, c, 0.05, (struct bounds){ 0.05, 0.2, 0 });
		want_course(what, c, 0.01, (struct bounds){ 0.12, 0.6, 0.01 });
	}
}
