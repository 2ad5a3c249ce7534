// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns nothing beyond a call. The file is hostile, and this process has rights: tables are read with pread into buffers of a fixed
 * size, nothing in them but addresses is used, and names are compared. What always holds: a point is in a segment that is
 * executable by the file's own headers, and on an instruction that decoding from the nearest function start comes to. What takes
 * too long verifies nothing.
 */
#include "probe/plan.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#include "probe/insn.h"
#include "util/clock.h"
#include "util/sorted.h"
#include "util/util.h"

#define MAX_PHDRS 4096
#define MAX_POINTS 65536
#define MAX_ENTRIES (16u << 20)		/* of a table */
#define MAX_NOTES_BYTES (16u << 20)
#define MAX_CODE_BYTES (64u << 10)	/* from a start to a point */
#define MAX_PROLOGUE_INSNS 12
#define MAX_PROLOGUE_BYTES (MAX_PROLOGUE_INSNS * 16)
#define MAX_NAME_BYTES 256
#define MOST_NS (2 * SECOND_NS)		/* of CPU time: millions of symbols take a tenth of it */
#define UNKNOWN UINT64_MAX

struct file {
	const struct object *obj;
	Elf64_Ehdr eh;
	Elf64_Phdr *ph;		/* owned */
	size_t n_ph;
	struct verified_point *v;
	size_t n;
	struct verified_point **known;	/* owned; those of v whose vaddr is known, by it */
	size_t n_known;
};

static bool read_at(const struct file *f, uint64_t off, void *buf, size_t len)
{
	return off <= INT64_MAX - len && !object__read_at(f->obj, off, buf, len);
}

static void read_headers(struct file *f)
{
	if (!read_at(f, 0, &f->eh, sizeof(f->eh)) || memcmp(f->eh.e_ident, ELFMAG, SELFMAG) || f->eh.e_ident[EI_CLASS] != ELFCLASS64 ||
	    f->eh.e_ident[EI_DATA] != ELFDATA2LSB || f->eh.e_phentsize != sizeof(*f->ph))
		return;
	f->n_ph = MIN(f->eh.e_phnum, MAX_PHDRS);
	f->ph = xcalloc(f->n_ph, sizeof(*f->ph));
	if (!read_at(f, f->eh.e_phoff, f->ph, f->n_ph * sizeof(*f->ph)))
		f->n_ph = 0;
}

/* The segment that has a place of the file, with this flag; NULL: none. */
static const Elf64_Phdr *segment_at(const struct file *f, uint64_t off, uint32_t flag)
{
	return array_first(one, f->ph, f->n_ph, one->p_type == PT_LOAD && one->p_flags & flag &&
			off >= one->p_offset && off - one->p_offset < one->p_filesz);
}

static uint64_t vaddr_at(const struct file *f, uint64_t off, uint32_t flag)
{
	const Elf64_Phdr *s = segment_at(f, off, flag);

	return s ? s->p_vaddr + (off - s->p_offset) : UNKNOWN;
}

/* ---- where functions begin */

static size_t first_from(const struct file *f, uint64_t vaddr)
{
	return sorted__count(p, f->known, f->n_known, (*p)->vaddr < vaddr);
}

/* Of the first point behind it alone: verify__points() passes it on to the others. */
static void note_start(struct file *f, uint64_t vaddr)
{
	size_t i = first_from(f, vaddr);

	if (i < f->n_known && (f->known[i]->start == UNKNOWN || vaddr > f->known[i]->start))
		f->known[i]->start = vaddr;
}

/* "malloc", "malloc@@GLIBC_2.17" */
static bool is_called(const struct file *f, const Elf64_Shdr *strings, uint32_t at, const char *name)
{
	char buf[MAX_NAME_BYTES] = "";
	size_t len = strlen(name);

	if (at >= strings->sh_size || strings->sh_offset > INT64_MAX / 2 ||
	    !read_at(f, strings->sh_offset + at, buf, MIN(strings->sh_size - at, sizeof(buf) - 1)))
		return false;
	return len < sizeof(buf) && !memcmp(buf, name, len) && (!buf[len] || buf[len] == '@');
}

static void note_name(struct file *f, const Elf64_Shdr *strings, const Elf64_Sym *sym)
{
	for (size_t i = first_from(f, sym->st_value); i < f->n_known && !stint__is_over(); i++) {
		struct verified_point *p = f->known[i];

		if (p->vaddr - sym->st_value >= MAX_PROLOGUE_BYTES)
			return;
		if (p->name && is_called(f, strings, sym->st_name, p->name))
			p->named = sym->st_value;
	}
}

