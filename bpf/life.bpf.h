/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * The beginnings and ends of threads and processes. These programs run for every
 * fork, exec and exit on the machine: they leave early.
 */
#ifndef MT_LIFE_BPF_H
#define MT_LIFE_BPF_H

#include "vmlinux.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "bpf/abi.h"
#include "bpf/adopt.bpf.h"
#include "bpf/budget.bpf.h"
#include "bpf/count.bpf.h"
#include "bpf/current.bpf.h"
#include "bpf/guard.bpf.h"
#include "bpf/messages.bpf.h"
#include "bpf/pids.bpf.h"
#include "bpf/procs.bpf.h"
#include "bpf/python.bpf.h"
#include "bpf/ranges.bpf.h"
#include "bpf/threads.bpf.h"

#define GROUP_EXIT 4		/* SIGNAL_GROUP_EXIT of signal_struct.flags: set by whoever kills it, before it notices */

/* ---- fork */

/* May the child of an ignored process be one that user space wants? */
static __always_inline bool fork_changes(struct task_struct *parent, struct task_struct *child)
{
	/* its name is that of the thread which forked, not of the process */
	if (mt_config.by_comm && BPF_CORE_READ(parent, pid) != BPF_CORE_READ(parent, tgid))
		return true;
	/* clone3 can put it into another cgroup */
	return mt_config.by_cgroup && BPF_CORE_READ(parent, cgroups) != BPF_CORE_READ(child, cgroups);
}

/* The code that a child maps, and how it is walked, is its parent's: its stacks are right from its first event on. */
static __always_inline void inherit(__u32 proc, __u32 from)
{
	struct mt_proc *p = proc_at(proc), *parent = proc_at(from);
	struct mt_space *space;

	if (!p || !parent)
		return;
	/*
	 * first what was read, then what there was to read, then the list: it may be replaced
	 * meanwhile, by a newer one
	 */
	p->settled_seq = *(volatile __u32 *)&parent->settled_seq;
	p->code_seq = *(volatile __u32 *)&parent->code_seq;
	space = bpf_map_lookup_elem(&spaces, &from);
	if (space)
		bpf_map_update_elem(&spaces, &proc, space, BPF_ANY);
	p->walk = parent->walk;
	p->arenas = parent->arenas;
	p->unmapped_ns = parent->unmapped_ns;
	if (mt_config.python)
		python_forked(from, proc);
	p->gen++;
}

/* The child has not run yet. */
static __always_inline int on_fork(struct task_struct *parent, struct task_struct *child)
{
	struct about a = { .kind = MT_EV_FORK };
	__u32 ppid, pid, from, flags;
	__u64 mm, word;

	if (BPF_CORE_READ(child, tgid) == BPF_CORE_READ(parent, tgid))
		return 0;
	/* a thread of the kernel; should it exec a program, that is seen */
	mm = (__u64)BPF_CORE_READ(child, mm);
	pid = own_pid_of(child);
	if (!mm || !pid)
		return 0;
	ppid = own_pid_of(parent);
	word = known_word(ppid);
	if (!word && mt_config.adopt == MT_ADOPT_ALL && ppid && BPF_CORE_READ(parent, mm) && may_see(parent)) {
		adopt(parent, ppid, MT_EV_NEW, 0, BPF_NOEXIST);
		word = known_word(ppid);
	}
	from = WORD_PROC(word);
	flags = WORD_FLAGS(word);
	if (word && mm == (__u64)BPF_CORE_READ(parent, mm)) {
		lend(ppid);
		flags = (flags & (MT_KNOWN_IGNORED | MT_KNOWN_OWN)) | MT_KNOWN_BORROWED;
		if (BPF_CORE_READ(child, utask))
			flags |= MT_KNOWN_PENDING;
		know(pid, from, flags, BPF_ANY);
		if (from && mt_config.adopt == MT_ADOPT_NONE)
			note_borrower(pid, (__u64)child);
		return 0;
	}
	if (from)
		__sync_fetch_and_add(&mt_n_forked, 1);
	if (mt_config.adopt == MT_ADOPT_ALL && flags & MT_KNOWN_IGNORED &&
	    (flags & MT_KNOWN_OWN || !fork_changes(parent, child))) {
		know(pid, 0, flags & (MT_KNOWN_IGNORED | MT_KNOWN_OWN), BPF_ANY);
		return 0;
	}
	if (mt_config.adopt == MT_ADOPT_NONE || (mt_config.adopt == MT_ADOPT_CHILDREN && !from) || !may_see(child)) {
		/* an entry of a process that had the pid before */
		if (known_word(pid))
			bpf_map_delete_elem(&proc_of_pid, &pid);
		return 0;
	}
	a.pid = pid;
	a.old_proc = from;
	a.proc = number_for(pid);
	if (!a.proc)
		return 0;
	if (from)
		inherit(a.proc, from);
	if (know(pid, a.proc, 0, BPF_ANY)) {
		end_life(a.proc, MT_ENDED_DROPPED);
		count(MT_LOST_PROCESS_FULL);
		return 0;
	}
	send_life(child, &a);
	return 0;
}

