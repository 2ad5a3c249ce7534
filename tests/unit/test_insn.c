// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Where single instructions lead to, and what they do to the stack pointer. */
#include "plan_made.h"

static enum flow flow(uint16_t machine, uint64_t vaddr, const void *code, size_t len, uint64_t *ret_target)
{
	struct decoder *d = decoder__new(machine);
	struct insn i;

	cr_assert_not_null(d);
	i = decoder__at(d, code, len, vaddr);
	decoder__free(d);
	*ret_target = i.target;
	return i.flow;
}

Test(insn, arm64)
{
	static const struct {
		uint32_t word;
		enum flow flow;
		uint64_t target;
	} cases[] = {
		{ 0x17ffffff, FLOW_JUMP, 0xffc },	/* b .-4 */
		{ 0x94000002, FLOW_CALL, 0x1008 },	/* bl .+8 */
		{ 0x54ffffe0, FLOW_BRANCH, 0xffc },	/* b.eq .-4 */
		{ 0xb5000040, FLOW_BRANCH, 0x1008 },	/* cbnz x0, .+8 */
		{ 0x37000040, FLOW_BRANCH, 0x1008 },	/* tbnz w0, #0, .+8 */
		{ 0xd63f0000, FLOW_CALL, 0 },		/* blr x0 */
		{ 0xd73f0801, FLOW_CALL, 0 },		/* blraa x0, x1 */
		{ 0xd61f0000, FLOW_INDIRECT, 0 },	/* br x0 */
		{ 0xd65f03c0, FLOW_RETURN, 0 },		/* ret */
		{ 0xd65f0bff, FLOW_RETURN_AUTH, 0 },	/* retaa */
		{ 0xd65f0fff, FLOW_RETURN_AUTH, 0 },	/* retab */
		{ 0xd65f0220, FLOW_INDIRECT, 0 },	/* ret x17 */
		{ 0xd503233f, FLOW_NEXT, 0 },		/* paciasp */
		{ 0xd503201f, FLOW_NOP, 0 },		/* nop */
		{ 0xd4000001, FLOW_NEXT, 0 },		/* svc #0 */
		{ 0xd4200000, FLOW_STOP, 0 },		/* brk #0 */
		{ 0x00000000, FLOW_STOP, 0 },		/* udf #0 */
		{ 0xa9be7bfd, FLOW_NEXT, 0 },		/* stp x29, x30, [sp, #-32]! */
		{ 0xd69f03e0, FLOW_INDIRECT, 0 },	/* eret */
		{ 0x02345678, FLOW_BAD, 0 },
	};
	uint64_t target;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		cr_assert_eq(flow(EM_AARCH64, 0x1000, &cases[i].word, 4, &target), cases[i].flow, "%#x", cases[i].word);
		cr_assert_eq(target, cases[i].target, "%#x", cases[i].word);
	}
	cr_assert_eq(flow(EM_AARCH64, 0x1000, &cases[0].word, 3, &target), FLOW_BAD);
}

Test(insn, plt_entries)
{
	/* at 0xc9a0: adrp x16, 0x37000; ldr x17, [x16, #168]; add x16, x16, #0xa8; br x17 */
	static const uint32_t arm64[] = { 0xf0000150, 0xf9405611, 0x9102a210, 0xd61f0220 };
	static const uint8_t x86[] = { 0xff, 0x25, 0x10, 0x00, 0x00, 0x00 };	/* jmp *0x10(%rip) */
	uint64_t slot;

	cr_assert_eq(flow(EM_AARCH64, 0xc9a0, arm64, sizeof(arm64), &slot), FLOW_SLOT);
	cr_assert_eq(slot, 0x370a8);
	cr_assert_eq(flow(EM_X86_64, 0x1000, x86, sizeof(x86), &slot), FLOW_SLOT);
	cr_assert_eq(slot, 0x1016);
}

Test(insn, no_decoder)
{
	cr_assert_null(decoder__new(EM_RISCV));
}

Test(insn, arm64_stack_pointer)
{
	static const struct {
		uint32_t word;
		int32_t change;
		bool lost;
	} cases[] = {
		{ 0xa9bc7bfd, -64, false },	/* stp x29, x30, [sp, #-64]! */
		{ 0xa8c47bfd, 64, false },	/* ldp x29, x30, [sp], #64 */
		{ 0xa9037bfd, 0, false },	/* stp x29, x30, [sp, #48] */
		{ 0x6dbf27e8, -16, false },	/* stp d8, d9, [sp, #-16]! */
		{ 0xadbf27e8, -32, false },	/* stp q8, q9, [sp, #-32]! */
		{ 0xf81f0ffe, -16, false },	/* str x30, [sp, #-16]! */
		{ 0xf84107fe, 16, false },	/* ldr x30, [sp], #16 */
		{ 0xf9000fe0, 0, false },	/* str x0, [sp, #24] */
		{ 0xd10083ff, -32, false },	/* sub sp, sp, #32 */
		{ 0x914007ff, 4096, false },	/* add sp, sp, #1, lsl #12 */
		{ 0x910003bf, 0, true },	/* mov sp, x29 */
		{ 0xcb2063ff, 0, true },	/* sub sp, sp, x0 */
		{ 0x927cec1f, 0, true },	/* and sp, x0, #~15 */
		{ 0x910003fd, 0, false },	/* mov x29, sp */
		{ 0xf10083ff, 0, false },	/* cmp sp, #32 */
		{ 0xeb2063ff, 0, false },	/* cmp sp, x0 */
		{ 0xf27cec1f, 0, false },	/* tst x0, #~15 */
	};
	struct decoder *d = decoder__new(EM_AARCH64);

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct insn n = decoder__at(d, (const uint8_t *)&cases[i].word, 4, 0x1000);

		cr_assert_eq(n.sp_change, cases[i].change, "%#x: %d", cases[i].word, n.sp_change);
		cr_assert_eq(n.sp_lost, cases[i].lost, "%#x", cases[i].word);
	}
	decoder__free(d);
}
