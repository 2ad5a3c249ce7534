// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * --overhead: how many blocks are alive, from windows. Programs are simulated,
 * with seeds that are written here, and the truth is known.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "budget/estimate.h"

#define MS 1000000ull
#define SECOND (1000 * MS)
#define START (1000 * SECOND)	/* clocks do not begin at 0 */

static uint64_t seed;

static double uniform(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (double)(seed >> 11) / 9007199254740992.0;
}

/* The class of an age, as bpf/budget.bpf.h has it. */
static size_t class_of(uint64_t age_ns)
{
	unsigned int bits = age_ns ? 64 - __builtin_clzll(age_ns) : 0;
	size_t k = bits > MT_AGE_MIN_BITS ? (bits - MT_AGE_MIN_BITS) * 2 - 1 + (age_ns >> (bits - 2) & 1) : 0;

	return k < MT_N_AGES ? k : MT_N_AGES - 1;
}

Test(budget_survival, classes_are_those_of_the_kernel)
{
	for (size_t k = 0; k + 1 < MT_N_AGES; k++) {
		cr_expect_eq(class_of((uint64_t)age_class__from(k)), k, "%zu", k);
		cr_expect_eq(class_of((uint64_t)age_class__to(k) - 1), k, "%zu", k);
	}
	cr_expect_eq(class_of(UINT64_MAX), MT_N_AGES - 1);
}

/* How long a block lives; 0: for ever. */
typedef uint64_t (*life_fn)(void);

static uint64_t forever(void) { return 0; }
static uint64_t at_once(void) { return 1 + (uint64_t)(uniform() * 40000); }
static uint64_t some_leak(void) { return uniform() < 0.01 ? 0 : at_once(); }
static uint64_t about_a_second(void) { return 1 + (uint64_t)(-log(1 - uniform()) * SECOND); }
static uint64_t ten_seconds(void) { return 10 * SECOND; }
static uint64_t fifty_ms(void) { return 30 * MS + (uint64_t)(uniform() * 40 * MS); }

struct outcome {
	double truth, estimate, error;
};

#define MAX_WINDOWS 20000

struct window {
	uint64_t from, to;
};

/* Windows of 5 to 50 ms, gaps from an exponential distribution: 5% of the time, or all of it. */
static size_t make_windows(struct window *w, uint64_t seconds, double share)
{
	uint64_t t = START;
	size_t n = 0;

	while (t < START + seconds * SECOND && n < MAX_WINDOWS) {
		uint64_t length = (uint64_t)(5 * MS * pow(10, uniform() * uniform()));

		w[n++] = (struct window){ t, t + length };
		t += length + (share < 1 ? (uint64_t)(-log(1 - uniform()) * length * (1 / share - 1)) : 0);
	}
	return n;
}

static bool is_seen(const struct window *w, size_t n, uint64_t t)
{
	size_t low = 0, high = n;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (w[mid].from <= t)
			low = mid + 1;
		else
			high = mid;
	}
	return low && t < w[low - 1].to;
}

/* Blocks born at random, per_s of them a second; the table forgets none. */
static struct outcome simulate(life_fn life, double per_s, uint64_t seconds, double share, uint64_t a_seed)
{
	static struct window w[MAX_WINDOWS];
	static double born[MAX_WINDOWS];
	struct survival s;
	__u64 freed[MT_N_AGES] = { 0 };
	struct outcome o = { 0 };
	struct curve c;
	uint64_t end = START + seconds * SECOND;
	double seen_ns = 0, var;
	size_t n, at = 0;

	seed = a_seed * 2654435761 + 1;
	n = make_windows(w, seconds, share);
	memset(born, 0, sizeof(born));
	memset(&s, 0, sizeof(s));
	for (double t = START; t < end; t += -log(1 - uniform()) * 1e9 / per_s) {
		uint64_t lives = life(), dies = lives ? (uint64_t)t + lives : UINT64_MAX;

		o.truth += dies > end;
		while (at + 1 < n && w[at + 1].from <= t)
			at++;
		if (t < w[at].from || t >= w[at].to)
			continue;
		born[at]++;
		if (dies <= end && is_seen(w, n, dies))
			freed[class_of(lives)]++;
	}
	for (size_t i = 0; i < n && w[i].from < end; i++) {
		uint64_t to = w[i].to < end ? w[i].to : end;

		seen_ns += to - w[i].from;
		survival__add(&s, w[i].from, to, (struct weight){ born[i], born[i] * 100 }, (struct weight){ born[i], born[i] * 100 });
	}
	survival__curve(&s, freed, false, NULL, &c);
	o.estimate = survival__alive(&s, &c, false, (double)(end - START) / seen_ns - 1, end, &var);
	o.error = sqrt(var);
	return o;
}

#define SEEDS 12

/* The mean of some runs must be the truth, and the errors said must cover most of them. */
static void want_life(const char *what, life_fn life, double per_s, uint64_t seconds, double share, double within, double slack)
{
	double sum = 0, truth = 0;
	unsigned int covered = 0;

	for (uint64_t i = 1; i <= SEEDS; i++) {
		struct outcome o = simulate(life, per_s, seconds, share, i);

		sum += o.estimate;
		truth += o.truth;
		/* scaling by time has an error of its own, which the caller adds: a tenth */
		covered += fabs(o.estimate - o.truth) <= 2.5 * o.error + 0.1 * o.truth + slack;
	}
	cr_expect_leq(fabs(sum - truth), truth * within + slack * SEEDS, "%s: %.0f, truth %.0f", what, sum / SEEDS, truth / SEEDS);
	cr_expect_geq(covered, SEEDS - 2, "%s: %u of %u within their errors", what, covered, SEEDS);
}

