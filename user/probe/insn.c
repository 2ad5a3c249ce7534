// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the disassemblers. On x86_64 that is capstone, for the lengths. On
 * arm64 all instructions are one word long, and those that do not simply go on
 * to the next one share one encoding class (bits 28-26 are 101): reading that
 * class by hand also holds for extensions newer than the installed capstone
 * (4.0 knows neither retaa nor memory tagging).
 */
#include <capstone/capstone.h>
#include <elf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/abi.h"
#include "probe/insn.h"
#include "util/util.h"

struct decoder {
	struct insn (*at)(struct decoder *d, const uint8_t *code, size_t len, uint64_t vaddr);
	csh capstone;
	cs_insn *scratch;
};

static struct insn going(enum flow flow, size_t len, uint64_t target)
{
	return (struct insn){ .flow = flow, .len = len, .target = target };
}

static uint64_t sign_extend(uint64_t v, unsigned int bits)
{
	uint64_t sign = 1ull << (bits - 1);

	return (v ^ sign) - sign;
}

static struct insn arm64_branch_class(uint32_t w, uint64_t pc)
{
	if ((w & 0x7c000000) == 0x14000000)	/* b, bl */
		return going(w >> 31 ? FLOW_CALL : FLOW_JUMP, 4, pc + sign_extend((w & 0x3ffffff) << 2, 28));
	if ((w & 0x7e000000) == 0x34000000 || (w & 0xff000000) == 0x54000000)	/* cbz, cbnz, b.cond, bc.cond */
		return going(FLOW_BRANCH, 4, pc + sign_extend((w >> 5 & 0x7ffff) << 2, 21));
	if ((w & 0x7e000000) == 0x36000000)	/* tbz, tbnz */
		return going(FLOW_BRANCH, 4, pc + sign_extend((w >> 5 & 0x3fff) << 2, 16));
	if ((w & 0xff000000) == 0xd5000000)	/* hints, barriers, system registers */
		return going(w == 0xd503201f ? FLOW_NOP : FLOW_NEXT, 4, 0);
	if ((w & 0xffe0001f) == 0xd4000001)	/* svc */
		return going(FLOW_NEXT, 4, 0);
	if ((w & 0xffe0001f) == 0xd4200000 || (w & 0xffe0001f) == 0xd4400000)	/* brk, hlt */
		return going(FLOW_STOP, 4, 0);
	if (w == 0xd65f03c0)	/* ret */
		return going(FLOW_RETURN, 4, 0);
	if (w == 0xd65f0bff || w == 0xd65f0fff)	/* retaa, retab */
		return going(FLOW_RETURN_AUTH, 4, 0);
	if ((w & 0xfee00000) == 0xd6200000)	/* blr and its authenticating forms */
		return going(FLOW_CALL, 4, 0);
	if ((w & 0xfe000000) == 0xd6000000)	/* br, braa, ret through another register, ... */
		return going(FLOW_INDIRECT, 4, 0);
	return going(FLOW_BAD, 4, 0);
}

static uint32_t word(const uint8_t *code)
{
	return code[0] | code[1] << 8 | code[2] << 16 | (uint32_t)code[3] << 24;
}

/* Forms that may set the stack pointer to something else than itself and a constant. */
static const struct {
	uint32_t mask, value;
	unsigned int shift;	/* where the number of the register is that it sets */
	uint32_t zero;		/* with all these bits set (0: never) 31 is the zero register, not the stack pointer */
} arm64_sets_sp[] = {
	{ 0x1f800000, 0x11000000, 0, 0x20000000 },	/* add, sub: immediate */
	{ 0x1fe00000, 0x0b200000, 0, 0x20000000 },	/* add, sub: extended register */
	{ 0x1f800000, 0x12000000, 0, 0x60000000 },	/* and, orr, eor: immediate */
	{ 0x1f800000, 0x11800000, 0, 0 },		/* addg, subg */
	{ 0xffe0fc00, 0x9ac01000, 0, 0 },		/* irg */
	{ 0xffa0f000, 0x04205000, 0, 0 },		/* addvl, addpl */
	{ 0xbe800000, 0x0c800000, 5, 0 },		/* SIMD structures, post-indexed */
	{ 0xff200400, 0xd9200400, 5, 0 },		/* memory tags, indexed */
};

