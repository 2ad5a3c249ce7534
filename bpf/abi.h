/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * What crosses between the kernel and user space, and nothing else: the
 * records in the maps, the attach cookie, the counters. Both sides include
 * this file, so a layout is written once. Explicit padding, fixed widths, and
 * an assertion on every size.
 *
 * Banks and shards
 *   Counters that must agree with each other in a snapshot (a site's calls and
 *   bytes, a process's histograms) exist twice: two "banks". A program reads
 *   mt_cut once, at its start, and charges the whole event to bank mt_cut & 1.
 *   To take a snapshot, user space flips the bit and waits one RCU grace
 *   period; then no program writes to the old bank any more, and it is read at
 *   leisure: every event is in the snapshot whole or not at all, and the target
 *   never waited. Banks are cumulative; the sum of both is the total.
 *   While MT_CUT_FROZEN is set nothing is recorded: putting probes in place and
 *   taking them out takes a while, and the trace begins and ends for all of them
 *   at one instant.
 *   Each bank is split over a few "shards" picked by CPU, because two CPUs that
 *   add to one cache line slow each other down. All additions are atomic:
 *   uprobe programs can be preempted, so "per CPU" alone would lose some.
 */
#ifndef MT_ABI_H
#define MT_ABI_H

#ifndef __bpf__
#include <linux/types.h>
#endif

#define MT_CUT_FROZEN (1ULL << 63)

/* ---- the attach cookie: a row of the allocator table, as the kernel needs it */

enum mt_result {
	MT_RESULT_RETURN = 0,	/* the block's address is returned */
	MT_RESULT_OUT = 1,	/* it is stored through an argument; 0 is returned on success */
	MT_RESULT_IN_PLACE = 2,	/* xallocx: the block stays, its real size is returned */
};

#define MT_NO_ARG 15

/* cookie: bits 0-9 function, 10-13 size, 14-17 count, 18-21 old, 22-25 out, 26-27 result, then flags */
#define MT_COOKIE_FREES_ON_FAIL (1ULL << 28)	/* reallocf: the old block goes even if the call fails */
#define MT_COOKIE_AT_RET (1ULL << 29)	/* the return is seen on a `ret`, not by a uretprobe */
#define MT_COOKIE_FREES_AT_0 MT_COOKIE_AT_RET	/* --mode count, which sees no returns: realloc(p, 0) frees p and gives no block */
#define MT_COOKIE_NO_RETURN (1ULL << 30)	/* no safe return point: entry only, told as missed_return */
#define MT_COOKIE_REALLOC (1ULL << 31)	/* the call takes an old block */
#define MT_COOKIE_SP_SHIFT 32		/* 14 bits: bytes that the stack pointer is below its value at entry */
#define MT_COOKIE_SP_MAX 0x3fff
#define MT_COOKIE_CODE_SHIFT 46		/* 15 bits: the number of the function's code, 0: not known */
#define MT_COOKIE_STRING (1ULL << 61)	/* strdup: the block holds a string, and is as large as that needs */
#define MT_COOKIE_USABLE (1ULL << 62)	/* --size usable: the size is in the block's header (glibc) */
#define MT_COOKIE_RETURN_ONLY (1ULL << 63)	/* the entry is not probed: all that is needed is there at the return */

#define MT_COOKIE(func, size, count, old, out, result)						\
	((__u64)(func) | (__u64)(size) << 10 | (__u64)(count) << 14 | (__u64)(old) << 18 |	\
	 (__u64)(out) << 22 | (__u64)(result) << 26)

#define MT_COOKIE_FUNC(c) ((__u32)((c) & 1023))
#define MT_COOKIE_SIZE(c) ((__u32)((c) >> 10 & 15))
#define MT_COOKIE_COUNT(c) ((__u32)((c) >> 14 & 15))
#define MT_COOKIE_OLD(c) ((__u32)((c) >> 18 & 15))
#define MT_COOKIE_OUT(c) ((__u32)((c) >> 22 & 15))
#define MT_COOKIE_RESULT(c) ((__u32)((c) >> 26 & 3))
#define MT_COOKIE_SP_DELTA(c) ((__u32)((c) >> MT_COOKIE_SP_SHIFT & MT_COOKIE_SP_MAX))
#define MT_COOKIE_CODE(c) ((__u64)(c) >> MT_COOKIE_CODE_SHIFT & 0x7fff)

#define MT_MAX_FUNCS 1024
#define MT_N_ARGS 6

/* ---- what is recorded, --mode */

enum mt_mode {
	MT_MODE_FULL = 0,	/* every allocation and free */
	MT_MODE_COUNT = 1,	/* allocation calls, at their entry */
	MT_MODE_GROWTH = 2,	/* page faults, brk and mmap; no probe in an allocator */
};

/* --mode growth: the functions that sites have, and how a call tells by how much it grew (the cookie's enum mt_result) */
enum mt_growth_func { MT_GROWTH_FAULT, MT_GROWTH_MMAP, MT_GROWTH_BRK, MT_N_GROWTH_FUNCS };
enum mt_growth { MT_GROWS_MMAP, MT_GROWS_MREMAP, MT_GROWS_BRK, MT_GROWS_NOT };	/* the last: munmap */

/* ---- live blocks: buckets of five entries, two candidate buckets per block */

/*
 * key: address << 16 | process number; 0 if empty, MT_KEY_CLAIMED while it is filled.
 * An address above 48 bits, a size above 28 bits or a block for which both
 * buckets are full is in the overflow map. val: MT_VAL().
 */
#define MT_KEY_CLAIMED 1

/*
 * When a block was born, and by whom: the programs' clock, 48 bits of it, in ticks
 * (in ns with --precise-times, which come round after 78 hours), and above it the
 * serial number of the thread, never 0. 0 as a whole: not known.
 */
#define MT_BORN_BITS 48
#define MT_BORN_MASK ((1ULL << MT_BORN_BITS) - 1)
#define MT_BORN_SLACK (1ULL << 36)
#define MT_BORN(clock, serial) (((clock) & MT_BORN_MASK) | (__u64)(serial) << MT_BORN_BITS)
#define MT_BORN_SERIAL(born) ((born) >> MT_BORN_BITS)

/* How long before `now`, in the clock's unit; 0 for what was born behind it, while somebody looked at the table. */
static inline __attribute__((always_inline)) __u64 mt_born_ago(__u64 born, __u64 now)
{
	__u64 ago = (now - born) & MT_BORN_MASK;

	return ago > MT_BORN_MASK - MT_BORN_SLACK ? 0 : ago;
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
/* how often realloc passed a block on: as often as the bits can tell */
#define MT_CHAIN_BITS 16
#define MT_CHAIN_MAX ((1u << MT_CHAIN_BITS) - 1)
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
	__u32 proc;		/* whose it is; the slot may have been another's */
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
	__u32 missed;		/* nobody was seen to do so */
	__u64 lo, hi;
	__u64 at;		/* what begins here or above has been looked at */
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
 * First word in the stack words, number of frames, how the walk ended; never 0. Before the first word stands when that was,
 * by CLOCK_MONOTONIC.
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
		__u64 cross_frees;	/* of the frees: by another thread than the one that allocated; an amount as in mt_counts */
		__u64 guessed_calls;	/* --mode growth: page faults whose size is a guess */
	};
	__u64 last_ns;
	__u64 gone_born_inv;	/* ~ the birth of the oldest of those that are gone, 0: none */
};
_Static_assert(sizeof(struct mt_site) == 128, "two cache lines");

