/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* What walks of stacks go by: unwind tables, and the buffers of programs. A part of abi.h, which includes it. */
#ifndef MT_ABI_WALK_H
#define MT_ABI_WALK_H

#include "abi_types.h"

/* ---- unwinding by tables: .eh_frame, compiled */

enum mt_cfa {
	MT_CFA_NONE = 0,	/* no rule for this address */
	MT_CFA_SP,		/* sp + cfa_off */
	MT_CFA_FP,		/* fp + cfa_off */
	MT_CFA_PLT,		/* amd64's PLT: sp + 8, and 8 more from byte cfa_off of a 16-byte entry on */
	MT_CFA_AT_SP,		/* *(sp + cfa_off) + post_off */
	MT_CFA_AT_FP,		/* *(fp + cfa_off) + post_off */
	MT_CFA_SIGNAL,		/* a signal frame: all registers are in it */
	MT_CFA_STOP,		/* the first frame of a thread */
	MT_CFA_UNSUPPORTED,
};

/* where the caller's frame pointer, and on arm64 its return address, are */
enum mt_saved {
	MT_SAVED_SAME = 0,	/* still in the register */
	MT_SAVED_AT_CFA,	/* at cfa + offset */
	MT_SAVED_AT_FP,		/* at fp + offset (amd64, functions that align their stack) */
	MT_SAVED_UNSUPPORTED,
};

struct mt_rule {
	__u8 cfa, ra, fp;	/* enum mt_cfa, enum mt_saved twice */
	__u8 record;		/* 1: the frame pointer surely points to this frame's own record */
	__s32 cfa_off, ra_off, fp_off, post_off;
	__u32 pad2;
};

struct mt_row {			/* from pc on, up to the next row */
	__u32 pc;		/* relative to the table's base, which is page-aligned */
	__u16 rule;
	__u16 flags;
};
#define MT_ROW_STARTS 1		/* a function begins at pc */
#define MT_ROW_AFTER_CALL 2	/* of these: right after what is a call, or may be */

_Static_assert(sizeof(struct mt_rule) == 24 && sizeof(struct mt_row) == 8, "abi");

#define MT_TABLE_PAGE_SHIFT 12
#define MT_MAX_RULES 65536	/* as many as a row can name */
#define MT_MAX_RANGES 256

struct mt_range {		/* code that a process has mapped */
	__u64 start, end;
	__u64 base;		/* the table's base, where it is mapped */
	__u32 first_page;	/* in the page index: the first row of each page, and of the page after the last */
	__u32 n_pages;		/* 0: no table */
	__u32 flags;
	__u32 file;		/* a hash of what names the file; 0: none */
	/* the same if it may have taken the place of other code, else 0; goes into the hash of stacks */
	__u32 id;
	__u32 pad;
};
#define MT_RANGE_CALLS 1	/* its table has rules for calls alone: of other instructions they may be wrong */
#define MT_RANGE_WRITTEN 2	/* the process may have written over it: it has no table */

struct mt_space {		/* per process; sorted by start */
	__u32 n;
	__u32 pad;
	struct mt_range range[MT_MAX_RANGES];
};
_Static_assert(sizeof(struct mt_range) == 48, "abi");

/* cookies of the probes in dlopen and its like, and in dlclose */
enum mt_loader { MT_LOADER_OPENS = 1, MT_LOADER_CLOSES = 2 };

/* What names a file for the kernel, and what is in it. */
struct mt_file_key {
	__u64 ino;
	__u64 size;
	__u64 mtime_s;
	__u32 mtime_ns;
	__u32 dev;		/* as the kernel packs it */
};

#define MT_MAX_FILES 16384
#define MT_FILE_SEGMENTS 4

struct mt_file {		/* its table, and how it is mapped */
	__u64 base;		/* of the table: a virtual address of the file */
	__u32 first_page, n_pages;
	__u32 flags;		/* of its ranges */
	__u32 pad;
	struct {
		__u64 off, size;	/* 0 bytes: there is none */
		__u64 vaddr;
	} segment[MT_FILE_SEGMENTS];	/* with code */
};

struct mt_name_file {		/* a request: the name of the file that is mapped at addr */
	__u64 addr;
	struct mt_file_key key;
};
_Static_assert(sizeof(struct mt_file_key) == 32 && sizeof(struct mt_file) == 120 && sizeof(struct mt_name_file) == 40, "abi");

/* ---- the programs' own buffers for stacks */

#define MT_MAX_DEPTH 512	/* a power of two */
#define MT_CHUNK_BYTES 2048
#define MT_N_FOUND 8		/* a power of two */

#define MT_GUESSED_FP 1		/* a frame had no rule that surely holds: the frame pointer was followed */
#define MT_GUESSED_CALL 2	/* a return address that a call may have left, or not */

