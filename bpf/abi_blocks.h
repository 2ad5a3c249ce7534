/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* The table of live blocks, and with --mmap that of mappings. A part of abi.h, which includes it. */
#ifndef MT_ABI_BLOCKS_H
#define MT_ABI_BLOCKS_H

#include "abi_types.h"

/* ---- live blocks: buckets of five entries, two candidate buckets per block */

/*
 * key: address << 16 | process number; 0 if empty, MT_KEY_CLAIMED while it is filled.
 * An address above 48 bits, a size above 28 bits or a block for which both
 * buckets are full is in the overflow map. val: MT_VAL().
 */
#define MT_KEY_CLAIMED 1

/*
 * When a block was born, and by which thread: the programs' clock, 48 bits of it, in ticks
 * (in ns with --precise-times, which come round after 78 hours), and above it the
 * serial number of the thread, never 0. 0 as a whole: not known.
 */
#define MT_BORN_BITS 48
#define MT_BORN_MASK ((1ULL << MT_BORN_BITS) - 1)
#define MT_BORN_SLACK (1ULL << 36)
#define MT_BORN(clock, serial) (((clock) & MT_BORN_MASK) | (__u64)(serial) << MT_BORN_BITS)
#define MT_BORN_SERIAL(born) ((born) >> MT_BORN_BITS)

/* Was it born in a later tick than `now`, while the table was being read? */
static inline __attribute__((always_inline)) int mt_born_after(__u64 born, __u64 now)
{
	return ((now - born) & MT_BORN_MASK) > MT_BORN_MASK - MT_BORN_SLACK;
}

/* How long before `now`, in the clock's unit; 0 for what was born after it. */
static inline __attribute__((always_inline)) __u64 mt_born_ago(__u64 born, __u64 now)
{
	return mt_born_after(born, now) ? 0 : (now - born) & MT_BORN_MASK;
}

struct mt_block {
	__u64 key;
	__u64 val;
	__u64 born;		/* MT_BORN() */
};

#define MT_WAYS 5
#define MT_GROUP 64		/* neighbouring buckets that one page of the heap spreads over */
#define MT_SITE_BITS 20
#define MT_SITE_MASK ((1ULL << MT_SITE_BITS) - 1)
/* how often realloc passed a block on: as often as the bits can count */
#define MT_CHAIN_BITS 16
#define MT_CHAIN_MAX ((1u << MT_CHAIN_BITS) - 1)
/* --mode leak has no use for that: its free is not seen, and the heap says whether it is live. */
#define MT_CHAIN_UNSEEN 1
#define MT_SIZE_SHIFT (MT_SITE_BITS + MT_CHAIN_BITS)
#define MT_SIZE_MAX ((1ULL << (64 - MT_SIZE_SHIFT)) - 1)
#define MT_VAL(size, chain, site) ((__u64)(size) << MT_SIZE_SHIFT | (__u64)(chain) << MT_SITE_BITS | (site))
#define MT_VAL_SIZE(val) ((val) >> MT_SIZE_SHIFT)
#define MT_VAL_CHAIN(val) ((__u32)((val) >> MT_SITE_BITS & MT_CHAIN_MAX))
#define MT_VAL_SITE(val) ((__u32)((val) & MT_SITE_MASK))
#define MT_ADDR_MAX ((1ULL << 48) - 1)

struct mt_bucket {
	__u64 n_spilled;	/* blocks at home here that live in their second bucket or in the overflow */
	struct mt_block way[MT_WAYS];
};
_Static_assert(sizeof(struct mt_bucket) == 128, "two cache lines");

struct mt_over_key {
	__u64 addr;
	__u32 proc;
	__u32 pad;
};

struct mt_over {
	__u64 size;
	__u64 born;		/* MT_BORN() */
	__u32 site;
	__u32 chain;
	/* of a mapping */
	__u64 whole;		/* its size when it was made; size is what is left of it */
	__u64 n_parts;		/* that that is in */
};
_Static_assert(sizeof(struct mt_over_key) == 16 && sizeof(struct mt_over) == 40, "abi");

/* ---- --mmap: what the program maps; bpf/mappings.bpf.h */

/* A mapping is a block of the overflow map: this and a number of its own stand for the address. */
#define MT_OVER_MAPPING (1ULL << 63)

struct mt_part_key {
	__u64 addr;		/* where it begins; of memory below the break, where it ends */
	__u32 proc;
	__u32 is_brk;
};

struct mt_part {		/* of a mapping: memory in one piece */
	__u64 other;		/* where it ends; below the break, where it begins */
	__u64 block;		/* the number of its mapping */
	__u64 below;		/* below the break: the end of the next part further down, 0: none */
};
_Static_assert(sizeof(struct mt_part_key) == 16 && sizeof(struct mt_part) == 24, "abi");

struct mt_mapped {		/* per slot */
	__u32 lock;
	__u32 proc;		/* whose it is; another process may have had the slot before */
	__u64 brk_top;		/* the end of the topmost part below the break */
	__u64 n_unmapping;	/* calls under way that take mappings away */
	__u64 pad;
};

/* The index of parts: in a tree of 64 branches, which pages a part begins on. */
#define MT_NODE_LEVELS 6	/* of 6 bits: addresses of 48 bits, in pages of 4 KiB or larger ones */
#define MT_NODE(proc, level, prefix) ((__u64)(proc) << 48 | (__u64)(level) << 40 | (prefix))
#define MT_NODE_PROC(node) ((__u32)((node) >> 48))

struct mt_map_call {		/* under way in a thread, touched by that thread alone */
	__u64 sp, ra, cookie, code;
	__u64 addr, len;	/* brk: len is where the break was */
	__u64 new_len;		/* mremap */
	__u64 last_block;	/* the number given last when it began: no later one is taken away by it */
	__u32 flags;
	__u32 proc, tid;
	/* a range of addresses that is taken away */
	__u32 missed;		/* no call was seen to do so */
	__u64 lo, hi;
	__u64 at;		/* what begins here or above has been examined */
	__u64 spares;		/* blocks with higher numbers stay */
	__u64 cut, now;
	/* what the call has added; 0 bytes: nothing */
	__u64 new_addr, new_bytes;
	__u32 site;
	__u32 is_brk;
};
_Static_assert(sizeof(struct mt_map_call) == 152, "abi");
#define MT_CALL_COUNTS 1	/* the program's own, of a kind that counts */
#define MT_CALL_FIXED 2		/* what is at the result's address goes */
#define MT_CALL_KEEPS 4		/* mremap that leaves the old mapping where it is */
#define MT_CALL_TOLD 8		/* it is in n_unmapping */

#endif
