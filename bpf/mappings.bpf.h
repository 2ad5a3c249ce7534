/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * --mmap: what the program maps itself is blocks, too: anonymous memory, private
 * or shared, by mmap and mremap, and what brk adds. libc's functions are probed,
 * at entry and return, not the system calls (growth.bpf.h says why).
 *
 * A mapping is one block from the call that made it until its last byte is gone,
 * however it is cut up meanwhile: what is unmapped of it takes its bytes with it
 * (free_bytes), and the last part the call (free_calls). So a block has parts, and
 * each part knows its block. Blocks are in the overflow map, under numbers of
 * their own, where scans and sweeps find them. mremap is to a mapping what
 * realloc is to a block.
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
 *
 * When. A range is taken away at the return of munmap, when it is known to have
 * worked. Another thread may have been given the same addresses before that: its
 * mapping ends what it finds there, and bears a number that was given after the
 * munmap began, by which the latter spares it.
 *
 * Whose. mmap inside an allocation call is the allocator's business, and does not
 * count; nor does one inside a free. What is taken away counts whoever does it.
 * A mapping that is not known, because it is a file's, the allocator's or older
 * than the trace, stays so, also when mremap makes it larger.
 */
#ifndef MT_MAPPINGS_BPF_H
#define MT_MAPPINGS_BPF_H

#define MAP_FIXED 16
#define MREMAP_FIXED 2
#define MREMAP_DONTUNMAP 4

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

#define LOCK_TURNS (1 << 23)	/* some 30 ms: more than a thread is off the CPU for while another of its process waits */

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
	__u64 key = MT_NODE(proc, level, prefix), *bits = bpf_map_lookup_elem(&map_nodes, &key), first = 1ULL << (bit & 63);

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
			/* no room for what is behind: it is lost, and leaves no phantom */
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
		count(MT_LOST_MISSED_FREE);
	block_shrinks(k, block, bytes, left - 1);
	return 0;
}

/* The topmost part in the range that was not looked at yet; 1: there is none. */
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
	return (bytes + mt_page_bytes - 1) & ~(mt_page_bytes - 1);
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

/* ---- what comes */

__noinline int push_brk(__u32 proc, __u64 start, __u64 end, __u64 block)
{
	struct mt_part_key k = { .addr = end, .proc = proc, .is_brk = 1 };
	struct mt_mapped *m = mapped_of(proc);
	struct mt_part part = { .other = start, .block = block };

	if (!m)
		return 0;
	part.below = m->brk_top;
	if (bpf_map_update_elem(&map_parts, &k, &part, BPF_NOEXIST))
		return 0;
	m->brk_top = end;
	return 1;
}

/* Into the tables; false: there is no room. */
__noinline int mapping_put(const struct mt_map_call *k, __u64 block, __u64 born)
{
	struct mt_over_key key = { .addr = MT_OVER_MAPPING | block };
	struct mt_over o = { .born = born, .n_parts = 1 };
	int ok = 0;

	if (!k || k->new_addr > MT_ADDR_MAX || k->new_bytes > MT_ADDR_MAX - k->new_addr)
		return 0;
	key.proc = k->proc;
	o.size = k->new_bytes;
	o.whole = k->new_bytes;
	o.site = k->site;
	__sync_fetch_and_add(&mt_n_over, 1);
	if (!bpf_map_update_elem(&overflow, &key, &o, BPF_NOEXIST)) {
		if (map_lock(k->proc)) {
			ok = k->is_brk ? push_brk(k->proc, k->new_addr, k->new_addr + k->new_bytes, block) :
					 part_add(k->proc, k->new_addr, k->new_addr + k->new_bytes, block);
			map_unlock(k->proc);
		}
		if (ok)
			return 1;
		bpf_map_delete_elem(&overflow, &key);
	}
	__sync_fetch_and_add(&mt_n_over, -1ULL);
	return 0;
}

static __always_inline bool is_mremap(const struct mt_map_call *k)
{
	return MT_COOKIE_RESULT(k->cookie) == MT_GROWS_MREMAP;
}

__noinline int mapping_begins(struct mt_thread *t, const struct mt_map_call *k)
{
	__u64 now = clock_now(), block;
	struct amount a = { .calls = 1 };
	struct charge c;

	if (!t || !k)
		return 0;
	block = __sync_fetch_and_add(&mt_mappings, 1) + 1;
	t->last_block = 0;
	if (!mapping_put(k, block, MT_BORN(now, t->serial))) {
		lose_block(t->proc);
		return 0;
	}
	if (!charge_open(&c, k->site, t->proc, k->cut))
		return 0;
	a.bytes = k->new_bytes;
	charge_alloc(&c, &a, k->new_bytes, in_ns(now));
	t->counts.alloc_calls++;
	t->counts.alloc_bytes += k->new_bytes;
	if (is_mremap(k) && !(k->flags & MT_CALL_KEEPS)) {
		t->counts.realloc_calls++;
		__sync_fetch_and_add(&c.counts->realloc_calls, 1);
	}
	t->last_block = MT_OVER_MAPPING | block;
	return 0;
}

