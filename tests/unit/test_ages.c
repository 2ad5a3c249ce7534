// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Classes of ages, what a pass counts by them, and what they say of blocks older than any age. */
#include <criterion/criterion.h>
#include <string.h>

#include "collect/age_counts.h"
#include "model/ages.h"
#include "sample_snapshot.h"
#include "util/util.h"

#define MS 1000000ull
#define S (1000 * MS)
#define M (60 * S)
#define H (60 * M)

static uint64_t random_number(void)
{
	static uint64_t x = 88172645463325252ull;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return x >> 8;
}

Test(ages, classes_are_ordered_and_leave_nothing_out)
{
	cr_expect_eq(age__from_ns(0), 0);
	cr_expect_eq(age__below_ns(AGES_N_CLASSES - 1), UINT64_MAX);
	for (int i = 1; i < AGES_N_CLASSES; i++) {
		cr_expect_eq(age__from_ns((uint8_t)i), age__below_ns((uint8_t)(i - 1)), "class %d", i);
		cr_expect_gt(age__from_ns((uint8_t)i), age__from_ns((uint8_t)(i - 1)), "class %d", i);
	}
}

Test(ages, an_age_is_in_its_class)
{
	for (int i = 0; i < AGES_N_CLASSES; i++) {
		cr_expect_eq(age__class(age__from_ns((uint8_t)i)), i);
		cr_expect_eq(age__class(age__below_ns((uint8_t)i) - 1), i);
	}
	cr_expect_eq(age__class(UINT64_MAX), AGES_N_CLASSES - 1);
	for (int i = 0; i < 200000; i++) {
		uint64_t age = random_number() >> random_number() % 56;
		uint8_t class = age__class(age);

		cr_assert(age >= age__from_ns(class) && age < age__below_ns(class), "%llu is not in class %u", (unsigned long long)age, class);
	}
}

/* What people ask for. */
Test(ages, borders)
{
	static const uint64_t ages[] = { MS, 5 * MS, 10 * MS, 50 * MS, 100 * MS, 500 * MS, S, 2 * S, 5 * S, 10 * S, 20 * S, 30 * S, M,
					 2 * M, 5 * M, 10 * M, 15 * M, 30 * M, H, 2 * H, 6 * H, 12 * H, 24 * H, 7 * 24 * H };

	for (size_t i = 0; i < ARRAY_SIZE(ages); i++)
		cr_expect_eq(age__from_ns(age__class(ages[i])), ages[i], "%llu", (unsigned long long)ages[i]);
}

/* ---- counting */

#define N_SITES 50

Test(ages, a_pass_counts_by_site_and_class)
{
	static uint64_t blocks[N_SITES][AGES_N_CLASSES], bytes[N_SITES][AGES_N_CLASSES];
	struct age_counts a;
	size_t n_rows = 0;

	cr_assert_eq(age_counts__init(&a, N_SITES), 0);
	/* twice: nothing is left of the first pass */
	for (int pass = 0; pass < 2; pass++) {
		memset(blocks, 0, sizeof(blocks));
		memset(bytes, 0, sizeof(bytes));
		age_counts__reset(&a);
		for (int i = 0; i < 20000; i++) {
			uint32_t site = (uint32_t)(random_number() % (N_SITES - 1));
			uint64_t size = random_number() % 5000, age = random_number() >> random_number() % 56;

			age_counts__add(&a, site, age, 1, (double)size);
			blocks[site][age__class(age)]++;
			bytes[site][age__class(age)] += size;
		}
	}
	cr_assert_eq(age_counts__make_rows(&a, 1), 0);
	for (uint32_t site = 0; site < N_SITES; site++)
		for (struct cut_age *row = age_counts__rows(&a, site, NULL); row; row = row->next) {
			cr_assert_eq(row->first, row->last);
			cr_assert_eq(row->blocks, blocks[site][row->first], "site %u, class %u", site, row->first);
			cr_assert_eq(row->bytes, bytes[site][row->first], "site %u, class %u", site, row->first);
			blocks[site][row->first] = 0;
			n_rows++;
		}
	cr_expect_gt(n_rows, 1000);
	for (uint32_t site = 0; site < N_SITES; site++)
		for (int i = 0; i < AGES_N_CLASSES; i++)
			cr_assert_eq(blocks[site][i], 0, "site %u, class %d was left out", site, i);
	age_counts__done(&a);
}

Test(ages, what_is_gone_is_a_range)
{
	struct age_counts a;
	struct cut_age *v;

	cr_assert_eq(age_counts__init(&a, 2), 0);
	age_counts__add(&a, 1, 12 * S, 1, 100);
	cr_assert_eq(age_counts__make_rows(&a, 1), 0);
	v = age_counts__range(&a, 4 * S, 25 * S, 7, 70, age_counts__rows(&a, 1, NULL));
	cr_expect_eq(age__from_ns(v->first), 3 * S);
	cr_expect_eq(age__below_ns(v->last), 30 * S);
	cr_expect_eq(v->blocks, 7);
	cr_assert_not_null(v->next);
	cr_expect_eq(v->next->blocks, 1);
	cr_expect_eq(v->next->bytes, 100);
	cr_expect_null(v->next->next);
	age_counts__done(&a);
}

/* ---- older than */

static struct snapshot *one_site(const struct snap_age *v, size_t n, uint64_t oldest_ns)
{
	struct snapshot *s = snapshot__new();

