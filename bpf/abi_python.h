/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Frames of Python: where a process's interpreter keeps them, how one stands in a stack, and what is reported of the code that
 * it runs. A part of abi.h, which includes it.
 */
#ifndef MT_ABI_PYTHON_H
#define MT_ABI_PYTHON_H

#include "abi_types.h"
#include "abi_walk.h"

enum mt_python_mode {
	MT_PYTHON_OFF = 0,
	MT_PYTHON_ON = 1,
	MT_PYTHON_ONLY = 2,	/* frames of Python, where a stack has any, and no others */
};

/* ---- a frame as a word of a stack: no address that a program can have looks like it */

#define MT_PYTHON_TAG 0xfULL
#define MT_IS_PYTHON(word) ((__u64)(word) >> 60 == MT_PYTHON_TAG)
#define MT_PYTHON_UNITS 0x7fffu		/* of the code: this many, or more */
#define MT_PYTHON_UNBEGUN 0x7ffeu	/* it is before its first one */
/* code is an address of 48 bits, a multiple of 8; 0: it is not known */
#define MT_PYTHON_WORD(code, unit) (MT_PYTHON_TAG << 60 | (__u64)(unit) << 45 | ((__u64)(code) & 0xffffffffffffULL) >> 3)
#define MT_PYTHON_CODE(word) (((__u64)(word) & 0x1fffffffffffULL) << 3)
#define MT_PYTHON_UNIT(word) ((__u32)((__u64)(word) >> 45 & 0x7fff))	/* which instruction, of 2 bytes each */

/* while frames are found: this one was called by the one after it, in the same run of the function that runs them */
#define MT_PYTHON_GOES_ON (1ULL << 60)

/* ---- where things are: by process */

#define MT_PYTHON_RANGES 4
#define MT_PYTHON_TSTATE_BYTES 256	/* all that is read of a thread's state lies within */
#define MT_PYTHON_FRAME_BYTES 80	/* and of a frame */
#define MT_PYTHON_TEXT_BYTES 80		/* and of a text's header */
#define MT_PYTHON_NONE 0xffffu		/* there is no such member */

struct mt_python {
	__u64 runtime;		/* _PyRuntime; 0: no Python is known here */
	__u64 code_type;	/* PyCode_Type: what a code object's type is */
	struct {
		__u64 start, end;	/* the function that runs frames, and parts of it that lie elsewhere; 0: no more */
	} eval[MT_PYTHON_RANGES];
	/* of _PyRuntime */
	__u16 current;		/* the state of the thread that runs; MT_PYTHON_NONE: not there */
	__u16 interpreters;	/* the first one */
	/* of an interpreter */
	__u32 threads;		/* the first state */
	__u32 next_interpreter;
	/* of a thread's state */
	__u16 ts_prev, ts_next, ts_interp, ts_frame, ts_tid;
	__u16 cframe;		/* what ts_frame leads to has the frame here; MT_PYTHON_NONE: it is the frame */
	/* of a frame */
	__u16 f_code, f_prev, f_instr, f_owner;
	__u8 entry;		/* from this f_owner on (has_shims), or for this one (else), the function that runs frames began */
	__u8 has_shims;		/* such a frame is no frame of Python */
	__u8 code_tag;		/* bits of f_code that are not of the address */
	__u8 pad;
	/* of a code object */
	__u16 co_file, co_name, co_lines, co_first_line, co_bytecode;
	/* of str and bytes */
	__u16 str_len, str_state, str_ascii, str_compact;	/* the last two: how long the header is */
	__u16 bytes_len, bytes_data;
	__u16 str_shift;	/* of the state, to where kind, compact, ascii are bits 2 to 6 */
	__u32 proc;		/* whose it is */
	/* how often frees of code may have been missed, anywhere: since then none is known by its address */
	__u32 doubts;
	__u32 pad2;
};
_Static_assert(sizeof(struct mt_python) == 152, "abi");

/* ---- what code is: reported when it is met for the first time, while it runs */

#define MT_PYTHON_NAME_BYTES 512
#define MT_PYTHON_FILE_BYTES 1024
#define MT_PYTHON_LINES_BYTES 4096

struct mt_python_text {		/* characters of 1, 2 or 4 bytes each */
	__u32 n;		/* of them all; if more than fit, half of the room has the first ones, and half the last */
	__u8 kind;		/* 1, 2, 4; 0: it could not be read */
	__u8 ascii;
	__u16 pad;
};

