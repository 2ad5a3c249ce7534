// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Plans for the real allocators of this machine, and for code made up here. */
#include "plan_made.h"

static void check_library(const char *path, const char *family, const char *const *names)
{
	struct plan_of p;

	if (!open_plan(&p, path, false))
		cr_skip_test("%s is not there", path);
	cr_assert_str_eq(p.plan.family, family);
	cr_assert_gt(p.n_symbols, p.plan.n_funcs);
	for (; *names; names++)
		cr_assert_not_null(func(&p, *names), "%s", *names);
	cr_assert_eq(func(&p, "malloc")->no_return, false);
	check(&p);
	close_plan(&p);
}

#define CHECK_LIBRARY(path, family, ...) check_library(path, family, (const char *const[]){ __VA_ARGS__, NULL })

Test(plan, glibc)
{
	CHECK_LIBRARY("/lib/" MULTIARCH "/libc.so.6", "glibc", "malloc", "free", "calloc", "realloc", "posix_memalign",
		      "aligned_alloc", "valloc", "pvalloc", "reallocarray");
}

Test(plan, jemalloc)
{
	CHECK_LIBRARY("/usr/lib/" MULTIARCH "/libjemalloc.so.2", "jemalloc", "malloc", "free", "mallocx", "rallocx",
		      "xallocx", "sdallocx", "_Znwm", "_ZdlPv");
}

Test(plan, tcmalloc)
{
	CHECK_LIBRARY("/usr/lib/" MULTIARCH "/libtcmalloc_minimal.so.4", "tcmalloc", "malloc", "free", "_Znwm",
		      "_ZnwmSt11align_val_t");
}

Test(plan, mimalloc)
{
	CHECK_LIBRARY("/usr/lib/" MULTIARCH "/libmimalloc.so.2.0", "mimalloc", "malloc", "free", "mi_heap_malloc",
		      "_Znwm", "mi_new_n", "mi_heap_strdup");
}

Test(plan, musl)
{
	CHECK_LIBRARY(MUSL, "musl", "malloc", "free", "calloc", "realloc", "posix_memalign");
}

/* Their operator new is the malloc of C++ programs: to lose its returns is to lose the trace. */
Test(plan, operator_new_has_its_returns)
{
	static const char *const paths[] = { "/usr/lib/" MULTIARCH "/libjemalloc.so.2",
					     "/usr/lib/" MULTIARCH "/libtcmalloc_minimal.so.4",
					     "/usr/lib/" MULTIARCH "/libmimalloc.so.2.0" };
	size_t i, n = 0;

	for (i = 0; i < ARRAY_SIZE(paths); i++) {
		struct plan_of p;

		if (!open_plan(&p, paths[i], false))
			continue;
		cr_assert_not(func(&p, "_Znwm")->no_return, "%s: %s", paths[i], func(&p, "_Znwm")->why);
		cr_assert_geq(count(&p, alloc_funcs__find(&p.funcs, "_Znwm"), ON_RET_INSN), 1);
		close_plan(&p);
		n++;
	}
	if (!n)
		cr_skip_test("none of the libraries is there");
}

/* libstdc++ has operator new but no malloc: probed only if asked for. */
Test(plan, asked)
{
	struct plan_of p;

	if (!open_plan(&p, "/usr/lib/" MULTIARCH "/libstdc++.so.6", false))
		cr_skip_test("libstdc++.so.6 is not there");
	cr_assert_eq(p.plan.n_funcs, 0);
	cr_assert_eq(p.plan.n_points, 0);
	close_plan(&p);
	cr_assert(open_plan(&p, "/usr/lib/" MULTIARCH "/libstdc++.so.6", true));
	cr_assert_not_null(func(&p, "_Znwm"));
	check(&p);
	close_plan(&p);
}

Test(plan, loader_is_no_allocator)
{
	struct plan_of p;

#if defined(__aarch64__)
	if (!open_plan(&p, "/lib/ld-linux-aarch64.so.1", false))
#else
	if (!open_plan(&p, "/lib64/ld-linux-x86-64.so.2", false))
#endif
		cr_skip_test("no glibc loader");
	cr_assert_eq(p.plan.n_funcs, 0);
	close_plan(&p);
}

