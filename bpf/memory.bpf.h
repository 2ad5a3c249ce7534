/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * What the kernel knows of the memory of the current process: its resident pages and its
 * break; and whether other threads or CPUs may have changed these figures meanwhile.
 */
#ifndef MT_MEMORY_BPF_H
#define MT_MEMORY_BPF_H

#include "vmlinux.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "bpf/abi.h"
#include "bpf/count.bpf.h"

#define RELOCATED __attribute__((preserve_access_index))

struct sched_entity___growth {
	__u64 nr_migrations;
} RELOCATED;

struct task_struct___growth {
	struct mm_struct *mm;
	unsigned int flags;
	unsigned long nvcsw, nivcsw, min_flt, maj_flt;
	struct sched_entity___growth se;
} RELOCATED;

struct mm_users___growth {
	int counter;
} RELOCATED;

struct mm_struct___growth {
	unsigned long brk;
	struct mm_users___growth mm_users;
} RELOCATED;

/* 6.2 and later */
struct percpu_counter___growth {
	__s64 count;
	__s32 *counters;
} RELOCATED;

struct mm_struct___percpu {
	struct percpu_counter___growth rss_stat[4];
} RELOCATED;

/* before */
struct atomic_long___split {
	long counter;
} RELOCATED;

struct mm_rss_stat___split {
	struct atomic_long___split count[4];
} RELOCATED;

struct mm_struct___split {
	struct mm_rss_stat___split rss_stat;
} RELOCATED;

struct task_rss_stat___split {
	int events;
	int count[4];
} RELOCATED;

struct task_struct___split {
	struct task_rss_stat___split rss_stat;
} RELOCATED;

struct bpf_array___growth {
	void *pptrs[0];
} RELOCATED;

/*
 * Below, `task` is what bpf_get_current_task_btf gave: its fields are read without
 * a helper's call, twice 100 ns of a fault's cost.
 */

/* the kernel's numbers of what RSS is the sum of */
#define PAGES_FILE 0
#define PAGES_ANON 1
#define PAGES_SHMEM 3

/* of mmap */
#define PROT_WRITE 2
#define MAP_PRIVATE 2
#define MAP_ANONYMOUS 32

/*
 * How far a CPU's own variables are from where the kernel's pointers to such
 * variables point: found out by an element of a per-CPU map, whose address is known
 * both ways. Each element holds its own address.
 */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} growth_here SEC(".maps");

/* pointers that have become numbers: the verifier allows no arithmetic with the former */
volatile __u64 mt_growth_map MT_OWN_LINE = 0;
volatile __u64 mt_growth_pointer = 0;

static __always_inline __u64 percpu_distance(void)
{
	__u32 zero = 0;
	__u64 *here = bpf_map_lookup_elem(&growth_here, &zero), map, pointer;

	if (!here)
		return 0;
	if (!mt_growth_pointer) {
		mt_growth_map = (__u64)&growth_here;
		map = mt_growth_map;
		if (bpf_probe_read_kernel(&pointer, sizeof(pointer),
					  (void *)(map + bpf_core_field_offset(struct bpf_array___growth, pptrs))))
			return 0;
		mt_growth_pointer = pointer;
	}
	*(volatile __u64 *)here = (__u64)here;
	return *(volatile __u64 *)here - mt_growth_pointer;
}

struct rss {			/* in pages, by kind */
	__s32 here[MT_N_RSS], shared[MT_N_RSS];
};

/* before 6.2 */
#define IS_SPLIT (!bpf_core_field_exists(((struct mm_struct___percpu *)0)->rss_stat[0].counters))

static __always_inline void read_percpu(const struct percpu_counter___growth *c, __u64 distance, __s32 *here,
					__s32 *shared)
{
	*here = 0;
	*shared = c->count;
	bpf_probe_read_kernel(here, sizeof(*here), (void *)((__u64)c->counters + distance));
}

/* With helpers: the verifier of 6.1 does not look into an array of a type that goes by another name. */
static __always_inline void read_split(struct task_struct *task, struct mm_struct *mm, struct rss *ret)
{
	struct mm_struct___split *of = (void *)mm;
	struct task_struct___split *own = (void *)task;

	if (!bpf_core_field_exists(of->rss_stat.count))
		return;
	ret->shared[0] = BPF_CORE_READ(of, rss_stat.count[PAGES_FILE].counter);
	ret->shared[1] = BPF_CORE_READ(of, rss_stat.count[PAGES_ANON].counter);
	ret->shared[2] = BPF_CORE_READ(of, rss_stat.count[PAGES_SHMEM].counter);
	if (!bpf_core_field_exists(own->rss_stat))
		return;
	ret->here[0] = BPF_CORE_READ(own, rss_stat.count[PAGES_FILE]);
	ret->here[1] = BPF_CORE_READ(own, rss_stat.count[PAGES_ANON]);
	ret->here[2] = BPF_CORE_READ(own, rss_stat.count[PAGES_SHMEM]);
}

/* The resident pages of the current process: both parts, as far as they can change by what this thread does. */
static __always_inline void read_rss(struct task_struct *task, struct rss *ret)
{
	struct mm_struct *mm = task->mm;

	__builtin_memset(ret, 0, sizeof(*ret));
	if (!mm)
		return;
	if (IS_SPLIT) {
		read_split(task, mm, ret);
	} else {
		struct mm_struct___percpu *of = (void *)mm;
		__u64 distance = percpu_distance();

		read_percpu(&of->rss_stat[PAGES_FILE], distance, &ret->here[0], &ret->shared[0]);
		read_percpu(&of->rss_stat[PAGES_ANON], distance, &ret->here[1], &ret->shared[1]);
		read_percpu(&of->rss_stat[PAGES_SHMEM], distance, &ret->here[2], &ret->shared[2]);
	}
}

/* the kernel's, of a task */
#define TASK_ENDS 0x00000004		/* PF_EXITING */
#define TASK_OF_KERNEL 0x00200000	/* PF_KTHREAD */

static __always_inline __u32 flags_of(struct task_struct *task)
{
	struct task_struct___growth *of = (void *)task;

	return of->flags;
}

static __always_inline __u32 switches_of(struct task_struct *task)
{
	struct task_struct___growth *of = (void *)task;

	return of->nvcsw + of->nivcsw;
}

static __always_inline __u32 faults_of(struct task_struct *task)
{
	struct task_struct___growth *of = (void *)task;

	return of->min_flt + of->maj_flt;
}

/* Since 6.2: moves when the thread goes to another CPU. Never 0. */
static __always_inline __u32 migrations_of(struct task_struct *task)
{
	struct task_struct___growth *of = (void *)task;

	return (__u32)of->se.nr_migrations | 1u << 31;
}

/* Does no task but the current thread have this memory? */
static __always_inline bool is_alone(struct task_struct *task)
{
	struct mm_struct___growth *mm = (void *)task->mm;

	return mm && mm->mm_users.counter == 1;
}

/* Before 6.2: faults since the thread's rest was moved last, which is done at the start of one. */
static __always_inline __u32 split_events(struct task_struct *task)
{
	struct task_struct___split *own = (void *)task;

	return bpf_core_field_exists(own->rss_stat) ? BPF_CORE_READ(own, rss_stat.events) : 0;
}

/* Where the break is: the end of the memory that brk adds to. */
static __always_inline __u64 brk_of(struct task_struct *task)
{
	struct mm_struct___growth *mm = (void *)task->mm;

	return mm ? mm->brk : 0;
}

#endif
