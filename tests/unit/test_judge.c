// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Verdicts on histories whose truth is known: each is played block by block on a
 * clock of its own, looked at once a second, as a trace would.
 */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "model/judge.h"
#include "util/util.h"

#define S 1000000000ull
#define DAY (86400 * S)
#define FOR_EVER INFINITY

/* ---- a site that is played */

struct block {
	double born, dies;
	uint64_t size;
};

struct site {
	struct vec(struct block) live;
	struct course course;
	double now, first, last;
	uint64_t alloc_calls, free_calls, live_bytes, random;
	double lifetimes;
	uint64_t unknown_frees, other_blocks;
	bool rss_grows;
	uint64_t age_at_start_ns;
};

static double chance(struct site *s)
{
	s->random = s->random * 6364136223846793005ull + 1442695040888963407ull;
	return ((double)(s->random >> 11) + 0.5) / 9007199254740992.0;
}

static void allocate(struct site *s, double at, uint64_t size, double life)
{
	struct block *b = vec_push(&s->live);

	cr_assert_not_null(b);
	*b = (struct block){ at, at + life, size };
	if (!s->alloc_calls++)
		s->first = at;
	s->last = at;
	s->live_bytes += size;
}

static void end_block(struct site *s, size_t i, double at)
{
	s->free_calls++;
	s->lifetimes += at - s->live.v[i].born;
	s->live_bytes -= s->live.v[i].size;
	s->live.v[i] = s->live.v[--s->live.n];
}

static void look_at(struct site *s, double t)
{
	for (size_t i = 0; i < s->live.n;)
		if (s->live.v[i].dies <= t)
			end_block(s, i, s->live.v[i].dies);
		else
			i++;
	s->now = t;
	course__add(&s->course, (uint64_t)(t * 1e9), s->live_bytes, s->live.n, s->alloc_calls);
}

static struct evidence evidence_of(const struct site *s)
{
	double oldest = s->now;

	for (size_t i = 0; i < s->live.n; i++)
		oldest = MIN(oldest, s->live.v[i].born);
	return (struct evidence){
		.points = s->course.points.v,
		.n_points = s->course.points.n,
		.first_ns = (uint64_t)(s->first * 1e9),
		.last_ns = (uint64_t)(s->last * 1e9),
		.end_ns = (uint64_t)(s->now * 1e9),
		.process_age_ns = s->age_at_start_ns + (uint64_t)(s->now * 1e9),
		.alloc_calls = s->alloc_calls,
		.free_calls = s->free_calls,
		.live_blocks = s->live.n,
		.lifetime_sum_ns = (uint64_t)(s->lifetimes * 1e9),
		.unknown_frees = s->unknown_frees,
		.process_blocks = s->other_blocks + s->live.n,
		.rss_grown_bytes = s->rss_grows ? s->live_bytes : s->live_bytes / 4,
		.oldest_ns = s->live.n ? (uint64_t)((s->now - oldest) * 1e9) : 0,
		.leak_after_ns = JUDGE_LEAK_AFTER_NS,
	};
}

static void done(struct site *s)
{
	vec_done(&s->live);
	course__done(&s->course);
}

static void expect(const struct site *s, const char *verdict, const char *why)
{
	struct snapshot *snap = snapshot__new();
	struct evidence e = evidence_of(s);
	struct trend t;

	snap->known = HAS_ALL;
	judge(snap, &e, &t);
	if (verdict)
		cr_expect_str_eq(t.verdict ?: "(none)", verdict, "at %.0f s: wanted %s, got %s (%s)", s->now, verdict,
				 t.verdict ?: "none", t.why ?: "");
	else
		cr_expect_null(t.verdict, "at %.0f s: wanted none, got %s (%s)", s->now, t.verdict, t.why);
	if (why)
		cr_expect_str_eq(t.why ?: "", why, "at %.0f s: %s", s->now, t.why);
	cr_expect_eq(!t.verdict, !t.why);
	snapshot__free(snap);
}

static struct trend judged(struct snapshot *snap, const struct site *s)
{
	struct evidence e = evidence_of(s);
	struct trend t;

	judge(snap, &e, &t);
	return t;
}

