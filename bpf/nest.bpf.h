/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Is a call made inside of another one that is under way?
 *
 * Only the outermost call counts, and it is known by its stack pointer after
 * return, not by a depth that a longjmp would leave wrong for good. So the
 * question is whether that call really is still under way when another one begins
 * further down. That some frame returns to where it was called from is no proof: a
 * function that sometimes ends by jumping to malloc and sometimes calls it has, in
 * the second case, a frame of its own in the very place of malloc's. The proof is
 * the code: the frame that ends at the old call's stack pointer must run in the code
 * of the function that was called, or in what that one ends by jumping to. Which
 * code that is was found out when the points were placed (probe/place.c), as ranges
 * around the point; where the point is in this process is known at the entry.
 *
 *   directly below      the new call returns into that code: nothing need be read
 *   further down        the frame is found by tables, unless a word that is not
 *                       there shows that it is over (x86_64), or frame pointers
 *                       lead to the very frame (arm64)
 *   the same height     the old function must be able to end by jumping to the new one,
 *                       and the new call must return to where the old one would have
 *
 * Where that cannot be had (code without tables, a jump through a register that
 * leads to an unknown place), a frame that returns to the right place has to do.
 *
 * A signal's handler may call malloc while its thread is inside of malloc. That call is not the
 * allocator's, but the program's, and counts by itself (interrupted.bpf.h). Tables show it:
 * the way up from it leads through the frame that the kernel pushed. Frame pointers lead
 * over it, and a piece of stack that it has room in is a reason to use the tables.
 */
#ifndef MT_NEST_BPF_H
#define MT_NEST_BPF_H

#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

#include "bpf/abi.h"
#include "bpf/arch.bpf.h"
#include "bpf/memo.bpf.h"
#include "bpf/ranges.bpf.h"
#include "bpf/scratch.bpf.h"
#include "bpf/unwind.bpf.h"
#include "bpf/uretprobes.bpf.h"

#define INSIDE_MAX_FRAMES 64
#define INSIDE_MAX_FRAME_BYTES 65536
#define MIN_PAGE_BYTES 4096
#define MAX_PAGE_BYTES 65536
#define OWN_FILE_BYTES (1ULL << 24)	/* code of one file is not further apart, as far as it matters */

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MT_MAX_CODES);
	__type(key, __u32);
	__type(value, struct mt_code);
} codes SEC(".maps");

enum where {
	WHERE_OUT,	/* in other code */
	WHERE_OWN,	/* in the function's own bytes */
	WHERE_BEHIND,	/* in what it may end by jumping to */
	WHERE_OPEN,	/* in none of these, but it may jump to an unknown place */
	WHERE_UNKNOWN,	/* nothing is known of its code */
	WHERE_MOVED,	/* what was found may be wrong: see space_moved() */
};

static __always_inline const struct mt_code *code_of(__u64 code)
{
	__u32 k = MT_CODE_NUMBER(code);

	return k ? bpf_map_lookup_elem(&codes, &k) : NULL;
}

static __always_inline bool range_has(const struct mt_code_range *r, __s64 rel)
{
	return rel >= r->from && rel < r->to;
}

/* Global functions, each of which the verifier checks once. */
__noinline int code_where(__u64 code, __u64 addr)
{
	const struct mt_code *c = code_of(code);
	__s64 rel = addr - MT_CODE_PC(code);

	if (!c)
		return WHERE_UNKNOWN;
	if (range_has(&c->range[0], rel))
		return WHERE_OWN;
#pragma clang loop unroll(disable)
	for (__u32 i = 1; i < MT_CODE_RANGES; i++) {
		if (i >= c->n)
			break;
		if (range_has(&c->range[i], rel))
			return WHERE_BEHIND;
	}
	return c->flags & MT_CODE_OPEN ? WHERE_OPEN : WHERE_OUT;
}

/* Does the call before this return address lie in the function's code? */
static __always_inline bool returns_into(__u64 code, __u64 ra)
{
	int where = code_where(code, ra - 1);

	return where == WHERE_OWN || where == WHERE_BEHIND;
}

