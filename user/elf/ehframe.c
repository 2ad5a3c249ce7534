// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the records of one .eh_frame, which libdw finds one after the other: CIEs, which say what many functions have in common, and
 * FDEs, one per function.
 *
 * What always holds: the section is walked once from front to back, so the work is proportional to its size. CIEs are sorted by
 * where they stand, because they are met in that order and an FDE can only name one before it; a CIE's program is run once, when it
 * is met. An FDE in the list lies within executable memory and names a CIE that made sense. Behind a record whose length makes no
 * sense there are none.
 */
#include <dwarf.h>
#include <errno.h>

#include "elf/cfi_parts.h"
#include "util/sorted.h"

#define MAX_CODE_ALIGN 64
#define MAX_DATA_ALIGN 4096

/* ---- numbers */

uint64_t bytes__uleb_long(struct bytes *b)
{
	unsigned int shift = 0;
	uint64_t v = 0;
	uint8_t byte;

	do {
		byte = bytes__u8(b);
		if (shift < 64)
			v |= (uint64_t)(byte & 0x7f) << shift;
		/* what does not fit */
		b->bad |= (shift == 63 && byte & 0x7e) || (shift > 63 && byte & 0x7f);
		shift = MIN(shift + 7, 70);
	} while (byte & 0x80 && !b->bad);
	return v;
}

int64_t bytes__sleb(struct bytes *b)
{
	uint64_t v = 0;
	unsigned int shift = 0;
	uint8_t byte;

	do {
		byte = bytes__u8(b);
		if (shift < 63)
			v |= (uint64_t)(byte & 0x7f) << shift;
		else
			b->bad = true;
		shift += 7;
	} while (byte & 0x80 && !b->bad);
	if (byte & 0x40 && shift < 64)
		v |= ~0ull << shift;
	return v;
}

static bool read_encoded(struct bytes *b, uint8_t form, uint64_t *ret)
{
	switch (form & 0xf) {
	case DW_EH_PE_absptr:
	case DW_EH_PE_udata8:
	case DW_EH_PE_sdata8:
		*ret = bytes__fixed(b, 8);
		break;
	case DW_EH_PE_udata2:
		*ret = bytes__fixed(b, 2);
		break;
	case DW_EH_PE_udata4:
		*ret = bytes__fixed(b, 4);
		break;
	case DW_EH_PE_sdata2:
		*ret = (int64_t)(int16_t)bytes__fixed(b, 2);
		break;
	case DW_EH_PE_sdata4:
		*ret = (int64_t)(int32_t)bytes__fixed(b, 4);
		break;
	case DW_EH_PE_uleb128:
		*ret = bytes__uleb(b);
		break;
	case DW_EH_PE_sleb128:
		*ret = bytes__sleb(b);
		break;
	default:
		return false;
	}
	return !b->bad;
}

bool eh_frame__address(struct bytes *b, uint8_t enc, uint64_t vaddr, uint64_t *ret)
{
	uint64_t v;

	/* DW_EH_PE_omit has all bits set, and fails here too */
	if ((enc & 0xf0) != DW_EH_PE_absptr && (enc & 0xf0) != DW_EH_PE_pcrel)
		return false;
	if (!read_encoded(b, enc, &v))
		return false;
	*ret = (enc & 0xf0) == DW_EH_PE_pcrel ? v + vaddr : v;
	return true;
}

/* ---- CIEs */

/* Letters that follow 'z', each with its data; one that is not known may change what everything after it means. */
static bool read_augmentation(struct eh_cie *cie, const char *letters, struct bytes data)
{
	uint64_t ignored;
	uint8_t enc;

	for (; *letters; letters++) {
		switch (*letters) {
		case 'R':
			cie->enc = bytes__u8(&data);
			break;
		case 'L':
			bytes__u8(&data);
			break;
		case 'P':
			enc = bytes__u8(&data);
			if ((enc & 0x70) == DW_EH_PE_aligned || !read_encoded(&data, enc, &ignored))
				return false;
			break;
		case 'S':
			cie->signal = true;
			break;
		case 'B':	/* return addresses are signed with the other key */
		case 'G':	/* the stack's memory is tagged */
			break;
		default:
			return false;
		}
	}
	return !data.bad;
}

