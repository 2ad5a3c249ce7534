/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * dlopen and dlclose: from here on, code of a process may take the place of other code.
 *
 * What dlclose unmaps may have its place taken by what a later dlopen maps, and by nothing
 * before. So each of them moves code_seq as it begins: what user space saw of the mappings
 * before is not believed any more, and stacks that were walked before are walked again.
 * The function that the loader calls for debuggers is not probed: a debugger has a
 * breakpoint of its own in it.
 */
#ifndef MT_LOADER_BPF_H
#define MT_LOADER_BPF_H

#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

#include "bpf/abi.h"
#include "bpf/adopt.bpf.h"
#include "bpf/arch.bpf.h"
#include "bpf/procs.bpf.h"

static __always_inline int on_loader(mt_regs *ctx)
{
	__u32 proc = proc_here();
	struct mt_proc *p = proc ? proc_at(proc) : NULL;

	if (!p)
		return 0;
	if (bpf_get_attach_cookie((void *)ctx) == MT_LOADER_CLOSES)
		__sync_val_compare_and_swap(&p->unmapped_ns, 0, bpf_ktime_get_ns());
	if (!p->unmapped_ns)
		return 0;
	__sync_fetch_and_add(&p->code_seq, 1);
	__sync_fetch_and_add(&p->gen, 1);
	return 0;
}

#endif
