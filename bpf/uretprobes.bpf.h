/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Returns that uretprobes are waiting for, ours and those of other tracers: the return
 * address on the stack is replaced by that of a trampoline, and the kernel keeps the true
 * ones in a list by stack pointer.
 */
#ifndef MT_URETPROBES_BPF_H
#define MT_URETPROBES_BPF_H

#include "vmlinux.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "bpf/abi.h"
#include "bpf/arch.bpf.h"

#define MAX_PENDING 64

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

/* A return through the trampoline: where to in truth? 0: not known. */
static __always_inline __u64 pending_return(struct mt_walk *w, __u64 cfa)
{
	struct return_instance *ri = (struct return_instance *)w->pending;

	for (int i = 0; i < MAX_PENDING; i++) {
		if (!ri)
			return 0;
		if (BPF_CORE_READ(ri, stack) == cfa - ARCH_RA_BYTES) {
			__u64 ra = BPF_CORE_READ(ri, orig_ret_vaddr);

			/*
			 * of functions that ended in a jump to the next one, only the first was
			 * called from somewhere
			 */
			if (ra != w->hook)
				return ra;
		}
		ri = BPF_CORE_READ(ri, next);
	}
	return 0;
}

#endif