static int32_t pair_bytes(uint32_t w)
{
	uint32_t opc = w >> 30;
	bool is_simd = w >> 26 & 1, is_load = w >> 22 & 1;

	if (is_simd)
		return 4 << opc;
	if (opc == 1)
		return is_load ? 4 : 16;	/* ldpsw, stgp */
	return opc ? 8 : 4;
}

static void arm64_sp(uint32_t w, struct insn *i)
{
	bool on_sp = (w >> 5 & 31) == 31;

	if ((w & 0x3a800000) == 0x28800000 && on_sp) {		/* stp, ldp and their like, indexed */
		i->sp_change = (int32_t)sign_extend(w >> 15 & 127, 7) * pair_bytes(w);
	} else if ((w & 0x3b200400) == 0x38000400 && on_sp) {	/* str, ldr, indexed */
		i->sp_change = (int32_t)sign_extend(w >> 12 & 511, 9);
	} else if ((w & 0xbf8003ff) == 0x910003ff) {		/* add, sub sp, sp, #imm */
		i->sp_change = (w >> 10 & 0xfff) << (w >> 22 & 1 ? 12 : 0);
		if (w >> 30 & 1)
			i->sp_change = -i->sp_change;
	} else {
		for (size_t k = 0; k < ARRAY_SIZE(arm64_sets_sp); k++) {
			uint32_t zero = arm64_sets_sp[k].zero;

			if ((w & arm64_sets_sp[k].mask) == arm64_sets_sp[k].value &&
			    (w >> arm64_sets_sp[k].shift & 31) == 31 && !(zero && (w & zero) == zero))
				i->sp_lost = true;
		}
	}
}

/* What every linker writes for one entry: adrp x16, slot; ldr x17, [x16, slot]; add x16, x16, slot; br x17 */
static bool arm64_plt_entry(const uint8_t *code, size_t len, uint64_t pc, uint64_t *ret_slot)
{
	uint32_t adrp, ldr;

	if (len < 16)
		return false;
	adrp = word(code);
	ldr = word(code + 4);
	if ((adrp & 0x9f00001f) != 0x90000010 || (ldr & 0xffc003ff) != 0xf9400211 ||
	    (word(code + 8) & 0xff8003ff) != 0x91000210 || word(code + 12) != 0xd61f0220)
		return false;
	*ret_slot = (pc & ~0xfffull) + sign_extend((uint64_t)((adrp >> 5 & 0x7ffff) << 2 | (adrp >> 29 & 3)) << 12, 33) +
		    (ldr >> 10 & 0xfff) * 8;
	return true;
}

static struct insn arm64_at(struct decoder *d, const uint8_t *code, size_t len, uint64_t vaddr)
{
	struct insn i;
	uint64_t slot;
	uint32_t w;

	if (len < 4 || vaddr & 3)
		return going(FLOW_BAD, 4, 0);
	if (arm64_plt_entry(code, len, vaddr, &slot))
		return going(FLOW_SLOT, 16, slot);
	w = word(code);
	if (!(w >> 16))		/* udf */
		return going(FLOW_STOP, 4, 0);
	if ((w >> 26 & 7) == 5)
		return arm64_branch_class(w, vaddr);
	if ((w >> 25 & 13) == 1)	/* bits 28-25 are 0001 or 0011: unallocated */
		return going(FLOW_BAD, 4, 0);
	i = going(FLOW_NEXT, 4, 0);
	arm64_sp(w, &i);
	return i;
}

static enum flow x86_flow(const cs_insn *i, uint64_t *ret_target)
{
	const cs_x86 *x = &i->detail->x86;
	bool direct = x->op_count == 1 && x->operands[0].type == X86_OP_IMM;
	unsigned int g;