struct mt_walk {		/* the registers of one frame on the way up */
	__u64 pc, sp, fp, lr;
	__u64 hook;		/* the uretprobe trampoline, 0 if none is pending */
	__u64 hash;		/* of the frames */
	/* mt_range.id of where the last pc was found; where that is not known, mt_scratch.unmapped */
	__u32 code;
	__u32 end;		/* enum mt_end */
	__u8 is_return, lr_known, sp_known;
	__u8 fp_lost;		/* no rule gives the caller's frame pointer */
	__u8 guessed;		/* MT_GUESSED_*; 0: every frame surely is one */
	__u8 no_records;	/* a frame pointer alone would have led astray: see stack_is_proven() */
	__u8 within;		/* --within: one of the functions is among the frames */
	__u8 moved;		/* the list of code was replaced meanwhile */
	/* the table of the frame below, and its row there, 0: it has none; and the row that was found last */
	__u64 base;
	__u32 row, found;
	/*
	 * flags of a row that begins one byte after where it was looked up, which is where the call
	 * returns to; 0: none does
	 */
	__u8 starts;
	__u8 by_hand;		/* no call returns to pc: it is the next instruction to run, not the one after a call */
	__u8 pad[2];
	__u32 n;		/* frames that were found */
	__u64 odd;		/* a hash of what is odd about frames, without their addresses: code that took the place of other code */
};

/*
 * A walk that was made before: what it began with, and the words of the stack that
 * it went by. Where these are the same, so is the stack.
 */
#define MT_MEMO_WORDS 128	/* a power of two */
#define MT_N_MEMOS 4

struct mt_memo_key {
	__u64 caller, sp, fp;
	__u32 func, proc;
	/* mt_proc.gen; above it, with --by thread, the thread. One word: it is compared as such */
	__u64 gen_tid;
	__u64 python;		/* a hash of its frames; 0: there are none */
};
#define MT_MEMO_TID(key) ((__u32)((key)->gen_tid >> 32))

struct mt_memo {
	struct mt_memo_key key;
	__u64 base;		/* where the words lie */
	__u32 len;		/* and how many bytes they spread over */
	__u32 n_words;		/* 0: only the key is known */
	__u32 site;
	__u32 n_frames;
	__u32 n_missed;		/* since it was last right */
	__u32 pad[13];
	__u16 off[MT_MEMO_WORDS];
	__u64 val[MT_MEMO_WORDS];
};
_Static_assert(sizeof(struct mt_memo) % 64 == 0, "whole cache lines");

/* Is a call made inside of another one? bpf/nest.bpf.h. Here, because programs have little stack. */
struct mt_ask {
	/* the old call: its stack pointer after return, MT_CODE(), the lower half of its return address */
	__u64 sp, code;
	__u32 ra, func;
	/* the new one; its pc is 0 if it is seen after its return */
	__u64 new_sp, new_ra, new_pc;
	__u32 new_func;
	__u16 gap;		/* frame pointers led over a piece of stack that a signal's frame may lie in */
	__u16 interrupted;	/* tables led through such a frame */
	/* frame records on the way up: the next one, the return address into the frame that it belongs to */
	__u64 fp, pc;
	__u64 hook;
	__u64 pad2[6];
};
_Static_assert(sizeof(struct mt_ask) == 128, "whole cache lines");

/* two of them share no cache line */
struct mt_scratch {
	__u64 busy;
	struct mt_walk walk;
	__u64 ip[MT_MAX_DEPTH];
	/* some of the target's stack: where it lies, how much of it; a frame record may begin on its last word */
	__u64 chunk_at, chunk_len;
	__u64 chunk[MT_CHUNK_BYTES / 8 + 2];
	__u64 first, last;	/* frame records that were followed */
	__u64 fp;		/* where the last one leads */
	__u64 near;		/* the last one that the first piece could hold, 0: all of them */
	__u64 reach;		/* bytes from chunk_at on that a walk by tables has read */
	struct mt_memo_key key;	/* of the walk under way */
	__u32 recording;	/* number + 1 of the memo that it is written down in, 0: none */
	__u32 n_words;		/* written down so far; more than there is room for: it cannot be */
	/* the code that the last pc lies in; and mappings that were queried from the kernel */
	struct mt_range range;
	__u32 unsettled;	/* what user space has reported as mapped may have changed */
	/* mt_proc.unmapped_ns is set: never 0, and another number after each dlopen and dlclose */
	__u32 unmapped;
	__u64 found_key;	/* of which process, and since when */
	__u32 n_found;
	/* the list of code that the walk under way goes by: whose it is, and where */
	__u32 list_proc;
	__u64 list;
	struct mt_range found[MT_N_FOUND];
	struct mt_memo memo[MT_N_MEMOS];
	struct mt_ask ask;
	__u32 n_by_fp, n_in_vain;	/* walks by frame pointers, and those of them that were not proven */
	__u32 list_gen;		/* mt_proc.gen when that walk began */
	__u32 python_walk;	/* number + 1 of the buffer with frames of Python, 0: none */
	__u64 pad2[7];
};
_Static_assert(sizeof(struct mt_walk) == 96 && sizeof(struct mt_scratch) % 64 == 0, "abi");

#endif
