/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* The number of a process or thread in a pid namespace, of which there is one on each level. */
#ifndef MT_UPIDS_BPF_H
#define MT_UPIDS_BPF_H

#include "vmlinux.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

/* Zeros: it lives above that level. */
static __always_inline struct upid upid_at(struct pid *pid, __u32 level)
{
	struct upid at = {};

	if (pid && BPF_CORE_READ(pid, level) >= level)
		bpf_probe_read_kernel(&at, bpf_core_type_size(struct upid),
				      (void *)pid + bpf_core_field_offset(struct pid, numbers) +
					      level * bpf_core_type_size(struct upid));
	return at;
}

#endif