static bool parse_cie(const struct cfa_arch *arch, const Dwarf_CIE *c, struct eh_cie *cie)
{
	struct bytes data = { c->augmentation_data, c->augmentation_data + c->augmentation_data_size, false };

	if (!c->code_alignment_factor || c->code_alignment_factor > MAX_CODE_ALIGN || c->data_alignment_factor < -MAX_DATA_ALIGN ||
	    c->data_alignment_factor > MAX_DATA_ALIGN)
		return false;
	cie->code_align = (uint32_t)c->code_alignment_factor;
	cie->data_align = (int32_t)c->data_alignment_factor;
	cie->ra_known = c->return_address_register == arch->ra;
	cie->enc = DW_EH_PE_absptr;
	cie->has_size = *c->augmentation == 'z';
	return (cie->has_size ? read_augmentation(cie, c->augmentation + 1, data) : !*c->augmentation) &&
	       cfa__run_initial(arch, cie, (struct bytes){ c->initial_instructions, c->initial_instructions_end, false });
}

static int add_cie(struct eh_frame *f, const struct cfa_arch *arch, Dwarf_Off at, const Dwarf_CIE *c, struct err *e)
{
	struct eh_cie *cie;

	if (f->cies.n == CFI_MAX_CIES)
		return err_set(e, -EFBIG, ".eh_frame has too many CIEs (%zu)", f->cies.n);
	cie = vec_push(&f->cies);
	cie->at = (uint32_t)at;
	cie->usable = parse_cie(arch, c, cie);
	return 0;
}

static bool find_cie(const struct eh_frame *f, uint64_t at, uint32_t *ret)
{
	size_t n = f->cies.n, i;

	/* nearly always the last one that was met */
	i = n && f->cies.v[n - 1].at <= at ? n - 1 : sorted__count(c, f->cies.v, n, c->at < at);
	if (i == n || f->cies.v[i].at != at)
		return false;
	*ret = i;
	return true;
}

/* ---- FDEs */

static bool is_text(const struct object *obj, uint64_t lo, uint64_t hi)
{
	for (size_t i = 0; i < obj->n_segments; i++)
		if (obj->segments[i].exec && lo >= obj->segments[i].vaddr && hi - obj->segments[i].vaddr <= obj->segments[i].mem_size)
			return true;
	return false;
}

/* False if it makes no sense; *ret with hi 0 if it is of no use. */
static bool parse_fde(const struct object *obj, const struct eh_frame *f, const Dwarf_FDE *fde, struct eh_fde *ret)
{
	const uint8_t *section = f->data->d_buf;
	struct bytes b = { fde->start, fde->end, false };
	const struct eh_cie *cie;
	uint64_t lo, size;

	if (!find_cie(f, fde->CIE_pointer, &ret->cie))
		return false;
	cie = &f->cies.v[ret->cie];
	if (!cie->usable || !eh_frame__address(&b, cie->enc, f->vaddr + (uint64_t)(b.p - section), &lo) || !read_encoded(&b, cie->enc, &size))
		return false;
	if (cie->has_size)
		bytes__skip(&b, bytes__uleb(&b));
	if (b.bad)
		return false;
	/* of a function that the linker threw away */
	if (!lo || !size)
		return true;
	if (size > UINT64_MAX - lo || !is_text(obj, lo, lo + size))
		return false;
	ret->lo = lo;
	ret->hi = lo + size;
	ret->insns_at = (uint32_t)(b.p - section);
	ret->insns_len = (uint32_t)bytes__left(&b);
	return true;
}

static int add_fde(struct eh_frame *f, const struct object *obj, const Dwarf_FDE *entry, struct err *e)
{
	struct eh_fde fde = {};

	f->n_seen++;
	if (!parse_fde(obj, f, entry, &fde)) {
		f->n_bad++;
		return 0;
	}
	if (!fde.hi)
		return 0;
	if (f->fdes.n == CFI_MAX_FDES)
		return err_set(e, -EFBIG, ".eh_frame has too many FDEs (%zu)", f->fdes.n);
	*vec_push(&f->fdes) = fde;
	return 0;
}

/* ---- the section */

