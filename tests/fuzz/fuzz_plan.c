// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Code of a file that another process maps is read before it is probed: every point that comes of it lies on code of the file,
 * and no two are the same. The first byte says what the rest is:
 *
 *   bit 0   x86_64 instead of arm64
 *   bit 1   a whole file; else code, in a file made around it, in which malloc and free begin
 *   bit 2   instructions alone
 */
#include <elf.h>
#undef ON_ENTRY			/* the auxiliary vector's */

#include "probe/insn.h"
#include "probe/plan.h"
#include "fuzz.h"

enum { X86 = 1, WHOLE = 2, INSNS = 4 };

#define CODE_AT 0x1000
#define BASE 0x400000

struct made {
	Elf64_Ehdr eh;
	Elf64_Phdr ph;
	Elf64_Shdr sh[3];
	Elf64_Sym syms[4];
	char strings[32];
};

static uint8_t *wrap(uint16_t machine, const uint8_t *code, size_t len, size_t *ret_len)
{
	static const char strings[] = "\0malloc\0free\0calloc";
	static const uint8_t at[] = { 0, 1, 8, 13 };
	struct made *m = calloc(1, CODE_AT + len);

	if (!m)
		abort();
	memcpy(m->eh.e_ident, ELFMAG, SELFMAG);
	m->eh.e_ident[EI_CLASS] = ELFCLASS64;
	m->eh.e_ident[EI_DATA] = ELFDATA2LSB;
	m->eh.e_ident[EI_VERSION] = m->eh.e_version = EV_CURRENT;
	m->eh.e_type = ET_DYN;
	m->eh.e_machine = machine;
	m->eh.e_phoff = offsetof(struct made, ph);
	m->eh.e_phentsize = sizeof(m->ph);
	m->eh.e_phnum = 1;
	m->eh.e_shoff = offsetof(struct made, sh);
	m->eh.e_shentsize = sizeof(m->sh[0]);
	m->eh.e_shnum = ARRAY_SIZE(m->sh);
	m->ph = (Elf64_Phdr){ .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_offset = CODE_AT, .p_vaddr = BASE, .p_filesz = len, .p_memsz = len };
	m->sh[1] = (Elf64_Shdr){ .sh_type = SHT_SYMTAB, .sh_link = 2, .sh_entsize = sizeof(Elf64_Sym),
				 .sh_offset = offsetof(struct made, syms), .sh_size = sizeof(m->syms) };
	m->sh[2] = (Elf64_Shdr){ .sh_type = SHT_STRTAB, .sh_offset = offsetof(struct made, strings), .sh_size = sizeof(strings) };
	for (size_t i = 1; i < ARRAY_SIZE(m->syms); i++)
		m->syms[i] = (Elf64_Sym){ .st_name = at[i], .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), .st_shndx = 1,
					  .st_value = BASE + ((i - 1) * len / 3 & ~3ull), .st_size = len / 3 };
	memcpy(m->strings, strings, sizeof(strings));
	memcpy((char *)m + CODE_AT, code, len);
	*ret_len = CODE_AT + len;
	return (uint8_t *)m;
}

static void check(const struct plan *p)
{
	for (size_t i = 0; i < p->n_points; i++) {
		uint64_t vaddr;
		uint8_t byte;

		if (!object__offset_to_vaddr(p->object, p->points[i].offset, &vaddr) || object__read_code(p->object, vaddr, &byte, 1))
			abort();
		for (size_t k = 0; k < i; k++)
			if (p->points[k].offset == p->points[i].offset && p->points[k].how == p->points[i].how)
				abort();
	}
}

static void try_file(const uint8_t *data, size_t len)
{
	struct objects *objects = objects__new();
	struct alloc_funcs funcs;
	struct plan plan = {};
	struct object *obj;
	size_t n;

	alloc_funcs__init(&funcs);
	if (!objects__get_image(objects, "/seed", data, len, &obj, NULL)) {
		plan__make(obj, &funcs, NULL, true, &plan, &n);
		check(&plan);
		plan__done(&plan);
		object__put(obj);
	}
	alloc_funcs__done(&funcs);
	objects__free(objects);
}

static void try_insns(uint16_t machine, const uint8_t *code, size_t len)
{
	struct decoder *d = decoder__new(machine);

	for (size_t at = 0; at < len;) {
		struct insn i = decoder__at(d, code + at, len - at, BASE + at);

		if (i.flow != FLOW_BAD && (!i.len || i.len > len - at))
			abort();
		at += i.flow != FLOW_BAD ? i.len : machine == EM_AARCH64 ? 4 : 1;
	}
	decoder__free(d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	_cleanup_free_ uint8_t *made = NULL;
	uint16_t machine;
	uint8_t how;

	if (len < 2)
		return 0;
	how = *data++;
	len--;
	machine = how & X86 ? EM_X86_64 : EM_AARCH64;
	if (how & INSNS) {
		try_insns(machine, data, len);
		return 0;
	}
	if (!(how & WHOLE))
		data = made = wrap(machine, data, len, &len);
	try_file(data, len);
	return 0;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	/* stp x29, x30, [sp, #-16]!; mov x29, sp; cbz x0, .+8; bl .+8; ldp x29, x30, [sp], #16; ret */
	static const uint32_t arm64[] = { 0xa9bf7bfd, 0x910003fd, 0xb4000040, 0x94000002, 0xa8c17bfd, 0xd65f03c0 };
	/* push %rbp; mov %rsp, %rbp; test %rdi, %rdi; je .+5; call .+5; pop %rbp; ret; jmp .-8 */
	static const uint8_t x86[] = { 0x55, 0x48, 0x89, 0xe5, 0x48, 0x85, 0xff, 0x74, 0x05, 0xe8, 0, 0, 0, 0, 0x5d, 0xc3, 0xeb, 0xf6 };
	uint8_t code[192];
	_cleanup_free_ uint8_t *file = NULL;
	size_t len;

	for (size_t i = 0; i < sizeof(code); i += sizeof(arm64))
		memcpy(code + i, arm64, sizeof(arm64));
	put_seed("arm64", 0, code, sizeof(code));
	put_seed("arm64-insns", INSNS, arm64, sizeof(arm64));
	file = wrap(EM_AARCH64, code, sizeof(code), &len);
	put_seed("arm64-file", WHOLE, file, len);
	put_seed("arm64-file-cut", WHOLE, file, len - sizeof(code) / 2);
	for (size_t i = 0; i + sizeof(x86) <= sizeof(code); i += sizeof(x86))
		memcpy(code + i, x86, sizeof(x86));
	put_seed("x86", X86, code, sizeof(code));
	put_seed("x86-insns", X86 | INSNS, x86, sizeof(x86));
	return 0;
}
