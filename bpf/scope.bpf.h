/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * --within, the other half: is an allocation inside, now that its stack is known?
 * within.bpf.h has the idea.
 */
#ifndef MT_SCOPE_BPF_H
#define MT_SCOPE_BPF_H

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
	walk_begin(ctx, s, ra, sp);
	reached = walk_reaches(s, t->proc, t->within_sp) && (s->walk.guessed || s->walk.pc == t->within_ra || (hook && s->walk.pc == hook));
	scratch_release(t, s);
	return reached;
}

/* The call itself was what the function jumped to: with it, both are over. */
static __always_inline bool is_tail(const struct mt_thread *t, __u64 sp, __u64 ra)
{
	return t->within_tail && sp == t->within_sp && ra == t->within_ra;
}

static __noinline bool is_within(mt_regs *ctx, struct mt_thread *t, __u32 site, __u64 sp, __u64 ra)
{
	struct mt_site *s = site < mt_n_sites ? bpf_map_lookup_elem(&sites, &site) : NULL;
	__u64 stack = s ? s->stack : 0;
	bool last;

	if (!t)
		return false;
	/* without an end, the stack says nothing */
	if (stack & MT_STACK_WITHIN || !MT_STACK_DEPTH(stack) || MT_STACK_END(stack) != MT_END_WHOLE)
		return true;
	if (!t->within_tail)
		return false;
	last = is_tail(t, sp, ra);
	if (!last && tail_goes_on(ctx, t, sp, ra))
		return true;
	within_over(t);
	return last;
}

static __always_inline void within_freed(struct mt_thread *t, __u64 sp, __u64 ra)
{
	if (is_tail(t, sp, ra))
		within_over(t);
}

#endif
