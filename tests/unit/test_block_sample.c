// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Some of the live blocks: all of a few, a fair part of many. */
#include <criterion/criterion.h>

#include "collect/passes.h"

static size_t give(struct block_sample *s, size_t n, uint64_t size, uint32_t proc)
{
	const struct cut_block *v;
	size_t n_v;

	for (size_t i = 0; i < n; i++)
		block_sample__add(s, proc, 0xaaaa00000000 + i * 48, size);
	block_sample__all(s, &v, &n_v);
	return n_v;
}

Test(block_sample, a_few_are_all_there)
{
	struct block_sample s = {};
	const struct cut_block *v;
	size_t n;

	cr_expect_eq(give(&s, 0, 24, 1), 0);
	give(&s, 1000, 24, 2);
	give(&s, 500, 24, 1);
	give(&s, 10, 1 << 20, 1);
	block_sample__all(&s, &v, &n);
	cr_assert_eq(n, 1510);
	for (size_t i = 0; i < n; i++) {
		cr_assert_eq(v[i].stands_for, 1);
		cr_assert_eq(v[i].proc, i < 510 ? 1 : 2);
		cr_assert(!i || v[i].proc != v[i - 1].proc || v[i].addr >= v[i - 1].addr);
	}
	block_sample__reset(&s);
	cr_expect_eq(give(&s, 3, 24, 1), 3, "nothing is left of what was there before");
	block_sample__done(&s);
}

/* What the sample stands for is what there is, within what chance allows: six standard errors. */
Test(block_sample, many_are_thinned_out)
{
	struct block_sample s = {};
	const struct cut_block *v;
	uint64_t small = 0, large = 0;
	size_t n;

	give(&s, 1000000, 24, 1);
	give(&s, 100, 1 << 20, 3);
	block_sample__all(&s, &v, &n);
	cr_expect_leq(n, BLOCK_SAMPLE_MAX + 100);
	cr_expect_gt(n, BLOCK_SAMPLE_MAX / 4);
	for (size_t i = 0; i < n; i++) {
		small += v[i].proc == 1 ? v[i].stands_for : 0;
		large += v[i].proc == 3 ? v[i].stands_for : 0;
	}
	/* one of 16: variance 15 * 10^6 */
	cr_expect(small > 1000000 - 6 * 3873 && small < 1000000 + 6 * 3873, "%lu", (unsigned long)small);
	cr_expect_eq(large, 100, "large ones are few, and all there");
	block_sample__done(&s);
}
