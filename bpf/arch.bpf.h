/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Registers per architecture: the only file in bpf/ that checks which one it is.
 *
 * "sp after return" names a call: the value the stack pointer has once the call
 * has returned. It is the same seen from the first instruction, from the return
 * instruction and from a uretprobe, and two calls under way at once in one
 * thread never share it, except for tail calls.
 *
 * mt_regs is what a uprobe program gets as its context: the registers in the
 * order that the kernel promises. Volatile, because clang merges two reads on
 * different branches into one through a computed pointer, which the verifier
 * refuses for the context.
 */
#ifndef MT_ARCH_BPF_H
#define MT_ARCH_BPF_H

#include "vmlinux.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "bpf/abi.h"

/* A load of its own: of several, clang makes one with a variable address, which the verifier refuses in a context. */
#define ARCH_LOAD(reg) ({ __u64 _v = (reg); asm volatile("" : "+r"(_v)); _v; })

#if defined(__TARGET_ARCH_arm64)

typedef struct {
	volatile __u64 regs[31];
	volatile __u64 sp, pc, pstate;
} mt_regs;

/* x30's pointer-authentication bits begin above the address */
#define MT_STRIP_RA(ra) ((ra) << 16 >> 16)

/*
 * The processor ignores the top byte of an address in user space, and programs may
 * keep a tag there (MTE, HWASAN, or their own): the block is where it is without.
 */
#define MT_UNTAG(p) ((p) << 8 >> 8)

/* Copied out first: indexing the context itself with a variable is refused by the verifier. */
static __always_inline void arch_args(const mt_regs *r, __u64 *arg)
{
	arg[0] = r->regs[0];
	arg[1] = r->regs[1];
	arg[2] = r->regs[2];
	arg[3] = r->regs[3];
	arg[4] = r->regs[4];
	arg[5] = r->regs[5];
}

static __always_inline __u64 arch_first_arg(const mt_regs *r)
{
	return r->regs[0];
}

/* One of them, most likely the first; 0: there is none. Costs no stack, of which programs have little. */
static __always_inline __u64 arch_arg(const mt_regs *r, __u32 i)
{
	return i == 0 ? ARCH_LOAD(r->regs[0]) : i == 1 ? ARCH_LOAD(r->regs[1]) : i == 2 ? ARCH_LOAD(r->regs[2]) :
	       i == 3 ? ARCH_LOAD(r->regs[3]) : i == 4 ? ARCH_LOAD(r->regs[4]) : i == 5 ? ARCH_LOAD(r->regs[5]) : 0;
}

static __always_inline __u64 arch_result(const mt_regs *r)
{
	return r->regs[0];
}

static __always_inline __u64 arch_pc(const mt_regs *r)
{
	return r->pc;
}

static __always_inline __u64 arch_fp(const mt_regs *r)
{
	return r->regs[29];
}

/* At the entry or on the `ret`. */
static __always_inline __u64 arch_sp_after_return(const mt_regs *r)
{
	return r->sp;
}

static __always_inline __u64 arch_sp_returned(const mt_regs *r)
{
	return r->sp;
}

static __always_inline __u64 arch_return_address(const mt_regs *r)
{
	return MT_STRIP_RA(r->regs[30]);
}

/* The target of the direct call that returns to ra (bl); 0: it is none. */
static __always_inline __u64 arch_call_target(__u64 ra)
{
	__u32 insn = 0;

	if (bpf_probe_read_user(&insn, sizeof(insn), (const void *)(ra - 4)) || insn >> 26 != 0x25)
		return 0;
	return ra - 4 + ((__s64)((__u64)insn << 38) >> 36);
}

/* Nothing at a fixed place proves that a call is still under way: the walk must. */
#define ARCH_RA_ON_STACK 0
#define ARCH_RA_BYTES 0

/*
 * What the kernel pushes for a signal is not less: between the handler's frame and what was
 * interrupted lies that much.
 */
#define ARCH_SIGNAL_BYTES 4096

/*
 * The registers that a signal interrupted. The frame that the kernel pushes:
 * siginfo (128 bytes), ucontext, in it at 176 one word, and then the registers.
 */
static __always_inline int arch_signal_frame(struct mt_walk *w)
{
	__u64 q[4];

	if (bpf_probe_read_user(q, sizeof(q), (const void *)(w->sp + 128 + 176 + 8 + 29 * 8)))
		return -1;
	w->fp = q[0];
	w->lr = q[1];
	w->sp = q[2];
	w->pc = MT_STRIP_RA(q[3]);
	w->lr_known = 1;
	return 0;
}

/* The frame that a thread was in when it entered the kernel: regs is a struct pt_regs there. */
static __always_inline int arch_user_frame(struct mt_walk *w, const void *regs)
{
	__u64 q[4];	/* x29, x30, sp, pc */

	if (bpf_probe_read_kernel(q, sizeof(q), (const char *)regs + 29 * 8))
		return -1;
	w->fp = q[0];
	w->lr = q[1];
	w->sp = q[2];
	w->pc = q[3];
	w->lr_known = 1;
	return 0;
}

