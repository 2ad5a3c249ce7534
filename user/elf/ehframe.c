// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the records of one .eh_frame: CIEs, which say what many functions have
 * in common, and FDEs, one per function.
 *
 * What always holds: the section is walked once from front to back, so the
 * work is proportional to its size. CIEs are sorted by where they stand,
 * because they are met in that order and an FDE can only name one before it;
 * a CIE's program is run once, when it is met. An FDE in the list lies within
 * executable memory and names a CIE that made sense.
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
	uint64_t v = 0;
	unsigned int shift = 0;
	uint8_t byte;

	do {
		byte = bytes__u8(b);
		if (shift < 63)
			v |= (uint64_t)(byte & 0x7f) << shift;
		else if (shift == 63 && !(byte & 0x7e))
			v |= (uint64_t)(byte & 1) << 63;
		else if (byte & 0x7f)
			b->bad = true;
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

static bool parse_cie(const struct cfa_arch *arch, struct eh_cie *cie, struct bytes b)
{
	uint8_t version = bytes__u8(&b);
	const char *letters = (const char *)b.p;
	const uint8_t *nul = memchr(b.p, 0, bytes__left(&b));
	uint64_t code_align, ra, size;
	int64_t data_align;

	if ((version != 1 && version != 3 && version != 4) || !nul)
		return false;
	b.p = nul + 1;
	/* of version 4: the sizes of an address and of a segment selector */
	if (version == 4 && bytes__fixed(&b, 2) != 8)
		return false;
	code_align = bytes__uleb(&b);
	data_align = bytes__sleb(&b);
	ra = version == 1 ? bytes__u8(&b) : bytes__uleb(&b);
	if (b.bad || !code_align || code_align > MAX_CODE_ALIGN || data_align < -MAX_DATA_ALIGN ||
	    data_align > MAX_DATA_ALIGN)
		return false;
	cie->code_align = code_align;
	cie->data_align = data_align;
	cie->ra_known = ra == arch->ra;
	cie->enc = DW_EH_PE_absptr;
	if (*letters == 'z') {
		cie->has_size = true;
		size = bytes__uleb(&b);
		if (b.bad || size > bytes__left(&b) ||
		    !read_augmentation(cie, letters + 1, (struct bytes){ b.p, b.p + size, false }))
			return false;
		b.p += size;
	} else if (*letters) {
		return false;
	}
	return !cfa__run_initial(arch, cie, b);
}

static int add_cie(struct eh_frame *f, const struct cfa_arch *arch, uint32_t at, struct bytes b, struct err *e)
{
	struct eh_cie *cie = f->cies.n < CFI_MAX_CIES ? vec_push(&f->cies) : NULL;

	if (!cie)
		return err_set(e, f->cies.n < CFI_MAX_CIES ? -ENOMEM : -EFBIG,
			       ".eh_frame has too many CIEs (%zu)", f->cies.n);
	cie->at = at;
	cie->usable = parse_cie(arch, cie, b);
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

/* cie_at: where the CIE that it names begins. False if it makes no sense; *ret with hi 0 if it is of no use. */
static bool parse_fde(const struct cfi_elf *elf, const struct eh_frame *f, uint64_t cie_at, struct bytes b,
		      struct eh_fde *ret)
{
	const struct eh_cie *cie;
	uint64_t lo, size;

	if (!find_cie(f, cie_at, &ret->cie))
		return false;
	cie = &f->cies.v[ret->cie];
	if (!cie->usable || !eh_frame__address(&b, cie->enc, elf->eh_vaddr + (b.p - elf->eh), &lo) ||
	    !read_encoded(&b, cie->enc, &size))
		return false;
	if (cie->has_size)
		bytes__skip(&b, bytes__uleb(&b));
	if (b.bad)
		return false;
	/* of a function that the linker threw away */
	if (!lo || !size)
		return true;
	if (size > UINT64_MAX - lo || !cfi_elf__is_text(elf, lo, lo + size))
		return false;
	ret->lo = lo;
	ret->hi = lo + size;
	ret->insns_at = b.p - elf->eh;
	ret->insns_len = bytes__left(&b);
	return true;
}

static int add_fde(struct eh_frame *f, const struct cfi_elf *elf, uint64_t cie_at, struct bytes b, struct err *e)
{
	struct eh_fde fde = {}, *slot;

	f->n_seen++;
	if (!parse_fde(elf, f, cie_at, b, &fde)) {
		f->n_bad++;
		return 0;
	}
	if (!fde.hi)
		return 0;
	slot = f->fdes.n < CFI_MAX_FDES ? vec_push(&f->fdes) : NULL;
	if (!slot)
		return err_set(e, f->fdes.n < CFI_MAX_FDES ? -ENOMEM : -EFBIG,
			       ".eh_frame has too many FDEs (%zu)", f->fdes.n);
	*slot = fde;
	return 0;
}

/*
 * Stable, and quick on what is nearly sorted, as linkers leave it: runs that
 * ascend already are merged in pairs. qsort, by contrast, may be quadratic on
 * a crafted file where its memory does not suffice (glibc before 2.37).
 */
static size_t run_end(const struct eh_fde *v, size_t from, size_t n)
{
	size_t i = from + 1;

	while (i < n && v[i - 1].lo <= v[i].lo)
		i++;
	return MIN(i, n);
}

static void merge_runs(const struct eh_fde *a, const struct eh_fde *a_end, const struct eh_fde *b,
		       const struct eh_fde *b_end, struct eh_fde *out)
{
	while (a < a_end && b < b_end)
		*out++ = b->lo < a->lo ? *b++ : *a++;
	memcpy(out, a, (a_end - a) * sizeof(*a));
	memcpy(out + (a_end - a), b, (b_end - b) * sizeof(*b));
}

static int sort_fdes(struct eh_frame *f)
{
	size_t n = f->fdes.n;
	struct eh_fde *spare;

	if (n < 2 || run_end(f->fdes.v, 0, n) == n)
		return 0;
	spare = malloc(n * sizeof(*spare));
	if (!spare)
		return -ENOMEM;
	while (run_end(f->fdes.v, 0, n) < n) {
		struct eh_fde *v = f->fdes.v;
		size_t at = 0;

		while (at < n) {
			size_t mid = run_end(v, at, n), end = mid < n ? run_end(v, mid, n) : n;

			merge_runs(v + at, v + mid, v + mid, v + end, spare + at);
			at = end;
		}
		f->fdes.v = spare;
		f->fdes.room = n;
		spare = v;
	}
	free(spare);
	return 0;
}

/* ---- the section */

/* A record of which not even the kind is known. */
static void add_bad(struct eh_frame *f)
{
	f->n_seen++;
	f->n_bad++;
}

static int read_record(struct eh_frame *f, const struct cfi_elf *elf, const struct cfa_arch *arch, uint32_t at,
		       struct bytes b, bool is_64, struct err *e)
{
	uint64_t id_at = b.p - elf->eh;
	uint64_t id = bytes__fixed(&b, is_64 ? 8 : 4);

	if (b.bad) {
		add_bad(f);
		return 0;
	}
	if (!id)
		return add_cie(f, arch, at, b, e);
	/* UINT64_MAX is where no CIE begins */
	return add_fde(f, elf, id <= id_at ? id_at - id : UINT64_MAX, b, e);
}

static int read_records(struct eh_frame *f, const struct cfi_elf *elf, const struct cfa_arch *arch, struct err *e)
{
	struct bytes all = { elf->eh, elf->eh + elf->eh_len, false };
	int r;

	while (bytes__left(&all) >= 4) {
		uint32_t at = all.p - elf->eh;
		uint64_t len = bytes__fixed(&all, 4);
		bool is_64 = len == 0xffffffff;

		/* where files were linked together after all, a terminator may stand in the middle */
		if (!len && !elf->eh_ends_at_zero)
			continue;
		if (!len)
			break;
		if (is_64)
			len = bytes__fixed(&all, 8);
		if (all.bad || len > bytes__left(&all)) {
			add_bad(f);
			break;
		}
		r = read_record(f, elf, arch, at, (struct bytes){ all.p, all.p + len, false }, is_64, e);
		if (r)
			return r;
		all.p += len;
	}
	return 0;
}

int eh_frame__read(const struct cfi_elf *elf, const struct cfa_arch *arch, struct eh_frame *ret, struct err *e)
{
	struct eh_frame f = {};
	int r = read_records(&f, elf, arch, e);

	if (!r && sort_fdes(&f))
		r = err_set(e, -ENOMEM, "no memory to sort %zu FDEs", f.fdes.n);
	if (r)
		eh_frame__done(&f);
	else
		*ret = f;
	return r;
}

void eh_frame__done(struct eh_frame *f)
{
	vec_done(&f->cies);
	vec_done(&f->fdes);
}
