// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the rows: what is known of each allocation function. The order matters:
 * where one address has several names, the first row names it, so the names
 * that programs use stand before an allocator's own.
 *
 * Names and `shown` of built-in rows are static; those of the user's rows are
 * allocated, and belong to the rows from n_builtin on.
 */
#include <errno.h>
#include <string.h>

#include "bpf/abi.h"
#include "probe/plan.h"
#include "util/util.h"

#define NO MT_NO_ARG

#define ROW(n, s, role_, size_, count_, old_, out_, how, flags_)				\
	{ .name = n, .shown = s, .role = role_, .size = size_, .count = count_, .old = old_,	\
	  .out = out_, .result = how, .flags = flags_ }
#define ALLOC_AS(n, s, size_, count_, flags_) ROW(n, s, ROLE_ALLOC, size_, count_, NO, NO, MT_RESULT_RETURN, flags_)
#define ALLOC(n, size_, flags_) ALLOC_AS(n, NULL, size_, NO, flags_)
#define ALLOC_N(n, size_, count_, flags_) ALLOC_AS(n, NULL, size_, count_, flags_)
#define ALLOC_OUT(n, size_, out_) ROW(n, NULL, ROLE_ALLOC, size_, NO, NO, out_, MT_RESULT_OUT, 0)
#define REALLOC_N(n, old_, size_, count_, flags_) ROW(n, NULL, ROLE_REALLOC, size_, count_, old_, NO, MT_RESULT_RETURN, flags_)
#define REALLOC(n, old_, size_, flags_) REALLOC_N(n, old_, size_, NO, flags_)
#define FREE_AS(n, s, flags_) ROW(n, s, ROLE_FREE, NO, NO, 0, NO, MT_RESULT_RETURN, flags_)
#define FREE(n) FREE_AS(n, NULL, 0)
#define FREES_ALL(n, name_, flags_) ROW(n, NULL, ROLE_FREE, name_, NO, NO, NO, MT_RESULT_RETURN, flags_)

/*
 * The functions of C and their like, and jemalloc's own: those that --prefix applies to. p: what
 * stands before each name.
 */
#define C_ROWS(p)										\
	ALLOC(p "malloc", 0, FUNC_CORE | FUNC_INNERMOST | FUNC_OFTEN),				\
	ALLOC_N(p "calloc", 1, 0, FUNC_INNERMOST),						\
	REALLOC(p "realloc", 0, 1, 0),								\
	REALLOC_N(p "reallocarray", 0, 2, 1, FUNC_PASSES_ON),					\
	REALLOC(p "reallocf", 0, 1, FUNC_FREES_ON_FAIL),					\
	FREE_AS(p "free", NULL, FUNC_OFTEN),							\
	FREE(p "cfree"),									\
	ALLOC_OUT(p "posix_memalign", 2, 0),							\
	ALLOC(p "aligned_alloc", 1, 0),								\
	ALLOC(p "memalign", 1, 0),								\
	ALLOC(p "valloc", 0, 0),								\
	ALLOC(p "pvalloc", 0, FUNC_ROUNDS),							\
	FREE(p "free_sized"),									\
	FREE(p "free_aligned_sized"),								\
	ALLOC(p "mallocx", 0, FUNC_CORE),							\
	REALLOC(p "rallocx", 0, 1, 0),								\
	ROW(p "xallocx", NULL, ROLE_REALLOC, 1, NO, 0, NO, MT_RESULT_IN_PLACE, 0),		\
	FREE(p "dallocx"),									\
	FREE(p "sdallocx"),									\
	/* of what it can do on request, by a name, two things free all blocks of an arena */	\
	FREES_ALL(p "mallctl", 0, FUNC_NOT_ALONE)

static const struct alloc_func c_rows[] = { C_ROWS("") };

#define NEW "operator new"
#define NEW_ARRAY "operator new[]"
#define DELETE "operator delete"
#define DELETE_ARRAY "operator delete[]"