/* ---- a process that shares the memory of another one */

/*
 * Has it called allocation functions unseen? Kernels from 6.12 on run the programs of a process's own links for its own threads
 * alone, and only the kernel's note that it met breakpoints (task->utask) says that there was
 * something to see: most of them exec at once (posix_spawn, system) and meet none. One that was
 * made while a uretprobe was pending has such a note from the start (dup_utask()), and with
 * --overhead it may be of a time when nothing is recorded: of those it is not known. Counted once.
 */
static __noinline int check_borrower(struct task_struct *task, __u32 pid)
{
	struct mt_known *known = known_of(pid);
	struct mt_thread *t;
	__u32 flags;
	__u64 mm;

	/* probes that are shared see all; another tracer's are no sign of a call that ours missed */
	if (!mt_config.multi || mt_config.adopt != MT_ADOPT_NONE || mt_cut & MT_CUT_FROZEN)
		return 0;
	if (!known || !known->proc || !(known->flags & MT_KNOWN_BORROWED))
		return 0;
	/* kernels before 6.16 have dropped the note, and the memory, when a process ends */
	mm = (__u64)BPF_CORE_READ(task, mm);
	if (mm && !BPF_CORE_READ(task, utask))
		return 0;
	t = thread_find(BPF_CORE_READ(task, pid));
	if (t && t->proc == known->proc)
		return 0;
	flags = __sync_fetch_and_or(&known->flags, MT_KNOWN_UNSEEN);
	if (!mm || mt_config.budget || flags & MT_KNOWN_PENDING) {
		if (!(flags & MT_KNOWN_UNSEEN))
			count(MT_EDGE_BORROWED);
		return 0;
	}
	if (!(flags & MT_KNOWN_UNSEEN))
		count(MT_LOST_BORROWED);
	return 1;
}

/* It is about to leave that memory, by exec or by its end. */
static __always_inline int on_borrower_leaves(struct task_struct *task)
{
	return check_borrower(task, own_pid_of(task));
}

static __always_inline int check_borrower_of(__u32 pid)
{
	__u64 *task = bpf_map_lookup_elem(&borrowers, &pid);

	return task ? check_borrower((struct task_struct *)*task, pid) : 0;
}

/* The process whose memory pid shares has exited: nothing that pid does from then on is seen. Counted once. */
static __always_inline int check_left(__u32 pid, __u32 proc)
{
	struct mt_known *known = known_of(pid);

	if (!known || known->proc != proc || !(known->flags & MT_KNOWN_BORROWED) || life_goes_on(proc))
		return 0;
	if (mt_config.adopt != MT_ADOPT_NONE)
		return left_behind(pid);
	if (!(__sync_fetch_and_or(&known->flags, MT_KNOWN_UNSEEN) & MT_KNOWN_UNSEEN))
		count(MT_LOST_BORROWED);
	return 1;
}

/* ---- exec */

/* on all architectures that BPF programs are built for here */
#define SIGNAL_CONT 18
#define SIGNAL_STOP 19

/* Is malloctrace there, and not about to die? */
static __always_inline bool is_awaited(struct task_struct *task)
{
	struct task_struct *parent = BPF_CORE_READ(task, real_parent);

	return own_pid_of(parent) == mt_hold_by && !(BPF_CORE_READ(parent, signal, flags) & GROUP_EXIT);
}

/* Is a process of which this is known traced after its exec, as another life? */
static __always_inline bool traced_behind_exec(__u64 word)
{
	__u32 flags = WORD_FLAGS(word);

	if (flags & MT_KNOWN_OWN)
		return false;
	if (mt_config.adopt == MT_ADOPT_ALL)
		/* its cgroup is what it was, its name is not */
		return !(flags & MT_KNOWN_IGNORED) || mt_config.by_comm || !mt_config.by_cgroup;
	if (!word || flags & MT_KNOWN_IGNORED)
		return false;
	return mt_config.adopt == MT_ADOPT_CHILDREN || !(flags & MT_KNOWN_BORROWED);
}