static __always_inline bool is_innermost(__u64 code)
{
	const struct mt_code *c = code_of(code);

	return c && c->flags & MT_CODE_INNERMOST;
}

/* May a function that was called with this size jump to one with that size? */
static __always_inline bool may_pass(__u64 code, __u64 size, __u64 passed)
{
	const struct mt_code *c;

	if (size == passed)
		return true;
	c = code_of(code);
	return c && c->flags & MT_CODE_ROUNDS && passed > size && passed - size < MAX_PAGE_BYTES && !(passed & (MIN_PAGE_BYTES - 1));
}

/* ---- by frame pointers */

/*
 * One frame: 1 if it is the one, -1 if there is none, 0 to go on with the next. A
 * function of its own, which the verifier checks once and not at each turn of
 * the loop: that takes a third of the time of an attachment.
 */
__noinline int frame_returns(struct mt_ask *q)
{
	__u64 frame[2], at, ra;

	if (!q)
		return -1;
	at = q->fp;
	if (!at || at & 7 || bpf_probe_read_user(frame, sizeof(frame), (const void *)at))
		return -1;
	q->fp = frame[0];
	if (at < q->new_sp)
		goto next;
	/* above it; on a stack of its own a signal handler may be anywhere */
	if (at >= q->sp && q->new_sp < q->sp)
		return -1;
	ra = MT_STRIP_RA(frame[1]);
	if (at < q->sp && q->sp - at <= INSIDE_MAX_FRAME_BYTES && ((__u32)ra == q->ra || (q->hook && ra == q->hook)))
		return 1;
	q->pc = ra;
next:
	q->gap |= q->fp - at > ARCH_SIGNAL_BYTES;
	return 0;
}

/*
 * Is there, on the way up from q->fp, a frame just below q->sp that returns to q->ra, or
 * through the trampoline? q->pc is where that frame's function will go on. The kernel's own walk is
 * of no use here: where several uretprobes are pending it puts the trampolines' addresses right one
 * by one, and is wrong when two of them belong to one return, as after a tail call. What lies below
 * new_sp is the new call's own frame: of the same call made again from one level further down, it
 * returns to ra, too.
 */
__noinline int returns_from(struct mt_ask *q)
{
	if (!q)
		return 0;
	for (int i = 0; i < INSIDE_MAX_FRAMES; i++) {
		int found = frame_returns(q);

		if (found)
			return found > 0;
	}
	return 0;
}

/* ---- by tables */

/* enum where of the frame that ends exactly at s->ask.sp, on the way up from s->walk. */
__noinline int walk_where(struct mt_scratch *s, __u32 proc)
{
	struct mt_space *space;

	if (!s)
		return WHERE_UNKNOWN;
	space = space_begin(s, proc);
	s->ask.interrupted = 0;
	for (int i = 0; i < REACH_MAX_FRAMES; i++) {
		/* a return address is that of the instruction after the call */
		s->ask.pc = s->walk.pc - (s->walk.is_return ? 1 : 0);
		if (walk_step(s, space))
			break;
		/* from a signal's frame to the one that it interrupted: that one is checked next */
		if (!s->walk.is_return)
			s->ask.interrupted = 1;
		if (!s->walk.is_return || s->walk.sp < s->ask.sp)
			continue;
		/*
		 * above the old call: on a handler's own stack, from which only a signal's frame
		 * leads down, or it is over
		 */
		if (s->ask.new_sp > s->ask.sp && !s->ask.interrupted)
			continue;
		/* frame pointers may have led past it, through code without rules (musl's) */
		if (s->walk.guessed & MT_GUESSED_FP)
			break;
		if (space_moved(s))
			return WHERE_MOVED;
		return s->walk.sp == s->ask.sp ? code_where(s->ask.code, s->ask.pc) : WHERE_OUT;
	}
	if (space_moved(s))
		return WHERE_MOVED;
	return s->ask.new_sp > s->ask.sp && !s->ask.interrupted && s->walk.end == MT_END_WHOLE ? WHERE_OUT : WHERE_UNKNOWN;
}

