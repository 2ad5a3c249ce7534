// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* How sets of capabilities are put into words. What is held depends on who runs the tests: the live tests see to that. */
#include <criterion/criterion.h>
#include <string.h>

#include "util/rights.h"
#include "util/util.h"

static void check_names(unsigned int set, const char *wanted)
{
	_cleanup_free_ char *got = rights__names(set);

	cr_assert_not_null(got);
	cr_assert_str_eq(got, wanted);
}

Test(rights, names)
{
	check_names(0, "");
	check_names(RIGHT_BIT(RIGHT_BPF), "CAP_BPF");
	check_names(RIGHT_BIT(RIGHT_SYS_ADMIN), "CAP_SYS_ADMIN");
	check_names(RIGHT_BIT(RIGHT_BPF) | RIGHT_BIT(RIGHT_PERFMON), "CAP_BPF and CAP_PERFMON");
	check_names(RIGHT_BIT(RIGHT_BPF) | RIGHT_BIT(RIGHT_SYS_PTRACE) | RIGHT_BIT(RIGHT_SYS_ADMIN),
		    "CAP_BPF, CAP_SYS_PTRACE and CAP_SYS_ADMIN");
}

Test(rights, lacking_is_a_part)
{
	for (enum right r = 0; r < N_RIGHTS; r++)
		cr_assert_eq(rights__lacking(RIGHT_BIT(r)), right__held(r) ? 0 : RIGHT_BIT(r));
	cr_assert_eq(rights__lacking(0), 0);
}

Test(rights, refusal_is_one_line)
{
	_cleanup_err_ struct err e = {};

	cr_assert_eq(rights__refused(&e, -13, RIGHT_BIT(RIGHT_SYS_PTRACE), "%s (%d)", "prog", 7), -13);
	cr_assert_eq(e.code, -13);
	cr_assert(!strncmp(err_msg(&e), "prog (7): ", 10));
	cr_assert_not_null(strstr(err_msg(&e), "CAP_SYS_PTRACE"));
	cr_assert_null(strchr(err_msg(&e), '\n'));
	cr_assert_eq(rights__refused(NULL, -1, 0, "nobody asked"), -1);
}