/* size_t is `m`, an unsigned long, wherever malloctrace runs. */
static const struct alloc_func cxx_rows[] = {
	ALLOC_AS("_Znwm", NEW, 0, NO, FUNC_THROWS | FUNC_OFTEN),
	ALLOC_AS("_Znam", NEW_ARRAY, 0, NO, FUNC_THROWS),
	ALLOC_AS("_ZnwmRKSt9nothrow_t", NEW, 0, NO, 0),
	ALLOC_AS("_ZnamRKSt9nothrow_t", NEW_ARRAY, 0, NO, 0),
	ALLOC_AS("_ZnwmSt11align_val_t", NEW, 0, NO, FUNC_THROWS),
	ALLOC_AS("_ZnamSt11align_val_t", NEW_ARRAY, 0, NO, FUNC_THROWS),
	ALLOC_AS("_ZnwmSt11align_val_tRKSt9nothrow_t", NEW, 0, NO, 0),
	ALLOC_AS("_ZnamSt11align_val_tRKSt9nothrow_t", NEW_ARRAY, 0, NO, 0),
	FREE_AS("_ZdlPv", DELETE, FUNC_OFTEN),
	FREE_AS("_ZdaPv", DELETE_ARRAY, 0),
	FREE_AS("_ZdlPvm", DELETE, FUNC_OFTEN),
	FREE_AS("_ZdaPvm", DELETE_ARRAY, 0),
	FREE_AS("_ZdlPvRKSt9nothrow_t", DELETE, 0),
	FREE_AS("_ZdaPvRKSt9nothrow_t", DELETE_ARRAY, 0),
	FREE_AS("_ZdlPvSt11align_val_t", DELETE, 0),
	FREE_AS("_ZdaPvSt11align_val_t", DELETE_ARRAY, 0),
	FREE_AS("_ZdlPvmSt11align_val_t", DELETE, 0),
	FREE_AS("_ZdaPvmSt11align_val_t", DELETE_ARRAY, 0),
	FREE_AS("_ZdlPvSt11align_val_tRKSt9nothrow_t", DELETE, 0),
	FREE_AS("_ZdaPvSt11align_val_tRKSt9nothrow_t", DELETE_ARRAY, 0),
};

static const struct alloc_func tcmalloc_rows[] = {
	ALLOC("tc_malloc", 0, FUNC_CORE),
	ALLOC("tc_malloc_skip_new_handler", 0, 0),
	ALLOC_N("tc_calloc", 1, 0, 0),
	REALLOC("tc_realloc", 0, 1, 0),
	FREE("tc_free"),
	FREE("tc_cfree"),
	FREE("tc_free_sized"),
	ALLOC_OUT("tc_posix_memalign", 2, 0),
	ALLOC("tc_memalign", 1, 0),
	ALLOC("tc_valloc", 0, 0),
	ALLOC("tc_pvalloc", 0, FUNC_ROUNDS),
	ALLOC("tc_new", 0, FUNC_THROWS),
	ALLOC("tc_newarray", 0, FUNC_THROWS),
	ALLOC("tc_new_nothrow", 0, 0),
	ALLOC("tc_newarray_nothrow", 0, 0),
	ALLOC("tc_new_aligned", 0, FUNC_THROWS),
	ALLOC("tc_newarray_aligned", 0, FUNC_THROWS),
	ALLOC("tc_new_aligned_nothrow", 0, 0),
	ALLOC("tc_newarray_aligned_nothrow", 0, 0),
	FREE("tc_delete"),
	FREE("tc_deletearray"),
	FREE("tc_delete_sized"),
	FREE("tc_deletearray_sized"),
	FREE("tc_delete_nothrow"),
	FREE("tc_deletearray_nothrow"),
	FREE("tc_delete_aligned"),
	FREE("tc_deletearray_aligned"),
	FREE("tc_delete_sized_aligned"),
	FREE("tc_deletearray_sized_aligned"),
	FREE("tc_delete_aligned_nothrow"),
	FREE("tc_deletearray_aligned_nothrow"),
};

