/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * The current thread: its record, from its first event to its end, and the process that its events count for.
 *
 * Exit and exec clear a record, so it never outlives its thread. It knows its process
 * until mt_filter_gen moves. A thread whose process is not traced has a record, too,
 * which says so: it meets our probes where they are not per process, and leaves after
 * one lookup.
 */
#ifndef MT_CURRENT_BPF_H
#define MT_CURRENT_BPF_H

#include "vmlinux.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "bpf/abi.h"
#include "bpf/abandon.bpf.h"
#include "bpf/adopt.bpf.h"
#include "bpf/count.bpf.h"
#include "bpf/cutoff.bpf.h"
#include "bpf/interrupted.bpf.h"
#include "bpf/messages.bpf.h"
#include "bpf/pids.bpf.h"
#include "bpf/procs.bpf.h"
#include "bpf/sample.bpf.h"
#include "bpf/scratch.bpf.h"
#include "bpf/threads.bpf.h"

/* A record is no longer that of a thread of t->proc: what it counted is reported, and it is as good as new. */
static __always_inline void thread_leave(struct mt_thread *t)
{
	struct mt_proc *p = t->proc ? proc_at(t->proc) : NULL;

	/* one that was dropped may have given its slot away meanwhile */
	bool known = p && p->number == t->proc && p->ended != MT_ENDED_DROPPED;

	if (known) {
		budget_thread(t);
		if (t->sp && mt_config.mode != MT_MODE_COUNT)
			abandon(t, MT_EDGE_DIED_INSIDE);
	}
	/* the calls that were put aside have room elsewhere */
#pragma clang loop unroll(disable)
	for (int i = 0; i < MT_MAX_OUTER && outer_pop(t); i++)
		if (known)
			abandon(t, MT_EDGE_DIED_INSIDE);
	if (known) {
		__sync_fetch_and_add(&p->probe_hits, t->probe_hits);
		__sync_fetch_and_add(&p->frames, t->frames);
		send_thread_end(p, t);
	}
	scratch_disown(t);
	t->sp = 0;
	t->n_outer = 0;
	t->old_site = 0;
	t->probe_hits = 0;
	t->frames = 0;
	t->last_block = 0;
	t->last_freed = 0;
	t->freed_sp = 0;
	t->fault_no = 0;
	t->fault_mark = 0;
	if (mt_config.within)
		t->within_depth = 0;
	__builtin_memset(&t->counts, 0, sizeof(t->counts));
	t->proc = 0;
}

/* Frees the record of a thread that is no more, or is another program's now. */
static __noinline int thread_end(__u32 tid)
{
	struct mt_thread *t = thread_find(tid);

	if (!t)
		return 0;
	thread_leave(t);
	/* an exchange: all of the above before another thread may claim it */
	__sync_lock_test_and_set(&t->tid, 0);
	return 0;
}

/*
 * Which process is it of, now that something may have changed? False: of none that is traced.
 * Global, so that it is verified once.
 */
__noinline int thread_ask(struct mt_thread *t)
{
	__u32 gen = mt_filter_gen, proc = proc_here();

	if (!t)
		return 0;
	if (t->proc != proc) {
		thread_leave(t);
		t->proc = proc;
		if (proc) {
			t->scratch = scratch_own(t->tid);
			if (mt_config.sample_bytes)
				sample_begin(t);
		}
	}
	t->filter_gen = proc ? gen : ~gen;
	return proc != 0;
}

/* The first event of a thread: NULL if there is no room. */
static __noinline struct mt_thread *thread_add(__u32 tid)
{
	struct task_struct *task = (void *)bpf_get_current_task();

	for (__u32 i = 0; i < THREAD_PROBES; i++) {
		struct mt_thread *t = thread_slot(tid, i);

		if (t && !t->tid && !__sync_val_compare_and_swap(&t->tid, 0, tid)) {
			t->named_tid = MT_NAMED_TID(own_view(BPF_CORE_READ(task, thread_pid)),
						    mt_config.by_thread ? name_number(NULL) : 0);
			t->filter_gen = 0;
			/* one in 65,535 has the same as another */
			t->serial = __sync_fetch_and_add(&mt_serials, 1) % 0xffff + 1;
			return t;
		}
	}
	if (proc_here())
		count(MT_LOST_INFLIGHT_FULL);
	return NULL;
}

/*
 * A thread gets another name, from itself or from another thread, which the owner of the record does not wait for:
 * so the counts stay, and user space subtracts what the message has.
 */
static __noinline int thread_renamed(struct task_struct *task, const char *comm)
{
	__u32 tid = BPF_CORE_READ(task, pid), named, number;
	struct mt_thread *t = thread_find(tid);

	if (!t || !t->proc)
		return 0;
	named = t->named_tid;
	if (!send_thread_renamed(t, tid, task))
		count(MT_EDGE_RENAMED);
	if (!mt_config.by_thread)
		return 0;
	number = name_number(comm);
	if (!number || !MT_NAME(named))
		count(MT_EDGE_RENAMED);
	/* not if the thread has ended meanwhile, and another one has its record */
	__sync_val_compare_and_swap(&t->named_tid, named, MT_NAMED_TID(named, number));
	return 0;
}

/* The record of the current thread; NULL if its process is not traced, or there is no room. */
static __always_inline struct mt_thread *thread_here(void)
{
	__u32 tid = bpf_get_current_pid_tgid(), gen = mt_filter_gen;
	struct mt_thread *t = thread_slot(tid, 0);

	if (!t || t->tid != tid) {
		t = thread_find(tid);
		if (!t)
			t = thread_add(tid);
		if (!t)
			return NULL;
	}
	if (t->filter_gen != gen && (t->filter_gen == ~gen || !thread_ask(t)))
		return NULL;
	t->probe_hits++;
	return t;
}

#endif