/* ---- the question */

/* At the same height: did the old function end by jumping to the new one? Else it is another call. */
static __always_inline bool jumped_to(const struct mt_ask *q)
{
	int where = q->new_pc ? code_where(q->code, q->new_pc) : WHERE_UNKNOWN;

	if (where == WHERE_UNKNOWN)
		return q->new_func != q->func;
	return where == WHERE_BEHIND || where == WHERE_OPEN;
}

enum sieve { SIEVE_NO, SIEVE_YES, SIEVE_LIKELY, SIEVE_UNLIKELY };

/*
 * At the same height: does the new call return to where the old one would have? At a uretprobe the
 * kernel has put the new one's address right, and the old one's is still the trampoline's where a
 * function with a uretprobe had jumped to it: glibc's reallocarray to realloc, under another tracer.
 */
static __always_inline bool returns_alike(const struct mt_ask *q)
{
	return (__u32)q->new_ra == q->ra ||
	       (q->hook && (q->new_ra == q->hook || (!q->new_pc && (__u32)q->hook == q->ra)));
}

/* The answer, if a few words of memory give it; else what they make likely. */
__noinline int sieve(struct mt_ask *q)
{
	if (!q)
		return SIEVE_NO;
	if (q->new_sp == q->sp)
		return returns_alike(q) && jumped_to(q);
	if (q->new_sp < q->sp && q->sp - q->new_sp <= INSIDE_MAX_FRAME_BYTES && returns_into(q->code, q->new_ra))
		return SIEVE_YES;
	if (ARCH_RA_ON_STACK && q->new_sp < q->sp) {
		__u64 word = 0;

		bpf_probe_read_user(&word, sizeof(word), (const void *)(q->sp - ARCH_RA_BYTES));
		/* after a longjmp the word may have survived in a hole of a new frame */
		return (__u32)word == q->ra || (q->hook && word == q->hook) ? SIEVE_LIKELY : SIEVE_NO;
	}
	/* no is no proof: some code keeps no frame pointers */
	if (!returns_from(q))
		return SIEVE_UNLIKELY;
	return !q->gap && returns_into(q->code, q->pc) ? SIEVE_YES : SIEVE_LIKELY;
}

/* The new call is the one at this point. */
static __always_inline void ask_begin(mt_regs *ctx, struct mt_ask *q, __u64 cookie, __u64 sp, __u64 ra)
{
	/* a uretprobe is met where the call returns to: where its function is, is not known */
	bool at_uretprobe = (cookie & (MT_COOKIE_RETURN_ONLY | MT_COOKIE_AT_RET)) == MT_COOKIE_RETURN_ONLY;

	q->new_sp = sp;
	q->new_ra = ra;
	q->new_pc = at_uretprobe ? 0 : arch_pc(ctx);
	q->new_func = MT_COOKIE_FUNC(cookie);
	q->fp = arch_fp(ctx);
	/* a handler without a frame pointer of its own has that of what was interrupted */
	q->gap = q->fp - sp > ARCH_SIGNAL_BYTES && q->fp > sp;
	q->interrupted = 0;
	q->pc = ra;
	q->hook = trampoline();
}

/* Of an old call, seen from a new one. */
enum old_call {
	CALL_OVER,		/* it was left: by longjmp, by an exception */
	CALL_GOES_ON,		/* the new one is inside of it */
	CALL_INTERRUPTED,	/* it goes on, but a signal has interrupted it, and the new one is the handler's */
};

