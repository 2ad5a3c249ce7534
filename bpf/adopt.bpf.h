/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Who is traced: what is known of a pid, and what becomes of a process that is
 * met for the first time. proc_of_pid has an entry for each process that is traced
 * or ignored, from its first fork, hit or decision to its exit; user space changes
 * it by the program `manage` alone, so that numbers are given in one place.
 *
 * A child that shares its parent's memory (vfork, CLONE_VM) allocates from its
 * parent's heap: it borrows the parent's number until it execs or ends.
 *
 * mt_adopt says what becomes of the others. What user space selects by is
 * inherited by a forked child, so the child of an ignored process is ignored
 * without a question, unless it is by what changes there (see fork_changes()).
 */
#ifndef MT_ADOPT_BPF_H
#define MT_ADOPT_BPF_H

static __always_inline struct mt_known *known_of(__u32 pid)
{
	return pid ? bpf_map_lookup_elem(&proc_of_pid, &pid) : NULL;
}

/*
 * What is known of a pid, in one word: 0 if nothing is. Global, as are the next
 * ones: what such a function returns, the verifier takes for any number. Where it
 * sees a constant come out of one branch, that of 6.1 loses track of it when it is
 * kept in half a word of the stack, and drops the code behind the other branch.
 */
#define WORD_KNOWN (1ULL << 63)
#define WORD_PROC(w) ((__u32)(w))
#define WORD_FLAGS(w) ((__u32)((w) >> 32) & 0xffff)

__noinline __u64 known_word(__u32 pid)
{
	struct mt_known *known = known_of(pid);

	return known ? WORD_KNOWN | (__u64)known->flags << 32 | known->proc : 0;
}

__noinline __u32 number_for(__u32 pid)
{
	return proc_add(pid);
}

__noinline int know(__u32 pid, __u32 proc, __u32 flags, __u64 how)
{
	struct mt_known known = { .proc = proc, .flags = flags };

	return bpf_map_update_elem(&proc_of_pid, &pid, &known, how);
}

static __always_inline void ask_again(void)
{
	__sync_fetch_and_add(&mt_filter_gen, 1);
}

/* The pid in the innermost namespace: what the process takes for its own. */
static __always_inline __u32 innermost_pid(struct pid *pid)
{
	struct upid at = {};

	if (!pid)
		return 0;
	bpf_probe_read_kernel(&at, bpf_core_type_size(struct upid),
			      (void *)pid + bpf_core_field_offset(struct pid, numbers) +
				      BPF_CORE_READ(pid, level) * bpf_core_type_size(struct upid));
	return at.nr;
}

struct about {			/* a process: what is told of it */
	__u32 kind, proc, old_proc, pid, parent, tid;
	__u32 held;		/* MT_EV_EXEC: it is about to be stopped */
	const char *comm;	/* NULL: the one it has */
};

/*
 * How a process ended, as its parent is told. A thread that was on its way out by
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
	e->exit_code = a->kind == MT_EV_EXIT ? exit_code_of(task) : (int)a->held;
	e->parent = a->parent;
	e->ns_pid = innermost_pid(BPF_CORE_READ(leader, thread_pid));
	e->ppid = own_view(BPF_CORE_READ(leader, real_parent, group_leader, thread_pid));
	e->oom = a->kind == MT_EV_EXIT && BPF_CORE_READ(task, signal, oom_mm);
	e->start_ns = BPF_CORE_READ(leader, start_boottime);
	e->t_ns = bpf_ktime_get_ns();
	bpf_probe_read_kernel_str(e->comm, sizeof(e->comm), a->comm ? a->comm : (const char *)&leader->comm);
	__builtin_memset(&e->counts, 0, sizeof(e->counts));
}

/* Tells user space of a process; false: it will not know. */
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

/* A thread ends and cannot be told of: its process has what it counted, and no row of it. */
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