	s->known = HAS_ALL;
	s->scanned = true;
	s->n_sites = 1;
	s->sites = snapshot__alloc(s, 1, sizeof(*s->sites));
	s->sites->ages = v;
	s->sites->n_ages = n;
	s->sites->oldest_ns = oldest_ns;
	for (size_t i = 0; i < n; i++) {
		s->sites->c.live_blocks += v[i].blocks;
		s->sites->c.live_bytes += v[i].bytes;
	}
	return s;
}

static const struct snap_age some[] = {
	{ .from_ns = S, .below_ns = 2 * S, .blocks = 5, .bytes = 50 },
	{ .from_ns = 10 * S, .below_ns = 20 * S, .blocks = 3, .bytes = 300 },
	{ .from_ns = 10 * S, .below_ns = M, .blocks = 100, .bytes = 1000 },	/* of a process that has ended */
	{ .from_ns = M, .below_ns = UINT64_MAX, .blocks = 1, .bytes = 7 },
};

Test(ages, older_at_a_border_is_exact)
{
	struct snapshot *s = one_site(some, ARRAY_SIZE(some), 2 * M);

	cr_assert(snapshot__count_older(s, 10 * S));
	cr_expect_eq(s->recording.older_ns, 10 * S);
	cr_expect_eq(s->sites->older_blocks, 104);
	cr_expect_eq(s->sites->older_bytes, 1307);
	cr_expect_eq(s->older_unsure.blocks, 0);
	cr_assert(snapshot__count_older(s, 1));
	cr_expect_eq(s->sites->older_blocks, 109);
	snapshot__free(s);
}

Test(ages, older_within_a_class_says_so)
{
	struct snapshot *s = one_site(some, ARRAY_SIZE(some), 2 * M);

	cr_assert(snapshot__count_older(s, 12 * S));
	cr_expect_eq(s->sites->older_blocks, 1, "what is surely older");
	cr_expect_eq(s->sites->older_bytes, 7);
	cr_expect_eq(s->older_unsure.blocks, 103);
	cr_expect_eq(s->older_unsure.bytes, 1300);
	cr_expect_eq(s->older_unsure.from_ns, 10 * S);
	cr_expect_eq(s->older_unsure.below_ns, M);
	/* the next question does not remember this one */
	cr_assert(snapshot__count_older(s, 10 * S));
	cr_expect_eq(s->older_unsure.blocks, 0);
	snapshot__free(s);
}

Test(ages, no_block_is_older_than_the_oldest)
{
	struct snapshot *s = one_site(some, 2, 14 * S);

	cr_assert(snapshot__count_older(s, 15 * S));
	cr_expect_eq(s->sites->older_blocks, 0);
	cr_expect_eq(s->older_unsure.blocks, 0);
	snapshot__free(s);
}

Test(ages, what_was_not_recorded_is_not_answered)
{
	struct snapshot *s = one_site(some, 0, 14 * S);

	cr_expect(snapshot__count_older(s, 10 * S), "nothing is live");
	s->sites->c.live_blocks = 3;
	cr_expect_not(snapshot__count_older(s, 5 * S), "a profile of another version");
	cr_expect_eq(s->recording.older_ns, 10 * S, "nothing has changed");
	s->sites->c.live_blocks = 0;
	s->scanned = false;
	cr_expect_not(snapshot__count_older(s, 5 * S));
	snapshot__free(s);
}

Test(ages, of_several_sites)
{
	static const struct snap_age more[] = {
		{ .from_ns = S, .below_ns = 2 * S, .blocks = 2, .bytes = 4 },
		{ .from_ns = 2 * S, .below_ns = 3 * S, .blocks = 9, .bytes = 90 },
	};
	const struct snap_site a = { .ages = some, .n_ages = ARRAY_SIZE(some) }, b = { .ages = more, .n_ages = 2 }, none = {};
	const struct snap_site *v[] = { &a, &none, &b };
	struct snapshot *s = snapshot__new();
	struct snap_site sum = {};

	cr_assert_eq(ages__add_up(s, v, 3, &sum), 0);
	cr_assert_eq(sum.n_ages, 5);
	cr_expect_eq(sum.ages[0].blocks, 7);
	cr_expect_eq(sum.ages[0].bytes, 54);
	cr_expect_eq(sum.ages[1].blocks, 9);
	cr_expect_eq(sum.ages[2].blocks, 3);
	cr_expect_eq(sum.ages[3].blocks, 100);
	cr_expect_eq(sum.ages[4].blocks, 1);
	cr_assert_eq(ages__add_up(s, &v[1], 1, &sum), 0);
	cr_expect_eq(sum.n_ages, 0);
	snapshot__free(s);
}

/* --overhead: the table has a part of the live blocks, and their ages stand for all. */
Test(ages, are_scaled)
{
	struct cut_age old = { NULL, 1, 100, 30, 30 }, v = { &old, 3, 300, 20, 20 };
	struct snapshot *s = snapshot__new();
	struct snap_site site = {};

	ages__build(s, &v, 40, 8000, &site);
	cr_assert_eq(site.n_ages, 2);
	cr_expect_eq(site.ages[0].blocks, 30);
	cr_expect_eq(site.ages[0].bytes, 6000);
	cr_expect_eq(site.ages[1].blocks, 10);
	cr_expect_eq(site.ages[1].bytes, 2000);
	snapshot__free(s);
}
