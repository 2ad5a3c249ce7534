// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* How a process's stacks will be walked, judged without a kernel: of this very process. */
#include <criterion/criterion.h>
#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "unwind/tables.h"

static struct unwind_verdict judge_me(enum unwind_choice choice)
{
	struct objects *objects = objects__new();
	struct unwind *u = unwind__new(NULL, choice);
	struct unwind_verdict v = {};
	struct space space = {};
	size_t n_new;

	cr_assert_eq(space__refresh(&space, objects, getpid(), &n_new, NULL), 0);
	cr_assert_gt(n_new, 2);
	cr_assert_eq(unwind__update(u, 1, &space, 0, &v, NULL), 0);
	cr_assert_eq(unwind__n_full(u), 0);
	unwind__drop(u, 1);
	unwind__free(u);
	space__done(&space);
	objects__free(objects);
	return v;
}

Test(tables, choice_is_obeyed)
{
	cr_assert_eq(judge_me(UNWIND_FP).method, MT_WALK_FP_ONLY);
	cr_assert_eq(judge_me(UNWIND_TABLE).method, MT_WALK_TABLE);
}

/* Debian's arm64 libraries keep frame pointers, its amd64 ones do not. */
Test(tables, the_cheaper_that_is_right)
{
	struct unwind_verdict v = judge_me(UNWIND_AUTO);

#if defined(__aarch64__)
	cr_assert_eq(v.method, MT_WALK_FP, "%s", v.why);
#else
	cr_assert_eq(v.method, MT_WALK_TABLE, "%s", v.why);
#endif
	cr_assert_gt(strlen(v.why), 10);
}

/* What is unmapped is left: its table may be given up for others', however long the process goes on. */
Test(tables, of_what_is_mapped_alone)
{
	struct objects *objects = objects__new();
	struct unwind *u = unwind__new(NULL, UNWIND_AUTO);
	struct unwind_verdict v = {};
	struct space space = {};
	size_t n_new, n_before, page = (size_t)sysconf(_SC_PAGESIZE);
	int fd = open("/bin/true", O_RDONLY);
	void *at;

	cr_assert_geq(fd, 0);
	cr_assert_eq(space__refresh(&space, objects, getpid(), &n_new, NULL), 0);
	cr_assert_eq(unwind__update(u, 1, &space, 0, &v, NULL), 0);
	n_before = unwind__n_used(u);
	for (int i = 0; i < 2; i++) {
		at = mmap(NULL, page, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
		cr_assert_neq(at, MAP_FAILED);
		cr_assert_eq(space__refresh(&space, objects, getpid(), &n_new, NULL), 0);
		cr_assert_eq(unwind__update(u, 1, &space, 0, &v, NULL), 0);
		cr_expect_eq(unwind__n_used(u), n_before + 1);
		munmap(at, page);
		cr_assert_eq(space__refresh(&space, objects, getpid(), &n_new, NULL), 0);
		cr_assert_eq(unwind__update(u, 1, &space, 0, &v, NULL), 0);
		cr_expect_eq(unwind__n_used(u), n_before);
	}
	unwind__drop(u, 1);
	cr_expect_eq(unwind__n_used(u), 0);
	unwind__free(u);
	space__done(&space);
	objects__free(objects);
	close(fd);
}