/* Does the old call in s->ask still go on, seen from the new one, which begins now? */
static __always_inline int goes_on(mt_regs *ctx, struct mt_thread *t, struct mt_scratch *s)
{
	int found = sieve(&s->ask), where = WHERE_MOVED;

	if (found <= SIEVE_YES)
		return found;
	memo_drop(s);
#pragma clang loop unroll(disable)
	for (int i = 0; i < WALK_TRIES && where == WHERE_MOVED; i++) {
		walk_begin(s, s->ask.new_ra, s->ask.new_sp, arch_fp(ctx));
		if (may_be_own_record(s->walk.fp, s->ask.new_sp))
			skip_own_record(s, s->ask.new_ra);
		where = walk_where(s, t->proc);
	}
	if (where == WHERE_OUT)
		return CALL_OVER;
	/* if it is over all the same, that will be seen after the handler's call, when it is checked again */
	if (s->ask.interrupted)
		return CALL_INTERRUPTED;
	return where >= WHERE_OPEN && found != SIEVE_LIKELY ? CALL_OVER : CALL_GOES_ON;
}

/*
 * The same of the allocation call under way in t. Checked only when one is under way at
 * all. What it ended by jumping to runs in its place from then on.
 */
static __noinline int old_call(mt_regs *ctx, struct mt_thread *t, __u64 cookie, __u64 sp, __u64 ra)
{
	struct mt_scratch *s;
	int old;

	if (!t)
		return CALL_OVER;
	s = scratch_claim(t);
	if (!s)
		return returns_into(t->code, ra) ? CALL_GOES_ON : CALL_OVER;
	ask_begin(ctx, &s->ask, cookie, sp, ra);
	s->ask.sp = t->sp;
	s->ask.code = t->code;
	s->ask.ra = t->ra;
	s->ask.func = MT_COOKIE_FUNC(t->cookie);
	old = goes_on(ctx, t, s);
	if (old == CALL_GOES_ON && sp == t->sp && s->ask.new_pc)
		t->code = MT_CODE(cookie, s->ask.new_pc);
	scratch_release(t, s);
	return old;
}

static __always_inline bool still_inside(mt_regs *ctx, struct mt_thread *t, __u64 cookie, __u64 sp, __u64 ra)
{
	return old_call(ctx, t, cookie, sp, ra) == CALL_GOES_ON;
}

/* And of the last free. */
static __noinline bool inside_free(mt_regs *ctx, struct mt_thread *t, __u64 cookie, __u64 sp, __u64 ra)
{
	struct mt_scratch *s;
	bool inside;

	if (!t || !t->freed_sp || sp > t->freed_sp || !t->freed_code)
		return false;
	s = scratch_claim(t);
	if (!s)
		return returns_into(t->freed_code, ra);
	ask_begin(ctx, &s->ask, cookie, sp, ra);
	s->ask.sp = t->freed_sp;
	s->ask.code = t->freed_code;
	s->ask.ra = t->freed_ra;
	s->ask.func = MT_MAX_FUNCS;
	inside = goes_on(ctx, t, s) == CALL_GOES_ON;
	scratch_release(t, s);
	return inside;
}

/*
 * Does the allocator itself call its function that frees, and not the program, nor
 * a library on its behalf? glibc frees what a thread's cache holds when the thread
 * ends: blocks that were freed long ago, and its own record. A shared library
 * reaches free by its name, as all other code does, because another allocator may
 * have been put before it: through a slot, which the file is seen to have for it
 * (MT_CODE_BY_SLOT). That is how glibc's fclose and getline free what is the program's.
 * Code that calls the very address is the allocator's own and calls it by a name
 * of its own (__libc_free). In a static program all calls are direct: there the
 * function that empties the cache is known by its name, if there are names.
 */
__noinline int allocator_calls(__u64 code, __u64 ra)
{
	const struct mt_code *c = code_of(code);
	__u64 pc = MT_CODE_PC(code);

	if (!c)
		return 0;
	if (range_has(&c->shutdown, ra - 1 - pc))
		return 1;
	/* its place is compared first: most calls come from far away */
	return c->flags & MT_CODE_BY_SLOT && ra - pc + OWN_FILE_BYTES < 2 * OWN_FILE_BYTES &&
	       arch_call_target(ra) == pc + c->range[0].from;
}

#endif
