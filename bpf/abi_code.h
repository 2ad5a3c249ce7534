/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * The code of a probed function, as it lies around one of its points: what is
 * needed to tell a call that is made inside of it from one that only looks like it
 * (bpf/nest.bpf.h). A part of abi.h, which includes it.
 */
#ifndef MT_ABI_CODE_H
#define MT_ABI_CODE_H

#include "abi_blocks.h"
#include "abi_cookie.h"
#include "abi_types.h"

#define MT_MAX_CODES 4096
#define MT_CODE_RANGES 8

struct mt_code_range {		/* [from, to), relative to the point; from == to: none */
	__s32 from, to;
};

struct mt_code {
	__u32 n;
	__u32 flags;
	/* [0]: the function's own bytes; then what it ends by jumping to */
	struct mt_code_range range[MT_CODE_RANGES];
	struct mt_code_range shutdown;	/* of a function that frees: where the allocator calls it at a thread's end */
};
_Static_assert(sizeof(struct mt_code) == 16 + 8 * MT_CODE_RANGES, "abi");

#define MT_CODE_OPEN 1		/* it may end by jumping to code that is not among the ranges */
#define MT_CODE_INNERMOST 2	/* it calls no other function of the table */
/* its own file calls it by its name, through a slot: a direct caller is the allocator itself */
#define MT_CODE_BY_SLOT 4
#define MT_CODE_ROUNDS 16	/* pvalloc: what it jumps to may be passed a larger size, of whole pages */
#define MT_CODE_BY_REGISTER 8	/* of MT_CODE_OPEN: through a register, so it may call whatever it likes there */

/* A number from the cookie and where the point is in the process: a function as it is mapped there. 0: not known. */
#define MT_CODE(cookie, pc) (MT_COOKIE_CODE(cookie) << 48 | ((pc) & MT_ADDR_MAX))
#define MT_CODE_NUMBER(code) ((__u32)((code) >> 48))
#define MT_CODE_PC(code) ((code) & MT_ADDR_MAX)

#endif
