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

/* Are there returns through it to come? */
static __always_inline bool has_pending_returns(void)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct uprobe_task *utask = task->utask;

	return utask && utask->return_instances;
}

/*
 * A return of the walk in s through the trampoline: where to in truth? 0: not known. Global, so that
 * the verifier goes through it once: inlined, it was half of what a program took to load. By typed
 * pointers, as above.
 */
__noinline __u64 pending_return(const struct mt_scratch *s, __u64 cfa)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct uprobe_task *utask = task->utask;
	struct return_instance *ri;

	if (!s || !utask)
		return 0;
	ri = utask->return_instances;
#pragma clang loop unroll(disable)
	for (int i = 0; i < MAX_PENDING; i++) {
		if (!ri)
			return 0;
		if (ri->stack == cfa - ARCH_RA_BYTES) {
			__u64 ra = ri->orig_ret_vaddr;

			/*
			 * of functions that ended in a jump to the next one, only the first was
			 * called from somewhere
			 */
			if (ra != s->walk.hook)
				return ra;
		}
		ri = ri->next;
	}
	return 0;
}

#endif
