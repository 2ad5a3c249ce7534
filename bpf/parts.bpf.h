/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * --mmap: the parts that mappings consist of, and how a range of addresses is
 * taken away from them (mappings.bpf.h says what a mapping is).
 *
 * What is in a range of addresses. Parts are found by where they begin; the index
 * is a tree of 64 branches over page numbers, a word of bits for each node, in a
 * hash map. The last part that begins at or below an address takes a dozen
 * look-ups at most, however many mappings there are. Memory below the break is a
 * pile: its parts are found by where they end, the topmost first.
 *
 * Locks. Parts are cut, moved and added by one thread of a process at a time
 * (mt_mapped.lock), as the kernel itself does. A thread that is switched off
 * while it has the lock is waited for, but not for ever: what is not done then
 * is counted.
 */
#ifndef MT_PARTS_BPF_H
#define MT_PARTS_BPF_H

#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

#include "bpf/abi.h"
#include "bpf/blocks.bpf.h"
#include "bpf/buckets.bpf.h"
#include "bpf/charge.bpf.h"
#include "bpf/count.bpf.h"
#include "bpf/procs.bpf.h"
#include "bpf/sample.bpf.h"
#include "bpf/threads.bpf.h"

#define PAGE_BITS 12		/* of the smallest page that there is */
#define NO_PAGE (~0ULL)

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1);
	__type(key, __u32);	/* the thread */
	__type(value, struct mt_map_call);
} map_calls SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1);
	__type(key, struct mt_part_key);
	__type(value, struct mt_part);
} map_parts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1);
	__type(key, __u64);	/* MT_NODE() */
	__type(value, __u64);
} map_nodes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct mt_mapped);
} mapped SEC(".maps");

/* What a call's record is made from: on the stack there is no room for it. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct mt_map_call);
} map_call_new SEC(".maps");

/* The number that a mapping was given last. */
volatile __u64 mt_mappings MT_OWN_LINE = 0;

static __always_inline struct mt_mapped *mapped_of(__u32 proc)
{
	__u32 slot = MT_PROC_SLOT(proc);

	return bpf_map_lookup_elem(&mapped, &slot);
}

/* ---- one at a time */

/* some 30 ms: more than a thread is off the CPU for while another of its process waits */
#define LOCK_TURNS (1 << 23)

struct waiting {
	__u32 proc;
	__u32 got;
};

static long lock_turn(__u32 i, void *arg)
{
	struct waiting *w = arg;
	struct mt_mapped *m = mapped_of(w->proc);

	if (!m)
		return 1;
	if (m->lock || __sync_val_compare_and_swap(&m->lock, 0, 1))
		return 0;
	w->got = 1;
	return 1;
}

/* False: another thread has had it for too long. */
__noinline int map_lock(__u32 proc)
{
	struct waiting w = { .proc = proc };
	struct mt_mapped *m;

	bpf_loop(LOCK_TURNS, lock_turn, &w, 0);
	m = mapped_of(proc);
	if (!w.got || !m) {
		count(MT_LOST_MAPPING_BUSY);
		return 0;
	}
	if (m->proc != proc) {
		m->brk_top = 0;
		m->n_unmapping = 0;
		m->proc = proc;
	}
	return 1;
}

__noinline int map_unlock(__u32 proc)
{
	struct mt_mapped *m = mapped_of(proc);

	if (m)
		__sync_lock_test_and_set(&m->lock, 0);
	return 0;
}

/* ---- the index: where parts begin */

__noinline __u64 node_bits(__u32 proc, __u32 level, __u64 prefix)
{
	__u64 key = MT_NODE(proc, level, prefix), *bits = bpf_map_lookup_elem(&map_nodes, &key);

	return bits ? *bits : 0;
}

/* The last page below a node, which is the one of this prefix on that level. */
__noinline __u64 last_page_of(__u32 proc, __u32 level, __u64 prefix)
{
#pragma unroll
	for (int i = MT_NODE_LEVELS - 2; i >= 0; i--) {
		__u64 bits;

		if ((__u32)i >= level)
			continue;
		bits = node_bits(proc, i, prefix);
		if (!bits)
			return NO_PAGE;
		prefix = prefix << 6 | (significant_bits(bits) - 1);
	}
	return prefix;
}

/* The last page, up to this one, that a part begins on. */
__noinline __u64 part_below(__u32 proc, __u64 page)
{
#pragma unroll
	for (int i = 0; i < MT_NODE_LEVELS; i++) {
		__u64 bit = 1ULL << (page >> 6 * i & 63);
		__u64 bits = node_bits(proc, i, page >> 6 * (i + 1)) & (bit - 1 | (i ? 0 : bit));

		if (bits)
			return last_page_of(proc, i, page >> 6 * (i + 1) << 6 | (significant_bits(bits) - 1));
	}
	return NO_PAGE;
}

