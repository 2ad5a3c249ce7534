/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Where a block or a site belongs in its table: the programs and user space must agree on it. */
#ifndef MT_HASH_ABI_H
#define MT_HASH_ABI_H

#include "bpf/abi.h"

static inline __attribute__((always_inline)) __u64 mt_mix(__u64 x)
{
	x ^= x >> 32;
	x *= 0x9e3779b97f4a7c15ULL;
	x ^= x >> 29;
	return x;
}

/* Of what names a file; never 0. */
static inline __attribute__((always_inline)) __u32 mt_file_hash(const struct mt_file_key *key)
{
	__u64 h = mt_mix(mt_mix(key->ino + ((__u64)key->dev << 32)) + key->size) ^
		  mt_mix(key->mtime_s + ((__u64)key->mtime_ns << 32));

	return (__u32)(h >> 32) | 1;
}

/*
 * Of a block's page; mixed once more, it leads to the second bucket. --mode leak: of its address, because blocks that are no
 * more are in the table, too, sixteen bytes apart, and those of a few pages would fill their buckets.
 */
static inline __attribute__((always_inline)) __u64 mt_block_hash(__u64 addr, __u32 proc, __u32 mode)
{
	return mode == MT_MODE_LEAK ? mt_mix((addr >> 4) + ((__u64)proc << 44)) : mt_mix((addr >> 12) + ((__u64)proc << 40));
}

static inline __attribute__((always_inline)) __u32 mt_bucket_of(__u64 hash, __u64 addr, __u32 n_groups)
{
	__u32 group = (hash >> 32) * n_groups >> 32;

	return group * MT_GROUP + ((addr >> 6 ^ hash) & (MT_GROUP - 1));
}

/* The i-th place in the index at which a site may be; n_index is a power of two. */
static inline __attribute__((always_inline)) __u32 mt_index_of(__u64 hash, __u32 i, __u32 n_index)
{
	return ((__u32)(hash >> 32) + i) & (n_index - 1);
}

#endif
