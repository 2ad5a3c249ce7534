/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * The life of a block: entered → returned → live → freed.
 *
 *   entry of malloc    the requested size is kept in the thread's record
 *   return of malloc   the stack is walked, the block goes into the table, and
 *                      only then its site and process are charged: a block that
 *                      found no room is a loss and nothing else
 *   entry of free      the block leaves the table, its site is charged
 *   entry of realloc   the old block leaves the table: from here on the
 *                      allocator may give its address to another thread. Nothing
 *                      is charged yet.
 *   return of realloc  success: the old block is charged as freed, the new one as
 *                      allocated. Failure: the old block is put back.
 *
 * A call that finds another one under way checks whether that one really still is
 * (nest.bpf.h); if not, it was left by longjmp or an exception and is dropped. A
 * free inside of another call counts if it frees a block that is in the table (a
 * new-handler that makes room). What is not there the allocator frees for itself:
 * the block after a wrapper's header, what a thread's cache held.
 */
#ifndef MT_ALLOC_BPF_H
#define MT_ALLOC_BPF_H

#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

#include "bpf/abi.h"
#include "bpf/abandon.bpf.h"
#include "bpf/arch.bpf.h"
#include "bpf/blocks.bpf.h"
#include "bpf/buckets.bpf.h"
#include "bpf/budget.bpf.h"
#include "bpf/calls.bpf.h"
#include "bpf/charge.bpf.h"
#include "bpf/count.bpf.h"
#include "bpf/cutoff.bpf.h"
#include "bpf/frees.bpf.h"
#include "bpf/interrupted.bpf.h"
#include "bpf/lone.bpf.h"
#include "bpf/moves.bpf.h"
#include "bpf/nest.bpf.h"
#include "bpf/points.bpf.h"
#include "bpf/procs.bpf.h"
#include "bpf/sample.bpf.h"
#include "bpf/scope.bpf.h"
#include "bpf/sizes.bpf.h"
#include "bpf/stacks.bpf.h"
#include "bpf/strings.bpf.h"

#define SEES_RETURNS (mt_config.mode == MT_MODE_FULL || mt_config.mode == MT_MODE_LEAK)

/* --mode leak, of glibc: a block's free is not seen, its address comes again, and the heap says what is still in use. */
#define IS_FREED_UNSEEN(cookie) (mt_config.mode == MT_MODE_LEAK && (cookie) & MT_COOKIE_USABLE)

/* ---- the three roles */

/* posix_memalign returns EINVAL for an alignment that is no power of two, or less than a pointer's. */
static __always_inline bool is_refused(__u64 alignment)
{
	return alignment < sizeof(void *) || alignment & (alignment - 1);
}

/*
 * --mode count: all that is seen of a call is its entry. The last one of the
 * thread is remembered, to know calls that are made inside it. It is over for sure
 * if the stack pointer is above its own; on the same height another function with
 * the same size, or one rounded up, that returns to the same place is what it jumped to.
 */
static __always_inline int count_call(mt_regs *ctx, struct mt_thread *t, __u64 cookie, __u64 sp, __u64 ra,
				      bool is_realloc)
{
	__u64 cut = mt_cut, size;
	struct amount a;
	struct charge c;
	__u32 site;

	size = size_asked(ctx, cookie);
	if (size == UNREADABLE && cookie & MT_COOKIE_STRING) {
		count(MT_LOST_UNREADABLE);
		return 0;
	}
	if (is_realloc && !size && cookie & MT_COOKIE_FREES_AT_0) {
		/* a free; where a function passes the call on, it is counted at the other one */
		if (arch_arg(ctx, MT_COOKIE_OLD(cookie)))
			return 0;
	}
	if (MT_COOKIE_RESULT(cookie) == MT_RESULT_OUT && is_refused(arch_arg(ctx, 1)))
		return 0;
	/* more than there are addresses: it will fail, and would drown the bytes of those that do not */
	if (size > MT_ADDR_MAX)
		return 0;
	if (t->sp && sp <= t->sp && (sp < t->sp || may_pass(t->code, t->size, size)) && !is_innermost(t->code) &&
	    still_inside(ctx, t, cookie, sp, ra)) {
		if (sp == t->sp)
			t->size = size;
		return 0;
	}
	t->sp = sp;
	t->ra = ra;
	t->cookie = cookie;
	t->code = MT_CODE(cookie, arch_pc(ctx));
	t->size = size;
	if (!is_size_recorded(size) || is_outside(t) || !sampled(t, size))
		return 0;
	site = site_here(ctx, t, MT_COOKIE_FUNC(cookie), ra, sp);
	if (mt_config.within && !is_within(ctx, t, site, sp, ra))
		return 0;
	if (!charge_open(&c, site, t->proc, cut))
		return 0;
	a = amount_of(size);
	charge_call(&c, &a, size, clock_ns());
	charge_thread(&c, t, &a, is_realloc);
	tell_call(t, MT_TOLD_ALLOC, MT_COOKIE_FUNC(cookie), site, 0, size);
	return 0;
}

