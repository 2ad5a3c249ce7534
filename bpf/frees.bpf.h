/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * --free-stacks: where blocks are freed, and by which threads. A free has a site
 * like an allocation has, made of its own stack, and there is a row for each pair
 * of sites and thread that occur together. Without the option mt_config.free_stacks is 0
 * and the verifier drops all of this.
 *
 * What always holds: over the rows of a site, calls and bytes add up to its frees in
 * every cut, but for what found no room, which is counted. When three quarters of
 * the rows are in use threads are not kept apart any more. Rows of processes that have
 * ended are given back by user space (collect/links.c).
 */
#ifndef MT_FREES_BPF_H
#define MT_FREES_BPF_H

#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

#include "bpf/abi.h"
#include "bpf/buckets.bpf.h"
#include "bpf/count.bpf.h"
#include "bpf/hash.h"
#include "bpf/sites.bpf.h"

volatile __u64 mt_links_used MT_OWN_LINE = 0;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct mt_link);
} free_links SEC(".maps");

/* A free place becomes the key's; false: another CPU was faster. */
static __always_inline bool link_claim(__u64 key, __u32 at, __u64 seen)
{
	struct mt_link *l = bpf_map_lookup_elem(&free_links, &at);

	if (!l || __sync_val_compare_and_swap(&l->key, seen, key) != seen)
		return false;
	__sync_fetch_and_add(&mt_links_used, 1);
	return true;
}

/*
 * The row of a key, + 1; 0: there is none, and none is to be made or there is no room.
 * Two threads that look for one key where places were given back may make two rows of
 * it: a cut adds them up.
 */
__noinline __u32 link_find(__u64 key, __u32 may_add)
{
	__u64 h = mt_mix(key);
	__u64 grave = 0;	/* + 1; a whole word: see docs/ARCHITECTURE.md on 6.1's verifier */

#pragma clang loop unroll(disable)
	for (__u32 i = 0; i < MT_LINK_PROBES; i++) {
		__u32 k = mt_index_of(h, i, mt_config.n_links);
		struct mt_link *l = bpf_map_lookup_elem(&free_links, &k);
		__u64 seen;

		if (!l)
			return 0;
		seen = l->key;
		if (seen == key)
			return k + 1;
		if (seen == MT_LINK_GONE && !grave)
			grave = k + 1;
		if (seen)
			continue;
		/* it is nowhere */
		if (!may_add)
			return 0;
		if (grave && link_claim(key, grave - 1, MT_LINK_GONE))
			return grave;
		grave = 0;
		/* by a thread that has the same one, perhaps */
		if (link_claim(key, k, 0) || l->key == key)
			return k + 1;
	}
	return grave && may_add && link_claim(key, grave - 1, MT_LINK_GONE) ? grave : 0;
}

/* A block that was charged as freed was freed there by this thread. */
__noinline int free_charge(struct mt_thread *t, const struct taken *b, __u32 where, __u64 cut, __u64 now)
{
	struct mt_link *l;
	struct mt_freed *f;
	__u32 k, bank = cut & 1;

	if (!t || !b)
		return 0;
	k = link_find(MT_LINK(b->site, where, MT_TID(t->named_tid)), mt_links_used < mt_config.n_links / 4 * 3);
	if (!k)
		k = link_find(MT_LINK(b->site, where, 0), 1);
	if (!k) {
		count(MT_LOST_FREES_FULL);
		return 0;
	}
	k--;
	l = bpf_map_lookup_elem(&free_links, &k);
	if (!l)
		return 0;
	f = bank ? &l->bank[1] : &l->bank[0];
	__sync_fetch_and_add(&f->calls, 1);
	__sync_fetch_and_add(&f->bytes, b->size);
	if (!b->born)
		return 0;
	__sync_fetch_and_add(&l->lifetime_ns, in_ns(mt_born_ago(b->born, now)));
	if (MT_BORN_SERIAL(b->born) != t->serial)
		__sync_fetch_and_add(&f->cross_calls, 1);
	return 0;
}

/* The same for a block whose end was not seen. */
static __always_inline void free_unseen(struct mt_thread *t, const struct taken *b, __u64 cut, __u64 now)
{
	if (mt_config.free_stacks)
		free_charge(t, b, spare_site(t->proc), cut, now);
}

#endif