static const uint32_t arm64_new[] = {
	0xb4000060,	/*  0: cbz x0, 0xc */
	0x94000005,	/*  4: bl 0x18 */
	0xd65f03c0,	/*  8: ret */
	0x14000003,	/*  c: b 0x18, the tail */
	0xd503201f,	/* 10: nop */
	0xd503201f,	/* 14: nop */
	0xd65f03c0,	/* 18: ret */
	0xd65f03c0,	/* 1c: ret, another function's */
	0xd61f0200,	/* 20: br x16 */
};

Test(plan, arm64_tail_jump_is_followed)
{
	struct maker k;
	struct plan_of p;

	make(&k, EM_AARCH64, ET_DYN, arm64_new, sizeof(arm64_new));
	add(&k, "_Znwm", 0, 0x10, STB_GLOBAL, STT_FUNC);
	add(&k, "tail", 0x18, 4, STB_LOCAL, STT_FUNC);
	add(&k, "other", 0x1c, 4, STB_LOCAL, STT_FUNC);
	open_made(&p, &k, true);
	cr_assert_eq(p.plan.n_funcs, 1);
	cr_assert_eq(p.plan.n_points, 3);
	cr_assert_eq(p.plan.points[0].offset, CODE_AT);
	cr_assert_eq(p.plan.points[0].how, ON_ENTRY);
	cr_assert_eq(p.plan.points[1].offset + p.plan.points[2].offset, 2 * CODE_AT + 0x8 + 0x18);
	check(&p);
	close_plan(&p);
}

Test(plan, indirect_jump_is_unclear)
{
	struct maker k;
	struct plan_of p;

	make(&k, EM_AARCH64, ET_DYN, arm64_new, sizeof(arm64_new));
	add(&k, "_Znwm", 0x20, 4, STB_GLOBAL, STT_FUNC);
	open_made(&p, &k, true);
	cr_assert(p.plan.funcs[0].no_return);
	cr_assert_eq(p.plan.n_points, 1);
	cr_assert_eq(p.plan.points[0].how, ON_ENTRY);
	close_plan(&p);
}

/* The kernel refuses a breakpoint on retaa: the whole file would stay unprobed. */
Test(plan, signed_return_is_unclear)
{
	static const uint32_t code[] = { 0xd503233f /* paciasp */, 0xd65f0bff /* retaa */ };
	struct maker k;
	struct plan_of p;

	make(&k, EM_AARCH64, ET_DYN, code, sizeof(code));
	add(&k, "mi_malloc", 0, sizeof(code), STB_GLOBAL, STT_FUNC);
	open_made(&p, &k, true);
	cr_assert_eq(p.plan.n_points, 2);
	cr_assert_eq(count(&p, func(&p, "mi_malloc")->func, ON_RETURN), 1, "%s", func(&p, "mi_malloc")->why);
	check(&p);
	close_plan(&p);
}

/* x86_64 code, whatever the host */
Test(plan, x86_64)
{
	static const uint8_t code[] = {
		0xf3, 0x0f, 0x1e, 0xfa,		/*  0: endbr64 */
		0x48, 0x85, 0xff,		/*  4: test %rdi,%rdi */
		0x74, 0x03,			/*  7: je 0xc */
		0xf3, 0xc3,			/*  9: rep ret */
		0x90,				/*  b: nop */
		0xeb, 0x02,			/*  c: jmp 0x10 */
		0x06, 0x06,			/*  e: no instruction */
		0x50,				/* 10: push %rax */
		0x58,				/* 11: pop %rax */
		0xc3,				/* 12: ret */
		0xc2, 0x08, 0x00,		/* 13: ret $8 */
		0xff, 0xe0,			/* 16: jmp *%rax */
		0xe8, 0xe3, 0xff, 0xff, 0xff,	/* 18: call 0 */
	};
	struct maker k;
	struct plan_of p;

	make(&k, EM_X86_64, ET_DYN, code, sizeof(code));
	add(&k, "_Znwm", 0, 0xe, STB_GLOBAL, STT_FUNC);
	add(&k, "tail", 0x10, 3, STB_GLOBAL, STT_FUNC);
	add(&k, "_Znam", 0x13, 3, STB_GLOBAL, STT_FUNC);
	add(&k, "_ZnwmSt11align_val_t", 0x16, 2, STB_GLOBAL, STT_FUNC);
	add(&k, "_ZnamSt11align_val_t", 0x18, 5, STB_GLOBAL, STT_FUNC);
	add(&k, "mi_new", 0xe, 2, STB_GLOBAL, STT_FUNC);
	open_made(&p, &k, true);
	cr_assert_not(func(&p, "_Znwm")->no_return, "%s", func(&p, "_Znwm")->why);
	cr_assert_eq(count(&p, func(&p, "_Znwm")->func, ON_RET_INSN), 2);
	cr_assert(func(&p, "_Znam")->no_return, "ret imm");
	cr_assert(func(&p, "_ZnwmSt11align_val_t")->no_return, "jmp *reg");
	cr_assert(func(&p, "_ZnamSt11align_val_t")->no_return, "it never returns");
	cr_assert(func(&p, "mi_new")->no_return, "no code");
	check(&p);
	close_plan(&p);
}

