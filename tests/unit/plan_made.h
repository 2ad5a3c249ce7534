/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Plans opened for a test, of a file that is there or of an ELF file made up on the spot. */
#ifndef TEST_PLAN_MADE_H
#define TEST_PLAN_MADE_H

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

static struct plan_want wanted __attribute__((unused));	/* of the next plan */

static inline bool open_plan(struct plan_of *p, const char *path, bool asked)
{
	*p = (struct plan_of){ .objects = objects__new() };
	if (objects__get_path(p->objects, path, &p->obj, NULL)) {
		objects__free(p->objects);
		return false;
	}
	alloc_funcs__init(&p->funcs);
	if (wanted.recording.mmap)
		alloc_funcs__add_maps(&p->funcs, false);
	plan__make(p->obj, &p->funcs, &wanted, asked, &p->plan, &p->n_symbols);
	return true;
}

static inline void close_plan(struct plan_of *p)
{
	plan__done(&p->plan);
	alloc_funcs__done(&p->funcs);
	object__put(p->obj);
	objects__free(p->objects);
}

static inline const struct planned_func *func(const struct plan_of *p, const char *name)
{
	int row = alloc_funcs__find(&p->funcs, name);
	size_t i;

	for (i = 0; i < p->plan.n_funcs; i++)
		if ((int)p->plan.funcs[i].func == row)
			return &p->plan.funcs[i];
	return NULL;
}

static inline size_t count(const struct plan_of *p, uint32_t row, enum how how)
{
	size_t i, n = 0;

	for (i = 0; i < p->plan.n_points; i++)
		n += p->plan.points[i].func == row && p->plan.points[i].how == how;
	return n;
}

static inline bool is_return(const struct object *obj, uint64_t offset)
{
	uint8_t b[4];
	uint32_t w;

	cr_assert_eq(object__read_at(obj, offset, b, sizeof(b)), 0);
	if (obj->machine == EM_X86_64)
		return b[0] == 0xc3 || ((b[0] == 0xf3 || b[0] == 0xf2) && b[1] == 0xc3);
	w = b[0] | b[1] << 8 | b[2] << 16 | (uint32_t)b[3] << 24;
	return w == 0xd65f03c0;
}

/* The function's point of entry: the first instruction, or one shortly behind it. */
static inline const struct point *entry_of(const struct plan_of *p, uint64_t first)
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
static inline uint32_t moved_by_prologue(const struct object *obj, uint64_t first, uint64_t point)
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

static inline void check_returns(const struct plan_of *p, const struct planned_func *f, const struct point *entry, uint64_t first)
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
		for (size_t i = 0; i < p->plan.n_points; i++)
			if (p->plan.points[i].func == f->func && p->plan.points[i].how == ON_RETURN)
				cr_assert_eq(p->plan.points[i].offset, entry->offset, "%s", row->name);
		if (p->obj->machine == EM_AARCH64)
			cr_assert_eq(entry->offset, first, "%s", row->name);
		cr_assert_eq(count(p, f->func, ON_RET_INSN), 0, "%s", row->name);
	} else if (f->no_return) {
		cr_assert(row->flags & FUNC_THROWS, "%s", row->name);
	}
}

/* What malloctrace finds at the points of a plan, whoever has made it. */
static inline unsigned int verified(const struct plan_of *p, const struct point *pt)
{
	struct verified_point v = { .offset = pt->offset, .name = p->funcs.v[pt->func].name };

	verify__points(p->obj, &v, 1);
	return v.is;
}

/* What holds of every plan. */
static inline void check(const struct plan_of *p)
{
	size_t i, j;

	for (i = 0; i < p->plan.n_points; i++) {
		const struct point *pt = &p->plan.points[i];

		cr_assert(verified(p, pt) & (pt->how == ON_RET_INSN ? POINT_RETURN : pt->no_args ? POINT_JUMP : POINT_START | POINT_PROLOGUE) &&
			  (pt->how != ON_RETURN || (verified(p, pt) & POINT_NAMED && verified(p, pt) & POINT_QUIET)),
			  "%s: %#llx of %s", p->obj->path, (unsigned long long)pt->offset, p->funcs.v[pt->func].name);
	}

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
			cr_assert_eq(entry->sp_delta, 0, "%s", p->funcs.v[f->func].name);
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

static inline void make(struct maker *k, uint16_t machine, uint16_t type, const void *code, size_t len)
{
	struct made *m = (struct made *)k->file;

	memset(k, 0, sizeof(*k));
	memcpy(m->eh.e_ident, ELFMAG, SELFMAG);
	m->eh.e_ident[EI_CLASS] = ELFCLASS64;
	m->eh.e_ident[EI_DATA] = ELFDATA2LSB;
	m->eh.e_ident[EI_VERSION] = EV_CURRENT;
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

static inline void add(struct maker *k, const char *name, uint64_t at, uint64_t size, unsigned int bind, unsigned int type)
{
	struct made *m = (struct made *)k->file;

	m->syms[k->n_syms++] = (Elf64_Sym){ .st_name = k->strings_len, .st_info = ELF64_ST_INFO(bind, type), .st_shndx = 1,
					    .st_value = BASE + at, .st_size = size };
	strcpy(m->strings + k->strings_len, name);
	k->strings_len += strlen(name) + 1;
}

static inline void open_made(struct plan_of *p, const struct maker *k, bool asked)
{
	int fd = memfd_create("mt-plan", MFD_CLOEXEC);
	_cleanup_free_ char *path = NULL;

	cr_assert_eq(write(fd, k->file, sizeof(k->file)), (ssize_t)sizeof(k->file));
	cr_assert_geq(asprintf(&path, "/proc/self/fd/%d", fd), 0);
	cr_assert(open_plan(p, path, asked));
	close(fd);
}

#endif