/*
 * mimalloc calls itself by inlined copies, so each function has a row. Not
 * here are those that (in 2.0.9) call another row's function by its name:
 * mi_reallocarr, mi_wcsdup, mi_mbsdup, mi_dupenv_s, mi_realpath, mi__expand,
 * mi_aligned_recalloc.
 */
static const struct alloc_func mimalloc_rows[] = {
	ALLOC("mi_malloc", 0, FUNC_CORE),
	ALLOC("mi_malloc_small", 0, 0),
	ALLOC("mi_zalloc", 0, 0),
	ALLOC("mi_zalloc_small", 0, 0),
	ALLOC_N("mi_calloc", 1, 0, 0),
	ALLOC_N("mi_mallocn", 1, 0, 0),
	REALLOC("mi_realloc", 0, 1, 0),
	REALLOC_N("mi_reallocn", 0, 2, 1, 0),
	REALLOC_N("mi_reallocarray", 0, 2, 1, 0),
	REALLOC("mi_reallocf", 0, 1, FUNC_FREES_ON_FAIL),
	REALLOC("mi_rezalloc", 0, 1, 0),
	REALLOC_N("mi_recalloc", 0, 2, 1, 0),
	/* gives the same address, or NULL and leaves the block as it is: a realloc that can fail */
	REALLOC("mi_expand", 0, 1, 0),
	FREE("mi_free"),
	FREE("mi_cfree"),
	FREE("mi_free_size"),
	FREE("mi_free_size_aligned"),
	FREE("mi_free_aligned"),
	ALLOC("mi_strdup", 0, FUNC_STRING | FUNC_NOT_ALONE),
	ALLOC_N("mi_strndup", 0, 1, FUNC_STRING | FUNC_NOT_ALONE),
	ALLOC_OUT("mi_posix_memalign", 2, 0),
	ALLOC("mi_memalign", 1, 0),
	ALLOC("mi_aligned_alloc", 1, 0),
	ALLOC("mi_valloc", 0, 0),
	ALLOC("mi_pvalloc", 0, FUNC_ROUNDS),
	ALLOC("mi_malloc_aligned", 0, 0),
	ALLOC("mi_malloc_aligned_at", 0, 0),
	ALLOC("mi_zalloc_aligned", 0, 0),
	ALLOC("mi_zalloc_aligned_at", 0, 0),
	ALLOC_N("mi_calloc_aligned", 1, 0, 0),
	ALLOC_N("mi_calloc_aligned_at", 1, 0, 0),
	REALLOC("mi_realloc_aligned", 0, 1, 0),
	REALLOC("mi_realloc_aligned_at", 0, 1, 0),
	REALLOC("mi_rezalloc_aligned", 0, 1, 0),
	REALLOC("mi_rezalloc_aligned_at", 0, 1, 0),
	REALLOC_N("mi_recalloc_aligned", 0, 2, 1, 0),
	REALLOC_N("mi_recalloc_aligned_at", 0, 2, 1, 0),
	ALLOC("mi_new", 0, FUNC_THROWS),
	ALLOC_N("mi_new_n", 1, 0, FUNC_THROWS),
	ALLOC("mi_new_aligned", 0, FUNC_THROWS),
	ALLOC("mi_new_nothrow", 0, 0),
	ALLOC("mi_new_aligned_nothrow", 0, 0),
	REALLOC("mi_new_realloc", 0, 1, FUNC_THROWS),
	REALLOC_N("mi_new_reallocn", 0, 2, 1, FUNC_THROWS),
	/* the same on a heap of one's own, the first argument */
	ALLOC("mi_heap_malloc", 1, FUNC_NOT_ALONE),
	ALLOC("mi_heap_malloc_small", 1, FUNC_NOT_ALONE),
	ALLOC("mi_heap_zalloc", 1, FUNC_NOT_ALONE),
	ALLOC("mi_heap_zalloc_small", 1, FUNC_NOT_ALONE),
	ALLOC_N("mi_heap_calloc", 2, 1, FUNC_NOT_ALONE),
	ALLOC_N("mi_heap_mallocn", 2, 1, FUNC_NOT_ALONE),
	REALLOC("mi_heap_realloc", 1, 2, FUNC_NOT_ALONE),
	REALLOC_N("mi_heap_reallocn", 1, 3, 2, FUNC_NOT_ALONE),
	REALLOC("mi_heap_reallocf", 1, 2, FUNC_FREES_ON_FAIL | FUNC_NOT_ALONE),
	REALLOC("mi_heap_rezalloc", 1, 2, FUNC_NOT_ALONE),
	REALLOC_N("mi_heap_recalloc", 1, 3, 2, FUNC_NOT_ALONE),
	ALLOC("mi_heap_strdup", 1, FUNC_STRING | FUNC_NOT_ALONE),
	ALLOC_N("mi_heap_strndup", 1, 2, FUNC_STRING | FUNC_NOT_ALONE),
	ALLOC("mi_heap_malloc_aligned", 1, FUNC_NOT_ALONE),
	ALLOC("mi_heap_malloc_aligned_at", 1, FUNC_NOT_ALONE),
	ALLOC("mi_heap_zalloc_aligned", 1, FUNC_NOT_ALONE),
	ALLOC("mi_heap_zalloc_aligned_at", 1, FUNC_NOT_ALONE),
	ALLOC_N("mi_heap_calloc_aligned", 2, 1, FUNC_NOT_ALONE),
	ALLOC_N("mi_heap_calloc_aligned_at", 2, 1, FUNC_NOT_ALONE),
	REALLOC("mi_heap_realloc_aligned", 1, 2, FUNC_NOT_ALONE),
	REALLOC("mi_heap_realloc_aligned_at", 1, 2, FUNC_NOT_ALONE),
	REALLOC("mi_heap_rezalloc_aligned", 1, 2, FUNC_NOT_ALONE),
	REALLOC("mi_heap_rezalloc_aligned_at", 1, 2, FUNC_NOT_ALONE),
	REALLOC_N("mi_heap_recalloc_aligned", 1, 3, 2, FUNC_NOT_ALONE),
	REALLOC_N("mi_heap_recalloc_aligned_at", 1, 3, 2, FUNC_NOT_ALONE),
	ALLOC("mi_heap_alloc_new", 1, FUNC_THROWS | FUNC_NOT_ALONE),
	ALLOC_N("mi_heap_alloc_new_n", 2, 1, FUNC_THROWS | FUNC_NOT_ALONE),
	/* all blocks of a heap at once, and it is not known which these are; mi_heap_delete keeps them */
	FREES_ALL("mi_heap_destroy", NO, FUNC_NOT_ALONE),
};

