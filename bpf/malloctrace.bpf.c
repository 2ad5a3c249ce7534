// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * The programs. One serves all points of allocation functions: which function it is, where its arguments are, and whether
 * this is its entry or its return, comes with the attach cookie. The maps are defined in the files that own them.
 */
#include "vmlinux.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "bpf/abi.h"
#include "bpf/adopt.bpf.h"
#include "bpf/alloc.bpf.h"
#include "bpf/arch.bpf.h"
#include "bpf/budget.bpf.h"
#include "bpf/count.bpf.h"
#include "bpf/guard.bpf.h"
#include "bpf/life.bpf.h"
#include "bpf/loader.bpf.h"
#include "bpf/points.bpf.h"
#include "bpf/python.bpf.h"
#include "bpf/ranges.bpf.h"
#include "bpf/refusals.bpf.h"
#include "bpf/scope.bpf.h"
#include "bpf/spots.bpf.h"
#include "bpf/upids.bpf.h"

/* these have programs of their own */
#include "bpf/check.bpf.h"
#include "bpf/growth.bpf.h"
#include "bpf/mappings.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/*
 * What a point means to its call. --mode count sees entries, and calls that fail; --mode leak frees of other allocators than
 * glibc's. Of what a mode does not see the verifier does not even look at the code.
 */
static __always_inline void meet_point(mt_regs *ctx, struct mt_thread *t, __u64 cookie, __u64 cut)
{
	__u32 at = MT_COOKIE_AT(cookie);

	/* the most frequent ones first */
	if (SEES_RETURNS && at == MT_AT_RETURN)
		on_return(ctx, t, cookie, cut);
	else if (SEES_RETURNS && at == MT_AT_FREE)
		on_free(ctx, t, cookie, cut);
	else if (at == MT_AT_ENTRY)
		on_enter(ctx, t, cookie, false);
	else if (at == MT_AT_REALLOC)
		on_enter(ctx, t, cookie, true);
	else if (at == MT_AT_THROW || at == MT_AT_OVERFLOW)
		on_refusal(ctx, t, cookie, cut);
}

SEC("uprobe")
int reach_call(mt_regs *ctx)
{
	__u64 began_ns = budget_begin(), cut = mt_cut, cookie;
	struct mt_thread *t = point_thread(ctx, cut, &cookie);

	if (t) {
		budget_thread(t);
		meet_point(ctx, t, cookie, cut);
	} else if (!mt_config.budget) {
		/* of a process that is not traced: no target pays for it */
		began_ns = 0;
	}
	budget_end(began_ns);
	return 0;
}

/* The entry point of a program of our own: its loader is done. */
SEC("uprobe")
int reach_entry(mt_regs *ctx)
{
	mt_started = 1;
	return 0;
}

/* An anchor: it is there, and that is all (probe/attach.h). */
SEC("uprobe")
int stay(mt_regs *ctx)
{
	return 0;
}

/* --within: one of these functions begins or ends. */
SEC("uprobe")
int reach_within(mt_regs *ctx)
{
	return on_within(ctx);
}

/* A library is about to be loaded or unloaded. */
SEC("uprobe")
int reach_loader(mt_regs *ctx)
{
	return on_loader(ctx);
}

/* Where a Python interpreter frees code. */
SEC("uprobe")
int reach_code_freed(mt_regs *ctx)
{
	return mt_config.python ? on_code_freed(ctx) : 0;
}

/* A function that the user named. */
SEC("uprobe")
int reach_spot(mt_regs *ctx)
{
	return on_spot(ctx);
}

SEC("raw_tp/sched_process_fork")
int task_fork(struct bpf_raw_tracepoint_args *ctx)
{
	return on_fork((struct task_struct *)ctx->args[0], (struct task_struct *)ctx->args[1]);
}

SEC("raw_tp/sched_process_exec")
int task_exec(struct bpf_raw_tracepoint_args *ctx)
{
	return on_exec((struct task_struct *)ctx->args[0], (__u32)ctx->args[1]);
}

/* It is about to exec, and still has its old memory. Kernels from 6.10 on have this event. */
SEC("raw_tp/sched_prepare_exec")
int task_prepares(struct bpf_raw_tracepoint_args *ctx)
{
	return on_borrower_leaves((struct task_struct *)ctx->args[0]);
}

SEC("raw_tp/sched_process_exit")
int task_exit(struct bpf_raw_tracepoint_args *ctx)
{
	return on_exit((struct task_struct *)ctx->args[0]);
}

/*
 * Before 6.9 the argument is a pid, no pointer: there no process ends before the mark is set, and
 * the message of its exit has it.
 */
SEC("raw_tp/mark_victim")
int task_chosen(struct bpf_raw_tracepoint_args *ctx)
{
	return ctx->args[0] >> 32 ? on_chosen((struct task_struct *)ctx->args[0]) : 0;
}

/* A thread gets another name. That of a process is its first thread's. */
SEC("raw_tp/task_rename")
int task_renamed(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = (struct task_struct *)ctx->args[0];

	/* in the middle of an exec, which has a message of its own, the new memory holds no program yet */
	if (!BPF_CORE_READ(task, mm, end_code))
		return 0;
	thread_renamed(task, (const char *)ctx->args[1]);
	if (!mt_config.by_comm || BPF_CORE_READ(task, pid) != BPF_CORE_READ(task, tgid))
		return 0;
	return on_change(task, (const char *)ctx->args[1]);
}

SEC("raw_tp/cgroup_attach_task")
int task_moved(struct bpf_raw_tracepoint_args *ctx)
{
	return on_move((struct task_struct *)ctx->args[2], (struct cgroup *)ctx->args[0], (const char *)ctx->args[1]);
}

/* Run by malloctrace: what it decides about a process. */
SEC("syscall")
int manage(struct mt_request *ctx)
{
	switch (ctx->kind) {
	case MT_ASK_ADD:
		return add_known(ctx->pid);
	case MT_ASK_IGNORE:
		return ignore_known(ctx->pid, ctx->proc);
	case MT_ASK_RECONSIDER:
		return reconsider_known(ctx->pid);
	case MT_ASK_SHARE:
		return share_known(ctx->pid, ctx->proc, ctx->unselected);
	case MT_ASK_CHECK:
		return ctx->proc ? check_left(ctx->pid, ctx->proc) : check_borrower_of(ctx->pid);
	case MT_ASK_RENEW:
		return renew_known(ctx->pid, ctx->proc);
	}
	return 0;
}

/* Run by malloctrace on a mapping of its own: what names this file for the kernel? */
SEC("syscall")
int name_file(struct mt_name_file *ctx)
{
	struct seen_vma v;

	if (!vma_at(&v, ctx->addr) || !(v.off & VMA_OF_FILE))
		return 0;
	ctx->key = v.key;
	return 1;
}

/* Run by malloctrace on itself: which pid namespace is ours, and what time is it on the programs' clock? */
SEC("syscall")
int hello(void *ctx)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct pid *pid = BPF_CORE_READ(task, thread_pid);

	mt_ns_level = BPF_CORE_READ(pid, level);
	mt_ns = (__u64)upid_at(pid, mt_ns_level).ns;
	know_self(task);
	mt_hello_ns = clock_ns();
	return 0;
}

/*
 * Replacing an element of a map of maps makes the kernel wait until all programs
 * that run now have ended: the grace period that a snapshot needs.
 */
struct grace_inner {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} grace_inner SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, __u32);
	__array(values, struct grace_inner);
} grace SEC(".maps");	/* empty at first: to fill it is to wait */
