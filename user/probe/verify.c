// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns nothing beyond a call. The file is hostile, and this process has rights: it reads tables
 * with pread into buffers of a fixed size, uses only addresses and sizes from them, and compares
 * names. Of the unwind tables it reads the search table and, of the functions in question, the first
 * 16 bytes of their entries, for the length.
 *
 * What always holds: a point is in a segment that is executable by the file's own headers, and on
 * an instruction that control reaches from the start of a function, within the size that its symbol or
 * its unwind entry gives; where neither gives one, up to the next start. Bytes behind a return or a
 * jump, a table perhaps, are code only if a branch leads there. What takes too long or too much
 * memory verifies nothing.
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
#define MAX_CODE_BYTES (64u << 10)	/* of a function */
#define MAX_ALL_CODE_BYTES (32u << 20)
#define MAX_ROUNDS 8			/* of jumps to functions that were not known before */
#define MAX_PROLOGUE_INSNS 12
#define MAX_PROLOGUE_BYTES (MAX_PROLOGUE_INSNS * 16)
#define MAX_NAME_BYTES 256
#define MOST_NS (2 * SECOND_NS)		/* of CPU time: millions of symbols take a tenth of it */
#define UNKNOWN UINT64_MAX

/* An address, and the function that it is in. */
struct place {
	uint64_t vaddr;
	uint64_t start, end;	/* end is start where nothing says how long the function is */
	uint64_t next;		/* where another one begins behind vaddr */
	uint64_t fde;		/* the address of its entry in the unwind table; 0: none */
};

struct code {			/* a function, or what is known of it */
	uint64_t start, end;
	uint8_t *bytes;		/* owned */
	bool *is_seen;		/* behind them: instructions that control comes to */
};

struct file {
	const struct object *obj;
	Elf64_Ehdr eh;
	Elf64_Phdr *ph;		/* owned */
	size_t n_ph;
	struct verified_point *v;
	size_t n;
	struct verified_point **known;	/* owned; those of v whose vaddr is known, by it */
	size_t n_known;
	struct decoder *decoder;
	struct vec(struct place) places;	/* by vaddr; no two have the same */
	struct vec(struct code) code;	/* by address, disjoint */
	size_t n_code_bytes;
	struct vec(uint64_t) todo;	/* addresses that control comes to, in what was read, */
	struct vec(uint64_t) unread;	/* and elsewhere */
	size_t n_missing;	/* points that it has not come to yet */
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

/* The same of an address; flags: all of them. */
static const Elf64_Phdr *segment_of(const struct file *f, uint64_t vaddr, uint32_t flags)
{
	return array_first(one, f->ph, f->n_ph, one->p_type == PT_LOAD && (one->p_flags & flags) == flags &&
			vaddr >= one->p_vaddr && vaddr - one->p_vaddr < one->p_filesz);
}

/* ---- where functions begin */

static size_t first_from(const struct file *f, uint64_t vaddr)
{
	return sorted__count(p, f->known, f->n_known, (*p)->vaddr < vaddr);
}

/* Only in the first place behind it and the one before it: locate() passes it on to the others. */
static void note_start(struct file *f, uint64_t vaddr, uint64_t size, uint64_t fde)
{
	size_t i = sorted__count(p, f->places.v, f->places.n, p->vaddr < vaddr);
	uint64_t end = vaddr + MIN(size, UINT64_MAX - vaddr);
	struct place *p = &f->places.v[i];

	if (i)
		p[-1].next = MIN(p[-1].next, vaddr);
	if (i == f->places.n || (p->start != UNKNOWN && p->start > vaddr))
		return;
	if (p->start != vaddr)
		*p = (struct place){ p->vaddr, vaddr, vaddr, p->next, 0 };
	p->end = MAX(p->end, end);
	p->fde = p->fde ?: fde;
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
				note_start(f, chunk[k].st_value, chunk[k].st_size, 0);
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
			note_start(f, ph->p_vaddr + (uint64_t)(int64_t)pairs[k][0], 0,
				   ph->p_vaddr + (uint64_t)(int64_t)pairs[k][1]);
	}
}