static bool is_terminator(const struct eh_frame *f, Dwarf_Off at)
{
	static const uint8_t zero[4];

	return at <= f->data->d_size && f->data->d_size - at >= sizeof(zero) && !memcmp((const char *)f->data->d_buf + at, zero, sizeof(zero));
}

static int read_records(struct eh_frame *f, const struct object *obj, const struct cfa_arch *arch, struct err *e)
{
	const unsigned char *ident = (const unsigned char *)elf_getident(f->file.elf, NULL);
	Dwarf_Off at = 0, next;
	Dwarf_CFI_Entry entry;
	int r = 0;

	while (!r) {
		int end;

		/* where files were linked together after all, a terminator may stand in the middle */
		while (!f->ends_at_zero && is_terminator(f, at))
			at += 4;
		next = at;
		end = dwarf_next_cfi(ident, f->data, true, at, &next, &entry);
		if (end > 0)
			break;
		if (end < 0) {
			f->n_seen++;
			f->n_bad++;
			if (next == at)
				break;
		} else {
			r = dwarf_cfi_cie_p(&entry) ? add_cie(f, arch, at, &entry.cie, e) : add_fde(f, obj, &entry.fde, e);
		}
		at = next;
	}
	return r;
}

static int take_bytes(struct eh_frame *f, uint64_t off, uint64_t len, uint64_t vaddr, struct err *e)
{
	if (len > CFI_MAX_SECTION_BYTES)
		return err_set(e, -EFBIG, ".eh_frame has %llu bytes, more than the %u that are read",
			       (unsigned long long)len, CFI_MAX_SECTION_BYTES);
	if (vaddr > UINT64_MAX - len)
		return err_set(e, -EINVAL, ".eh_frame wraps around the address space");
	f->data = elffile__chunk(&f->file, off, len, ELF_T_BYTE);
	if (!f->data)
		return err_set(e, -EINVAL, ".eh_frame reaches beyond the file's end");
	f->vaddr = vaddr;
	return 0;
}

/*
 * .eh_frame_hdr: version, three encodings, then the address of .eh_frame. Its end is not known: the segment's end bounds it, the
 * terminator ends it.
 */
static int find_through_header(struct eh_frame *f, const struct object *obj, struct err *e)
{
	const struct object_part *hdr = &obj->eh_frame_hdr;
	uint8_t raw[12];
	struct bytes b = { raw + 4, raw + sizeof(raw), false };
	const struct object_segment *s;
	uint64_t vaddr;

	if (hdr->file_size < sizeof(raw) || object__read_at(obj, hdr->file_off, raw, sizeof(raw)) || raw[0] != 1 ||
	    !eh_frame__address(&b, raw[1], hdr->vaddr + 4, &vaddr))
		return 0;
	f->ends_at_zero = true;
	s = object__segment_at(obj, vaddr, false);
	return s ? take_bytes(f, s->file_off + (vaddr - s->vaddr), s->file_size - (vaddr - s->vaddr), vaddr, e) : 0;
}

static int find_section(struct eh_frame *f, const struct object *obj, struct err *e)
{
	struct elf_section s = {};

	if (elffile__open_fd(&f->file, obj->fd))
		return err_set(e, -ENOTSUP, "not a 64-bit ELF file");
	while (elffile__next_section(f->file.elf, &s))
		if (!strcmp(s.name, ".eh_frame") && s.shdr.sh_type != SHT_NOBITS && s.shdr.sh_type != SHT_NULL &&
		    !(s.shdr.sh_flags & SHF_COMPRESSED))
			return take_bytes(f, s.shdr.sh_offset, s.shdr.sh_size, s.shdr.sh_addr, e);
	return find_through_header(f, obj, e);
}

int eh_frame__read(const struct object *obj, const struct cfa_arch *arch, struct eh_frame *ret, struct err *e)
{
	struct eh_frame f = {};
	int r = find_section(&f, obj, e);

	if (!r && f.data)
		r = read_records(&f, obj, arch, e);
	if (r) {
		eh_frame__done(&f);
		return r;
	}
	radix__sort(f.fdes.v, f.fdes.n, sizeof(*f.fdes.v));
	*ret = f;
	return 0;
}

void eh_frame__done(struct eh_frame *f)
{
	elffile__close(&f->file);
	vec_done(&f->cies);
	vec_done(&f->fdes);
}
