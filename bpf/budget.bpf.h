/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * What the probes take from their targets; with --overhead also at which age blocks
 * are freed while they are observed. Without the option mt_config.budget is 0, one hit in
 * 64 is timed (user/probe/features.c), and the verifier drops all else.
 *
 * One hit in sixteen, picked at random, is timed, and stands for sixteen: the
 * time in the program, which grows with the stack and the tables, and mt_trap_ns
 * for the way in and out, which user space has measured on probes of its own.
 * When the sum passes mt_spend_limit user space is woken to take the probes out:
 * it need not check often, and a burst of calls ends when the budget is used up.
 *
 * The probes are in place in windows. What a thread had under way when a window
 * ended is none of the next one's business (cutoff.bpf.h).
 */
#ifndef MT_BUDGET_BPF_H
#define MT_BUDGET_BPF_H

#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

#include "bpf/abi.h"
#include "bpf/count.bpf.h"
#include "bpf/threads.bpf.h"

/* a program that was preempted is no dearer for that: none takes more than so many times their mean */
#define TIMED_MAX_TIMES 8
#define TIMED_FEW 64
#define TIMED_FIRST_NS 4000

volatile __u64 mt_trap_ns MT_OWN_LINE = 0;
volatile __u64 mt_spend_limit = ~0ULL;
volatile __u64 mt_window = 0;		/* counts windows; written by user space alone */
volatile __u64 mt_gaps = 0;		/* 1: there was time between windows, blocks may have gone unseen */
volatile __u64 mt_spent_ns MT_OWN_LINE = 0;	/* all probes, since the start */
volatile __u64 mt_timed = 0;		/* hits that were timed */
volatile __u64 mt_timed_ns = 0;		/* in programs, of those */
/* from a program's end to the next one's begin in its thread, by length: outside of allocation calls, then inside */
volatile __u64 mt_gap_ns[2 * MT_N_GAPS] = {};
volatile __u64 mt_gap_n[2 * MT_N_GAPS] = {};
/*
 * a window's spending, half way to its limit: what it was and when: the pace from there to the
 * limit may be another one than before
 */
volatile __u64 mt_mark = ~0ULL;
volatile __u64 mt_mark_spent = 0;
volatile __u64 mt_mark_at_ns = 0;
volatile __u64 mt_alarmed = 0;		/* user space was woken, and has not cleared it yet */

/* Woken by one word: the limit is passed. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} budget_alarm SEC(".maps");

/* Frees that were seen, by site and age. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct mt_ages);
} free_ages SEC(".maps");

static __always_inline __u64 budget_begin(void)
{
	if (bpf_get_prandom_u32() & ((mt_config.budget ? MT_TIMED_ONE_IN : MT_PRICED_ONE_IN) - 1))
		return 0;
	return bpf_ktime_get_ns();
}

/* Global, so that it is verified once and not after each way through a program. */
__noinline int budget_charge(__u64 began_ns)
{
	__u64 took_ns = bpf_ktime_get_ns() - began_ns, n = mt_timed, most_ns = TIMED_FIRST_NS, spent;

	if (n > TIMED_FEW)
		most_ns = mt_timed_ns * TIMED_MAX_TIMES / n;
	if (took_ns > most_ns)
		took_ns = most_ns;
	__sync_fetch_and_add(&mt_timed, 1);
	__sync_fetch_and_add(&mt_timed_ns, took_ns);
	if (!mt_config.budget)
		return 0;
	spent = (took_ns + mt_trap_ns) * MT_TIMED_ONE_IN;
	spent += __sync_fetch_and_add(&mt_spent_ns, spent);
	if (spent > mt_mark) {
		mt_mark = ~0ULL;
		mt_mark_spent = spent;
		mt_mark_at_ns = bpf_ktime_get_ns();
	}
	if (spent > mt_spend_limit && !mt_alarmed && !__sync_lock_test_and_set(&mt_alarmed, 1)) {
		__u64 word = spent;

		bpf_ringbuf_output(&budget_alarm, &word, sizeof(word), BPF_RB_FORCE_WAKEUP);
	}
	return 0;
}

static __always_inline void budget_end(__u64 began_ns)
{
	struct mt_thread *t;

	if (!began_ns)
		return;
	budget_charge(began_ns);
	if (!mt_config.budget)
		return;
	t = thread_slot(bpf_get_current_pid_tgid(), 0);
	if (t && t->tid == (__u32)bpf_get_current_pid_tgid())
		t->left_ns = (bpf_ktime_get_ns() & ~1ULL) | (t->sp != 0);
}

__noinline int budget_gap(__u64 left_ns)
{
	__u64 gap_ns = bpf_ktime_get_ns() - left_ns;
	__u32 k = gap_ns / MT_GAP_STEP_NS;

	if (k >= MT_N_GAPS)
		k = MT_N_GAPS - 1;
	if (left_ns & 1)
		k += MT_N_GAPS;
	__sync_fetch_and_add(&mt_gap_n[k], 1);
	__sync_fetch_and_add(&mt_gap_ns[k], gap_ns);
	return 0;
}

/* Two classes to each doubling: enum in abi.h. */
__noinline int budget_count_age(__u32 site, __u64 age_ns, __u64 size)
{
	struct mt_ages *ages = bpf_map_lookup_elem(&free_ages, &site);
	__u32 bits = significant_bits(age_ns);
	__u64 k = 0;

	if (!ages)
		return 0;
	if (bits > MT_AGE_MIN_BITS)
		k = (bits - MT_AGE_MIN_BITS) * 2 - 1 + (age_ns >> (bits - 2) & 1);
	/* the bound of the very register that is used, which is what the verifier of 6.1 follows */
	asm volatile("" : "+r"(k));
	if (k >= MT_N_AGES)
		k = MT_N_AGES - 1;
	__sync_fetch_and_add(&ages->blocks[k], 1);
	__sync_fetch_and_add(&ages->bytes[k], size);
	return 0;
}

/* A block was seen to be freed. born 0: it ended unseen, between windows. */
static __always_inline void budget_freed(__u32 site, __u64 born, __u64 size, __u64 now)
{
	if (mt_config.budget && born)
		budget_count_age(site, in_ns(mt_born_ago(born, now)), size);
}

/* A site is mostly one thread's: whose clock its calls are held against. */
static __always_inline void budget_called(__u32 site, const struct mt_thread *t)
{
	struct mt_ages *ages;

	if (!mt_config.budget)
		return;
	ages = bpf_map_lookup_elem(&free_ages, &site);
	if (ages && ages->caller != MT_TID(t->named_tid))
		ages->caller = MT_TID(t->named_tid);
}

#endif