/* Half of the ring is for processes: what is told of these nobody else knows. */
static __always_inline void send_thread_end(struct mt_proc *p, const struct mt_thread *t)
{
	struct mt_event *e = NULL;

	if (bpf_ringbuf_query(&events, BPF_RB_AVAIL_DATA) < bpf_ringbuf_query(&events, BPF_RB_RING_SIZE) / 2)
		e = bpf_ringbuf_reserve(&events, sizeof(*e), 0);
	if (!e) {
		fold_thread(p, t);
		return;
	}
	__builtin_memset(e, 0, sizeof(*e));
	e->kind = MT_EV_THREAD_END;
	e->proc = t->proc;
	e->tid = t->vtid;
	bpf_get_current_comm(e->comm, sizeof(e->comm));
	e->counts = t->counts;
	bpf_ringbuf_submit(e, 0);
}

static __always_inline void end_life(__u32 proc, __u32 how)
{
	struct mt_proc *p = proc_at(proc);

	if (p && p->number == proc)
		proc_end(p, how);
}

static __always_inline bool life_goes_on(__u32 proc)
{
	struct mt_proc *p = proc_at(proc);

	return p && p->number == proc && !p->ended;
}

/* A number for a process that is met here; 0: no room. how: of its entry. */
static __always_inline __u32 adopt(struct task_struct *task, __u32 pid, __u32 kind, __u32 old_proc, __u64 how)
{
	struct about a = { .kind = kind, .old_proc = old_proc, .pid = pid };

	a.proc = number_for(pid);
	if (!a.proc)
		return 0;
	if (know(pid, a.proc, 0, how)) {
		__u64 word = known_word(pid);

		/* another thread of it was faster; or there is no room for its pid */
		end_life(a.proc, MT_ENDED_DROPPED);
		if (!word)
			count(MT_LOST_PROCESS_FULL);
		return WORD_PROC(word);
	}
	send_life(task, &a);
	return a.proc;
}

__noinline __u32 proc_here(void)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	__u32 pid = own_pid_of(task), proc;
	__u64 word;

	if (!pid)
		return 0;
	word = known_word(pid);
	if (!word)
		return mt_adopt == MT_ADOPT_ALL ? adopt(task, pid, MT_EV_NEW, 0, BPF_NOEXIST) : 0;
	proc = WORD_PROC(word);
	if (!(WORD_FLAGS(word) & MT_KNOWN_BORROWED) || !proc || life_goes_on(proc))
		return proc;
	/* the process whose memory it shared has ended: it is on its own now */
	return mt_adopt == MT_ADOPT_NONE ? 0 : adopt(task, pid, MT_EV_FORK, proc, BPF_ANY);
}

/* ---- what user space decides */

static __always_inline __u32 add_known(__u32 pid)
{
	__u64 word = known_word(pid);
	__u32 proc = WORD_PROC(word);

	if (proc && !(WORD_FLAGS(word) & MT_KNOWN_BORROWED))
		return proc;
	proc = number_for(pid);
	if (!proc)
		return 0;
	if (know(pid, proc, 0, word ? BPF_ANY : BPF_NOEXIST)) {
		end_life(proc, MT_ENDED_DROPPED);
		return WORD_PROC(known_word(pid));
	}
	ask_again();
	return proc;
}

static __always_inline __u32 ignore_known(__u32 pid, __u32 proc)
{
	struct mt_known *known = known_of(pid);
	union {
		struct mt_known known;
		__u64 word;
	} was, now = { .known = { .flags = MT_KNOWN_IGNORED } };

	if (!known) {
		if (proc)
			return 0;
		know(pid, 0, MT_KNOWN_IGNORED, BPF_NOEXIST);
		ask_again();
		return 0;
	}
	was.known = *known;
	if (was.known.flags & (MT_KNOWN_OWN | MT_KNOWN_IGNORED) || (proc && was.known.proc != proc))
		return 0;
	now.known.flags |= was.known.flags & MT_KNOWN_BORROWED;
	/* an exec meanwhile has begun another life */
	if (__sync_val_compare_and_swap((__u64 *)known, was.word, now.word) != was.word)
		return 0;
	if (!(was.known.flags & MT_KNOWN_BORROWED))
		end_life(was.known.proc, MT_ENDED_DROPPED);
	ask_again();
	return was.known.proc;
}

static __always_inline __u32 reconsider_known(__u32 pid)
{
	struct mt_known *known = known_of(pid);

	if (known && known->flags & MT_KNOWN_IGNORED && !(known->flags & MT_KNOWN_OWN)) {
		bpf_map_delete_elem(&proc_of_pid, &pid);
		ask_again();
	}
	return 0;
}

#endif