static void expect_climb(const struct site *s)
{
	struct snapshot *snap = snapshot__new();
	struct trend t = judged(snap, s);

	cr_expect(t.verdict && (!strcmp(t.verdict, "leak") || !strcmp(t.verdict, "suspect") || !strcmp(t.verdict, "growing")),
		  "at %.0f s: it climbs, got %s (%s)", s->now, t.verdict ?: "none", t.why ?: "");
	snapshot__free(snap);
}

static void expect_no_alarm(const struct site *s)
{
	struct snapshot *snap = snapshot__new();
	struct trend t = judged(snap, s);

	cr_expect(!t.verdict || (strcmp(t.verdict, "leak") && strcmp(t.verdict, "suspect")), "at %.0f s: %s (%s)", s->now, t.verdict, t.why);
	snapshot__free(snap);
}

/* ---- the histories */

Test(judge, true_leak)
{
	struct site s = { .age_at_start_ns = DAY };

	for (int t = 0; t < 3600; t++) {
		for (int i = 0; i < 20; i++)
			allocate(&s, t + i / 20.0, 2560, FOR_EVER);
		look_at(&s, t + 1);
		if (t + 1 == 3)
			expect(&s, NULL, NULL);
		else if (t + 1 == 10)
			expect(&s, "suspect", "0 of 200 freed, +2.9 MiB/min for 9.0s, oldest 10.0s");
		else if (t + 1 == 30)
			expect(&s, "leak", NULL);
		else if (t + 1 == 360)
			expect(&s, "leak", "0 of 7,200 freed, +2.9 MiB/min for 5m59s, oldest 6m00s");
	}
	expect(&s, "leak", NULL);
	done(&s);
}

/* 2,000 calls a second, blocks of 20 ms; one in 500 is forgotten. */
Test(judge, slow_leak_under_churn)
{
	struct site s = { .age_at_start_ns = DAY, .random = 1 };

	for (int t = 0; t < 120; t++) {
		for (int i = 0; i < 2000; i++)
			allocate(&s, t + i / 2000.0, 100 + (uint64_t)(chance(&s) * 200),
				 chance(&s) < 1 / 500.0 ? FOR_EVER : -0.02 * log(chance(&s)));
		look_at(&s, t + 1);
	}
	expect(&s, "leak", NULL);
	done(&s);
}

/* Blocks of a second, a few thousand of them, and one in 300 forgotten: it shows only after a while. */
Test(judge, slower_leak_under_heavier_churn)
{
	struct site s = { .age_at_start_ns = DAY, .random = 2 };

	for (int t = 0; t < 600; t++) {
		for (int i = 0; i < 1000; i++)
			allocate(&s, t + i / 1000.0, 256, chance(&s) < 1 / 300.0 ? FOR_EVER : -log(chance(&s)));
		look_at(&s, t + 1);
		/* no more is forgotten than is held by rights: that the calls are as many as ever is what tells */
		if (t + 1 == 200)
			expect(&s, "leak", NULL);
	}
	expect(&s, "leak", NULL);
	done(&s);
}

/* The same traffic without the leak; then more and more of it: growth that the calls explain. */
Test(judge, traffic_that_grows)
{
	struct site s = { .age_at_start_ns = DAY, .random = 3 };

	for (int i = 0; i < 50; i++)
		allocate(&s, 0.1, 1000, FOR_EVER);
	for (int t = 0; t < 300; t++) {
		for (int i = 0; i < 500; i++)
			allocate(&s, t + i / 500.0, 256, -log(chance(&s)));
		look_at(&s, t + 1);
	}
	expect(&s, "steady", NULL);
	for (int t = 300; t < 1200; t++) {
		for (int i = 0; i < 500 + (t - 300) * 4; i++)
			allocate(&s, t + chance(&s), 256, -log(chance(&s)));
		look_at(&s, t + 1);
	}
	expect(&s, "growing", NULL);
	done(&s);
}

/* It fills for a minute; from then on each new block takes the place of the oldest. */
Test(judge, cache_with_a_limit)
{
	struct site s = { .age_at_start_ns = DAY };

	for (int t = 0; t < 1200; t++) {
		for (int i = 0; i < 50; i++)
			allocate(&s, t + i / 50.0, 1024, 60);
		look_at(&s, t + 1);
		if (t + 1 == 15)
			expect(&s, "suspect", NULL);
		else if (t + 1 == 120 || t + 1 == 300)
			expect(&s, "steady", NULL);
	}
	expect(&s, "steady", NULL);
	done(&s);
}

