// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns a window of a file's code, and says whether a call stands in a range, and
 * where a function's frame pointer points to.
 *
 * What always holds: a range that holds a call is never said to hold none. On
 * arm64 instructions have four bytes and the answer is exact, but for data
 * between code. On x86_64 nothing is decoded: any byte that could begin a call
 * counts, be it the middle of another instruction. What cannot be read, or
 * would take more reading than one file is granted, counts as well.
 */
#include <elf.h>

#include "elf/cfi_parts.h"

#define WINDOW_BYTES (256u << 10)

void calls__init(struct calls *c, const struct object *obj)
{
	*c = (struct calls){ .obj = obj, .budget_bytes = CFI_MAX_CODE_BYTES };
}

void calls__done(struct calls *c)
{
	free(c->buf);
	c->buf = NULL;
}

/* Reading and searching both count: records that overlap and fail could have the same code searched again and again. */
static bool spend(struct calls *c, uint64_t bytes)
{
	if (bytes > c->budget_bytes)
		return false;
	c->budget_bytes -= bytes;
	return true;
}

/* The segment with the code at an address; NULL: it is not in the file. */
static const struct object_segment *segment_at(const struct calls *c, uint64_t addr)
{
	for (size_t i = 0; i < c->obj->n_segments; i++) {
		const struct object_segment *s = &c->obj->segments[i];

		if (s->exec && addr >= s->vaddr && addr - s->vaddr < s->file_size)
			return s;
	}
	return NULL;
}

/* The code from lo on, at most up to hi; NULL if it is not in the file. */
static const uint8_t *code_at(struct calls *c, uint64_t lo, uint64_t hi, size_t *ret_len)
{
	const struct object_segment *s;
	uint64_t len;

	if (lo < c->buf_lo || lo >= c->buf_hi || (hi > c->buf_hi && c->buf_hi - lo < 16)) {
		s = segment_at(c, lo);
		len = s ? MIN(s->file_size - (lo - s->vaddr), (uint64_t)WINDOW_BYTES) : 0;
		if (!s || !spend(c, len))
			return NULL;
		if (!c->buf)
			c->buf = xmalloc(WINDOW_BYTES);
		c->buf_lo = c->buf_hi = 0;
		if (object__read_at(c->obj, s->file_off + (lo - s->vaddr), c->buf, len))
			return NULL;
		c->buf_lo = lo;
		c->buf_hi = lo + len;
	}
	*ret_len = MIN(hi, c->buf_hi) - lo;
	return spend(c, *ret_len) ? c->buf + (lo - c->buf_lo) : NULL;
}

/* bl; blr; blraa, blrab and their forms without a modifier */
static bool is_arm64_call(uint32_t insn)
{
	return (insn & 0xfc000000) == 0x94000000 || (insn & 0xfffffc1f) == 0xd63f0000 ||
	       (insn & 0xfefff800) == 0xd63f0800;
}

static bool arm64_call_in(const uint8_t *code, size_t len, size_t *ret_used)
{
	size_t i;

	for (i = 0; i + 4 <= len; i += 4) {
		uint32_t insn;

		memcpy(&insn, code + i, sizeof(insn));
		if (is_arm64_call(insn))
			return true;
	}
	*ret_used = i;
	return false;
}

/* e8: call rel32; ff /2: call through a register or memory */
static bool x86_64_call_in(const uint8_t *code, size_t len, size_t *ret_used)
{
	size_t i;

	for (i = 0; i < len; i++) {
		if (code[i] == 0xe8)
			return true;
		if (code[i] == 0xff && i + 1 == len)
			break;
		if (code[i] == 0xff && (code[i + 1] & 0x38) == 0x10)
			return true;
	}
	*ret_used = i;
	return false;
}

bool calls__in(struct calls *c, uint64_t lo, uint64_t hi)
{
	bool arm64 = c->obj->machine == EM_AARCH64;

	if (arm64)
		lo = (lo + 3) & ~3ull;
	while (lo < hi) {
		size_t len, used;
		const uint8_t *code = code_at(c, lo, hi, &len);

		if (!code || (arm64 ? arm64_call_in(code, len, &used) : x86_64_call_in(code, len, &used)))
			return true;
		/*
		 * half an instruction: at the range's very end it can be no call, at the window's
		 * end it is read again
		 */
		if (len == hi - lo)
			return false;
		if (!used)
			return true;
		lo += used;
	}
	return false;
}

/* How long an x86_64 instruction is that begins with one byte and this one, which says what it works on. */
static size_t x86_64_modrm_len(uint8_t modrm, uint8_t sib)
{
	static const uint8_t disp[] = { 0, 1, 4, 0 };
	uint8_t mod = modrm >> 6, rm = modrm & 7;

	if (mod == 3)
		return 2;
	if (rm == 4)
		return 3 + (!mod && (sib & 7) == 5 ? 4 : disp[mod]);
	return 2 + (!mod && rm == 5 ? 4 : disp[mod]);
}

#define X86_64_MAX_CALL 7	/* bytes, without prefixes, which come first */

