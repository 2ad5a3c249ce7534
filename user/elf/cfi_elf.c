// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the copy of a file's .eh_frame, and knows where its code is.
 *
 * What always holds: the file is the target's, and hostile. Every offset is
 * checked by the read itself, which copies all or fails; every count and
 * length is bounded before memory is taken for it. An executable segment does
 * not wrap around.
 */
#include <elf.h>
#include <errno.h>

#include "elf/cfi_parts.h"

#define MAX_PHDRS 4096
#define MAX_NAME_BYTES 65536

int cfi_source__read(const struct cfi_source *s, uint64_t off, void *buf, size_t len)
{
	if (s->obj)
		return object__read_at(s->obj, off, buf, len);
	if (off > s->len || len > s->len - off)
		return -EINVAL;
	memcpy(buf, s->image + off, len);
	return 0;
}

static int no_memory(struct err *e)
{
	return err_set(e, -ENOMEM, "no memory for unwind tables");
}

/* ---- the section by its name */

struct sections {
	Elf64_Shdr *v;		/* owned */
	size_t n;
	char *names;		/* owned; NUL-terminated */
	size_t names_len;
};

static void sections__done(struct sections *s)
{
	free(s->v);
	free(s->names);
}

/* None at all is no error: a file may be stripped of them. */
static int read_sections(const struct cfi_source *src, const Elf64_Ehdr *eh, struct sections *ret)
{
	const Elf64_Shdr *str;

	if (!eh->e_shnum || eh->e_shentsize != sizeof(Elf64_Shdr) || eh->e_shstrndx >= eh->e_shnum)
		return 0;
	ret->v = calloc(eh->e_shnum, sizeof(*ret->v));
	if (!ret->v)
		return -ENOMEM;
	if (cfi_source__read(src, eh->e_shoff, ret->v, eh->e_shnum * sizeof(*ret->v)))
		return 0;
	str = &ret->v[eh->e_shstrndx];
	ret->names_len = MIN(str->sh_size, (uint64_t)MAX_NAME_BYTES);
	ret->names = calloc(1, ret->names_len + 1);
	if (!ret->names)
		return -ENOMEM;
	if (!cfi_source__read(src, str->sh_offset, ret->names, ret->names_len))
		ret->n = eh->e_shnum;
	return 0;
}

static const Elf64_Shdr *section_named(const struct sections *s, const char *name)
{
	size_t i;

	for (i = 0; i < s->n; i++)
		if (s->v[i].sh_type != SHT_NOBITS && s->v[i].sh_type != SHT_NULL &&
		    !(s->v[i].sh_flags & SHF_COMPRESSED) && s->v[i].sh_name < s->names_len &&
		    !strcmp(s->names + s->v[i].sh_name, name))
			return &s->v[i];
	return NULL;
}

static int copy_eh_frame(struct cfi_elf *elf, uint64_t off, uint64_t len, uint64_t vaddr, struct err *e)
{
	if (len > CFI_MAX_SECTION_BYTES)
		return err_set(e, -EFBIG, ".eh_frame has %llu bytes, more than the %u that are read",
			       (unsigned long long)len, CFI_MAX_SECTION_BYTES);
	if (vaddr > UINT64_MAX - len)
		return err_set(e, -EINVAL, ".eh_frame wraps around the address space");
	elf->eh = malloc(len + 1);
	if (!elf->eh)
		return no_memory(e);
	if (cfi_source__read(&elf->src, off, elf->eh, len))
		return err_set(e, -EINVAL, ".eh_frame reaches beyond the file's end");
	elf->eh_len = len;
	elf->eh_vaddr = vaddr;
	return 0;
}

/* ---- the same through the program headers */

/*
 * .eh_frame_hdr: version, three encodings, then the address of .eh_frame. Its
 * end is not known: the segment's end bounds it, the terminator ends it.
 */
static int read_through_header(struct cfi_elf *elf, const Elf64_Phdr *ph, size_t n, struct err *e)
{
	const Elf64_Phdr *hdr = NULL;
	struct bytes b;
	uint8_t raw[12];
	uint64_t vaddr, skip;
	size_t i;
	int r;

	for (i = 0; i < n && !hdr; i++)
		if (ph[i].p_type == PT_GNU_EH_FRAME)
			hdr = &ph[i];
	if (!hdr || hdr->p_filesz < sizeof(raw) ||
	    cfi_source__read(&elf->src, hdr->p_offset, raw, sizeof(raw)) || raw[0] != 1)
		return 0;
	b = (struct bytes){ raw + 4, raw + sizeof(raw), false };
	if (!eh_frame__address(&b, raw[1], hdr->p_vaddr + 4, &vaddr))
		return 0;
	for (i = 0; i < n; i++) {
		if (ph[i].p_type != PT_LOAD || vaddr < ph[i].p_vaddr || vaddr - ph[i].p_vaddr >= ph[i].p_filesz)
			continue;
		skip = vaddr - ph[i].p_vaddr;
		if (ph[i].p_offset > UINT64_MAX - skip)
			return 0;
		r = copy_eh_frame(elf, ph[i].p_offset + skip, ph[i].p_filesz - skip, vaddr, e);
		elf->eh_ends_at_zero = true;
		return r;
	}
	return 0;
}