/* As many blocks came as older ones went. If RSS grows, or other sites explain those frees, the site is suspect. */
static void expect_replaced(struct site *s)
{
	static const char why[] = "0 of 2,500 freed, +2.9 MiB/min for 49.0s, oldest 50.0s, but 2,500 older ones were freed";

	expect(s, NULL, NULL);
	s->rss_grows = true;
	expect(s, "suspect", why);
	s->rss_grows = false;
	/* of two caches, each has half of the frees */
	s->other_blocks = s->live.n;
	s->unknown_frees *= 2;
	expect(s, NULL, NULL);
	/* a larger cache beside a leak */
	s->other_blocks = 3 * s->live.n;
	expect(s, "suspect", NULL);
	s->other_blocks = 0;
	s->unknown_frees /= 2;
}

/* The same, full long before the trace: for a minute, only blocks are freed that nobody knows. */
Test(judge, cache_that_was_full_before)
{
	struct site s = { .age_at_start_ns = DAY };

	for (int t = 0; t < 1200; t++) {
		for (int i = 0; i < 50; i++)
			allocate(&s, t + i / 50.0, 1024, 60);
		if (t < 60)
			s.unknown_frees += 50;
		look_at(&s, t + 1);
		if (t + 1 == 50)
			expect_replaced(&s);
		else if (t + 1 == 120 || t + 1 == 300)
			expect(&s, "steady", NULL);
	}
	expect(&s, "steady", NULL);
	done(&s);
}

/* A program that begins: quickly at first, then ever less, up to 64 MiB. */
Test(judge, warm_up)
{
	struct site s = {};
	uint64_t held = 0;

	for (int t = 0; t < 600; t++) {
		uint64_t want = (uint64_t)(65536 * (1 - exp(-(t + 1) / 30.0)));

		for (; held < want; held++)
			allocate(&s, t + 0.5, 1024, FOR_EVER);
		look_at(&s, t + 1);
		if (t + 1 == 25)
			expect(&s, "suspect", NULL);
		else if (t + 1 == 70)
			expect(&s, "growing", NULL);
		else if (t + 1 == 300)
			expect(&s, "steady", NULL);
	}
	expect(&s, "steady", NULL);
	done(&s);
}

/* A pool fills for ten seconds and is emptied, again and again: no moment may look like a leak. */
Test(judge, sawtooth_pool)
{
	struct site s = { .age_at_start_ns = DAY };

	for (int t = 0; t < 600; t++) {
		for (int i = 0; i < 100; i++)
			allocate(&s, t + i / 100.0, 10240, 10 - t % 10 - i / 100.0);
		look_at(&s, t + 1);
		if (t + 1 >= 30)
			expect(&s, "steady", NULL);
	}
	done(&s);
}

/* One in ten of each filling is forgotten: whatever its period, that is not steady once it has been emptied eight times. */
Test(judge, sawtooth_that_leaks)
{
	for (int period = 2; period <= 12; period++) {
		struct site s = { .age_at_start_ns = DAY };

		for (int t = 0; t < 30 * period; t++) {
			struct snapshot *snap = snapshot__new();
			struct evidence e;
			struct trend trend;

			for (int i = 0; i < 100; i++)
				allocate(&s, t + i / 100.0, 100, i % 10 ? period - t % period - i / 100.0 : 2 * DAY);
			look_at(&s, t + 1);
			e = evidence_of(&s);
			judge(snap, &e, &trend);
			if (t >= 8 * period)
				cr_expect(!trend.verdict || strcmp(trend.verdict, "steady"), "period %d s, at %d s: %s", period, t + 1, trend.why);
			snapshot__free(snap);
		}
		done(&s);
	}
}

/* The same, slow enough for each ramp to be seen as one: two minutes. */
Test(judge, slow_sawtooth)
{
	struct site s = { .age_at_start_ns = DAY };

	for (int t = 0; t < 3600; t++) {
		for (int i = 0; i < 10; i++)
			allocate(&s, t + i / 10.0, 10240, 120 - t % 120 - i / 10.0);
		look_at(&s, t + 1);
		if (t > 130)
			expect_no_alarm(&s);
	}
	expect(&s, "steady", NULL);
	done(&s);
}

