/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* What the registers of a thread are told as: of registers.bpf.c alone. */
#ifndef MT_ABI_REGISTERS_H
#define MT_ABI_REGISTERS_H

#include "bpf/abi_types.h"

#define MT_MAX_REGISTERS 32

struct mt_registers {
	__u32 tid;		/* as the reader sees it */
	__u32 n;
	__u32 running;		/* on a processor now: registers are those of when it last entered the kernel */
	__u32 unused;
	__u64 switches;		/* how often it has left a processor */
	__u64 sp, tp;
	__u64 signal_stack;	/* sigaltstack: where it begins; 0: it has none */
	__u64 v[MT_MAX_REGISTERS];	/* those that may hold a pointer, sp among them */
};
_Static_assert(sizeof(struct mt_registers) == 48 + 8 * MT_MAX_REGISTERS, "both sides know it");

#endif
