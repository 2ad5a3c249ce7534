// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Work that rests for as long as it took. Times here are made up; none passes. */
#include <criterion/criterion.h>

#include "util/clock.h"

Test(respite, the_first_time_is_at_once)
{
	struct respite r = {};

	cr_expect(respite__is_over(&r, 0));
}

Test(respite, is_as_long_as_the_work_was)
{
	struct respite r = {};

	respite__begin(&r, 1000, 1700, 0);
	cr_expect_not(respite__is_over(&r, 1700));
	cr_expect_not(respite__is_over(&r, 2399));
	cr_expect(respite__is_over(&r, 2400));
}

Test(respite, short_work_is_not_done_more_often_than_wanted)
{
	struct respite r = {};

	respite__begin(&r, 1000, 1010, 50);
	cr_expect_not(respite__is_over(&r, 1049));
	cr_expect(respite__is_over(&r, 1050));
	respite__begin(&r, 2000, 2040, 50);
	cr_expect_not(respite__is_over(&r, 2079));
	cr_expect(respite__is_over(&r, 2080));
}

/* The next turn may be a minute away. */
Test(respite, what_comes_meanwhile_is_put_off_and_not_dropped)
{
	struct respite r = {};

	cr_expect(respite__allows(&r, 1000));
	cr_expect_not(r.put_off);
	respite__begin(&r, 1000, 1700, 0);
	cr_expect_not(respite__allows(&r, 2000));
	cr_expect(r.put_off);
	/* something else was quicker after the respite, and rests in turn */
	respite__begin(&r, 2400, 2500, 0);
	cr_expect(r.put_off);
	cr_expect(respite__allows(&r, 2600));
	cr_expect_not(r.put_off);
}
