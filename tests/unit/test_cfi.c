// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Unwind rows: hand-made files of both machines with the rules written out,
 * and garbage survived. Real files: test_cfi_oracle.c.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <inttypes.h>
#include <sys/auxv.h>

#include "cfi_image.h"
#include "elf/cfi.h"
#include "util/util.h"

/* ---- hand-made files */

#define NOP_A64 0xd503201f
#define BL_A64 0x94000010
#define MOV_FP_SP_A64 0x910003fd
#define MOV_FP_X2_A64 0xaa0203fd
#define SUB_SP_64_A64 0xd10103ff

static struct cfi compile(const struct cfi_image *im, bool calls_only)
{
	_cleanup_err_ struct err e = {};
	_cleanup_free_ uint8_t *f = NULL;
	struct cfi c;
	size_t len;

	f = cfi_image__make(im, &len);
	cr_assert_eq(cfi_image__compile(f, len, calls_only, &c, &e), 0, "%s", err_msg(&e));
	return c;
}

static void expect_row(const struct cfi *c, size_t i, uint32_t at, struct mt_rule want)
{
	const struct mt_rule *got;

	cr_assert_lt(i, c->n_rows);
	got = cfi__rule(c, &c->rows[i]);
	cr_assert_eq(c->rows[i].pc, CFI_IMAGE_TEXT + (uint64_t)at, "row %zu begins at %#" PRIx64, i, c->rows[i].pc);
	cr_assert(!memcmp(got, &want, sizeof(want)), "row %zu: cfa %u%+d ra %u%+d fp %u%+d post %d", i,
		  got->cfa, got->cfa_off, got->ra, got->ra_off, got->fp, got->fp_off, got->post_off);
}

#define RULE(...) ((struct mt_rule){ __VA_ARGS__ })
#define NONE RULE(.cfa = MT_CFA_NONE)
#define X86(kind, off, ...) RULE(.cfa = kind, .cfa_off = off, .ra = MT_SAVED_AT_CFA, .ra_off = -8, ##__VA_ARGS__)

/* stp x29, x30, [sp, -32]!; mov x29, sp; bl; ldp; ret, and a function whose last instruction is a call */
static void make_arm64(struct cfi_bytes *eh, uint32_t code[64], struct cfi_image *im)
{
	size_t i, cie = put_plain_cie(eh, EM_AARCH64);

	for (i = 0; i < 64; i++)
		code[i] = NOP_A64;
	code[1] = MOV_FP_SP_A64;
	code[2] = BL_A64;
	code[10] = MOV_FP_SP_A64;
	code[11] = BL_A64;
	begin_fde(eh, cie, 32, 16);
	put_u8(eh, 0x2d, 0x41, 0x0e, 16, 0x9d, 2, 0x9e, 1);
	end_record(eh);
	begin_fde(eh, cie, 0, 20);
	put_u8(eh, 0x41, 0x0e, 32, 0x9d, 4, 0x9e, 3, 0x42, 0xde, 0xdd, 0x0e, 0);
	end_record(eh);
	*im = (struct cfi_image){ EM_AARCH64, eh->v, (uint8_t *)code, eh->n, 64 * 4, false, 0 };
}

