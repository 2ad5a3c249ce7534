// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* The courses of sites: what merges, what is kept, who has one. */
#include <criterion/criterion.h>
#include <string.h>

#include "model/history.h"
#include "util/util.h"

#define S 1000000000ull
#define MANY 20000

Test(history, a_course_keeps_days_and_the_last_minute)
{
	struct course c = {};
	const uint64_t days = 7 * 86400;
	uint64_t low = UINT64_MAX, high = 0;
	size_t recent = 0;

	for (uint64_t t = 1; t <= days; t++) {
		/* down to 10 once, long ago, for one second; up to 9999 once */
		course__add(&c, t * S, t == 1000 ? 10 : t == 2000 ? 9999 : 5000, 0, t * 3);
		cr_assert_leq(c.points.n, COURSE_MAX_POINTS);
	}
	for (size_t i = 0; i < c.points.n; i++) {
		const struct course_point *p = &c.points.v[i];

		cr_assert(!i || p->t_ns > p[-1].t_ns);
		if (p->low_bytes < low) {
			low = p->low_bytes;
			cr_expect_eq(p->low_ns, low == 10 ? 1000 * S : p->low_ns);
		}
		high = MAX(high, p->high_bytes);
		recent += p->t_ns > (days - 60) * S;
		/* the time that a point covers is a small share of its age */
		if (i > 1)
			cr_expect_leq((p->t_ns - p[-1].t_ns) * 4, (days + 8) * S - p[-1].t_ns, "point %zu", i);
	}
	cr_expect_eq(low, 10);
	cr_expect_eq(high, 9999);
	cr_expect_eq(c.points.v[0].t_ns, S);
	cr_expect_eq(c.points.v[c.points.n - 1].t_ns, days * S);
	cr_expect_eq(c.points.v[c.points.n - 1].alloc_calls, days * 3);
	cr_expect_geq(recent, 15);
	course__done(&c);
}

Test(history, points_that_are_close_are_one)
{
	struct course c = {};

	course__add(&c, 1 * S, 100, 0, 1);
	course__add(&c, 1 * S + S / 20, 50, 0, 2);
	course__add(&c, 1 * S + S / 20, 70, 0, 3);
	cr_assert_eq(c.points.n, 1);
	cr_expect_eq(c.points.v[0].t_ns, S + S / 20);
	cr_expect_eq(c.points.v[0].live_bytes, 70);
	cr_expect_eq(c.points.v[0].low_bytes, 50);
	cr_expect_eq(c.points.v[0].high_bytes, 100);
	cr_expect_eq(c.points.v[0].alloc_calls, 3);
	course__add(&c, 2 * S, 10, 0, 4);
	cr_expect_eq(c.points.n, 2);
	course__done(&c);
}

/* Marks come as often as the program likes: each takes the place of the last, but not for good. */
Test(history, points_that_keep_coming_are_several)
{
	struct snap_point v[200] = {};
	struct course c = {}, t = {};

	for (size_t i = 0; i < ARRAY_SIZE(v); i++) {
		v[i] = (struct snap_point){ .t_ns = i * (S / 50), .live_bytes = i };
		course__add(&c, v[i].t_ns, v[i].live_bytes, 0, i);
	}
	course__of_timeline(&t, v, ARRAY_SIZE(v));
	/* four seconds */
	cr_expect_geq(c.points.n, 20);
	cr_expect_leq(c.points.n, 41);
	cr_expect_geq(t.points.n, 20);
	cr_expect_eq(c.points.v[c.points.n - 1].live_bytes, ARRAY_SIZE(v) - 1);
	course__done(&c);
	course__done(&t);
}

Test(history, a_timeline_becomes_a_course)
{
	struct snap_point v[1000] = {};
	struct course c = {};

	for (size_t i = 0; i < ARRAY_SIZE(v); i++)
		v[i] = (struct snap_point){ .t_ns = (i + 1) * S, .live_bytes = i == 500 ? 1 : 1000 + i, .alloc_calls = i };
	course__of_timeline(&c, v, ARRAY_SIZE(v));
	cr_expect_leq(c.points.n, COURSE_MAX_POINTS);
	cr_expect_geq(c.points.n, COURSE_MAX_POINTS / 2);
	cr_expect_eq(c.points.v[c.points.n - 1].t_ns, 1000 * S);
	cr_expect_eq(c.points.v[c.points.n - 1].live_bytes, 1999);
	for (size_t i = 0; i < c.points.n; i++)
		cr_expect_eq(c.points.v[i].low_bytes == 1, c.points.v[i].t_ns >= 501 * S && (!i || c.points.v[i - 1].t_ns < 501 * S));
	course__done(&c);
}

/* ---- sites */

static struct snap_site *many_sites(size_t n)
{
	struct snap_site *v = calloc(n, sizeof(*v));

