/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Calls that fail where neither their entry nor their return shows it.
 *
 * operator new that throws: the exception is a block of its own, from malloc, that
 * is made inside of the call and outlives it. So the call ends where the exception is made
 * (__cxa_allocate_exception), as a failed one, and the exception's block is one of
 * the program's like any other. Should the call go on all the same, because a new-handler caught what it threw,
 * and hand out a block, that one was not seen: missed_return.
 *
 * glibc's reallocarray with --size usable: its blocks are the ones of realloc, which it
 * calls by name, whichever library's that is. What is larger than any number it refuses itself.
 */
#ifndef MT_REFUSALS_BPF_H
#define MT_REFUSALS_BPF_H

#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

#include "bpf/abi.h"
#include "bpf/abandon.bpf.h"
#include "bpf/arch.bpf.h"
#include "bpf/calls.bpf.h"
#include "bpf/charge.bpf.h"
#include "bpf/count.bpf.h"
#include "bpf/cutoff.bpf.h"
#include "bpf/interrupted.bpf.h"
#include "bpf/memo.bpf.h"
#include "bpf/nest.bpf.h"
#include "bpf/points.bpf.h"
#include "bpf/procs.bpf.h"
#include "bpf/scope.bpf.h"
#include "bpf/scratch.bpf.h"
#include "bpf/sites.bpf.h"
#include "bpf/sizes.bpf.h"
#include "bpf/stacks.bpf.h"
#include "bpf/unwind.bpf.h"

/*
 * The site of the outermost call under way, seen from a call inside of it, if tables lead there;
 * else one without a stack.
 */
static __noinline __u32 site_of_outer(mt_regs *ctx, struct mt_thread *t, __u64 ra, __u64 sp)
{
	struct mt_scratch *s;
	struct mt_proc *p;
	__u32 site, n;

	if (!t)
		return 0;
	site = spare_site(t->proc);
	s = scratch_claim(t);
	if (!s)
		return site;
	p = proc_at(t->proc);
	memo_drop(s);
	s->key.gen_tid = (p ? p->gen : 0) | (mt_config.by_thread ? (__u64)t->named_tid << 32 : 0);
	walk_begin(s, ra, sp, arch_fp(ctx));
	s->ask.sp = t->sp;
	s->ask.new_sp = sp;
	s->ask.interrupted = 0;
	s->ask.code = t->code;
	if (walk_where(s, t->proc) < WHERE_UNKNOWN && s->walk.sp == t->sp) {
		/* how the walk came here is nothing to the stack that begins here */
		s->walk.no_records = 0;
		n = walk_up(s, t->proc);
		if (s->walk.moved)
			walk_moved(s);
		site = site_of_stack(s, n, t->proc, MT_COOKIE_FUNC(t->cookie));
		t->frames += n;
	}
	scratch_release(t, s);
	return site;
}

static __always_inline void on_throw(mt_regs *ctx, struct mt_thread *t, __u64 cut)
{
	__u64 sp = point_sp(ctx, 0), ra = arch_return_address(ctx);
	__u32 site;

	if (!t->sp || !still_inside(ctx, t, 0, sp, ra))
		return;
	if (mt_config.mode != MT_MODE_COUNT) {
		site = site_of_outer(ctx, t, ra, sp);
		if (t->cookie & MT_COOKIE_REALLOC)
			put_old_back(t);
		if (!mt_config.within || (!is_outside(t) && is_within(ctx, t, site, t->sp, t->ra))) {
			charge_failure(t, site, cut);
			tell_call(t, MT_TOLD_FAILED, MT_COOKIE_FUNC(t->cookie), site, 0, t->size);
		}
	}
	if (!mt_config.within)
		t->thrown_sp = t->sp;
	t->sp = 0;
}

static __always_inline void on_overflow(mt_regs *ctx, struct mt_thread *t, __u64 cookie, __u64 cut)
{
	__u64 sp = point_sp(ctx, cookie), ra = arch_return_address(ctx);
	__u32 site;

	if (size_asked(ctx, cookie) != UNREADABLE || (t->sp && still_inside(ctx, t, cookie, sp, ra)))
		return;
	if (is_outside(t))
		return;
	site = site_here(ctx, t, MT_COOKIE_FUNC(cookie), ra, sp);
	if (!mt_config.within || is_within(ctx, t, site, sp, ra)) {
		charge_failure(t, site, cut);
		tell_call(t, MT_TOLD_UNSIZED, MT_COOKIE_FUNC(cookie), site, 0, 0);
	}
}

static __always_inline void on_refusal(mt_regs *ctx, struct mt_thread *t, __u64 cookie, __u64 cut)
{
	if (MT_COOKIE_AT(cookie) == MT_AT_OVERFLOW)
		on_overflow(ctx, t, cookie, cut);
	else
		on_throw(ctx, t, cut);
	outer_resume(t);
}

#endif