/* Where a call is under way already: is the new one to be counted, too? */
static __always_inline bool may_begin(mt_regs *ctx, struct mt_thread *t, __u64 cookie, __u64 sp, __u64 ra)
{
	switch (old_call(ctx, t, cookie, sp, ra)) {
	case CALL_GOES_ON:
		return false;
	case CALL_INTERRUPTED:
		return outer_push(t);
	}
	abandon(t, MT_EDGE_ABANDONED);
	return true;
}

static __always_inline int on_enter(mt_regs *ctx, struct mt_thread *t, __u64 cookie, bool is_realloc)
{
	__u64 sp = point_sp(ctx, cookie), ra = arch_return_address(ctx);

	if (mt_config.mode == MT_MODE_COUNT)
		return count_call(ctx, t, cookie, sp, ra, is_realloc);
	if (t->sp && !may_begin(ctx, t, cookie, sp, ra))
		return 0;
	if (cookie & MT_COOKIE_NO_RETURN) {
		count(MT_LOST_MISSED_RETURN);
		outer_resume(t);
		return 0;
	}
	t->cookie = cookie;
	t->code = MT_CODE(cookie, arch_pc(ctx));
	t->ra = ra;
	t->size = size_asked(ctx, cookie);
	t->out = arch_arg(ctx, is_realloc ? MT_COOKIE_OLD(cookie) : MT_COOKIE_OUT(cookie));
	t->old_site = 0;
	if (is_realloc) {
		struct taken old;

		t->old = MT_UNTAG(t->old);
		if (t->old && !IS_FREED_UNSEEN(cookie) && blocks_take(t->old, t->proc, &old)) {
			t->old_size = old.size;
			t->old_born = old.born;
			t->old_site = old.site;
			t->old_chain = old.chain;
		}
	}
	t->sp = sp;
	if (!mt_config.within && t->thrown_sp && sp >= t->thrown_sp)
		t->thrown_sp = 0;	/* its frame is gone */
	return 0;
}

/*
 * A return whose entry is not probed: everything that counts is there now. False
 * if it is inside another call, or is the return of that one.
 */
static __always_inline bool return_alone(mt_regs *ctx, struct mt_thread *t, __u64 cookie, __u64 sp, __u64 caller)
{
	if (t->sp && !may_begin(ctx, t, cookie, sp, caller))
		return false;
	t->cookie = cookie;
	t->code = 0;	/* it is over at once */
	t->ra = caller;
	t->sp = sp;
	t->size = 1;	/* not 0, which may be answered by no block */
	t->old = 0;
	t->old_site = 0;
	return true;
}

/* The address of the new block; 0: the call failed. */
static __always_inline __u64 result_of(mt_regs *ctx, struct mt_thread *t)
{
	__u64 result = arch_result(ctx), addr = 0;

	switch (MT_COOKIE_RESULT(t->cookie)) {
	case MT_RESULT_OUT:
		if ((__u32)result)
			return 0;
		/*
		 * with its tag it can be read only where the process requested that; without, only
		 * where tags are not checked
		 */
		if (bpf_probe_read_user(&addr, sizeof(addr), (const void *)MT_UNTAG(t->out)) &&
		    bpf_probe_read_user(&addr, sizeof(addr), (const void *)t->out))
			return UNREADABLE;
		return MT_UNTAG(addr);
	case MT_RESULT_IN_PLACE:
		/* xallocx returns the size it reached */
		return result >= t->size ? t->old : 0;
	default:
		return MT_UNTAG(result);
	}
}

