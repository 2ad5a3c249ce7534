/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Processes and threads: their records, which are traced, and what each has counted. A part of
 * abi.h, which includes it.
 */
#ifndef MT_ABI_PROCS_H
#define MT_ABI_PROCS_H

#include "abi_sites.h"
#include "abi_types.h"

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
 * number, which fits into 16 bits. 0 is no process, and slot 0 is never given to one.
 */
#define MT_PROC_SLOT_BITS 12
#define MT_MAX_PROCS (1u << MT_PROC_SLOT_BITS)
#define MT_PROC_SLOT(proc) ((proc) & (MT_MAX_PROCS - 1))
#define MT_PROC_GENS 16u
#define MT_PROC_NEXT_GEN(proc) (((proc) + MT_MAX_PROCS) & (MT_MAX_PROCS * MT_PROC_GENS - 1))
#define MT_PROC_NUMBERS (MT_MAX_PROCS * MT_PROC_GENS)

/* What is traced, besides the processes that user space adds; bpf/adopt.bpf.h. */
enum mt_adopt {
	MT_ADOPT_NONE = 0,
	MT_ADOPT_CHILDREN = 1,	/* what the traced ones fork, across exec */
	MT_ADOPT_ALL = 2,	/* all that user space does not throw out */
};

/* How a life ended: what one process does with one program, from its fork or exec to its next exec or its end. */
enum mt_ended {
	MT_ENDED_EXIT = 1,
	MT_ENDED_EXEC = 2,
	MT_ENDED_DROPPED = 3,	/* user space threw it out: it is in no report */
	MT_ENDED_UNSEEN = 4,	/* it goes on, but it was not seen for a while: what became of its blocks is not known */
};

struct mt_known {		/* what is known of a pid */
	__u32 proc;		/* the life that its events belong to, 0: none */
	__u32 flags;
} __attribute__((aligned(8)));	/* changed in one piece */
#define MT_KNOWN_IGNORED 1	/* not traced: proc is 0 */
#define MT_KNOWN_BORROWED 2	/* shares the memory, and the number, of a traced process (vfork, CLONE_VM), until exec */
#define MT_KNOWN_LENT 4		/* such children were made */
#define MT_KNOWN_OWN 8		/* malloctrace, or a child of it: ignored across fork and exec */
#define MT_KNOWN_PENDING 16	/* borrowed while a uretprobe was pending in the process that made it */
#define MT_KNOWN_MOVED 32	/* entered a cgroup while it was traced, maybe since user space looked where it is */
#define MT_KNOWN_UNSEEN 64	/* borrowed, and counted as one whose calls were not seen */
#define MT_KNOWN_DYING 128	/* all its threads are about to end */

/* What user space requests of the program `manage`. */
enum mt_request_kind {
	MT_ASK_ADD = 1,		/* trace pid; returns its number, 0: no room */
	/*
	 * do not; proc: only if that is its life now, 0: whatever it is. Returns the number it had,
	 * 0: none, MT_ASK_MOVED: nothing was done, look again
	 */
	MT_ASK_IGNORE = 2,
	MT_ASK_RECONSIDER = 3,	/* forget that it was ignored */
	MT_ASK_RENEW = 4,	/* its life proc ends unseen, and another begins: returns its number; 0: no room, or that life is over */
	MT_ASK_SHARE = 5,	/* pid shares the memory of proc: its calls count for that one */
	/*
	 * has a borrower called allocation functions unseen? proc: does it outlive that process, whose memory it shares? Counted
	 * once; returns whether it has
	 */
	MT_ASK_CHECK = 6,
};

/* It has entered a cgroup, so what was decided may be wrong by now. */
#define MT_ASK_MOVED 0xffffffffu

struct mt_request {
	__u32 kind;
	__u32 pid;
	__u32 proc;
	__u32 unselected;	/* MT_ASK_SHARE: traced with proc alone; outliving it is a loss */
};

