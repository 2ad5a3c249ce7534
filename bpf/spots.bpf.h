/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Spots: places of the program that the user named. Each is an entry probe: a
 * uretprobe in a function of the user's would end the target when an exception
 * passes through it.
 *
 * A hit counts in the bank of its moment, as an allocation does, so that hits
 * and allocations of one cut are of the same instant.
 */
#ifndef MT_SPOTS_BPF_H
#define MT_SPOTS_BPF_H

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, MT_MAX_SPOTS);
	__type(key, __u32);
	__type(value, struct mt_spot);
} spots SEC(".maps");

/* Global, so that it is verified once and not for each of those that one instruction may be. */
__noinline int spot_reached(struct mt_thread *t, __u32 number)
{
	struct mt_spot *s = bpf_map_lookup_elem(&spots, &number);
	__u64 cut;

	if (!t || !s)
		return 0;
	cut = mt_cut;
	if (cut & MT_CUT_FROZEN)
		return 0;
	__sync_fetch_and_add(&s->number, 1);
	if (cut & 1)
		__sync_fetch_and_add(&s->hits[1], 1);
	else
		__sync_fetch_and_add(&s->hits[0], 1);
	return 0;
}

static __always_inline int on_spot(mt_regs *ctx)
{
	struct mt_thread *t;
	__u64 numbers;

	if (mt_cut & MT_CUT_FROZEN)
		return 0;
	t = thread_here();
	if (!t)
		return 0;
	numbers = bpf_get_attach_cookie(ctx);
	for (int i = 0; i < MT_SPOTS_AT_ONCE && numbers & 0xff; i++, numbers >>= 8)
		spot_reached(t, numbers & 0xff);
	return 0;
}

#endif
