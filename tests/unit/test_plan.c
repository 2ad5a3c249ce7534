// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Plans for the real allocators of this machine, and for code made up here. */
#include <criterion/criterion.h>
#include <elf.h>
#undef ON_ENTRY			/* the auxiliary vector's */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "probe/insn.h"
#include "probe/plan.h"
#include "util/util.h"

#if defined(__aarch64__)
#define MULTIARCH "aarch64-linux-gnu"
#define MUSL "/lib/ld-musl-aarch64.so.1"
#else
#define MULTIARCH "x86_64-linux-gnu"
#define MUSL "/lib/ld-musl-x86_64.so.1"
#endif

struct plan_of {
	struct objects *objects;
	struct object *obj;
	struct alloc_funcs funcs;
	struct plan plan;
	size_t n_symbols;
};

static bool open_plan(struct plan_of *p, const char *path, bool asked)
{
	*p = (struct plan_of){ .objects = objects__new() };
	if (objects__get_path(p->objects, path, &p->obj, NULL)) {
		objects__free(p->objects);
		return false;
	}
	cr_assert_eq(alloc_funcs__init(&p->funcs), 0);
	cr_assert_eq(plan__make(p->obj, &p->funcs, asked, &p->plan, &p->n_symbols, NULL), 0);
	return true;
}

static void close_plan(struct plan_of *p)
{
	plan__done(&p->plan);
	alloc_funcs__done(&p->funcs);
	object__put(p->obj);
	objects__free(p->objects);
}

static const struct planned_func *func(const struct plan_of *p, const char *name)
{
	int row = alloc_funcs__find(&p->funcs, name);
	size_t i;

	for (i = 0; i < p->plan.n_funcs; i++)
		if ((int)p->plan.funcs[i].func == row)
			return &p->plan.funcs[i];
	return NULL;
}

static size_t count(const struct plan_of *p, uint32_t row, enum how how)
{
	size_t i, n = 0;

	for (i = 0; i < p->plan.n_points; i++)
		n += p->plan.points[i].func == row && p->plan.points[i].how == how;
	return n;
}

static bool is_return(const struct object *obj, uint64_t offset)
{
	uint8_t b[4];
	uint32_t w;

	cr_assert_eq(object__read_at(obj, offset, b, sizeof(b)), 0);
	if (obj->machine == EM_X86_64)
		return b[0] == 0xc3 || ((b[0] == 0xf3 || b[0] == 0xf2) && b[1] == 0xc3);
	w = b[0] | b[1] << 8 | b[2] << 16 | (uint32_t)b[3] << 24;
	return w == 0xd65f03c0 || w == 0xd65f0bff || w == 0xd65f0fff;
}

/* The function's point of entry: the first instruction, or one shortly behind it. */
static const struct point *entry_of(const struct plan_of *p, uint64_t first)
{
	size_t i;

	for (i = 0; i < p->plan.n_points; i++) {
		const struct point *a = &p->plan.points[i];

		if (a->how == ON_ENTRY && a->offset >= first && a->offset < first + 48)
			return a;
	}
	return NULL;
}

/* The stack pointer between first and the point, by a second and simpler reading of the prologue. */
static uint32_t moved_by_prologue(const struct object *obj, uint64_t first, uint64_t point)
{
	uint32_t below = 0;

	for (; first < point; first += 4) {
		uint8_t b[4];
		uint32_t w;

		cr_assert_eq(object__read_at(obj, first, b, sizeof(b)), 0);
		w = b[0] | b[1] << 8 | b[2] << 16 | (uint32_t)b[3] << 24;
		if ((w & 0xffe003e0) == 0xa9a003e0)		/* stp x, x, [sp, #-n]! */
			below += (128 - (w >> 15 & 127)) * 8;
		if ((w & 0xffc003ff) == 0xd10003ff)		/* sub sp, sp, #n */
			below += w >> 10 & 0xfff;
	}
	return below;
}

static void check_returns(const struct plan_of *p, const struct planned_func *f, const struct point *entry, uint64_t first)
{
	const struct alloc_func *row = &p->funcs.v[f->func];
	size_t n_uret = count(p, f->func, ON_RETURN);

	if (row->role == ROLE_FREE) {
		cr_assert_eq(n_uret + count(p, f->func, ON_RET_INSN), 0);
		return;
	}
	cr_assert_leq(n_uret, 1);
	if (n_uret) {
		/* a uretprobe must be there before the return address is put away */
		cr_assert_not(row->flags & FUNC_THROWS, "%s may throw", row->name);
		cr_assert_eq(entry->offset, first, "%s", row->name);
		cr_assert_eq(count(p, f->func, ON_RET_INSN), 0, "%s", row->name);
	} else if (f->no_return) {
		cr_assert(row->flags & FUNC_THROWS, "%s", row->name);
	}
}