Test(budget_survival, leaks) { want_life("leak", forever, 2000, 60, 0.05, 0.1, 0); }
/* born in the last microseconds before a window's end, their frees are never seen: no leaks all the same */
Test(budget_survival, churn) { want_life("churn", at_once, 200000, 20, 0.05, 0.1, 400); }
Test(budget_survival, leaks_amid_churn) { want_life("1% leaks", some_leak, 100000, 30, 0.05, 0.1, 0); }
Test(budget_survival, memoryless) { want_life("about a second", about_a_second, 20000, 60, 0.05, 0.25, 0); }
/* an age that fits into no window, and into few pairs of them */
Test(budget_survival, fifty_milliseconds) { want_life("50 ms", fifty_ms, 20000, 60, 0.05, 0.5, 20000); }
Test(budget_survival, held_for_ten_seconds) { want_life("ten seconds", ten_seconds, 2000, 60, 0.05, 0.5, 0); }

/* All of the time: frees are all seen, and the estimate is what is left. */
Test(budget_survival, everything_is_seen)
{
	struct outcome o = simulate(about_a_second, 10000, 20, 1, 3);

	cr_expect_float_eq(o.estimate, o.truth, o.truth * 0.05, "%.0f, truth %.0f", o.estimate, o.truth);
}

/* What the table does not hold any more is gone, whatever the curve says. */
Test(budget_survival, the_table_is_believed)
{
	struct survival s;
	__u64 freed[MT_N_AGES] = { 0 };
	struct curve c;

	memset(&s, 0, sizeof(s));
	survival__add(&s, START, START + 10 * MS, (struct weight){ 100, 10000 }, (struct weight){ 1900, 190000 });
	survival__curve(&s, freed, false, NULL, &c);
	cr_expect_float_eq(survival__alive(&s, &c, false, 1, START + SECOND, NULL), 2000, 1);
	survival__begin_scan(&s);
	for (int i = 0; i < 5; i++)
		survival__in_table(&s, START + MS, 100);
	survival__end_scan(&s);
	cr_expect_float_eq(survival__alive(&s, &c, false, 1, START + SECOND, NULL), 100, 1);
	cr_expect_float_eq(survival__alive(&s, &c, true, 1, START + SECOND, NULL), 10000, 1);
}

/* A site that says nothing about an age is taken to be like others, if it was so before. */
Test(budget_survival, others_fill_in)
{
	struct survival s;
	__u64 freed[MT_N_AGES] = { 0 };
	double prior[MT_N_AGES] = { 0 };
	size_t early = class_of(MS), late = class_of(SECOND);
	struct curve c;

	memset(&s, 0, sizeof(s));
	survival__add(&s, START, START + 10 * MS, (struct weight){ 1000, 1000 }, (struct weight){});
	prior[early] = 0.5;
	prior[late] = 0.8;
	freed[early] = 500;
	survival__curve(&s, freed, false, prior, &c);
	cr_expect_float_eq(c.chance[late], 0.8, 0.1, "%g", c.chance[late]);
	freed[early] = 0;
	survival__curve(&s, freed, false, prior, &c);
	cr_expect_lt(c.chance[late], 0.01, "%g", c.chance[late]);
}

/* Born at the edge of two stretches and counted in the second: that is no free. */
Test(budget_survival, a_birth_at_an_edge_is_no_free)
{
	struct survival s;
	__u64 freed[MT_N_AGES] = { 0 };
	struct curve c;

	memset(&s, 0, sizeof(s));
	survival__add(&s, START, START + 10 * MS, (struct weight){ 10, 1000 }, (struct weight){});
	survival__add(&s, START + 10 * MS, START + 20 * MS, (struct weight){ 10, 1000 }, (struct weight){});
	survival__curve(&s, freed, false, NULL, &c);
	survival__begin_scan(&s);
	for (int i = 0; i < 12; i++)
		survival__in_table(&s, START + MS, 100);
	for (int i = 0; i < 8; i++)
		survival__in_table(&s, START + 15 * MS, 100);
	survival__end_scan(&s);
	cr_expect_float_eq(survival__alive(&s, &c, false, 0, START + SECOND, NULL), 20, 1e-6);
	cr_expect_float_eq(survival__alive(&s, &c, true, 0, START + SECOND, NULL), 2000, 1e-6);
}

/* That none lives of the few calls that were seen is no proof that none does of the many that were not. */
Test(budget_survival, none_of_few_is_not_none)
{
	double calls = 80e3;
	double few = sqrt(survival__error_of_calls(calls * calls, 0, 100, 100, 2));
	double many = sqrt(survival__error_of_calls(calls * calls, 0, 1e6, 1e6, 1000));
	double all = sqrt(survival__error_of_calls(calls * calls, 1e6, 1e6, 1e6, 1000));

	cr_expect_gt(few, calls / 300, "one in 300 may live: %g", few);
	cr_expect_lt(many, calls / 1000, "of a thousand looks none met one: %g", many);
	cr_expect_gt(all, calls * 0.99, "all live: %g", all);
	cr_expect_eq(survival__error_of_calls(0, 0, 100, 100, 2), 0, "no call was missed");
}
