/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * The table of threads: a record of each that was met, found by its tid.
 *
 * The tid leads to a few neighbouring slots (10 ns; task storage would take 30). A
 * record is touched by programs of its own thread alone, which never run two at a
 * time: no atomics in it. What is done with records is in current.bpf.h.
 */
#ifndef MT_THREADS_BPF_H
#define MT_THREADS_BPF_H

#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

#include "bpf/abi.h"
#include "bpf/count.bpf.h"

#define THREAD_PROBES 8

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct mt_thread);
} threads SEC(".maps");

static __always_inline struct mt_thread *thread_slot(__u32 tid, __u32 i)
{
	__u32 k = (tid + i) & (mt_config.n_threads - 1);

	return bpf_map_lookup_elem(&threads, &k);
}

static __noinline struct mt_thread *thread_find(__u32 tid)
{
	for (__u32 i = 0; i < THREAD_PROBES; i++) {
		struct mt_thread *t = thread_slot(tid, i);

		if (t && t->tid == tid)
			return t;
	}
	return NULL;
}

#endif