/* 1: the node has got its first bit. -1: there is no room for it. */
__noinline int node_set(__u32 proc, __u32 level, __u64 prefix, __u32 bit)
{
	__u64 key = MT_NODE(proc, level, prefix), *bits = bpf_map_lookup_elem(&map_nodes, &key),
	      first = 1ULL << (bit & 63);

	if (bits) {
		*bits |= first;
		return 0;
	}
	return bpf_map_update_elem(&map_nodes, &key, &first, BPF_ANY) ? -1 : 1;
}

/* True: it was the node's last bit. */
__noinline int node_clear(__u32 proc, __u32 level, __u64 prefix, __u32 bit)
{
	__u64 key = MT_NODE(proc, level, prefix), *bits = bpf_map_lookup_elem(&map_nodes, &key);

	if (!bits)
		return 1;
	*bits &= ~(1ULL << (bit & 63));
	if (*bits)
		return 0;
	bpf_map_delete_elem(&map_nodes, &key);
	return 1;
}

__noinline int page_clear(__u32 proc, __u64 page)
{
#pragma unroll
	for (int i = 0; i < MT_NODE_LEVELS; i++)
		if (!node_clear(proc, i, page >> 6 * (i + 1), page >> 6 * i))
			break;
	return 0;
}

/* False: there is no room, and what was set is to be cleared. */
__noinline int page_set(__u32 proc, __u64 page)
{
#pragma unroll
	for (int i = 0; i < MT_NODE_LEVELS; i++) {
		int is_new = node_set(proc, i, page >> 6 * (i + 1), page >> 6 * i);

		if (is_new < 0)
			return 0;
		if (!is_new)
			break;
	}
	return 1;
}

/* ---- parts */

/* A part that is not there yet. False: there is no room. */
__noinline int part_add(__u32 proc, __u64 start, __u64 end, __u64 block)
{
	struct mt_part_key k = { .addr = start, .proc = proc };
	struct mt_part part = { .other = end, .block = block };

	if (bpf_map_update_elem(&map_parts, &k, &part, BPF_NOEXIST))
		return 0;
	if (page_set(proc, start >> PAGE_BITS))
		return 1;
	page_clear(proc, start >> PAGE_BITS);
	bpf_map_delete_elem(&map_parts, &k);
	return 0;
}

__noinline int part_remove(__u32 proc, __u64 start)
{
	struct mt_part_key k = { .addr = start, .proc = proc };

	page_clear(proc, start >> PAGE_BITS);
	bpf_map_delete_elem(&map_parts, &k);
	return 0;
}

/* Is something known to be mapped at this address? */
__noinline int part_covers(__u32 proc, __u64 addr)
{
	struct mt_part_key k = { .proc = proc };
	struct mt_part *part;
	__u64 page;

	if (addr > MT_ADDR_MAX)
		return 0;
	page = part_below(proc, addr >> PAGE_BITS);
	if (page == NO_PAGE)
		return 0;
	k.addr = page << PAGE_BITS;
	part = bpf_map_lookup_elem(&map_parts, &k);
	return part && part->other > addr;
}

/* ---- what is taken away: programs have 512 bytes of stack in all, so the range is in the call's record */

/* bytes of a block are gone, and it has more parts, or fewer. */
__noinline int block_shrinks(const struct mt_map_call *k, __u64 block, __u64 bytes, int more_parts)
{
	struct mt_over_key key = { .addr = MT_OVER_MAPPING | block };
	struct amount a = { .bytes = bytes };
	struct taken b = {};
	struct mt_thread *t;
	struct mt_over *o;
	__u64 left;

	if (!k)
		return 0;
	key.proc = k->proc;
	o = bpf_map_lookup_elem(&overflow, &key);
	t = thread_find(k->tid);
	if (!o || !t)
		return 0;
	o->size -= bytes;
	o->n_parts += more_parts;
	left = o->n_parts;
	b.size = o->whole;
	b.site = o->site;
	if (!left) {
		b.born = o->born;
		a.calls = 1;
		if (!bpf_map_delete_elem(&overflow, &key))
			__sync_fetch_and_add(&mt_n_over, -1ULL);
	}
	end_amount(t, &b, &a, left ? 0 : key.addr, k->cut, k->now);
	return 0;
}

