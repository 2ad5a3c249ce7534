// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* --overhead: when probes may be in place. Times here are made up; none passes. */
#include <criterion/criterion.h>

#include "budget/pace.h"
#include "util/util.h"

#define MS 1000000ull
#define SECOND (1000 * MS)

/* A target that uses one CPU, and what was spent on it. */
static void note(struct pace *p, uint64_t t_ns, uint64_t spent_ns)
{
	pace__note(p, (struct reading){ 10 * SECOND + t_ns, t_ns, spent_ns });
}

Test(budget_pace, share_of_the_last_second)
{
	struct pace p;

	pace__init(&p, 0.10, 1.0, 1);
	for (unsigned int i = 0; i <= 30; i++)
		note(&p, i * 100 * MS, i >= 15 ? 20 * MS : 0);
	/* nine tenths of 10% of a second; what was spent 1.5 s ago does not count any more */
	cr_expect_float_eq(pace__allowance(&p), 90e6, 1e3);
	note(&p, 3100 * MS, 50 * MS);
	cr_expect_float_eq(pace__allowance(&p), 60e6, 1e3);
	note(&p, 3200 * MS, 150 * MS);
	cr_expect_float_eq(pace__allowance(&p), -40e6, 1e3);
	cr_expect_eq(pace__limit(&p), 150 * MS, "no limit below what is spent already");
}

Test(budget_pace, a_young_trace_goes_by_the_rate_before_it)
{
	struct pace p;

	pace__init(&p, 0.05, 2.0, 1);
	note(&p, 0, 0);
	cr_expect_float_eq(pace__allowance(&p), 0.9 * 0.05 * 2e9, 1e3);
	note(&p, 500 * MS, 0);
	cr_expect_float_eq(pace__allowance(&p), 0.9 * 0.05 * 1.5e9, 1e3);
}

Test(budget_pace, an_idle_target_may_be_hit_now_and_then)
{
	struct pace p;

	pace__init(&p, 0.05, 0, 1);
	for (unsigned int i = 0; i < 20; i++)
		pace__note(&p, (struct reading){ SECOND + i * 100 * MS, 0, 0 });
	cr_expect_float_eq(pace__allowance(&p), 250000, 1);
	cr_expect_eq(pace__limit(&p), 250000);
	pace__note(&p, (struct reading){ 4 * SECOND, 0, 260000 });
	cr_expect_eq(pace__limit(&p), 260000);
	cr_expect_eq(pace__may_begin(&p, 1e9, 1), 0);
}

struct outcome {
	double worst_share;	/* of any second */
	double observed;	/* share of the time */
	uint64_t longest_hold_ns;
	unsigned int n_windows;
	uint64_t shortest_gap_ns, longest_gap_ns;
};

#define STEP (MS / 2)
#define TIMES_SLOWER 50.0	/* with probes */
#define RUN_S 60
#define N_STEPS (RUN_S * SECOND / STEP)

/*
 * A loop of nothing but calls: while the probes are in place all of its CPU time
 * is theirs, also in the front and in the tail of a window.
 */
static struct outcome simulate(double share, double cpus, uint64_t front_ns, uint64_t tail_ns, uint64_t seed)
{
	static double spent_at[N_STEPS + 1];
	struct outcome o = { .shortest_gap_ns = UINT64_MAX };
	uint64_t ask_ns = 0, quantum_ns, opened_ns = 0, shut_ns = 0, limit_ns = 0, open_at_ns = 0, out_at_ns = 0, tick_ns = 0;
	double spent_ns = 0, before_ns = 0, mean_gap_ns = 0, planned_ns = 0;
	enum { SHUT, FRONT, OPEN, TAIL } state = SHUT;
	struct pace p;

