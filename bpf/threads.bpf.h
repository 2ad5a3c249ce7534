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

/* --by thread: names of threads by number, and their numbers. */
struct mt_comm {
	char s[MT_COMM_LEN];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MT_MAX_NAMES + 1);
	__type(key, __u32);
	__type(value, struct mt_comm);
} thread_names SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MT_MAX_NAMES);
	__type(key, struct mt_comm);
	__type(value, __u32);
} name_numbers SEC(".maps");

/* The number of a name; comm NULL: of the current thread's. 0: there is no room for more. */
static __noinline __u32 name_number(const char *comm)
{
	struct mt_comm name = {};
	__u32 n = 0, *known;

	if (comm)
		bpf_probe_read_kernel_str(name.s, sizeof(name.s), comm);
	else
		bpf_get_current_comm(name.s, sizeof(name.s));
	known = bpf_map_lookup_elem(&name_numbers, &name);
	if (known)
		return *known;
	if (mt_n_names < MT_MAX_NAMES)
		n = __sync_fetch_and_add(&mt_n_names, 1) + 1;
	if (!n || n > MT_MAX_NAMES)
		return 0;
	/* its text first: user space finds it by the number alone */
	bpf_map_update_elem(&thread_names, &n, &name, BPF_ANY);
	if (!bpf_map_update_elem(&name_numbers, &name, &n, BPF_NOEXIST))
		return n;
	known = bpf_map_lookup_elem(&name_numbers, &name);
	return known ? *known : 0;
}

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
