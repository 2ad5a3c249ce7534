/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * --sample BYTES: which allocations are recorded, and for how many each stands.
 *
 * Imagine all bytes that a thread allocates in a row, and points scattered over
 * them by chance, one per BYTES on average: an allocation is recorded if a point
 * falls on it. The distance to the next point has an exponential distribution,
 * whatever lies before it, so a countdown is all that a thread keeps, and an
 * allocation of r bytes is recorded with probability p = 1 - exp(-r / BYTES). It
 * then stands for 1/p of its kind (Horvitz and Thompson), and sums of such weights
 * are unbiased. For r a block's size is rounded up to one of a thousand classes, so
 * that 1/p comes from a table and is exact for the very p that was used; its
 * free finds the same weight from the size. Blocks of BYTES and more are all
 * recorded and stand for themselves.
 *
 * The variance of a sum is estimated by the sum of (y/p)^2 (1 - p) over what was
 * recorded: for bytes and for calls, each in a unit that keeps the squares small.
 * Neither follows from the other where a site's blocks differ in size: its bytes are
 * in the large ones, which are known well, and its calls in the small ones.
 */
#ifndef MT_SAMPLE_BPF_H
#define MT_SAMPLE_BPF_H

#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

#include "bpf/abi.h"
#include "bpf/count.bpf.h"

/* 1/p by class, with MT_CALLS_SHIFT fractional bits; filled before the programs are loaded */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MT_N_WEIGHTS);
	__type(key, __u32);
	__type(value, __u64);
} sample_weights SEC(".maps");

/* log2(1 + i / MT_LOG_STEPS), with 16 fractional bits */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MT_LOG_STEPS + 1);
	__type(key, __u32);
	__type(value, __u64);
} sample_logs SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct mt_vars);
} site_vars SEC(".maps");

#define LN2_16 45426ULL		/* ln 2, with 16 fractional bits */

/* What an event adds to the counters. */
struct amount {
	__u64 calls;
	__u64 bytes;
	__u64 var_bytes, var_calls;
};

/* The number of a size's class, and the size that it stands for. */
static __always_inline __u32 weight_class(__u64 size, __u64 *ret_rounded)
{
	__u32 bits, shift;
	__u64 mantissa;

	/* malloc(0) is a call, too; and many small blocks are few bytes: they would be skipped altogether */
	if (size < MT_SAMPLE_LEAST)
		size = MT_SAMPLE_LEAST;
	bits = significant_bits(size);
	shift = bits > MT_WEIGHT_BITS ? bits - MT_WEIGHT_BITS : 0;
	shift &= 63;
	mantissa = (size + (1ULL << shift) - 1) >> shift;
	*ret_rounded = mantissa << shift;
	return (shift << MT_WEIGHT_BITS) + (__u32)mantissa;
}

static __always_inline struct amount amount_of(__u64 size)
{
	struct amount a = { .calls = 1, .bytes = size };
	__u64 rounded, y, missed, *w;
	__u32 k;

	if (!mt_config.sample_bytes)
		return a;
	a.calls = 1ULL << MT_CALLS_SHIFT;
	a.bytes = size << MT_BYTES_SHIFT;
	if (size >= mt_config.sample_bytes)
		return a;
	k = weight_class(size, &rounded);
	w = bpf_map_lookup_elem(&sample_weights, &k);
	if (!w || *w < a.calls)
		return a;
	a.calls = *w;
	a.bytes = size * *w >> (MT_CALLS_SHIFT - MT_BYTES_SHIFT);
	missed = (1ULL << MT_CALLS_SHIFT) - (1ULL << 2 * MT_CALLS_SHIFT) / a.calls;	/* 1 - p */
	y = (a.bytes >> MT_BYTES_SHIFT) / mt_config.sample_unit;
	a.var_bytes = y * y * missed >> MT_CALLS_SHIFT;
	y = a.calls / mt_config.sample_calls_unit;
	a.var_calls = y * y * missed >> MT_CALLS_SHIFT;
	return a;
}

/* xorshift64* */
static __always_inline __u64 next_random(struct mt_thread *t)
{
	__u64 x = t->random;

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	t->random = x;
	return x * 0x2545f4914f6cdd1dULL;
}

/* The next countdown: -ln(u) BYTES, for u evenly spread over (0, 1]. */
__noinline int sample_draw(struct mt_thread *t)
{
	__u64 u, mantissa, *lo, *hi, log2, ln;
	__u32 bits, k, k1;

	if (!t)
		return 0;
	u = next_random(t) | 1;
	bits = significant_bits(u);
	/* u = 2^(bits - 1) (1 + mantissa / 2^63) */
	mantissa = u << ((64 - bits) & 63) << 1;
	k = mantissa >> 56;
	k1 = k + 1;
	lo = bpf_map_lookup_elem(&sample_logs, &k);
	hi = bpf_map_lookup_elem(&sample_logs, &k1);
	if (!lo || !hi)
		return 0;
	log2 = ((__u64)(bits - 1) << 16) + *lo + ((*hi - *lo) * (mantissa >> 40 & 0xffff) >> 16);
	ln = ((64ULL << 16) - log2) * LN2_16 >> 16;
	t->gap = (mt_config.sample_bytes * ln >> 16) + 1;
	return 0;
}

static __always_inline void sample_begin(struct mt_thread *t)
{
	__u64 seed = mt_config.seed + __sync_fetch_and_add(&mt_threads_seen, 1) * 0x9e3779b97f4a7c15ULL;

	seed ^= seed >> 30;
	seed *= 0xbf58476d1ce4e5b9ULL;
	seed ^= seed >> 27;
	seed *= 0x94d049bb133111ebULL;
	t->random = seed | 1;
	sample_draw(t);
}

/* Is an allocation of this size recorded? */
static __always_inline bool sampled(struct mt_thread *t, __u64 size)
{
	__u64 rounded;

	if (!mt_config.sample_bytes || size >= mt_config.sample_bytes)
		return true;
	weight_class(size, &rounded);
	if (t->gap > rounded) {
		t->gap -= rounded;
		return false;
	}
	sample_draw(t);
	return true;
}

#endif
