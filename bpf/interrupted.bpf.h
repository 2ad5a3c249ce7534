/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * A signal's handler that calls an allocation function while its thread is inside of one: a sandbox
 * that traps a system call (SIGSYS), a profiler. A thread's record has room for one call under way.
 * So the one that was interrupted is put aside when the handler's begins, and taken back when that
 * has returned. Handlers may be interrupted in turn: what finds no room is not seen, and counted
 * (inflight_full).
 */
#ifndef MT_INTERRUPTED_BPF_H
#define MT_INTERRUPTED_BPF_H

#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

#include "bpf/abi.h"
#include "bpf/count.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 4096);
	__type(key, __u64);
	__type(value, struct mt_outer);
} outer_calls SEC(".maps");

/* The call under way is put aside. False: there is no room, and it stays. */
__noinline int outer_push(struct mt_thread *t)
{
	struct mt_outer o = {};
	__u64 key;

	if (!t)
		return 0;
	key = MT_OUTER_KEY(t->tid, t->n_outer);
	o.sp = t->sp;
	o.ra = t->ra;
	o.cookie = t->cookie;
	o.code = t->code;
	o.size = t->size;
	o.old = t->old;
	o.old_size = t->old_size;
	o.old_born = t->old_born;
	o.old_site = t->old_site;
	o.old_chain = t->old_chain;
	if (t->n_outer >= MT_MAX_OUTER || bpf_map_update_elem(&outer_calls, &key, &o, BPF_ANY)) {
		count(MT_LOST_INFLIGHT_FULL);
		return 0;
	}
	t->n_outer++;
	t->sp = 0;
	t->old_site = 0;
	return 1;
}

/* The last one is under way again. False: there is none. */
__noinline int outer_pop(struct mt_thread *t)
{
	struct mt_outer *o;
	__u64 key;

	if (!t || !t->n_outer)
		return 0;
	t->n_outer--;
	key = MT_OUTER_KEY(t->tid, t->n_outer);
	o = bpf_map_lookup_elem(&outer_calls, &key);
	if (!o)
		return 0;
	t->sp = o->sp;
	t->ra = o->ra;
	t->cookie = o->cookie;
	t->code = o->code;
	t->size = o->size;
	t->old = o->old;
	t->old_size = o->old_size;
	t->old_born = o->old_born;
	t->old_site = o->old_site;
	t->old_chain = o->old_chain;
	bpf_map_delete_elem(&outer_calls, &key);
	return 1;
}

/* After a call: if it was a handler's, the one that it has interrupted is under way again. */
static __always_inline void outer_resume(struct mt_thread *t)
{
	if (t->n_outer && !t->sp)
		outer_pop(t);
}

#endif