Test(cfi, arm64_frame_records)
{
	struct cfi_bytes eh = {};
	struct cfi_image im;
	uint32_t code[64];
	struct cfi c;

	make_arm64(&eh, code, &im);
	c = compile(&im, false);
	cr_assert_eq(c.machine, EM_AARCH64);
	cr_assert_eq(c.n_rows, 5);
	expect_row(&c, 0, 0, RULE(.cfa = MT_CFA_SP));
	expect_row(&c, 1, 4,
		   RULE(.cfa = MT_CFA_SP, .cfa_off = 32, .ra = MT_SAVED_AT_CFA, .ra_off = -24, .fp = MT_SAVED_AT_CFA, .fp_off = -32, .record = 1));
	/* 12 bytes up to the next function are padding: its first rule is the same as the last one's */
	expect_row(&c, 2, 12, RULE(.cfa = MT_CFA_SP));
	expect_row(&c, 3, 36,
		   RULE(.cfa = MT_CFA_SP, .cfa_off = 16, .ra = MT_SAVED_AT_CFA, .ra_off = -8, .fp = MT_SAVED_AT_CFA, .fp_off = -16, .record = 1));
	expect_row(&c, 4, 48, NONE);
	cr_assert_eq(c.stats.n_fdes, 2);
	cr_assert_eq(c.stats.n_bad_fdes, 0);
	cr_assert_eq(c.stats.n_call_rows, 2);
	cr_assert_eq(c.stats.n_no_record, 0);
	cr_assert_null(cfi__find(&c, CFI_IMAGE_TEXT - 1));
	cr_assert_eq(cfi__find(&c, CFI_IMAGE_TEXT + 11), &c.rows[1]);
	cr_assert_eq(cfi__find(&c, CFI_IMAGE_TEXT + 12), &c.rows[2]);
	cr_assert_eq(cfi__find(&c, UINT64_MAX), &c.rows[4]);
	cfi__done(&c);
}

/* Saved side by side, and still no record: the frame pointer does not point there. */
Test(cfi, arm64_no_record_without_its_instruction)
{
	static const uint32_t instead[] = { NOP_A64, MOV_FP_X2_A64, MOV_FP_SP_A64 | 16 << 10 };
	struct cfi_bytes eh = {};
	struct cfi_image im;
	uint32_t code[64];
	struct cfi c;

	make_arm64(&eh, code, &im);
	for (size_t i = 0; i < ARRAY_SIZE(instead); i++) {
		code[1] = instead[i];
		c = compile(&im, false);
		cr_assert_eq(cfi__rule(&c, &c.rows[1])->record, 0, "%zu", i);
		cr_assert_eq(cfi__rule(&c, &c.rows[3])->record, 1, "that of another function is none of this one's");
		cr_assert_eq(c.stats.n_no_record, 1);
		cfi__done(&c);
	}
}

/* stp x29, x30, [sp, -32]!; mov x29, sp; sub sp, sp, 64; bl: the record stays where it is. */
Test(cfi, arm64_record_above_a_stack_pointer_that_moved)
{
	struct cfi_bytes eh = {};
	uint32_t code[64];
	struct cfi_image im = { EM_AARCH64, NULL, (uint8_t *)code, 0, sizeof(code), false, 0 };
	struct cfi c;
	size_t i, cie = put_plain_cie(&eh, EM_AARCH64);

	for (i = 0; i < 64; i++)
		code[i] = NOP_A64;
	code[1] = MOV_FP_SP_A64;
	code[2] = SUB_SP_64_A64;
	code[3] = BL_A64;
	begin_fde(&eh, cie, 0, 32);
	put_u8(&eh, 0x41, 0x0e, 32, 0x9d, 4, 0x9e, 3, 0x42, 0x0e, 96);
	end_record(&eh);
	im.eh = eh.v;
	im.eh_len = eh.n;
	c = compile(&im, false);
	expect_row(&c, 2, 12,
		   RULE(.cfa = MT_CFA_SP, .cfa_off = 96, .ra = MT_SAVED_AT_CFA, .ra_off = -24, .fp = MT_SAVED_AT_CFA, .fp_off = -32, .record = 1));
	cr_assert_eq(c.stats.n_no_record, 0);
	cfi__done(&c);
}

Test(cfi, arm64_calls_only)
{
	struct cfi_bytes eh = {};
	struct cfi_image im;
	uint32_t code[64];
	struct cfi c;

	make_arm64(&eh, code, &im);
	c = compile(&im, true);
	cr_assert_eq(c.n_rows, 3);
	cr_assert_eq(c.rows[0].pc, CFI_IMAGE_TEXT + 4);
	cr_assert_eq(cfi__rule(&c, &c.rows[0])->cfa_off, 32);
	cr_assert_eq(c.rows[1].pc, CFI_IMAGE_TEXT + 36);
	cr_assert_eq(cfi__rule(&c, &c.rows[1])->cfa_off, 16);
	expect_row(&c, 2, 48, NONE);
	/* the call that ends the second function: its return address is behind it */
	cr_assert_eq(cfi__rule(&c, cfi__find(&c, CFI_IMAGE_TEXT + 48 - 1))->cfa_off, 16);
	cr_assert_eq(c.stats.n_call_rows, 2);
	cfi__done(&c);
}

