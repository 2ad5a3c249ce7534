// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns nothing. A breakpoint on an instruction that the kernel can carry out
 * itself costs one exception; on any other, such as the `stp` that most
 * functions begin with on arm64 or the `endbr64` on x86_64, a second one for the
 * single step: 220 ns against 450 on arm64 (Neoverse, 6.18).
 *
 * What may stand before the chosen instruction is a short list of what compilers
 * put into prologues. Anything else ends the search: a wrong guess here would be
 * a wrong size in a report.
 */
#include <elf.h>
#include <string.h>

#include "bpf/abi.h"
#include "probe/entry.h"
#include "probe/insn.h"
#include "util/util.h"

#define MAX_INSNS 12
#define SP 31
#define LR 30

/* ---- arm64: instructions that the kernel simulates (arch/arm64/kernel/probes/decode-insn.c) */

static const struct {
	uint32_t mask, value;
	const char *name;
} simulated[] = {
	{ 0x9f000000, 0x90000000, "adrp" },
	{ 0x9f000000, 0x10000000, "adr" },
	{ 0x7f000000, 0x34000000, "cbz" },
	{ 0x7f000000, 0x35000000, "cbnz" },
	{ 0x7f000000, 0x36000000, "tbz" },
	{ 0x7f000000, 0x37000000, "tbnz" },
	{ 0xff000010, 0x54000000, "b.cond" },
	{ 0xfc000000, 0x14000000, "b" },
	/* not `ldr literal`: kernels from 6.12 on, and stable ones, refuse a uprobe there */
};

static const char *simulated_name(uint32_t w)
{
	for (size_t i = 0; i < ARRAY_SIZE(simulated); i++)
		if ((w & simulated[i].mask) == simulated[i].value)
			return simulated[i].name;
	return NULL;
}

/* ---- arm64: instructions of a prologue */

static int32_t signed_field(uint32_t w, unsigned int shift, unsigned int bits)
{
	uint32_t v = w >> shift & ((1u << bits) - 1), sign = 1u << (bits - 1);

	return (int32_t)(v ^ sign) - (int32_t)sign;
}

/* Registers that carry arguments or the way back. */
static bool is_precious(uint32_t reg)
{
	return reg < 8 || reg == LR || reg == SP;
}

static bool stp_x(uint32_t w, int32_t *sp_change)
{
	uint32_t rn = w >> 5 & 31;

	if ((w & 0xffc00000) == 0xa9800000 && rn == SP)		/* stp x, x, [sp, #imm]! */
		*sp_change = signed_field(w, 15, 7) * 8;
	else if ((w & 0xffc00000) != 0xa9000000 || rn != SP)	/* stp x, x, [sp, #imm] */
		return false;
	return true;
}

static bool str_x(uint32_t w, int32_t *sp_change)
{
	uint32_t rn = w >> 5 & 31;

	if ((w & 0xffe00c00) == 0xf8000c00 && rn == SP)		/* str x, [sp, #imm]! */
		*sp_change = signed_field(w, 12, 9);
	else if ((w & 0xffc00000) != 0xf9000000 || rn != SP)	/* str x, [sp, #imm] */
		return false;
	return true;
}

static bool sub_sp(uint32_t w, int32_t *sp_change)
{
	if ((w & 0xff8003ff) != 0xd10003ff)
		return false;
	*sp_change = -(int32_t)((w >> 10 & 0xfff) << (w >> 22 & 1 ? 12 : 0));
	return true;
}

/* add x, sp, #imm (also: mov x29, sp); mov x, x; mov w, w; mrs x, tpidr_el0 */
static bool set_other(uint32_t w, int32_t *sp_change)
{
	bool known = (w & 0xff8003e0) == 0x910003e0 || (w & 0xffe0ffe0) == 0xaa0003e0 ||
		     (w & 0xffe0ffe0) == 0x2a0003e0 || (w & 0xffffffe0) == 0xd53bd040;

	return known && !is_precious(w & 31);
}

/* bti, paciasp: a signed return address is stripped by the programs */
static bool hint(uint32_t w, int32_t *sp_change)
{
	return (w & 0xfffff01f) == 0xd503201f;
}

static bool (*const prologue[])(uint32_t w, int32_t *sp_change) = { stp_x, str_x, sub_sp, set_other, hint };