struct mt_python_code {
	__u64 addr;
	__u64 seen_ns;		/* CLOCK_MONOTONIC */
	__u64 lines_addr;	/* where the table of lines lies */
	__u32 proc;
	__u32 first_line;
	__u32 n_lines;		/* bytes of that table; more than fit were left out */
	__u32 pad;
	struct mt_python_text name, file;
	char name_bytes[MT_PYTHON_NAME_BYTES];
	char file_bytes[MT_PYTHON_FILE_BYTES];
	char lines[MT_PYTHON_LINES_BYTES];	/* the record may end within */
};
#define MT_PYTHON_CODE_HEADER (8 * 3 + 4 * 4 + 16 + MT_PYTHON_NAME_BYTES + MT_PYTHON_FILE_BYTES)
_Static_assert(sizeof(struct mt_python_code) == MT_PYTHON_CODE_HEADER + MT_PYTHON_LINES_BYTES, "abi");

/* The same as it is sent: name and file have the bytes that they have, up to a multiple of 8, and zeros, and the lines come after them. */
struct mt_python_report {
	__u64 addr, seen_ns, lines_addr;
	__u32 proc, first_line, n_lines, pad;
	struct mt_python_text name, file;
	char bytes[2048 + MT_PYTHON_LINES_BYTES];	/* no more than MT_PYTHON_REPORT_TEXTS and the lines, but in a form that the verifier follows */
};
#define MT_PYTHON_REPORT_TEXTS (MT_PYTHON_NAME_BYTES + MT_PYTHON_FILE_BYTES)
#define MT_PYTHON_REPORT_HEADER 56
#define MT_PYTHON_ROUND(n) (((n) + 7) & ~7ULL)
_Static_assert(sizeof(struct mt_python_report) == MT_PYTHON_REPORT_HEADER + 2048 + MT_PYTHON_LINES_BYTES, "abi");
_Static_assert(MT_PYTHON_REPORT_TEXTS < 2048, "room");
_Static_assert(__builtin_offsetof(struct mt_python_code, name_bytes) == MT_PYTHON_REPORT_HEADER, "both begin alike");

/* ---- the programs' own */

#define MT_PYTHON_WALKS 256		/* threads that walk at a time; a power of two */
#define MT_PYTHON_FREED 65536		/* classes of addresses; a power of two */
#define MT_PYTHON_FREES 1048576		/* addresses at which code was freed */
#define MT_PYTHON_CODES 65536		/* that were reported; beyond, those that were met the longest ago are reported again */
#define MT_PYTHON_STATES 16384		/* of threads, that are remembered */
#define MT_PYTHON_RING_BYTES (1u << 22)	/* more than 10,000 reports of usual length */

struct mt_python_walk {
	__u64 busy;
	/* the thread that was here last: the kernel's number, its own, and its state */
	__u32 of_tid, of_proc;
	__u64 tid;
	__u64 tstate;		/* 0: none was found */
	__u64 none_since;	/* what the list of states began with when it was searched, */
	__u64 n_none;		/* and how often that was in vain since */
	/* a search: how far it is, which interpreter's list (0: it is done) and state; and what it has found */
	__u64 search_interp, search_at, best, best_at;
	__u64 bare, n_bare;	/* states of this thread without a frame */
	/* its frames */
	__u64 several;		/* interpreters: it may have a state in each, and the frames of one go on in those of another */
	__u64 begins_at;	/* then: where on its stack the frames of the last state are */
	__u64 frame;		/* the next one */
	__u64 hash;
	__u32 n;
	/* the stack of both: how far each is, and what was met */
	__u32 n_native, at, at_python, n_merged;
	__u32 in_eval;
	__u32 n_left;		/* frames of the one kind without a place in the other */
	__u32 broken;		/* one could not be read */
	__u32 cut;		/* there are more than --depth */
	__u32 n_named;		/* words that are left of those that were merged */
	__u64 begins;		/* of the code that was looked up last */
	__u64 merged_hash;
	__u64 word[MT_MAX_DEPTH], merged[MT_MAX_DEPTH];
	__u64 raw[MT_PYTHON_TSTATE_BYTES / 8];	/* what was read last */
	struct mt_python_report code;
};

#endif
