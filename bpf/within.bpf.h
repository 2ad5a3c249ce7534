/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * --within: only what functions that the user named, and what they call, allocate.
 * Here: where these functions are, and what a thread knows of those that it is in. What
 * happens at their points, and at an allocation, is in scope.bpf.h.
 *
 * The stack decides: it has a frame in one of these functions, or it has not. It is
 * walked anyway, and what it says is kept with its site, so that is checked once
 * per stack. No longjmp, no exception, no recursion and no coroutine can make it
 * wrong. But a walk costs much where nothing is to be recorded. So entries and returns of the
 * functions are counted per thread, and as long as there are none under way nothing
 * is walked. The count may be too high (a way out that is not probed, a longjmp):
 * then stacks are walked in vain, until one shows that it is wrong.
 *
 * Where the stack cannot show it, because a walk did not reach its end, the count
 * does. And a function that ends by jumping to another one has no frame any more
 * while that one runs, though its caller waits for both: see within_tail.
 *
 * What was under way when a thread was first seen is not known to be: the functions
 * count from their next call on.
 *
 * An inlined copy of a function has no call that could be counted. From the first file with such
 * copies on (mt_within_inlined) all stacks are walked, and where a file is mapped is asked of the kernel
 * (ranges.bpf.h). Where a stack does not show its end, and no call is under way, it may go through
 * such a copy or not: a loss.
 */
#ifndef MT_WITHIN_BPF_H
#define MT_WITHIN_BPF_H

#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

#include "bpf/abi.h"
#include "bpf/count.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct mt_within_list);
} within_lists SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct mt_within_proc);
} within_procs SEC(".maps");

/* 1: stacks are walked outside of counted calls, too */
volatile __u32 mt_within_inlined = 0;

/* Is an allocation surely outside of all functions? */
static __always_inline bool is_outside(const struct mt_thread *t)
{
	return mt_config.within && !t->within_depth && !mt_within_inlined;
}

enum { WITHIN_FREE, WITHIN_CLAIMED, WITHIN_KNOWN };

/* Global functions, each of which the verifier checks once. */
__noinline int list_has(__u32 list, __u64 vaddr)
{
	struct mt_within_list *l = bpf_map_lookup_elem(&within_lists, &list);

	if (!l)
		return 0;
#pragma clang loop unroll(disable)
	for (__u32 i = 0; i < MT_WITHIN_RANGES; i++) {
		if (i >= l->n)
			break;
		/*
		 * a return address: one right after the last call belongs to it, one that is the
		 * first instruction does not
		 */
		if (vaddr > l->range[i].from && vaddr <= l->range[i].to)
			return 1;
	}
	return 0;
}

/* A process begins: what is in its slot is of the process before. */
__noinline int within_begin(__u32 proc)
{
	__u32 slot = MT_PROC_SLOT(proc);
	struct mt_within_proc *p = bpf_map_lookup_elem(&within_procs, &slot);

	if (!p)
		return 0;
#pragma clang loop unroll(disable)
	for (__u32 i = 0; i < MT_WITHIN_FILES; i++)
		p->file[i].known = WITHIN_FREE;
	__sync_lock_test_and_set(&p->proc, proc);
	return 0;
}

/* Where a file of these functions is mapped: learned when one of them is entered. */
__noinline int within_learn(__u32 proc, __u32 list, __u64 bias)
{
	__u32 slot = MT_PROC_SLOT(proc), at = MT_WITHIN_FILES;
	struct mt_within_proc *p = bpf_map_lookup_elem(&within_procs, &slot);

	if (!p || p->proc != proc)
		return 0;
#pragma clang loop unroll(disable)
	for (__u32 i = 0; i < MT_WITHIN_FILES; i++) {
		if (p->file[i].known == WITHIN_KNOWN && p->file[i].list == list && p->file[i].bias == bias)
			return 0;
		if (p->file[i].known == WITHIN_FREE &&
		    __sync_val_compare_and_swap(&p->file[i].known, WITHIN_FREE, WITHIN_CLAIMED) ==
			    WITHIN_FREE) {
			at = i;
			break;
		}
	}
	/* libraries that were unloaded and came back elsewhere: one that is long gone gives way */
	if (at >= MT_WITHIN_FILES)
		at = __sync_fetch_and_add(&p->n_more, 1);
	asm volatile("" : "+r"(at));
	at &= MT_WITHIN_FILES - 1;
	p->file[at].bias = bias;
	p->file[at].list = list;
	__sync_lock_test_and_set(&p->file[at].known, WITHIN_KNOWN);
	return 0;
}

static __always_inline void within_lower(struct mt_thread *t)
{
	if (t->within_depth)
		t->within_depth--;
}

/* The outermost has ended. */
static __always_inline void within_over(struct mt_thread *t)
{
	t->within_sp = 0;
	t->within_tail = 0;
	within_lower(t);
}

/*
 * A walk of a whole stack that did not meet them. If the outermost call that was
 * counted had its frame on this very stack, which reaches from sp to top, it is
 * over: longjmp, an exception, a return that is not probed. And so are those that
 * were called after it, unless one of them may be a coroutine's.
 */
static __always_inline void within_settle(struct mt_thread *t, __u64 stack, __u64 sp, __u64 top)
{
	if (stack & MT_STACK_WITHIN || MT_STACK_END(stack) != MT_END_WHOLE || t->within_tail ||
	    t->within_sp < sp || t->within_sp > top)
		return;
	within_over(t);
	if (!t->within_apart)
		t->within_depth = 0;
}

#endif
