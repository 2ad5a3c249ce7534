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
 * Parts, and what takes them away, are in parts.bpf.h.
 *
 * When. A range is taken away at the return of munmap, when it is known to have
 * worked. Another thread may have been given the same addresses before that: its
 * mapping ends what it finds there, and has a number that was given after the
 * munmap began, by which the latter spares it.
 *
 * Whose. mmap inside an allocation call is the allocator's business, and does not
 * count; nor does one inside a free. What is unmapped counts, whichever thread does it.
 * A mapping that is not known, because it is a file's, the allocator's or older
 * than the trace, stays so, also when mremap makes it larger.
 */
#ifndef MT_MAPPINGS_BPF_H
#define MT_MAPPINGS_BPF_H

#include "vmlinux.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "bpf/abi.h"
#include "bpf/arch.bpf.h"
#include "bpf/blocks.bpf.h"
#include "bpf/charge.bpf.h"
#include "bpf/count.bpf.h"
#include "bpf/memory.bpf.h"
#include "bpf/nest.bpf.h"
#include "bpf/parts.bpf.h"
#include "bpf/points.bpf.h"
#include "bpf/procs.bpf.h"
#include "bpf/sample.bpf.h"
#include "bpf/scope.bpf.h"
#include "bpf/scratch.bpf.h"
#include "bpf/sizes.bpf.h"
#include "bpf/stacks.bpf.h"
#include "bpf/threads.bpf.h"

#define MAP_FIXED 16
#define MREMAP_FIXED 2
#define MREMAP_DONTUNMAP 4
#define READ_WRITE 3
#define PRIVATE_ANONYMOUS 0x22

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

/* Into the tables; 0: there is no room, -1: another thread had the lock for too long, which is counted. */
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
		} else {
			ok = -1;
		}
		if (ok > 0)
			return 1;
		bpf_map_delete_elem(&overflow, &key);
	}
	__sync_fetch_and_add(&mt_n_over, -1ULL);
	return ok;
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
	int put;

	if (!t || !k)
		return 0;
	block = __sync_fetch_and_add(&mt_mappings, 1) + 1;
	t->last_block = 0;
	put = mapping_put(k, block, MT_BORN(now, t->serial));
	if (put <= 0) {
		if (!put) {
			lose_block(t->proc);
			lose_no_stack(t, k->site);
		}
		return 0;
	}
	if (!charge_open(&c, k->site, t->proc, k->cut))
		return 0;
	a.bytes = k->new_bytes;
	charge_alloc(&c, &a, k->new_bytes, in_ns(now));
	charge_thread(&c, t, &a, is_mremap(k) && !(k->flags & MT_CALL_KEEPS));
	t->last_block = MT_OVER_MAPPING | block;
	return 0;
}

/* ---- calls */

static __always_inline bool is_munmap(const struct mt_map_call *k)
{
	return MT_COOKIE_RESULT(k->cookie) == MT_GROWS_NOT;
}