Test(cfi, every_call_of_arm64_counts)
{
	static const uint32_t calls[] = { 0x94000000, 0x97ffffff, 0xd63f0000, 0xd63f03c0, 0xd63f081f, 0xd63f0c1f,
					  0xd73f0801, 0xd73f0c01 };
	/* b, br, ret, retaa, braa, nop, blr's neighbour svc */
	static const uint32_t others[] = { 0x14000000, 0xd61f0000, 0xd65f03c0, 0xd65f0bff, 0xd71f0801, NOP_A64, 0xd4000001 };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(calls) + ARRAY_SIZE(others); i++) {
		bool is_call = i < ARRAY_SIZE(calls);
		struct cfi_bytes eh = {};
		struct cfi_image im;
		uint32_t code[64];
		struct cfi c;

		make_arm64(&eh, code, &im);
		code[2] = is_call ? calls[i] : others[i - ARRAY_SIZE(calls)];
		c = compile(&im, true);
		cr_assert_eq(c.stats.n_call_rows, 1 + is_call, "%#x", code[2]);
		cr_assert_eq(c.n_rows, 2 + is_call);
		cfi__done(&c);
	}
}

Test(cfi, first_frames_and_signal_frames_stay)
{
	static const uint8_t code[256];
	struct cfi_bytes eh = {};
	size_t cie = put_plain_cie(&eh, EM_AARCH64), signal;
	struct cfi_image im = { .machine = EM_AARCH64, .code = code, .code_len = sizeof(code) };
	struct cfi c;

	begin_fde(&eh, cie, 0, 16);
	put_u8(&eh, 0x07, 30);
	end_record(&eh);
	begin_fde(&eh, cie, 16, 16);
	end_record(&eh);
	signal = begin_cie(&eh, EM_AARCH64, true);
	put_u8(&eh, 0x0c, 31, 0);
	end_record(&eh);
	begin_fde(&eh, signal, 64, 16);
	put_u8(&eh, 0x41, 0x0e, 16);
	end_record(&eh);
	im.eh = eh.v;
	im.eh_len = eh.n;
	c = compile(&im, true);
	cr_assert_eq(c.n_rows, 3);
	expect_row(&c, 0, 0, RULE(.cfa = MT_CFA_STOP));
	expect_row(&c, 1, 64, RULE(.cfa = MT_CFA_SIGNAL));
	expect_row(&c, 2, 80, NONE);
	cfi__done(&c);
	c = compile(&im, false);
	cr_assert_eq(c.n_rows, 5);
	expect_row(&c, 1, 16, RULE(.cfa = MT_CFA_SP));
	expect_row(&c, 2, 32, NONE);
	cfi__done(&c);
}

