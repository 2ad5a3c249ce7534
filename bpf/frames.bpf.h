/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * The walk by frame pointers, for code that keeps them.
 *
 * A record {caller's frame pointer, return address} is two words of the stack,
 * and reading them one by one is what such a walk costs: 13 ns a frame with the
 * kernel's own, twice that with bpf_probe_read_user. So the part of the stack
 * that the thread's last walk went through is copied in one piece, and the chain
 * is followed in the copy; the frames are hashed on the way.
 *
 * Nothing here checks for code without frame pointers, signal frames and
 * trampolines: a stack that goes through them is never known by this hash, so they
 * are met when a site would be new (see stack_is_proven()).
 */
#ifndef MT_FRAMES_BPF_H
#define MT_FRAMES_BPF_H

#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

#include "bpf/abi.h"
#include "bpf/arch.bpf.h"
#include "bpf/count.bpf.h"

#define CHUNK_FIRST 512
#define CHUNK_NEXT 256
#define RECORD_BYTES 16
#define RECORDS (MT_CHUNK_BYTES / RECORD_BYTES)
#define PAGE_MASK_4K 4095ULL

/* The factor fits an instruction; a wider one would be put together again for each frame. */
static __always_inline __u64 hash_frame(__u64 hash, __u64 ip)
{
	hash = (hash ^ ip) * (__u64)(__s64)(__s32)0x9e3779b1;
	return hash ^ hash >> 32;
}

/*
 * Copies some of the stack from at on; false if not even a record can be read.
 * Reading beyond the end of a stack costs a fault each time: where that happened
 * is remembered.
 */
__noinline int chunk_read(struct mt_scratch *s, struct mt_thread *t, __u64 at)
{
	__u64 top, want;

	if (!s || !t)
		return 0;
	want = s->chunk_len ? CHUNK_NEXT : t->span ? t->span : CHUNK_FIRST;
	/* a large array on the stack is not worth copying: what lies below it is what the next walk begins with */
	if (!s->near && at - s->first > MT_CHUNK_BYTES - RECORD_BYTES)
		s->near = s->last;
	top = t->stack_top;
	if (at < top && at + want > top)
		want = top - at;
	if (want < RECORD_BYTES)
		want = RECORD_BYTES;
	if (want > MT_CHUNK_BYTES)
		want = MT_CHUNK_BYTES;
	s->chunk_at = at;
	s->chunk_len = want;
	if (!bpf_probe_read_user(s->chunk, want, (const void *)at))
		return 1;
	t->stack_top = (at + want) & ~PAGE_MASK_4K;
	s->chunk_len = RECORD_BYTES;
	return !bpf_probe_read_user(s->chunk, RECORD_BYTES, (const void *)at);
}

/*
 * Follows the chain inside the copy, from its first record on; s->ip has n frames
 * then, at most depth. What makes it stop (the end of the copy, or a record that
 * is not above the last one) is for the caller to find out: here every instruction
 * and every register counts.
 */
__noinline __u32 chunk_follow(struct mt_scratch *s, __u32 n, __u32 depth)
{
	__u64 hash, at, room, off = 0, last = 0, next = 0;
	__u32 i;

	if (!s || n >= depth)
		return n;
	/* one counter for both bounds: it ends with the copy or the depth */
	i = depth - n < RECORDS ? RECORDS - (depth - n) : 0;
	n -= i;
	hash = s->walk.hash;
	at = s->chunk_at;
	room = s->chunk_len - RECORD_BYTES;
#pragma clang loop unroll(disable)
	for (; i < RECORDS; i++) {
		__u64 ra;

		last = off;
		/* bounds in a form that the verifier follows */
		asm volatile("" : "+r"(off));
		off &= MT_CHUNK_BYTES - 8;
		next = *(__u64 *)((char *)s->chunk + off);
		ra = MT_STRIP_RA(*(__u64 *)((char *)s->chunk + off + 8));
		if (!ra) {
			next = 0;
			break;
		}
		s->ip[(n + i) & (MT_MAX_DEPTH - 1)] = ra;
		hash = hash_frame(hash, ra);
		/* beyond the copy, or below this one, which makes it huge */
		off = next - at;
		if (off - last - 1 >= room || off > room || off & 7) {
			i++;
			break;
		}
	}
	s->walk.hash = hash;
	s->last = at + last;
	s->fp = next;
	return n + i;
}

/* The frames of one copy, from s->fp on; how many there are then. s->walk.end is MT_END_DEPTH as long as it goes on. */
__noinline __u32 walk_chunk(struct mt_scratch *s, struct mt_thread *t, __u32 n, __u32 is_first)
{
	__u64 fp;

	if (!s || !t)
		return n;
	fp = s->fp;
	if (!fp) {
		s->walk.end = MT_END_WHOLE;
		return n;
	}
	if (fp & 7 || (!is_first && fp <= s->last)) {
		s->walk.end = MT_END_NO_RULE;
		return n;
	}
	if (n >= mt_config.depth)
		return n;
	if (!(is_first && s->chunk_len) && !chunk_read(s, t, fp)) {
		s->walk.end = MT_END_UNREADABLE;
		return n;
	}
	return chunk_follow(s, n, mt_config.depth);
}

/*
 * Frames from fp upwards into s->ip[n]...; their number, with the n that are there
 * already. s->walk.hash goes on from what it is, s->walk.end says how it ended.
 */
__noinline __u32 walk_frames(struct mt_scratch *s, struct mt_thread *t, __u64 fp, __u32 n)
{
	if (!s || !t)
		return 0;
	s->walk.end = MT_END_DEPTH;
	/* the copy that the comparison with a former walk made is used */
	if (s->chunk_at != fp)
		s->chunk_len = 0;
	s->first = s->last = s->fp = fp;
	s->near = 0;
#pragma clang loop unroll(disable)
	for (__u32 i = 0; i < MT_MAX_DEPTH; i++) {
		/* also when it is full: this shows whether it is whole */
		bool full = n >= mt_config.depth || i > mt_config.depth;

		n = walk_chunk(s, t, n, !i);
		if (s->walk.end != MT_END_DEPTH || full)
			break;
	}
	t->span = (s->near ? s->near : s->last) + RECORD_BYTES - s->first;
	return n;
}

/*
 * The frames of a call that returns to caller, with sp as the stack pointer then.
 * At its entry the function may have a frame record of its own already, below
 * that: its return address is the caller's.
 */
static __always_inline __u32 walk_from(struct mt_scratch *s, struct mt_thread *t, __u64 caller, __u64 sp, __u64 fp)
{
	__u64 hash = hash_frame(0, caller);
	__u32 n;

	s->walk.guessed = 0;
	s->walk.no_records = 0;
	s->walk.odd = 0;
	if (!fp || fp >= sp) {
		s->ip[0] = caller;
		s->walk.hash = hash;
		return walk_frames(s, t, fp, 1);
	}
	s->walk.hash = 0;
	n = walk_frames(s, t, fp, 0);
	if (n && s->ip[0] == caller)
		return n;
	/* some other value in the register */
	s->recording = 0;
	s->ip[0] = caller;
	s->walk.hash = hash;
	s->walk.end = MT_END_NO_RULE;
	return 1;
}

#endif
