/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * --events: each call that is counted is also reported, through a ring of its own.
 * Without the option mt_config.calls is 0 and the verifier drops all that comes here.
 *
 * What always holds: a call is reported where it is counted, after that. So what was read
 * from the ring and what found no room in it (MT_LOST_EVENTS_FULL) add up to the counters.
 * Calls of a thread are in the ring in their order, and the end of a block comes after its
 * beginning, because the one is reported before the program learns the address that it needs
 * for the other.
 *
 * The reader is not woken, which would cost the target more than the call: it comes by
 * itself, more often than a ring can be filled.
 */
#ifndef MT_CALLS_BPF_H
#define MT_CALLS_BPF_H

#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

#include "bpf/abi.h"
#include "bpf/buckets.bpf.h"
#include "bpf/count.bpf.h"
#include "bpf/procs.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} calls SEC(".maps");

/* 1: nothing reads them any more */
volatile __u32 mt_calls_off = 0;

/* Global, so that it is verified once. what: MT_TOLD(); born: MT_BORN(), 0: not known, or it has not ended. */
__noinline int call_told(struct mt_thread *t, __u64 what, __u64 addr, __u64 size, __u64 born)
{
	__u64 now = bpf_ktime_get_ns();
	struct mt_proc *p;
	struct mt_told *e;

	if (!t || mt_calls_off)
		return 0;
	e = bpf_ringbuf_reserve(&calls, sizeof(*e), 0);
	if (!e) {
		count(MT_LOST_EVENTS_FULL);
		return 0;
	}
	p = proc_at(t->proc);
	e->t_ns = now;
	e->addr = addr;
	e->size = size;
	/* births are in nanoseconds: --events is precise */
	e->lived_ns = born ? mt_born_ago(born, now) : ~0ULL;
	e->what = what;
	e->n_lost = *(volatile __u64 *)&mt_counters[MT_LOST_EVENTS_FULL];
	e->proc = t->proc;
	e->pid = p ? p->pid : 0;
	e->tid = MT_TID(t->named_tid);
	e->pad = 0;
	bpf_get_current_comm(e->comm, sizeof(e->comm));
	bpf_ringbuf_submit(e, BPF_RB_NO_WAKEUP);
	return 0;
}

static __always_inline void tell_call(struct mt_thread *t, __u32 kind, __u32 func, __u32 site, __u64 addr, __u64 size)
{
	if (mt_config.calls)
		call_told(t, MT_TOLD(kind, func, site, 0), addr, size, 0);
}

/* The block ended; where: the site of the free, 0: not recorded. */
static __always_inline void tell_end(struct mt_thread *t, __u32 kind, __u32 func, const struct taken *b, __u32 where,
				     __u64 addr)
{
	if (mt_config.calls)
		call_told(t, MT_TOLD(kind, func, b->site, where), addr, b->size, b->born);
}

/* A free of a block that is not known: where some are not recorded, it may be one of those, and is no figure. */
static __always_inline void tell_unknown(struct mt_thread *t, __u32 func, __u64 addr)
{
	if (mt_config.calls_unknown)
		call_told(t, MT_TOLD(MT_TOLD_UNKNOWN, func, 0, 0), addr, 0, 0);
}

#endif
