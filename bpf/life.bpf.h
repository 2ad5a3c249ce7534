/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* The ends of threads and processes. These programs run for every exec and exit on the machine: they leave early. */
#ifndef MT_LIFE_BPF_H
#define MT_LIFE_BPF_H

static __always_inline void send_event(__u32 kind, __u32 proc, __u32 old_proc, __u32 pid, __s32 exit_code,
				       const struct mt_thread *t)
{
	struct mt_event *e = bpf_ringbuf_reserve(&events, sizeof(*e), 0);

	if (!e) {
		count(MT_LOST_RING_FULL);
		return;
	}
	e->kind = kind;
	e->proc = proc;
	e->old_proc = old_proc;
	e->pid = pid;
	e->tid = t ? t->vtid : 0;
	e->exit_code = exit_code;
	bpf_get_current_comm(e->comm, sizeof(e->comm));
	if (t)
		e->counts = t->counts;
	else
		__builtin_memset(&e->counts, 0, sizeof(e->counts));
	bpf_ringbuf_submit(e, 0);
}

/* Frees the record of a thread that is no more, or is another program's now. */
static __noinline int thread_end(__u32 tid)
{
	struct mt_thread *t = thread_find(tid);
	struct mt_proc *p;

	if (!t)
		return 0;
	if (t->sp && mt_mode != MT_MODE_COUNT)
		abandon(t, MT_EDGE_DIED_INSIDE);
	p = proc_at(t->proc);
	if (p) {
		__sync_fetch_and_add(&p->probe_hits, t->probe_hits);
		__sync_fetch_and_add(&p->frames, t->frames);
	}
	send_event(MT_EV_THREAD_END, t->proc, 0, 0, 0, t);
	scratch_disown(t);
	t->probe_hits = 0;
	t->frames = 0;
	t->last_block = 0;
	t->last_freed = 0;
	t->fault_no = 0;
	t->fault_cpu = 0;
	__builtin_memset(&t->counts, 0, sizeof(t->counts));
	/* an exchange: all of the above before another thread may claim it */
	__sync_lock_test_and_set(&t->tid, 0);
	return 0;
}

static __always_inline int on_exec(struct task_struct *task, __u32 old_tid)
{
	__u32 pid = own_pid_of(task), *known, old, proc;
	struct mt_proc *p;

	known = pid ? bpf_map_lookup_elem(&proc_of_pid, &pid) : NULL;
	if (!known)
		return 0;
	old = *known;
	thread_end(old_tid);
	/* a thread that execs takes over its leader's tid */
	thread_end(BPF_CORE_READ(task, pid));
	p = proc_at(old);
	if (p) {
		p->ended_ns = clock_ns();
		p->ended = EXEC_ENDED;
	}
	proc = proc_add(pid);
	if (proc)
		bpf_map_update_elem(&proc_of_pid, &pid, &proc, BPF_ANY);
	else
		bpf_map_delete_elem(&proc_of_pid, &pid);
	send_event(MT_EV_EXEC, proc, old, pid, 0, NULL);
	return 0;
}

static __always_inline int on_exit(struct task_struct *task)
{
	__u32 pid, *known, proc;
	struct mt_proc *p;

	thread_end(BPF_CORE_READ(task, pid));
	if (BPF_CORE_READ(task, signal, live.counter))
		return 0;
	pid = own_pid_of(task);
	known = pid ? bpf_map_lookup_elem(&proc_of_pid, &pid) : NULL;
	if (!known)
		return 0;
	proc = *known;
	p = proc_at(proc);
	if (p) {
		p->ended_ns = clock_ns();
		p->ended = EXIT_ENDED;
	}
	bpf_map_delete_elem(&proc_of_pid, &pid);
	send_event(MT_EV_EXIT, proc, 0, pid, BPF_CORE_READ(task, exit_code), NULL);
	return 0;
}

#endif