/* The block that realloc was given is gone. */
static __always_inline void old_freed(mt_regs *ctx, struct mt_thread *t, __u32 func, __u64 caller, __u64 sp,
				      __u64 cut, __u64 now)
{
	struct taken old = { .size = t->old_size, .born = t->old_born, .site = t->old_site };
	__u32 where = 0;

	if (!t->old_site) {
		unknown_free(t);
		tell_unknown(t, func, t->old);
		return;
	}
	end_old_block(t, &old, t->old, cut, now);
	if (mt_config.free_stacks) {
		where = site_here(ctx, t, func, caller, sp);
		free_charge(t, &old, where, cut, now);
	}
	tell_end(t, MT_TOLD_FREE, func, &old, where, t->old);
}

/* The return of a call that was counted as failed when it threw (refusals.bpf.h): is there a block all the same? */
static __always_inline bool went_on(mt_regs *ctx, struct mt_thread *t, __u64 sp)
{
	if (mt_config.within || !t->thrown_sp || t->thrown_sp != sp)
		return false;
	t->thrown_sp = 0;
	if (arch_result(ctx))
		count(MT_LOST_MISSED_RETURN);
	return true;
}

/*
 * --mode leak: the block is in the table until its address comes again, when it is known to have been freed, or until user space finds
 * that it is not in use.
 */
static __always_inline int stored(struct mt_thread *t, __u64 addr, struct taken *b, __u64 cut, __u64 now, bool is_realloc)
{
	struct amount a = amount_of(b->size);
	struct taken old;
	struct charge c;

	b->chain = MT_CHAIN_UNSEEN;
	if (!blocks_replace(addr, t->proc, b, cut & MT_CUT_DROPPING, &old)) {
		charge_replaced(&old, cut);
		return lose_no_stack(t, b->site);
	}
	if (!charge_open(&c, b->site, t->proc, cut))
		return 0;
	charge_call(&c, &a, b->size, in_ns(now));
	charge_thread(&c, t, &a, is_realloc);
	if (old.site)
		charge_replaced(&old, cut);
	tell_call(t, MT_TOLD_ALLOC, MT_COOKIE_FUNC(t->cookie), b->site, addr, b->size);
	return 0;
}

