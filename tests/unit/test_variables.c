// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Variables of this program, and of files that are none. */
#include <criterion/criterion.h>
#include <string.h>

#include "elf/object.h"
#include "elf/symtab.h"

int test_variable_here[25] = { 1 };
extern int test_variable_also __attribute__((alias("test_variable_here")));

Test(variables, of_this_program)
{
	struct objects *all = objects__new();
	const struct variable *found = NULL;
	struct variables v = {};
	struct object *obj;

	cr_assert_eq(objects__get_path(all, "/proc/self/exe", &obj, NULL), 0);
	variables__read(obj, NULL, &v);
	for (size_t i = 0; i < v.n; i++) {
		cr_assert(v.v[i].start < v.v[i].end);
		cr_assert(!i || v.v[i - 1].end <= v.v[i].start, "no two overlap");
		/* of two names the shorter one; as long as each other, the first of the alphabet */
		cr_assert_str_neq(variable__name(&v, &v.v[i]), "test_variable_here");
		if (!strcmp(variable__name(&v, &v.v[i]), "test_variable_also"))
			found = &v.v[i];
	}
	cr_assert(found);
	cr_assert_eq(found->end - found->start, sizeof(test_variable_here));
	cr_assert_eq(variables__find(&v, found->start), found);
	cr_assert_eq(variables__find(&v, found->end - 1), found);
	cr_assert_neq(variables__find(&v, found->end), found);
	cr_assert_null(variables__find(&v, UINT64_MAX));
	variables__done(&v);
	object__put(obj);
	objects__free(all);
}

Test(variables, of_no_program)
{
	struct objects *all = objects__new();
	struct variables v = { .n = 1 };
	struct object *obj;

	cr_assert_eq(objects__get_path(all, "/etc/passwd", &obj, NULL), 0);
	variables__read(obj, NULL, &v);
	cr_assert_eq(v.n, 0);
	object__put(obj);
	objects__free(all);
}
