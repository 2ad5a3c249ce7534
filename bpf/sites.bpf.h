/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Sites and stacks: which (process, function, call stack) an event belongs to.
 *
 * A site is found by a 64-bit hash of its stack through an open index; two
 * stacks never drive each other out in silence, as they do in the kernel's own
 * stack map (11% of events at 3,900 stacks in 16,384 buckets). Sites are
 * numbered from 1 in order of appearance, so a reader visits those that exist
 * and no more. The frames are copied into an arena of words once, when the site
 * is new; it is published complete. What finds no room is charged to the spare
 * site of its process, which has an empty stack, and is counted.
 */
#ifndef MT_SITES_BPF_H
#define MT_SITES_BPF_H

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct mt_site);
} sites SEC(".maps");

/* open addressing: the upper 44 bits of the hash, and the site's number; the site has the whole hash */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
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

/*
 * Buffers to walk a stack in: not per CPU, because a uprobe program can be
 * preempted and another would write into its buffer; claimed by a flag instead.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct mt_scratch);
} scratch SEC(".maps");

#define SITE_PROBES 64
#define SCRATCH_TRIES 8
#define SCRATCH_PER_CPU 4

static __always_inline struct mt_scratch *scratch_claim(void)
{
	__u32 first = bpf_get_smp_processor_id() * SCRATCH_PER_CPU;

	for (int i = 0; i < SCRATCH_TRIES; i++) {
		__u32 k = (first + i) % mt_n_scratch;
		struct mt_scratch *s = bpf_map_lookup_elem(&scratch, &k);

		if (s && !s->busy && !__sync_lock_test_and_set(&s->busy, 1))
			return s;
	}
	count(MT_LOST_SCRATCH_BUSY);
	return NULL;
}

static __always_inline void scratch_release(struct mt_scratch *s)
{
	/* an exchange, not a store: our reads of the buffer come before it */
	__sync_lock_test_and_set(&s->busy, 0);
}

/*
 * How the frame-pointer walk that bpf_get_stack made came to its end: it does
 * not tell, so the walk is made again. Only when a site is new.
 */
__noinline int walk_end(__u64 fp)
{
	for (int i = 0; i < MT_KERNEL_DEPTH + 1; i++) {
		__u64 frame[2];

		if (!fp)
			return MT_END_WHOLE;
		if (fp & 7)
			return MT_END_NO_RULE;
		if (bpf_probe_read_user(frame, sizeof(frame), (const void *)fp))
			return MT_END_UNREADABLE;
		if (!frame[1])
			return MT_END_WHOLE;
		if (frame[0] && frame[0] <= fp)
			return MT_END_NO_RULE;
		fp = frame[0];
	}
	return MT_END_DEPTH;
}

/*
 * The functions below are global, not static: the verifier looks at each of them
 * once, for any argument, instead of at each number of frames that a caller may
 * come with. Such a function must ask whether a pointer it was given is NULL.
 */
__noinline __u64 stack_hash(struct mt_scratch *s, __u32 n, __u32 proc, __u32 func)
{
	__u64 sigreturn;

	/* two lanes: the multiplications of one do not wait for the other's */
	__u64 a = 0x243f6a8885a308d3ULL + proc, b = 0x13198a2e03707344ULL + func;

	if (!s)
		return 0;
	sigreturn = s->walk.sigreturn;
#pragma clang loop unroll(disable)
	for (__u32 i = 0; i < MT_MAX_DEPTH; i += 2) {
		if (i >= n)
			break;
		if (s->ip[i] == sigreturn)
			s->walk.met_signal = 1;
		a = (a ^ s->ip[i]) * 0x9e3779b97f4a7c15ULL;
		a ^= a >> 32;
		if (i + 1 < n) {
			if (s->ip[i + 1] == sigreturn)
				s->walk.met_signal = 1;
			b = (b ^ s->ip[i + 1]) * 0xbf58476d1ce4e5b9ULL;
			b ^= b >> 32;
		}
	}
	return mix(a + b * 31 + n) | 1;
}

/* One frame of a new site's stack; 0 behind the last. */
__noinline int keep_word(const struct mt_scratch *s, __u32 n, __u32 at, __u32 i)
{
	__u32 k = at + i;
	__u64 *w;

	if (!s || i >= n || i >= MT_MAX_DEPTH)
		return 0;
	w = bpf_map_lookup_elem(&stack_words, &k);
	if (w)
		*w = s->ip[i];
	return 1;
}