/*
 * Allocators that are linked into programs beside the C library's, under a prefix:
 * Rust's jemalloc (tikv-jemallocator, jemallocator), jemalloc as redis and others
 * build it, rpmalloc and dlmalloc.
 */
static const struct alloc_func prefixed_rows[] = {
	C_ROWS("_rjem_"),
	C_ROWS("je_"),
	C_ROWS("rp"),
	C_ROWS("dl"),
};

/* With other arguments than those of C. */
static const struct alloc_func other_rows[] = {
	/* Intel's TBB */
	ALLOC("scalable_malloc", 0, FUNC_CORE),
	ALLOC_N("scalable_calloc", 1, 0, 0),
	REALLOC("scalable_realloc", 0, 1, 0),
	FREE("scalable_free"),
	ALLOC_OUT("scalable_posix_memalign", 2, 0),
	ALLOC("scalable_aligned_malloc", 0, 0),
	REALLOC("scalable_aligned_realloc", 0, 1, 0),
	FREE("scalable_aligned_free"),
	/* snmalloc in Rust: the alignment comes first */
	ALLOC("sn_rust_alloc", 1, FUNC_CORE),
	ALLOC("sn_rust_alloc_zeroed", 1, 0),
	REALLOC("sn_rust_realloc", 0, 3, FUNC_NOT_ALONE),
	FREE("sn_rust_dealloc"),
	/* DPDK, which has to be set up before it can be called: a name for its own statistics comes first */
	ALLOC("rte_malloc", 1, FUNC_CORE | FUNC_NOT_ALONE),
	ALLOC("rte_zmalloc", 1, FUNC_NOT_ALONE),
	ALLOC_N("rte_calloc", 2, 1, FUNC_NOT_ALONE),
	ALLOC("rte_malloc_socket", 1, FUNC_NOT_ALONE),
	ALLOC("rte_zmalloc_socket", 1, FUNC_NOT_ALONE),
	ALLOC_N("rte_calloc_socket", 2, 1, FUNC_NOT_ALONE),
	REALLOC("rte_realloc", 0, 1, FUNC_NOT_ALONE),
	REALLOC("rte_realloc_socket", 0, 1, FUNC_NOT_ALONE),
	FREE_AS("rte_free", NULL, FUNC_NOT_ALONE),
};

