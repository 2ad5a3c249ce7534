/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * The table-driven stack walk: for code that keeps no frame pointers.
 *
 * User space compiles the .eh_frame of every file that a process maps into rows
 * {from this address on, this rule} and an index of the first row per page of
 * code. A frame is: the mapping that holds the pc, the page, a binary search of
 * at most 13 steps, the rule. One frame is one global function, so the verifier
 * checks it once, not once per frame.
 *
 * Where there is no rule (JITs, hand-written code) a frame pointer that looks
 * like one is followed, and the stack is unsure from then on; else the walk ends,
 * with a reason. A stack is whole only if a rule that surely holds led from each
 * frame to the next, up to one that says that it is the thread's first.
 *
 * Pending uretprobes, ours and those of other tracers, replace return addresses
 * on the stack by a trampoline; the kernel keeps the true ones in a list by
 * stack pointer.
 *
 * Rules and walk: proven on arm64 (6.18) against libdw on real programs (make
 * oracle), and there and on x86_64 (6.1) by known chains in programs of our own
 * without frame pointers (tests/live/t_stacks.c).
 */
#ifndef MT_UNWIND_BPF_H
#define MT_UNWIND_BPF_H

#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

#include "bpf/abi.h"
#include "bpf/arch.bpf.h"
#include "bpf/count.bpf.h"
#include "bpf/frames.bpf.h"
#include "bpf/memo.bpf.h"
#include "bpf/ranges.bpf.h"
#include "bpf/uretprobes.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct mt_row);
} unwind_rows SEC(".maps");

/* the number of the first row of each page of code */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} unwind_pages SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MT_MAX_RULES);
	__type(key, __u32);
	__type(value, struct mt_rule);
} unwind_rules SEC(".maps");

#define ROW_STEPS 14		/* a page of code has at most 4096 rows */
#define FP_MAX_JUMP (1 << 20)
#define WALK_TRIES 4		/* see space_moved(): a new list is met twice, as itself and as its generation; two more for the next list */

/* The first row of [lo, hi) beyond rel, or -1. */
static __always_inline int row_behind(__u32 lo, __u32 hi, __u32 rel)
{
	for (int i = 0; i < ROW_STEPS; i++) {
		__u32 mid = (lo + hi) >> 1;
		struct mt_row *r;

		if (lo >= hi)
			return lo;
		r = bpf_map_lookup_elem(&unwind_rows, &mid);
		if (!r)
			return -1;
		if (r->pc <= rel)
			lo = mid + 1;
		else
			hi = mid;
	}
	return -1;
}

/*
 * The number of the rule that s->range has for pc, or -1. s->walk.found is its row then, and
 * s->walk.starts the flags of a row that begins one byte after pc. A function of its own, because
 * its callers have no stack left.
 */
__noinline int find_rule(struct mt_scratch *s, __u64 pc)
{
	__u64 rel, page, *first, *behind;
	struct mt_row *row;
	__u32 k;
	int i;

	if (!s)
		return -1;
	rel = pc - s->range.base;
	page = rel >> MT_TABLE_PAGE_SHIFT;
	s->walk.starts = 0;
	if (pc < s->range.base || page >= s->range.n_pages)
		return -1;
	k = s->range.first_page + (__u32)page;
	first = bpf_map_lookup_elem(&unwind_pages, &k);
	k++;
	behind = bpf_map_lookup_elem(&unwind_pages, &k);
	if (!first || !behind)
		return -1;
	i = row_behind(*first, *behind, rel);
	if (i <= 0)
		return -1;
	k = i;
	row = bpf_map_lookup_elem(&unwind_rows, &k);
	if (row && row->pc == (__u32)rel + 1)
		s->walk.starts = row->flags;
	k = i - 1;
	row = bpf_map_lookup_elem(&unwind_rows, &k);
	if (!row)
		return -1;
	s->walk.found = k;
	return row->rule;
}

static __always_inline struct mt_rule *rule_of(struct mt_scratch *s, __u64 pc)
{
	int k = find_rule(s, pc);

	return k < 0 ? NULL : bpf_map_lookup_elem(&unwind_rules, &k);
}