/* A part, or what of it lies in the range, goes. */
__noinline int take_part(struct mt_map_call *k, struct mt_part *part, __u64 start)
{
	__u64 end, from, to, bytes, block;
	int left = 0;

	if (!k || !part)
		return 0;
	end = part->other;
	block = part->block;
	from = start > k->lo ? start : k->lo;
	to = end < k->hi ? end : k->hi;
	if (from >= to)
		return 0;
	bytes = to - from;
	if (to < end) {
		if (part_add(k->proc, to, end, block)) {
			left++;
		} else {
			/* no room for what comes after the range: it is lost, and not left in the table */
			lose_block(k->proc);
			bytes += end - to;
		}
	}
	if (from > start) {
		left++;
		part->other = from;
	} else {
		part_remove(k->proc, start);
	}
	if (k->missed)
		miss_free(k->proc);
	block_shrinks(k, block, bytes, left - 1);
	return 0;
}

/* The topmost part in the range that was not examined yet; 1: there is none. */
static long take_turn(__u32 i, void *arg)
{
	__u32 tid = *(__u32 *)arg;
	struct mt_map_call *k = bpf_map_lookup_elem(&map_calls, &tid);
	struct mt_part_key key = {};
	struct mt_part *part;
	__u64 page;

	if (!k || k->at <= k->lo)
		return 1;
	page = part_below(k->proc, (k->at - 1) >> PAGE_BITS);
	if (page == NO_PAGE)
		return 1;
	key.proc = k->proc;
	key.addr = page << PAGE_BITS;
	part = bpf_map_lookup_elem(&map_parts, &key);
	if (!part || part->other <= k->lo)
		return 1;
	k->at = key.addr;
	if (part->block <= k->spares)
		take_part(k, part, key.addr);
	return 0;
}

#define MAX_PARTS (1 << 20)	/* that one call may take away */

static __always_inline __u64 pages_up(__u64 bytes)
{
	return (bytes + mt_config.page_bytes - 1) & ~(mt_config.page_bytes - 1);
}

/* So many bytes from lo on, but for blocks with higher numbers. Nothing is known to be beyond 48 bits. */
__noinline int take_range(struct mt_map_call *k, __u64 lo, __u64 len, __u64 spares)
{
	__u32 tid;

	if (!k || !len || lo > MT_ADDR_MAX || pages_up(len) < len)
		return 0;
	k->lo = lo;
	k->hi = lo + pages_up(len);
	if (k->hi > MT_ADDR_MAX + 1 || k->hi < lo)
		k->hi = MT_ADDR_MAX + 1;
	k->at = k->hi;
	k->spares = spares;
	k->now = clock_now();
	tid = k->tid;
	if (!map_lock(k->proc))
		return 0;
	bpf_loop(MAX_PARTS, take_turn, &tid, 0);
	map_unlock(k->proc);
	return 0;
}

/* The topmost part below the break, as far as it is above k->lo; 1: there is none. */
static long pop_turn(__u32 i, void *arg)
{
	__u32 tid = *(__u32 *)arg;
	struct mt_map_call *k = bpf_map_lookup_elem(&map_calls, &tid);
	struct mt_part_key key = { .is_brk = 1 };
	struct mt_part *found, part;
	struct mt_mapped *m;
	__u64 top;

	if (!k)
		return 1;
	m = mapped_of(k->proc);
	if (!m || m->brk_top <= k->lo)
		return 1;
	top = m->brk_top;
	key.proc = k->proc;
	key.addr = top;
	found = bpf_map_lookup_elem(&map_parts, &key);
	if (!found) {
		m->brk_top = 0;
		return 1;
	}
	part = *found;
	bpf_map_delete_elem(&map_parts, &key);
	m->brk_top = part.below;
	if (part.other < k->lo) {
		key.addr = k->lo;
		if (!bpf_map_update_elem(&map_parts, &key, &part, BPF_NOEXIST)) {
			m->brk_top = k->lo;
			block_shrinks(k, part.block, top - k->lo, 0);
			return 1;
		}
		lose_block(k->proc);
	}
	block_shrinks(k, part.block, top - part.other, -1);
	return 0;
}

/* The break is at lo now. */
__noinline int pop_brk(struct mt_map_call *k, __u64 lo)
{
	__u32 tid;

	if (!k)
		return 0;
	k->lo = lo;
	k->now = clock_now();
	tid = k->tid;
	if (!map_lock(k->proc))
		return 0;
	bpf_loop(MAX_PARTS, pop_turn, &tid, 0);
	map_unlock(k->proc);
	return 0;
}

#endif