/* A program that malloctrace's user may not look into is as unknown as one that was never met. */
static __always_inline int on_closed_exec(struct task_struct *task, struct about *a, __u64 word)
{
	__u32 pid = a->pid;

	/* where some are selected, it is not known whether this one would have been */
	if (a->old_proc || !(mt_config.by_comm || mt_config.by_cgroup))
		__sync_fetch_and_add(&mt_n_closed, 1);
	if (word)
		bpf_map_delete_elem(&proc_of_pid, &pid);
	if (!a->old_proc)
		return 0;
	a->how = MT_EXEC_CLOSED;
	send_life(task, a);
	return 0;
}

/*
 * A Python mostly starts another one. It maps its first arenas before user space has read what it
 * is.
 */
static __always_inline void expect_arenas(__u32 proc, __u32 had)
{
	struct mt_proc *p = proc ? proc_at(proc) : NULL, *before = had ? proc_at(had) : NULL;

	if (mt_config.arenas && p && before && before->number == had)
		p->arenas = before->arenas;
}

static __always_inline int on_exec(struct task_struct *task, __u32 old_tid)
{
	struct about a = { .kind = MT_EV_EXEC, .pid = own_pid_of(task) };
	__u64 word = known_word(a.pid);
	__u32 pid = a.pid, had = WORD_PROC(word), flags = WORD_FLAGS(word);

	bpf_map_delete_elem(&borrowers, &pid);
	thread_end(old_tid);
	/* a thread that execs takes over its leader's tid */
	thread_end(BPF_CORE_READ(task, pid));
	if (!pid)
		return 0;
	/* by now it has its leader's number, whichever thread it was */
	if (old_tid != (__u32)BPF_CORE_READ(task, pid))
		a.tid = old_tid;
	if (had && flags & MT_KNOWN_BORROWED)
		__sync_fetch_and_add(&mt_n_forked, 1);
	if (had && !(flags & MT_KNOWN_BORROWED)) {
		end_life(had, MT_ENDED_EXEC);
		if (flags & MT_KNOWN_LENT)
			ask_again();
		a.old_proc = had;
	}
	if (!traced_behind_exec(word)) {
		/* memory of its own */
		if (flags & MT_KNOWN_IGNORED)
			know(pid, 0, flags & ~MT_KNOWN_BORROWED, BPF_ANY);
		else if (word)
			bpf_map_delete_elem(&proc_of_pid, &pid);
		return 0;
	}
	if (!may_see(task))
		return on_closed_exec(task, &a, word);
	if (flags & MT_KNOWN_BORROWED)
		a.parent = had;
	a.proc = number_for(pid);
	expect_arenas(a.proc, had);
	if (a.proc && know(pid, a.proc, 0, BPF_ANY)) {
		end_life(a.proc, MT_ENDED_DROPPED);
		count(MT_LOST_PROCESS_FULL);
		a.proc = 0;
	}
	if (!a.proc && word)
		bpf_map_delete_elem(&proc_of_pid, &pid);
	/* CMD is not stopped by ptrace: see process/spawn.c, which lets it go on */
	a.how = pid == mt_hold_pid && !BPF_CORE_READ(task, ptrace) ? MT_EXEC_HELD : 0;
	if (send_life(task, &a) && a.how) {
		bpf_send_signal(SIGNAL_STOP);
		/*
		 * a malloctrace that dies later than this makes it go on (PR_SET_PDEATHSIG). That signal comes with the end of the
		 * thread that is its parent, and others of a killed malloctrace may still hold this program
		 */
		if (!is_awaited(task))
			bpf_send_signal(SIGNAL_CONT);
	}
	return 0;
}

/* ---- exit */

/*
 * When the first thread has left the memory, the kernel does not know any more whose the probes in it are: the next tracer
 * that takes probes out of the same file removes them as well. Of a process that dies, that is no loss.
 */
static __noinline int begin_dying(__u32 pid)
{
	struct mt_known *known = known_of(pid);

	if (known)
		__sync_fetch_and_or(&known->flags, MT_KNOWN_DYING);
	return 0;
}

