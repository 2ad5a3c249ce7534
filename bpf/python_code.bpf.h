/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Code objects of Python: what they are called, which is reported once, while they run; and which of those that were at an address one
 * after the other are the same.
 *
 * Which one it is for a site is told by all that is shown of it (hash_code()), so a program that compiles the same line again and again
 * has one stack for it. That is read once, for an address. Code that is freed gives its address to other code: where the interpreter
 * frees it is probed, and from then on what is at that address is read again, and so is all code once that probe was out for a while.
 * So a stack never has a name of code that was there before.
 */
#ifndef MT_PYTHON_CODE_BPF_H
#define MT_PYTHON_CODE_BPF_H

#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

#include "bpf/abi.h"
#include "bpf/adopt.bpf.h"
#include "bpf/arch.bpf.h"
#include "bpf/count.bpf.h"
#include "bpf/frames.bpf.h"
#include "bpf/hash.h"
#include "bpf/procs.bpf.h"

/* by CODE_KEY(): how often code was freed there */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1);
	__type(key, __u64);
	__type(value, __u32);
} python_frees SEC(".maps");

/* of which addresses that table need not be asked: none of their class is in it */
__u8 mt_python_freed[MT_PYTHON_FREED] = {};
/* there was no room in it: all code counts as freed */
volatile __u64 mt_python_unkept = 0;

struct reported_code {
	__u64 gen;		/* in which life of the process, and after how many frees */
	__u64 begins;		/* the instruction from which on a frame of it counts as begun */
};

/* by CODE_KEY(), code that was reported */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1);
	__type(key, __u64);
	__type(value, struct reported_code);
} python_codes SEC(".maps");

#define CODE_KEY(proc, addr) ((__u64)(proc) << 48 | (addr))

struct printed_code {
	__u64 gen, print;	/* as in struct reported_code; hash_code() of it */
};

/* by CODE_KEY(), of code that was in a stack that was not met before */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1);
	__type(key, __u64);
	__type(value, struct printed_code);
} python_prints SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} python_ring SEC(".maps");

static __always_inline __u64 user_word(__u64 at)
{
	__u64 word = 0;

	return bpf_probe_read_user(&word, sizeof(word), (const void *)at) ? 0 : word;
}

/* A word of what was read into raw. */
static __always_inline __u64 raw_word(const struct mt_python_walk *w, __u64 off)
{
	asm volatile("" : "+r"(off));
	off &= sizeof(w->raw) - 8;
	return *(const __u64 *)((const char *)w->raw + off);
}

static __always_inline __u8 raw_byte(const struct mt_python_walk *w, __u64 off)
{
	asm volatile("" : "+r"(off));
	off &= sizeof(w->raw) - 1;
	return ((const __u8 *)w->raw)[off];
}

/* ---- what it is */

#define TEXT_MOST (1u << 30)	/* characters of any text */

/* Bounds in a form that the verifier follows. */
static __always_inline __u64 at_most(__u64 n, __u64 most)
{
	asm volatile("" : "+r"(n));
	return n < most ? n : most;
}

/* Where a text, a part of one, or the lines may begin: a multiple of 8. */
static __always_inline char *bytes_at(struct mt_python_walk *w, __u64 at)
{
	asm volatile("" : "+r"(at));
	return w->code.bytes + (at & 2040);
}

/*
 * A str object, from byte number `from` on; where it does not fit into room, its two ends: of a name and a path alike the end says
 * most. How many bytes it takes.
 */