static const struct {
	const struct alloc_func *v;
	size_t n;
	unsigned int flags;	/* that all of them have */
} builtin[] = {
	{ c_rows, ARRAY_SIZE(c_rows), 0 },
	{ cxx_rows, ARRAY_SIZE(cxx_rows), 0 },
	{ tcmalloc_rows, ARRAY_SIZE(tcmalloc_rows), FUNC_OWN_NAME },
	{ mimalloc_rows, ARRAY_SIZE(mimalloc_rows), FUNC_OWN_NAME },
	{ prefixed_rows, ARRAY_SIZE(prefixed_rows), FUNC_OWN_NAME },
	{ other_rows, ARRAY_SIZE(other_rows), FUNC_OWN_NAME },
};

#define MAPS(n, s, how) ROW(n, s, ROLE_MAP, NO, NO, NO, NO, how, 0)

/*
 * What grows a process: libc's wrappers of the system calls, which its malloc
 * goes through too. sbrk calls brk.
 */
static const struct alloc_func growth_rows[] = {
	/* no function, and no name that a symbol has */
	[MT_GROWTH_FAULT] = MAPS("page fault", "page_fault", MT_GROWS_MMAP),
	[MT_GROWTH_MMAP] = MAPS("mmap", NULL, MT_GROWS_MMAP),
	[MT_GROWTH_BRK] = MAPS("brk", NULL, MT_GROWS_BRK),
	MAPS("mmap64", "mmap", MT_GROWS_MMAP),
	MAPS("__mmap", "mmap", MT_GROWS_MMAP),
	MAPS("mremap", "mmap", MT_GROWS_MREMAP),
	MAPS("__brk", "brk", MT_GROWS_BRK),
};

#define MAPS_TOO(n, s, role_, how) ROW(n, s, role_, NO, NO, NO, NO, how, FUNC_NOT_ALONE)

