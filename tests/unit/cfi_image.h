/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * The smallest ELF file that has an .eh_frame and code, for tests and fuzzing:
 *
 *   Ehdr, 3 Phdrs | .eh_frame_hdr | .eh_frame | code | .dynsym .dynstr .shstrtab | Shdrs
 *
 * What comes before the code is loaded where it stands in the file, the code
 * at CFI_IMAGE_TEXT.
 */
#ifndef MT_TEST_CFI_IMAGE_H
#define MT_TEST_CFI_IMAGE_H

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "elf/cfi.h"

#define CFI_IMAGE_TEXT 0x100000
#define CFI_IMAGE_EH (sizeof(Elf64_Ehdr) + 3 * sizeof(Elf64_Phdr) + 16)

struct cfi_image {
	uint16_t machine;
	const uint8_t *eh, *code;
	size_t eh_len, code_len;
	bool no_sections;
	uint64_t sigreturn;	/* the address of __kernel_rt_sigreturn in .dynsym; 0: no such symbol */
};

static inline uint8_t *cfi_image__make(const struct cfi_image *im, size_t *ret_len)
{
	static const char names[] = "\0.eh_frame\0.dynsym\0.dynstr\0.shstrtab", dynstr[] = "\0__kernel_rt_sigreturn";
	size_t code_at = CFI_IMAGE_EH + im->eh_len;
	size_t sym_at = code_at + im->code_len, dynstr_at = sym_at + 2 * sizeof(Elf64_Sym);
	size_t names_at = dynstr_at + sizeof(dynstr), sh_at = names_at + sizeof(names);
	uint32_t to_eh = 12;	/* from the field in .eh_frame_hdr to .eh_frame */
	Elf64_Ehdr eh = {
		.e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
		.e_type = ET_DYN,
		.e_machine = im->machine,
		.e_phoff = sizeof(eh),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 3,
		.e_shoff = im->no_sections ? 0 : sh_at,
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = im->no_sections ? 0 : 5,
		.e_shstrndx = im->no_sections ? 0 : 4,
	};
	Elf64_Phdr ph[3] = {
		{ .p_type = PT_LOAD, .p_flags = PF_R, .p_filesz = code_at, .p_memsz = code_at },
		{ .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_offset = code_at, .p_vaddr = CFI_IMAGE_TEXT,
		  .p_filesz = im->code_len, .p_memsz = im->code_len },
		{ .p_type = PT_GNU_EH_FRAME, .p_flags = PF_R, .p_offset = CFI_IMAGE_EH - 16, .p_vaddr = CFI_IMAGE_EH - 16,
		  .p_filesz = 16, .p_memsz = 16 },
	};
	Elf64_Sym sym[2] = { {}, { .st_name = 1, .st_shndx = im->sigreturn ? 1 : SHN_UNDEF, .st_value = im->sigreturn } };
	Elf64_Shdr sh[5] = {
		{},
		{ .sh_name = 1, .sh_type = SHT_PROGBITS, .sh_addr = CFI_IMAGE_EH, .sh_offset = CFI_IMAGE_EH, .sh_size = im->eh_len },
		{ .sh_name = 11, .sh_type = SHT_DYNSYM, .sh_offset = sym_at, .sh_size = sizeof(sym), .sh_link = 3 },
		{ .sh_name = 19, .sh_type = SHT_STRTAB, .sh_offset = dynstr_at, .sh_size = sizeof(dynstr) },
		{ .sh_name = 27, .sh_type = SHT_STRTAB, .sh_offset = names_at, .sh_size = sizeof(names) },
	};
	uint8_t hdr[16] = { 1, 0x1b, 0xff, 0xff };
	uint8_t *f = calloc(1, sh_at + sizeof(sh));

	if (!f)
		abort();
	memcpy(hdr + 4, &to_eh, sizeof(to_eh));
	memcpy(f, &eh, sizeof(eh));
	memcpy(f + sizeof(eh), ph, sizeof(ph));
	memcpy(f + CFI_IMAGE_EH - 16, hdr, sizeof(hdr));
	if (im->eh_len)
		memcpy(f + CFI_IMAGE_EH, im->eh, im->eh_len);
	if (im->code_len)
		memcpy(f + code_at, im->code, im->code_len);
	memcpy(f + sym_at, sym, sizeof(sym));
	memcpy(f + dynstr_at, dynstr, sizeof(dynstr));
	memcpy(f + names_at, names, sizeof(names));
	memcpy(f + sh_at, sh, sizeof(sh));
	*ret_len = sh_at + sizeof(sh);
	return f;
}

/* The rows of a whole file. */
static inline int cfi_image__compile(const void *file, size_t len, bool calls_only, struct cfi *ret, struct err *e)
{
	struct objects *objects = objects__new();
	struct object *obj;
	int r = objects__get_image(objects, "image", file, len, &obj, e);

	if (!r) {
		r = cfi__compile(obj, calls_only, ret, e);
		object__put(obj);
	}
	objects__free(objects);
	return r;
}

/* ---- .eh_frame, byte by byte */

struct cfi_bytes {
	uint8_t v[8192];
	size_t n, record;
};

static inline void put(struct cfi_bytes *b, const void *p, size_t n)
{
	if (n > sizeof(b->v) - b->n)
		abort();
	memcpy(b->v + b->n, p, n);
	b->n += n;
}

#define put_u8(b, ...) put(b, (const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ }))

static inline void put_u32(struct cfi_bytes *b, uint32_t v)
{
	put(b, &v, sizeof(v));
}

static inline void begin_record(struct cfi_bytes *b)
{
	b->record = b->n;
	put_u32(b, 0);
}

static inline void end_record(struct cfi_bytes *b)
{
	uint32_t len = b->n - b->record - 4;

	memcpy(b->v + b->record, &len, sizeof(len));
}

/* Addresses are absolute and have four bytes; the initial instructions follow. */
static inline size_t begin_cie(struct cfi_bytes *b, uint16_t machine, bool signal)
{
	size_t at = b->n;

	begin_record(b);
	put_u32(b, 0);
	put_u8(b, 1, 'z', 'R');
	if (signal)
		put_u8(b, 'S');
	put_u8(b, 0);
	if (machine == EM_AARCH64)
		put_u8(b, 4, 0x78, 30);
	else
		put_u8(b, 1, 0x78, 16);
	put_u8(b, 1, 0x03);
	return at;
}

/* lo: from CFI_IMAGE_TEXT on; the instructions follow. */
static inline void begin_fde(struct cfi_bytes *b, size_t cie_at, uint32_t lo, uint32_t size)
{
	begin_record(b);
	put_u32(b, b->n - cie_at);
	put_u32(b, CFI_IMAGE_TEXT + lo);
	put_u32(b, size);
	put_u8(b, 0);
}

/* A CIE as compilers write it for C. */
static inline size_t put_plain_cie(struct cfi_bytes *b, uint16_t machine)
{
	size_t at = begin_cie(b, machine, false);

	if (machine == EM_AARCH64)
		put_u8(b, 0x0c, 31, 0);
	else
		put_u8(b, 0x0c, 7, 8, 0x80 | 16, 1);
	end_record(b);
	return at;
}

#endif
