/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Stacks that were walked before. Programs allocate in loops: the next call often
 * comes from the same place, with the same stack pointer and the same callers. A
 * walk is a function of the registers that it begins with, of the words that it
 * reads on its way, and of the unwind tables. So a thread keeps the words of its
 * last walks; comparing with them, all at once, shows whether a new one would find the
 * same, for 2 ns a frame where a walk by tables takes 70.
 *
 * Words are compared as they are: there is no stack that is taken for another
 * one. What a walk learns elsewhere (a signal frame, a trampoline, memory beyond the
 * copy) is not written down, nor is the stack then.
 */
#ifndef MT_MEMO_BPF_H
#define MT_MEMO_BPF_H

#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

#include "bpf/abi.h"
#include "bpf/count.bpf.h"

#define MEMO_STEP 4		/* words that are compared at once: MT_MEMO_WORDS is a multiple of it */
#define MEMO_PATIENCE 8		/* misses in a row, after which it is checked only now and then */

static __always_inline struct mt_memo *memo_at(struct mt_scratch *s, __u32 k)
{
	return &s->memo[k & (MT_N_MEMOS - 1)];
}

/* The word number i of a memo: the bits in which it is another one now. */
static __always_inline __u64 memo_differs(const struct mt_scratch *s, const struct mt_memo *m, __u32 i)
{
	__u64 off = m->off[i & (MT_MEMO_WORDS - 1)];

	asm volatile("" : "+r"(off));
	off &= MT_CHUNK_BYTES - 8;
	return *(const __u64 *)((const char *)s->chunk + off) ^ m->val[i & (MT_MEMO_WORDS - 1)];
}

/* Of a memo whose key is right: are the words, too? */
static __always_inline bool memo_holds(struct mt_scratch *s, struct mt_memo *m)
{
	__u64 differ = 0, len = m->len;
	__u32 n = m->n_words;

	if (len > MT_CHUNK_BYTES)
		return false;
	s->chunk_at = m->base;
	s->chunk_len = 0;
	if (bpf_probe_read_user(s->chunk, len, (const void *)m->base))
		return false;
	s->chunk_len = len;
	/* n is a whole number of steps: see memo_keep() */
#pragma clang loop unroll(disable)
	for (__u32 i = 0; i < MT_MEMO_WORDS; i += MEMO_STEP) {
		if (i >= n)
			break;
		differ |= memo_differs(s, m, i) | memo_differs(s, m, i + 1) | memo_differs(s, m, i + 2) | memo_differs(s, m, i + 3);
	}
	return !differ;
}

/*
 * The site of the walk that s->key says is about to begin, or 0: then it has to be
 * made. A stack is written down when its beginning is met for the second time.
 */
__noinline __u32 memo_site(struct mt_scratch *s, struct mt_thread *t)
{
	struct mt_memo *m;
	__u32 k;

	if (!s || !t)
		return 0;
	s->recording = 0;
	s->chunk_len = 0;
	k = (s->key.caller >> 2 ^ s->key.sp >> 5 ^ s->key.sp >> 9) & (MT_N_MEMOS - 1);
	m = memo_at(s, k);
	if (m->key.caller != s->key.caller || m->key.sp != s->key.sp || m->key.fp != s->key.fp ||
	    m->key.func != s->key.func || m->key.proc != s->key.proc || m->key.gen_tid != s->key.gen_tid ||
	    m->key.python != s->key.python) {
		m->key = s->key;
		m->n_words = 0;
		m->n_missed = 0;
		return 0;
	}
	if (m->n_missed > MEMO_PATIENCE && m->n_missed++ & 15)
		return 0;
	if (m->n_words) {
		if (memo_holds(s, m)) {
			m->n_missed = 0;
			t->frames += m->n_frames;
			return m->site;
		}
		m->n_missed++;
		m->n_words = 0;
	}
	s->recording = k + 1;
	s->n_words = 0;
	return 0;
}

/* A word that a walk went by, which is written down: at off in the copy. */
static __always_inline void memo_put(struct mt_scratch *s, struct mt_memo *m, __u64 off, __u64 val)
{
	__u64 i = s->n_words;

	s->n_words = i + 1;
	/* more than there is room for is not kept: see memo_keep() */
	asm volatile("" : "+r"(i));
	i &= MT_MEMO_WORDS - 1;
	m->off[i] = off;
	m->val[i] = val;
}

/* The same where it may be that it is not. */
static __always_inline void memo_word(struct mt_scratch *s, __u64 off, __u64 val)
{
	if (s->recording)
		memo_put(s, memo_at(s, s->recording - 1), off, val);
}

/* This walk depends on something else than words of the copy. */
static __always_inline void memo_drop(struct mt_scratch *s)
{
	s->recording = 0;
}

/* A walk by frame pointers that stayed within the copy: its records. */
__noinline int memo_records(struct mt_scratch *s)
{
	struct mt_memo *m;
	__u64 off = 0;

	if (!s || !s->recording)
		return 0;
	m = memo_at(s, s->recording - 1);
	if (s->chunk_at != s->first || !s->chunk_len || s->walk.end == MT_END_UNREADABLE) {
		memo_drop(s);
		return 0;
	}
#pragma clang loop unroll(disable)
	for (int i = 0; i < MT_MEMO_WORDS / 2; i++) {
		__u64 next, at = off;

		asm volatile("" : "+r"(off));
		off &= MT_CHUNK_BYTES - 8;
		next = *(__u64 *)((char *)s->chunk + off);
		memo_put(s, m, off, next);
		memo_put(s, m, off + 8, *(__u64 *)((char *)s->chunk + off + 8));
		if (s->first + at == s->last)
			return 0;
		off = next - s->first;
	}
	/* more than there is room for */
	memo_drop(s);
	return 0;
}

/* The walk that was written down found this site. */
static __always_inline void memo_keep(struct mt_scratch *s, __u32 site, __u32 n_frames)
{
	struct mt_memo *m = memo_at(s, s->recording - 1);

	if (!s->recording)
		return;
	s->recording = 0;
	if (!s->n_words || s->n_words > MT_MEMO_WORDS || site >= mt_config.n_sites)
		return;
	/* the last word once more, up to a whole step */
#pragma unroll
	for (__u32 i = 1; i < MEMO_STEP; i++) {
		__u64 last = (s->n_words - 1) & (MT_MEMO_WORDS - 1);

		if (s->n_words % MEMO_STEP)
			memo_put(s, m, m->off[last], m->val[last]);
	}
	m->base = s->chunk_at;
	m->len = s->chunk_len;
	m->site = site;
	m->n_frames = n_frames;
	m->n_words = s->n_words;
}

#endif
