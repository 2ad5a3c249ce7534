// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* The numbers of functions' code: the same for the same, and told where there are more than the kernel has room for. */
#include <criterion/criterion.h>

#include "probe/kernel.h"

static uint32_t number_of(struct codes *c, int32_t to, bool want_new)
{
	struct mt_code code = { .n = 1, .range[0] = { -16, to } };
	bool is_new;
	uint32_t number = codes__find(c, &code, &is_new);

	cr_expect_eq(is_new, want_new, "code up to %d", to);
	return number;
}

Test(codes, the_same_has_the_same_number)
{
	struct codes *c = codes__new();

	cr_assert_not_null(c);
	cr_expect_eq(number_of(c, 10, true), 1);
	cr_expect_eq(number_of(c, 20, true), 2);
	cr_expect_eq(number_of(c, 10, false), 1);
	cr_expect_eq(codes__n_full(c), 0);
	codes__free(c);
}

/* Each that finds no room is counted, once; those that did keep their numbers. */
Test(codes, what_finds_no_room_is_counted)
{
	struct codes *c = codes__new();

	cr_assert_not_null(c);
	for (int32_t i = 1; i < MT_MAX_CODES; i++)
		cr_assert_eq(number_of(c, i, true), (uint32_t)i);
	cr_expect_eq(codes__n_full(c), 0);
	for (int round = 0; round < 3; round++) {
		cr_expect_eq(number_of(c, 10001, !round), 0);
		cr_expect_eq(number_of(c, 10002, !round), 0);
		cr_expect_eq(number_of(c, 77, false), 77);
		cr_expect_eq(codes__n_full(c), 2);
	}
	codes__free(c);
}
