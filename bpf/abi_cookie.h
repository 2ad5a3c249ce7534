/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* The attach cookie, and what is recorded (--mode). A part of abi.h, which includes it. */
#ifndef MT_ABI_COOKIE_H
#define MT_ABI_COOKIE_H

#include "abi_types.h"

/* ---- the attach cookie: a row of the allocator table, as the kernel needs it */

enum mt_result {
	MT_RESULT_RETURN = 0,	/* the block's address is returned */
	MT_RESULT_OUT = 1,	/* it is stored through an argument; 0 is returned on success */
	MT_RESULT_IN_PLACE = 2,	/* xallocx: the block stays, its real size is returned */
};

/* What a point is to its call: one program serves them all, so that the verifier goes through what they share once. */
enum mt_at {
	MT_AT_ENTRY = 0,
	MT_AT_REALLOC = 1,	/* the entry of what takes an old block */
	MT_AT_RETURN = 2,
	MT_AT_FREE = 3,
	MT_AT_THROW = 4,	/* where an exception is made */
	MT_AT_OVERFLOW = 5,	/* the entry of what refuses a size that is no number */
};

#define MT_NO_ARG 7

/* cookie: bits 0-9 function, 10-12 size, 13-15 count, 16-18 old, 19-21 out, 22-23 result, 24-26 enum mt_at, then flags */
#define MT_COOKIE_AT_SHIFT 24
#define MT_COOKIE_OWN_RET (1ULL << 27)	/* at a `ret`: only calls that begin at the function's entry come here */
#define MT_COOKIE_FREES_ON_FAIL (1ULL << 28)	/* reallocf: the old block goes even if the call fails */
#define MT_COOKIE_AT_RET (1ULL << 29)	/* the return is seen on a `ret`, not by a uretprobe */
/* --mode count, which sees no returns: realloc(p, 0) frees p and gives no block */
#define MT_COOKIE_FREES_AT_0 MT_COOKIE_AT_RET
/* no safe return point: only the entry is probed, and calls are counted as missed_return */
#define MT_COOKIE_NO_RETURN (1ULL << 30)
#define MT_COOKIE_REALLOC (1ULL << 31)	/* the call takes an old block */
#define MT_COOKIE_SP_SHIFT 32		/* 14 bits: bytes that the stack pointer is below its value at entry */
#define MT_COOKIE_SP_MAX 0x3fff
#define MT_COOKIE_CODE_SHIFT 46		/* 15 bits: the number of the function's code, 0: not known */
#define MT_COOKIE_STRING (1ULL << 61)	/* strdup: the block holds a string, and is as large as that needs */
/* --size usable: the size is in the block's header (glibc). --mode leak: its frees are not probed, whatever the size */
#define MT_COOKIE_USABLE (1ULL << 62)
#define MT_COOKIE_RETURN_ONLY (1ULL << 63)	/* the entry is not probed: all that is needed is there at the return */

#define MT_COOKIE(func, size, count, old, out, result)						\
	((__u64)(func) | (__u64)(size) << 10 | (__u64)(count) << 13 | (__u64)(old) << 16 |	\
	 (__u64)(out) << 19 | (__u64)(result) << 22)

#define MT_COOKIE_FUNC(c) ((__u32)((c) & 1023))
#define MT_COOKIE_SIZE(c) ((__u32)((c) >> 10 & 7))
#define MT_COOKIE_COUNT(c) ((__u32)((c) >> 13 & 7))
#define MT_COOKIE_OLD(c) ((__u32)((c) >> 16 & 7))
#define MT_COOKIE_OUT(c) ((__u32)((c) >> 19 & 7))
#define MT_COOKIE_RESULT(c) ((__u32)((c) >> 22 & 3))
#define MT_COOKIE_AT(c) ((__u32)((c) >> MT_COOKIE_AT_SHIFT & 7))
#define MT_COOKIE_SP_DELTA(c) ((__u32)((c) >> MT_COOKIE_SP_SHIFT & MT_COOKIE_SP_MAX))
#define MT_COOKIE_CODE(c) ((__u64)(c) >> MT_COOKIE_CODE_SHIFT & 0x7fff)

#define MT_MAX_FUNCS 1024
#define MT_N_ARGS 6

/* ---- what is recorded, --mode */

enum mt_mode {
	MT_MODE_FULL = 0,	/* every allocation and free */
	MT_MODE_COUNT = 1,	/* allocation calls, at their entry */
	MT_MODE_GROWTH = 2,	/* page faults, brk and mmap; no probe in an allocator */
	MT_MODE_LEAK = 3,	/* allocations; what is live is read from the heap (glibc), or seen as in full mode */
};

/* --mode growth: the functions that sites have */
enum mt_growth_func { MT_GROWTH_FAULT, MT_GROWTH_MMAP, MT_GROWTH_BRK, MT_N_GROWTH_FUNCS };
/* and how it is found out by how much a call grew the process: in the cookie, in the place of enum mt_result */
enum mt_growth { MT_GROWS_MMAP, MT_GROWS_MREMAP, MT_GROWS_BRK, MT_GROWS_NOT };	/* the last: munmap */

#endif