/* What holds of every plan. */
static void check(const struct plan_of *p)
{
	size_t i, j;

	for (i = 0; i < p->plan.n_funcs; i++) {
		const struct planned_func *f = &p->plan.funcs[i];
		const struct point *entry;
		uint64_t first;

		cr_assert_neq(f->why[0], 0);
		cr_assert_gt(f->size, 0);
		cr_assert(object__vaddr_to_offset(p->obj, f->vaddr, &first));
		entry = entry_of(p, first);
		cr_assert_not_null(entry, "%s has its entry", p->funcs.v[f->func].name);
		if (p->obj->machine == EM_AARCH64)
			cr_assert_eq(entry->sp_delta, moved_by_prologue(p->obj, first, entry->offset), "%s",
				     p->funcs.v[f->func].name);
		else
			cr_assert_eq(entry->offset, first);
		check_returns(p, f, entry, first);
		for (j = 0; j < i; j++)
			cr_assert_neq(p->plan.funcs[j].vaddr, f->vaddr);
	}
	for (i = 0; i < p->plan.n_points; i++) {
		const struct point *a = &p->plan.points[i];

		if (a->how != ON_ENTRY)
			cr_assert_eq(a->sp_delta, 0);
		if (a->how == ON_RET_INSN)
			cr_assert(is_return(p->obj, a->offset), "%#lx is a return", (unsigned long)a->offset);
		for (j = 0; j < i; j++)
			cr_assert_not(p->plan.points[j].offset == a->offset && p->plan.points[j].how == a->how);
	}
}

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

/* ---- an ELF file made here: one segment, a symbol table, given code */

#define CODE_AT 0x1000
#define BASE 0x400000

struct made {
	struct {
		Elf64_Ehdr eh;
		Elf64_Phdr ph;
		Elf64_Shdr sh[3];
		Elf64_Sym syms[16];
		char strings[512];
	};
};
_Static_assert(sizeof(struct made) < CODE_AT, "headers before the code");

struct maker {
	uint8_t file[CODE_AT + 4096];
	size_t n_syms, strings_len;
};

static void make(struct maker *k, uint16_t machine, uint16_t type, const void *code, size_t len)
{
	struct made *m = (struct made *)k->file;

	memset(k, 0, sizeof(*k));
	memcpy(m->eh.e_ident, ELFMAG, SELFMAG);
	m->eh.e_ident[EI_CLASS] = ELFCLASS64;
	m->eh.e_ident[EI_DATA] = ELFDATA2LSB;
	m->eh.e_type = type;
	m->eh.e_machine = machine;
	m->eh.e_phoff = offsetof(struct made, ph);
	m->eh.e_phentsize = sizeof(m->ph);
	m->eh.e_phnum = 1;
	m->eh.e_shoff = offsetof(struct made, sh);
	m->eh.e_shentsize = sizeof(m->sh[0]);
	m->eh.e_shnum = 3;
	m->ph = (Elf64_Phdr){ .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_offset = CODE_AT, .p_vaddr = BASE,
			      .p_filesz = len, .p_memsz = len };
	m->sh[1] = (Elf64_Shdr){ .sh_type = SHT_SYMTAB, .sh_link = 2, .sh_entsize = sizeof(Elf64_Sym),
				 .sh_offset = offsetof(struct made, syms), .sh_size = sizeof(m->syms) };
	m->sh[2] = (Elf64_Shdr){ .sh_type = SHT_STRTAB, .sh_offset = offsetof(struct made, strings),
				 .sh_size = sizeof(m->strings) };
	cr_assert_leq(len, 4096);
	memcpy(k->file + CODE_AT, code, len);
	k->n_syms = k->strings_len = 1;
}

static void add(struct maker *k, const char *name, uint64_t at, uint64_t size, unsigned int bind, unsigned int type)
{
	struct made *m = (struct made *)k->file;

	m->syms[k->n_syms++] = (Elf64_Sym){ .st_name = k->strings_len, .st_info = ELF64_ST_INFO(bind, type), .st_shndx = 1,
					    .st_value = BASE + at, .st_size = size };
	strcpy(m->strings + k->strings_len, name);
	k->strings_len += strlen(name) + 1;
}