/* Work comes in twice as fast as it is done, for a minute; then nothing more comes. */
Test(judge, queue_that_backs_up_and_drains)
{
	struct site s = { .age_at_start_ns = DAY };
	size_t served = 0;

	for (int t = 0; t < 400; t++) {
		for (int i = 0; i < 100 && t < 60; i++)
			allocate(&s, t + i / 100.0, 4096, FOR_EVER);
		/* first come, first served; the list is out of order */
		for (int i = 0; i < 50 && s.live.n; i++, served++) {
			size_t oldest = 0;

			for (size_t k = 1; k < s.live.n; k++)
				if (s.live.v[k].born < s.live.v[oldest].born)
					oldest = k;
			end_block(&s, oldest, t + 1);
		}
		look_at(&s, t + 1);
		if (t + 1 == 50)
			expect(&s, "growing", NULL);
		else if (t + 1 == 110)
			expect(&s, "draining", NULL);
	}
	expect(&s, "steady", NULL);
	cr_expect_eq(served, 6000);
	done(&s);
}

/* It backs up for a minute, and takes four to be done with: most of the time it falls, if never faster than the median says. */
Test(judge, queue_that_drains_slowly)
{
	struct site s = { .age_at_start_ns = DAY };

	for (int t = 0; t < 280; t++) {
		for (int i = 0; i < 100 && t < 60; i++)
			allocate(&s, t + i / 100.0, 4096, t < 30 ? 600 : 1);
		for (int i = 0; i < 10 && t >= 60; i++)
			end_block(&s, 0, t + 1);
		look_at(&s, t + 1);
		if (t + 1 == 200)
			expect(&s, "draining", NULL);
	}
	expect(&s, "draining", NULL);
	done(&s);
}

/* Much is taken at once, then a little is lost all the time, by the same stack: whatever share of the whole that is, it climbs. */
Test(judge, small_leak_beside_much_that_is_kept)
{
	for (int begins = 0; begins <= 40; begins += 10) {
		/* every second time, others of its blocks come and go */
		bool churns = begins / 10 % 2;
		struct site s = { .age_at_start_ns = DAY };

		for (int t = 0; t < 130; t++) {
			for (int i = 0; i < 95 && t == begins; i++)
				allocate(&s, t, 1 << 20, FOR_EVER);
			for (int i = 0; i < 33; i++)
				allocate(&s, t + i / 33.0, 400, FOR_EVER);
			for (int i = 0; i < 20 && churns; i++)
				allocate(&s, t + i / 20.0, 400, 2 * chance(&s));
			look_at(&s, t + 1);
			if (t >= begins + (churns ? 60 : 20))
				expect_climb(&s);
		}
		expect(&s, "leak", NULL);
		done(&s);
	}
}

/* A program loads for two seconds and leaks a little from then on: in a short trace that may be too little for a trend, and is no rest. */
Test(judge, small_leak_behind_a_start)
{
	struct site s = { .age_at_start_ns = 0 };

	for (int t = 0; t < 14; t++) {
		for (int i = 0; i < 10 && t < 2; i++)
			allocate(&s, t + i / 10.0, 1 << 20, FOR_EVER);
		for (int i = 0; i < 12; i++)
			allocate(&s, t + i / 12.0, 1000, FOR_EVER);
		look_at(&s, t + 1);
		if (t >= 9) {
			struct snapshot *snap = snapshot__new();
			struct trend got = judged(snap, &s);

			cr_expect(!got.verdict || strcmp(got.verdict, "steady"), "at %d s: %s", t + 1, got.why);
			snapshot__free(snap);
		}
	}
	done(&s);
}

/* The same beside a pool that is filled and emptied above it: what comes back to where it was is no climb. */
Test(judge, small_saw_on_much_that_is_kept)
{
	struct site s = { .age_at_start_ns = DAY };

	for (int i = 0; i < 95; i++)
		allocate(&s, 0, 1 << 20, FOR_EVER);
	for (int t = 0; t < 600; t++) {
		for (int i = 0; i < 100; i++)
			allocate(&s, t + i / 100.0, 100, 60 - t % 60 - i / 100.0);
		look_at(&s, t + 1);
		if (t > 130)
			expect_no_alarm(&s);
	}
	done(&s);
}