/* Shows other threads what is being unmapped: they may get it before it is known here to be gone. */
__noinline int unmapping_begins(struct mt_map_call *k)
{
	struct mt_mapped *m = k ? mapped_of(k->proc) : NULL;

	/* if the lock was never taken there is nothing, and what is in the slot may be of another process */
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

/* Mappings that one meets where no call was seen to unmap them are missed, unless a call is about to. */
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
static __always_inline bool allocator_maps(mt_regs *ctx, struct mt_thread *t, __u64 cookie, __u64 sp, __u64 ra)
{
	/* also in a handler, which may do for the allocator what its sandbox forbids */
	if (t->sp && old_call(ctx, t, cookie, sp, ra) != CALL_OVER)
		return true;
	/* the first free of a thread may make an arena */
	return sp < t->freed_sp && inside_free(ctx, t, cookie, sp, ra);
}

/* Is the call k, which the thread has under way, still so? */
static __noinline bool inside_mapping(mt_regs *ctx, struct mt_thread *t, const struct mt_map_call *k, __u64 cookie)
{
	struct mt_scratch *s;
	bool inside;

	if (!t || !k)
		return false;
	s = scratch_claim(t);
	if (!s)
		return false;
	ask_begin(ctx, &s->ask, cookie, point_sp(ctx, cookie), arch_return_address(ctx));
	s->ask.sp = k->sp;
	s->ask.code = k->code;
	s->ask.ra = k->ra;
	s->ask.func = MT_COOKIE_FUNC(k->cookie);
	inside = goes_on(ctx, t, s) != CALL_OVER;
	scratch_release(t, s);
	return inside;
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

/* How Python maps an arena of small objects: of 256 KiB up to 3.9, of 1 MiB from 3.10 on. */
static __always_inline bool is_arena(const __u64 *arg)
{
	return !arg[0] && (arg[1] == 256 << 10 || arg[1] == 1 << 20) && (__u32)arg[2] == READ_WRITE && (__u32)arg[3] == PRIVATE_ANONYMOUS;
}

/*
 * Only arenas are wanted, and the thread's process has none: other programs map memory of these
 * sizes, too.
 */
static __always_inline bool has_no_arenas(const struct mt_thread *t)
{
	struct mt_proc *p = mt_config.arenas ? proc_at(t->proc) : NULL;

	return p && !*(volatile __u16 *)&p->arenas;
}

/* Which of its arguments matter, and how. */
static __always_inline void map_call_fill(struct mt_map_call *k, const __u64 *arg)
{
	k->addr = arg[0];
	k->len = arg[1];
	switch (MT_COOKIE_RESULT(k->cookie)) {
	case MT_GROWS_MMAP:
		if (!(arg[3] & MAP_ANONYMOUS) || (mt_config.arenas && !is_arena(arg)))
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

	t = point_thread(ctx, mt_cut, &cookie);
	if (!t || has_no_arenas(t))
		return 0;
	sp = point_sp(ctx, cookie);
	ra = arch_return_address(ctx);
	tid = t->tid;
	k = bpf_map_lookup_elem(&map_calls, &tid);
	if (k) {
		if (inside_mapping(ctx, t, k, cookie))
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
	k->code = MT_CODE(cookie, arch_pc(ctx));
	k->tid = tid;
	k->proc = t->proc;
	k->last_block = mt_mappings;
	k->flags = allocator_maps(ctx, t, cookie, sp, ra) ? 0 : MT_CALL_COUNTS;
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

	/* as of malloc: recorded or not, it comes between an allocation and its free */
	if (ok && bytes && (k->flags & MT_CALL_COUNTS))
		t->last_block = 0;
	if (!(k->flags & MT_CALL_COUNTS) || is_outside(t) ||
	    (ok && (!bytes || !is_size_recorded(bytes))))
		return;
	k->site = site_here(ctx, t, MT_COOKIE_FUNC(k->cookie), caller, k->sp);
	if (mt_config.within && !is_within(ctx, t, k->site, k->sp, caller))
		return;
	if (ok)
		mapping_begins(t, k);
	else
		charge_failure(t, k->site, k->cut);
}

SEC("uprobe")
int leave_mapping(mt_regs *ctx)
{
	__u64 cut = mt_cut, cookie;
	struct mt_map_call *k;
	struct mt_thread *t;
	__u32 tid;

	t = point_thread(ctx, cut, &cookie);
	if (!t)
		return 0;
	tid = t->tid;
	k = bpf_map_lookup_elem(&map_calls, &tid);
	/* a `ret` may be that of many functions */
	if (!k && !(cookie & MT_COOKIE_AT_RET) && !has_no_arenas(t))
		count(MT_EDGE_RETURN_ONLY);
	if (!k || k->sp != point_return_sp(ctx, cookie))
		return 0;
	k->cut = cut;
	if (k->proc == t->proc)
		on_map_return(ctx, t, k, point_caller(ctx, cookie, k->ra));
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