/* --mmap: the same, and those that take mappings away. */
static const struct alloc_func map_rows[] = {
	MAPS_TOO("mmap", NULL, ROLE_MAP, MT_GROWS_MMAP),
	MAPS_TOO("mmap64", "mmap", ROLE_MAP, MT_GROWS_MMAP),
	MAPS_TOO("__mmap", "mmap", ROLE_MAP, MT_GROWS_MMAP),
	MAPS_TOO("brk", NULL, ROLE_MAP, MT_GROWS_BRK),
	MAPS_TOO("__brk", "brk", ROLE_MAP, MT_GROWS_BRK),
	MAPS_TOO("mremap", NULL, ROLE_UNMAP, MT_GROWS_MREMAP),
	MAPS_TOO("__mremap", "mremap", ROLE_UNMAP, MT_GROWS_MREMAP),
	MAPS_TOO("munmap", NULL, ROLE_UNMAP, MT_GROWS_NOT),
	MAPS_TOO("__munmap", "munmap", ROLE_UNMAP, MT_GROWS_NOT),
	/* musl: a detached thread's last act, which does not return */
	MAPS_TOO("__unmapself", "munmap", ROLE_UNMAP, MT_GROWS_NOT),
};

/* Python's arenas of small objects (bpf/mappings.bpf.h): "arena" is no function, and what a site of them shows. */
static const struct alloc_func arena_rows[] = {
	MAPS_TOO("mmap", "arena", ROLE_MAP, MT_GROWS_MMAP),
	MAPS_TOO("mmap64", "arena", ROLE_MAP, MT_GROWS_MMAP),
	MAPS_TOO("__mmap", "arena", ROLE_MAP, MT_GROWS_MMAP),
	MAPS_TOO("munmap", NULL, ROLE_UNMAP, MT_GROWS_NOT),
	MAPS_TOO("__munmap", "munmap", ROLE_UNMAP, MT_GROWS_NOT),
};

#define N_BUILTIN                                                                                                 \
	(ARRAY_SIZE(c_rows) + ARRAY_SIZE(cxx_rows) + ARRAY_SIZE(tcmalloc_rows) + ARRAY_SIZE(mimalloc_rows) +      \
	 ARRAY_SIZE(prefixed_rows) + ARRAY_SIZE(other_rows))

_Static_assert(N_BUILTIN + ARRAY_SIZE(map_rows) < MT_MAX_FUNCS, "a row's index has ten bits in the cookie");

static void add_rows(struct alloc_funcs *f, const struct alloc_func *rows, size_t n, unsigned int flags)
{
	for (size_t i = 0; i < n; i++) {
		struct alloc_func *row = vec_push(f);

		*row = rows[i];
		row->flags |= flags;
	}
	f->n_builtin = f->n;
}

void alloc_funcs__init(struct alloc_funcs *f)
{
	*f = (struct alloc_funcs){};
	for (size_t i = 0; i < ARRAY_SIZE(builtin); i++)
		add_rows(f, builtin[i].v, builtin[i].n, builtin[i].flags);
}

void alloc_funcs__add_maps(struct alloc_funcs *f, bool arenas)
{
	if (arenas)
		add_rows(f, arena_rows, ARRAY_SIZE(arena_rows), 0);
	else
		add_rows(f, map_rows, ARRAY_SIZE(map_rows), 0);
}

void alloc_funcs__init_growth(struct alloc_funcs *f)
{
	*f = (struct alloc_funcs){};
	add_rows(f, growth_rows, ARRAY_SIZE(growth_rows), 0);
}

bool alloc_funcs__is_c(size_t i)
{
	return i < ARRAY_SIZE(c_rows);	/* builtin[] begins with them */
}

int alloc_funcs__find(const struct alloc_funcs *f, const char *name)
{
	for (size_t i = 0; i < f->n; i++)
		if (!strcmp(f->v[i].name, name))
			return i;
	return -1;
}

/* Takes name over, also on failure. A name that has a row of its own gets a new meaning, not a second row. */
static int add_row(struct alloc_funcs *f, const struct alloc_func *like, char *name, struct err *e)
{
	int at = alloc_funcs__find(f, name);
	struct alloc_func *row;

	if (at >= 0) {
		const char *old_name = f->v[at].name;

		free(name);
		f->v[at] = *like;
		f->v[at].name = old_name;
		f->v[at].shown = NULL;
		f->v[at].flags |= FUNC_OWN_NAME;
		return 0;
	}
	if (f->n >= MT_MAX_FUNCS) {
		free(name);
		return err_set(e, -E2BIG, "more than %d allocation functions", MT_MAX_FUNCS);
	}
	row = vec_push(f);
	*row = *like;
	row->name = name;
	row->shown = NULL;
	row->flags |= FUNC_OWN_NAME;
	return 0;
}

