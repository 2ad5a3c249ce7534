/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Pids in malloctrace's own pid namespace, and in that of a process itself. The
 * kernel reports global ones; the translation is made once per thread.
 */
#ifndef MT_PIDS_BPF_H
#define MT_PIDS_BPF_H

#include "vmlinux.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "bpf/count.bpf.h"
#include "bpf/upids.bpf.h"

/* A pid as malloctrace sees it; 0 if it lives where malloctrace cannot see. */
static __always_inline __u32 own_view(struct pid *pid)
{
	struct upid at = upid_at(pid, mt_ns_level);

	return (__u64)at.ns == mt_ns ? at.nr : 0;
}

static __always_inline __u32 own_pid_of(struct task_struct *task)
{
	return own_view(BPF_CORE_READ(task, group_leader, thread_pid));
}

/* The pid in the innermost namespace: what the process takes for its own. */
static __always_inline __u32 innermost_pid(struct pid *pid)
{
	return pid ? upid_at(pid, BPF_CORE_READ(pid, level)).nr : 0;
}

#endif