/* Words of the stack, from the copy if they are in it. n: 1 or 2. */
static __always_inline int stack_read(struct mt_scratch *s, __u64 *val, __u32 n, __u64 at)
{
	__u64 off = at - s->chunk_at;

	if (off < MT_CHUNK_BYTES - 16 && off + 16 > s->reach)
		s->reach = off + 16;
	if (at & 7 || off + n * 8 > s->chunk_len || off > MT_CHUNK_BYTES) {
		memo_drop(s);
		return bpf_probe_read_user(val, n * 8, (const void *)at);
	}
	asm volatile("" : "+r"(off));
	off &= MT_CHUNK_BYTES - 8;
	val[0] = *(__u64 *)((char *)s->chunk + off);
	memo_word(s, off, val[0]);
	if (n == 2) {
		val[1] = *(__u64 *)((char *)s->chunk + off + 8);
		memo_word(s, off + 8, val[1]);
	}
	return 0;
}

static __always_inline int walk_ends(struct mt_walk *w, __u32 end)
{
	w->end = end;
	return 1;
}

/* The caller's frame pointer and return address, side by side, to which the frame pointer points. */
static __always_inline bool has_record(const struct mt_rule *rule)
{
	return rule->fp == MT_SAVED_AT_CFA && rule->ra == MT_SAVED_AT_CFA && rule->fp_off + 8 == rule->ra_off;
}

/* Of a rule that was found: does it surely hold for this pc, and would the frame pointer alone have done? */
static __always_inline void weigh_rule(struct mt_walk *w, const struct mt_range *r, const struct mt_rule *rule)
{
	if (!w->is_return) {
		/* what a signal or a fault interrupted need not be a call */
		if (r->flags & MT_RANGE_CALLS)
			w->guessed |= MT_GUESSED_FP;
	} else if (!rule->record && rule->cfa != MT_CFA_STOP) {
		w->no_records = 1;
	}
}

#define FUNCTION_ROWS 64

/*
 * w->pc is where a function begins, right after a call. Was that call made? Surely if it is one of the very
 * function that the frame below is in.
 */
__noinline int call_was_made(struct mt_scratch *s)
{
	__u64 target;
	__u32 k;

	if (!s)
		return 0;
	k = s->walk.row;
	target = arch_call_target(s->walk.pc);
	if (!target || !k || s->walk.base != s->range.base)
		return 0;
#pragma clang loop unroll(disable)
	for (int i = 0; i < FUNCTION_ROWS; i++) {
		struct mt_row *row = bpf_map_lookup_elem(&unwind_rows, &k);

		if (!row)
			return 0;
		if (row->flags & MT_ROW_STARTS)
			return s->range.base + row->pc == target;
		k--;
	}
	return 0;
}

/*
 * A function begins at the return address. Calls leave such a one where a function ends in a call
 * that never returns, and there is nothing in between; debuggers and coroutines make them by hand,
 * in front of anything. False: the rule, which is of what stands before, is not w->pc's.
 */
static __always_inline bool weigh_start(struct mt_scratch *s)
{
	struct mt_walk *w = &s->walk;

	w->no_records = 1;
	if (!(w->starts & MT_ROW_AFTER_CALL)) {
		w->by_hand = 1;
		return false;
	}
	if (!call_was_made(s))
		w->guessed |= MT_GUESSED_CALL;
	return true;
}

/* Into the function that a signal interrupted. Apart, because of what it needs of the programs' small stack. */
__noinline int signal_step(struct mt_scratch *s)
{
	struct mt_walk *w;

	if (!s)
		return 1;
	w = &s->walk;
	if (!w->sp_known)
		return walk_ends(w, MT_END_NO_RULE);
	memo_drop(s);
	if (arch_signal_frame(w))
		return walk_ends(w, MT_END_UNREADABLE);
	w->is_return = 0;
	w->sp_known = 1;
	w->fp_lost = 0;
	w->no_records = 1;
	return 0;
}

/*
 * One frame up. 0: there is a frame; 1: the walk has ended, w->end says how. sp: NULL if it was not
 * looked up yet.
 */
