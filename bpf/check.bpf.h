/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * The self-check's own program (user/probe/check.c): what is seen at each point
 * of a plan while a child of malloctrace calls the functions. It writes
 * nothing but its own table, so the check leaves no trace in the figures.
 */
#ifndef MT_CHECK_BPF_H
#define MT_CHECK_BPF_H

#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

#include "bpf/abi.h"
#include "bpf/arch.bpf.h"
#include "bpf/points.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, MT_MAX_HITS);
	__type(key, __u32);
	__type(value, struct mt_hit);
} check_hits SEC(".maps");

__u64 mt_n_hits;		/* also those that found no room */

SEC("uprobe")
int check_point(mt_regs *ctx)
{
	__u64 cookie = bpf_get_attach_cookie(ctx);
	__u32 i = __sync_fetch_and_add(&mt_n_hits, 1);
	struct mt_hit *h = bpf_map_lookup_elem(&check_hits, &i);
	__u64 arg[8] = {};

	if (!h)
		return 0;
	arch_args(ctx, arg);
	for (__u32 k = 0; k < MT_N_ARGS; k++)
		h->arg[k] = arg[k];
	h->point = cookie & 0xffff;
	h->result = arch_result(ctx);
	if (cookie & MT_HIT_RETURNED) {
		h->sp = arch_sp_returned(ctx);
		h->ra = arch_pc(ctx);
	} else {
		h->sp = point_sp(ctx, cookie);
		h->ra = arch_return_address(ctx);
	}
	return 0;
}

#endif