static __always_inline int on_exit(struct task_struct *task)
{
	struct about a = { .kind = MT_EV_EXIT };
	__u64 word;
	__u32 pid;

	/* before 6.16 the note is gone by now */
	on_borrower_leaves(task);
	thread_end(BPF_CORE_READ(task, pid));
	pid = own_pid_of(task);
	if (BPF_CORE_READ(task, signal, live.counter))
		return BPF_CORE_READ(task, signal, flags) & GROUP_EXIT ? begin_dying(pid) : 0;
	word = known_word(pid);
	if (!word)
		return 0;
	bpf_map_delete_elem(&borrowers, &pid);
	a.pid = pid;
	a.proc = WORD_PROC(word);
	/* the last two threads may both find that none is left: one of them removes it */
	if (bpf_map_delete_elem(&proc_of_pid, &pid) || !a.proc || WORD_FLAGS(word) & MT_KNOWN_BORROWED)
		return 0;
	end_life(a.proc, MT_ENDED_EXIT);
	if (WORD_FLAGS(word) & MT_KNOWN_LENT)
		ask_again();
	send_life(task, &a);
	return 0;
}

/*
 * The kernel chose a process that is to give its memory back. It has got its signal
 * already, and from 6.16 on may be quicker to end than we are to be notified: on_exit()
 * has not seen the mark then.
 */
static __always_inline int on_chosen(struct task_struct *task)
{
	struct about a = { .kind = MT_EV_OOM, .pid = own_pid_of(task) };

	if (!a.pid)
		return 0;
	a.proc = WORD_PROC(known_word(a.pid));
	send_life(task, &a);
	return 0;
}

/* ---- what user space selects by has changed */

/* comm: the name that it is about to have. */
static __always_inline int on_change(struct task_struct *task, const char *comm)
{
	struct about a = { .kind = MT_EV_CHANGED, .pid = own_pid_of(task), .comm = comm };
	__u64 word = known_word(a.pid);

	/*
	 * one that is not known is examined when it is met; one that borrows from a traced process
	 * is traced with it
	 */
	if (!word || WORD_FLAGS(word) & MT_KNOWN_OWN ||
	    (WORD_FLAGS(word) & MT_KNOWN_BORROWED && WORD_PROC(word)))
		return 0;
	a.proc = WORD_PROC(word);
	send_life(task, &a);
	return 0;
}

static __always_inline __u32 trace_again(__u32 pid, __u32 flags)
{
	__u32 proc = number_for(pid);

	if (!proc)
		return 0;
	if (know(pid, proc, flags & MT_KNOWN_LENT, BPF_ANY)) {
		end_life(proc, MT_ENDED_DROPPED);
		count(MT_LOST_PROCESS_FULL);
		return 0;
	}
	ask_again();
	return proc;
}

/*
 * A process enters a cgroup. An ignored one may be selected from now on, and may exec and allocate
 * before user space has checked: it is traced until that has decided. One that borrows its memory
 * is, once it has a program of its own. A traced one stays so, but user space may be about to decide
 * by where it was: each step is reported, and marked until a decision was refused for it.
 */
static __always_inline int on_move(struct task_struct *task, struct cgroup *to, const char *path)
{
	struct about a = { .kind = MT_EV_MOVED, .pid = own_pid_of(task) };
	struct mt_known *known = known_of(a.pid);
	struct mt_move *m;
	__u32 flags;

	/* an unknown one is examined when it is met */
	if (!known)
		return 0;
	/* in one step: user space may ignore it at this very moment */
	flags = __sync_fetch_and_or(&known->flags, MT_KNOWN_MOVED);
	if (flags & MT_KNOWN_OWN)
		return 0;
	if (flags & MT_KNOWN_BORROWED) {
		__sync_fetch_and_and(&known->flags, ~MT_KNOWN_IGNORED);
		return 0;
	}
	if (flags & MT_KNOWN_IGNORED)
		a.proc = may_see(task) ? trace_again(a.pid, flags) : 0;
	else
		a.proc = known->proc;
	if (!a.proc)
		return 0;
	m = bpf_ringbuf_reserve(&events, sizeof(*m), 0);
	if (!m) {
		count(MT_LOST_RING_FULL);
		return 0;
	}
	fill_life(&m->ev, task, &a);
	m->hierarchy = BPF_CORE_READ(to, root, hierarchy_id);
	m->pad = 0;
	bpf_probe_read_kernel_str(m->path, sizeof(m->path), path);
	bpf_ringbuf_submit(m, 0);
	return 0;
}

#endif