static bool arm64_cheapest(const uint8_t *code, size_t n, uint64_t vaddr, struct entry_point *ret)
{
	uint32_t below = 0;

	for (size_t i = 0; i < n; i++) {
		uint32_t w = code[4 * i] | code[4 * i + 1] << 8 | code[4 * i + 2] << 16 |
			     (uint32_t)code[4 * i + 3] << 24;
		const char *name = simulated_name(w);
		int32_t sp_change = 0;
		bool known = false;

		if (name) {
			/* by now x30 may be signed, or on the stack */
			*ret = (struct entry_point){ .vaddr = vaddr + 4 * i, .sp_delta = below, .ra_in_place = !i, .insn = name };
			return true;
		}
		for (size_t k = 0; k < ARRAY_SIZE(prologue) && !known; k++)
			known = prologue[k](w, &sp_change);
		if (!known || sp_change > 0)
			return false;
		below += -sp_change;
		/* what a cookie has room for */
		if (below > MT_COOKIE_SP_MAX)
			return false;
	}
	return false;
}

/*
 * ---- x86_64: instructions that the kernel emulates (arch/x86/kernel/uprobes.c, the same from 6.1 to 6.18)
 *
 * push of any register, relative jumps, branches and calls, nop. Not ret, and not
 * endbr64. Only the plain encodings: a 0x66 before a branch makes the kernel refuse
 * the probe, a push with another prefix than 0x41 is single-stepped, and
 * longer nops are emulated by newer kernels alone. tests/live/t_emulated.c has each of them
 * carried out by the kernel at hand and compares with the processor: right on 6.1 and 6.12. An
 * emulated entry took 0.27 to 0.44 of a stepped one there (qemu).
 */
static const struct {
	uint8_t skip;		/* a byte that must come first, 0: none */
	uint8_t first, last;
	const char *name;
} emulated[] = {
	{ 0, 0x50, 0x57, "push" },
	{ 0x41, 0x50, 0x57, "push" },
	{ 0, 0x70, 0x7f, "jcc" },
	{ 0x0f, 0x80, 0x8f, "jcc" },
	{ 0, 0xe8, 0xe8, "call" },
	{ 0, 0xe9, 0xe9, "jmp" },
	{ 0, 0xeb, 0xeb, "jmp" },
	{ 0, 0x90, 0x90, "nop" },
};

static const char *emulated_name(const uint8_t *code, size_t len)
{
	for (size_t i = 0; i < ARRAY_SIZE(emulated); i++) {
		size_t at = emulated[i].skip ? 1 : 0;

		if (at < len && (!at || code[0] == emulated[i].skip) && code[at] >= emulated[i].first &&
		    code[at] <= emulated[i].last)
			return emulated[i].name;
	}
	return NULL;
}

/* Before it nothing may move the stack pointer: the return address is at (%rsp), for us and for a uretprobe. */
static bool x86_cheapest(struct decoder *d, const uint8_t *code, size_t len, uint64_t vaddr, struct entry_point *ret)
{
	size_t at = 0;

	for (size_t i = 0; i < MAX_INSNS && at < len; i++) {
		const char *name = emulated_name(code + at, len - at);
		struct insn insn = decoder__at(d, code + at, len - at, vaddr + at);

		if (insn.flow == FLOW_BAD)
			return false;
		if (name) {
			*ret = (struct entry_point){ .vaddr = vaddr + at, .ra_in_place = true, .insn = name };
			return true;
		}
		if (!insn.is_quiet)
			return false;
		at += insn.len;
	}
	return false;
}

bool entry__cheapest(const struct object *obj, uint64_t vaddr, uint64_t size, struct entry_point *ret)
{
	bool is_arm64 = obj->machine == EM_AARCH64;
	uint8_t code[MAX_INSNS * 8];
	size_t len = MIN(size, is_arm64 ? MAX_INSNS * 4 : sizeof(code));
	struct decoder *d;
	bool found;

	if (is_arm64 && vaddr & 3)
		return false;
	if (!len || object__read_code(obj, vaddr, code, len))
		return false;
	if (is_arm64)
		return arm64_cheapest(code, len / 4, vaddr, ret);
	d = decoder__new(obj->machine);
	found = d && x86_cheapest(d, code, len, vaddr, ret);
	decoder__free(d);
	return found;
}
