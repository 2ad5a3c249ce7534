/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * The table of sites: (process, function, call stack). Finds the site of a stack that has
 * been walked, or makes it.
 *
 * A site is found by a 64-bit hash of its stack through an open index; two
 * stacks never drive each other out in silence, as they do in the kernel's own
 * stack map (11% of events at 3,900 stacks in 16,384 buckets). Sites are
 * numbered from 1 in order of appearance, so a reader visits those that exist
 * and no more; those of processes that ended are given back by user space
 * and used again. Each number has words of its own for a stack. The frames are
 * copied there once, when the site is new; it is published complete. What finds
 * no room is charged to the spare site of its process, which has an empty
 * stack, and is counted.
 */
#ifndef MT_SITES_BPF_H
#define MT_SITES_BPF_H

#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

#include "bpf/abi.h"
#include "bpf/count.bpf.h"
#include "bpf/hash.h"
#include "bpf/procs.bpf.h"
#include "bpf/python.bpf.h"
#include "bpf/ranges.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct mt_site);
} sites SEC(".maps");

/* open addressing: see MT_INDEX_GONE; the site has the whole hash */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} site_index SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} stack_words SEC(".maps");

/* Of all that finds no room, or has no stack. */
static __always_inline __u32 spare_site(__u32 proc)
{
	return mt_config.n_sites + MT_PROC_SLOT(proc);
}

/*
 * The functions below are global, not static: the verifier checks each of them
 * once, for any argument, instead of at each number of frames that a caller may
 * come with. Such a function must check whether a pointer it was given is NULL.
 */

/* Frame i of a stack that has been walked, and merged with those of Python. */
static __always_inline __u64 frame_at(const struct mt_scratch *s, __u32 i)
{
	const struct mt_python_walk *w = mt_config.python && s->key.python ? python_walk_at(s) : NULL;

	return w ? w->merged[i & (MT_MAX_DEPTH - 1)] : s->ip[i & (MT_MAX_DEPTH - 1)];
}

/* One frame of a new site's stack; 0 after the last. */
__noinline int keep_word(const struct mt_scratch *s, __u32 n, __u32 at, __u32 i)
{
	__u32 k = at + i;
	__u64 *w;

	if (!s || i >= n || i >= MT_MAX_DEPTH)
		return 0;
	w = bpf_map_lookup_elem(&stack_words, &k);
	if (w)
		*w = frame_at(s, i);
	return 1;
}

/* When a stack was first met, to the nanosecond: the code that it goes through is looked up as it was then. */
static __always_inline void keep_time(__u32 k)
{
	__u64 *w = bpf_map_lookup_elem(&stack_words, &k);

	if (w)
		*w = bpf_ktime_get_ns();
}

/* An allocation of this process is charged to a site without a stack. */
__noinline int lose_stack(__u32 proc, __u32 why)
{
	struct mt_proc *p = proc_at(proc);

	if (why < MT_N_COUNTERS)
		count(why);
	if (p)
		__sync_fetch_and_add(&p->lost_stacks, 1);
	return 0;
}

/* The block of this call finds no room: should its stack have found none either, it is charged to no site, and lost once. */
__noinline int lose_no_stack(const struct mt_thread *t, __u32 site)
{
	struct mt_proc *p;

	if (!t || !t->stack_lost || site < mt_config.n_sites)
		return 0;
	__sync_fetch_and_add(&mt_counters[MT_LOST_SITE_FULL], -1ULL);
	p = proc_at(t->proc);
	if (p)
		__sync_fetch_and_add(&p->lost_stacks, -1ULL);
	return 0;
}

/* A number that user space has given back, its record zeroed; 0 if there is none. */
static __noinline __u32 site_reuse(void)
{
	for (int i = 0; i < REUSE_TRIES; i++) {
		__u64 head = mt_free_sites;
		__u32 id = head;
		struct mt_site *site = id ? bpf_map_lookup_elem(&sites, &id) : NULL;

		if (!site)
			return 0;
		if (__sync_val_compare_and_swap(&mt_free_sites, head,
						((head >> 32) + 1) << 32 | (__u32)site->first_ns) == head)
			return id;
	}
	return 0;
}

static __always_inline __u32 site_number(void)
{
	__u32 id = mt_free_sites & 0xffffffff ? site_reuse() : 0;

	if (id || mt_sites_used + 1 >= mt_config.n_sites)
		return id;
	id = __sync_fetch_and_add(&mt_sites_used, 1) + 1;
	if (id < mt_config.n_sites)
		return id;
	__sync_fetch_and_add(&mt_sites_used, -1ULL);
	return 0;
}

/* The last of the room, while others are giving up theirs, is for all: not for one that has half of it. */
static __always_inline bool has_enough(const struct mt_proc *p)
{
	return mt_sites_in_use > mt_config.max_stacks + (mt_config.n_sites - mt_config.max_stacks) / 2 && p &&
	       p->n_sites > mt_config.max_stacks / 2;
}