static void read_symbols(struct file *f, const Elf64_Shdr *sh, const Elf64_Shdr *strings)
{
	uint64_t n = sh->sh_entsize == sizeof(Elf64_Sym) ? MIN(sh->sh_size / sizeof(Elf64_Sym), MAX_ENTRIES) : 0;
	Elf64_Sym chunk[256];

	for (uint64_t i = 0; i < n; i += ARRAY_SIZE(chunk)) {
		size_t here = MIN(n - i, ARRAY_SIZE(chunk));

		if (stint__is_over() || !read_at(f, sh->sh_offset + i * sizeof(*chunk), chunk, here * sizeof(*chunk)))
			return;
		for (size_t k = 0; k < here; k++)
			if (chunk[k].st_shndx != SHN_UNDEF &&
			    (ELF64_ST_TYPE(chunk[k].st_info) == STT_FUNC || ELF64_ST_TYPE(chunk[k].st_info) == STT_GNU_IFUNC)) {
				note_start(f, chunk[k].st_value);
				note_name(f, strings, &chunk[k]);
			}
	}
}

/* The unwinder's search table, in the form that linkers write: 32-bit pairs relative to the table. */
static void read_unwind_starts(struct file *f, const Elf64_Phdr *ph)
{
	struct {
		uint8_t version, ptr_enc, count_enc, table_enc;
		int32_t eh_frame;
		uint32_t n;
	} hdr;
	int32_t pairs[256][2];

	if (!read_at(f, ph->p_offset, &hdr, sizeof(hdr)) || hdr.version != 1 || hdr.ptr_enc != 0x1b || hdr.count_enc != 0x03 || hdr.table_enc != 0x3b)
		return;
	for (uint32_t i = 0; i < MIN(hdr.n, MAX_ENTRIES); i += ARRAY_SIZE(pairs)) {
		size_t here = MIN(hdr.n - i, ARRAY_SIZE(pairs));

		if (stint__is_over() || !read_at(f, ph->p_offset + sizeof(hdr) + i * sizeof(*pairs), pairs, here * sizeof(*pairs)))
			return;
		for (size_t k = 0; k < here; k++)
			note_start(f, ph->p_vaddr + (uint64_t)(int64_t)pairs[k][0]);
	}
}

/* ---- USDT */

/* desc: the addresses of the point, of .stapsdt.base and of the counter, by the linker: what was prelinked is not known again. */
static void note_usdt(struct file *f, const uint64_t desc[3])
{
	for (size_t i = 0; i < f->n; i++) {
		struct verified_point *p = &f->v[i];

		if (p->vaddr == desc[0] && (!p->counter || vaddr_at(f, p->counter, PF_W) == desc[2]))
			p->is |= POINT_USDT;
	}
}

static void read_notes(struct file *f, const Elf64_Shdr *sh)
{
	static const char owner[] = "stapsdt";
	uint64_t at = 0, size = MIN(sh->sh_size, MAX_NOTES_BYTES);
	struct {
		Elf64_Nhdr head;
		char owner[sizeof(owner)];
		uint64_t desc[3];
	} __attribute__((packed)) note;

	while (at + sizeof(note) <= size && !stint__is_over() && read_at(f, sh->sh_offset + at, &note, sizeof(note))) {
		uint64_t desc[3];

		memcpy(desc, note.desc, sizeof(desc));
		if (note.head.n_namesz == sizeof(owner) && note.head.n_type == 3 && note.head.n_descsz > sizeof(desc) && !memcmp(note.owner, owner, sizeof(owner)))
			note_usdt(f, desc);
		at += sizeof(note.head) + (((uint64_t)note.head.n_namesz + 3) & ~3ull) + (((uint64_t)note.head.n_descsz + 3) & ~3ull);
	}
}

static bool read_section(const struct file *f, uint32_t n, Elf64_Shdr *ret)
{
	return n < f->eh.e_shnum && f->eh.e_shentsize == sizeof(*ret) && f->eh.e_shoff <= INT64_MAX / 2 &&
	       read_at(f, f->eh.e_shoff + n * sizeof(*ret), ret, sizeof(*ret));
}

static void read_sections(struct file *f)
{
	Elf64_Shdr sh, strings;

	for (uint32_t i = 0; !stint__is_over() && read_section(f, i, &sh); i++) {
		if (sh.sh_offset > INT64_MAX / 2)
			continue;
		if ((sh.sh_type == SHT_SYMTAB || sh.sh_type == SHT_DYNSYM) && read_section(f, sh.sh_link, &strings))
			read_symbols(f, &sh, &strings);
		else if (sh.sh_type == SHT_NOTE)
			read_notes(f, &sh);
	}
}

/* ---- code */

