/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Returns without an entry: a thread comes to the return instruction of an allocation function, and no call of it is under
 * way. The call was either made before the entry was probed, or the program jumped into the function behind its entry,
 * and has a block now that nobody counted.
 *
 * It is asked only at returns that nothing else comes to (MT_COOKIE_OWN_RET). What was under way when probes came is over
 * soon: a thread has one such call, and those that it is inside of, which return one after the other at ever higher stack
 * pointers. That is an edge, once after each change of the points; all that comes later is a loss. While points come and
 * go, returns are there without entries, and nothing is said.
 */
#ifndef MT_LONE_BPF_H
#define MT_LONE_BPF_H

#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

#include "bpf/abi.h"
#include "bpf/count.bpf.h"

#define LONE_DEPTH 4		/* calls inside of each other: operator new, malloc, what that one is a wrapper of */

struct lone {			/* the last one of a thread */
	__u64 sp;		/* after its return */
	__u32 gen;		/* mt_points_gen then */
	__u32 who;		/* serial number of the thread, and its life: tids are given again */
	__u64 n;		/* since the points have changed */
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1024);
	__type(key, __u32);
	__type(value, struct lone);
} lone_returns SEC(".maps");

__noinline int lone_return(struct mt_thread *t, __u64 sp)
{
	struct lone *was, now = { .sp = sp };
	__u32 tid;

	if (!t || mt_points_busy)
		return 0;
	tid = t->tid;
	now.gen = mt_points_gen;
	now.who = (__u32)t->serial << 16 | t->proc;
	was = bpf_map_lookup_elem(&lone_returns, &tid);
	if (was && was->gen == now.gen && was->who == now.who) {
		now.n = was->n + 1;
		if (sp <= was->sp || now.n >= LONE_DEPTH)
			now.n = LONE_DEPTH;
	}
	count(now.n < LONE_DEPTH ? MT_EDGE_RETURN_ONLY : MT_LOST_MISSED_ENTRY);
	bpf_map_update_elem(&lone_returns, &tid, &now, BPF_ANY);
	return 0;
}

#endif
