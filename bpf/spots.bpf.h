/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Spots: places of the program that the user named. Each is an entry probe: a
 * uretprobe in a function of the user's would end the target when an exception
 * passes through it.
 *
 * A hit counts in the bank of its moment, as an allocation does, so that hits
 * and allocations of one cut are of the same instant. What begins or ends the
 * trace, or cuts it, does so here, in the program: what the thread allocated before the call
 * is before it, and what it allocates after the call is after it.
 */
#ifndef MT_SPOTS_BPF_H
#define MT_SPOTS_BPF_H

#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

#include "bpf/abi.h"
#include "bpf/arch.bpf.h"
#include "bpf/count.bpf.h"
#include "bpf/current.bpf.h"
#include "bpf/procs.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, MT_MAX_SPOTS);
	__type(key, __u32);
	__type(value, struct mt_spot);
} spots SEC(".maps");

/* A ring of their own: marks may come as fast as they like, and push no other message out. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 128 * 1024);
} spot_events SEC(".maps");

volatile __u64 mt_cut_owner MT_OWN_LINE = MT_CUT_IDLE;
/* 1: the trace begins with the next START; 2: it has begun with it */
volatile __u64 mt_waiting = 0;
/* spot numbers, 0: not yet */
volatile __u64 mt_begun_by = 0;
volatile __u64 mt_stopped_by = 0;

static __always_inline void tell_spot(const struct mt_reached *r)
{
	struct mt_reached *e = bpf_ringbuf_reserve(&spot_events, sizeof(*e), 0);

	if (!e)
		return;
	*e = *r;
	bpf_ringbuf_submit(e, 0);
}

static __always_inline void note_when(struct mt_spot *s, const struct mt_thread *t)
{
	struct mt_proc *p = proc_at(t->proc);

	s->proc = t->proc;
	s->pid = p ? p->pid : 0;
	s->tid = MT_TID(t->named_tid);
	s->mono_ns = bpf_ktime_get_ns();
	s->clock_ns = clock_ns();
}

/* Global, as the two below, so that each is verified once. */
__noinline int spot_start(struct mt_thread *t, __u32 number)
{
	struct mt_spot *s = bpf_map_lookup_elem(&spots, &number);
	struct mt_reached r = { .spot = number };

	if (!t || !s || mt_waiting != 1 || __sync_val_compare_and_swap(&mt_waiting, 1, 2) != 1)
		return 0;
	note_when(s, t);
	__sync_fetch_and_and(&mt_cut, ~MT_CUT_FROZEN);
	__sync_lock_test_and_set(&mt_begun_by, number);
	tell_spot(&r);
	return 0;
}

__noinline int spot_stop(struct mt_thread *t, __u32 number)
{
	struct mt_spot *s = bpf_map_lookup_elem(&spots, &number);
	struct mt_reached r = { .spot = number };

	if (!t || !s || __sync_fetch_and_or(&mt_cut, MT_CUT_FROZEN) & MT_CUT_FROZEN)
		return 0;
	mt_over = 1;
	note_when(s, t);
	__sync_lock_test_and_set(&mt_stopped_by, number);
	tell_spot(&r);
	return 0;
}

/*
 * A message that finds no room is left out before anything is cut: the reader of the
 * cut must learn of it. The hit is counted all the same.
 */
__noinline int spot_mark(struct mt_thread *t, __u32 number, __u64 hit)
{
	struct mt_reached *e = bpf_ringbuf_reserve(&spot_events, sizeof(*e), 0);
	struct mt_proc *p;

	if (!e)
		return 0;
	p = t ? proc_at(t->proc) : NULL;
	if (!p) {
		bpf_ringbuf_discard(e, 0);
		return 0;
	}
	e->spot = number;
	e->proc = t->proc;
	e->pid = p->pid;
	e->tid = MT_TID(t->named_tid);
	e->number = hit;
	e->live_bytes = p->live_bytes;
	e->pad = 0;
	e->owner = __sync_val_compare_and_swap(&mt_cut_owner, MT_CUT_IDLE, MT_CUT_MARK);
	e->mono_ns = bpf_ktime_get_ns();
	e->clock_ns = clock_ns();
	if (e->owner == MT_CUT_IDLE)
		__sync_fetch_and_add(&mt_cut, 1);
	bpf_ringbuf_submit(e, 0);
	return 0;
}

__noinline int spot_reached(struct mt_thread *t, __u32 number)
{
	struct mt_spot *s = bpf_map_lookup_elem(&spots, &number);
	__u64 cut, hit;
	__u32 kind;

	if (!t || !s)
		return 0;
	kind = s->kind;
	if (kind == MT_SPOT_START)
		spot_start(t, number);
	cut = mt_cut;
	if (cut & MT_CUT_FROZEN)
		return 0;
	hit = __sync_fetch_and_add(&s->number, 1) + 1;
	if (cut & 1)
		__sync_fetch_and_add(&s->hits[1], 1);
	else
		__sync_fetch_and_add(&s->hits[0], 1);
	if (kind == MT_SPOT_MARK)
		spot_mark(t, number, hit);
	else if (kind == MT_SPOT_STOP)
		spot_stop(t, number);
	return 0;
}

static __always_inline int on_spot(mt_regs *ctx)
{
	struct mt_thread *t;
	__u64 numbers;

	if (mt_cut & MT_CUT_FROZEN && mt_waiting != 1)
		return 0;
	t = thread_here();
	if (!t)
		return 0;
	numbers = bpf_get_attach_cookie(ctx);
	for (int i = 0; i < MT_SPOTS_AT_ONCE && numbers & 0xff; i++, numbers >>= 8)
		spot_reached(t, numbers & 0xff);
	return 0;
}

#endif