__noinline int walk_step(struct mt_scratch *s, const struct mt_space *sp)
{
	struct mt_rule *rule = NULL;
	__u64 pc, cfa, val[2];
	struct mt_walk *w;

	if (!s)
		return 1;
	w = &s->walk;
	w->by_hand = 0;
	/* a return address is that of the instruction after the call: the rule is the call's */
	pc = w->pc - (w->is_return ? 1 : 0);
	/* code that takes its place is just as unknown, but different */
	w->code = s->unmapped;
	if ((pc < s->range.start || pc >= s->range.end) && range_at(s, sp, pc))
		goto by_frame_pointer;
	w->code = s->range.id;
	rule = rule_of(s, pc);
	if (!rule || (w->starts && w->is_return && rule->cfa != MT_CFA_SIGNAL && !weigh_start(s)))
		goto by_frame_pointer;
	w->row = w->found;
	w->base = s->range.base;
	weigh_rule(w, &s->range, rule);
	switch (rule->cfa) {
	case MT_CFA_SP:
		cfa = w->sp + rule->cfa_off;
		if (w->sp_known)
			break;
		/* a frame record shows where its frame lies; without one, the frame pointer is some other frame's */
		if (!has_record(rule) || w->fp & 7 || w->fp < w->sp || w->fp - w->sp > FP_MAX_JUMP)
			return walk_ends(w, MT_END_NO_RULE);
		cfa = w->fp - rule->fp_off;
		break;
	case MT_CFA_FP:
		if (w->fp_lost)
			return walk_ends(w, MT_END_NO_RULE);
		cfa = w->fp + rule->cfa_off;
		break;
	case MT_CFA_PLT:
		if (!w->sp_known)
			return walk_ends(w, MT_END_NO_RULE);
		cfa = w->sp + 8 + ((w->pc & 15) >= (__u64)rule->cfa_off ? 8 : 0);
		break;
	case MT_CFA_AT_SP:
	case MT_CFA_AT_FP:
		if (rule->cfa == MT_CFA_AT_SP ? !w->sp_known : w->fp_lost)
			return walk_ends(w, MT_END_NO_RULE);
		if (stack_read(s, &cfa, 1, (rule->cfa == MT_CFA_AT_SP ? w->sp : w->fp) + rule->cfa_off))
			return walk_ends(w, MT_END_UNREADABLE);
		cfa += rule->post_off;
		break;
	case MT_CFA_SIGNAL:
		return signal_step(s);
	case MT_CFA_STOP:
		return walk_ends(w, MT_END_WHOLE);
	case MT_CFA_NONE:
		goto by_frame_pointer;
	default:
		return walk_ends(w, MT_END_NO_RULE);
	}

	if (has_record(rule)) {
		/* side by side, as nearly always: one read */
		if (stack_read(s, val, 2, cfa + rule->fp_off))
			return walk_ends(w, MT_END_UNREADABLE);
		w->fp = val[0];
		w->fp_lost = 0;
		w->pc = MT_STRIP_RA(val[1]);
	} else {
		if (rule->ra == MT_SAVED_AT_CFA) {
			if (stack_read(s, &val[1], 1, cfa + rule->ra_off))
				return walk_ends(w, MT_END_UNREADABLE);
			w->pc = MT_STRIP_RA(val[1]);
		} else if (rule->ra == MT_SAVED_SAME && w->lr_known) {
			w->pc = MT_STRIP_RA(w->lr);
		} else {
			return walk_ends(w, MT_END_NO_RULE);
		}
		if (rule->fp == MT_SAVED_AT_CFA || (rule->fp == MT_SAVED_AT_FP && !w->fp_lost)) {
			__u64 from = rule->fp == MT_SAVED_AT_CFA ? cfa : w->fp;

			if (stack_read(s, &val[0], 1, from + rule->fp_off))
				return walk_ends(w, MT_END_UNREADABLE);
			w->fp = val[0];
			w->fp_lost = 0;
		} else if (rule->fp != MT_SAVED_SAME) {
			w->fp_lost = 1;
		}
	}
	/* a walk goes upwards; only what a signal interrupted may have no frame of its own yet */
	if (w->sp_known && (cfa < w->sp || (cfa == w->sp && !w->lr_known)))
		return walk_ends(w, MT_END_NO_RULE);
	w->sp_known = 1;
up:
	w->lr_known = 0;
	w->is_return = 1;
	w->sp = cfa;
	if (w->hook && w->pc == w->hook) {
		memo_drop(s);
		w->pc = pending_return(s, cfa);
		if (!w->pc)
			return walk_ends(w, MT_END_NO_RULE);
	}
	return w->pc ? 0 : walk_ends(w, MT_END_WHOLE);

by_frame_pointer:
	w->row = 0;
	w->guessed = 1;
	w->no_records = 1;
	if (!w->fp)
		return walk_ends(w, MT_END_WHOLE);
	if (w->fp_lost || w->fp & 7 || w->fp < w->sp || w->fp - w->sp > FP_MAX_JUMP)
		return walk_ends(w, MT_END_NO_RULE);
	if (stack_read(s, val, 2, w->fp))
		return walk_ends(w, MT_END_UNREADABLE);
	cfa = w->fp + 16;
	w->fp = val[0];
	w->pc = MT_STRIP_RA(val[1]);
	/* on arm64 a frame record lies anywhere in its frame: where the caller's begins is not known */
	w->sp_known = ARCH_RA_ON_STACK;
	goto up;
}

