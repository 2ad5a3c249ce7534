/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * What a program learns from the point that was met: whether to record at all, which
 * function it is of, which thread met it, and how the call that it belongs to is known,
 * which is by the stack pointer after its return, seen from wherever the point is.
 */
#ifndef MT_POINTS_BPF_H
#define MT_POINTS_BPF_H

#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

#include "bpf/abi.h"
#include "bpf/arch.bpf.h"
#include "bpf/current.bpf.h"

/* NULL: nothing is recorded now, or this process is not traced. */
static __always_inline struct mt_thread *point_thread(mt_regs *ctx, __u64 cut, __u64 *ret_cookie)
{
	if (cut & MT_CUT_FROZEN) {
		if (mt_config.mode == MT_MODE_LEAK)
			__sync_fetch_and_add(&mt_unrecorded, 1);
		return NULL;
	}
	*ret_cookie = bpf_get_attach_cookie(ctx);
	return thread_here();
}

/* At an entry, or at a `ret`. */
static __always_inline __u64 point_sp(mt_regs *ctx, __u64 cookie)
{
	return arch_sp_after_return(ctx) + MT_COOKIE_SP_DELTA(cookie);
}

/* At a return, by a `ret` or by a uretprobe. */
static __always_inline __u64 point_return_sp(mt_regs *ctx, __u64 cookie)
{
	return cookie & MT_COOKIE_AT_RET ? point_sp(ctx, cookie) : arch_sp_returned(ctx);
}

/* Where the call came from, whose entry kept ra: after a uretprobe that may be the trampoline. */
static __always_inline __u64 point_caller(mt_regs *ctx, __u64 cookie, __u64 ra)
{
	return cookie & MT_COOKIE_AT_RET ? ra : arch_pc(ctx);
}

#endif