/* One program for malloc's and realloc's returns: where realloc jumps to malloc they are the same instruction. */
static __always_inline int returned(mt_regs *ctx, struct mt_thread *t, __u64 cookie, __u64 cut)
{
	__u64 now, addr, caller, sp, size;
	struct taken block, stale;
	struct mt_rare *rare;
	struct amount a;
	struct charge c;
	__u32 site, func = MT_COOKIE_FUNC(cookie);
	bool is_realloc;

	if (cookie & MT_COOKIE_AT_RET) {
		sp = point_sp(ctx, cookie);
		caller = arch_return_address(ctx);
		/* the `ret` of malloc that realloc jumped to is realloc's */
		if (cookie & MT_COOKIE_RETURN_ONLY &&
		    !(t->sp == sp && t->ra == caller && t->cookie & MT_COOKIE_AT_RET) &&
		    !return_alone(ctx, t, cookie, sp, caller))
			return 0;
		/* a `ret` may serve several functions, some with a uretprobe, and calls made before the trace */
		if (t->sp != sp || !(t->cookie & MT_COOKIE_AT_RET)) {
			/* with --overhead each window begins in the middle of calls */
			if (!went_on(ctx, t, sp) && !t->sp && cookie & MT_COOKIE_OWN_RET && !mt_config.budget)
				lone_return(t, sp);
			return 0;
		}
		caller = t->ra;
	} else {
		sp = arch_sp_returned(ctx);
		caller = arch_pc(ctx);
		if (cookie & MT_COOKIE_RETURN_ONLY && !return_alone(ctx, t, cookie, sp, caller))
			return 0;
		if (t->sp != sp || MT_COOKIE_FUNC(t->cookie) != func) {
			/* inside another call, the outer one is what counts */
			if (!t->sp && !went_on(ctx, t, sp))
				count(MT_EDGE_RETURN_ONLY);
			return 0;
		}
	}
	func = MT_COOKIE_FUNC(t->cookie);
	is_realloc = t->cookie & MT_COOKIE_REALLOC;
	t->sp = 0;
	now = clock_now();
	addr = result_of(ctx, t);
	if (addr == UNREADABLE) {
		count(MT_LOST_UNREADABLE);
		return 0;
	}
	if (!addr) {
		if (IS_FREED_UNSEEN(t->cookie)) {
			/* a realloc that freed, or left its block as it was: the heap shows it */
			if (is_realloc && t->old && !t->size)
				return 0;
		} else if (is_realloc && t->old && (!t->size || (t->cookie & MT_COOKIE_FREES_ON_FAIL))) {
			/* realloc(p, 0) that freed p, as glibc's does */
			old_freed(ctx, t, func, caller, sp, cut, now);
			if (!t->size)
				return 0;
		} else if (is_realloc) {
			put_old_back(t);
		}
		if (t->size && !is_outside(t)) {
			site = site_here(ctx, t, func, caller, sp);
			if (!mt_config.within || is_within(ctx, t, site, sp, caller)) {
				charge_failure(t, site, cut);
				/* without an entry, and of a string, the size is not known */
				if (t->cookie & (MT_COOKIE_RETURN_ONLY | MT_COOKIE_STRING))
					tell_call(t, MT_TOLD_UNSIZED, func, site, 0, 0);
				else
					tell_call(t, MT_TOLD_FAILED, func, site, 0, t->size);
			}
		}
		return 0;
	}

	if (is_realloc && t->old && !IS_FREED_UNSEEN(t->cookie))
		old_freed(ctx, t, func, caller, sp, cut, now);
	t->last_block = 0;
	t->last_freed = 0;
	size = t->size;
	if (t->cookie & (MT_COOKIE_USABLE | MT_COOKIE_STRING) && !(mt_config.requested && t->cookie & MT_COOKIE_USABLE)) {
		size = t->cookie & MT_COOKIE_STRING ? string_size(addr, ~0ULL) : size_set_aside(addr);
		if (size == UNREADABLE) {
			count(MT_LOST_UNREADABLE);
			return 0;
		}
	}
	if (!is_size_recorded(size) || is_outside(t) || !sampled(t, size))
		return 0;
	site = site_here(ctx, t, func, caller, sp);
	if (mt_config.within && !is_within(ctx, t, site, sp, caller))
		return 0;
	/* so that a line of --events is as old as its block is, also where the stack took its time */
	if (mt_config.calls)
		now = clock_now();
	block = (struct taken){ .size = size, .born = MT_BORN(now, t->serial), .site = site };
	if (IS_FREED_UNSEEN(t->cookie))
		return stored(t, addr, &block, cut, now, is_realloc);
	if (is_realloc && mt_config.mode != MT_MODE_LEAK)
		block.chain = moves_chain(t);
	if (!blocks_put_new(addr, t->proc, &block)) {
		/* a block is there still: its free was not seen; or there is no room at home */
		if (blocks_take(addr, t->proc, &stale)) {
			if (mt_config.budget && mt_gaps) {
				stale.born = 0;
			} else {
				miss_free(t->proc);
				/* it is not known which call freed it */
				stale.born = MT_BORN(stale.born, t->serial);
			}
			end_old_block(t, &stale, addr, cut, now);
			free_unseen(t, &stale, cut, now);
			tell_end(t, MT_TOLD_UNSEEN, 0, &stale, 0, addr);
		}
		if (!blocks_put(addr, t->proc, &block))
			return lose_no_stack(t, site);
	}
	if (!charge_open(&c, site, t->proc, cut))
		return 0;
	a = amount_of(size);
	charge_alloc(&c, &a, size, in_ns(now));
	charge_thread(&c, t, &a, is_realloc);
	tell_call(t, MT_TOLD_ALLOC, func, site, addr, size);
	budget_called(site, t);
	if (!t->size && !(t->cookie & MT_COOKIE_STRING) && (rare = rare_at(site, cut)))
		__sync_fetch_and_add(&rare->zero_calls, 1);
	if (is_realloc && t->old_site)
		moves_charge(t, site, addr, size, cut);
	t->last_block = addr;
	return 0;
}