static void open_made(struct plan_of *p, const struct maker *k, bool asked)
{
	int fd = memfd_create("mt-plan", MFD_CLOEXEC);
	_cleanup_free_ char *path = NULL;

	cr_assert_eq(write(fd, k->file, sizeof(k->file)), (ssize_t)sizeof(k->file));
	cr_assert_geq(asprintf(&path, "/proc/self/fd/%d", fd), 0);
	cr_assert(open_plan(p, path, asked));
	close(fd);
}

static const uint32_t arm64_new[] = {
	0xb4000060,	/*  0: cbz x0, 0xc */
	0x94000005,	/*  4: bl 0x18 */
	0xd65f03c0,	/*  8: ret */
	0x14000003,	/*  c: b 0x18, the tail */
	0xd503201f,	/* 10: nop */
	0xd503201f,	/* 14: nop */
	0xd65f0bff,	/* 18: retaa */
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

static enum flow flow(uint16_t machine, uint64_t vaddr, const void *code, size_t len, uint64_t *ret_target)
{
	struct decoder *d = decoder__new(machine);
	struct insn i;

	cr_assert_not_null(d);
	i = decoder__at(d, code, len, vaddr);
	decoder__free(d);
	*ret_target = i.target;
	return i.flow;
}

Test(insn, arm64)
{
	static const struct {
		uint32_t word;
		enum flow flow;
		uint64_t target;
	} cases[] = {
		{ 0x17ffffff, FLOW_JUMP, 0xffc },	/* b .-4 */
		{ 0x94000002, FLOW_CALL, 0x1008 },	/* bl .+8 */
		{ 0x54ffffe0, FLOW_BRANCH, 0xffc },	/* b.eq .-4 */
		{ 0xb5000040, FLOW_BRANCH, 0x1008 },	/* cbnz x0, .+8 */
		{ 0x37000040, FLOW_BRANCH, 0x1008 },	/* tbnz w0, #0, .+8 */
		{ 0xd63f0000, FLOW_CALL, 0 },		/* blr x0 */
		{ 0xd73f0801, FLOW_CALL, 0 },		/* blraa x0, x1 */
		{ 0xd61f0000, FLOW_INDIRECT, 0 },	/* br x0 */
		{ 0xd65f03c0, FLOW_RETURN, 0 },		/* ret */
		{ 0xd65f0fff, FLOW_RETURN, 0 },		/* retab */
		{ 0xd65f0220, FLOW_INDIRECT, 0 },	/* ret x17 */
		{ 0xd503233f, FLOW_NEXT, 0 },		/* paciasp */
		{ 0xd503201f, FLOW_NOP, 0 },		/* nop */
		{ 0xd4000001, FLOW_NEXT, 0 },		/* svc #0 */
		{ 0xd4200000, FLOW_STOP, 0 },		/* brk #0 */
		{ 0x00000000, FLOW_STOP, 0 },		/* udf #0 */
		{ 0xa9be7bfd, FLOW_NEXT, 0 },		/* stp x29, x30, [sp, #-32]! */
		{ 0xd69f03e0, FLOW_INDIRECT, 0 },	/* eret */
		{ 0x02345678, FLOW_BAD, 0 },
	};
	uint64_t target;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		cr_assert_eq(flow(EM_AARCH64, 0x1000, &cases[i].word, 4, &target), cases[i].flow, "%#x", cases[i].word);
		cr_assert_eq(target, cases[i].target, "%#x", cases[i].word);
	}
	cr_assert_eq(flow(EM_AARCH64, 0x1000, &cases[0].word, 3, &target), FLOW_BAD);
}

Test(insn, plt_entries)
{
	/* at 0xc9a0: adrp x16, 0x37000; ldr x17, [x16, #168]; add x16, x16, #0xa8; br x17 */
	static const uint32_t arm64[] = { 0xf0000150, 0xf9405611, 0x9102a210, 0xd61f0220 };
	static const uint8_t x86[] = { 0xff, 0x25, 0x10, 0x00, 0x00, 0x00 };	/* jmp *0x10(%rip) */
	uint64_t slot;

	cr_assert_eq(flow(EM_AARCH64, 0xc9a0, arm64, sizeof(arm64), &slot), FLOW_SLOT);
	cr_assert_eq(slot, 0x370a8);
	cr_assert_eq(flow(EM_X86_64, 0x1000, x86, sizeof(x86), &slot), FLOW_SLOT);
	cr_assert_eq(slot, 0x1016);
}

Test(insn, no_decoder)
{
	cr_assert_null(decoder__new(EM_RISCV));
}