	*ret_target = direct ? (uint64_t)x->operands[0].imm : 0;
	switch (i->id) {
	case X86_INS_RET:
		/* `ret imm` takes arguments off the stack: no function of the C ABI ends so */
		return x->op_count ? FLOW_BAD : FLOW_RETURN;
	case X86_INS_RETF:
	case X86_INS_RETFQ:
	case X86_INS_IRET:
	case X86_INS_IRETD:
	case X86_INS_IRETQ:
	case X86_INS_XBEGIN:
	case X86_INS_INVALID:
		return FLOW_BAD;
	case X86_INS_CALL:
		return FLOW_CALL;
	case X86_INS_JMP:
		if (x->op_count == 1 && x->operands[0].type == X86_OP_MEM && x->operands[0].mem.base == X86_REG_RIP &&
		    x->operands[0].mem.index == X86_REG_INVALID) {
			*ret_target = i->address + i->size + x->operands[0].mem.disp;
			return FLOW_SLOT;
		}
		return direct ? FLOW_JUMP : FLOW_INDIRECT;
	case X86_INS_LJMP:
	case X86_INS_LCALL:
		return FLOW_BAD;
	case X86_INS_LOOP:
	case X86_INS_LOOPE:
	case X86_INS_LOOPNE:
	case X86_INS_JRCXZ:
	case X86_INS_JECXZ:
	case X86_INS_JCXZ:
		return FLOW_BRANCH;
	case X86_INS_UD2:
	case X86_INS_HLT:
	case X86_INS_INT3:
		return FLOW_STOP;
	case X86_INS_NOP:
		return FLOW_NOP;
	}
	for (g = 0; g < i->detail->groups_count; g++)
		if (i->detail->groups[g] == X86_GRP_JUMP)
			return direct ? FLOW_BRANCH : FLOW_BAD;
	return FLOW_NEXT;
}

static bool is_one_of(unsigned int what, const unsigned int *v, size_t n)
{
	while (n--)
		if (v[n] == what)
			return true;
	return false;
}

/* A short list of what compilers put before the first push or branch; what is not on it is not quiet. */
static bool x86_is_quiet(const cs_insn *i)
{
	static const unsigned int compare[] = { X86_INS_TEST, X86_INS_CMP, X86_INS_BT, X86_INS_NOP };
	static const unsigned int set[] = { X86_INS_MOV,    X86_INS_MOVABS, X86_INS_MOVZX,
					    X86_INS_MOVSXD, X86_INS_LEA,    X86_INS_XOR };
	static const unsigned int no_argument[] = {
		X86_REG_RAX,  X86_REG_RBX,  X86_REG_RBP,  X86_REG_R10,	X86_REG_R11,  X86_REG_R12,
		X86_REG_R13,  X86_REG_R14,  X86_REG_R15,  X86_REG_EAX,	X86_REG_EBX,  X86_REG_EBP,
		X86_REG_R10D, X86_REG_R11D, X86_REG_R12D, X86_REG_R13D, X86_REG_R14D, X86_REG_R15D,
	};
	const cs_x86 *x = &i->detail->x86;

	if (is_one_of(i->id, compare, ARRAY_SIZE(compare)))
		return true;
	/* the first operand is what is set */
	return is_one_of(i->id, set, ARRAY_SIZE(set)) && x->op_count == 2 && x->operands[0].type == X86_OP_REG &&
	       is_one_of(x->operands[0].reg, no_argument, ARRAY_SIZE(no_argument));
}

static struct insn x86_at(struct decoder *d, const uint8_t *code, size_t len, uint64_t vaddr)
{
	static const uint8_t endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	uint64_t at = vaddr;
	struct insn i;

	if (len >= sizeof(endbr64) && !memcmp(code, endbr64, sizeof(endbr64)))
		return (struct insn){ .flow = FLOW_NEXT, .len = sizeof(endbr64), .sp_lost = true, .is_quiet = true };
	if (!cs_disasm_iter(d->capstone, &code, &len, &at, d->scratch))
		return going(FLOW_BAD, 1, 0);
	i = (struct insn){ .len = at - vaddr, .sp_lost = true };
	i.flow = x86_flow(d->scratch, &i.target);
	i.is_quiet = (i.flow == FLOW_NEXT || i.flow == FLOW_NOP) && x86_is_quiet(d->scratch);
	return i;
}

struct decoder *decoder__new(uint16_t machine)
{
	static const cs_opt_mem memory = { xmalloc, xcalloc, xrealloc, free, vsnprintf };
	struct decoder *d;

