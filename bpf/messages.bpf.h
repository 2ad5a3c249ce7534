/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Messages to user space about processes, and about threads that end, through a ring
 * buffer; and what is done when that is full.
 */
#ifndef MT_MESSAGES_BPF_H
#define MT_MESSAGES_BPF_H

#include "vmlinux.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "bpf/abi.h"
#include "bpf/count.bpf.h"
#include "bpf/pids.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 256 * 1024);
} events SEC(".maps");

struct about {			/* a process: what a message says of it */
	__u32 kind, proc, old_proc, pid, parent, tid;
	__u32 how;		/* MT_EV_EXEC: MT_EXEC_HELD, MT_EXEC_CLOSED */
	const char *comm;	/* NULL: the one it has */
};

/*
 * How a process ended, as its parent sees it. A thread that was on its way out by
 * itself when a signal came does not have that of the process.
 */
#define GROUP_EXIT 4		/* SIGNAL_GROUP_EXIT */

static __always_inline int exit_code_of(struct task_struct *task)
{
	return BPF_CORE_READ(task, signal, flags) & GROUP_EXIT ? BPF_CORE_READ(task, signal, group_exit_code) :
								 BPF_CORE_READ(task, exit_code);
}

static __always_inline void fill_life(struct mt_event *e, struct task_struct *task, const struct about *a)
{
	struct task_struct *leader = BPF_CORE_READ(task, group_leader);

	e->kind = a->kind;
	e->proc = a->proc;
	e->old_proc = a->old_proc;
	e->pid = a->pid;
	e->tid = a->tid;
	e->exit_code = a->kind == MT_EV_EXIT ? exit_code_of(task) : (int)a->how;
	e->parent = a->parent;
	e->ns_pid = innermost_pid(BPF_CORE_READ(leader, thread_pid));
	e->ppid = own_view(BPF_CORE_READ(leader, real_parent, group_leader, thread_pid));
	e->oom = a->kind == MT_EV_EXIT && BPF_CORE_READ(task, signal, oom_mm);
	e->start_ns = BPF_CORE_READ(leader, start_boottime);
	e->t_ns = bpf_ktime_get_ns();
	bpf_probe_read_kernel_str(e->comm, sizeof(e->comm), a->comm ? a->comm : (const char *)&leader->comm);
	__builtin_memset(&e->counts, 0, sizeof(e->counts));
}

/* Reports a process to user space; false: it will not know. */
static __always_inline bool send_life(struct task_struct *task, const struct about *a)
{
	struct mt_event *e = bpf_ringbuf_reserve(&events, sizeof(*e), 0);

	if (!e) {
		if (!mt_over)
			count(MT_LOST_RING_FULL);
		return false;
	}
	fill_life(e, task, a);
	bpf_ringbuf_submit(e, 0);
	return true;
}

/*
 * A thread ends and there is no room for a message: what it counted is added to its process, and it
 * has no row of its own.
 */
static __always_inline void fold_thread(struct mt_proc *p, const struct mt_thread *t)
{
	__sync_fetch_and_add(&p->untold.alloc_calls, t->counts.alloc_calls);
	__sync_fetch_and_add(&p->untold.alloc_bytes, t->counts.alloc_bytes);
	__sync_fetch_and_add(&p->untold.free_calls, t->counts.free_calls);
	__sync_fetch_and_add(&p->untold.free_bytes, t->counts.free_bytes);
	__sync_fetch_and_add(&p->untold.realloc_calls, t->counts.realloc_calls);
	__sync_fetch_and_add(&p->untold.temp_calls, t->counts.temp_calls);
	__sync_fetch_and_add(&p->untold.failed_calls, t->counts.failed_calls);
	__sync_fetch_and_add(&p->untold.unknown_frees, t->counts.unknown_frees);
	__sync_fetch_and_add(&p->n_untold, 1);
}

/* Half of the ring is kept for messages about processes: what these say is kept nowhere else. */
static __always_inline struct mt_event *thread_message(const struct mt_thread *t, __u32 kind)
{
	struct mt_event *e = NULL;

	if (bpf_ringbuf_query(&events, BPF_RB_AVAIL_DATA) < bpf_ringbuf_query(&events, BPF_RB_RING_SIZE) / 2)
		e = bpf_ringbuf_reserve(&events, sizeof(*e), 0);
	if (!e)
		return NULL;
	__builtin_memset(e, 0, sizeof(*e));
	e->kind = kind;
	e->proc = t->proc;
	e->tid = MT_TID(t->named_tid);
	e->counts = t->counts;
	return e;
}

static __always_inline void send_thread_end(struct mt_proc *p, const struct mt_thread *t)
{
	struct mt_event *e = thread_message(t, MT_EV_THREAD_END);

	if (!e) {
		fold_thread(p, t);
		return;
	}
	bpf_get_current_comm(e->comm, sizeof(e->comm));
	bpf_ringbuf_submit(e, 0);
}

/* The task still has its old name. Another thread may do this to it while it ends: then its end says it all. */
static __always_inline bool send_thread_renamed(const struct mt_thread *t, __u32 tid, struct task_struct *task)
{
	struct mt_event *e = thread_message(t, MT_EV_THREAD_RENAMED);

	if (!e)
		return false;
	bpf_probe_read_kernel_str(e->comm, sizeof(e->comm), &task->comm);
	if (*(volatile const __u32 *)&t->tid == tid)
		bpf_ringbuf_submit(e, 0);
	else
		bpf_ringbuf_discard(e, 0);
	return true;
}

#endif
