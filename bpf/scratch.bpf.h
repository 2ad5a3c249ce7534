/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Buffers to walk a stack in. A thread has one of its own, from its first event to
 * its end: its programs never run two at a time, so it need not be locked. Where
 * there are more threads than buffers, the rest share a few: not one per CPU,
 * because a uprobe program can be preempted and another would write into its
 * buffer, but claimed by a flag.
 */
#ifndef MT_SCRATCH_BPF_H
#define MT_SCRATCH_BPF_H

#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

#include "bpf/abi.h"
#include "bpf/count.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct mt_scratch);
} scratch SEC(".maps");

#define SCRATCH_TRIES 8
#define SCRATCH_PER_CPU 4

/* Claims one of those that are shared: its number and 1; 0: they are busy. Global, so that the verifier goes through it once. */
__noinline __u32 scratch_share(void)
{
	__u32 first = bpf_get_smp_processor_id() * SCRATCH_PER_CPU;

	for (int i = 0; i < SCRATCH_TRIES; i++) {
		__u32 k = (first + i) % mt_config.n_shared;
		struct mt_scratch *s = bpf_map_lookup_elem(&scratch, &k);

		if (s && !s->busy && !__sync_lock_test_and_set(&s->busy, 1))
			return k + 1;
	}
	count(MT_LOST_SCRATCH_BUSY);
	return 0;
}

static __always_inline struct mt_scratch *scratch_claim(const struct mt_thread *t)
{
	__u32 k = t->scratch;

	if (!k) {
		k = scratch_share();
		if (!k)
			return NULL;
		k--;
	}
	return bpf_map_lookup_elem(&scratch, &k);
}

static __always_inline void scratch_release(const struct mt_thread *t, struct mt_scratch *s)
{
	/* an exchange, not a store: our reads of the buffer come before it */
	if (!t->scratch)
		__sync_lock_test_and_set(&s->busy, 0);
}

/* A buffer for a new thread: its number, or 0. */
static __always_inline __u32 scratch_own(__u32 tid)
{
	if (mt_config.n_scratch <= mt_config.n_shared)
		return 0;
	for (__u32 i = 0; i < SCRATCH_TRIES; i++) {
		__u32 k = mt_config.n_shared + (tid + i) % (mt_config.n_scratch - mt_config.n_shared);
		struct mt_scratch *s = bpf_map_lookup_elem(&scratch, &k);

		if (s && !s->busy && !__sync_lock_test_and_set(&s->busy, 1)) {
			s->n_by_fp = s->n_in_vain = 0;
			return k;
		}
	}
	return 0;
}

static __always_inline void scratch_disown(struct mt_thread *t)
{
	__u32 k = t->scratch;
	struct mt_scratch *s = k ? bpf_map_lookup_elem(&scratch, &k) : NULL;

	t->scratch = 0;
	if (s)
		__sync_lock_test_and_set(&s->busy, 0);
}

#endif