Test(judge, start_up_allocations)
{
	struct site s = {};

	for (int i = 0; i < 512; i++)
		allocate(&s, 0.5, 1024, FOR_EVER);
	for (int t = 0; t < 30; t++)
		look_at(&s, t + 1);
	expect(&s, "steady", "512.0 KiB for 29.0s, last allocation 29.5s ago");
	done(&s);
}

/* One block a quarter of an hour: rare, but it goes on. */
/* It has not been steady all the time, and that is said. */
Test(judge, doubled_and_stopped)
{
	struct site s = { .age_at_start_ns = DAY };

	for (int i = 0; i < 10; i++)
		allocate(&s, 0.1, 102400, FOR_EVER);
	for (int t = 0; t < 60; t++) {
		if (t >= 5 && t < 15)
			allocate(&s, t + 0.5, 102400, FOR_EVER);
		look_at(&s, t + 1);
		if (t + 1 == 60)
			expect(&s, "steady", "grew by 1.0 MiB, at 2.0 MiB for 45.0s, last allocation 45.5s ago");
	}
	done(&s);
}

/* The other way round. */
Test(judge, halved_and_stopped)
{
	struct site s = { .age_at_start_ns = DAY };

	for (int i = 0; i < 20; i++)
		allocate(&s, 0.1, 102400, i < 10 ? 5 + i : FOR_EVER);
	for (int t = 0; t < 60; t++)
		look_at(&s, t + 1);
	expect(&s, "steady", "fell by 1.0 MiB, at 1.0 MiB for 45.0s, last allocation 59.9s ago");
	done(&s);
}

Test(judge, rare_leak)
{
	struct site s = { .age_at_start_ns = DAY };

	for (int t = 0; t < 4 * 3600; t++) {
		if (t % 900 == 450)
			allocate(&s, t, 65536, FOR_EVER);
		if (s.alloc_calls)
			look_at(&s, t + 1);
	}
	expect(&s, "leak", NULL);
	done(&s);
}

/* Three days of peace, then a leak for half an hour. */
Test(judge, leak_that_began_late)
{
	struct site s = { .age_at_start_ns = DAY };

	for (int i = 0; i < 1000; i++)
		allocate(&s, 0.5, 1024, FOR_EVER);
	for (int t = 0; t < 3 * 86400; t++)
		look_at(&s, t + 1);
	expect(&s, "steady", NULL);
	for (int t = 3 * 86400; t < 3 * 86400 + 1800; t++) {
		allocate(&s, t + 0.5, 4096, FOR_EVER);
		look_at(&s, t + 1);
	}
	expect(&s, "leak", NULL);
	done(&s);
}

/* Up by leaps, a few of them: neither steady nor a trend. A rest tells. */
Test(judge, too_early_to_tell)
{
	static const int leaps[] = { 500, 10, 900, 20, 700, 10 };
	struct site s = { .age_at_start_ns = DAY };

	for (int t = 0; t < 40; t++) {
		for (int i = 0; t < 6 && i < leaps[t]; i++)
			allocate(&s, t + i / 1000.0, 1000, i % 4 ? FOR_EVER : 0.001);
		look_at(&s, t + 1);
		if (t + 1 == 6)
			expect(&s, NULL, NULL);
	}
	expect(&s, "steady", NULL);
	done(&s);
}

/* A block takes room whatever was requested. */
Test(judge, leak_of_blocks_without_bytes)
{
	struct site s = { .age_at_start_ns = DAY };

	allocate(&s, 0, 1, FOR_EVER);
	for (int t = 0; t < 60; t++) {
		for (int i = 0; i < 20; i++)
			allocate(&s, t + i / 20.0, 0, FOR_EVER);
		look_at(&s, t + 1);
	}
	expect(&s, "leak", "0 of 1,201 freed, +1,200 blocks/min for 59.0s, oldest 1m00s");
	done(&s);
}

Test(judge, as_many_blocks_without_bytes_as_before)
{
	struct site s = { .age_at_start_ns = DAY };

	for (int t = 0; t < 60; t++) {
		for (int i = 0; i < 20; i++)
			allocate(&s, t + i / 20.0, 0, 2);
		look_at(&s, t + 1);
	}
	expect(&s, "steady", NULL);
	done(&s);
}

Test(judge, process_of_three_seconds)
{
	struct site s = {};

	for (int t = 0; t < 3; t++) {
		for (int i = 0; i < 1000; i++)
			allocate(&s, t + i / 1000.0, 100, FOR_EVER);
		look_at(&s, t + 1);
	}
	expect(&s, NULL, NULL);
	done(&s);
}

