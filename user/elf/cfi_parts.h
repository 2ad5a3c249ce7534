/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * What the files that compile .eh_frame share; no other file includes it.
 *
 *   ehframe.c   the section: its records                    → struct eh_frame, sorted by address
 *   cfa.c       a record's program                          → ranges of addresses, each with a rule
 *   cfi.c       the code: does a call stand in a range? And all of it together → struct cfi
 */
#ifndef MT_CFI_PARTS_H
#define MT_CFI_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "bpf/abi.h"
#include "elf/elffile.h"
#include "elf/object.h"
#include "util/err.h"
#include "util/util.h"

/*
 * The bounds of what one file can make us do. The largest real ones (a
 * browser, a compiler's library) have 30 MB of .eh_frame, 1 M functions,
 * 4 M rows and 250 MB of code.
 */
#define CFI_MAX_SECTION_BYTES (128u << 20)
#define CFI_MAX_FDES (4u << 20)
#define CFI_MAX_CIES (1u << 20)
#define CFI_MAX_ROWS (8u << 20)
#define CFI_MAX_CODE_BYTES (1ull << 30)	/* read, and searched */

/* ---- bytes, read without running over their end */

struct bytes {
	const uint8_t *p, *end;
	bool bad;		/* something did not fit: whatever was read since is 0 or garbage */
};

static inline size_t bytes__left(const struct bytes *b)
{
	return b->end - b->p;
}

static inline void bytes__skip(struct bytes *b, uint64_t n)
{
	if (n > bytes__left(b)) {
		b->bad = true;
		n = bytes__left(b);
	}
	b->p += n;
}

static inline uint64_t bytes__fixed(struct bytes *b, size_t size)
{
	uint64_t v = 0;

	if (bytes__left(b) < size) {
		b->bad = true;
		return 0;
	}
	/* both architectures, and so both sides, are little-endian */
	memcpy(&v, b->p, size);
	b->p += size;
	return v;
}

static inline uint8_t bytes__u8(struct bytes *b)
{
	if (b->p == b->end) {
		b->bad = true;
		return 0;
	}
	return *b->p++;
}

uint64_t bytes__uleb_long(struct bytes *b);
int64_t bytes__sleb(struct bytes *b);

static inline uint64_t bytes__uleb(struct bytes *b)
{
	if (b->p < b->end && *b->p < 0x80)
		return *b->p++;
	return bytes__uleb_long(b);
}

/* ---- a record's program */

struct cfa_arch {
	uint16_t machine;
	uint8_t sp, fp, ra;	/* DWARF's numbers of the registers */
	bool ra_at_cfa_8;	/* calls push the return address: it is at cfa - 8, always */
	bool ra_signed;		/* DW_CFA_AARCH64_negate_ra_state may stand in the program */
	bool plt_expression;
};

const struct cfa_arch *cfa_arch__of(uint16_t machine);

enum cfa_slot_kind { SLOT_SAME = 0, SLOT_AT_CFA, SLOT_AT_FP, SLOT_UNDEFINED, SLOT_OTHER };

struct cfa_slot {
	uint8_t kind;		/* enum cfa_slot_kind */
	int32_t off;
};

enum cfa_kind { CFA_UNSET = 0, CFA_REGISTER, CFA_KNOWN_EXPRESSION, CFA_OTHER };

struct cfa_state {
	uint8_t kind;		/* enum cfa_kind */
	uint8_t known;		/* CFA_KNOWN_EXPRESSION: enum mt_cfa */
	uint64_t reg;		/* CFA_REGISTER */
	int64_t off, post_off;
	struct cfa_slot ra, fp;
};

struct eh_cie {
	uint32_t at;		/* where in the section it begins: FDEs name it so */
	uint32_t code_align;
	int32_t data_align;
	uint8_t enc;		/* of addresses, DW_EH_PE_* */
	bool has_size;		/* 'z': FDEs have augmentation data, and say how long it is */
	bool signal;		/* 'S' */
	bool usable;
	bool ra_known;		/* the return address's column is the usual one */
	struct cfa_state init;
};

/* Gets the ranges in order, without gaps. */
typedef void cfa_range_fn(void *arg, uint64_t lo, uint64_t hi, const struct mt_rule *rule);

/* Runs a CIE's program, which leaves cie->init behind. False: it makes no sense. */
bool cfa__run_initial(const struct cfa_arch *arch, struct eh_cie *cie, struct bytes insns);
/* Runs an FDE's over [lo, hi), and calls fn. False: it makes no sense. */
bool cfa__run(const struct cfa_arch *arch, const struct eh_cie *cie, struct bytes insns, uint64_t insns_vaddr,
	      uint64_t lo, uint64_t hi, cfa_range_fn *fn, void *arg);

/* ---- the section */

struct eh_fde {
	uint64_t lo, hi;
	uint32_t insns_at, insns_len;	/* in the section */
	uint32_t cie;
};

struct eh_frame {		/* all zero: none */
	struct elffile file;
	Elf_Data *data;		/* the section; NULL: there is none */
	uint64_t vaddr;
	bool ends_at_zero;	/* its length is not known: what follows the terminator is something else */
	struct vec(struct eh_cie) cies;
	struct vec(struct eh_fde) fdes;	/* sorted by lo; equal ones as they stand in the file */
	size_t n_seen, n_bad;
};

int eh_frame__read(const struct object *obj, const struct cfa_arch *arch, struct eh_frame *ret, struct err *e);
void eh_frame__done(struct eh_frame *f);
/* An encoded address that stands at vaddr. False if the encoding is none that files on disk use for code. */
bool eh_frame__address(struct bytes *b, uint8_t enc, uint64_t vaddr, uint64_t *ret);

#endif