static void note_texts(struct cfi_elf *elf, const Elf64_Phdr *ph, size_t n)
{
	size_t i;

	for (i = 0; i < n && elf->n_texts < CFI_MAX_TEXTS; i++) {
		if (ph[i].p_type != PT_LOAD || !(ph[i].p_flags & PF_X) || ph[i].p_vaddr > UINT64_MAX - ph[i].p_memsz ||
		    ph[i].p_filesz > ph[i].p_memsz || ph[i].p_offset > UINT64_MAX - ph[i].p_filesz)
			continue;
		elf->text[elf->n_texts++] = (struct cfi_text){
			.vaddr = ph[i].p_vaddr,
			.file_off = ph[i].p_offset,
			.file_size = ph[i].p_filesz,
			.mem_size = ph[i].p_memsz,
		};
	}
}

static int read_parts(struct cfi_elf *elf, const Elf64_Ehdr *eh, struct err *e)
{
	__attribute__((cleanup(sections__done))) struct sections sections = {};
	size_t n = MIN(eh->e_phnum, MAX_PHDRS);
	_cleanup_free_ Elf64_Phdr *ph = calloc(n + 1, sizeof(*ph));
	const Elf64_Shdr *sh;

	if (!ph)
		return no_memory(e);
	if (eh->e_phentsize != sizeof(*ph) || cfi_source__read(&elf->src, eh->e_phoff, ph, n * sizeof(*ph)))
		n = 0;
	note_texts(elf, ph, n);
	if (read_sections(&elf->src, eh, &sections))
		return no_memory(e);
	sh = section_named(&sections, ".eh_frame");
	if (sh)
		return copy_eh_frame(elf, sh->sh_offset, sh->sh_size, sh->sh_addr, e);
	return read_through_header(elf, ph, n, e);
}

int cfi_elf__read(const struct cfi_source *src, struct cfi_elf *ret, struct err *e)
{
	struct cfi_elf elf = { .src = *src };
	Elf64_Ehdr eh;
	int r;

	if (cfi_source__read(src, 0, &eh, sizeof(eh)) || memcmp(eh.e_ident, ELFMAG, SELFMAG) ||
	    eh.e_ident[EI_CLASS] != ELFCLASS64 || eh.e_ident[EI_DATA] != ELFDATA2LSB)
		return err_set(e, -ENOTSUP, "not a 64-bit ELF file");
	if (!cfa_arch__of(eh.e_machine))
		return err_set(e, -ENOTSUP, "code for another architecture (%u)", eh.e_machine);
	elf.machine = eh.e_machine;
	r = read_parts(&elf, &eh, e);
	if (r)
		cfi_elf__done(&elf);
	else
		*ret = elf;
	return r;
}

void cfi_elf__done(struct cfi_elf *elf)
{
	free(elf->eh);
	elf->eh = NULL;
}

bool cfi_elf__is_text(const struct cfi_elf *elf, uint64_t lo, uint64_t hi)
{
	size_t i;

	for (i = 0; i < elf->n_texts; i++)
		if (lo >= elf->text[i].vaddr && hi >= lo && hi - elf->text[i].vaddr <= elf->text[i].mem_size)
			return true;
	return false;
}

/* ---- symbols */

static bool symbol_is(const struct cfi_elf *elf, const Elf64_Shdr *strtab, uint32_t at, const char *name)
{
	char buf[64];
	size_t len = strlen(name) + 1;

	return len <= sizeof(buf) && at < strtab->sh_size && len <= strtab->sh_size - at &&
	       strtab->sh_offset <= UINT64_MAX - at && !cfi_source__read(&elf->src, strtab->sh_offset + at, buf, len) &&
	       !memcmp(buf, name, len);
}

bool cfi_elf__find_symbol(const struct cfi_elf *elf, const char *name, uint64_t *ret_vaddr)
{
	__attribute__((cleanup(sections__done))) struct sections sections = {};
	Elf64_Ehdr eh;
	size_t i;

	if (cfi_source__read(&elf->src, 0, &eh, sizeof(eh)) || read_sections(&elf->src, &eh, &sections))
		return false;
	for (i = 0; i < sections.n; i++) {
		const Elf64_Shdr *sh = &sections.v[i];
		uint64_t k, n = MIN(sh->sh_size / sizeof(Elf64_Sym), (uint64_t)CFI_MAX_SYMBOLS);

		if (sh->sh_type != SHT_DYNSYM || sh->sh_link >= sections.n)
			continue;
		for (k = 0; k < n; k++) {
			Elf64_Sym sym;

			if (sh->sh_offset > UINT64_MAX - k * sizeof(sym) ||
			    cfi_source__read(&elf->src, sh->sh_offset + k * sizeof(sym), &sym, sizeof(sym)))
				break;
			if (sym.st_shndx == SHN_UNDEF || !symbol_is(elf, &sections.v[sh->sh_link], sym.st_name, name))
				continue;
			*ret_vaddr = sym.st_value;
			return true;
		}
		/* a file has one such table: more of them would only cost time */
		return false;
	}
	return false;
}