struct mt_counts {		/* per site, bank and shard */
	__u64 alloc_calls;
	__u64 alloc_bytes;
	__u64 free_calls;
	__u64 free_bytes;
	__u64 temp_calls;
	__u64 realloc_calls;
	__u64 failed_calls;
	__u64 lifetime_ns;	/* sum over the freed */
};
_Static_assert(sizeof(struct mt_counts) == 64, "one cache line");

struct mt_moves {		/* per site and bank: calls of realloc that gave a block for one that was known */
	__u64 calls;
	__u64 moved_calls;	/* to another address */
	__u64 moved_bytes;	/* of the old block, that went along */
	__u64 grown_calls;
	__u64 grown_bytes;
	__u64 shrunk_calls;
	__u64 doubled_calls;	/* of grown_calls: to 1.5 times the size or more */
	__u64 longest;		/* no sum: how often one of the blocks was passed on, at most */
};
_Static_assert(sizeof(struct mt_moves) == 64, "one cache line");

/* ---- --free-stacks: whose blocks were freed where, and by whom */

/*
 * A place of an open index; key 0: never used, so a search ends here; MT_LINK_GONE:
 * was used, so it goes on. A tid has at most 22 bits; 0: there is no
 * room to keep threads apart, or it cannot be seen. `where` is a site, too, of which
 * nothing is allocated; a spare one, if nobody saw the free or its stack.
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
#define MT_SAMPLE_LEAST 16	/* smaller blocks are sampled like these: no sample stands for more than BYTES / 16 calls */
#define MT_CALLS_SHIFT 16
#define MT_BYTES_SHIFT 4
#define MT_N_WEIGHTS 1024
/* sizes of up to 4 significant bits are classes of their own; beyond, 8 to each power of two */
#define MT_WEIGHT_BITS 4
#define MT_LOG_STEPS 256	/* of the table of logarithms */