/* Each function's first address has a row, with the rule that held there anyway, and whether a call may end there. */
Test(cfi, where_functions_begin)
{
	struct cfi_bytes eh = {};
	struct cfi_image im;
	uint32_t code[64];
	struct cfi c;

	for (int calls_only = 0; calls_only < 2; calls_only++)
		for (int is_call = 0; is_call < 2; is_call++) {
			const struct cfi_row *row;

			eh = (struct cfi_bytes){};
			make_arm64(&eh, code, &im);
			if (is_call)
				code[7] = BL_A64;
			c = compile(&im, calls_only);
			cr_assert_eq(c.starts.n, 2);
			cr_expect_eq(c.starts.v[0].pc, CFI_IMAGE_TEXT);
			cr_expect_not(c.starts.v[0].after_call, "nothing is before it");
			cr_expect_eq(c.starts.v[1].pc, CFI_IMAGE_TEXT + 32);
			cr_expect_eq(c.starts.v[1].after_call, is_call);
			cfi__mark_starts(&c);
			for (size_t i = 0; i + 1 < c.n_rows; i++)
				cr_expect_lt(c.rows[i].pc, c.rows[i + 1].pc);
			cr_expect_eq(cfi__rule(&c, &c.rows[c.n_rows - 1])->cfa, MT_CFA_NONE);
			row = cfi__find(&c, CFI_IMAGE_TEXT + 32);
			cr_expect_eq(row->pc, CFI_IMAGE_TEXT + 32);
			cr_expect_eq(row->flags, MT_ROW_STARTS | (is_call ? MT_ROW_AFTER_CALL : 0));
			cr_expect_eq(cfi__find(&c, CFI_IMAGE_TEXT)->flags, MT_ROW_STARTS);
			cr_expect_eq(cfi__find(&c, CFI_IMAGE_TEXT + 12)->flags, 0);
			/* the call's own rule is what it was */
			cr_expect_eq(cfi__rule(&c, cfi__find(&c, CFI_IMAGE_TEXT + 11))->cfa_off, 32);
			cfi__done(&c);
		}
}

/* Handlers return to a signal frame's first instruction: nobody has made that up. */
Test(cfi, a_signal_frame_is_no_beginning)
{
	static const uint8_t code[256];
	struct cfi_bytes eh = {};
	struct cfi_image im = { .machine = EM_AARCH64, .code = code, .code_len = sizeof(code) };
	size_t signal = begin_cie(&eh, EM_AARCH64, true);
	struct cfi c;

	put_u8(&eh, 0x0c, 31, 0);
	end_record(&eh);
	begin_fde(&eh, signal, 64, 16);
	end_record(&eh);
	im.eh = eh.v;
	im.eh_len = eh.n;
	c = compile(&im, false);
	cr_expect_eq(c.starts.n, 0);
	cfi__done(&c);
}