static __always_inline __u64 read_text(struct mt_python_walk *w, const struct mt_python *c, __u64 at, struct mt_python_text *to, __u64 from,
				       __u64 room)
{
	__u64 len, n;
	__u32 state, kind;

	to->kind = 0;
	to->n = 0;
	if (!at || bpf_probe_read_user(w->raw, MT_PYTHON_TEXT_BYTES, (const void *)at))
		return 0;
	len = raw_word(w, c->str_len);
	state = (__u32)(raw_word(w, c->str_state & ~7) >> (c->str_state & 4 ? 32 : 0)) >> (c->str_shift & 31);
	kind = state >> 2 & 7;
	to->ascii = state >> 6 & 1;
	/* not in one piece: of no name that a compiler makes; nor are characters of 3 bytes */
	if (!(state >> 5 & 1) || !kind || kind & (kind - 1) || len > TEXT_MOST)
		return 0;
	at += to->ascii ? c->str_ascii : c->str_compact;
	n = len * kind;
	/* each ends with a zero: a wrong length would show what lies behind it */
	w->raw[0] = 0;
	if (bpf_probe_read_user(w->raw, 1, (const void *)(at + n)) || w->raw[0])
		return 0;
	if (n > room) {
		if (bpf_probe_read_user(bytes_at(w, from), room / 2, (const void *)at) ||
		    bpf_probe_read_user(bytes_at(w, from + room / 2), room / 2, (const void *)(at + n - room / 2)))
			return 0;
		n = room;
	} else if (n) {
		*(__u64 *)bytes_at(w, from + ((n - 1) & ~7ULL)) = 0;
		if (bpf_probe_read_user(bytes_at(w, from), at_most(n, room), (const void *)at))
			return 0;
	}
	to->n = len < ~0u ? len : ~0u;
	to->kind = kind;
	return MT_PYTHON_ROUND(n);
}

#define TRACEABLE 16		/* so far before its instructions code says from which one on a debugger is to see it */

/* What code is, into w->code and w->begins: 0 if it is none, else 1 and how many bytes its texts and its table of lines have. */
__noinline __u32 read_code(struct mt_python_walk *w, const struct mt_python *c, __u64 addr)
{
	__u64 name, file, at, n;

	if (!w || !c || bpf_probe_read_user(w->raw, sizeof(w->raw), (const void *)addr) || raw_word(w, 8) != c->code_type)
		return 0;
	w->code.addr = addr;
	w->code.proc = w->of_proc;
	w->code.first_line = (__u32)(raw_word(w, c->co_first_line & ~7) >> (c->co_first_line & 4 ? 32 : 0));
	w->code.lines_addr = raw_word(w, c->co_lines);
	w->begins = (__u32)raw_word(w, c->co_bytecode - TRACEABLE);
	name = raw_word(w, c->co_name);
	file = raw_word(w, c->co_file);
	at = read_text(w, c, name, &w->code.name, 0, MT_PYTHON_NAME_BYTES);
	at += read_text(w, c, file, &w->code.file, at, MT_PYTHON_FILE_BYTES);
	n = user_word(w->code.lines_addr + c->bytes_len);
	w->code.n_lines = n < ~0u ? n : ~0u;
	n = at_most(n, MT_PYTHON_LINES_BYTES);
	if (n && bpf_probe_read_user(bytes_at(w, at), n, (const void *)(w->code.lines_addr + c->bytes_data)))
		n = w->code.n_lines = 0;
	return at + n + 1;
}

/* The hash with word number i of its n bytes; the last one need not be whole. */
__noinline __u64 hash_word(const struct mt_python_walk *w, __u64 hash, __u64 i, __u64 n)
{
	__u64 left = n - i * 8, word;

	if (!w || i >= sizeof(w->code.bytes) / 8)
		return hash;
	word = ((const __u64 *)w->code.bytes)[i];
	return hash_frame(hash, left < 8 ? word & ((1ULL << left * 8) - 1) : word);
}

/* What tells code from other code that was at its address: what is shown of it, all of it. It has n bytes. */
__noinline __u64 hash_code(const struct mt_python_walk *w, __u64 n)
{
	__u64 hash;

	if (!w)
		return 0;
	hash = hash_frame(w->code.first_line, (__u64)w->code.n_lines << 32 | w->code.name.n);
	hash = hash_frame(hash, (__u64)w->code.file.n << 16 | w->code.file.kind << 8 | w->code.name.kind);
#pragma clang loop unroll(disable)
	for (__u64 i = 0; i < sizeof(w->code.bytes) / 8; i++) {
		if (i * 8 >= n)
			break;
		hash = hash_word(w, hash, i, n);
	}
	return hash | 1;
}

