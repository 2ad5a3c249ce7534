// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
#include <criterion/criterion.h>
#include <string.h>

#include "util/hash.h"

Test(hash, holds_what_was_put)
{
	struct hash h = {};
	int one, two;

	cr_expect_null(hash__get(&h, 0));
	cr_expect_null(hash__remove(&h, 0));
	cr_assert_eq(hash__put(&h, 0, &one), 0);
	cr_assert_eq(hash__put(&h, UINT64_MAX, &two), 0);
	cr_expect_eq(hash__get(&h, 0), &one);
	cr_expect_eq(hash__get(&h, UINT64_MAX), &two);
	cr_assert_eq(hash__put(&h, 0, &two), 0);
	cr_expect_eq(hash__get(&h, 0), &two);
	cr_expect_eq(h.n, 2);
	cr_expect_eq(hash__remove(&h, 0), &two);
	cr_expect_null(hash__get(&h, 0));
	cr_expect_eq(hash__get(&h, UINT64_MAX), &two);
	cr_expect_eq(h.n, 1);
	hash__done(&h);
	hash__done(&h);
}

/* Against an array: keys that collide, in and out at random, 64 to 4,096 of them. */
Test(hash, agrees_with_an_array)
{
	static int values[4096];
	static unsigned char there[4096];
	struct hash h = {};
	uint64_t random = 1;
	size_t n = 0;

	memset(there, 0, sizeof(there));
	for (int step = 0; step < 200000; step++) {
		size_t i;

		random = random * 6364136223846793005ull + 1442695040888963407ull;
		i = (random >> 33) % 4096;
		if (there[i] && random >> 63) {
			cr_assert_eq(hash__remove(&h, i << 12), &values[i]);
			there[i] = 0;
			n--;
		} else if (!there[i]) {
			cr_assert_eq(hash__put(&h, i << 12, &values[i]), 0);
			there[i] = 1;
			n++;
		}
		cr_assert_eq(h.n, n);
	}
	for (size_t i = 0; i < 4096; i++)
		cr_assert_eq(hash__get(&h, i << 12), there[i] ? &values[i] : NULL);
	hash__done(&h);
}