/* Which instruction of x86_64 code is the point of entry; at is where, -1: nowhere but the first. */
Test(plan, x86_64_entry)
{
	static const struct {
		uint8_t code[24];
		int at;
	} cases[] = {
		{ { 0xf3, 0x0f, 0x1e, 0xfa, 0x55, 0x5d, 0xc3 }, 4 },			/* endbr64; push %rbp */
		{ { 0x41, 0x57, 0x41, 0x5f, 0xc3 }, 0 },				/* push %r15 */
		{ { 0x48, 0x85, 0xff, 0x0f, 0x84, 0, 0, 0, 0, 0xc3 }, 3 },		/* test %rdi,%rdi; je */
		{ { 0x80, 0x3d, 0, 0, 0, 0, 0, 0x53, 0x5b, 0xc3 }, 7 },		/* cmpb $0,(%rip); push %rbx */
		{ { 0x48, 0x89, 0xf8, 0x53, 0x5b, 0xc3 }, 3 },				/* mov %rdi,%rax; push %rbx */
		{ { 0x48, 0x89, 0xf7, 0x53, 0x5b, 0xc3 }, -1 },				/* mov %rsi,%rdi: an argument is gone */
		{ { 0x89, 0xf7, 0x53, 0x5b, 0xc3 }, -1 },				/* mov %esi,%edi: of it a half, but all of it */
		{ { 0x40, 0xb7, 0x01, 0x53, 0x5b, 0xc3 }, -1 },				/* mov $1,%dil */
		{ { 0x48, 0x83, 0xec, 0x08, 0x74, 0x00, 0x48, 0x83, 0xc4, 0x08, 0xc3 }, -1 },	/* sub $8,%rsp; je */
		{ { 0x48, 0x89, 0x3c, 0x24, 0x74, 0x00, 0xc3 }, -1 },			/* mov %rdi,(%rsp): the return address */
		{ { 0x48, 0x89, 0xe0, 0x53, 0x5b, 0xc3 }, 3 },				/* mov %rsp,%rax */
		{ { 0x48, 0x89, 0xc4, 0x53, 0x5b, 0xc3 }, -1 },				/* mov %rax,%rsp */
		{ { 0xff, 0xf3, 0x5b, 0xc3 }, -1 },					/* push %rbx, the long way: not emulated */
		{ { 0x48, 0x53, 0x5b, 0xc3 }, -1 },					/* rex.w push %rbx: not emulated */
		{ { 0x66, 0x90, 0x53, 0x5b, 0xc3 }, 2 },				/* a long nop; push %rbx */
		{ { 0x66, 0x74, 0x00, 0x53, 0x5b, 0xc3 }, -1 },				/* 66 je: the kernel refuses it */
		{ { 0x48, 0x89, 0xf8, 0x53, 0x5b, 0xeb, 0xfc, 0xc3 }, -1 },		/* mov; push; pop; jmp to the push */
		{ { 0xc3 }, -1 },							/* ret */
	};
	struct maker k;
	struct plan_of p;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		make(&k, EM_X86_64, ET_DYN, cases[i].code, sizeof(cases[i].code));
		add(&k, "free", 0, sizeof(cases[i].code), STB_GLOBAL, STT_FUNC);
		open_made(&p, &k, true);
		cr_assert_eq(p.plan.n_points, 1);
		cr_assert_eq(p.plan.points[0].offset - CODE_AT, (uint64_t)MAX(cases[i].at, 0), "case %zu: %s", i, p.plan.funcs[0].why);
		cr_assert_eq(!strncmp(p.plan.funcs[0].why, "first", 5), cases[i].at < 0, "case %zu: %s", i, p.plan.funcs[0].why);
		close_plan(&p);
	}
}