/* ---- calls */

static __always_inline bool is_munmap(const struct mt_map_call *k)
{
	return MT_COOKIE_RESULT(k->cookie) == MT_GROWS_NOT;
}

/* Told to others, who may be given what is taken away before it is known here to be. */
__noinline int unmapping_begins(struct mt_map_call *k)
{
	struct mt_mapped *m = k ? mapped_of(k->proc) : NULL;

	/* if the lock was never taken there is nothing, and the slot may have been another's */
	if (!m || m->proc != k->proc || !(is_munmap(k) || is_mremap(k)))
		return 0;
	__sync_fetch_and_add(&m->n_unmapping, 1);
	k->flags |= MT_CALL_TOLD;
	return 0;
}

__noinline int unmapping_ends(const struct mt_map_call *k)
{
	struct mt_mapped *m = k ? mapped_of(k->proc) : NULL;

	if (m && m->proc == k->proc && k->flags & MT_CALL_TOLD)
		__sync_fetch_and_add(&m->n_unmapping, -1ULL);
	return 0;
}

/* Mappings that one meets where nobody was seen to take them away are missed, unless somebody is about to. */
__noinline int is_missed(__u32 proc, __u32 flags)
{
	struct mt_mapped *m = mapped_of(proc);

	return !(flags & MT_CALL_FIXED) && m && m->proc == proc && !m->n_unmapping;
}

/*
 * A call whose return was not seen, and will not be. munmap is taken for done:
 * it was left by a longjmp out of a signal handler, or the thread has unmapped its own stack.
 */
__noinline int map_call_left(struct mt_thread *t, __u32 why)
{
	struct mt_map_call *k;
	__u32 tid;

	if (!t || why >= MT_N_COUNTERS)
		return 0;
	tid = t->tid;
	k = bpf_map_lookup_elem(&map_calls, &tid);
	if (!k)
		return 0;
	if (!is_munmap(k)) {
		count(why);
	} else if (k->proc == t->proc) {
		k->cut = mt_cut;
		take_range(k, k->addr, k->len, k->last_block);
	}
	unmapping_ends(k);
	bpf_map_delete_elem(&map_calls, &tid);
	return 0;
}

/* Is the allocator at work, so that what is mapped now is its own? */
static __always_inline bool allocator_maps(mt_regs *ctx, struct mt_thread *t, __u64 sp, __u64 ra, __u32 func)
{
	struct outer o = { .sp = t->last_freed_sp, .ra = t->last_freed_ra };

	if (t->sp && still_inside(ctx, t, sp, ra, func))
		return true;
	/* the first free of a thread may make an arena */
	return t->last_freed && sp < t->last_freed_sp && goes_on(ctx, t, &o, sp, ra);
}

/* mremap counts if what it is given does. */
__noinline int map_knows(__u32 proc, __u64 addr)
{
	int known;

	if (!map_lock(proc))
		return 0;
	known = part_covers(proc, addr);
	map_unlock(proc);
	return known;
}

/* Which of its arguments matter, and how. */
static __always_inline void map_call_fill(struct mt_map_call *k, const __u64 *arg)
{
	k->addr = arg[0];
	k->len = arg[1];
	switch (MT_COOKIE_RESULT(k->cookie)) {
	case MT_GROWS_MMAP:
		if (!(arg[3] & MAP_ANONYMOUS))
			k->flags = 0;
		if (arg[3] & MAP_FIXED)
			k->flags |= MT_CALL_FIXED;
		break;
	case MT_GROWS_MREMAP:
		k->new_len = arg[2];
		if (!map_knows(k->proc, k->addr))
			k->flags = 0;
		if (arg[3] & MREMAP_FIXED)
			k->flags |= MT_CALL_FIXED;
		if (arg[3] & MREMAP_DONTUNMAP || !k->len)
			k->flags |= MT_CALL_KEEPS;
		break;
	case MT_GROWS_BRK:
		k->len = brk_of(bpf_get_current_task_btf());
		break;
	}
}

