/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Sites and their counters: allocations, moves by realloc, frees (--free-stacks), weights
 * (--sample). A part of abi.h, which includes it.
 */
#ifndef MT_ABI_SITES_H
#define MT_ABI_SITES_H

#include "abi_blocks.h"
#include "abi_types.h"

/* ---- sites: (process, function, call stack) */

/* how a stack walk ended */
enum mt_end {
	MT_END_WHOLE = 0,	/* the thread's first frame was reached, and each frame on the way is proven */
	MT_END_DEPTH = 1,	/* more frames than --depth */
	MT_END_NO_RULE = 2,	/* code without a frame pointer, or a frame that leads nowhere */
	MT_END_UNREADABLE = 3,	/* the next frame is in memory that cannot be read */
	MT_END_UNSURE = 4,	/* a frame was guessed: callers may be missing, or wrong, from there on */
	MT_N_ENDS
};

/*
 * First word in the stack words, number of frames, how the walk ended; never 0. Before the first
 * word stands when that was, by CLOCK_MONOTONIC.
 */
#define MT_STACK(at, depth, end) ((__u64)(at) | (__u64)(depth) << 32 | (__u64)(end) << 48 | 1ULL << 56)
#define MT_STACK_WITHIN (1ULL << 57)	/* --within: one of the functions is in it */
#define MT_STACK_AT(s) ((__u32)(s))
#define MT_STACK_DEPTH(s) ((__u32)((s) >> 32 & 0xffff))
#define MT_STACK_END(s) ((__u32)((s) >> 48 & 0xff))

/*
 * The index of sites: the upper 44 bits of the hash and the site's number. 0: never
 * used, so a search ends here. MT_INDEX_GONE: was used, so it goes on.
 */
#define MT_INDEX_GONE (~MT_SITE_MASK)
#define MT_SITE_PROBES 24	/* at most a quarter of the index is in use: no site is that far from its place */

struct mt_site {
	__u64 hash;
	__u64 stack;		/* MT_STACK(): written last, in one piece; 0: being filled, or free */
	__u16 proc;
	__u16 func;
	__u32 tid;		/* --by thread: whose it is; else 0 */
	__u64 first_ns;		/* of a free one: the next free one */
	__u64 min_size_inv;	/* ~min: so that zero means none yet */
	__u64 max_size;
	/* of a process that has ended: blocks whose places in the table others got, in amounts as in mt_counts */
	__u64 gone_calls;
	__u64 gone_bytes;
	/* the changing half, on a cache line of its own */
	__u64 live_bytes;
	__u64 peak_bytes;	/* the site's own highest live_bytes */
	__u32 peak_epoch[2];	/* the process's peak for which at_peak_bytes was saved: that much of it */
	__u64 at_peak_bytes[2];
	union {
		/* of the frees: by another thread than the one that allocated; an amount as in mt_counts */
		__u64 cross_frees;
		__u64 guessed_calls;	/* --mode growth: page faults whose size is a guess */
	};
	__u64 last_ns;
	__u64 gone_born_inv;	/* ~ the birth of the oldest of those that are gone, 0: none */
};
_Static_assert(sizeof(struct mt_site) == 128, "two cache lines");

/*
 * What each event may add to, of a site and of a thread: its name, and where the point is in its
 * amounts with --sample. They fill a cache line of a site: what is rare is in struct mt_rare.
 */
#define MT_COUNTED(COUNTER) \
	COUNTER(alloc_calls, MT_CALLS_SHIFT) \
	COUNTER(alloc_bytes, MT_BYTES_SHIFT) \
	COUNTER(free_calls, MT_CALLS_SHIFT) \
	COUNTER(free_bytes, MT_BYTES_SHIFT) \
	COUNTER(realloc_calls, MT_CALLS_SHIFT) \
	COUNTER(temp_calls, MT_CALLS_SHIFT) \
	COUNTER(failed_calls, MT_CALLS_SHIFT)