/* Frame i was not called where it seems, or its code took the place of other code: the hash with that. */
__noinline __u64 odd_frame(struct mt_scratch *s, __u32 i, __u64 hash)
{
	if (!s)
		return hash;
	if (s->walk.by_hand)
		s->ip[i & (MT_MAX_DEPTH - 1)] += ARCH_BEHIND_INSN;
	if (!s->walk.code)
		return hash;
	s->walk.odd = hash_frame(s->walk.odd + i, s->walk.code);
	return hash_frame(hash, s->walk.code);
}

/* Fills s->ip from the frame in s->walk upwards; the number of frames. s->walk.moved: they may be wrong. */
__noinline __u32 walk_up(struct mt_scratch *s, __u32 proc)
{
	struct mt_space *space;
	__u64 hash;
	__u32 n = 1;

	if (!s)
		return 1;
	space = space_begin(s, proc);
	s->ip[0] = s->walk.pc;
	hash = hash_frame(0, s->walk.pc);
#pragma clang loop unroll(disable)
	for (__u32 i = 1; i <= MT_MAX_DEPTH; i++) {
		/* also when it is full: this shows whether it is whole */
		int over = walk_step(s, space) || i >= mt_config.depth || i >= MT_MAX_DEPTH;

		if (s->walk.by_hand | s->walk.code)
			hash = odd_frame(s, i - 1, hash);
		if (over)
			break;
		/* names are looked up one byte before an address, as nearly all are return addresses */
		s->ip[i & (MT_MAX_DEPTH - 1)] = s->walk.pc + (s->walk.is_return ^ 1) * ARCH_BEHIND_INSN;
		hash = hash_frame(hash, s->walk.pc);
		n = i + 1;
	}
	s->walk.hash = hash;
	s->walk.moved = space_moved(s);
	if (s->walk.guessed)
		s->walk.end = MT_END_UNSURE;
	return n;
}

enum { PROOF_GOES_ON, PROOF_FAILS, PROOF_HOLDS, PROOF_MOVED };

/*
 * Frame i of n: does the frame pointer surely point to its own record, which holds the next frame?
 * Or is it the last, and may it be?
 */
__noinline int prove_frame(struct mt_scratch *s, const struct mt_space *sp, __u32 n, __u32 i)
{
	struct mt_rule *rule;
	__u64 pc;

	if (!s || i >= MT_MAX_DEPTH)
		return PROOF_FAILS;
	/* from the last one before the depth ends nothing is followed */
	if (i + 1 >= n && s->walk.end == MT_END_DEPTH)
		return PROOF_HOLDS;
	pc = s->ip[i] - 1;
	if ((pc < s->range.start || pc >= s->range.end) && range_at(s, sp, pc))
		return PROOF_FAILS;
	rule = rule_of(s, pc);
	/* where a function begins, the frames alone do not show what that means: see weigh_start() */
	if (!rule || s->walk.starts)
		return PROOF_FAILS;
	if (i + 1 >= n)
		return rule->cfa == MT_CFA_STOP ? PROOF_HOLDS : PROOF_FAILS;
	return rule->record ? PROOF_GOES_ON : PROOF_FAILS;
}

/*
 * The n frames in s->ip were found by frame pointers, those from number `from` on:
 * are they right? The first of these is where the call returns to. If its rule
 * says that code there keeps a record, and that the frame pointer points to it,
 * then the record's return address is the next frame; and so on, up to a frame
 * whose rule says that it is the thread's first. So the frames alone decide, and
 * whatever stack has the same ones is right as well: it need be checked only once,
 * when a site would be new.
 */
__noinline int prove_frames(struct mt_scratch *s, __u32 n, __u32 proc, __u32 from)
{
	int proof = PROOF_FAILS;
	struct mt_space *space;

	if (!s)
		return 0;
	space = space_begin(s, proc);
#pragma clang loop unroll(disable)
	for (; from < MT_MAX_DEPTH; from++) {
		proof = prove_frame(s, space, n, from);
		if (proof != PROOF_GOES_ON)
			break;
	}
	return space_moved(s) ? PROOF_MOVED : proof;
}