/* A new site, filled; 0 if there is no room. Nobody else knows of it yet. */
__noinline __u32 site_new(const struct mt_scratch *s, __u32 n, __u32 proc, __u32 func, __u64 h)
{
	__u32 id = 0, at;
	struct mt_site *site;

	if (!s)
		return 0;
	if (mt_words_used + n > mt_n_words) {
		count(MT_LOST_STACK_FULL);
		return 0;
	}
	if (mt_sites_used + 1 >= mt_n_sites || (id = __sync_fetch_and_add(&mt_sites_used, 1) + 1) >= mt_n_sites) {
		if (id)
			__sync_fetch_and_add(&mt_sites_used, -1ULL);
		count(MT_LOST_SITE_FULL);
		return 0;
	}
	site = bpf_map_lookup_elem(&sites, &id);
	if (!site)
		return 0;
	at = __sync_fetch_and_add(&mt_words_used, n);
	if (at + n > mt_n_words) {
		/* others took the last words since we looked: a site without a stack */
		count(MT_LOST_STACK_FULL);
		n = 0;
	}
#pragma clang loop unroll(disable)
	for (__u32 i = 0; i < MT_MAX_DEPTH; i++)
		if (!keep_word(s, n, at, i))
			break;
	site->hash = h;
	site->proc = proc;
	site->func = func;
	site->first_ns = clock_ns();
	/* an exchange: behind all of the above, for the reader in user space */
	__sync_lock_test_and_set(&site->stack, MT_STACK(at, n, s->walk.end));
	return id;
}

/*
 * fp: for the kernel's walk, which does not tell how it ended; 0: s->walk.end
 * says so. Returns 0 if the stack is not right: a frame-pointer walk leaves out
 * the function that a signal interrupted.
 */
__noinline __u32 site_of_stack(struct mt_scratch *s, __u32 n, __u32 proc, __u32 func, __u64 fp)
{
	__u64 h = stack_hash(s, n, proc, func), tag = h & ~MT_SITE_MASK;
	__u32 mine = 0;

	if (!s)
		return mt_n_sites + proc;
	if (s->walk.met_signal)
		return 0;
#pragma clang loop unroll(disable)
	for (__u32 i = 0; i < SITE_PROBES; i++) {
		__u32 k = ((__u32)(h >> 32) + i) & (mt_n_index - 1);
		__u64 *slot = bpf_map_lookup_elem(&site_index, &k), seen;
		struct mt_site *site;
		__u32 id;

		if (!slot)
			break;
		seen = *slot;
		if (!seen) {
			if (!mine) {
				if (fp)
					s->walk.end = n >= mt_depth || n >= MT_KERNEL_DEPTH ? MT_END_DEPTH : walk_end(fp);
				mine = site_new(s, n, proc, func, h);
			}
			if (!mine)
				return mt_n_sites + proc;
			/* if two threads meet here with one stack, the loser's site stays empty */
			seen = __sync_val_compare_and_swap(slot, 0, tag | mine);
			if (!seen)
				return mine;
		}
		if ((seen & ~MT_SITE_MASK) != tag)
			continue;
		id = seen & MT_SITE_MASK;
		site = bpf_map_lookup_elem(&sites, &id);
		if (site && site->hash == h)
			return id;
	}
	count(MT_LOST_SITE_FULL);
	return mt_n_sites + proc;
}

/* The site of an allocation, at its return: it returns to caller, and sp is the stack pointer then. */
static __always_inline __u32 site_here(mt_regs *ctx, struct mt_thread *t, __u32 func, __u64 caller, __u64 sp)
{
	struct mt_scratch *s = scratch_claim();
	__u32 proc = t->proc, site = mt_n_sites + proc, n;
	struct mt_proc *p = proc_at(proc);
	__u64 fp = 0;

	if (!s)
		return site;
	s->walk.met_signal = 0;
	s->walk.sigreturn = 0;
	if (p && p->walk == MT_WALK_TABLE) {
		n = walk_tables(ctx, s, proc, caller, sp);
	} else {
		long got = bpf_get_stack(ctx, s->ip, mt_depth * 8, BPF_F_USER_STACK);

		n = got < 8 ? 1 : (__u32)got / 8;
		/* on a `ret` the first entry is still inside the allocator; behind a uretprobe it is the caller already */
		s->ip[0] = caller;
		fp = arch_fp(ctx);
		s->walk.end = MT_END_WHOLE;
		s->walk.sigreturn = p ? p->sigreturn : 0;
	}
	t->frames += n;
	site = site_of_stack(s, n, proc, func, fp);
	if (!site) {
		s->walk.met_signal = 0;
		s->walk.sigreturn = 0;
		n = walk_tables(ctx, s, proc, caller, sp);
		site = site_of_stack(s, n, proc, func, 0);
	}
	scratch_release(s);
	return site;
}

#endif
