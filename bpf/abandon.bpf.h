/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Calls that have begun and will not return: left by longjmp or by an exception, or their
 * thread has ended. What realloc took out of the table is put back.
 */
#ifndef MT_ABANDON_BPF_H
#define MT_ABANDON_BPF_H

#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

#include "bpf/abi.h"
#include "bpf/blocks.bpf.h"
#include "bpf/buckets.bpf.h"
#include "bpf/calls.bpf.h"
#include "bpf/charge.bpf.h"
#include "bpf/count.bpf.h"
#include "bpf/frees.bpf.h"

/*
 * The block that realloc took out of the table. The next two are functions of their own: programs
 * have 512 bytes of stack in all.
 */
static __always_inline struct taken taken_by(const struct mt_thread *t)
{
	return (struct taken){ .size = t->old_size, .born = t->old_born, .site = t->old_site, .chain = t->old_chain };
}

__noinline int put_taken(struct mt_thread *t)
{
	struct taken old;

	if (!t || blocks_has(t->old, t->proc))
		return 0;
	old = taken_by(t);
	return blocks_put(t->old, t->proc, &old);
}

__noinline int end_taken(struct mt_thread *t)
{
	struct taken old;
	__u64 cut = mt_cut, now = clock_now();

	if (!t)
		return 0;
	old = taken_by(t);
	end_old_block(t, &old, t->old, cut, now);
	free_unseen(t, &old, cut, now);
	tell_end(t, MT_TOLD_UNSEEN, 0, &old, 0, t->old);
	return 0;
}

/*
 * realloc's old block, taken at its entry, goes back into the table. Should its
 * place be gone, it ends here, and counts as lost. Where the call was left
 * half-way (a thread that died in it), the allocator may have given the address to
 * another thread already: if a block is there, the old one was freed, and ends. One
 * that is about to be put there meanwhile finds the old one, which is counted (missed_free).
 */
static __always_inline void put_old_back(struct mt_thread *t)
{
	if (t->old_site && !put_taken(t))
		end_taken(t);
	t->old_site = 0;
}

/* why: the counter that it is counted in. */
static __noinline int abandon(struct mt_thread *t, __u32 why)
{
	if (!t || why >= MT_N_COUNTERS)
		return 0;
	count(why);
	put_old_back(t);
	t->sp = 0;
	return 0;
}

#endif
