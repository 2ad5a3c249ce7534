/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * The table of live blocks: puts blocks into it, takes them out, and has the overflow map.
 *
 * A block has two candidate buckets of five entries, then the overflow map.
 * Which ones follows from the page it is on, so that neighbours on the heap are
 * neighbours here and a cold table costs fewer cache misses; the place inside
 * the group of buckets is mixed with the page's hash, or page-aligned blocks
 * would all meet in one bucket of each group.
 *
 * Why this is safe without locks: two programs never handle the same address of
 * one process at once, because a block is inserted before its owner learns the
 * address and removed before the allocator may give it out again. What races is
 * the claim of an empty entry, hence the compare-and-swap from 0. A target that
 * frees a block twice at once races with itself: only one of the two can swap the
 * key for 0.
 *
 * The key is written last when an entry is filled (the exchange orders it after
 * the rest), so code that sees a key, here or in user space, sees its block.
 *
 * Entries of processes that have ended stay until a new block needs the place
 * (reclaim.bpf.h), or until user space sweeps them away: nothing looks for them any more.
 */
#ifndef MT_BLOCKS_BPF_H
#define MT_BLOCKS_BPF_H

#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

#include "bpf/abi.h"
#include "bpf/buckets.bpf.h"
#include "bpf/count.bpf.h"
#include "bpf/hash.h"
#include "bpf/procs.bpf.h"
#include "bpf/reclaim.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1024);
	__type(key, struct mt_over_key);
	__type(value, struct mt_over);
} overflow SEC(".maps");

static __noinline bool take_overflow(__u64 addr, __u32 proc, struct taken *ret)
{
	struct mt_over_key k = { .addr = addr, .proc = proc };
	struct mt_over *o = bpf_map_lookup_elem(&overflow, &k);
	struct mt_over found;

	if (!ret || !o)
		return false;
	found = *o;
	if (bpf_map_delete_elem(&overflow, &k))
		return false;
	__sync_fetch_and_add(&mt_n_over, -1ULL);
	ret->size = found.size;
	ret->site = found.site;
	ret->chain = found.chain;
	ret->born = found.born;
	return true;
}

/* Removes a block, which is in ret then; false if it is not in the table. */
static __always_inline bool blocks_take(__u64 addr, __u32 proc, struct taken *ret)
{
	__u64 key = addr << 16 | proc, h = mt_block_hash(addr, proc, mt_config.mode);
	struct mt_bucket *home, *second;

	if (addr > MT_ADDR_MAX)
		return mt_n_over && take_overflow(addr, proc, ret);
	home = bucket_at(h, addr);
	if (!home)
		return false;
	if (take_from(home, key, ret))
		return true;
	if (!home->n_spilled)
		return false;
	second = bucket_at(mt_mix(h), addr);
	if ((second && take_from(second, key, ret)) || (mt_n_over && take_overflow(addr, proc, ret))) {
		__sync_fetch_and_add(&home->n_spilled, -1ULL);
		return true;
	}
	return false;
}

/* Is there a block at this address? */
__noinline int blocks_has(__u64 addr, __u32 proc)
{
	__u64 key = addr << 16 | proc, h = mt_block_hash(addr, proc, mt_config.mode);
	struct mt_over_key k = { .addr = addr, .proc = proc };
	struct mt_bucket *home, *second;

	if (addr <= MT_ADDR_MAX) {
		home = bucket_at(h, addr);
		if (!home)
			return 0;
		if (bucket_has(home, key))
			return 1;
		if (!home->n_spilled)
			return 0;
		second = bucket_at(mt_mix(h), addr);
		if (second && bucket_has(second, key))
			return 1;
	}
	return mt_n_over && bpf_map_lookup_elem(&overflow, &k) != NULL;
}

/*
 * Puts a block into its first bucket, if there is room and nothing speaks against
 * it: the address is not there, and no block at home there lives elsewhere. One
 * comparison of five keys, where nearly every block goes.
 */