static __always_inline void on_return(mt_regs *ctx, struct mt_thread *t, __u64 cookie, __u64 cut)
{
	returned(ctx, t, cookie, cut);
	outer_resume(t);
}

/*
 * A free of what is not in the table is none of the program's if it is that of the
 * same block, seen again (operator delete that calls free, or jumps to it; realloc,
 * which has taken it), or if the allocator makes it for itself.
 */
static __noinline bool is_no_free(mt_regs *ctx, struct mt_thread *t, __u64 cookie, __u64 addr)
{
	__u64 sp = point_sp(ctx, cookie), ra = arch_return_address(ctx);

	/* where blocks are skipped, frees of unknown ones are no figure */
	if (!t || mt_config.sample_bytes || mt_config.budget)
		return false;
	/* the same function again: that is another call */
	if (addr == t->last_freed && t->freed_code != MT_CODE(cookie, arch_pc(ctx)) &&
	    (sp < t->freed_sp || (sp == t->freed_sp && (__u32)ra == t->freed_ra)))
		return true;
	if (t->sp && still_inside(ctx, t, cookie, sp, ra)) {
		if (!(t->cookie & MT_COOKIE_REALLOC) || addr != t->old)
			count(MT_EDGE_OWN_FREE);
		return true;
	}
	if (!allocator_calls(MT_CODE(cookie, arch_pc(ctx)), ra) &&
	    (is_innermost(t->freed_code) || !inside_free(ctx, t, cookie, sp, ra)))
		return false;
	count(MT_EDGE_OWN_FREE);
	return true;
}

/* Are all blocks of a heap freed? By mi_heap_destroy they are, by jemalloc's mallctl if its first argument says so. */
static __always_inline bool frees_all(__u64 cookie, __u64 name)
{
	return MT_COOKIE_SIZE(cookie) == MT_NO_ARG || empties_arena(name);
}

static __always_inline int on_free(mt_regs *ctx, struct mt_thread *t, __u64 cookie, __u64 cut)
{
	__u64 addr, sp, ra;
	struct taken b;

	/* whose blocks these are is known to the allocator alone; a name comes first */
	if (MT_COOKIE_OLD(cookie) == MT_NO_ARG && frees_all(cookie, arch_first_arg(ctx)))
		count(MT_LOST_HEAP_DESTROYED);
	addr = MT_UNTAG(arch_arg(ctx, MT_COOKIE_OLD(cookie)));
	if (!addr)
		return 0;
	sp = point_sp(ctx, cookie);
	ra = arch_return_address(ctx);
	if (mt_config.within)
		within_freed(t, sp, ra);
	if (blocks_take(addr, t->proc, &b)) {
		__u64 now = clock_now();
		__u32 where = 0;

		end_block(t, &b, addr, cut, now);
		if (mt_config.free_stacks) {
			where = site_here(ctx, t, MT_COOKIE_FUNC(cookie), ra, sp);
			free_charge(t, &b, where, cut, now);
		}
		tell_end(t, MT_TOLD_FREE, MT_COOKIE_FUNC(cookie), &b, where, addr);
	} else {
		if (is_no_free(ctx, t, cookie, addr))
			return 0;
		/* also a block that was not known: it is one free */
		unknown_free(t);
		tell_unknown(t, MT_COOKIE_FUNC(cookie), addr);
	}
	t->last_freed = addr;
	t->freed_sp = sp;
	t->freed_ra = ra;
	t->freed_code = MT_CODE(cookie, arch_pc(ctx));
	return 0;
}

#endif
