// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* How sets of capabilities are put into words. What is held depends on who runs the tests: the live tests see to that. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

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

#ifndef __SANITIZE_ADDRESS__	/* it ends a process that has no memory */
/* All that the process may have, down to the smallest block. */
static bool take_all_memory(void)
{
	const struct rlimit none = { 0, RLIM_INFINITY };
	volatile char stack[256 << 10];	/* it does not grow any more then */
	void *volatile got;		/* a compiler leaves no call out */

	for (size_t i = 0; i < sizeof(stack); i += 4096)
		stack[i] = 0;
	if (setrlimit(RLIMIT_AS, &none))
		return false;
	for (size_t n = 1 << 20; n > 4096; n /= 2)
		while ((got = malloc(n)))
			;
	for (size_t n = 4096; n; n -= 8)
		while ((got = malloc(n)))
			;
	return true;
}

/* What is held does not depend on memory. */
Test(rights, held_without_memory)
{
	const struct rlimit much = { RLIM_INFINITY, RLIM_INFINITY };
	unsigned int before = rights__lacking(~0u), after;
	bool is_taken;

	if (before == RIGHT_BIT(N_RIGHTS) - 1)
		cr_skip_test("this user has none of the rights: all are lacking, with memory and without");
	is_taken = take_all_memory();
	after = rights__lacking(~0u);
	setrlimit(RLIMIT_AS, &much);
	cr_assert(is_taken);
	cr_assert_eq(after, before, "wanted %#x, got %#x", before, after);
}
#endif

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