/* All that may hold a pointer, the stack pointer last, at most 32; returns how many. regs: as above, of task. */
static __always_inline __u32 arch_user_registers(__u64 *to, const void *regs, struct task_struct *task)
{
	(void)task;
	return bpf_probe_read_kernel(to, 32 * 8, regs) ? 0 : 32;	/* x0 to x30, sp */
}

static __always_inline __u64 arch_thread_pointer(struct task_struct *task)
{
	return BPF_CORE_READ(task, thread.uw.tp_value);
}

/*
 * Added to an instruction's address: at most its length, so that looking one byte before, as for
 * return addresses, finds it.
 */
#define ARCH_BEHIND_INSN 4

#elif defined(__TARGET_ARCH_x86)

#define MT_STRIP_RA(ra) (ra)
#define MT_UNTAG(p) (p)

typedef struct {
	volatile __u64 r15, r14, r13, r12, bp, bx, r11, r10, r9, r8;
	volatile __u64 ax, cx, dx, si, di, orig_ax, ip, cs, flags, sp, ss;
} mt_regs;

static __always_inline void arch_args(const mt_regs *r, __u64 *arg)
{
	arg[0] = r->di;
	arg[1] = r->si;
	arg[2] = r->dx;
	arg[3] = r->cx;
	arg[4] = r->r8;
	arg[5] = r->r9;
}

static __always_inline __u64 arch_first_arg(const mt_regs *r)
{
	return r->di;
}

static __always_inline __u64 arch_arg(const mt_regs *r, __u32 i)
{
	return i == 0 ? ARCH_LOAD(r->di) : i == 1 ? ARCH_LOAD(r->si) : i == 2 ? ARCH_LOAD(r->dx) :
	       i == 3 ? ARCH_LOAD(r->cx) : i == 4 ? ARCH_LOAD(r->r8) : i == 5 ? ARCH_LOAD(r->r9) : 0;
}

static __always_inline __u64 arch_result(const mt_regs *r)
{
	return r->ax;
}

static __always_inline __u64 arch_pc(const mt_regs *r)
{
	return r->ip;
}

static __always_inline __u64 arch_fp(const mt_regs *r)
{
	return r->bp;
}

static __always_inline __u64 arch_sp_after_return(const mt_regs *r)
{
	return r->sp + 8;
}

static __always_inline __u64 arch_sp_returned(const mt_regs *r)
{
	return r->sp;
}

static __always_inline __u64 arch_return_address(const mt_regs *r)
{
	__u64 ra = 0;

	bpf_probe_read_user(&ra, sizeof(ra), (const void *)r->sp);
	return ra;
}

/* call rel32 */
static __always_inline __u64 arch_call_target(__u64 ra)
{
	struct {
		__u8 op;
		__s32 rel;
	} __attribute__((packed)) insn = {};

	if (bpf_probe_read_user(&insn, sizeof(insn), (const void *)(ra - sizeof(insn))) || insn.op != 0xe8)
		return 0;
	return ra + insn.rel;
}

/* The return address lies just below "sp after return" as long as the call is under way. */
#define ARCH_RA_ON_STACK 1
#define ARCH_RA_BYTES 8
#define ARCH_SIGNAL_BYTES 512

/*
 * ucontext is at sp (the handler's return address has been popped), its registers at 40: r8...r15,
 * di, si, bp, ..., sp, ip
 */
static __always_inline int arch_signal_frame(struct mt_walk *w)
{
	__u64 q[7];	/* from bp on: the BPF stack is short */

	if (bpf_probe_read_user(q, sizeof(q), (const void *)(w->sp + 40 + 10 * 8)))
		return -1;
	w->fp = q[0];
	w->sp = q[5];
	w->pc = q[6];
	w->lr_known = 0;
	return 0;
}

static __always_inline int arch_user_frame(struct mt_walk *w, const void *regs)
{
	__u64 q[16];	/* bp at 4, ip at 16, sp at 19 of the words of mt_regs */

	if (bpf_probe_read_kernel(q, sizeof(q), (const char *)regs + 4 * 8))
		return -1;
	w->fp = q[0];
	w->pc = q[12];
	w->sp = q[15];
	w->lr_known = 0;
	return 0;
}

static __always_inline __u32 arch_user_registers(__u64 *to, const void *regs, struct task_struct *task)
{
	/* r15 to di; sp is behind others that point to no data */
	if (bpf_probe_read_kernel(to, 15 * 8, regs) || bpf_probe_read_kernel(to + 16, 8, (const char *)regs + 19 * 8))
		return 0;
	to[15] = BPF_CORE_READ(task, thread.gsbase);
	return 17;
}

static __always_inline __u64 arch_thread_pointer(struct task_struct *task)
{
	return BPF_CORE_READ(task, thread.fsbase);
}

#define ARCH_BEHIND_INSN 1

#else
#error "an architecture needs its registers here"
#endif

#endif
