/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * The buckets of the table of live blocks, each by itself: a block is looked for in one,
 * put into it or taken out of it. blocks.bpf.h says which buckets a block may be in.
 */
#ifndef MT_BUCKETS_BPF_H
#define MT_BUCKETS_BPF_H

#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

#include "bpf/abi.h"
#include "bpf/count.bpf.h"
#include "bpf/hash.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, MT_GROUP);
	__type(key, __u32);
	__type(value, struct mt_bucket);
} blocks SEC(".maps");

struct taken {			/* a block, as it was in the table or is to be */
	__u64 size;
	__u64 born;
	__u32 site;
	__u32 chain;		/* see MT_VAL() */
};

static __always_inline struct mt_bucket *bucket_at(__u64 h, __u64 addr)
{
	__u32 i = mt_bucket_of(h, addr, mt_config.n_groups);

	return bpf_map_lookup_elem(&blocks, &i);
}

static __always_inline bool take_from(struct mt_bucket *b, __u64 key, struct taken *ret)
{
#pragma unroll
	for (int i = 0; i < MT_WAYS; i++) {
		struct mt_block *e = &b->way[i];

		if (e->key == key) {
			__u64 born = e->born, val = e->val;

			if (__sync_val_compare_and_swap(&e->key, key, 0) != key)
				continue;
			ret->size = MT_VAL_SIZE(val);
			ret->site = MT_VAL_SITE(val);
			ret->chain = MT_VAL_CHAIN(val);
			ret->born = born;
			return true;
		}
	}
	return false;
}

static __always_inline bool bucket_has(const struct mt_bucket *b, __u64 key)
{
	bool has = false;

#pragma unroll
	for (int i = 0; i < MT_WAYS; i++)
		has |= b->way[i].key == key;
	return has;
}

/*
 * --mode leak: the block that was at this address has been freed, and this one has its place; *ret_old is what was there. Claimed
 * only while user space takes out what is dead, so that it cannot take the new one for the old (user/collect/freed.c). Else
 * nobody but the owner of the address writes to the entry; who reads it just now may see the age of the other block.
 */
static __always_inline bool replace_in(struct mt_bucket *b, __u64 key, __u64 val, __u64 born, bool claim, __u64 *ret_old)
{
#pragma unroll
	for (int i = 0; i < MT_WAYS; i++) {
		struct mt_block *e = &b->way[i];

		if (e->key != key || (claim && __sync_val_compare_and_swap(&e->key, key, MT_KEY_CLAIMED) != key))
			continue;
		*ret_old = e->val;
		e->val = val;
		e->born = born;
		if (claim)
			__sync_lock_test_and_set(&e->key, key);
		return true;
	}
	return false;
}

static __always_inline bool put_into(struct mt_bucket *b, __u64 key, __u64 val, __u64 born)
{
#pragma unroll
	for (int i = 0; i < MT_WAYS; i++) {
		struct mt_block *e = &b->way[i];

		if (!e->key && !__sync_val_compare_and_swap(&e->key, 0, MT_KEY_CLAIMED)) {
			e->val = val;
			e->born = born;
			__sync_lock_test_and_set(&e->key, key);
			return true;
		}
	}
	return false;
}

#endif
