/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Which processes are traced: what is known of a pid, and what becomes of a process that is
 * met for the first time. proc_of_pid has an entry for each process that is traced
 * or ignored, from its first fork, hit or decision to its exit; user space changes
 * it by the program `manage` alone, so that numbers are given in one place.
 *
 * A process that shares the memory of a traced one (vfork, CLONE_VM) allocates from
 * the same heap: it borrows that number until it execs or ends. The programs see
 * such a child at its fork; user space finds those that were there before.
 *
 * mt_config.adopt says what becomes of the others. What user space selects by is
 * inherited by a forked child, so the child of an ignored process is ignored
 * without a question, unless it is by what changes there (see fork_changes()).
 */
#ifndef MT_ADOPT_BPF_H
#define MT_ADOPT_BPF_H

#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

#include "bpf/abi.h"
#include "bpf/count.bpf.h"
#include "bpf/guard.bpf.h"
#include "bpf/messages.bpf.h"
#include "bpf/pids.bpf.h"
#include "bpf/procs.bpf.h"

/* pid → what is known of it: those that are traced now, or ignored */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct mt_known);
} proc_of_pid SEC(".maps");

static __always_inline struct mt_known *known_of(__u32 pid)
{
	return pid ? bpf_map_lookup_elem(&proc_of_pid, &pid) : NULL;
}

/*
 * What is known of a pid, in one word: 0 if nothing is. Global, as are the next
 * ones: what such a function returns, the verifier takes for any number. Where it
 * sees a constant come out of one branch, that of 6.1 loses track of it when it is
 * kept in half a word of the stack, and drops the code after the other branch.
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

/*
 * pid → task of those that borrow from a process of -p, 0: not known; and those that borrow from a
 * selected one and are not selected themselves. User space has them checked, as some stay. An entry
 * goes with its process, before the task does.
 */
#define MAX_BORROWERS 1024

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, MAX_BORROWERS);
	__type(key, __u32);
	__type(value, __u64);
} borrowers SEC(".maps");

static __always_inline void note_borrower(__u32 pid, __u64 task)
{
	bpf_map_update_elem(&borrowers, &pid, &task, BPF_ANY);
}

/*
 * The selected process whose memory pid shares has exited, and pid is not traced without it.
 * Counted once.
 */
__noinline int left_behind(__u32 pid)
{
	if (bpf_map_delete_elem(&borrowers, &pid))
		return 0;
	count(MT_LOST_BORROWED);
	return 1;
}

__noinline __u32 proc_here(void)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	__u32 pid = own_pid_of(task), proc;
	__u64 word;

	/* whatever user space has decided: it may be another program by now */
	if (!pid || !may_see(task))
		return 0;
	word = known_word(pid);
	if (!word)
		return mt_config.adopt == MT_ADOPT_ALL ? adopt(task, pid, MT_EV_NEW, 0, BPF_NOEXIST) : 0;
	proc = WORD_PROC(word);
	if (!(WORD_FLAGS(word) & MT_KNOWN_BORROWED) || !proc || life_goes_on(proc))
		return proc;
	/* the process whose memory it shared has ended: it is on its own now */
	if (mt_config.adopt == MT_ADOPT_NONE)
		return 0;
	left_behind(pid);
	return adopt(task, pid, MT_EV_FORK, proc, BPF_ANY);
}

/* ---- what user space decides */

static __always_inline __u32 add_known(__u32 pid)
{
	__u64 word = known_word(pid);
	__u32 proc = WORD_PROC(word);

	/* also of one that borrows: the two are one target */
	if (proc && (!(WORD_FLAGS(word) & MT_KNOWN_BORROWED) || life_goes_on(proc)))
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

__noinline int lend(__u32 pid)
{
	struct mt_known *known = known_of(pid);

	if (known)
		__sync_fetch_and_or(&known->flags, MT_KNOWN_LENT);
	return 0;
}

static __always_inline __u32 share_known(__u32 pid, __u32 proc, bool unselected)
{
	struct mt_proc *p = proc_at(proc);
	__u64 word = known_word(pid);

	if (!p || !life_goes_on(proc) || WORD_PROC(word) == proc)
		return 0;
	if (WORD_PROC(word) && !(WORD_FLAGS(word) & MT_KNOWN_BORROWED))
		end_life(WORD_PROC(word), MT_ENDED_DROPPED);
	lend(p->pid);
	if (know(pid, proc, MT_KNOWN_BORROWED, BPF_ANY))
		count(MT_LOST_PROCESS_FULL);
	if (unselected || mt_config.adopt == MT_ADOPT_NONE)
		note_borrower(pid, 0);
	ask_again();
	return 0;
}

/* It ended before user space could throw it out. */
static __always_inline void disown(__u32 proc)
{
	struct mt_proc *p = proc_at(proc);

	if (p && p->number == proc && p->ended)
		p->ended = MT_ENDED_DROPPED;
}

static __always_inline __u32 ignore_known(__u32 pid, __u32 proc)
{
	struct mt_known *known = known_of(pid);
	union {
		struct mt_known known;
		__u64 word;
	} was, now = { .known = { .flags = MT_KNOWN_IGNORED } };

	if (proc)
		disown(proc);
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
	if (was.known.flags & MT_KNOWN_MOVED) {
		__sync_fetch_and_and(&known->flags, ~MT_KNOWN_MOVED);
		return MT_ASK_MOVED;
	}
	now.known.flags |= was.known.flags & MT_KNOWN_BORROWED;
	/* an exec meanwhile has begun another life */
	if (__sync_val_compare_and_swap((__u64 *)known, was.word, now.word) != was.word)
		return 0;
	if (!(was.known.flags & MT_KNOWN_BORROWED))
		end_life(was.known.proc, MT_ENDED_DROPPED);
	ask_again();
	return was.known.proc;
}

static __always_inline __u32 renew_known(__u32 pid, __u32 proc)
{
	struct mt_known *known = known_of(pid);
	union {
		struct mt_known known;
		__u64 word;
	} was, now;

	if (!known)
		return 0;
	was.known = *known;
	if (!proc || was.known.proc != proc || was.known.flags & (MT_KNOWN_IGNORED | MT_KNOWN_BORROWED))
		return 0;
	now.known.flags = was.known.flags;
	now.known.proc = number_for(pid);
	if (!now.known.proc)
		return 0;
	/* an exec meanwhile has begun another life */
	if (__sync_val_compare_and_swap((__u64 *)known, was.word, now.word) != was.word) {
		end_life(now.known.proc, MT_ENDED_DROPPED);
		return 0;
	}
	end_life(proc, MT_ENDED_UNSEEN);
	ask_again();
	return now.known.proc;
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
