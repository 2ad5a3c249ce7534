/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Settings, the state that all programs share, the clock, the classes of histograms, and one
 * counter per way of losing something.
 */
#ifndef MT_COUNT_BPF_H
#define MT_COUNT_BPF_H

#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

#include "bpf/abi.h"

/* Set before loading: no program changes it. */
const volatile struct mt_config mt_config = {};

#define MT_OWN_LINE __attribute__((aligned(64)))

/* Bit 0 is the bank that events are charged to; MT_CUT_FROZEN. Written by user space, and by spots. */
volatile __u64 mt_cut MT_OWN_LINE = MT_CUT_FROZEN;
/*
 * Moves when it has changed which processes are traced; then threads look it up again. Beside
 * mt_cut, which is read anyway. Never 0.
 */
volatile __u32 mt_filter_gen = 1;
/* Points of allocation functions come or go now, by so many hands; and how often that was. */
volatile __u32 mt_points_busy = 0;
volatile __u32 mt_points_gen = 0;
/* Blocks in the overflow map: most of the time there are none, and it need not be searched. */
volatile __u64 mt_n_over MT_OWN_LINE = 0;
/* Lives that have begun. */
volatile __u64 mt_lives_begun = 0;
/* Lives that have ended, and those of them whose blocks user space has swept away. */
volatile __u64 mt_lives_ended = 0;
volatile __u64 mt_lives_swept = 0;
volatile __u64 mt_sites_used = 0;
volatile __u32 mt_procs_used = 0;
/* What is in use of them: user space gives some back. */
volatile __u64 mt_sites_in_use = 0;
volatile __u64 mt_slots_in_use = 0;
/* Sites and slots that are free again: the first of a list, with a count above it that moves at each change. */
volatile __u64 mt_free_sites = 0;
volatile __u64 mt_free_slots = 0;
/* The trace has ended: what begins now is no part of it, so nothing is lost if there is no room for it. */
volatile __u64 mt_over = 0;
/* --mode leak: how often points were met while nothing was recorded; addresses may have come again then. */
volatile __u64 mt_unrecorded = 0;
__u64 mt_counters[MT_N_COUNTERS] MT_OWN_LINE = {};

/* seeds a thread's random numbers */
volatile __u64 mt_threads_seen = 0;
/* serial numbers of threads that were given */
volatile __u64 mt_serials = 0;
volatile __u32 mt_n_names = 0;

/* -- CMD: its entry point was reached */
volatile __u32 mt_started = 0;
/* CMD, which is to stand still after an exec, unless ptrace stops it; 0: none */
volatile __u32 mt_hold_pid = 0;
/* malloctrace, which lets it go on */
volatile __u32 mt_hold_by = 0;

/* Processes that a traced one started, with memory of their own. */
volatile __u64 mt_n_forked = 0;
/* Programs that were begun, and not traced because malloctrace's user may not look into them. */
volatile __u64 mt_n_closed = 0;

/* malloctrace's own pid namespace: filled by mt_hello, which malloctrace runs on itself */
__u64 mt_ns MT_OWN_LINE = 0;
__u32 mt_ns_level = 0;
__u64 mt_hello_ns = 0;				/* the programs' clock, read there */

static __always_inline void count(enum mt_counter c)
{
	__sync_fetch_and_add(&mt_counters[c], 1);
}

/* May there be blocks of processes that have ended? */
static __always_inline bool some_are_dead(void)
{
	return mt_lives_ended != mt_lives_swept;
}

/* In the unit that blocks' births are in. */
static __always_inline __u64 clock_now(void)
{
	/* 3 ns against 36 (Neoverse V1) */
	if (mt_config.tick_ns)
		return bpf_jiffies64();
	return bpf_ktime_get_ns();
}

static __always_inline __u64 in_ns(__u64 clock)
{
	return mt_config.tick_ns ? clock * mt_config.tick_ns : clock;
}

static __always_inline __u64 clock_ns(void)
{
	return in_ns(clock_now());
}

/*
 * The class of a histogram: the number of significant bits, so that class i
 * holds what is below 1 << i. Global, or the verifier follows each outcome
 * through all that comes after it.
 */
__noinline __u32 significant_bits(__u64 v)
{
	__u32 c = 0;

	if (v >> 32) {
		c += 32;
		v >>= 32;
	}
	if (v >> 16) {
		c += 16;
		v >>= 16;
	}
	if (v >> 8) {
		c += 8;
		v >>= 8;
	}
	if (v >> 4) {
		c += 4;
		v >>= 4;
	}
	if (v >> 2) {
		c += 2;
		v >>= 2;
	}
	if (v >> 1) {
		c += 1;
		v >>= 1;
	}
	return c + v;
}

/* of one byte */
#define BITS_1(n) n
#define BITS_2(n) BITS_1(n), BITS_1(n)
#define BITS_4(n) BITS_2(n), BITS_2(n)
#define BITS_8(n) BITS_4(n), BITS_4(n)
#define BITS_16(n) BITS_8(n), BITS_8(n)
#define BITS_32(n) BITS_16(n), BITS_16(n)
#define BITS_64(n) BITS_32(n), BITS_32(n)
#define BITS_128(n) BITS_64(n), BITS_64(n)
static const __u8 bits_of_byte[256] = { 0,	     BITS_1(1),	 BITS_2(2),  BITS_4(3),	 BITS_8(4),
					BITS_16(5), BITS_32(6), BITS_64(7), BITS_128(8) };

/* Most blocks are small, and most lifetimes less than a tick: a table is cheaper than a call. */
static __always_inline __u32 log2_class(__u64 v)
{
	__u32 c;

	if (v < 256) {
		/*
		 * 6.12 follows branches that cannot be, such as one by a number of ticks in ns: the
		 * index is bounded there as well
		 */
		asm volatile("" : "+r"(v));
		return bits_of_byte[v & 255] & 15;
	}
	c = significant_bits(v);
	return c < MT_N_CLASSES ? c : MT_N_CLASSES - 1;
}

/* *at = max(*at, v), unless another thread keeps winning the race: then its value is the newer one. */
__noinline int atomic_max(__u64 *at, __u64 v)
{
	__u64 seen;

	if (!at)
		return 0;
	seen = *(volatile __u64 *)at;
	for (int i = 0; i < 4; i++) {
		__u64 was;

		if (seen >= v)
			return 0;
		was = __sync_val_compare_and_swap(at, seen, v);
		if (was == seen)
			return 0;
		seen = was;
	}
	return 0;
}

#endif
