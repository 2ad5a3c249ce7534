/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Room that processes left behind when they ended. Their blocks stay in the
 * table: to visit it at each exit would take long, and most of the time nothing
 * needs the place. A program that finds a bucket full checks here whether an entry of it is
 * dead; as long as no process has ended, not even that.
 *
 * What a dead entry held is added to its site (gone_*), so that the live blocks of
 * a process that has ended are still all accounted for. Sites are not given back
 * before user space has swept the whole table since their process ended, so the
 * number in a dead entry names the right one.
 */
#ifndef MT_RECLAIM_BPF_H
#define MT_RECLAIM_BPF_H

#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

#include "bpf/abi.h"
#include "bpf/buckets.bpf.h"
#include "bpf/count.bpf.h"
#include "bpf/hash.h"
#include "bpf/procs.bpf.h"
#include "bpf/sample.bpf.h"
#include "bpf/sites.bpf.h"

/* A dead entry was taken out of this bucket. */
__noinline int bury(__u32 bucket, __u64 key, __u64 val, __u64 born)
{
	__u64 addr = key >> 16;
	__u32 home = mt_bucket_of(mt_block_hash(addr, key & 0xffff, mt_config.mode), addr, mt_config.n_groups);
	__u32 site = MT_VAL_SITE(val);
	struct amount a = amount_of(MT_VAL_SIZE(val));
	struct mt_site *s = bpf_map_lookup_elem(&sites, &site);
	struct mt_bucket *b;

	if (s) {
		__sync_fetch_and_add(&s->gone_calls, a.calls);
		__sync_fetch_and_add(&s->gone_bytes, a.bytes);
		atomic_max(&s->gone_born_inv,
			   ~(clock_ns() - mt_born_ago(born, clock_now()) * (mt_config.tick_ns ? mt_config.tick_ns : 1)));
	}
	if (home == bucket)
		return 0;
	b = bpf_map_lookup_elem(&blocks, &home);
	if (b)
		__sync_fetch_and_add(&b->n_spilled, -1ULL);
	return 0;
}

__noinline int put_over_dead(__u32 bucket, __u64 key, __u64 val, __u64 born)
{
	struct mt_bucket *b = bpf_map_lookup_elem(&blocks, &bucket);

	/* --mode leak: which of them it held at its end is found out after it */
	if (!b || mt_config.mode == MT_MODE_LEAK)
		return 0;
#pragma unroll
	for (int i = 0; i < MT_WAYS; i++) {
		struct mt_block *e = &b->way[i];
		__u64 old = e->key;

		if (old <= MT_KEY_CLAIMED || !is_dead(old & 0xffff) ||
		    __sync_val_compare_and_swap(&e->key, old, MT_KEY_CLAIMED) != old)
			continue;
		bury(bucket, old, e->val, e->born);
		e->val = val;
		e->born = born;
		__sync_lock_test_and_set(&e->key, key);
		return 1;
	}
	return 0;
}

#endif
