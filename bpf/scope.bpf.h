/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * --within, where events come in: the functions begin and end, and an allocation is
 * inside or not, now that its stack is known. within.bpf.h has the idea.
 */
#ifndef MT_SCOPE_BPF_H
#define MT_SCOPE_BPF_H

#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

#include "bpf/abi.h"
#include "bpf/arch.bpf.h"
#include "bpf/count.bpf.h"
#include "bpf/current.bpf.h"
#include "bpf/memo.bpf.h"
#include "bpf/nest.bpf.h"
#include "bpf/procs.bpf.h"
#include "bpf/scratch.bpf.h"
#include "bpf/sites.bpf.h"
#include "bpf/unwind.bpf.h"
#include "bpf/uretprobes.bpf.h"
#include "bpf/within.bpf.h"

/*
 * Does what the function jumped to still run, seen from a call that returns to ra
 * with sp? Then there is a frame that ends where the function's did, and returns where
 * it would have returned.
 */
static __noinline bool tail_goes_on(mt_regs *ctx, struct mt_thread *t, __u64 sp, __u64 ra)
{
	__u64 hook = trampoline(), word = 0;
	struct mt_scratch *s;
	struct mt_proc *p;
	bool reached;

	if (!t || sp >= t->within_sp)
		return false;
	if (ARCH_RA_ON_STACK) {
		bpf_probe_read_user(&word, sizeof(word), (const void *)(t->within_sp - ARCH_RA_BYTES));
		if (word != t->within_ra && !(hook && word == hook))
			return false;
	}
	s = scratch_claim(t);
	if (!s)
		return true;
	p = proc_at(t->proc);
	if (!p || p->walk != MT_WALK_TABLE) {
		ask_begin(ctx, &s->ask, 0, sp, ra);
		s->ask.sp = t->within_sp;
		s->ask.ra = t->within_ra;
		reached = ARCH_RA_ON_STACK || returns_from(&s->ask);
		scratch_release(t, s);
		return reached;
	}
	memo_drop(s);
	walk_begin(s, ra, sp, arch_fp(ctx));
	reached = walk_reaches(s, t->proc, t->within_sp) &&
		  (s->walk.guessed || s->walk.pc == t->within_ra || (hook && s->walk.pc == hook));
	scratch_release(t, s);
	return reached;
}

/* The call itself was what the function jumped to: with it, both are over. */
static __always_inline bool is_tail(const struct mt_thread *t, __u64 sp, __u64 ra)
{
	return t->within_tail && sp == t->within_sp && ra == t->within_ra;
}

/* Is a call inside? Its stack is that of the site. */
static __noinline bool is_within(mt_regs *ctx, struct mt_thread *t, __u32 site, __u64 sp, __u64 ra)
{
	struct mt_site *s = site < mt_config.n_sites ? bpf_map_lookup_elem(&sites, &site) : NULL;
	__u64 stack = s ? s->stack : 0;
	bool last;

	if (!t)
		return false;
	if (stack & MT_STACK_WITHIN)
		return true;
	/* without an end, the stack says nothing: the calls do, and an inlined copy has none */
	if (!MT_STACK_DEPTH(stack) || MT_STACK_END(stack) != MT_END_WHOLE) {
		if (!t->within_depth && mt_within_inlined)
			count(MT_LOST_WITHIN_UNSURE);
		return t->within_depth;
	}
	if (!t->within_tail)
		return false;
	last = is_tail(t, sp, ra);
	if (!last && tail_goes_on(ctx, t, sp, ra))
		return true;
	within_over(t);
	return last;
}

/* A free that the function jumped to ends it. */
static __always_inline void within_freed(struct mt_thread *t, __u64 sp, __u64 ra)
{
	if (is_tail(t, sp, ra))
		within_over(t);
}

/* stack that a thread may have used between two calls; stacks of their own are further away */
#define NEAR_BYTES (1ULL << 20)

/* One of the functions begins or ends. */
static __always_inline int on_within(mt_regs *ctx)
{
	/* also while nothing is recorded: what is under way when the trace begins is to be known */
	__u64 cookie = bpf_get_attach_cookie(ctx), sp;
	struct mt_thread *t = thread_here();

	if (!t)
		return 0;
	sp = arch_sp_after_return(ctx);
	switch (MT_WITHIN_KIND(cookie)) {
	case MT_WITHIN_ENTER:
		within_learn(t->proc, MT_WITHIN_LIST(cookie), arch_pc(ctx) - MT_WITHIN_VADDR(cookie));
		/* at the same height this is another call, or it jumped to itself: the one before is over */
		if (t->within_depth && sp == t->within_sp) {
			t->within_tail = 0;
			break;
		}
		if (!t->within_depth) {
			t->within_sp = sp;
			t->within_tail = 0;
			t->within_apart = 0;
		} else if (!t->within_sp) {
			/* of those that were counted before nothing more is known */
			t->within_sp = sp;
			t->within_apart = 1;
		} else if (t->within_sp - sp > NEAR_BYTES) {
			/* also if it is above */
			t->within_apart = 1;
		}
		t->within_depth++;
		break;
	case MT_WITHIN_LEAVE:
		if (sp == t->within_sp) {
			/* those that it called are over as well, also if they were left by longjmp or an exception */
			bool alone = !t->within_apart && !t->within_tail;

			within_over(t);
			if (alone)
				t->within_depth = 0;
		} else {
			within_lower(t);
		}
		break;
	case MT_WITHIN_JUMP:
		if (!t->within_depth)
			break;
		/* inside of what another one jumped to: that one goes on */
		if (t->within_tail && sp < t->within_sp) {
			within_lower(t);
			break;
		}
		t->within_tail = 1;
		t->within_sp = sp;
		t->within_ra = arch_return_address(ctx);
		break;
	case MT_WITHIN_LANDED:
		if (t->within_tail && sp == t->within_sp)
			within_over(t);
		break;
	}
	return 0;
}

#endif