	cr_assert_not_null(v);
	for (size_t i = 0; i < n; i++)
		v[i] = (struct snap_site){ .number = (uint32_t)i + 1, .proc = 1, .first_ns = 77,
					  .c = { .alloc_calls = 10, .alloc_bytes = 1000 + i } };
	return v;
}

static size_t n_points(const struct history *h, const struct snap_site *s)
{
	const struct course *c = history__of_site(h, s);

	return c ? c->points.n : 0;
}

Test(history, few_sites_all_have_one)
{
	_cleanup_free_ struct snap_site *v = many_sites(HISTORY_MAX_SITES);
	struct cut cut = { .sites = v, .n_sites = HISTORY_MAX_SITES };
	struct history h = {};

	for (uint64_t t = 1; t <= 5; t++)
		history__note(&h, &cut, t * S);
	for (size_t i = 0; i < cut.n_sites; i++)
		cr_expect_eq(n_points(&h, &v[i]), 5);
	history__done(&h);
}

/* Of many, those that hold the most, that grow the most, and that are called the most. */
Test(history, of_many_sites_those_that_matter)
{
	_cleanup_free_ struct snap_site *v = many_sites(MANY);
	struct cut cut = { .sites = v, .n_sites = MANY };
	struct snap_site *big = &v[5], *busy = &v[6], *grows = &v[7], *nothing = &v[8];
	struct history h = {};
	size_t n = 0;

	big->c.alloc_bytes = 1 << 30;
	busy->c = (struct counters){ .alloc_calls = 1000000, .alloc_bytes = 1000000, .free_calls = 999990, .free_bytes = 999990 };
	nothing->c = (struct counters){ .alloc_calls = 2, .alloc_bytes = 100, .free_calls = 2, .free_bytes = 100 };
	for (uint64_t t = 1; t <= 60; t++) {
		if (t > 20)
			grows->c.alloc_bytes += 10;
		history__note(&h, &cut, t * S);
		cr_assert_leq(h.sites.n, HISTORY_MAX_SITES);
	}
	cr_expect_eq(n_points(&h, big), 60);
	cr_expect_eq(n_points(&h, busy), 60);
	cr_expect_geq(n_points(&h, grows), 25, "%zu points", n_points(&h, grows));
	cr_expect_eq(n_points(&h, nothing), 0);
	for (size_t i = 0; i < MANY; i++)
		n += n_points(&h, &v[i]) > 0;
	cr_expect_leq(n, HISTORY_MAX_SITES);
	cr_expect_geq(n, HISTORY_MAX_SITES / 2);
	history__done(&h);
}

/* Thousands that are alike have no claim to the room: whoever comes to hold the most has a course at once. */
Test(history, the_largest_come_later)
{
	_cleanup_free_ struct snap_site *v = many_sites(MANY);
	struct cut cut = { .sites = v, .n_sites = MANY };
	struct history h = {};

	for (size_t i = 0; i < MANY; i++)
		v[i].c = (struct counters){ .alloc_calls = 1, .alloc_bytes = 16 };
	/* the first ones are there alone for a while */
	cut.n_sites = HISTORY_MAX_SITES;
	for (uint64_t t = 1; t <= 3; t++)
		history__note(&h, &cut, t * S);
	cut.n_sites = MANY;
	for (uint64_t t = 4; t <= 30; t++) {
		for (size_t i = MANY - 12; i < MANY; i++) {
			v[i].c.alloc_calls++;
			v[i].c.alloc_bytes += 1000;
		}
		history__note(&h, &cut, t * S);
		cr_assert_leq(h.sites.n, HISTORY_MAX_SITES);
	}
	for (size_t i = MANY - 12; i < MANY; i++)
		cr_expect_eq(n_points(&h, &v[i]), 27, "%zu points", n_points(&h, &v[i]));
	history__done(&h);
}

/* At the end of a list sites change places all the time: who has a course keeps it. */
Test(history, who_is_about_as_large_keeps_it)
{
	_cleanup_free_ struct snap_site *v = many_sites(MANY);
	struct cut cut = { .sites = v, .n_sites = MANY };
	struct history h = {};
	size_t whole = 0;

	for (uint64_t t = 1; t <= 40; t++) {
		for (size_t i = 0; i < MANY; i++)
			v[i].c.alloc_bytes = 10000 + (i * 7919 + t * 104729) % 1000;
		history__note(&h, &cut, t * S);
	}
	for (size_t i = 0; i < MANY; i++)
		whole += n_points(&h, &v[i]) == 40;
	cr_expect_geq(whole, HISTORY_MAX_SITES / 4, "%zu", whole);
	history__done(&h);
}