/* Decodes on from the start, which all of these points have, to the last one of them. What it does not come to is no point. */
static void decode(struct decoder *d, const uint8_t *code, size_t len, struct verified_point **v, size_t n)
{
	bool in_prologue = true, is_quiet = true;
	uint64_t start = v[0]->start;
	size_t n_insns = 0;

	for (uint64_t at = start; !stint__is_over();) {
		struct insn i = decoder__at(d, code + (at - start), len - (at - start), at);

		for (; n && v[0]->vaddr <= at; v++, n--)
			if (v[0]->vaddr == at)
				v[0]->is |= (at == start ? POINT_START : 0) | (is_quiet ? POINT_QUIET : 0) | (v[0]->named == start ? POINT_NAMED : 0) |
					    (in_prologue && n_insns < MAX_PROLOGUE_INSNS ? POINT_PROLOGUE : 0) |
					    (i.flow == FLOW_RETURN ? POINT_RETURN : 0) | (i.flow == FLOW_JUMP ? POINT_JUMP : 0);
		is_quiet &= i.is_quiet;
		in_prologue &= i.flow == FLOW_NEXT || i.flow == FLOW_NOP;
		n_insns++;
		at += i.len;
		if (i.flow == FLOW_BAD || !n || at > v[n - 1]->vaddr)
			return;
	}
}

/* Points of one function, by their addresses; how many of v these are. */
static size_t look_at_code(const struct file *f, struct decoder *d, struct verified_point **v, size_t n)
{
	const struct verified_point *first = v[0], *last = first;
	const Elf64_Phdr *s = segment_at(f, first->offset, PF_X);
	uint64_t before = first->vaddr - first->start, off = first->offset - before;
	_cleanup_free_ uint8_t *code = NULL;
	size_t len, k = 1;

	if (first->start == UNKNOWN || before > MAX_CODE_BYTES || first->offset - s->p_offset < before)
		return 1;
	for (; k < n && v[k]->start == first->start && v[k]->vaddr - first->start <= MAX_CODE_BYTES && segment_at(f, v[k]->offset, PF_X) == s; k++)
		last = v[k];
	/* with as much behind the last point as an instruction may have */
	len = last->vaddr - first->start + MIN(s->p_filesz - (last->offset - s->p_offset), (uint64_t)16);
	code = xmalloc(len);
	if (read_at(f, off, code, len))
		decode(d, code, len, v, k);
	return k;
}

COMPARATOR(by_vaddr, struct verified_point *const, ORDER((*a)->vaddr, (*b)->vaddr))

static void sort_points(struct file *f)
{
	f->known = xcalloc(f->n, sizeof(*f->known));
	for (size_t i = 0; i < f->n; i++) {
		f->v[i].vaddr = vaddr_at(f, f->v[i].offset, PF_X);
		if (f->v[i].vaddr != UNKNOWN)
			f->known[f->n_known++] = &f->v[i];
	}
	qsort(f->known, f->n_known, sizeof(*f->known), by_vaddr);
}

void verify__points(const struct object *obj, struct verified_point *v, size_t n)
{
	_cleanup_stint_ struct stint stint = stint__begin_for(MOST_NS);
	struct file f = { .obj = obj, .v = v, .n = n };
	struct decoder *d;

	for (size_t i = 0; i < n; i++)
		v[i] = (struct verified_point){ v[i].offset, v[i].counter, v[i].name, 0, UNKNOWN, UNKNOWN, UNKNOWN };
	if (!n || n > MAX_POINTS)
		return;
	read_headers(&f);
	sort_points(&f);
	for (size_t i = 0; i < f.n_ph; i++)
		if (f.ph[i].p_type == PT_GNU_EH_FRAME && f.ph[i].p_offset <= INT64_MAX / 2)
			read_unwind_starts(&f, &f.ph[i]);
	if (f.n_ph)
		read_sections(&f);
	for (size_t i = 1; i < f.n_known; i++)
		if (f.known[i]->start == UNKNOWN)
			f.known[i]->start = f.known[i - 1]->start;
	d = f.n_ph ? decoder__new(f.eh.e_machine) : NULL;
	for (size_t i = 0; i < f.n_known && d && !stint__is_over();)
		i += look_at_code(&f, d, f.known + i, f.n_known - i);
	decoder__free(d);
	free(f.known);
	free(f.ph);
}

bool verify__entry(const struct object *obj, uint64_t *ret)
{
	struct file f = { .obj = obj };
	bool found = false;

	read_headers(&f);
	for (size_t i = 0; i < f.n_ph && !found; i++) {
		const Elf64_Phdr *s = &f.ph[i];

		found = s->p_type == PT_LOAD && s->p_flags & PF_X && f.eh.e_entry >= s->p_vaddr && f.eh.e_entry - s->p_vaddr < s->p_filesz;
		*ret = found ? s->p_offset + (f.eh.e_entry - s->p_vaddr) : *ret;
	}
	free(f.ph);
	return found;
}