	if (machine != EM_AARCH64 && machine != EM_X86_64)
		return NULL;
	d = xcalloc(1, sizeof(*d));
	if (machine == EM_AARCH64) {
		d->at = arm64_at;
		return d;
	}
	d->at = x86_at;
	cs_option(0, CS_OPT_MEM, (uintptr_t)&memory);
	if (cs_open(CS_ARCH_X86, CS_MODE_64, &d->capstone) != CS_ERR_OK) {
		free(d);
		return NULL;
	}
	cs_option(d->capstone, CS_OPT_DETAIL, CS_OPT_ON);
	d->scratch = cs_malloc(d->capstone);
	return d;
}

struct insn decoder__at(struct decoder *d, const uint8_t *code, size_t len, uint64_t vaddr)
{
	return d->at(d, code, len, vaddr);
}

void decoder__free(struct decoder *d)
{
	if (!d)
		return;
	if (d->scratch)
		cs_free(d->scratch, 1);
	if (d->capstone)
		cs_close(&d->capstone);
	free(d);
}

/*
 * ---- a cheaper place than the first instruction
 *
 * A breakpoint on an instruction that the kernel can carry out itself costs one exception; on any
 * other, such as the `stp` that most functions begin with on arm64 or the `endbr64` on x86_64, a
 * second one for the single step: 220 ns against 450 on arm64 (Neoverse, 6.18).
 *
 * What may stand before the chosen instruction is a short list of what compilers put into
 * prologues. Anything else ends the search: a wrong guess here would be a wrong size in a report.
 */

#define MAX_INSNS 12
#define SP 31
#define LR 30

/* arm64: instructions that the kernel simulates (arch/arm64/kernel/probes/decode-insn.c) */

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

/* arm64: instructions of a prologue */

static const struct {
	uint32_t mask, value;
	bool sets;		/* the register in its lowest bits */
} prologue[] = {
	{ 0xffc003e0, 0xa98003e0, false },	/* stp x, x, [sp, #imm]! */
	{ 0xffc003e0, 0xa90003e0, false },	/* stp x, x, [sp, #imm] */
	{ 0xffe00fe0, 0xf8000fe0, false },	/* str x, [sp, #imm]! */
	{ 0xffc003e0, 0xf90003e0, false },	/* str x, [sp, #imm] */
	{ 0xff8003ff, 0xd10003ff, false },	/* sub sp, sp, #imm */
	{ 0xff8003e0, 0x910003e0, true },	/* add x, sp, #imm; also: mov x29, sp */
	{ 0xffe0ffe0, 0xaa0003e0, true },	/* mov x, x */
	{ 0xffe0ffe0, 0x2a0003e0, true },	/* mov w, w */
	{ 0xffffffe0, 0xd53bd040, true },	/* mrs x, tpidr_el0 */
	{ 0xfffff01f, 0xd503201f, false },	/* bti, paciasp: a signed return address is stripped by the programs */
};

static bool is_prologue(uint32_t w)
{
	uint32_t reg = w & 31;

	/* one that carries an argument or the way back is not to be set */
	for (size_t i = 0; i < ARRAY_SIZE(prologue); i++)
		if ((w & prologue[i].mask) == prologue[i].value)
			return !prologue[i].sets || !(reg < 8 || reg == LR || reg == SP);
	return false;
}

static bool arm64_cheapest(const uint8_t *code, size_t n, uint64_t vaddr, struct entry_point *ret)
{
	uint32_t below = 0;

	for (size_t i = 0; i < n; i++) {
		uint32_t w = word(code + 4 * i);
		const __typeof__(*simulated) *by_kernel = table_first(s, simulated, (w & s->mask) == s->value);
		struct insn insn = {};

		if (by_kernel) {
			/* by now x30 may be signed, or on the stack */
			*ret = (struct entry_point){ .vaddr = vaddr + 4 * i, .sp_delta = below, .ra_in_place = !i,
						     .insn = by_kernel->name };
			return true;
		}
		arm64_sp(w, &insn);
		if (!is_prologue(w) || insn.sp_lost || insn.sp_change > 0)
			return false;
		below += -insn.sp_change;
		/* what a cookie has room for */
		if (below > MT_COOKIE_SP_MAX)
			return false;
	}
	return false;
}

/*
 * x86_64: instructions that the kernel emulates (arch/x86/kernel/uprobes.c, the same from 6.1 to 6.18)
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
