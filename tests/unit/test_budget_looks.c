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

#include "budget/estimate.h"
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
	/* instead: a call each back_ns (0: none), and bursts of burst_n pairs by another site, which begin at these times */
	double back_ns, burst_n, burst_at[64];
	size_t n_bursts;
	double back_size, burst_size;	/* of each block */
	bool drawn;		/* it is one of those */
	double back_cpu_ns;	/* 0: it computes all the time; else it sleeps, but for so long at each such call, and bursts */
};

static double in_periods(double n, double period_ns, double t)
{
	double whole = floor(t / period_ns);

	return n * whole + fmin((t - whole * period_ns) / PAIR_NS, n);
}

static double made_in_bursts(const struct course *c, double t)
{
	double n = 0;

	for (size_t i = 0; i < c->n_bursts && c->burst_at[i] < t; i++)
		n += fmin((t - c->burst_at[i]) / PAIR_NS, c->burst_n);
	return n;
}

/* How many pairs are made until t. */
static double made(const struct course *c, double t)
{
	double whole, rest;

	if (c->drawn)
		return (c->back_ns ? floor(t / c->back_ns) : 0) + made_in_bursts(c, t);
	t += c->shift_ns;
	if (!c->phase_ns)
		return in_periods(c->n, c->period_ns, t);
	whole = floor(t / (2 * c->phase_ns));
	rest = t - whole * 2 * c->phase_ns;
	return whole * (in_periods(c->n, c->period_ns, c->phase_ns) + in_periods(c->other_n, c->other_period_ns, c->phase_ns)) +
	       in_periods(c->n, c->period_ns, fmin(rest, c->phase_ns)) +
	       in_periods(c->other_n, c->other_period_ns, fmax(rest - c->phase_ns, 0));
}

/* Its CPU time until t. */
static double ran_until(const struct course *c, double t)
{
	if (!c->back_cpu_ns)
		return t;
	return (c->back_ns ? floor(t / c->back_ns) * c->back_cpu_ns : 0) + made_in_bursts(c, t) * PAIR_NS;
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
	double total_error, seen_error;	/* of all sites; the same without those that were not met */
	double truth_bytes, told_bytes, bytes_error;	/* of all sites */
};

struct run {
	const struct course *c;
	struct pace p;
	struct looks looks;
	struct site_looks site;	/* all of them */
	struct site_looks burst;	/* the one with bursts, alone */
	/* its calls, and the bytes of all and of it, in the stretch at hand */
	double n_burst, bytes, burst_bytes;
	double own_ns, spent_ns;	/* its clock, and what the probes took: together the time */
	double passed_ns;	/* of its clock, in that stretch */
	double seen, seen_bytes, seen_ns;
	double speaks_ns;	/* what the next look speaks for */
	double n, asked, refused, cut_short;
};

static double now_of(const struct run *r)
{
	return r->own_ns + r->spent_ns;
}

static void note(struct run *r)
{
	pace__note(&r->p, (struct reading){ (uint64_t)(10 * SECOND + now_of(r)), (uint64_t)(ran_until(r->c, r->own_ns) + r->spent_ns), (uint64_t)r->spent_ns });
}

static void note_late(struct run *r, double n, const struct look_seen *s)
{
	site_looks__note(&r->site, s, n, r->bytes);
	site_looks__note(&r->burst, s, r->n_burst, r->burst_bytes);
}