SEC("uprobe")
int enter_mapping(mt_regs *ctx)
{
	__u64 cookie, sp, ra, arg[8];
	struct mt_map_call *k;
	struct mt_thread *t;
	__u32 tid, zero = 0;

	if (mt_cut & MT_CUT_FROZEN)
		return 0;
	cookie = bpf_get_attach_cookie(ctx);
	t = thread_here();
	if (!t)
		return 0;
	sp = arch_sp_after_return(ctx) + MT_COOKIE_SP_DELTA(cookie);
	ra = arch_return_address(ctx);
	tid = t->tid;
	k = bpf_map_lookup_elem(&map_calls, &tid);
	if (k) {
		struct outer o = { .sp = k->sp, .ra = k->ra, .same = MT_COOKIE_FUNC(k->cookie) == MT_COOKIE_FUNC(cookie) };

		if (goes_on(ctx, t, &o, sp, ra))
			return 0;
		map_call_left(t, MT_EDGE_ABANDONED);
	}
	if (cookie & MT_COOKIE_NO_RETURN) {
		count(MT_LOST_MISSED_RETURN);
		return 0;
	}
	k = bpf_map_lookup_elem(&map_call_new, &zero);
	if (!k || bpf_map_update_elem(&map_calls, &tid, k, BPF_ANY))
		k = NULL;
	else
		k = bpf_map_lookup_elem(&map_calls, &tid);
	if (!k) {
		count(MT_LOST_INFLIGHT_FULL);
		return 0;
	}
	k->sp = sp;
	k->ra = ra;
	k->cookie = cookie;
	k->tid = tid;
	k->proc = t->proc;
	k->last_block = mt_mappings;
	k->flags = allocator_maps(ctx, t, sp, ra, MT_COOKIE_FUNC(cookie)) ? 0 : MT_CALL_COUNTS;
	arch_args(ctx, arg);
	map_call_fill(k, arg);
	unmapping_begins(k);
	return 0;
}

/* What has become of a call: ranges are taken away, and what it added is noted. False: it failed. */
__noinline int map_call_done(struct mt_map_call *k, __u64 result)
{
	__u64 now;

	if (!k)
		return 0;
	switch (MT_COOKIE_RESULT(k->cookie)) {
	case MT_GROWS_NOT:
		if (!(__u32)result)
			take_range(k, k->addr, k->len, k->last_block);
		unmapping_ends(k);
		return 1;
	case MT_GROWS_BRK:
		if ((__u32)result)
			return k->addr <= k->len;
		now = brk_of(bpf_get_current_task_btf());
		k->is_brk = 1;
		k->new_addr = k->len;
		if (now > k->len)
			k->new_bytes = now - k->len;
		else if (now < k->len)
			pop_brk(k, now);
		return 1;
	case MT_GROWS_MREMAP:
		if (result != ~0ULL && !(k->flags & MT_CALL_KEEPS))
			take_range(k, k->addr, k->len, k->last_block);
		unmapping_ends(k);
		k->len = k->new_len;
		break;
	}
	if (result == ~0ULL)
		return 0;
	k->missed = is_missed(k->proc, k->flags);
	take_range(k, result, k->len, ~0ULL);
	k->new_addr = result;
	k->new_bytes = k->cookie & MT_COOKIE_USABLE ? pages_up(k->len) : k->len;
	return 1;
}

/* The end of a call that is known by k; the site of what it added is looked for here, once for all kinds. */
static __always_inline void on_map_return(mt_regs *ctx, struct mt_thread *t, struct mt_map_call *k, __u64 caller)
{
	int ok = map_call_done(k, arch_result(ctx));
	__u64 bytes = k->new_bytes;

	if (!(k->flags & MT_CALL_COUNTS) || (mt_within && !t->within_depth) ||
	    (ok && (!bytes || bytes < mt_min_size || bytes > mt_max_size)))
		return;
	k->site = site_here(ctx, t, MT_COOKIE_FUNC(k->cookie), caller, k->sp);
	if (mt_within && !is_within(ctx, t, k->site, k->sp, caller))
		return;
	if (ok)
		mapping_begins(t, k);
	else
		charge_failure(t, k->site, k->cut);
}

SEC("uprobe")
int leave_mapping(mt_regs *ctx)
{
	__u64 cut = mt_cut, cookie, sp;
	struct mt_map_call *k;
	struct mt_thread *t;
	__u32 tid;

	if (cut & MT_CUT_FROZEN)
		return 0;
	cookie = bpf_get_attach_cookie(ctx);
	t = thread_here();
	if (!t)
		return 0;
	tid = t->tid;
	k = bpf_map_lookup_elem(&map_calls, &tid);
	if (cookie & MT_COOKIE_AT_RET) {
		/* a `ret` may be that of many functions */
		sp = arch_sp_after_return(ctx) + MT_COOKIE_SP_DELTA(cookie);
	} else {
		sp = arch_sp_returned(ctx);
		if (!k)
			count(MT_EDGE_RETURN_ONLY);
	}
	if (!k || k->sp != sp)
		return 0;
	k->cut = cut;
	if (k->proc == t->proc)
		on_map_return(ctx, t, k, cookie & MT_COOKIE_AT_RET ? k->ra : arch_pc(ctx));
	bpf_map_delete_elem(&map_calls, &tid);
	return 0;
}

/* Before the thread's record goes: attached before task_exit. */
SEC("raw_tp/sched_process_exit")
int mapping_exit(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = (struct task_struct *)ctx->args[0];
	__u32 tid = BPF_CORE_READ(task, pid);
	struct mt_thread *t;

	if (!bpf_map_lookup_elem(&map_calls, &tid))
		return 0;
	t = thread_find(tid);
	if (t && !(mt_cut & MT_CUT_FROZEN))
		map_call_left(t, MT_EDGE_DIED_INSIDE);
	else
		bpf_map_delete_elem(&map_calls, &tid);
	return 0;
}

#endif