Test(plan, one_address_one_function)
{
	struct maker k;
	struct plan_of p;

	make(&k, EM_AARCH64, ET_DYN, arm64_new, sizeof(arm64_new));
	add(&k, "tc_malloc", 0, 0x10, STB_GLOBAL, STT_FUNC);
	add(&k, "malloc@@V1", 0, 0x10, STB_GLOBAL, STT_FUNC);
	add(&k, "_Znwm", 0, 0x10, STB_GLOBAL, STT_FUNC);
	add(&k, "free", 0x1c, 4, STB_GLOBAL, STT_FUNC);
	open_made(&p, &k, false);
	cr_assert_eq(p.plan.n_funcs, 2);
	cr_assert_not_null(func(&p, "malloc"));
	cr_assert_eq(count(&p, func(&p, "malloc")->func, ON_RETURN), 0, "under one of its names it throws");
	close_plan(&p);
}

Test(plan, what_is_an_allocator)
{
	static const struct {
		const char *alloc, *release;
		unsigned int bind, type;
		uint16_t elf_type;
		size_t n_funcs;
	} cases[] = {
		{ "malloc", "free", STB_GLOBAL, STT_FUNC, ET_DYN, 2 },
		{ "malloc", "free", STB_WEAK, STT_FUNC, ET_DYN, 2 },
		{ "malloc", "release", STB_GLOBAL, STT_FUNC, ET_DYN, 0 },
		{ "calloc", "free", STB_GLOBAL, STT_FUNC, ET_DYN, 0 },
		{ "mallocx", "dallocx", STB_GLOBAL, STT_FUNC, ET_DYN, 2 },
		{ "malloc", "free", STB_LOCAL, STT_FUNC, ET_DYN, 0 },
		{ "malloc", "free", STB_LOCAL, STT_FUNC, ET_EXEC, 2 },
		{ "malloc", "free", STB_GLOBAL, STT_OBJECT, ET_DYN, 0 },
		{ "malloc", "free", STB_GLOBAL, STT_GNU_IFUNC, ET_DYN, 0 },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct maker k;
		struct plan_of p;

		make(&k, EM_AARCH64, cases[i].elf_type, arm64_new, sizeof(arm64_new));
		add(&k, cases[i].alloc, 0, 0x10, cases[i].bind, cases[i].type);
		add(&k, cases[i].release, 0x1c, 4, cases[i].bind, cases[i].type);
		open_made(&p, &k, false);
		cr_assert_eq(p.plan.n_funcs, cases[i].n_funcs, "case %zu: %zu", i, p.plan.n_funcs);
		close_plan(&p);
	}
}

Test(plan, two_local_functions_of_one_name_are_doubtful)
{
	struct maker k;
	struct plan_of p;

	make(&k, EM_AARCH64, ET_EXEC, arm64_new, sizeof(arm64_new));
	add(&k, "malloc", 0, 0x10, STB_GLOBAL, STT_FUNC);
	add(&k, "free", 0x8, 4, STB_LOCAL, STT_FUNC);
	add(&k, "free", 0x18, 4, STB_LOCAL, STT_FUNC);
	add(&k, "cfree", 0x1c, 4, STB_GLOBAL, STT_FUNC);
	open_made(&p, &k, false);
	cr_assert_null(func(&p, "free"));
	cr_assert_not_null(func(&p, "cfree"));
	close_plan(&p);
}

Test(plan, size_from_the_next_symbol)
{
	struct maker k;
	struct plan_of p;

	make(&k, EM_AARCH64, ET_DYN, arm64_new, sizeof(arm64_new));
	add(&k, "_Znwm", 0, 0, STB_GLOBAL, STT_FUNC);
	add(&k, "tail", 0x18, 4, STB_GLOBAL, STT_FUNC);
	open_made(&p, &k, true);
	cr_assert_eq(func(&p, "_Znwm")->size, 0x18);
	cr_assert_not(func(&p, "_Znwm")->no_return);
	close_plan(&p);
}
