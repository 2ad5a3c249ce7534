/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* What the programs are set up with, before they are loaded. A part of abi.h, which includes it. */
#ifndef MT_ABI_CONFIG_H
#define MT_ABI_CONFIG_H

#include "abi_types.h"

/*
 * user/probe/kernel_setup.c fills it, once. The verifier takes each member for a constant, and drops what
 * a recording does not need.
 */
struct mt_config {
	/* the recording (user/recording), as far as the programs go by it */
	__u32 mode;			/* enum mt_mode */
	__u32 depth;			/* 1..MT_MAX_DEPTH */
	__u64 min_size, max_size;	/* --min-size, --max-size */
	__u64 sample_bytes;		/* --sample; 0: every allocation */
	__u64 sample_unit;		/* of what variances are summed up of */
	__u64 sample_calls_unit;	/* the same for variances of calls, in weights */
	__u64 seed;			/* of the sampler; not 0 */
	__u64 tick_ns;			/* of the clock; 0: --precise-times */
	__u32 budget;			/* --overhead: bool, as are those that follow */
	__u32 by_thread;		/* --by thread: sites of their own for each thread */
	__u32 within;			/* --within: only inside of functions that were named */
	__u32 free_stacks;		/* --free-stacks: where blocks are freed, too */
	__u32 arenas;			/* of mappings, Python's arenas alone */
	__u32 calls;			/* --events: each call is reported as it happens */
	__u32 calls_unknown;		/* and so are frees of blocks that are not known */
	__u32 max_stacks;		/* beyond, those that hold nothing give up their room: n_sites is more */
	__u32 requested;		/* --mode leak: bool: sizes as requested, also where blocks have headers */
	__u32 python;			/* --python: enum mt_python_mode */

	/* who is traced */
	__u32 adopt;			/* enum mt_adopt */
	__u32 by_comm;			/* bool: user space selects by name: it changes with exec */
	__u32 by_cgroup;		/* bool: or by cgroup */
	__u32 own_only;			/* bool: only processes that malloctrace's user may ptrace: bpf/guard.bpf.h */
	__u32 multi;			/* bool: uprobe_multi links: newer kernels run their programs for the threads of one process alone */

	/* how large the tables are */
	__u32 n_groups;			/* of MT_GROUP buckets */
	__u32 n_sites;			/* site 0 is none; after them comes a spare site per process */
	__u32 n_index;			/* power of two */
	__u32 n_words;			/* of stacks */
	__u32 n_procs;
	__u32 n_shards;			/* power of two */
	__u32 n_threads;		/* slots, a power of two */
	__u32 n_scratch;
	__u32 n_shared;			/* of the scratch buffers: those that belong to no thread */
	__u32 n_links;			/* of --free-stacks: a power of two */

	/* the machine */
	__u32 rss_batch;		/* pages: the kernel's percpu_counter_batch */
	__u32 pad;
	__u64 page_bytes;
	__u64 huge_bytes;		/* what a fault may bring at once */
};
_Static_assert(sizeof(struct mt_config) == 192, "mt_config");

#endif
