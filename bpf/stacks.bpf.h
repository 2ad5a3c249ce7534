/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * The site of a call: how its stack is walked, by frame pointers or by tables, and whether
 * what was found by frame pointers may be believed.
 */
#ifndef MT_STACKS_BPF_H
#define MT_STACKS_BPF_H

#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

#include "bpf/abi.h"
#include "bpf/arch.bpf.h"
#include "bpf/count.bpf.h"
#include "bpf/frames.bpf.h"
#include "bpf/memo.bpf.h"
#include "bpf/procs.bpf.h"
#include "bpf/python.bpf.h"
#include "bpf/ranges.bpf.h"
#include "bpf/scratch.bpf.h"
#include "bpf/sites.bpf.h"
#include "bpf/unwind.bpf.h"
#include "bpf/uretprobes.bpf.h"
#include "bpf/within.bpf.h"

/* Trampolines, which a walk by frame pointers does not see through. */
__noinline int stack_is_odd(const struct mt_scratch *s, __u32 n, __u64 hook)
{
	if (!s || !hook)
		return 0;
#pragma clang loop unroll(disable)
	for (__u32 i = 0; i < MT_MAX_DEPTH; i++) {
		if (i >= n || i >= mt_config.depth)
			break;
		if (s->ip[i] == hook)
			return 1;
	}
	return 0;
}

/*
 * The n frames that were found by frame pointers, those from number `from` on, would be a new site:
 * may they? If not they have to be walked by tables: frame pointers leave out callers of code that
 * keeps none, and the function that a signal interrupted, and do not know whereto a trampoline
 * leads.
 */
__noinline int take_by_fp(struct mt_scratch *s, __u32 n, __u32 proc, __u32 from)
{
	struct mt_proc *p = proc_at(proc);

	if (!s || !p)
		return 0;
	if (stack_is_proven(s, n, proc, from))
		return 1;
	if (p->walk != MT_WALK_FP_ONLY || stack_is_odd(s, n, trampoline()) ||
	    (mt_config.within && !stack_is_within(s, n, proc)))
		return 0;
	s->walk.end = MT_END_UNSURE;
	return 1;
}

/* A stack was walked, from sp up to top. */
__noinline int settle_within(struct mt_thread *t, __u32 site, __u64 sp, __u64 top)
{
	struct mt_site *made = site < mt_config.n_sites ? bpf_map_lookup_elem(&sites, &site) : NULL;

	if (t && made)
		within_settle(t, made->stack, sp, top);
	return 0;
}

#define FP_FEW_IN_VAIN 32
#define FP_IN_VAIN_ONE_IN 4
#define FP_FORGET 4096

/* A walk by frame pointers could not be believed. If many cannot, the process is better walked by tables at once. */
static __always_inline void fp_in_vain(struct mt_scratch *s, struct mt_proc *p)
{
	if (++s->n_in_vain > FP_FEW_IN_VAIN && s->n_in_vain * FP_IN_VAIN_ONE_IN > s->n_by_fp && p->walk == MT_WALK_FP)
		p->walk = MT_WALK_TABLE;
	if (s->n_by_fp > FP_FORGET)
		s->n_by_fp = s->n_in_vain = 0;
}

/* Of n frames that were walked: with those of Python, how many? */
static __always_inline __u32 with_python(struct mt_scratch *s, __u32 n)
{
	s->walk.n = n;
	return mt_config.python ? python_merge(s, n) : n;
}

/* And how many of those stay, once it is known what they are: for a new site. */
static __always_inline __u32 kept_of(struct mt_scratch *s, __u32 n)
{
	return mt_config.python ? python_names(s, n) : n;
}

/*
 * The site of the call in s->key, whose stack was not met lately. Global, so that the verifier goes through it once,
 * wherever it is needed.
 */
__noinline __u32 site_by_walk(struct mt_scratch *s, struct mt_thread *t)
{
	bool by_tables = true;
	__u32 site = 0, n = 0, all = 0, proc, func;
	__u64 caller, sp, fp;
	struct mt_proc *p;

	if (!s || !t)
		return 0;
	proc = t->proc;
	func = s->key.func;
	caller = s->key.caller;
	sp = s->key.sp;
	fp = s->key.fp;
	p = proc_at(proc);
	if (!walks_by_tables(p)) {
		__u32 recording = s->recording;

		n = walk_from(s, t, caller, sp, fp);
		if (s->recording)
			memo_records(s);
		all = with_python(s, n);
		site = site_known(s, all, proc, func);
		if (!site && take_by_fp(s, n, proc, 0)) {
			note_within(s, all, proc);
			site = site_add(s, all, kept_of(s, all), proc, func);
		}
		s->n_by_fp++;
		by_tables = !site;
		if (by_tables) {
			fp_in_vain(s, p);
			/* the words that it goes by are written down again */
			s->recording = recording;
			s->n_words = 0;
		}
	}
	if (by_tables) {
		n = walk_tables(s, t, proc, caller, sp, fp);
		all = with_python(s, n);
		site = site_known(s, all, proc, func);
		if (!site) {
			note_within(s, all, proc);
			site = site_add(s, all, kept_of(s, all), proc, func);
		}
	}
	memo_keep(s, site, all);
	t->stack_lost = site >= mt_config.n_sites;
	if (mt_config.within)
		settle_within(t, site, sp, by_tables ? s->walk.sp : s->last);
	t->frames += all;
	return site;
}

/*
 * The site of a call: it returns to caller, and sp is the stack pointer then.
 * Checked at its return, or at its entry, where the function may have a frame
 * record of its own already.
 */
static __always_inline __u32 site_here(mt_regs *ctx, struct mt_thread *t, __u32 func, __u64 caller, __u64 sp)
{
	struct mt_scratch *s = scratch_claim(t);
	__u32 proc = t->proc, site;
	struct mt_proc *p = proc_at(proc);

	if (!s) {
		t->stack_lost = 0;
		return spare_site(proc);
	}
	s->key = (struct mt_memo_key){ .caller = caller, .sp = sp, .fp = arch_fp(ctx), .func = func, .proc = proc,
				       .gen_tid = (p ? p->gen : 0) | (mt_config.by_thread ? (__u64)t->named_tid << 32 : 0) };
	if (mt_config.python)
		python_begin(s, t);
	site = memo_site(s, t);
	if (!site)
		site = site_by_walk(s, t);
	if (mt_config.python)
		python_end(s);
	scratch_release(t, s);
	return site;
}

#endif