/* A new site, filled; 0 if there is no room. No other program knows of it yet. */
__noinline __u32 site_new(const struct mt_scratch *s, __u32 n, __u32 proc, __u32 func, __u64 h)
{
	struct mt_proc *p = proc_at(proc);
	struct mt_site *site;
	__u32 id, at;

	if (!s)
		return 0;
	id = has_enough(p) ? 0 : site_number();
	site = id ? bpf_map_lookup_elem(&sites, &id) : NULL;
	if (!site) {
		lose_stack(proc, MT_LOST_SITE_FULL);
		return 0;
	}
	__sync_fetch_and_add(&mt_sites_in_use, 1);
	if (p)
		__sync_fetch_and_add(&p->n_sites, 1);
	/* a word for the time comes before the frames */
	at = (id - 1) * (mt_config.depth + 1) + 1;
	if (at + mt_config.depth > mt_config.n_words) {
		lose_stack(proc, MT_LOST_STACK_FULL);
		n = 0;
	}
	keep_time(at - 1);
#pragma clang loop unroll(disable)
	for (__u32 i = 0; i < MT_MAX_DEPTH; i++)
		if (i >= mt_config.depth || !keep_word(s, n, at, i))
			break;
	site->hash = h;
	site->proc = proc;
	site->func = func;
	site->tid = MT_MEMO_TID(&s->key);
	site->first_ns = clock_ns();
	/* an exchange: it is seen after all of the above by the reader in user space */
	__sync_lock_test_and_set(&site->stack, MT_STACK(at, n, s->walk.end) |
						       (mt_config.within && s->walk.within ? MT_STACK_WITHIN : 0));
	return id;
}

/* Is what the index has there the site of this hash? */
static __always_inline bool site_is(__u64 seen, __u64 h)
{
	__u32 id = seen & MT_SITE_MASK;
	struct mt_site *site;

	if ((seen ^ h) & ~MT_SITE_MASK)
		return false;
	site = bpf_map_lookup_elem(&sites, &id);
	return site && site->hash == h;
}

/*
 * Stacks that frame pointers do not lead through: another one, found by them, may have the same
 * frames, and be wrong.
 */
#define NO_RECORDS_SALT 0x2545f4914f6cdd1dULL

/* What is not proven is no site of what is. */
#define GUESSED_SALT 0x9e6c63d0876a9a47ULL

/* Of the n frames in s->ip, whose own hash is in s->walk. */
static __always_inline __u64 site_hash(const struct mt_scratch *s, __u32 n, __u32 proc, __u32 func)
{
	__u64 salt = s->walk.guessed ? GUESSED_SALT : s->walk.no_records ? NO_RECORDS_SALT : 0;

	return mt_mix(salt + s->walk.hash + ((s->key.gen_tid >> 32) << 32 | func << 16 | proc) * 0xbf58476d1ce4e5b9ULL + n) | 1;
}

/*
 * The functions below, of the n frames in s->ip, are two, because the programs' stack is small and
 * because one loop for both takes the verifier long.
 */

/* The site that there is; 0: none yet. */
__noinline __u32 site_known(const struct mt_scratch *s, __u32 n, __u32 proc, __u32 func)
{
	__u64 h;

	if (!s)
		return 0;
	h = site_hash(s, n, proc, func);
#pragma clang loop unroll(disable)
	for (__u32 i = 0; i < MT_SITE_PROBES; i++) {
		__u32 k = mt_index_of(h, i, mt_config.n_index);
		__u64 *slot = bpf_map_lookup_elem(&site_index, &k), seen;

		if (!slot)
			break;
		seen = *slot;
		if (!seen)
			break;
		if (site_is(seen, h))
			return seen & MT_SITE_MASK;
	}
	return 0;
}

/*
 * Before site_add(): is the stack inside of a function of --within? By the caller of that, since one more call below it
 * takes more stack than kernels before 6.2 allow.
 */
static __always_inline void note_within(struct mt_scratch *s, __u32 n, __u32 proc)
{
	/* of those that are addresses */
	if (mt_config.within)
		s->walk.within = stack_is_within(s, s->key.python ? s->walk.n : n, proc);
}

/* A new site, of what is not known, with the first n_kept frames; or another thread's, which has made it since. */
__noinline __u32 site_add(struct mt_scratch *s, __u32 n, __u32 n_kept, __u32 proc, __u32 func)
{
	__u32 mine = 0;
	__u64 h;

	if (!s)
		return spare_site(proc);
	h = site_hash(s, n, proc, func);
#pragma clang loop unroll(disable)
	for (__u32 i = 0; i < MT_SITE_PROBES; i++) {
		__u32 k = mt_index_of(h, i, mt_config.n_index);
		__u64 *slot = bpf_map_lookup_elem(&site_index, &k), seen;

		if (!slot)
			break;
		seen = *slot;
		if (!seen || seen == MT_INDEX_GONE) {
			__u64 was;

			if (!mine)
				mine = site_new(s, n_kept, proc, func, h);
			if (!mine)
				return spare_site(proc);
			/*
			 * if two threads meet here with one stack, the loser's site stays empty; if one of them
			 * is given a place that came free before the other's, there are two: a cut adds them up
			 */
			was = __sync_val_compare_and_swap(slot, seen, (h & ~MT_SITE_MASK) | mine);
			if (was == seen)
				return mine;
			seen = was;
		}
		if (site_is(seen, h))
			return seen & MT_SITE_MASK;
	}
	lose_stack(proc, MT_LOST_SITE_FULL);
	return spare_site(proc);
}

/* An old or a new one. */
static __always_inline __u32 site_of_stack(struct mt_scratch *s, __u32 n, __u32 proc, __u32 func)
{
	__u32 site = site_known(s, n, proc, func);

	if (site)
		return site;
	note_within(s, n, proc);
	return site_add(s, n, n, proc, func);
}

#endif
