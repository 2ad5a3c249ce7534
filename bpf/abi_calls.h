/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* --events: a call, as it happens. A part of abi.h, which includes it. */
#ifndef MT_ABI_CALLS_H
#define MT_ABI_CALLS_H

#include "abi_types.h"

/* Each kind is one of a counter: lines, and what is counted as not shown, add up to it. */
enum mt_told_kind {
	MT_TOLD_ALLOC = 1,	/* alloc_calls */
	MT_TOLD_FREE = 2,	/* free_calls; of realloc: its old block */
	MT_TOLD_FAILED = 3,	/* failed_calls */
	MT_TOLD_UNKNOWN = 4,	/* unknown_frees: a block that is not in the table */
	MT_TOLD_UNSEEN = 5,	/* free_calls: the block ended, and no call was seen to free it */
	MT_TOLD_UNSIZED = 6,	/* failed_calls, where it is not known how much was requested */
	MT_TOLD_KINDS
};

/* What the programs hand on in one word: the kind, the function, the site, and where it was freed (--free-stacks). */
#define MT_TOLD(kind, func, site, where) \
	((__u64)(kind) | (__u64)(func) << 4 | (__u64)(site) << 16 | (__u64)(where) << 36)
#define MT_TOLD_KIND(what) ((__u32)((what) & 15))
#define MT_TOLD_FUNC(what) ((__u32)((what) >> 4 & 1023))
#define MT_TOLD_SITE(what) ((__u32)((what) >> 16 & 0xfffff))
#define MT_TOLD_WHERE(what) ((__u32)((what) >> 36 & 0xfffff))

struct mt_told {
	__u64 t_ns;		/* CLOCK_MONOTONIC */
	__u64 addr;		/* of the block; 0: not known */
	__u64 size;		/* MT_TOLD_UNKNOWN, MT_TOLD_UNSIZED: 0 */
	__u64 lived_ns;		/* of a block that ended; UINT64_MAX: not known */
	__u64 what;		/* MT_TOLD() */
	__u64 n_lost;		/* how many had found no room when this one was written */
	__u32 proc;		/* its number in the tables */
	__u32 pid, tid;		/* as malloctrace sees them */
	__u32 pad;
	char comm[16];		/* of the thread */
};
_Static_assert(sizeof(struct mt_told) == 80, "abi");

#endif
