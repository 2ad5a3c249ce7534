// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
#include <criterion/criterion.h>
#include <unistd.h>

#include "budget/cpu_clock.h"

Test(budget_awake, parses_status)
{
	struct awake_thread t = { 0 };

	cr_assert(awake__parse("Name:\ta\nState:\tR (running)\nThreads:\t1\nvoluntary_ctxt_switches:\t12\nnonvoluntary_ctxt_switches:\t7\n", &t));
	cr_expect(t.runnable);
	cr_expect_eq(t.sleeps, 12);
	cr_assert(awake__parse("Name:\ta\nState:\tS (sleeping)\nvoluntary_ctxt_switches:\t13\n", &t));
	cr_expect_not(t.runnable);
	cr_expect_not(awake__parse("Name:\ta\n", &t));
	cr_expect_not(awake__parse("", &t));
}

Test(budget_awake, counts_threads_that_did_not_sleep)
{
	struct awake from = { 4, { { 1, true, 5 }, { 2, true, 5 }, { 3, false, 5 }, { 4, true, 5 } } };
	struct awake to = { 4, { { 1, true, 5 }, { 2, true, 6 }, { 3, true, 5 }, { 5, true, 5 } } };

	cr_expect_eq(awake__between(&from, &to), 1);
	cr_expect_eq(awake__between(&(struct awake){ 0 }, &to), 0);
}

Test(budget_awake, reads_its_own)
{
	struct awake a;

	awake__read(getpid(), &a);
	cr_assert_geq(a.n, 1);
	cr_expect(a.threads[0].runnable);
	awake__read(-1, &a);
	cr_expect_eq(a.n, 0);
}
