// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* What is recorded decides where to probe: --mode and --size. */
#include "plan_made.h"

Test(plan, count_is_entries_of_allocations)
{
	struct plan_of p;
	size_t i;

	wanted = (struct plan_want){ .recording.mode = MT_MODE_COUNT };
	cr_assert(open_plan(&p, "/lib/" MULTIARCH "/libc.so.6", false));
	cr_assert_null(func(&p, "free"));
	cr_assert_not_null(func(&p, "malloc"));
	cr_assert_not_null(func(&p, "realloc"));
	cr_assert_eq(p.plan.n_points, p.plan.n_funcs, "one trap a call");
	for (i = 0; i < p.plan.n_points; i++) {
		cr_assert_eq(p.plan.points[i].how, ON_ENTRY);
		cr_assert_not(p.plan.points[i].no_args);
	}
	check(&p);
	close_plan(&p);
}

static size_t count_flagged(const struct plan_of *p, const char *name, enum how how, bool return_only)
{
	size_t i, n = 0;

	for (i = 0; i < p->plan.n_points; i++)
		n += p->plan.points[i].func == func(p, name)->func && p->plan.points[i].how == how &&
		     p->plan.points[i].return_only == return_only;
	return n;
}

Test(plan, usable_needs_no_entry)
{
	static const char *const with_entry[] = { "realloc", "posix_memalign", "aligned_alloc", "valloc", "pvalloc" };
	static const char *const without[] = { "malloc", "calloc" };
	struct plan_of p;
	size_t i;

	wanted = (struct plan_want){ .recording.size = SIZE_USABLE };
	cr_assert(open_plan(&p, "/lib/" MULTIARCH "/libc.so.6", false));
	cr_assert_eq(p.plan.n_requested, 0);
	for (i = 0; i < ARRAY_SIZE(without); i++) {
		cr_assert(func(&p, without[i])->usable);
		cr_assert_geq(count_flagged(&p, without[i], ON_RET_INSN, true) + count_flagged(&p, without[i], ON_RETURN, true), 1);
	}
	for (i = 0; i < ARRAY_SIZE(with_entry); i++) {
		cr_assert(func(&p, with_entry[i])->usable);
		cr_assert_eq(count_flagged(&p, with_entry[i], ON_ENTRY, false), 1, "%s", with_entry[i]);
		cr_assert_eq(count_flagged(&p, with_entry[i], ON_RET_INSN, true), 0, "%s", with_entry[i]);
	}
	cr_assert_not(func(&p, "free")->usable);
	/* it calls realloc by name, which may be that of a preloaded allocator */
	for (i = 0; i < p.plan.n_funcs; i++)
		cr_assert_str_neq(p.funcs.v[p.plan.funcs[i].func].name, "reallocarray");
	for (i = 0; i < p.plan.n_points; i++) {
		const struct point *a = &p.plan.points[i];
		uint64_t first;

		if (!a->return_only)
			continue;
		/* a return that tells of itself is one of the function's own, and seen once */
		cr_assert(object__vaddr_to_offset(p.obj, func(&p, p.funcs.v[a->func].name)->vaddr, &first));
		cr_assert(a->offset >= first && a->offset < first + func(&p, p.funcs.v[a->func].name)->size);
		for (size_t k = 0; k < p.plan.n_points; k++)
			cr_assert(k == i || p.plan.points[k].offset != a->offset);
	}
	close_plan(&p);
}