Test(judge, a_site_that_has_just_appeared)
{
	struct site s = { .age_at_start_ns = DAY };

	allocate(&s, 100, 100, FOR_EVER);
	for (int t = 0; t < 3; t++)
		look_at(&s, 101 + t);
	expect(&s, "new", "first allocation 3.0s ago");
	done(&s);
}

/* ---- false alarms */

/*
 * Courses without any trend, of a site whose other signs all speak for a leak:
 * short lifetimes, old blocks. What is left to tell them from one is the course alone.
 */
enum noise { WALK, BOUNDED_WALK, WHITE, REVERTING, N_NOISES };

static double normal(struct site *s)
{
	return sqrt(-2 * log(chance(s))) * cos(6.283185307179586 * chance(s));
}

static bool alarms(enum noise noise, uint64_t seed, int seconds)
{
	struct site s = { .random = seed * 0x9e3779b97f4a7c15ull };
	struct snapshot *snap = snapshot__new();
	double x = 0;
	struct evidence e;
	struct trend t;
	bool ret;

	for (int i = 1; i <= seconds; i++) {
		double n = normal(&s);

		x = noise == WHITE ? n * 10 : noise == REVERTING ? 0.9 * x + n * 4 : x + n;
		if (noise == BOUNDED_WALK)
			x = MAX(-20, MIN(20, x));
		course__add(&s.course, (uint64_t)i * S, (uint64_t)(MAX(x + 200, 0) * 4096), 0, (uint64_t)i * 1000);
	}
	e = (struct evidence){
		.points = s.course.points.v, .n_points = s.course.points.n, .end_ns = (uint64_t)seconds * S, .process_age_ns = DAY,
		.alloc_calls = (uint64_t)seconds * 1000, .free_calls = (uint64_t)seconds * 1000 - 200, .live_blocks = 200,
		.lifetime_sum_ns = (uint64_t)seconds * S, .oldest_ns = (uint64_t)seconds * S,
		.last_ns = (uint64_t)seconds * S, .leak_after_ns = JUDGE_LEAK_AFTER_NS,
	};
	judge(snap, &e, &t);
	ret = t.verdict && !strcmp(t.verdict, "leak");
	snapshot__free(snap);
	done(&s);
	return ret;
}

Test(judge, false_alarms_are_rare)
{
	static const int lengths[] = { 30, 60, 120, 300, 900 };
	unsigned int n = 1000;

	for (enum noise noise = 0; noise < N_NOISES; noise++)
		for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
			unsigned int wrong = 0;

			for (uint64_t seed = 1; seed <= n; seed++)
				wrong += alarms(noise, seed, lengths[i]);
			/* docs/VERDICTS.md promises 1 in 200 */
			cr_expect_leq(wrong, n / 200, "noise %d, %d s: %u of %u", noise, lengths[i], wrong, n);
		}
}

/* ---- estimates */

/* A leak as it is seen by --overhead: what is held is known to a part of it. */
static const char *verdict_of_estimate(double error_part, bool leaks)
{
	struct site s = { .random = 42, .age_at_start_ns = DAY };
	struct snapshot *snap = snapshot__new();
	struct evidence e;
	struct trend t;
	const char *ret;

	for (int i = 1; i <= 60; i++) {
		for (int k = 0; k < 10; k++)
			allocate(&s, i - 0.5, 1000, leaks || i == 1 ? FOR_EVER : 0.1);
		look_at(&s, i);
	}
	e = evidence_of(&s);
	e.estimated = true;
	e.error_bytes = error_part * (double)s.live_bytes;
	judge(snap, &e, &t);
	ret = t.verdict ? t.verdict : "none";
	snapshot__free(snap);
	done(&s);
	return ret;
}

Test(judge, too_rough_an_estimate_has_no_verdict)
{
	cr_expect_str_eq(verdict_of_estimate(0, true), "leak");
	cr_expect_str_eq(verdict_of_estimate(0.1, true), "leak");
	cr_expect_str_eq(verdict_of_estimate(0.3, true), "none");
	cr_expect_str_eq(verdict_of_estimate(0.1, false), "steady");
	cr_expect_str_eq(verdict_of_estimate(0.3, false), "none");
}