/* In the form that compilers write: 32 bits, relative to itself. Any other misses the start. */
static void read_unwind_size(const struct file *f, struct place *p)
{
	const Elf64_Phdr *s = segment_of(f, p->fde, 0);
	struct {
		uint32_t len, cie;
		int32_t start;
		uint32_t size;
	} fde;
	uint64_t start;

	if (!s || s->p_offset > INT64_MAX / 2 ||
	    !read_at(f, s->p_offset + (p->fde - s->p_vaddr), &fde, sizeof(fde)))
		return;
	start = p->fde + offsetof(__typeof__(fde), start) + (uint64_t)(int64_t)fde.start;
	if (start == p->start && fde.size <= UINT64_MAX - start)
		p->end = MAX(p->end, start + fde.size);
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

COMPARATOR(by_value, uint64_t, ORDER(*a, *b))

/* Of these addresses, which it sorts: the places, by what the tables say. */
static void locate(struct file *f, uint64_t *v, size_t n)
{
	f->places.n = 0;
	qsort(v, n, sizeof(*v), by_value);
	for (size_t i = 0; i < n; i++)
		if (!i || v[i] != v[i - 1])
			*vec_push(&f->places) = (struct place){ v[i], UNKNOWN, UNKNOWN, UNKNOWN, 0 };
	for (size_t i = 0; i < f->n_ph; i++)
		if (f->ph[i].p_type == PT_GNU_EH_FRAME && f->ph[i].p_offset <= INT64_MAX / 2)
			read_unwind_starts(f, &f->ph[i]);
	read_sections(f);
	for (size_t i = f->places.n; i-- > 1;)
		f->places.v[i - 1].next = MIN(f->places.v[i - 1].next, f->places.v[i].next);
	for (size_t i = 0; i < f->places.n && !stint__is_over(); i++) {
		struct place *p = &f->places.v[i];

		if (p->start != UNKNOWN && p->fde)
			read_unwind_size(f, p);
		if (i && p->start == UNKNOWN)
			*p = (struct place){ p->vaddr, p[-1].start, p[-1].end, p->next, p[-1].fde };
	}
}

/* Where what is known of its function ends. */
static uint64_t end_of(const struct place *p)
{
	return p->end > p->start ? p->end : p->next;
}

/* ---- code */

/* Control comes to this instruction. */
static void meet(struct file *f, uint64_t at, const struct insn *i, unsigned int is)
{
	for (size_t k = first_from(f, at); k < f->n_known && f->known[k]->vaddr == at; k++) {
		struct verified_point *p = f->known[k];

		f->n_missing -= !p->is_met;
		p->is_met = true;
		p->is |= is | (is && p->named == p->start ? POINT_NAMED : 0) |
			 (i->flow == FLOW_RETURN ? POINT_RETURN : 0) |
			 (i->flow == FLOW_JUMP ? POINT_JUMP : 0);
	}
}

/* The first instructions of a function, up to one that may not go on to the next. */
static void look_at_prologue(struct file *f, const struct place *p)
{
	uint8_t code[MAX_PROLOGUE_BYTES];
	const Elf64_Phdr *s = segment_of(f, p->start, PF_X);
	size_t len = s ? MIN(MIN(s->p_vaddr + s->p_filesz, end_of(p)) - p->start, sizeof(code)) : 0;
	bool is_quiet = true, is_prologue = true;

	if (!len || s->p_offset > INT64_MAX / 2 ||
	    !read_at(f, s->p_offset + (p->start - s->p_vaddr), code, len))
		return;
	for (size_t n = 0, at = 0; n < MAX_PROLOGUE_INSNS && at < len && is_prologue; n++) {
		struct insn i = decoder__at(f->decoder, code + at, len - at, p->start + at);

		meet(f, p->start + at, &i,
		     POINT_PROLOGUE | (n ? 0 : POINT_START) | (is_quiet ? POINT_QUIET : 0));
		is_quiet &= i.is_quiet;
		is_prologue = i.flow == FLOW_NEXT || i.flow == FLOW_NOP;
		at += i.len;
	}
}

static struct code *code_at(struct file *f, uint64_t at)
{
	return sorted__range_of(f->code.v, f->code.n, at);
}

/* is_target: a jump leads there, so it is code even outside of all functions in the tables. */
static bool read_code(struct file *f, const struct place *p, bool is_target)
{
	bool is_inside = p->start != UNKNOWN && p->vaddr < end_of(p);
	bool is_near = is_inside && p->vaddr - p->start < MAX_CODE_BYTES;
	uint64_t start = is_near ? p->start : p->vaddr, end = is_inside ? end_of(p) : p->next;
	const Elf64_Phdr *s = segment_of(f, start, PF_X);
	struct code c;
	size_t len, at;

	if (!s || s->p_offset > INT64_MAX / 2 || !(is_near || is_target))
		return false;
	if (code_at(f, p->vaddr))
		return true;
	len = MIN(end - start, s->p_filesz - (start - s->p_vaddr));
	end = start + MIN(len, (uint64_t)MAX_CODE_BYTES);
	at = sorted__count(one, f->code.v, f->code.n, one->end <= p->vaddr);
	if (at)
		start = MAX(start, f->code.v[at - 1].end);
	if (at < f->code.n)
		end = MIN(end, f->code.v[at].start);
	len = end > start ? end - start : 0;
	if (!len || f->n_code_bytes + len > MAX_ALL_CODE_BYTES)
		return false;
	c = (struct code){ .start = start, .end = end };
	c.bytes = xcalloc(2, len);
	c.is_seen = (bool *)(c.bytes + len);
	if (!read_at(f, s->p_offset + (start - s->p_vaddr), c.bytes, len)) {
		free(c.bytes);
		return false;
	}
	f->n_code_bytes += len;
	vec_push(&f->code);
	memmove(f->code.v + at + 1, f->code.v + at, (f->code.n - 1 - at) * sizeof(c));
	f->code.v[at] = c;
	return true;
}

/* From there to where control goes elsewhere, or where it was before. */
static void follow(struct file *f, uint64_t at)
{
	struct code *c = code_at(f, at);
	bool goes_on = true;

	if (!c && f->unread.n < MAX_POINTS)
		*vec_push(&f->unread) = at;
	while (c && goes_on && at < c->end && f->n_missing && !stint__is_over()) {
		size_t off = at - c->start;
		struct insn i;

		if (c->is_seen[off])
			return;
		c->is_seen[off] = true;
		i = decoder__at(f->decoder, c->bytes + off, c->end - at, at);
		meet(f, at, &i, 0);
		if (i.flow == FLOW_JUMP || i.flow == FLOW_BRANCH)
			*vec_push(&f->todo) = i.target;
		goes_on = i.flow == FLOW_NEXT || i.flow == FLOW_NOP || i.flow == FLOW_CALL ||
			  i.flow == FLOW_BRANCH;
		at += i.len;
		if (at == c->end)
			c = code_at(f, at);
	}
}

static void look_at_code(struct file *f)
{
	for (size_t round = 0; round < MAX_ROUNDS && f->n_missing && !stint__is_over(); round++) {
		for (size_t i = 0; i < f->places.n && !stint__is_over(); i++) {
			const struct place *p = &f->places.v[i];

			if (read_code(f, p, round))
				*vec_push(&f->todo) = round ? p->vaddr : p->start;
		}
		f->unread.n = 0;
		while (f->todo.n && f->n_missing && !stint__is_over())
			follow(f, f->todo.v[--f->todo.n]);
		if (!f->unread.n)
			return;
		if (f->n_missing)
			locate(f, f->unread.v, f->unread.n);
	}
}

COMPARATOR(by_vaddr, struct verified_point *const, ORDER((*a)->vaddr, (*b)->vaddr))

static void sort_points(struct file *f)
{
	f->known = xcalloc(f->n, sizeof(*f->known));
	for (size_t i = 0; i < f->n && !stint__is_over(); i++) {
		f->v[i].vaddr = vaddr_at(f, f->v[i].offset, PF_X);
		if (f->v[i].vaddr != UNKNOWN)
			f->known[f->n_known++] = &f->v[i];
	}
	qsort(f->known, f->n_known, sizeof(*f->known), by_vaddr);
}

/* Of each point the function, and what is at its start. */
static void locate_points(struct file *f)
{
	_cleanup_free_ uint64_t *v = xcalloc(f->n_known, sizeof(*v));
	uint64_t last = UNKNOWN;

	for (size_t i = 0; i < f->n_known; i++)
		v[i] = f->known[i]->vaddr;
	locate(f, v, f->n_known);
	for (size_t i = 0, k = 0; i < f->n_known; i++) {
		k += f->places.v[k].vaddr < f->known[i]->vaddr;
		f->known[i]->start = f->places.v[k].start;
	}
	for (size_t i = 0; i < f->places.n && !stint__is_over(); i++) {
		if (f->places.v[i].start != last)
			look_at_prologue(f, &f->places.v[i]);
		last = f->places.v[i].start;
	}
}

void verify__points(const struct object *obj, struct verified_point *v, size_t n)
{
	_cleanup_stint_ struct stint stint = stint__begin_for(MOST_NS);
	struct file f = { .obj = obj, .v = v, .n = n };

	for (size_t i = 0; i < n; i++)
		v[i] = (struct verified_point){ v[i].offset, v[i].counter, v[i].name, 0,
						UNKNOWN, UNKNOWN, UNKNOWN, false };
	if (!n || n > MAX_POINTS)
		return;
	read_headers(&f);
	sort_points(&f);
	f.n_missing = f.n_known;
	f.decoder = f.n_known ? decoder__new(f.eh.e_machine) : NULL;
	if (f.decoder) {
		locate_points(&f);
		look_at_code(&f);
	}
	decoder__free(f.decoder);
	for (size_t i = 0; i < f.code.n; i++)
		free(f.code.v[i].bytes);
	vec_done(&f.code);
	vec_done(&f.places);
	vec_done(&f.todo);
	vec_done(&f.unread);
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