/* As much of it as there is money for; if that is spent, what is told of its second half. */
static double pass(struct run *r, double until, double money_ns, struct look_seen *ret)
{
	double from = r->own_ns, to = spends_until(r->c, from, until, money_ns), n = made(r->c, to) - made(r->c, from);

	r->own_ns = to;
	r->n_burst = made_in_bursts(r->c, to) - made_in_bursts(r->c, from);
	r->burst_bytes = r->n_burst * r->c->burst_size;
	r->bytes = (n - r->n_burst) * r->c->back_size + r->burst_bytes;
	if (!ret)
		return n;
	*ret = (struct look_seen){ .own_ns = ran_until(r->c, to) - ran_until(r->c, from) };
	r->passed_ns = to - from;
	/* of a few calls, half say nothing of their pace */
	if (to < until && n >= 20) {
		ret->rest_ns = until - to;
		ret->late = 0.5;
		ret->late_own_ns = fmax(ran_until(r->c, to) - ran_until(r->c, spends_until(r->c, from, until, money_ns / 2)), 1);
	}
	r->spent_ns += n * COST_NS;
	r->seen += n;
	r->seen_bytes += r->bytes;
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
	double until = fmin(r->own_ns + pace__look_ns(&r->p), end_ns), n, doubt, ran;
	double weight, rate[N_SCALED] = { 0 }, doubts[2];
	struct look_seen seen;

	n = pass(r, until, fmax(pace__limit(&r->p) - r->spent_ns, 0), &seen);
	r->looks.broke_ns = r->p.broke_ns;
	ran = r->passed_ns > 0 ? seen.own_ns / r->passed_ns : 0;
	looks__ran(&r->looks, r->speaks_ns, ran);
	/* one that wakes for a moment, again and again, goes by the clock */
	if (r->c->back_cpu_ns && r->c->back_ns) {
		ran = r->looks.unseen_ns / r->looks.clock_ns;
		seen.own_ns = r->passed_ns * ran;
		seen.rest_ns *= ran;
		seen.late_own_ns *= ran;
	}
	weight = looks__take(&r->looks, r->speaks_ns, ran, seen.own_ns);
	note_late(r, n, &seen);
	r->cut_short += seen.rest_ns > 0;
	r->speaks_ns = 0;
	pace__learn_look(&r->p, dear_of(&seen, n), n * COST_NS * (seen.late > 0 ? seen.late : 1));
	for (int burst = 0; burst < 2; burst++) {
		rate[CALLS] = (burst ? r->n_burst : n) * look__rate(&seen, &doubt);
		rate[BYTES] = (burst ? r->burst_bytes : r->bytes) * look__rate(&seen, &doubt);
		doubts[CALLS] = rate[CALLS] * doubt;
		doubts[BYTES] = rate[BYTES] * doubt;
		site_looks__add(burst ? &r->burst : &r->site, weight, rate, doubts);
	}
}

