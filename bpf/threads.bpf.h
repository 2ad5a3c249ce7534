/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Threads and processes: who is current, and is it a target?
 *
 * A thread's record is found by its tid in a few neighbouring slots (10 ns; task
 * storage would take 30) and touched by programs of that thread alone, which
 * never run two at a time: no atomics in it. Exit and exec clear it, so a record
 * never outlives its thread. It knows its process until mt_filter_gen moves; one
 * whose process is not traced has a record, too, which says so: it meets our
 * probes where they are not per process, and leaves after one look.
 *
 * Pids are those of malloctrace's own pid namespace. The kernel tells its global
 * ones; the translation is made once per thread.
 */
#ifndef MT_THREADS_BPF_H
#define MT_THREADS_BPF_H

#define THREAD_PROBES 8

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct mt_thread);
} threads SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct mt_proc);
} procs SEC(".maps");

/* pid → what is known of it: those that are traced now, or ignored */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct mt_known);
} proc_of_pid SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 256 * 1024);
} events SEC(".maps");

/* A pid as malloctrace sees it; 0 if it lives where malloctrace cannot see. */
static __always_inline __u32 own_view(struct pid *pid)
{
	struct upid at = {};

	if (!pid || BPF_CORE_READ(pid, level) < mt_ns_level)
		return 0;
	bpf_probe_read_kernel(&at, bpf_core_type_size(struct upid),
			      (void *)pid + bpf_core_field_offset(struct pid, numbers) +
				      mt_ns_level * bpf_core_type_size(struct upid));
	return (__u64)at.ns == mt_ns ? at.nr : 0;
}

static __always_inline __u32 own_pid_of(struct task_struct *task)
{
	return own_view(BPF_CORE_READ(task, group_leader, thread_pid));
}

static __always_inline struct mt_thread *thread_slot(__u32 tid, __u32 i)
{
	__u32 k = (tid + i) & (mt_n_threads - 1);

	return bpf_map_lookup_elem(&threads, &k);
}

static __noinline struct mt_thread *thread_find(__u32 tid)
{
	for (__u32 i = 0; i < THREAD_PROBES; i++) {
		struct mt_thread *t = thread_slot(tid, i);

		if (t && t->tid == tid)
			return t;
	}
	return NULL;
}

/* The number of the current process, 0 if it is no target: adopt.bpf.h */
__noinline __u32 proc_here(void);
static __always_inline void thread_leave(struct mt_thread *t);

/* Whose is it, now that something may have changed? False: nobody's. Global, so that it is verified once. */
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
			if (mt_sample_bytes)
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
			t->vtid = own_view(BPF_CORE_READ(task, thread_pid));
			t->filter_gen = 0;
			/* one in 65,535 bears the same as another */
			t->serial = __sync_fetch_and_add(&mt_serials, 1) % 0xffff + 1;
			return t;
		}
	}
	if (proc_here())
		count(MT_LOST_INFLIGHT_FULL);
	return NULL;
}

/* The record of the current thread; NULL if it is nobody's business. */
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

/* The page that uretprobes return through; 0 if this process has none yet. */
static __noinline __u64 trampoline(void)
{
	/* by typed pointers, which cost a load each and no call; most processes have no such page */
	struct task_struct *task = bpf_get_current_task_btf();
	struct mm_struct *mm = task->mm;
	struct xol_area *area = mm ? mm->uprobes_state.xol_area : NULL;

	return area ? area->vaddr : 0;
}

/* The kernel's list of returns through it that are to come, 0 if there are none. */
static __always_inline __u64 pending_returns(void)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct uprobe_task *utask = task->utask;

	return utask ? (__u64)utask->return_instances : 0;
}

static __always_inline struct mt_proc *proc_at(__u32 proc)
{
	__u32 slot = MT_PROC_SLOT(proc);

	return bpf_map_lookup_elem(&procs, &slot);
}

#define REUSE_TRIES 16

__noinline int within_begin(__u32 proc);

/* A slot that user space has given back, zeroed but for its next number; 0 if there is none. */
static __noinline __u32 slot_reuse(void)
{
	for (int i = 0; i < REUSE_TRIES; i++) {
		__u64 head = mt_free_slots;
		__u32 slot = head;
		struct mt_proc *p = slot ? proc_at(slot) : NULL;

		if (!p)
			return 0;
		if (__sync_val_compare_and_swap(&mt_free_slots, head, ((head >> 32) + 1) << 32 | p->next_free) == head)
			return slot;
	}
	return 0;
}

/* A new process in the table; 0 if there is no room. Process 0 is no process. */
static __noinline __u32 proc_add(__u32 pid)
{
	struct mt_proc *p;
	__u32 slot;

	if (mt_over)
		return 0;
	slot = slot_reuse();
	if (!slot) {
		slot = __sync_fetch_and_add(&mt_procs_used, 1) + 1;
		p = slot < mt_n_procs ? proc_at(slot) : NULL;
		if (!p) {
			__sync_fetch_and_add(&mt_procs_used, -1);
			count(MT_LOST_PROCESS_FULL);
			return 0;
		}
		p->number = slot;
	} else {
		p = proc_at(slot);
		if (!p)
			return 0;
	}
	__sync_fetch_and_add(&mt_slots_in_use, 1);
	/* stacks that a process of the same number remembers are not this one's */
	p->gen++;
	p->started_ns = clock_ns();
	if (mt_within)
		within_begin(p->number);
	/* an exchange: from here on user space takes it for a process */
	__sync_lock_test_and_set(&p->pid, pid);
	return p->number;
}

/* What it has live now is what it leaked; its blocks may be taken for room from now on. */
static __always_inline void proc_end(struct mt_proc *p, __u32 how)
{
	p->ended_ns = clock_ns();
	/* dropped after it ended: it counts once */
	if (!__sync_lock_test_and_set(&p->ended, how))
		__sync_fetch_and_add(&mt_lives_ended, 1);
}

#endif