/* ---- by pointers */

struct pointed {
	double seconds;
	uint64_t looked, unreached;
	const char *held;
	const char *verdict, *why;
	bool partial;
};

/* A block a second that is never freed: what a look at the memory says of them decides. */
static void expect_pointed(const struct pointed *p)
{
	struct snap_root root = { .name = p->held };
	struct snapshot *snap = snapshot__new();
	struct site s = { .age_at_start_ns = DAY };
	struct evidence e;
	struct trend t;

	for (double at = 1; at <= p->seconds; at++) {
		for (int i = 0; i < 20; i++)
			allocate(&s, at - 0.5, 1000, FOR_EVER);
		look_at(&s, at);
	}
	e = evidence_of(&s);
	e.scans = 3;
	e.looked_blocks = p->looked;
	e.unreached_blocks = p->unreached;
	e.search_partial = p->partial;
	e.held = p->held ? &root : NULL;
	if (p->looked == 1)
		e.live_blocks = 1;
	judge(snap, &e, &t);
	cr_expect_str_eq(t.verdict ?: "none", p->verdict, "%.0f s, %" PRIu64 " of %" PRIu64 ": %s (%s)", p->seconds, p->unreached,
			 p->looked, t.verdict ?: "none", t.why ?: "");
	if (p->why)
		cr_expect_str_eq(t.why ?: "", p->why, "%s", t.why);
	/* whatever the names in it are */
	cr_expect_eq(t.why_unreached, t.why && strstr(t.why, "no pointer to "), "%s", t.why);
	snapshot__free(snap);
	done(&s);
}

Test(judge, pointers_decide)
{
	static const struct pointed cases[] = {
		/* nothing points to them: there is no need to wait */
		{ 2, 40, 40, NULL, "leak", "no pointer to 40 of 40 blocks in 3 scans, 0 of 40 freed" },
		{ 60, 1200, 1199, NULL, "leak", NULL },
		{ 60, 1200, 600, NULL, "leak", NULL },
		/* unless they may be where nobody searched: then only the course can show a leak */
		{ 2, 40, 40, NULL, "suspect", NULL, .partial = true },
		{ 10, 200, 200, NULL, "suspect", NULL, .partial = true },
		{ 60, 1200, 1200, NULL, "leak", NULL, .partial = true },
		/* few of them: by the course, as always */
		{ 60, 1200, 599, NULL, "leak", "0 of 1,200 freed, +1.1 MiB/min for 59.0s, oldest 59.5s" },
		{ 2, 40, 19, NULL, "none", NULL },
		/* one block need not be a leak */
		{ 2, 1, 1, NULL, "suspect", NULL },
		/* most of what is live has come since the look */
		{ 60, 500, 500, NULL, "leak", "0 of 1,200 freed, +1.1 MiB/min for 59.0s, oldest 59.5s" },
		/* all are held: a cache, however long it grows */
		{ 60, 1200, 0, "pointers", "growing", "all reachable through pointers, +1.1 MiB/min for 59.0s, 0 of 1,200 freed" },
		{ 60, 1200, 0, NULL, "growing", NULL },
		/* and stay so until the next search, however many have come since; not for long */
		{ 60, 500, 0, "cache", "growing", "all 500 searched reachable through cache, +1.1 MiB/min for 59.0s, 0 of 1,200 freed" },
		{ 60, 150, 0, "cache", "growing", NULL },
		{ 60, 149, 0, "cache", "leak", NULL },
		/* what no pointer was found to is told of those that were there */
		{ 60, 1000, 1000, NULL, "leak", "no pointer to 1,000 of the 1,000 blocks searched in 3 scans, +1.1 MiB/min for 59.0s, 0 of 1,200 freed" },
		/* none of its blocks was there: nothing is known */
		{ 60, 0, 0, NULL, "leak", NULL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		expect_pointed(&cases[i]);
}

/* A name is the target's choice. */
Test(judge, a_long_name_leaves_room_for_the_other_reasons)
{
	char name[1024] = "", why[256];

	memset(name, 'x', sizeof(name) - 1);
	snprintf(why, sizeof(why), "all reachable through %.39s…%.20s, +1.1 MiB/min for 59.0s, 0 of 1,200 freed", name, name);
	expect_pointed(&(struct pointed){ 60, 1200, 0, name, "growing", why });
}
