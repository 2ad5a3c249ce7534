// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* The table of allocation functions, and the user's additions to it. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "bpf/abi.h"
#include "probe/plan.h"
#include "util/util.h"

static const struct alloc_func *row(const struct alloc_funcs *f, const char *name)
{
	int i = alloc_funcs__find(f, name);

	cr_assert_geq(i, 0, "%s has no row", name);
	return &f->v[i];
}

Test(allocators, rows_make_sense)
{
	struct alloc_funcs f;
	size_t i;

	alloc_funcs__init(&f);
	for (i = 0; i < f.n; i++) {
		const struct alloc_func *r = &f.v[i];
		uint64_t c = alloc_funcs__cookie(&f, i);

		cr_assert_eq(alloc_funcs__find(&f, r->name), (int)i, "%s has two rows", r->name);
		/* some free more than they name */
		cr_assert_eq(r->old != MT_NO_ARG, r->role != ROLE_ALLOC && strcmp(r->name, "mi_heap_destroy") && !strstr(r->name, "mallctl"),
			     "%s", r->name);
		cr_assert_eq(r->out != MT_NO_ARG, r->result == MT_RESULT_OUT, "%s", r->name);
		cr_assert(r->size == MT_NO_ARG || r->size < MT_N_ARGS, "%s", r->name);
		cr_assert(r->size != r->old || r->size == MT_NO_ARG, "%s", r->name);
		cr_assert_not(r->role == ROLE_FREE && r->flags & (FUNC_CORE | FUNC_THROWS), "%s", r->name);
		cr_assert_not(strstr(r->name, "nothrow") && r->flags & FUNC_THROWS, "%s", r->name);
		cr_assert_eq(MT_COOKIE_FUNC(c), i);
		cr_assert_eq(MT_COOKIE_SIZE(c), r->size);
		cr_assert_eq(MT_COOKIE_COUNT(c), r->count);
		cr_assert_eq(MT_COOKIE_OLD(c), r->old);
		cr_assert_eq(MT_COOKIE_OUT(c), r->out);
		cr_assert_eq(MT_COOKIE_RESULT(c), r->result);
		cr_assert_eq(!!(c & MT_COOKIE_FREES_ON_FAIL), !!(r->flags & FUNC_FREES_ON_FAIL));
		cr_assert_lt(i, f.n_builtin);
	}
	alloc_funcs__done(&f);
}

/* --mmap: behind the built-in rows, before the user's. */
Test(allocators, rows_of_mappings)
{
	static const struct {
		const char *name, *shown;
		enum role role;
		enum mt_growth how;
	} want[] = {
		{ "mmap", "mmap", ROLE_MAP, MT_GROWS_MMAP },	  { "__mmap", "mmap", ROLE_MAP, MT_GROWS_MMAP },
		{ "brk", "brk", ROLE_MAP, MT_GROWS_BRK },	  { "mremap", "mremap", ROLE_UNMAP, MT_GROWS_MREMAP },
		{ "munmap", "munmap", ROLE_UNMAP, MT_GROWS_NOT }, { "__unmapself", "munmap", ROLE_UNMAP, MT_GROWS_NOT },
	};
	_cleanup_err_ struct err e = {};
	struct alloc_funcs f;

	alloc_funcs__init(&f);
	cr_assert_eq(alloc_funcs__find(&f, "mmap"), -1);
	alloc_funcs__add_maps(&f, false);
	cr_assert_eq(alloc_funcs__add_sym(&f, "malloc=own_malloc", &e), 0);
	for (size_t i = 0; i < ARRAY_SIZE(want); i++) {
		const struct alloc_func *r = row(&f, want[i].name);

		cr_expect_str_eq(alloc_func__shown(r), want[i].shown);
		cr_expect_eq(r->role, want[i].role);
		cr_expect_eq(r->result, want[i].how);
		cr_expect(r->flags & FUNC_NOT_ALONE, "%s would be called by the self-check", r->name);
		cr_expect_lt((size_t)(r - f.v), f.n_builtin);
		cr_expect_eq(MT_COOKIE_RESULT(alloc_funcs__cookie(&f, r - f.v)), want[i].how);
	}
	cr_expect(alloc_funcs__find(&f, "own_malloc") >= (int)f.n_builtin);
	alloc_funcs__done(&f);
}

Test(allocators, rows_of_growth)
{
	struct alloc_funcs f;

	alloc_funcs__init_growth(&f);
	cr_assert_str_eq(alloc_func__shown(&f.v[MT_GROWTH_FAULT]), "page_fault");
	cr_assert_str_eq(alloc_func__shown(&f.v[MT_GROWTH_MMAP]), "mmap");
	cr_assert_str_eq(alloc_func__shown(&f.v[MT_GROWTH_BRK]), "brk");
	cr_assert_eq(row(&f, "mremap")->result, MT_GROWS_MREMAP);
	cr_assert_str_eq(alloc_func__shown(row(&f, "mremap")), "mmap");
	cr_assert_eq(alloc_funcs__find(&f, "malloc"), -1);
	for (size_t i = 0; i < f.n; i++)
		cr_assert_eq(f.v[i].role, ROLE_MAP);
	alloc_funcs__done(&f);
}

