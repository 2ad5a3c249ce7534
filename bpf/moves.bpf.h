/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * What is rare, by site; first of all what realloc does to blocks: does it move them,
 * by how much do they grow, and how often is one passed on? Charged at realloc's return, to the
 * site of the new block, so that other calls pay nothing. Which addresses and sizes there were
 * is known of blocks that were in the table alone.
 *
 * A block carries how often it was passed on (MT_VAL()). With --sample and
 * --overhead, which pass some blocks over, the table has no room and nothing of
 * this is reported.
 */
#ifndef MT_MOVES_BPF_H
#define MT_MOVES_BPF_H

#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

#include "bpf/abi.h"
#include "bpf/count.bpf.h"

/* two of each site: by bank */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct mt_rare);
} site_rare SEC(".maps");

static __always_inline struct mt_rare *rare_at(__u32 site, __u64 cut)
{
	__u32 k = site * 2 + (cut & 1);

	return bpf_map_lookup_elem(&site_rare, &k);
}

/* How often the block that realloc gives now was passed on. */
static __always_inline __u32 moves_chain(const struct mt_thread *t)
{
	if (!t->old_site)
		return 0;
	return t->old_chain < MT_CHAIN_MAX ? t->old_chain + 1 : MT_CHAIN_MAX;
}

/* The thread's old block became one of this size at addr. */
__noinline int moves_charge(struct mt_thread *t, __u32 site, __u64 addr, __u64 size, __u64 cut)
{
	struct mt_rare *rare = rare_at(site, cut);
	struct mt_moves *m;
	__u64 old;

	if (!rare || !t)
		return 0;
	m = &rare->moves;
	old = t->old_size;
	__sync_fetch_and_add(&m->calls, 1);
	if (addr != t->old) {
		__sync_fetch_and_add(&m->moved_calls, 1);
		__sync_fetch_and_add(&m->moved_bytes, old < size ? old : size);
	}
	if (size > old) {
		__sync_fetch_and_add(&m->grown_calls, 1);
		__sync_fetch_and_add(&m->grown_bytes, size - old);
		if (size - old >= old / 2 + (old & 1))
			__sync_fetch_and_add(&m->doubled_calls, 1);
	} else if (size < old) {
		__sync_fetch_and_add(&m->shrunk_calls, 1);
	}
	atomic_max(&m->longest, moves_chain(t));
	return 0;
}

#endif