struct mt_vars {		/* per site, bank and shard: sums of variances, each in the square of a unit of its own */
	__u64 alloc_bytes;
	__u64 free_bytes;
	__u64 alloc_calls;
	__u64 free_calls;
};

/* ---- processes */

enum mt_method {
	MT_WALK_FP = 0,		/* frame pointers where they are proven, else tables */
	MT_WALK_TABLE = 1,
	MT_WALK_FP_ONLY = 2,	/* --unwind fp: what is not proven is taken all the same, and is unsure */
};

/*
 * A process number is a slot of the tables and a generation: slots are used
 * again, and what still names the process that had one before does not name the
 * new one. Arrays are indexed by the slot; blocks, sites, threads hold the whole
 * number, which fits into 16 bits. 0 is no process, nor is slot 0 any's.
 */
#define MT_PROC_SLOT_BITS 12
#define MT_MAX_PROCS (1u << MT_PROC_SLOT_BITS)
#define MT_PROC_SLOT(proc) ((proc) & (MT_MAX_PROCS - 1))
#define MT_PROC_GENS 16u
#define MT_PROC_NEXT_GEN(proc) (((proc) + MT_MAX_PROCS) & (MT_MAX_PROCS * MT_PROC_GENS - 1))
#define MT_PROC_NUMBERS (MT_MAX_PROCS * MT_PROC_GENS)

/* Who is traced, besides the processes that user space adds; bpf/adopt.bpf.h. */
enum mt_adopt {
	MT_ADOPT_NONE = 0,
	MT_ADOPT_CHILDREN = 1,	/* what the traced ones fork, across exec */
	MT_ADOPT_ALL = 2,	/* all that user space does not throw out */
};

/* How a life ended. */
enum mt_ended {
	MT_ENDED_EXIT = 1,
	MT_ENDED_EXEC = 2,
	MT_ENDED_DROPPED = 3,	/* user space threw it out: it is in no report */
};

struct mt_known {		/* what is known of a pid */
	__u32 proc;		/* the life that its events belong to, 0: none */
	__u32 flags;
} __attribute__((aligned(8)));	/* changed in one piece */
#define MT_KNOWN_IGNORED 1	/* nobody's business: proc is 0 */
#define MT_KNOWN_BORROWED 2	/* shares the memory, and the number, of the process that made it (vfork), until exec */
#define MT_KNOWN_LENT 4		/* such children were made */
#define MT_KNOWN_OWN 8		/* malloctrace, or a child of it: ignored across fork and exec */
#define MT_KNOWN_PENDING 16	/* borrowed while a uretprobe was pending in the process that made it */

/* What user space asks of the program `manage`. */
enum mt_request_kind {
	MT_ASK_ADD = 1,		/* trace pid; returns its number, 0: no room */
	MT_ASK_IGNORE = 2,	/* do not; proc: only if that is its life now, 0: whatever it is. Returns the number it had, 0: none */
	MT_ASK_RECONSIDER = 3,	/* forget that it was ignored */
};

struct mt_request {
	__u32 kind;
	__u32 pid;
	__u32 proc;
	__u32 pad;
};

