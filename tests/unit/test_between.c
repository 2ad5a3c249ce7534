// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* What changed between two moments: what is known of sites without a history. */
#include <criterion/criterion.h>

#include "model/between.h"
#include "util/util.h"

#define S 1000000000ull

Test(between, sites_without_a_history)
{
	struct snap_site sites[] = {
		/* a leak that has come to its end: nothing was freed, nothing was added since */
		{ .first_ns = 2 * S, .last_ns = 5 * S, .c = { .alloc_calls = 10, .live_blocks = 10, .alloc_bytes = 1000, .live_bytes = 1000 } },
		/* there before, and the same ever since */
		{ .first_ns = 0, .last_ns = S / 2, .c = { .alloc_calls = 1, .live_blocks = 1, .alloc_bytes = 77, .live_bytes = 77 } },
		/* what it held in between nobody knows: it goes on, */
		{ .first_ns = 2 * S, .last_ns = 9 * S, .c = { .alloc_calls = 10, .live_blocks = 10, .alloc_bytes = 500, .live_bytes = 500 } },
		/* or has freed */
		{ .first_ns = 2 * S, .last_ns = 5 * S, .c = { .alloc_calls = 10, .free_calls = 1, .live_bytes = 400, .alloc_bytes = 440 } },
	};
	struct snapshot s = { .sites = sites, .n_sites = ARRAY_SIZE(sites), .duration_ns = 10 * S };
	struct changes c;

	changes__init(&c, &s, 1 * S, 6 * S);
	cr_assert_eq(c.n, 1);
	cr_expect_eq(c.v[0].site, &sites[0]);
	cr_expect_eq(c.v[0].before, 0);
	cr_expect_eq(c.v[0].after, 1000);
	cr_expect_eq(c.n_unknown, 2);
	changes__done(&c);
}