#define MT_COUNTER_WORD(name, shift) __u64 name;

struct mt_counts {		/* per site, bank and shard */
	MT_COUNTED(MT_COUNTER_WORD)
	__u64 lifetime_ns;	/* sum over the freed */
};
_Static_assert(sizeof(struct mt_counts) == 64, "one cache line");

struct mt_thread_counts {	/* frees: those made by this thread, whichever thread allocated */
	MT_COUNTED(MT_COUNTER_WORD)
	__u64 unknown_frees;	/* each is recorded, also with --sample */
};

struct mt_moves {		/* calls of realloc that gave a block for one that was known */
	__u64 longest;		/* no sum: how often one of the blocks was passed on, at most */
	__u64 calls;
	__u64 moved_calls;	/* to another address */
	__u64 moved_bytes;	/* of the old block, that went along */
	__u64 grown_calls;
	__u64 grown_bytes;
	__u64 shrunk_calls;
	__u64 doubled_calls;	/* of grown_calls: to 1.5 times the size or more */
};

/*
 * Per site and bank, of --mode full without --sample and --overhead: what is so rare that CPUs share
 * it. Its words are sums, but for the first one.
 */
struct mt_rare {
	struct mt_moves moves;
	__u64 zero_calls;	/* allocations for which zero bytes were requested */
};
_Static_assert(__builtin_offsetof(struct mt_rare, moves.longest) == 0, "the first word is no sum");

/* ---- --free-stacks: which blocks were freed where, and by which thread */

/*
 * A place of an open index; key 0: never used, so a search ends here; MT_LINK_GONE:
 * was used, so it goes on. A tid has at most 22 bits; 0: there is no
 * room to keep threads apart, or it cannot be seen. `where` is a site, too, of which
 * nothing is allocated; a spare one, if the free or its stack was not seen.
 */
#define MT_LINK_TID_SHIFT (2 * MT_SITE_BITS)
#define MT_LINK(site, where, tid) ((__u64)(tid) << MT_LINK_TID_SHIFT | (__u64)(where) << MT_SITE_BITS | (site))
#define MT_LINK_SITE(key) ((__u32)((key) & MT_SITE_MASK))
#define MT_LINK_WHERE(key) ((__u32)((key) >> MT_SITE_BITS & MT_SITE_MASK))
#define MT_LINK_TID(key) ((__u32)((key) >> MT_LINK_TID_SHIFT))
#define MT_LINK_GONE MT_LINK(0, 1, 0)	/* no site is 0 */
#define MT_LINK_PROBES 32

struct mt_freed {		/* by bank: sums over a site's links are its own frees */
	__u64 calls;
	__u64 bytes;
	__u64 cross_calls;	/* of calls: of blocks that another thread allocated */
};

struct mt_link {
	__u64 key;		/* MT_LINK() */
	__u64 lifetime_ns;	/* sum over the freed; in no bank */
	struct mt_freed bank[2];
};
_Static_assert(sizeof(struct mt_link) == 64, "one cache line");

/* ---- --sample: weights */

/*
 * A block smaller than BYTES is recorded with probability p, which follows from
 * its size rounded up to a class, so that 1/p is in a table. The programs add
 * weights instead of ones: calls with 16 fractional bits, bytes with 4.
 */
/* smaller blocks are sampled like these: no sample stands for more than BYTES / 16 calls */
#define MT_SAMPLE_LEAST 16
#define MT_CALLS_SHIFT 16
#define MT_BYTES_SHIFT 4
#define MT_N_WEIGHTS 1024
/* sizes of up to 4 significant bits are classes of their own; beyond, 8 to each power of two */
#define MT_WEIGHT_BITS 4
#define MT_LOG_STEPS 256	/* of the table of logarithms */

/* per site, bank and shard: sums of variances, each in the square of a unit of its own */
struct mt_vars {
	__u64 alloc_bytes;
	__u64 free_bytes;
	__u64 alloc_calls;
	__u64 free_calls;
};

#endif