	pace__init(&p, share, cpus, seed);
	quantum_ns = 0;
	for (size_t i = 0; i < N_STEPS; i++) {
		uint64_t t = i * STEP;

		if (state != SHUT)
			spent_ns += STEP * cpus;
		if (state == OPEN)
			o.observed += (double)STEP / (RUN_S * SECOND);
		spent_at[i] = spent_ns;
		if (t >= tick_ns || state == OPEN) {
			pace__note(&p, (struct reading){ SECOND + t, (uint64_t)(t * cpus), (uint64_t)spent_ns });
			tick_ns = t + 10 * MS;
		}
		switch (state) {
		case SHUT:
			if (t < ask_ns)
				break;
			if (!quantum_ns)
				quantum_ns = pace__quantum_ns(&p);
			if (!pace__may_begin(&p, mean_gap_ns, quantum_ns)) {
				quantum_ns = pace__quantum_ns(&p);
				mean_gap_ns = pace__mean_gap_ns(&p);
				ask_ns = t + pace__gap_ns(&p, mean_gap_ns);
				break;
			}
			state = FRONT;
			before_ns = spent_ns;
			open_at_ns = t + front_ns;
			if (o.n_windows) {
				o.shortest_gap_ns = t - shut_ns < o.shortest_gap_ns ? t - shut_ns : o.shortest_gap_ns;
				o.longest_gap_ns = t - shut_ns > o.longest_gap_ns ? t - shut_ns : o.longest_gap_ns;
			}
			break;
		case FRONT:
			if (t < open_at_ns)
				break;
			state = OPEN;
			opened_ns = t;
			o.n_windows++;
			pace__learn(&p, (uint64_t)(spent_ns - before_ns), 0);
			limit_ns = pace__limit(&p);
			planned_ns = spent_ns + pace__look_ns(&p) * TIMES_SLOWER * cpus;
			break;
		case OPEN:
			if (spent_ns <= limit_ns && spent_ns < planned_ns)
				break;
			limit_ns = MIN(limit_ns, (uint64_t)spent_ns);
			state = TAIL;
			out_at_ns = t + tail_ns;
			break;
		case TAIL:
			if (t < out_at_ns)
				break;
			state = SHUT;
			shut_ns = t;
			if (t - opened_ns + front_ns > o.longest_hold_ns)
				o.longest_hold_ns = t - opened_ns + front_ns;
			pace__learn(&p, 0, (uint64_t)(spent_ns - limit_ns));
			pace__learn_look(&p, TIMES_SLOWER * cpus, spent_ns - before_ns);
			pace__learn_cost(&p, spent_ns - before_ns);
			quantum_ns = pace__quantum_ns(&p);
			mean_gap_ns = pace__mean_gap_ns(&p);
			ask_ns = t + pace__gap_ns(&p, mean_gap_ns);
			break;
		}
	}
	for (size_t i = SECOND / STEP; i < N_STEPS; i++) {
		double part = (spent_at[i] - spent_at[i - SECOND / STEP]) / (SECOND * cpus);

		o.worst_share = part > o.worst_share ? part : o.worst_share;
	}
	return o;
}

Test(budget_pace, a_tight_loop_pays_no_more_in_any_second)
{
	static const struct {
		double share, cpus, observed;
		uint64_t front_ns, tail_ns;
	} t[] = {
		{ 0.05, 1, 0.009, MS, 2 * MS },
		{ 0.05, 2, 0.009, MS, 2 * MS },
		{ 0.02, 1, 0.0025, MS, 2 * MS },
		{ 0.01, 1, 0.001, MS, 2 * MS },
		{ 0.20, 1, 0.05, MS, 2 * MS },
		{ 0.05, 1, 0.003, 5 * MS, 10 * MS },
	};

	for (size_t i = 0; i < sizeof(t) / sizeof(*t); i++) {
		for (uint64_t seed = 1; seed <= 5; seed++) {
			struct outcome o = simulate(t[i].share, t[i].cpus, t[i].front_ns, t[i].tail_ns, seed * 7919);

			cr_expect_leq(o.worst_share, t[i].share, "row %zu, seed %lu: %.4f in a second", i, seed, o.worst_share);
			cr_expect_geq(o.observed, t[i].observed, "row %zu, seed %lu: %.4f observed", i, seed, o.observed);
			cr_expect_leq(o.longest_hold_ns, 250 * MS, "row %zu, seed %lu: held for %lu ns", i, seed, o.longest_hold_ns);
		}
	}
}

/* Blocks of every age must meet a window some day: gaps are short and long. */
Test(budget_pace, gaps_have_no_rhythm)
{
	struct outcome o = simulate(0.05, 1, MS, 2 * MS, 4711);

	cr_expect_gt(o.n_windows, 100, "%u windows", o.n_windows);
	cr_expect_lt(o.shortest_gap_ns, 50 * MS, "%lu", o.shortest_gap_ns);
	cr_expect_gt(o.longest_gap_ns, 500 * MS, "%lu", o.longest_gap_ns);
}
