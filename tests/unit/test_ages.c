// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Classes of ages and what a pass counts by them. */
#include <criterion/criterion.h>
#include <string.h>

#include "collect/passes.h"
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

	age_counts__init(&a, N_SITES);
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
	age_counts__make_rows(&a, 1);
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

	age_counts__init(&a, 2);
	age_counts__add(&a, 1, 12 * S, 1, 100);
	age_counts__make_rows(&a, 1);
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
