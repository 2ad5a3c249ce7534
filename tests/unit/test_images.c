// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Which mappings a new life takes over, of those that were told before it was known. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "tracee/tracee_parts.h"

static void mapped(struct images *s, pid_t pid, const char *path, uint64_t t_ns)
{
	struct watch_record r = { .kind = WATCH_MAPPED, .pid = pid, .t_ns = t_ns, .map = { .path = (char *)path } };

	cr_assert_eq(images__add(s, &r), 0);
}

static void want_image(struct image *i, const char *path)
{
	cr_assert_not_null(i);
	cr_assert_eq(i->maps.n, 1);
	cr_assert_str_eq(i->maps.v[0].map.path, path);
	image__free(i);
}

/* Execs of a process that was ignored are recorded, and nobody hears of them: the next one must not take theirs. */
Test(images, an_exec_claims_its_own)
{
	struct images s = {};

	images__begin(&s, 7, false, 10);
	mapped(&s, 7, "before", 11);
	images__begin(&s, 7, true, 20);
	mapped(&s, 7, "first", 21);
	images__begin(&s, 7, true, 30);
	mapped(&s, 7, "second", 31);
	images__begin(&s, 7, true, 40);
	mapped(&s, 7, "third", 41);
	want_image(images__claim(&s, 7, true, 35), "second");
	want_image(images__claim(&s, 7, true, 45), "third");
	cr_assert_null(images__claim(&s, 7, true, 50));
	images__done(&s);
}

/* Without a record of the exec, what the program before had mapped is nobody's. */
Test(images, what_was_before_an_exec_is_gone)
{
	struct images s = {};

	images__begin(&s, 7, false, 10);
	mapped(&s, 7, "before", 11);
	cr_assert_null(images__claim(&s, 7, true, 20));
	cr_assert_null(images__claim(&s, 7, false, 30));
	images__done(&s);
}

Test(images, a_fork_claims_no_exec)
{
	struct images s = {};

	images__begin(&s, 7, true, 10);
	mapped(&s, 7, "program", 11);
	cr_assert_null(images__claim(&s, 7, false, 20));
	want_image(images__claim(&s, 7, true, 20), "program");
	images__begin(&s, 8, false, 10);
	mapped(&s, 8, "library", 11);
	want_image(images__claim(&s, 8, false, 5), "library");
	images__done(&s);
}

/* One that was met and looked at: execs before that are done with, one behind it will be told of. */
Test(images, before_a_moment)
{
	struct images s = {};

	images__begin(&s, 7, true, 10);
	mapped(&s, 7, "old", 11);
	images__begin(&s, 7, true, 30);
	mapped(&s, 7, "to come", 31);
	want_image(images__claim_before(&s, 7, 20), "old");
	cr_assert_null(images__claim_before(&s, 7, 20));
	want_image(images__claim(&s, 7, true, 35), "to come");
	images__done(&s);
}

/* A process that execs and maps without end costs a bounded amount, and no error. */
Test(images, are_bounded)
{
	struct images s = {};
	struct image *i;
	size_t n = 0;

	for (uint64_t k = 0; k < 1000; k++)
		images__begin(&s, 7, true, k);
	for (uint64_t k = 0; k < 5000; k++)
		mapped(&s, 7, "x", 1000);
	while ((i = images__claim_before(&s, 7, 2000))) {
		cr_assert(i->maps.n <= 1024);
		image__free(i);
		n++;
	}
	cr_assert(n > 1 && n < 100, "%zu", n);
	images__begin(&s, 7, true, 1);
	images__drop_old(&s, 10000000000ull);
	cr_assert_null(images__claim(&s, 7, true, 2));
	images__done(&s);
}

/* Beyond the bound it is the oldest that goes: what is mapped now is not the program's before. */
Test(images, the_last_exec_has_its_own)
{
	struct images s = {};

	for (uint64_t k = 0; k < 1000; k++) {
		images__begin(&s, 7, true, 10 * k);
		mapped(&s, 7, k == 999 ? "last" : "before", 10 * k + 1);
	}
	want_image(images__claim(&s, 7, true, 9995), "last");
	cr_assert_null(images__claim(&s, 7, true, 20000));
	images__done(&s);
}

/* Nobody claimed the first one for seconds: the one behind it may be claimed at any moment. */
Test(images, what_is_new_stays)
{
	struct images s = {};

	images__begin(&s, 7, true, 1);
	mapped(&s, 7, "old", 2);
	images__begin(&s, 7, true, 9000000000ull);
	mapped(&s, 7, "new", 9000000001ull);
	images__drop_old(&s, 10000000000ull);
	want_image(images__claim_before(&s, 7, 10000000000ull), "new");
	images__done(&s);
}