static bool x86_64_call_ends(const uint8_t *code, size_t len)
{
	if (len >= 5 && code[len - 5] == 0xe8)
		return true;
	for (size_t n = 2; n <= MIN(len, X86_64_MAX_CALL); n++) {
		const uint8_t *p = code + len - n;

		if (p[0] == 0xff && (p[1] & 0x38) == 0x10 && x86_64_modrm_len(p[1], n > 2 ? p[2] : 0) == n)
			return true;
	}
	return false;
}

bool calls__ends_at(struct calls *c, uint64_t pc)
{
	size_t want = c->obj->machine == EM_AARCH64 ? 4 : X86_64_MAX_CALL, len;
	const struct object_segment *s = segment_at(c, pc);
	const uint8_t *code;
	uint32_t insn;

	/* nothing lies before a segment's beginning */
	if (s)
		want = MIN(want, pc - s->vaddr);
	code = want ? code_at(c, pc - want, pc, &len) : NULL;
	if (!code || len != want)
		return want;
	if (c->obj->machine != EM_AARCH64)
		return x86_64_call_ends(code, len);
	if (len < sizeof(insn))
		return false;
	memcpy(&insn, code, sizeof(insn));
	return is_arm64_call(insn);
}

#define ARM64_ADD_FP_SP 0x910003fdu	/* add x29, sp, #0, which is also mov x29, sp */
#define ARM64_ADD_MAX 4095
#define ARM64_FP 29

static bool is_arm64_branch(uint32_t insn)
{
	/* b, bl; b.cond, bc.cond: no register where the others have theirs */
	return (insn & 0x7c000000) == 0x14000000 || (insn & 0xff000000) == 0x54000000;
}

/* A vector register's number is no frame pointer, but for what moves it to a general one. */
static bool is_arm64_vector(uint32_t insn)
{
	bool load = (insn & 0x0a000000) == 0x08000000;

	if (load)
		return insn & 1u << 26;
	return (insn & 0x0e000000) == 0x0e000000 && (insn & 0x7f20fc00) != 0x1e200000 &&
	       (insn & 0xbfe0ec00) != 0x0e002c00;
}

/* Saves or restores the two: stp, ldp x29, x30, [sp...] */
static bool is_arm64_record(uint32_t insn)
{
	return (insn & 0xfe007fff) == 0xa8007bfd;
}

/* May the instruction change x29? Yes, also where that is not easily known. */
static bool writes_arm64_fp(uint32_t insn)
{
	bool pair = (insn & 0x3e400000) == 0x28400000;		/* ldp: a second register */
	/* ... and its base */
	bool moves = (insn & 0x3a000000) == 0x28000000 ? (insn & 0x00800000) != 0 : (insn & 0x3b200400) == 0x38000400;

	if (is_arm64_branch(insn) || is_arm64_record(insn))
		return false;
	return ((insn & 31) == ARM64_FP && !is_arm64_vector(insn)) || (pair && (insn >> 10 & 31) == ARM64_FP) ||
	       (moves && (insn >> 5 & 31) == ARM64_FP);
}

/* What one instruction says of a stretch of code: yes, no, or that it is up to the next one. */
enum scan { SCAN_ON, SCAN_YES, SCAN_NO };

/*
 * Goes through the code of [lo, hi) until one says yes or no; at_end: what is said if none does.
 * No, too, if it cannot be read.
 */
static bool scan(struct calls *c, uint64_t lo, uint64_t hi, enum scan (*look)(uint32_t insn, uint32_t want),
		 uint32_t want, bool at_end)
{
	lo = (lo + 3) & ~3ull;
	while (lo < hi) {
		size_t len, i;
		const uint8_t *code = code_at(c, lo, hi, &len);

		if (!code || len < 4)
			return false;
		for (i = 0; i + 4 <= len; i += 4) {
			enum scan said;
			uint32_t insn;

			memcpy(&insn, code + i, sizeof(insn));
			said = look(insn, want);
			if (said != SCAN_ON)
				return said == SCAN_YES;
		}
		lo += i;
	}
	return at_end;
}

/* The code must leave x29 alone, but for `want`... */
static enum scan keeps_fp(uint32_t insn, uint32_t want)
{
	return insn != want && writes_arm64_fp(insn) ? SCAN_NO : SCAN_ON;
}

/* ... which must come before all calls: one that comes first would be made with the caller's frame pointer. */
static enum scan comes_first(uint32_t insn, uint32_t want)
{
	return insn == want ? SCAN_YES : is_arm64_call(insn) ? SCAN_NO : SCAN_ON;
}

bool calls__sets_fp(struct calls *c, uint64_t lo, uint64_t hi, int64_t off, uint64_t fn_lo, uint64_t fn_hi)
{
	uint32_t want = ARM64_ADD_FP_SP | (uint32_t)off << 10;

	return off >= 0 && off <= ARM64_ADD_MAX && scan(c, lo, hi, comes_first, want, false) &&
	       scan(c, fn_lo, fn_hi, keeps_fp, want, true);
}