struct mt_thread_counts {
	__u64 alloc_calls;
	__u64 alloc_bytes;
	__u64 free_calls;	/* frees made by this thread, whoever allocated */
	__u64 free_bytes;
	__u64 realloc_calls;
	__u64 temp_calls;
	__u64 failed_calls;
	__u64 unknown_frees;
};

struct mt_proc {
	/* read by each event, seldom changed: on a cache line of its own */
	__u32 pid;		/* as malloctrace's own pid namespace sees it */
	__u32 ended;		/* enum mt_ended, 0: it goes on */
	__u32 walk;		/* enum mt_method: how its stacks are walked */
	__u32 gen;		/* moves when that, or its unwind tables, change */
	__u64 started_ns;	/* on the programs' clock */
	__u64 ended_ns;
	__u32 number;		/* of the process that has the slot, or will have it next; 0: never used */
	__u32 next_free;	/* in the list of slots that are free */
	__u32 code_seq;		/* moves when code may have taken the place of other code: on_loader() */
	__u32 settled_seq;	/* of it, when user space last looked at what is mapped */
	__u64 unmapped_ns;	/* when code was first about to be unmapped: new code may take its place; 0: never */
	__u64 pad;
	/* changed now and then */
	__u64 unknown_frees;
	__u64 probe_hits;	/* of threads that have ended */
	__u64 frames;		/* of threads that have ended */
	__u64 lost_blocks;	/* its share of live_full */
	__u64 lost_stacks;	/* and of stack_full and site_full */
	__u64 n_untold;		/* threads that ended when there was no room to tell of each: what they counted is below */
	__u64 missed_frees;	/* its share of missed_free */
	__u64 pad2;
	/* changed by each event, and nothing else on that line, nor on its neighbour, which some CPUs fetch along */
	__u64 live_bytes;
	__u64 peak_bytes;
	__u64 peak_epoch[2];	/* [bank]: moves with each new peak */
	__u64 peak_value[2];
	__u64 peak_ns[2];
	struct mt_thread_counts untold;
};
_Static_assert(sizeof(struct mt_proc) == 256, "four cache lines");

#define MT_N_CLASSES 48		/* class i holds values below 1 << i; the last one all the rest */

struct mt_hist {		/* per process, bank and shard */
	__u64 size_allocs[MT_N_CLASSES];
	__u64 size_frees[MT_N_CLASSES];
	__u64 lifetimes[MT_N_CLASSES];	/* by log2 of the lifetime in ns */
};

/* ---- --overhead: frees by age, per site */

/* class 0 holds ages below 1 << MT_AGE_MIN_BITS ns; then two classes to each doubling; the last one all the rest */
#define MT_AGE_MIN_BITS 13
#define MT_N_AGES 60

#define MT_TIMED_ONE_IN 16	/* hits */
/* time between two hits of a thread, by length; the last class holds all the rest */
#define MT_N_GAPS 64
#define MT_GAP_STEP_NS 32

struct mt_ages {
	__u64 blocks[MT_N_AGES];
	__u64 bytes[MT_N_AGES];
	__u64 caller;		/* tid of the thread that allocated last */
};

/* ---- threads: what one thread has under way, touched by that thread alone */

#define MT_N_RSS 3		/* kinds of pages that RSS is the sum of */