Test(allocators, known_rows)
{
	struct alloc_funcs f;

	alloc_funcs__init(&f);
	cr_assert(row(&f, "malloc")->flags & FUNC_CORE);
	cr_assert_eq(row(&f, "calloc")->size, 1);
	cr_assert_eq(row(&f, "calloc")->count, 0);
	cr_assert_eq(row(&f, "posix_memalign")->out, 0);
	cr_assert_eq(row(&f, "posix_memalign")->size, 2);
	cr_assert_eq(row(&f, "reallocarray")->size, 2);
	cr_assert_eq(row(&f, "xallocx")->result, MT_RESULT_IN_PLACE);
	cr_assert(row(&f, "_Znwm")->flags & FUNC_THROWS);
	cr_assert_str_eq(alloc_func__shown(row(&f, "_Znam")), "operator new[]");
	cr_assert_str_eq(alloc_func__shown(row(&f, "_ZdlPvm")), "operator delete");
	cr_assert_str_eq(alloc_func__shown(row(&f, "mi_malloc")), "mi_malloc");
	cr_assert_eq(row(&f, "mi_heap_realloc")->old, 1);
	cr_assert_eq(row(&f, "mi_heap_realloc")->size, 2);
	cr_assert_lt(alloc_funcs__find(&f, "malloc"), alloc_funcs__find(&f, "tc_malloc"));
	cr_assert_eq(alloc_funcs__find(&f, "main"), -1);
	cr_assert_eq(alloc_funcs__find(&f, ""), -1);
	alloc_funcs__done(&f);
}

Test(allocators, prefix)
{
	struct alloc_funcs f;
	size_t n;

	alloc_funcs__init(&f);
	n = f.n;
	cr_assert_eq(alloc_funcs__add_prefix(&f, "own_", NULL), 0);
	cr_assert_gt(f.n, n);
	cr_assert(row(&f, "own_malloc")->flags & FUNC_CORE);
	cr_assert_eq(row(&f, "own_free")->role, ROLE_FREE);
	cr_assert_eq(row(&f, "own_calloc")->count, 0);
	cr_assert(row(&f, "own_mallocx")->flags & FUNC_CORE);
	cr_assert_eq(alloc_funcs__find(&f, "own__Znwm"), -1);
	cr_assert(alloc_funcs__find(&f, "own_malloc") >= (int)f.n_builtin);
	n = f.n;
	cr_assert_eq(alloc_funcs__add_prefix(&f, "own_", NULL), 0);
	cr_assert_eq(f.n, n, "the same prefix again adds nothing");
	cr_assert_eq(alloc_funcs__add_prefix(&f, "", NULL), -EINVAL);
	alloc_funcs__done(&f);
}

/* Found unasked: what Rust programs, redis and others link in. To ask for it changes nothing. */
Test(allocators, known_prefixes)
{
	static const char *const known[] = { "_rjem_", "je_", "rp", "dl" };
	struct alloc_funcs f;
	size_t n;

	alloc_funcs__init(&f);
	n = f.n;
	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		char name[32];

		snprintf(name, sizeof(name), "%smalloc", known[i]);
		cr_expect(row(&f, name)->flags & FUNC_CORE);
		cr_expect(row(&f, name)->flags & FUNC_OWN_NAME, "%s", name);
		snprintf(name, sizeof(name), "%ssdallocx", known[i]);
		cr_expect_eq(row(&f, name)->role, ROLE_FREE);
		cr_expect_eq(alloc_funcs__add_prefix(&f, known[i], NULL), 0);
	}
	cr_assert_eq(f.n, n);
	cr_assert_eq(row(&f, "rte_malloc")->size, 1);
	cr_assert_eq(row(&f, "sn_rust_realloc")->size, 3);
	cr_assert_not(row(&f, "malloc")->flags & FUNC_OWN_NAME);
	alloc_funcs__done(&f);
}

Test(allocators, sym)
{
	_cleanup_err_ struct err e = { 0 };
	struct alloc_funcs f;
	int at;

	alloc_funcs__init(&f);
	cr_assert_eq(alloc_funcs__add_sym(&f, "malloc=arena_alloc", NULL), 0);
	cr_assert_eq(alloc_funcs__add_sym(&f, "calloc=arena_zero", NULL), 0);
	cr_assert_eq(alloc_funcs__add_sym(&f, "free=arena_free", NULL), 0);
	cr_assert(row(&f, "arena_alloc")->flags & FUNC_CORE);
	cr_assert(row(&f, "arena_zero")->flags & FUNC_CORE, "the user says that it allocates");
	cr_assert_eq(row(&f, "arena_zero")->size, 1);
	cr_assert_eq(row(&f, "arena_free")->role, ROLE_FREE);
	cr_assert_str_eq(alloc_func__shown(row(&f, "arena_free")), "arena_free");
	/* a name with a row keeps its id and gets the meaning that the user gives it */
	at = alloc_funcs__find(&f, "valloc");
	cr_assert_eq(alloc_funcs__add_sym(&f, "free=valloc", NULL), 0);
	cr_assert_eq(alloc_funcs__find(&f, "valloc"), at);
	cr_assert_eq(f.v[at].role, ROLE_FREE);

	cr_assert_eq(alloc_funcs__add_sym(&f, "alloc=x", &e), -EINVAL);
	cr_assert_not_null(strstr(err_msg(&e), "'alloc'"));
	cr_assert_eq(alloc_funcs__add_sym(&f, "malloc", NULL), -EINVAL);
	cr_assert_eq(alloc_funcs__add_sym(&f, "malloc=", NULL), -EINVAL);
	cr_assert_eq(alloc_funcs__add_sym(&f, "=x", NULL), -EINVAL);
	alloc_funcs__done(&f);
}

Test(allocators, room_ends)
{
	struct alloc_funcs f;
	char spec[64];
	int i, r = 0;

	alloc_funcs__init(&f);
	for (i = 0; i < MT_MAX_FUNCS + 1 && !r; i++) {
		snprintf(spec, sizeof(spec), "malloc=f%d", i);
		r = alloc_funcs__add_sym(&f, spec, NULL);
	}
	cr_assert_eq(r, -E2BIG);
	cr_assert_eq(f.n, MT_MAX_FUNCS);
	alloc_funcs__done(&f);
}