Test(cfi, calls_of_x86_64_that_end_at_a_beginning)
{
	static const struct {
		uint8_t byte[8];
		size_t n;
		bool is_call;
	} cases[] = {
		{ { 0xe8, 1, 2, 3, 4 }, 5, true }, /* call */
		{ { 0xff, 0xd0 }, 2, true }, /* *rax */
		{ { 0x41, 0xff, 0xd3 }, 3, true }, /* *r11 */
		{ { 0xff, 0x10 }, 2, true }, /* *(rax) */
		{ { 0xff, 0x50, 0x08 }, 3, true }, /* *8(rax) */
		{ { 0xff, 0x90, 1, 2, 3, 4 }, 6, true }, /* *disp32(rax) */
		{ { 0xff, 0x15, 1, 2, 3, 4 }, 6, true }, /* *disp32(rip) */
		{ { 0xff, 0x14, 0xc8 }, 3, true }, /* *(rax,rcx,8) */
		{ { 0xff, 0x54, 0xc8, 0x08 }, 4, true },
		{ { 0xff, 0x94, 0xc8, 1, 2, 3, 4 }, 7, true },
		{ { 0xff, 0x14, 0x25, 1, 2, 3, 4 }, 7, true }, /* *disp32 */
		{ { 0xc3 }, 1, false }, /* ret */
		{ { 0xe9, 1, 2, 3, 4 }, 5, false }, /* jmp */
		{ { 0xff, 0xe0 }, 2, false }, /* jmp *rax */
		{ { 0x0f, 0x0b }, 2, false }, /* ud2 */
		{ { 0xff, 0xd0, 0x90 }, 3, false }, /* a call, and padding */
		{ { 0xe8, 1, 2, 3, 4, 0x90 }, 6, false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint8_t code[64];
		struct cfi_bytes eh = {};
		size_t cie = put_plain_cie(&eh, EM_X86_64);
		struct cfi_image im = { .machine = EM_X86_64, .code = code, .code_len = sizeof(code) };
		struct cfi c;

		memset(code, 0x90, sizeof(code));
		memcpy(code + 32 - cases[i].n, cases[i].byte, cases[i].n);
		begin_fde(&eh, cie, 0, 32);
		end_record(&eh);
		begin_fde(&eh, cie, 32, 16);
		end_record(&eh);
		im.eh = eh.v;
		im.eh_len = eh.n;
		c = compile(&im, false);
		cr_assert_eq(c.starts.n, 2);
		cr_expect_eq(c.starts.v[1].after_call, cases[i].is_call, "case %zu", i);
		cfi__done(&c);
	}
}

Test(cfi, x86_64_rules)
{
	static const uint8_t code[512];
	struct cfi_bytes eh = {};
	size_t cie = put_plain_cie(&eh, EM_X86_64);
	struct cfi_image im = { .machine = EM_X86_64, .code = code, .code_len = sizeof(code) };
	struct cfi c;

	/* push rbp; mov rbp, rsp; push rbx; ...; leave; ret, and a cold part behind the return */
	begin_fde(&eh, cie, 0, 64);
	put_u8(&eh, 0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6, 0x45, 0x83, 3, 0x50, 0x0a, 0x0c, 7, 8, 0xc6, 0x41, 0x0b);
	end_record(&eh);
	/* a function that aligns its stack */
	begin_fde(&eh, cie, 64, 64);
	put_u8(&eh, 0x45, 0x0c, 10, 0, 0x4a, 0x10, 6, 2, 0x76, 0, 0x46, 0x0f, 3, 0x76, 0x78, 0x06);
	end_record(&eh);
	/* the PLT, whole and with endbr64 */
	begin_fde(&eh, cie, 128, 32);
	put_u8(&eh, 0x0e, 16, 0x46, 0x0e, 24, 0x4a, 0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22);
	end_record(&eh);
	begin_fde(&eh, cie, 160, 32);
	put_u8(&eh, 0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x39, 0x2a, 0x33, 0x24, 0x22);
	end_record(&eh);
	/* *(rsp + 128) + 8 */
	begin_fde(&eh, cie, 192, 16);
	put_u8(&eh, 0x0f, 6, 0x77, 0x80, 0x01, 0x06, 0x23, 8);
	end_record(&eh);
	/* what is not followed: the return address elsewhere, an unknown expression, an offset too large */
	begin_fde(&eh, cie, 208, 16);
	put_u8(&eh, 0x90, 2);
	end_record(&eh);
	begin_fde(&eh, cie, 224, 16);
	put_u8(&eh, 0x0f, 3, 0x77, 8, 0x20);
	end_record(&eh);
	begin_fde(&eh, cie, 240, 16);
	put_u8(&eh, 0x0e, 0x80, 0x80, 0x80, 0x80, 0x08);
	end_record(&eh);
	/* the frame pointer in another register */
	begin_fde(&eh, cie, 256, 16);
	put_u8(&eh, 0x09, 6, 3);
	end_record(&eh);
	im.eh = eh.v;
	im.eh_len = eh.n;
	c = compile(&im, false);
	expect_row(&c, 0, 0, X86(MT_CFA_SP, 8));
	expect_row(&c, 1, 1, X86(MT_CFA_SP, 16, .fp = MT_SAVED_AT_CFA, .fp_off = -16));
	expect_row(&c, 2, 4, X86(MT_CFA_FP, 16, .fp = MT_SAVED_AT_CFA, .fp_off = -16, .record = 1));
	expect_row(&c, 3, 25, X86(MT_CFA_SP, 8));
	expect_row(&c, 4, 26, X86(MT_CFA_FP, 16, .fp = MT_SAVED_AT_CFA, .fp_off = -16, .record = 1));
	expect_row(&c, 5, 64, X86(MT_CFA_SP, 8));
	expect_row(&c, 6, 69, RULE(.cfa = MT_CFA_UNSUPPORTED));
	expect_row(&c, 7, 85, X86(MT_CFA_AT_FP, -8, .fp = MT_SAVED_AT_FP));
	expect_row(&c, 8, 128, X86(MT_CFA_SP, 16));
	expect_row(&c, 9, 134, X86(MT_CFA_SP, 24));
	expect_row(&c, 10, 144, X86(MT_CFA_PLT, 11));
	expect_row(&c, 11, 160, X86(MT_CFA_PLT, 9));
	expect_row(&c, 12, 192, X86(MT_CFA_AT_SP, 128, .post_off = 8));
	expect_row(&c, 13, 208, RULE(.cfa = MT_CFA_UNSUPPORTED));
	expect_row(&c, 14, 256, X86(MT_CFA_SP, 8, .fp = MT_SAVED_UNSUPPORTED));
	expect_row(&c, 15, 272, NONE);
	cr_assert_eq(c.n_rows, 16);
	cr_assert_eq(c.stats.n_unsupported, 5);
	cr_assert_eq(c.stats.n_bad_fdes, 0);
	cfi__done(&c);
}

Test(cfi, x86_64_calls)
{
	uint8_t code[256] = {};
	struct cfi_bytes eh = {};
	size_t cie = put_plain_cie(&eh, EM_X86_64);
	struct cfi_image im = { .machine = EM_X86_64, .code = code, .code_len = sizeof(code) };
	struct cfi c;

	/* call rax as the last two bytes of the row; ff of the next row does not count for the one before */
	code[14] = 0xff;
	code[15] = 0xd0;
	code[31] = 0xff;
	code[32] = 0x15;
	code[48] = 0xe8;
	code[64] = 0xff;	/* jmp */
	code[65] = 0xe0;
	begin_fde(&eh, cie, 0, 96);
	put_u8(&eh, 0x50, 0x0e, 16, 0x50, 0x0e, 24, 0x50, 0x0e, 32, 0x50, 0x0e, 40);
	end_record(&eh);
	im.eh = eh.v;
	im.eh_len = eh.n;
	c = compile(&im, true);
	expect_row(&c, 0, 0, X86(MT_CFA_SP, 8));
	expect_row(&c, 1, 48, X86(MT_CFA_SP, 32));
	expect_row(&c, 2, 96, NONE);
	cr_assert_eq(c.stats.n_call_rows, 2);
	cr_assert_eq(c.stats.n_no_record, 2);
	cfi__done(&c);
}

/* Where records overlap the first by address wins; of equal ones the first in the file; the rest of the other holds. */
Test(cfi, overlaps_duplicates_and_holes)
{
	static const uint8_t code[512];
	struct cfi_bytes eh = {};
	size_t cie = put_plain_cie(&eh, EM_X86_64);
	struct cfi_image im = { .machine = EM_X86_64, .code = code, .code_len = sizeof(code) };
	struct cfi c;

	begin_fde(&eh, cie, 0, 48);
	put_u8(&eh, 0x0e, 16);
	end_record(&eh);
	begin_fde(&eh, cie, 32, 64);
	put_u8(&eh, 0x0e, 32);
	end_record(&eh);
	begin_fde(&eh, cie, 0, 40);
	put_u8(&eh, 0x0e, 48);
	end_record(&eh);
	/* no such instruction: no rule there, and the neighbour's does not stretch over it */
	begin_fde(&eh, cie, 96, 8);
	put_u8(&eh, 0x42, 0x3f);
	end_record(&eh);
	begin_fde(&eh, cie, 104, 16);
	put_u8(&eh, 0x0e, 32);
	end_record(&eh);
	/* thrown away by the linker; outside the code; no such CIE */
	begin_fde(&eh, cie, (uint32_t)-CFI_IMAGE_TEXT, 16);
	end_record(&eh);
	begin_fde(&eh, cie, sizeof(code) - 8, 16);
	end_record(&eh);
	begin_fde(&eh, cie + 4, 200, 16);
	end_record(&eh);
	im.eh = eh.v;
	im.eh_len = eh.n;
	c = compile(&im, false);
	expect_row(&c, 0, 0, X86(MT_CFA_SP, 16));
	expect_row(&c, 1, 48, X86(MT_CFA_SP, 32));
	expect_row(&c, 2, 96, NONE);
	expect_row(&c, 3, 104, X86(MT_CFA_SP, 32));
	expect_row(&c, 4, 120, NONE);
	cr_assert_eq(c.n_rows, 5);
	cr_assert_eq(c.stats.n_fdes, 8);
	cr_assert_eq(c.stats.n_bad_fdes, 3);
	cfi__done(&c);
}

/* To the CIE's rule, which need not be the default. */
Test(cfi, restored_registers)
{
	static const uint8_t code[64];
	struct cfi_bytes eh = {};
	size_t cie = begin_cie(&eh, EM_X86_64, false);
	struct cfi_image im = { .machine = EM_X86_64, .code = code, .code_len = sizeof(code) };
	struct cfi c;

	put_u8(&eh, 0x0c, 7, 32, 0x90, 1, 0x86, 2);
	end_record(&eh);
	begin_fde(&eh, cie, 0, 64);
	put_u8(&eh, 0x08, 6, 0x90, 3, 0x50, 0xc6, 0x50, 0xd0, 0x50, 0x08, 6, 0x50 - 8, 0x06, 6);
	end_record(&eh);
	im.eh = eh.v;
	im.eh_len = eh.n;
	c = compile(&im, false);
	cr_assert_eq(c.n_rows, 5);
	expect_row(&c, 0, 0, RULE(.cfa = MT_CFA_UNSUPPORTED));
	expect_row(&c, 1, 32, X86(MT_CFA_SP, 32, .fp = MT_SAVED_AT_CFA, .fp_off = -16));
	expect_row(&c, 2, 48, X86(MT_CFA_SP, 32));
	expect_row(&c, 3, 56, X86(MT_CFA_SP, 32, .fp = MT_SAVED_AT_CFA, .fp_off = -16));
	expect_row(&c, 4, 64, NONE);
	cfi__done(&c);
}

Test(cfi, remembered_states_are_bounded)
{
	static const uint8_t code[64];
	struct cfi_bytes eh = {};
	size_t i, cie = put_plain_cie(&eh, EM_X86_64);
	struct cfi_image im = { .machine = EM_X86_64, .code = code, .code_len = sizeof(code) };
	struct cfi c;

	begin_fde(&eh, cie, 0, 16);
	for (i = 0; i < 1000; i++)
		put_u8(&eh, 0x0a);
	end_record(&eh);
	begin_fde(&eh, cie, 16, 16);
	put_u8(&eh, 0x0b);
	end_record(&eh);
	im.eh = eh.v;
	im.eh_len = eh.n;
	c = compile(&im, false);
	cr_assert_eq(c.n_rows, 0);
	cr_assert_eq(c.stats.n_bad_fdes, 2);
	cfi__done(&c);
}

Test(cfi, without_section_headers)
{
	struct cfi_bytes eh = {};
	struct cfi_image im;
	uint32_t code[64];
	struct cfi a, b;

	make_arm64(&eh, code, &im);
	put_u32(&eh, 0);
	/* behind the terminator is something else */
	put_u8(&eh, 1, 2, 3, 4, 5, 6, 7, 8);
	im.eh_len = eh.n;
	im.no_sections = true;
	a = compile(&im, false);
	im.no_sections = false;
	im.eh_len = eh.n - 8;
	b = compile(&im, false);
	cr_assert_eq(a.n_rows, 5);
	cr_assert_eq(a.n_rows, b.n_rows);
	cr_assert(!memcmp(a.rows, b.rows, a.n_rows * sizeof(*a.rows)));
	cr_assert_eq(a.stats.n_bad_fdes, 0);
	cfi__done(&a);
	cfi__done(&b);
}

Test(cfi, sigreturn_of_a_vdso)
{
	struct cfi_bytes eh = {};
	struct cfi_image im;
	uint32_t code[64];
	struct cfi c;

	make_arm64(&eh, code, &im);
	im.sigreturn = CFI_IMAGE_TEXT + 128;
	c = compile(&im, true);
	cr_assert_eq(c.n_rows, 5);
	expect_row(&c, 2, 48, NONE);
	expect_row(&c, 3, 124, RULE(.cfa = MT_CFA_SIGNAL));
	expect_row(&c, 4, 136, NONE);
	cfi__done(&c);
	/* in the middle of other rows */
	im.sigreturn = CFI_IMAGE_TEXT + 8;
	c = compile(&im, false);
	expect_row(&c, 0, 0, RULE(.cfa = MT_CFA_SP));
	expect_row(&c, 1, 4, RULE(.cfa = MT_CFA_SIGNAL));
	expect_row(&c, 2, 16, RULE(.cfa = MT_CFA_SP));
	cr_assert_eq(c.n_rows, 5);
	cfi__done(&c);
	/* alone, outside the code */
	im.sigreturn = 4;
	im.eh_len = 0;
	c = compile(&im, false);
	cr_assert_eq(c.n_rows, 0);
	cfi__done(&c);
}

Test(cfi, own_vdso)
{
	const uint8_t *vdso = (const uint8_t *)getauxval(AT_SYSINFO_EHDR);
	_cleanup_err_ struct err e = {};
	size_t i, n_signal = 0, len;
	struct cfi c;

	if (!vdso)
		cr_skip("this kernel has no vdso");
	len = ((const Elf64_Ehdr *)vdso)->e_shoff + ((const Elf64_Ehdr *)vdso)->e_shnum * sizeof(Elf64_Shdr);
	cr_assert_eq(cfi_image__compile(vdso, len, true, &c, &e), 0, "%s", err_msg(&e));
	for (i = 0; i < c.n_rows; i++)
		n_signal += cfi__rule(&c, &c.rows[i])->cfa == MT_CFA_SIGNAL;
	cr_assert_gt(c.n_rows, 0);
	if (c.machine == EM_AARCH64)
		cr_assert_eq(n_signal, 1);
	cfi__done(&c);
}

Test(cfi, garbage)
{
	struct cfi_bytes eh = {};
	struct cfi_image im;
	uint32_t code[64];
	size_t i, len, at;
	uint8_t *f;

	make_arm64(&eh, code, &im);
	f = cfi_image__make(&im, &len);
	for (i = 0; i <= len; i++) {
		/* of its own size: what reads beyond it is caught */
		_cleanup_free_ uint8_t *cut = malloc(MAX(i, (size_t)1));
		_cleanup_err_ struct err e = {};
		struct cfi c = {};

		memcpy(cut, f, i);
		if (!cfi_image__compile(cut, i, false, &c, &e))
			cr_assert(!c.n_rows || cfi__rule(&c, &c.rows[c.n_rows - 1])->cfa == MT_CFA_NONE);
		else
			cr_assert(err_msg(&e) && !c.rows);
		cfi__done(&c);
	}
	for (at = 0; at < len * 8; at++) {
		_cleanup_err_ struct err e = {};
		struct cfi c = {};

		f[at / 8] ^= 1 << at % 8;
		cfi_image__compile(f, len, at & 1, &c, &e);
		f[at / 8] ^= 1 << at % 8;
		for (i = 1; i < c.n_rows; i++)
			cr_assert_lt(c.rows[i - 1].pc, c.rows[i].pc);
		cfi__done(&c);
	}
	free(f);
}

Test(cfi, errors_tell_what_is_wrong)
{
	struct cfi_image im = { .machine = EM_AARCH64 };
	struct cfi c;
	size_t len;
	uint8_t *f;

	cr_assert_eq(cfi_image__compile("#!/bin/sh\n", 10, false, &c, NULL), -ENOTSUP);
	f = cfi_image__make(&im, &len);
	((Elf64_Ehdr *)f)->e_machine = EM_RISCV;
	cr_assert_eq(cfi_image__compile(f, len, false, &c, NULL), -ENOTSUP);
	((Elf64_Ehdr *)f)->e_machine = EM_AARCH64;
	((Elf64_Ehdr *)f)->e_shnum = ((Elf64_Ehdr *)f)->e_phnum = 0;
	cr_assert_eq(cfi_image__compile(f, len, false, &c, NULL), -ENOENT);
	free(f);
}