struct mt_thread {
	__u32 tid;		/* the kernel's own, 0: free */
	__u16 proc;		/* 0: nobody's business */
	__u16 old_chain;	/* of realloc's old block, see MT_VAL() */
	__u64 probe_hits;
	/* the outermost allocation call under way; sp 0: none */
	__u64 sp;		/* its stack pointer after return */
	__u64 ra;		/* its return address */
	__u64 cookie;
	__u64 code;		/* MT_CODE() of it, or of what it ended by jumping to */
	__u64 size;
	union {			/* no function has both */
		__u64 out;	/* where posix_memalign stores its result */
		__u64 old;	/* realloc's old address */
	};
	__u32 old_site;		/* and its block, if it was in the table; else 0 */
	__u32 filter_gen;	/* mt_filter_gen when proc was asked for; ~ of it: proc is 0 */
	__u64 old_size;
	__u64 old_born;		/* MT_BORN() */
	/* freed at once? */
	__u64 last_block;
	/* the last outermost free: operator delete that calls free is one, seen twice */
	__u64 last_freed;	/* 0: the address may be another block's by now */
	__u64 freed_sp;
	__u64 freed_code;
	struct mt_thread_counts counts;
	__u32 vtid;		/* as malloctrace sees it */
	__u16 scratch;		/* number of its own buffer, 0: none was left */
	__u16 serial;		/* of the thread, never 0; blocks remember it */
	__u64 frames;		/* walked */
	__u16 span;		/* bytes of its stack that the last walk wanted in one piece */
	__u16 n_outer;		/* calls that signals have interrupted, whose handlers call in turn: struct mt_outer */
	__u32 freed_ra;		/* the lower half of it */
	__u64 stack_top;	/* a page that could not be read begins here; 0: none met */
	union {
		struct {
			union {
				struct {	/* --sample */
					__u64 gap;		/* bytes until the next sample */
					__u64 random;
				};
				struct {	/* --overhead */
					/* when a program ended, if the time to the next one is to be taken; odd: inside a call */
					__u64 left_ns;
					__u64 window;		/* that what is under way belongs to */
				};
			};
			/* --within: calls of the functions that are under way, or may be */
			__u32 within_depth;
			__u16 within_tail;	/* the outermost jumped to another function, which runs in its place */
			__u16 within_apart;	/* some of the others may be on other stacks than the outermost */
			union {
				__u64 within_sp;	/* of the outermost: the stack pointer after its return; 0: it is over */
				__u64 thrown_sp;	/* without --within: the same of a call that was told as failed at its throw */
			};
			__u64 within_ra;	/* and its return address; holds if within_tail */
		};
		struct {	/* --mode growth: how things stood when the fault under way began; of differences, 32 bits do */
			__u32 fault_no;		/* the last fault that was charged, as the kernel counts them */
			__u32 fault_mark;	/* migrations_of(); before 6.2 split_events() + 1; 0: none is under way */
			__u32 n_switches;	/* of this thread */
			__u32 charged_pages;	/* to its process */
			__s32 rss_here[MT_N_RSS], rss_shared[MT_N_RSS];
		};
	};
};
_Static_assert(sizeof(struct mt_thread) == 256, "four cache lines");

/* A call that is under way, and waits for a signal handler's: what struct mt_thread knew of it. */
#define MT_MAX_OUTER 4		/* in a thread: handlers that are interrupted in turn */
#define MT_OUTER_KEY(tid, i) ((__u64)(i) << 32 | (tid))

struct mt_outer {
	__u64 sp, ra, cookie, code, size, old, old_size, old_born;
	__u32 old_site;
	__u32 old_chain;
};
_Static_assert(sizeof(struct mt_outer) == 72, "abi");

/* ---- stack walks; the code of probed functions; functions that the user named */

#include "abi_walk.h"
#include "abi_code.h"
#include "abi_spots.h"

/* ---- what can be lost, and what the edges of the trace cut off */

enum mt_counter {
	/* losses */
	MT_LOST_LIVE_FULL,	/* no room for a block */
	MT_LOST_STACK_FULL,	/* no room for a new stack's frames */
	MT_LOST_SITE_FULL,	/* no room for a new site */
	MT_LOST_SCRATCH_BUSY,	/* no buffer to walk a stack in */
	MT_LOST_INFLIGHT_FULL,	/* no room for a thread */
	MT_LOST_PROCESS_FULL,	/* no room for a process */
	MT_LOST_RING_FULL,	/* no room for a message */
	MT_LOST_MISSED_FREE,	/* a block appeared at an address still in the table */
	MT_LOST_MISSED_RETURN,	/* a call of a function whose return cannot be probed safely */
	MT_LOST_UNREADABLE,	/* posix_memalign's result, or strdup's, could not be read */
	MT_LOST_FREES_FULL,	/* --free-stacks: no room for a site that frees blocks of another */
	MT_LOST_HEAP_DESTROYED,	/* a heap was destroyed with all its blocks, which are told as live still */
	MT_LOST_MAPPING_BUSY,	/* --mmap: another thread had the process's mappings in its hands for too long */
	MT_LOST_BORROWED,	/* a child that shared its parent's memory met probes, and the kernel ran no program for it */
	/* edges */
	MT_EDGE_RETURN_ONLY,	/* a return whose entry was not seen: under way when the trace began */
	MT_EDGE_ABANDONED,	/* a call left without a return: longjmp, exception, the end of the trace */
	MT_EDGE_DIED_INSIDE,	/* a thread ended inside a call */
	MT_EDGE_SIZE_GUESSED,	/* --mode growth: the size of a page fault that was interrupted, see growth.bpf.h */
	MT_EDGE_WINDOW,		/* --overhead: a call was under way when a window ended */
	MT_EDGE_OWN_FREE,	/* the allocator freed what is no block of the program's */
	MT_EDGE_BORROWED,	/* as MT_LOST_BORROWED, where it is not known whether the child met probes */
	MT_N_COUNTERS
};
#define MT_N_LOSSES MT_EDGE_RETURN_ONLY