struct mt_proc {
	/* read by each event, seldom changed: on a cache line of its own */
	__u32 pid;		/* as malloctrace's own pid namespace sees it */
	__u32 ended;		/* enum mt_ended, 0: it goes on */
	__u16 walk;		/* enum mt_method: how its stacks are walked */
	__u16 arenas;		/* it is known to run Python: mappings may be arenas */
	__u32 gen;		/* moves when that, or its unwind tables, change */
	__u64 started_ns;	/* on the programs' clock */
	__u64 ended_ns;
	__u32 number;		/* of the process that has the slot, or will have it next; 0: never used */
	__u32 next_free;	/* in the list of slots that are free */
	__u32 code_seq;		/* moves when code may have taken the place of other code: on_loader() */
	__u32 settled_seq;	/* of it, when user space last read what is mapped */
	__u64 unmapped_ns;	/* when code was first about to be unmapped: new code may take its place; 0: never */
	__u64 nth;		/* life of the trace: which of two began first, the clock is too coarse to tell */
	/* changed now and then */
	__u64 unknown_frees;
	__u64 probe_hits;	/* of threads that have ended */
	__u64 frames;		/* of threads that have ended */
	__u64 lost_blocks;	/* its share of live_full */
	__u64 lost_stacks;	/* and of stack_full and site_full */
	/* threads that ended when there was no room for a message about each: what they counted is below */
	__u64 n_untold;
	__u64 missed_frees;	/* its share of missed_free */
	__u64 n_sites;		/* that it has in the table */
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
#define MT_PRICED_ONE_IN 64	/* without a budget: of them the mean is wanted, not each window's sum */
/* time between two hits of a thread, by length; the last class holds all the rest */
#define MT_N_GAPS 64
#define MT_GAP_STEP_NS 32

struct mt_ages {
	__u64 blocks[MT_N_AGES];
	__u64 bytes[MT_N_AGES];
	__u64 caller;		/* tid of the thread that allocated last */
};

/* ---- threads: what one thread has under way, touched by that thread alone */

/*
 * The number of a thread's name shares a word with its tid, which the kernel keeps below 1 << 22. So a site of
 * --by thread is that of a thread under one name. 0: the name has no number, the table of names was full.
 */
#define MT_TID_BITS 22
#define MT_MAX_NAMES ((1u << (32 - MT_TID_BITS)) - 1)
#define MT_NAMED_TID(tid, name) ((__u32)(name) << MT_TID_BITS | ((tid) & ((1u << MT_TID_BITS) - 1)))
#define MT_TID(named) ((named) & ((1u << MT_TID_BITS) - 1))
#define MT_NAME(named) ((__u32)(named) >> MT_TID_BITS)
#define MT_COMM_LEN 16

#define MT_N_RSS 3		/* kinds of pages that RSS is the sum of */

struct mt_thread {
	__u32 tid;		/* the kernel's own, 0: free */
	__u16 proc;		/* 0: not traced */
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
	__u32 filter_gen;	/* mt_filter_gen when proc was looked up; ~ of it: proc is 0 */
	__u64 old_size;
	__u64 old_born;		/* MT_BORN() */
	/* freed at once? */
	__u64 last_block;
	/* the last outermost free: operator delete that calls free is one, seen twice */
	__u64 last_freed;	/* 0: the address may be another block's by now */
	__u64 freed_sp;
	__u64 freed_code;
	struct mt_thread_counts counts;
	__u32 named_tid;	/* MT_NAMED_TID() of its tid as malloctrace sees it; the number is 0 without --by thread */
	__u16 scratch;		/* number of its own buffer, 0: none was left */
	__u16 serial;		/* of the thread, never 0; blocks remember it */
	__u64 frames;		/* walked */
	__u16 span;		/* bytes of its stack that the last walk wanted in one piece */
	__u8 stack_lost;	/* the last walk found no room for its stack */
	__u8 n_outer;		/* calls that signals have interrupted, whose handlers call in turn: struct mt_outer */
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
					/*
					 * when a program ended, if the time to the next one is to
					 * be taken; odd: inside a call
					 */
					__u64 left_ns;
					__u64 window;		/* that what is under way belongs to */
				};
			};
			/* --within: calls of the functions that are under way, or may be */
			__u32 within_depth;
			__u16 within_tail;	/* the outermost jumped to another function, which runs in its place */
			__u16 within_apart;	/* some of the others may be on other stacks than the outermost */
			union {
				/* of the outermost: the stack pointer after its return; 0: it is over */
				__u64 within_sp;
				/*
				 * without --within: the same of a call that was counted as failed
				 * when it threw
				 */
				__u64 thrown_sp;
			};
			__u64 within_ra;	/* and its return address; holds if within_tail */
		};
		/* --mode growth: how things stood when the fault under way began; of differences, 32 bits do */
		struct {
			__u32 fault_no;		/* the last fault that was charged, as the kernel counts them */
			/* migrations_of(); before 6.2 split_events() + 1; 0: none is under way */
			__u32 fault_mark;
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

#endif
