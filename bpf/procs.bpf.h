/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * The table of processes: which number and slot each has, when it began and ended, and
 * how many of its blocks and frees were lost.
 */
#ifndef MT_PROCS_BPF_H
#define MT_PROCS_BPF_H

#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

#include "bpf/abi.h"
#include "bpf/count.bpf.h"
#include "bpf/within.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct mt_proc);
} procs SEC(".maps");

static __always_inline struct mt_proc *proc_at(__u32 proc)
{
	__u32 slot = MT_PROC_SLOT(proc);

	return bpf_map_lookup_elem(&procs, &slot);
}

#define REUSE_TRIES 16		/* of a list that others take from at the same time */

/* A slot that user space has given back, zeroed but for its next number; 0 if there is none. */
static __noinline __u32 slot_reuse(void)
{
	for (int i = 0; i < REUSE_TRIES; i++) {
		__u64 head = mt_free_slots;
		__u32 slot = head;
		struct mt_proc *p = slot ? proc_at(slot) : NULL;

		if (!p)
			return 0;
		if (__sync_val_compare_and_swap(&mt_free_slots, head, ((head >> 32) + 1) << 32 | p->next_free) == head)
			return slot;
	}
	return 0;
}

/* A new process in the table; 0 if there is no room. Process 0 is no process. */
static __noinline __u32 proc_add(__u32 pid)
{
	struct mt_proc *p;
	__u32 slot;

	if (mt_over)
		return 0;
	slot = slot_reuse();
	if (!slot) {
		slot = __sync_fetch_and_add(&mt_procs_used, 1) + 1;
		p = slot < mt_config.n_procs ? proc_at(slot) : NULL;
		if (!p) {
			__sync_fetch_and_add(&mt_procs_used, -1);
			count(MT_LOST_PROCESS_FULL);
			return 0;
		}
		p->number = slot;
	} else {
		p = proc_at(slot);
		if (!p)
			return 0;
	}
	__sync_fetch_and_add(&mt_slots_in_use, 1);
	/* stacks that a process of the same number remembers are not this one's */
	p->gen++;
	p->nth = __sync_fetch_and_add(&mt_lives_begun, 1);
	p->started_ns = clock_ns();
	if (mt_config.within)
		within_begin(p->number);
	/* an exchange: from here on user space takes it for a process */
	__sync_lock_test_and_set(&p->pid, pid);
	return p->number;
}

/* What it has live now is what it leaked; its blocks may be taken for room from now on. */
static __always_inline void proc_end(struct mt_proc *p, __u32 how)
{
	p->ended_ns = clock_ns();
	/* dropped after it ended: it counts once */
	if (!__sync_lock_test_and_set(&p->ended, how))
		__sync_fetch_and_add(&mt_lives_ended, 1);
}

/* Has the process of this number ended? So it has if another process has its slot by now. */
static __always_inline bool is_dead(__u32 proc)
{
	struct mt_proc *p = proc_at(proc);

	return p && (p->ended || p->number != proc);
}

/* ---- what was lost of a process */

/* A block of this process found no room. */
__noinline int lose_block(__u32 proc)
{
	struct mt_proc *p = proc_at(proc);

	count(MT_LOST_LIVE_FULL);
	if (p)
		__sync_fetch_and_add(&p->lost_blocks, 1);
	return 0;
}

/* A block of this process ended, and it was not seen how. */
__noinline int miss_free(__u32 proc)
{
	struct mt_proc *p = proc_at(proc);

	count(MT_LOST_MISSED_FREE);
	if (p)
		__sync_fetch_and_add(&p->missed_frees, 1);
	return 0;
}

#endif