/* What reallocarray refuses by itself never comes to the realloc that is probed in its place. */
Test(plan, refusals_of_reallocarray)
{
	const struct { int mode; enum recording_size size; size_t n; } cases[] = {
		{ MT_MODE_FULL, SIZE_USABLE, 1 }, { MT_MODE_LEAK, SIZE_USABLE, 1 },
		{ MT_MODE_LEAK, SIZE_REQUESTED, 1 }, { MT_MODE_FULL, SIZE_REQUESTED, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct plan_of p;

		wanted = (struct plan_want){ .recording.mode = cases[i].mode, .recording.size = cases[i].size };
		cr_assert(open_plan(&p, "/lib/" MULTIARCH "/libc.so.6", false));
		cr_expect_eq(p.plan.refusals.n, cases[i].n, "case %zu", i);
		cr_expect_eq(!func(&p, "reallocarray"), cases[i].n == 1, "case %zu", i);
		close_plan(&p);
	}
}

/* --mmap: what maps and unmaps is seen from entry to return; and malloc has its entry, by which what it maps is known. */
Test(plan, mappings)
{
	static const char *const maps[] = { "mmap", "munmap", "mremap", "brk" };
	struct plan_of p;

	for (int usable = 0; usable < 2; usable++) {
		wanted = (struct plan_want){ .recording = { .mmap = true, .size = usable ? SIZE_USABLE : SIZE_REQUESTED } };
		cr_assert(open_plan(&p, "/lib/" MULTIARCH "/libc.so.6", false));
		for (size_t i = 0; i < ARRAY_SIZE(maps); i++) {
			cr_assert_not_null(func(&p, maps[i]), "%s", maps[i]);
			cr_expect_eq(func(&p, maps[i])->usable, usable, "%s", maps[i]);
			cr_expect_eq(count_flagged(&p, maps[i], ON_ENTRY, false), 1, "%s", maps[i]);
			cr_expect_geq(count_flagged(&p, maps[i], ON_RET_INSN, false) + count_flagged(&p, maps[i], ON_RETURN, false), 1, "%s",
				      maps[i]);
		}
		cr_expect_eq(count_flagged(&p, "malloc", ON_ENTRY, false), 1);
		check(&p);
		close_plan(&p);
	}
	wanted = (struct plan_want){};
	cr_assert(open_plan(&p, "/lib/" MULTIARCH "/libc.so.6", false));
	for (size_t i = 0; i < p.plan.n_funcs; i++)
		cr_expect(p.funcs.v[p.plan.funcs[i].func].role < ROLE_UNMAP);
	close_plan(&p);
}

/* Others keep no such headers: all as usual, and it can be told. */
Test(plan, usable_elsewhere_is_requested)
{
	struct plan_of p;
	size_t i;

	wanted = (struct plan_want){ .recording.size = SIZE_USABLE };
	if (!open_plan(&p, "/usr/lib/" MULTIARCH "/libjemalloc.so.2", false))
		cr_skip_test("libjemalloc.so.2 is not there");
	cr_assert_gt(p.plan.n_requested, 5);
	for (i = 0; i < p.plan.n_funcs; i++)
		cr_assert_not(p.plan.funcs[i].usable);
	for (i = 0; i < p.plan.n_points; i++)
		cr_assert_not(p.plan.points[i].return_only || p.plan.points[i].no_args);
	check(&p);
	close_plan(&p);
}

/* A made-up glibc: malloc with a tail jump, memalign that jumps to the same place and into malloc. */
static const uint32_t arm64_glibc[] = {
	0xa9bf7bfd,	/*  0: stp x29, x30, [sp, #-16]!	malloc */
	0xb4000060,	/*  4: cbz x0, 0x10 */
	0xa8c17bfd,	/*  8: ldp x29, x30, [sp], #16 */
	0xd65f03c0,	/*  c: ret */
	0xa8c17bfd,	/* 10: ldp x29, x30, [sp], #16 */
	0x14000003,	/* 14: b 0x20, the tail */
	0xb4ffff40,	/* 18: cbz x0, 0			memalign */
	0x14000001,	/* 1c: b 0x20 */
	0xd65f03c0,	/* 20: ret				tail */
	0xd65f03c0,	/* 24: ret				free */
	0xd65f03c0,	/* 28: ret				operator new, which is not glibc's */
	0xd503201f,	/* 2c: nop */
};

static const struct point *at(const struct plan_of *p, uint64_t vaddr, enum how how)
{
	for (size_t i = 0; i < p->plan.n_points; i++)
		if (p->plan.points[i].offset == CODE_AT + vaddr && p->plan.points[i].how == how)
			return &p->plan.points[i];
	return NULL;
}

static void open_made_glibc(struct plan_of *p, const uint32_t *code, uint16_t type, const char *mark)
{
	struct maker k;

	make(&k, EM_AARCH64, type, code, sizeof(arm64_glibc));
	add(&k, "malloc", 0, 0x18, STB_GLOBAL, STT_FUNC);
	add(&k, "memalign", 0x18, 8, STB_GLOBAL, STT_FUNC);
	add(&k, "tail", 0x20, 4, STB_LOCAL, STT_FUNC);
	add(&k, "free", 0x24, 4, STB_GLOBAL, STT_FUNC);
	add(&k, "_Znwm", 0x28, 4, STB_GLOBAL, STT_FUNC);
	add(&k, mark, 0x2c, 4, STB_GLOBAL, STT_FUNC);
	open_made(p, &k, false);
}

Test(plan, tail_jump_without_an_entry)
{
	struct plan_of p;

	wanted = (struct plan_want){ .recording.size = SIZE_USABLE };
	open_made_glibc(&p, arm64_glibc, ET_DYN, "gnu_get_libc_version");
	cr_assert_eq(p.plan.n_points, 5);
	cr_assert(at(&p, 0xc, ON_RET_INSN)->return_only);
	cr_assert_eq(at(&p, 0xc, ON_RET_INSN)->func, func(&p, "malloc")->func);
	cr_assert(at(&p, 0x14, ON_ENTRY)->no_args, "the jump is seen");
	cr_assert_eq(at(&p, 0x14, ON_ENTRY)->func, func(&p, "malloc")->func);
	cr_assert_not(at(&p, 0x20, ON_RET_INSN)->return_only, "others come here, too");
	cr_assert_not(at(&p, 0x18, ON_ENTRY)->no_args);
	cr_assert_null(at(&p, 0, ON_ENTRY));
	cr_assert_not_null(at(&p, 0x24, ON_ENTRY));
	close_plan(&p);
}

/* The frame is still there when it jumps: not a call, and the place is the function's as well. */
Test(plan, jump_within_a_frame_keeps_the_entry)
{
	uint32_t code[ARRAY_SIZE(arm64_glibc)];
	struct plan_of p;

	wanted = (struct plan_want){ .recording.size = SIZE_USABLE };
	memcpy(code, arm64_glibc, sizeof(code));
	code[4] = 0xd503201f;	/* nop instead of the ldp */
	code[8] = 0x17fffffa;	/* tail: b 0x8 */
	open_made_glibc(&p, code, ET_DYN, "gnu_get_libc_version");
	cr_assert_not_null(at(&p, 4, ON_ENTRY));
	cr_assert_eq(at(&p, 4, ON_ENTRY)->sp_delta, 16);
	cr_assert_not(at(&p, 0xc, ON_RET_INSN)->return_only);
	cr_assert(func(&p, "malloc")->usable);
	close_plan(&p);
}

/* A program with glibc in it may bring a malloc of its own. */
Test(plan, glibc_in_a_program_must_show_its_malloc)
{
	struct plan_of p;

	wanted = (struct plan_want){ .recording.size = SIZE_USABLE };
	open_made_glibc(&p, arm64_glibc, ET_EXEC, "gnu_get_libc_version");
	cr_assert_not(func(&p, "malloc")->usable);
	cr_assert_not_null(at(&p, 4, ON_ENTRY));
	cr_assert_eq(p.plan.n_requested, 3);
	close_plan(&p);
	open_made_glibc(&p, arm64_glibc, ET_EXEC, "_int_malloc");
	cr_assert(func(&p, "malloc")->usable);
	cr_assert_eq(p.plan.n_requested, 0);
	close_plan(&p);
}

Test(plan, return_with_another_stack_pointer_is_unclear)
{
	static const uint32_t code[] = { 0xd10083ff /* sub sp, sp, #32 */, 0x910043ff /* add sp, sp, #16 */, 0xd65f03c0 /* ret */ };
	struct maker k;
	struct plan_of p;

	make(&k, EM_AARCH64, ET_DYN, code, sizeof(code));
	add(&k, "mi_malloc", 0, sizeof(code), STB_GLOBAL, STT_FUNC);
	open_made(&p, &k, true);
	cr_assert_eq(count(&p, func(&p, "mi_malloc")->func, ON_RETURN), 1, "%s", func(&p, "mi_malloc")->why);
	cr_assert_eq(count(&p, func(&p, "mi_malloc")->func, ON_RET_INSN), 0);
	close_plan(&p);
}