int alloc_funcs__add_prefix(struct alloc_funcs *f, const char *prefix, struct err *e)
{
	int r;

	if (!*prefix)
		return err_set(e, -EINVAL, "--prefix '': want what stands before malloc and free, such as je_");
	for (size_t i = 0; i < ARRAY_SIZE(c_rows); i++) {
		char *name = xasprintf("%s%s", prefix, c_rows[i].name);

		/* a built-in row may know more of a function than its prefix says */
		if (alloc_funcs__find(f, name) >= 0) {
			f->v[alloc_funcs__find(f, name)].flags |= FUNC_PREFIXED;
			free(name);
			continue;
		}
		r = add_row(f, &c_rows[i], name, e);
		if (r)
			return r;
		f->v[f->n - 1].flags |= FUNC_PREFIXED;
	}
	return 0;
}

int alloc_funcs__add_sym(struct alloc_funcs *f, const char *spec, struct err *e)
{
	const char *eq = strchr(spec, '=');
	struct alloc_func like;
	size_t i;

	if (!eq || eq == spec || !eq[1])
		return err_set(e, -EINVAL, "--sym %s: want ROLE=NAME, such as malloc=arena_alloc", spec);
	for (i = 0; i < f->n; i++)
		if (strlen(f->v[i].name) == (size_t)(eq - spec) && !memcmp(f->v[i].name, spec, eq - spec))
			break;
	if (i == f->n)
		return err_set(e, -EINVAL,
			       "--sym %s: no function is known as '%.*s': want one of malloc, calloc, realloc, reallocarray, free, posix_memalign, aligned_alloc, memalign, valloc",
			       spec, (int)(eq - spec), spec);
	like = f->v[i];
	like.flags = (like.flags & ~(FUNC_FOUND | FUNC_PREFIXED)) | FUNC_NAMED;
	if (like.role == ROLE_ALLOC)
		like.flags |= FUNC_CORE;
	return add_row(f, &like, xstrdup(eq + 1), e);
}

const struct alloc_func *alloc_funcs__unfreed(const struct alloc_funcs *f, unsigned int named_by,
					      unsigned int freed_by, unsigned int also)
{
	const struct alloc_func *ret = NULL;

	for (size_t i = 0; i < f->n; i++) {
		const struct alloc_func *row = &f->v[i];

		if ((row->flags & also) != also)
			continue;
		if (row->role == ROLE_FREE && row->flags & freed_by)
			return NULL;
		if ((row->role == ROLE_ALLOC || row->role == ROLE_REALLOC) && row->flags & named_by)
			ret = row;
	}
	return ret;
}

const char *alloc_func__shown(const struct alloc_func *f)
{
	return f->shown ? f->shown : f->name;
}

uint64_t alloc_funcs__cookie(const struct alloc_funcs *f, size_t i)
{
	const struct alloc_func *row = &f->v[i];
	uint64_t cookie = MT_COOKIE(i, row->size, row->count, row->old, row->out, row->result);

	if (row->flags & FUNC_FREES_ON_FAIL)
		cookie |= MT_COOKIE_FREES_ON_FAIL;
	if (row->flags & FUNC_STRING)
		cookie |= MT_COOKIE_STRING;
	if (row->role == ROLE_REALLOC)
		cookie |= MT_COOKIE_REALLOC;
	return cookie;
}

void alloc_funcs__done(struct alloc_funcs *f)
{
	for (size_t i = f->n_builtin; i < f->n; i++)
		free((char *)f->v[i].name);
	vec_done(f);
}