static __always_inline bool stack_is_proven(struct mt_scratch *s, __u32 n, __u32 proc, __u32 from)
{
	int proof = PROOF_MOVED;

	if (s->walk.guessed || from >= n || (s->walk.end != MT_END_WHOLE && s->walk.end != MT_END_DEPTH))
		return false;
#pragma clang loop unroll(disable)
	for (int i = 0; i < WALK_TRIES && proof == PROOF_MOVED; i++)
		proof = prove_frames(s, n, proc, from);
	return proof == PROOF_HOLDS;
}

/* What a walk found may be wrong: another one is made. If it is the last, nothing is proven. */
static __always_inline void walk_moved(struct mt_scratch *s)
{
	s->walk.guessed = 1;
	s->walk.end = MT_END_UNSURE;
	memo_drop(s);
}

/* What a walk by tables begins with, whatever its first frame is. */
static __always_inline void walk_fresh(struct mt_scratch *s)
{
	struct mt_walk *w = &s->walk;

	w->fp_lost = 0;
	w->guessed = 0;
	w->no_records = 0;
	w->odd = 0;
	w->row = 0;
	w->end = MT_END_DEPTH;
	w->hook = has_pending_returns() ? trampoline() : 0;
	s->chunk_len = 0;
	s->reach = 0;
}

/* The frame that caller lies in, once the call that sp belongs to has returned. */
static __always_inline void walk_begin(struct mt_scratch *s, __u64 caller, __u64 sp, __u64 fp)
{
	struct mt_walk *w = &s->walk;

	w->pc = caller;
	w->sp = sp;
	w->fp = fp;
	w->lr_known = 0;
	w->is_return = 1;
	w->sp_known = 1;
	walk_fresh(s);
	/* another tracer's uretprobe on the very function that was called */
	if (w->hook && caller == w->hook) {
		__u64 true_caller = pending_return(s, sp);

		memo_drop(s);
		if (true_caller)
			w->pc = true_caller;
	}
}

/*
 * At its entry a function may have made a record of its own already, to which the frame pointer points, below sp: the
 * caller's is in it. Not where calls push the return address: there, entries are probed before that.
 */
#define OWN_RECORD_BYTES 1024

static __always_inline bool may_be_own_record(__u64 fp, __u64 sp)
{
	return !ARCH_RA_ON_STACK && fp < sp && sp - fp <= OWN_RECORD_BYTES && !(fp & 7);
}

__noinline int skip_own_record(struct mt_scratch *s, __u64 caller)
{
	__u64 val[2];

	if (!s || stack_read(s, val, 2, s->walk.fp))
		return 0;
	if (MT_STRIP_RA(val[1]) == caller)
		s->walk.fp = val[0];
	return 0;
}

static __always_inline __u32 walk_tables(struct mt_scratch *s, struct mt_thread *t, __u32 proc, __u64 caller,
					 __u64 sp, __u64 fp)
{
	__u32 n = 0;

#pragma clang loop unroll(disable)
	for (int i = 0; i < WALK_TRIES; i++) {
		__u64 from = sp;

		walk_begin(s, caller, sp, fp);
		if (may_be_own_record(s->walk.fp, sp))
			from = s->walk.fp;
		s->first = s->last = s->near = from;
		chunk_read(s, t, from);
		if (from != sp)
			skip_own_record(s, caller);
		n = walk_up(s, proc);
		if (!s->walk.moved)
			break;
		walk_moved(s);
	}
	if (s->reach)
		t->span = s->reach;
	return n;
}

#define REACH_MAX_FRAMES 64

/*
 * Does a frame on the way up from s->walk end exactly at sp, so that the call
 * that returns there is under way? This needs no proof: a walk that cannot go on
 * says yes, and so does one that went by frame pointers through code without rules
 * (musl's), which may have jumped over the frame.
 */
__noinline int walk_reaches(struct mt_scratch *s, __u32 proc, __u64 sp)
{
	struct mt_space *space;

	if (!s)
		return 1;
	space = space_begin(s, proc);
	for (int i = 0; i < REACH_MAX_FRAMES; i++) {
		if (s->walk.sp >= sp) {
			s->walk.guessed |= space_moved(s);
			return s->walk.sp == sp || s->walk.guessed;
		}
		if (walk_step(s, space))
			return 1;
	}
	return 1;
}

#endif