static void pass_gap(struct run *r, double from)
{
	r->looks.unseen_ns += ran_until(r->c, r->own_ns) - ran_until(r->c, from);
	r->looks.clock_ns += r->own_ns - from;
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
	pass_gap(r, from);
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
	pass_gap(r, from);
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
	double end_ns = seconds * SECOND, quantum, seen, seen_bytes, n_burst;

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
	seen = fmax(site_looks__variance(&r.site, &r.looks, CALLS), site_looks__variance(&r.burst, &r.looks, CALLS));
	seen_bytes = fmax(site_looks__variance(&r.site, &r.looks, BYTES),
			  site_looks__variance(&r.burst, &r.looks, BYTES));
	n_burst = made_in_bursts(&c, end_ns);
	return (struct outcome){
		.truth_bytes = (made(&c, end_ns) - made(&c, 0) - n_burst) * c.back_size +
			       n_burst * c.burst_size,
		.told_bytes = r.seen_bytes + site_looks__unseen(&r.site, &r.looks, BYTES),
		.bytes_error = sqrt(seen_bytes + looks__unmet_variance(&r.looks, BYTES)),
		.truth = made(&c, end_ns) - made(&c, 0),
		.told = r.seen + site_looks__unseen(&r.site, &r.looks, CALLS),
		.error = sqrt(site_looks__variance(&r.site, &r.looks, CALLS)),
		.seen_error = sqrt(seen),
		.total_error = sqrt(seen + looks__unmet_variance(&r.looks, CALLS)),
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
	struct course c = { .n = 100, .period_ns = 100e3, .other_n = 1, .other_period_ns = 200e3 };
	static const double phases_ns[] = { 3e9, 1e9, 0.5e9, 0.1e9 };
	char what[32];

	for (size_t i = 0; i < 4; i++) {
		c.phase_ns = phases_ns[i];
		snprintf(what, sizeof(what), "phases of %g s", c.phase_ns / 1e9);
		want_course(what, c, 0.05, (struct bounds){ 0.05, 0.2, 0 });
		want_course(what, c, 0.01, (struct bounds){ 0.12, 0.6, 0.01 });
	}
}

/* ---- sums of all sites, of which one may not have been met */

static double log_uniform(double from, double to)
{
	return from * pow(to / from, uniform());
}

enum kind { STEADY, BURSTS_IDLE, HUGE_IDLE, BURSTS_BUSY, HUGE_BUSY };

/*
 * A program drawn at random. Calls of one site each 10 us to 1 ms, or in one of four with bursts none; bursts of another: 1 to 64 of
 * 1,000 to 1,000,000 pairs, or huge ones: 1 to 3 of 1 to 5 million. No more than half of the time is bursts. Busy: it computes all the
 * time; idle: a call of the first site takes 0.2 to 5 us, and then it sleeps. Blocks of one site
 * have 16 bytes, those of the other one 4,096.
 */
static struct course any_program(enum kind kind, double end_ns, uint64_t number)
{
	bool huge = kind == HUGE_IDLE || kind == HUGE_BUSY, bursts = kind != STEADY, idle = kind == BURSTS_IDLE || kind == HUGE_IDLE;
	struct course c = { .drawn = true,
			    .back_size = number % 3 ? 16 : 4096,
			    .burst_size = number % 3 ? 4096 : 16 };

	seed = number * 2654435761 + 12345;
	for (int i = 0; i < 5; i++)
		uniform();
	c.back_ns = number % 4 || !bursts ? log_uniform(10e3, 1e6) : 0;
	if (bursts ? idle : number % 2)
		c.back_cpu_ns = log_uniform(200, 5000);
	if (!bursts)
		return c;
	c.burst_n = huge ? log_uniform(1e6, 5e6) : log_uniform(1e3, 1e6);
	c.n_bursts = (size_t)log_uniform(1, huge ? 4 : 65);
	while (c.n_bursts > 1 && (double)c.n_bursts * c.burst_n * PAIR_NS > end_ns / 2)
		c.n_bursts--;
	for (size_t i = 0; i < c.n_bursts; i++)
		c.burst_at[i] = uniform() * (end_ns - c.burst_n * PAIR_NS);
	for (size_t i = 1; i < c.n_bursts; i++)
		for (size_t k = i; k && c.burst_at[k - 1] > c.burst_at[k]; k--) {
			double was = c.burst_at[k];

			c.burst_at[k] = c.burst_at[k - 1];
			c.burst_at[k - 1] = was;
		}
	return c;
}

#define PROGRAMS 400

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/*
 * Method: 400 programs drawn as above, with fixed seeds, each traced once; the number of runs in which the calls of all sites are
 * further from the truth than two standard errors, and the median of these errors, as parts of the truth.
 * The same of bytes, whose error may not be known; of most steady programs it is.
 */
static void want_covered(enum kind kind, double seconds, double share, unsigned int beyond, double useful)
{
	static const char *const names[] = { "steady", "bursts, idle", "huge bursts, idle", "bursts, busy", "huge bursts, busy" };
	unsigned int missed = 0, missed_bytes = 0, narrow = 0, unknown = 0;
	double errors[PROGRAMS], bytes_errors[PROGRAMS], n = 0;

	for (uint64_t i = 1; i <= PROGRAMS; i++) {
		struct outcome o = simulate(any_program(kind, seconds * SECOND, i), share, seconds, i % 2, i);
		double off = fabs(o.told - o.truth);

		missed += off > 2 * o.total_error + 0.5;
		narrow += off > 2 * o.seen_error + 0.5;
		missed_bytes += fabs(o.told_bytes - o.truth_bytes) > 2 * o.bytes_error + 0.5;
		unknown += isinf(o.bytes_error);
		errors[i - 1] = o.total_error / o.truth;
		bytes_errors[i - 1] = o.bytes_error / o.truth_bytes;
		n += o.n / PROGRAMS;
	}
	qsort(errors, PROGRAMS, sizeof(*errors), by_size);
	qsort(bytes_errors, PROGRAMS, sizeof(*bytes_errors), by_size);
	if (getenv("SHOW_COURSES"))
		fprintf(stderr, "%-18s %g s, --overhead %g: beyond 2 standard errors %u of %u; without what was not met %u; median error %.3f, 9 of 10 below %.3f; %.0f windows; bytes: beyond %u, unknown %u, median error %.3f\n",
			names[kind], seconds, share * 100, missed, PROGRAMS, narrow, errors[PROGRAMS / 2], errors[PROGRAMS * 9 / 10], n,
			missed_bytes, unknown, bytes_errors[PROGRAMS / 2]);
	cr_expect_leq(missed, beyond, "%s, %g s, --overhead %g: %u of %u beyond 2 standard errors", names[kind], seconds, share * 100, missed, PROGRAMS);
	cr_expect_leq(missed_bytes, beyond,
		      "%s, %g s, --overhead %g: bytes: %u of %u beyond 2 standard errors",
		      names[kind], seconds, share * 100, missed_bytes, PROGRAMS);
	if (kind == STEADY)
		cr_expect_leq(bytes_errors[PROGRAMS / 2], useful,
			      "%s, %g s, --overhead %g: bytes: a median error of %.3f", names[kind],
			      seconds, share * 100, bytes_errors[PROGRAMS / 2]);
	cr_expect_leq(errors[PROGRAMS / 2], useful, "%s, %g s, --overhead %g: a median error of %.3f", names[kind], seconds, share * 100, errors[PROGRAMS / 2]);
}

Test(budget_looks, totals_know_of_bursts_that_were_not_met)
{
	want_covered(STEADY, 3, 0.05, PROGRAMS / 20, 0.4);
	want_covered(STEADY, 15, 0.05, PROGRAMS / 20, 0.1);
	want_covered(STEADY, 15, 0.01, PROGRAMS / 20, 0.2);
	for (int kind = BURSTS_IDLE; kind <= HUGE_IDLE; kind++) {
		want_covered(kind, 3, 0.05, PROGRAMS / 20, 5);
		want_covered(kind, 15, 0.05, PROGRAMS / 20, 5);
		want_covered(kind, 15, 0.01, PROGRAMS / 20, 5);
	}
}

/* Nothing shows the bursts of a program that computes all the time, if no window meets one: an error that covers them is of no use. */
Test(budget_looks, totals_know_of_most_bursts_amid_other_work)
{
	for (int kind = BURSTS_BUSY; kind <= HUGE_BUSY; kind++) {
		want_covered(kind, 3, 0.05, PROGRAMS / 4, INFINITY);
		want_covered(kind, 15, 0.05, PROGRAMS / 8, INFINITY);
		want_covered(kind, 15, 0.01, PROGRAMS / 4, INFINITY);
	}
}

/* ---- windows, and the CPU time in gaps */

/* n windows, each for one second of gaps in which the process has gap_cpus. */
static double unmet_of(size_t n, const struct window_ran *windows, double gap_cpus)
{
	struct looks l = { .unseen_ns = n * SECOND * gap_cpus, .clock_ns = n * SECOND };

	for (size_t i = 0; i < n; i++) {
		looks__ran(&l, SECOND, window__ran(&windows[i]));
		looks__take(&l, SECOND, window__ran(&windows[i]), 1);
	}
	return sqrt(looks__unmet_variance(&l, CALLS));
}

/* It computes all the time, and others have the CPU in all windows: no burst was missed. */
Test(budget_looks, windows_without_a_cpu_are_no_sleep)
{
	const struct window_ran waits = { .before = 0.4, .awake = 1 }, sleeps = { .before = 0.4 };
	const struct window_ran preempted[] = { waits, waits, waits, waits }, asleep[] = { sleeps, sleeps, sleeps, sleeps };

	const struct window_ran runs = { .before = 0.4, .own = 1, .awake = 1 }, has_it[] = { runs, waits, runs, waits };

	cr_expect_eq(unmet_of(4, preempted, 0.4), 0);
	cr_expect_eq(unmet_of(4, has_it, 0.4), 0);
	/* it slept in all of them, and ran between them */
	cr_expect_gt(unmet_of(4, asleep, 0.4), 0.4 * 4 * SECOND / 20 / 2 * 0.99);
}

/* The probes take more than the process, and what they take is known to a part: what is left says little. */
Test(budget_looks, windows_do_not_know_what_is_less_than_probes_cost)
{
	const struct window_ran one = { .before = 0.004, .own = 0.02, .error = 1.5 }, windows[] = { one, one, one };

	cr_expect_eq(unmet_of(3, windows, 0.004), 0);
	/* where the clock resolves it, the clock bounds it */
	cr_expect_float_eq(window__ran(&(struct window_ran){ .before = 0.5, .own = 0.02, .error = 0.1 }), 0.022, 1e-9);
	cr_expect_float_eq(window__ran(&(struct window_ran){ .before = 0.5, .own = 0.9, .error = 0.1 }), 0.81, 1e-9);
}

/* What followed a window that was cut short is in no doubt where all windows meet it that see the process run. */
Test(budget_looks, windows_without_a_cpu_do_not_miss_calls)
{
	const struct look_seen dense = { .own_ns = 5000, .rest_ns = 1, .late = 1, .late_own_ns = 500 };
	const double rate[N_SCALED] = { 1e-3, 1e-3 }, none[N_SCALED] = { 0 }, doubt[2] = { 0 };
	struct looks l = { .unseen_ns = 8 * SECOND, .clock_ns = 20 * SECOND };
	struct site_looks s = { 0 };

	site_looks__note(&s, &dense, 60, 60);
	site_looks__gap(&s, SECOND);
	for (int k = 0; k < 20; k++)
		site_looks__add(&s, looks__take(&l, SECOND, k % 2 ? 0.001 : 0.5, 1e6), k % 2 ? none : rate, doubt);
	/* as many calls as there may be in a second are a hundred times what there were */
	cr_expect_lt(sqrt(site_looks__variance(&s, &l, CALLS)), 8 * SECOND * 1e-3);
}

/* Few windows may agree by chance. */
Test(budget_looks, few_windows_know_little_of_their_spread)
{
	const struct window_ran windows[] = { { .own = 0.30 }, { .own = 0.34 }, { .own = 0.38 } };

	/* 0.34 ± 0.023, that is 2.6 standard errors below */
	cr_expect_eq(unmet_of(3, windows, 0.40), 0);
	cr_expect_gt(unmet_of(3, windows, 0.60), 0);
}