/* ---- messages */

enum mt_event_kind {
	MT_EV_EXEC = 1,		/* pid is a new program: proc is the new life's number (0: no room), old_proc the one that ended (0: none) */
	MT_EV_EXIT = 2,		/* the last thread of proc ended */
	MT_EV_THREAD_END = 3,	/* its counts are those of a thread of proc */
	MT_EV_FORK = 4,		/* pid was forked: proc is its number, old_proc that of who forked it (0: not traced) */
	MT_EV_NEW = 5,		/* pid was met, unknown so far, and has got the number proc */
	MT_EV_CHANGED = 6,	/* the name of pid, a known or ignored one, changed; proc is 0 if it is ignored */
	MT_EV_OOM = 7,		/* the kernel has no memory left and chose pid, to kill it; proc is 0 if it has ended already */
	MT_EV_MOVED = 8,	/* struct mt_move: pid was ignored, entered a cgroup, and has got the number proc */
};

struct mt_event {
	__u32 kind;
	__u32 proc;
	__u32 old_proc;
	__u32 pid;
	__u32 tid;		/* MT_EV_THREAD_END; MT_EV_EXEC: the thread that called it, 0 if that was the first one */
	__s32 exit_code;	/* MT_EV_EXIT: as of waitpid; MT_EV_EXEC: 1 if it stands still, else 0 */
	__u32 parent;		/* MT_EV_EXEC of a vfork child: the life that made it, which goes on */
	/* of lives, 0 for threads */
	__u32 ns_pid;		/* the pid in its own pid namespace */
	__u32 ppid;		/* who forked it, as malloctrace sees it; 0: cannot be seen */
	__u32 oom;		/* MT_EV_EXIT alone: 1 if the kernel, out of memory, had chosen it */
	__u64 start_ns;		/* of the process, since boot, as in /proc/PID/stat: with the pid it names a process for good */
	__u64 t_ns;		/* of the message, CLOCK_MONOTONIC */
	char comm[16];		/* of the process, MT_EV_CHANGED: the new one; of the thread, MT_EV_THREAD_END */
	struct mt_thread_counts counts;
};
_Static_assert(sizeof(struct mt_event) == 72 + 64, "abi");

#define MT_CGROUP_PATH 256

/* One that ends at once is in no cgroup any more when user space asks: it is told which one it entered. */
struct mt_move {
	struct mt_event ev;
	__u32 hierarchy;	/* a line of /proc/PID/cgroup begins with it */
	__u32 pad;
	char path[MT_CGROUP_PATH];	/* from the root of the hierarchy; cut if it fills this */
};
_Static_assert(sizeof(struct mt_move) == 144 + MT_CGROUP_PATH, "abi");

/* ---- the self-check of probe points */

#define MT_MAX_HITS 1024
#define MT_HIT_RETURNED (1ULL << 16)	/* cookie: below it the number of the point; it is a uretprobe */

struct mt_hit {			/* what was seen at a point */
	__u64 point;
	__u64 sp;		/* after return */
	__u64 ra;
	__u64 result;
	__u64 arg[MT_N_ARGS];
};
_Static_assert(sizeof(struct mt_hit) == 80, "abi");

#endif
