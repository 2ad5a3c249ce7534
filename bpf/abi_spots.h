/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Functions that the user named: --mark, --start-on, --stop-on, --tag, --within. A part of abi.h, which includes it. */
#ifndef MT_ABI_SPOTS_H
#define MT_ABI_SPOTS_H

#include "abi_types.h"

/* ---- spots: functions of the program that the user named */

/* In this order where one instruction is several of them. */
enum mt_spot_kind {
	MT_SPOT_START = 1,	/* the trace begins */
	MT_SPOT_WITHIN_ENTER,
	MT_SPOT_TAG,		/* counted, and nothing else */
	MT_SPOT_MARK,
	MT_SPOT_WITHIN_LEAVE,
	MT_SPOT_STOP,		/* the trace ends */
};

/* The cookie of a spot's probe: the numbers of up to so many spots that are there, a byte each, 0 ends them. */
#define MT_SPOTS_AT_ONCE 7
#define MT_MAX_SPOTS 128	/* number 0 is none */

struct mt_spot {
	__u64 hits[2];		/* [bank]: while the trace goes on */
	__u64 number;		/* of the last hit */
	__u32 kind;		/* enum mt_spot_kind, 0: none; written by user space before anything is probed */
	/* START and STOP: by which thread, and when; valid once mt_begun_by or mt_stopped_by is set */
	__u32 proc, pid, tid;
	__u64 mono_ns;		/* CLOCK_MONOTONIC */
	__u64 clock_ns;		/* the programs' clock */
	__u64 pad;
};
_Static_assert(sizeof(struct mt_spot) == 64, "one cache line");

/*
 * Which side has begun a cut and has not read it yet, mt_cut_owner: user space, or a
 * mark, which has flipped the banks at its instant; user space waits and reads then.
 */
enum mt_cut_owner { MT_CUT_IDLE, MT_CUT_READER, MT_CUT_MARK };

/* A message that a spot was reached: a mark; or, with number 0, START or STOP. */
struct mt_reached {
	__u32 spot;
	__u32 proc, pid, tid;	/* as malloctrace sees them */
	__u64 number;		/* of this spot's hits */
	__u64 mono_ns, clock_ns;
	__u64 live_bytes;	/* of the process */
	__u32 owner;		/* enum mt_cut_owner, before: IDLE: the cut is this mark's */
	__u32 pad;
};
_Static_assert(sizeof(struct mt_reached) == 56, "abi");

/* ---- --within: functions outside of which nothing is recorded */

enum mt_within_kind {
	MT_WITHIN_ENTER = 0,	/* its first instruction */
	MT_WITHIN_LEAVE = 1,	/* a return of its own */
	MT_WITHIN_JUMP = 2,	/* it ends by jumping to another function */
	MT_WITHIN_LANDED = 3,	/* a return of such another one */
};

/* The cookie: what it is, which of the lists the file's functions are in, and the ELF virtual address of the point. */
#define MT_WITHIN_COOKIE(kind, list, vaddr) ((__u64)(kind) | (__u64)(list) << 2 | (__u64)(vaddr) << 16)
#define MT_WITHIN_KIND(c) ((__u32)((c) & 3))
#define MT_WITHIN_LIST(c) ((__u32)((c) >> 2 & 1023))
#define MT_WITHIN_VADDR(c) ((c) >> 16)

#define MT_WITHIN_LISTS 1024	/* files that have such functions */
#define MT_WITHIN_RANGES 128	/* of code, in a file */
#define MT_WITHIN_FILES 16	/* a power of two: of them in a process */

struct mt_within_list {		/* by file; written before anything in it is probed */
	__u64 n;
	struct {
		__u64 from, to;	/* ELF virtual addresses; to: the first one after it */
	} range[MT_WITHIN_RANGES];
};

#define MT_WITHIN_SEGMENTS 4

struct mt_within_file {		/* by what names a file for the kernel: one with inlined copies of such functions */
	__u64 list;
	struct {
		__u64 off, size;	/* in the file; 0 bytes: none */
		__u64 vaddr;
	} segment[MT_WITHIN_SEGMENTS];	/* with code */
};

struct mt_within_proc {		/* by slot */
	__u32 proc;		/* whose it is */
	__u32 n_more;		/* files that found no room */
	struct {
		__u64 bias;	/* added to an ELF virtual address, it is where that is mapped */
		__u32 list;
		__u32 known;	/* bpf/within.bpf.h */
	} file[MT_WITHIN_FILES];
};

#endif