static __always_inline bool blocks_put_new(__u64 addr, __u32 proc, const struct taken *b)
{
	__u64 key = addr << 16 | proc, h = mt_block_hash(addr, proc, mt_config.mode);
	struct mt_bucket *home;

	if (addr > MT_ADDR_MAX || b->size > MT_SIZE_MAX)
		return false;
	home = bucket_at(h, addr);
	if (!home || home->n_spilled)
		return false;
	return !bucket_has(home, key) && put_into(home, key, MT_VAL(b->size, b->chain, b->site), b->born);
}

static __noinline bool put_overflow(__u64 addr, __u32 proc, struct taken *b)
{
	struct mt_over_key k = { .addr = addr, .proc = proc };
	struct mt_over v;

	if (!b)
		return false;
	v = (struct mt_over){ .size = b->size, .born = b->born, .site = b->site, .chain = b->chain };
	__sync_fetch_and_add(&mt_n_over, 1);
	if (!bpf_map_update_elem(&overflow, &k, &v, BPF_ANY))
		return true;
	__sync_fetch_and_add(&mt_n_over, -1ULL);
	lose_block(proc);
	return false;
}

/* The address must not be in the table. False: no room, and the loss is counted. */
static __always_inline bool blocks_put(__u64 addr, __u32 proc, struct taken *b)
{
	__u64 key = addr << 16 | proc, h = mt_block_hash(addr, proc, mt_config.mode);
	__u64 val = MT_VAL(b->size, b->chain, b->site);
	struct mt_bucket *home, *second;

	if (addr > MT_ADDR_MAX)
		return put_overflow(addr, proc, b);
	home = bucket_at(h, addr);
	if (!home)
		return false;
	if (b->size <= MT_SIZE_MAX && put_into(home, key, val, b->born))
		return true;
	if (b->size <= MT_SIZE_MAX && some_are_dead() &&
	    put_over_dead(mt_bucket_of(h, addr, mt_config.n_groups), key, val, b->born))
		return true;
	__sync_fetch_and_add(&home->n_spilled, 1);
	second = bucket_at(mt_mix(h), addr);
	if (second && b->size <= MT_SIZE_MAX && put_into(second, key, val, b->born))
		return true;
	if (b->size <= MT_SIZE_MAX && some_are_dead() &&
	    put_over_dead(mt_bucket_of(mt_mix(h), addr, mt_config.n_groups), key, val, b->born))
		return true;
	if (put_overflow(addr, proc, b))
		return true;
	__sync_fetch_and_add(&home->n_spilled, -1ULL);
	return false;
}

/*
 * --mode leak: nobody took out the block that was at this address before. It is in old then, whose site is 0 if there was none. False:
 * no room, and the loss is counted.
 */
static __always_inline bool blocks_replace(__u64 addr, __u32 proc, struct taken *b, bool claim, struct taken *old)
{
	__u64 key = addr << 16 | proc, h = mt_block_hash(addr, proc, mt_config.mode);
	__u64 val = MT_VAL(b->size, b->chain, b->site), was = 0;
	struct mt_bucket *home, *second;

	old->site = 0;
	if (addr <= MT_ADDR_MAX && b->size <= MT_SIZE_MAX) {
		bool found;

		home = bucket_at(h, addr);
		if (!home)
			return false;
		found = replace_in(home, key, val, b->born, claim, &was);
		if (!found && home->n_spilled) {
			second = bucket_at(mt_mix(h), addr);
			found = second && replace_in(second, key, val, b->born, claim, &was);
		}
		if (found) {
			old->site = MT_VAL_SITE(was);
			old->size = MT_VAL_SIZE(was);
			return true;
		}
	}
	/* large ones are elsewhere: that one was, or this one is */
	if ((mt_n_over || b->size > MT_SIZE_MAX) && !blocks_take(addr, proc, old))
		old->site = 0;
	return blocks_put(addr, proc, b);
}

#endif