/* In which life of the process, and after how many frees at its address, n. */
static __always_inline __u64 code_gen(__u32 proc, __u64 n)
{
	struct mt_proc *p = proc_at(proc);

	return hash_frame(n, p ? p->nth : 0);
}

/* What code is, whose address has seen n frees: the same for all that are equal in what is shown of them. 0: it is none. */
__noinline __u64 print_of(struct mt_python_walk *w, const struct mt_python *c, __u64 addr, __u64 n)
{
	struct printed_code *known, new;
	__u64 key;
	__u32 got;

	if (!w || !c)
		return 0;
	key = CODE_KEY(w->of_proc, addr);
	new.gen = code_gen(w->of_proc, n);
	known = bpf_map_lookup_elem(&python_prints, &key);
	if (known && known->gen == new.gen)
		return known->print;
	got = read_code(w, c, addr);
	if (!got)
		return 0;
	new.print = hash_code(w, got - 1);
	bpf_map_update_elem(&python_prints, &key, &new, BPF_ANY);
	return new.print;
}

/* ---- which one it is */

static __always_inline __u64 class_of(__u64 key)
{
	__u64 class = mt_mix(key) >> 32;

	/* bounds in a form that the verifier follows */
	asm volatile("" : "+r"(class));
	return class & (MT_PYTHON_FREED - 1);
}

/* A number that is another one for each code that was at an address. */
static __always_inline __u64 frees_at(const struct mt_python *c, __u32 proc, __u64 code)
{
	__u64 key = CODE_KEY(proc, code), n = (mt_python_unkept + c->doubts) << 32;
	__u32 *there;

	if (!mt_python_freed[class_of(key)])
		return n;
	there = bpf_map_lookup_elem(&python_frees, &key);
	return there ? n + *there : n;
}

/* ---- its report */

/* Code that is in a stack, which has to be known: false if it cannot be. w->begins: as in struct reported_code. */
static __always_inline bool know_code(struct mt_python_walk *w, const struct mt_python *c, __u64 addr)
{
	__u64 key = CODE_KEY(w->of_proc, addr);
	struct reported_code *known = bpf_map_lookup_elem(&python_codes, &key), new;
	__u64 n;

	new.gen = code_gen(w->of_proc, frees_at(c, w->of_proc, addr));
	if (known && known->gen == new.gen) {
		w->begins = known->begins;
		return true;
	}
	n = read_code(w, c, addr);
	if (!n)
		return false;
	w->code.seen_ns = bpf_ktime_get_ns();
	n = at_most(n - 1, MT_PYTHON_REPORT_TEXTS + MT_PYTHON_LINES_BYTES);
	if (bpf_ringbuf_output(&python_ring, &w->code, MT_PYTHON_REPORT_HEADER + n, 0))
		return false;
	new.begins = w->begins;
	/* its text may be there when it is met again */
	if (!w->code.name.kind) {
		count(MT_EDGE_PYTHON_UNNAMED);
		return true;
	}
	return !bpf_map_update_elem(&python_codes, &key, &new, BPF_ANY);
}

/* ---- code that is freed */

static __always_inline int on_code_freed(mt_regs *ctx)
{
	__u32 proc = proc_here(), one = 1, *n;
	__u64 key;

	if (!proc)
		return 0;
	key = CODE_KEY(proc, arch_first_arg(ctx));
	n = bpf_map_lookup_elem(&python_frees, &key);
	if (n)
		__sync_fetch_and_add(n, 1);
	else if (bpf_map_update_elem(&python_frees, &key, &one, BPF_NOEXIST))
		__sync_fetch_and_add(&mt_python_unkept, 1);
	mt_python_freed[class_of(key)] = 1;
	return 0;
}

#endif