/* A number that is given again is another site: nothing of the old one may stick to it. */
Test(history, numbers_are_given_again)
{
	struct snap_site s = { .number = 3, .proc = 1, .first_ns = 77, .c = { .alloc_calls = 1, .alloc_bytes = 100 } }, old = s;
	struct cut cut = { .sites = &s, .n_sites = 1 };
	struct history h = {};

	for (uint64_t t = 1; t <= 5; t++)
		history__note(&h, &cut, t * S);
	s.first_ns = 99;
	cr_expect_null(history__of_site(&h, &s));
	history__note(&h, &cut, 6 * S);
	cr_expect_eq(n_points(&h, &s), 1);
	cr_expect_null(history__of_site(&h, &old));
	s.proc = 2;
	history__note(&h, &cut, 7 * S);
	cr_expect_eq(n_points(&h, &s), 1);
	cr_expect_eq(h.sites.n, 1);
	history__done(&h);
}

/* Nor may it have to outgrow what the old one held before it is seen to grow. */
Test(history, numbers_that_are_given_again_grow_from_nothing)
{
	_cleanup_free_ struct snap_site *v = many_sites(MANY);
	struct cut cut = { .sites = v, .n_sites = MANY };
	struct snap_site *s = &v[7];
	struct history h = {};

	/* the smallest of all, and called the least: only its growth tells */
	s->c = (struct counters){ .alloc_calls = 1, .alloc_bytes = 900 };
	for (uint64_t t = 1; t <= 20; t++)
		history__note(&h, &cut, t * S);
	cr_expect_eq(n_points(&h, s), 0);
	s->proc = 2;
	s->first_ns = 99;
	for (uint64_t t = 21; t <= 25; t++) {
		s->c.alloc_bytes = 40 * (t - 20);
		history__note(&h, &cut, t * S);
	}
	cr_expect_eq(n_points(&h, s), 5);
	history__done(&h);
}

Test(history, ends_with_its_process)
{
	struct snap_site s = { .number = 3, .proc = 5, .c = { .alloc_calls = 1, .alloc_bytes = 100 } };
	struct cut_proc p = { .proc = 5 };
	struct cut cut = { .sites = &s, .n_sites = 1, .procs = &p, .n_procs = 1 };
	struct history h = {};

	for (uint64_t t = 1; t <= 9; t++) {
		p.ended = t > 4;
		history__note(&h, &cut, t * S);
	}
	cr_expect_eq(n_points(&h, &s), 4);
	history__done(&h);
}

/* Rows of stacks that were given up share a number, and hold nothing: they have no course, and take none from others. */
Test(history, what_was_given_up_has_none)
{
	struct snap_site rows[] = { { .number = 1, .proc = 1, .first_ns = 1, .c = { .alloc_calls = 5, .alloc_bytes = 50 } },
				   { .number = 9, .proc = 1, .func = 1, .first_ns = 2, .evicted_stacks = 3, .c = { .alloc_calls = 900, .alloc_bytes = 9000, .free_calls = 900, .free_bytes = 9000 } },
				   { .number = 9, .proc = 1, .func = 2, .first_ns = 3, .evicted_stacks = 1, .c = { .alloc_calls = 10, .alloc_bytes = 90, .free_calls = 10, .free_bytes = 90 } } };
	struct cut_proc procs[] = { { .proc = 1 } };
	struct cut cut = { .sites = rows, .n_sites = 3, .procs = procs, .n_procs = 1 };
	struct history h = {};

	for (uint64_t t = 1; t < 4; t++)
		history__note(&h, &cut, t * S);
	cr_expect_eq(n_points(&h, &rows[0]), 3);
	cr_expect_eq(n_points(&h, &rows[1]), 0);
	cr_expect_eq(n_points(&h, &rows[2]), 0);
	history__done(&h);
}

/* Of each second the calls of that second; of a new site those since the last note; cuts that follow at once do not count. */
Test(history, most_calls_per_s)
{
	static const struct {
		uint64_t t_ms, calls, most;
	} notes[] = {
		{ 1000, 0, 0 }, { 2000, 100, 100 }, { 2001, 400, 100 }, { 3000, 400, 300 }, { 4000, 410, 300 }, { 6000, 1210, 400 }, { 6400, 9999, 400 },
	};
	struct snap_site site = { .number = 7, .proc = 1, .first_ns = 1500000000 };
	struct cut cut = { .sites = &site };
	struct history h = {};

	for (size_t i = 0; i < ARRAY_SIZE(notes); i++) {
		cut.n_sites = notes[i].calls > 0;
		site.c.alloc_calls = notes[i].calls;
		history__note(&h, &cut, notes[i].t_ms * 1000000);
		cr_expect_eq(history__most_calls_per_s(&h, &site), notes[i].most, "note %zu: %llu", i,
			     (unsigned long long)history__most_calls_per_s(&h, &site));
	}
	/* another site has its number now */
	site.first_ns = 6500000000;
	site.c.alloc_calls = 5;
	cr_expect_eq(history__most_calls_per_s(&h, &site), 0);
	history__note(&h, &cut, 7400000000);
	cr_expect_eq(history__most_calls_per_s(&h, &site), 5);
	history__done(&h);
}
