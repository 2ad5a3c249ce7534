/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* How large a block is: by the arguments of the call that requests it, or by the block itself. */
#ifndef MT_SIZES_BPF_H
#define MT_SIZES_BPF_H

#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

#include "bpf/abi.h"
#include "bpf/arch.bpf.h"
#include "bpf/count.bpf.h"
#include "bpf/strings.bpf.h"

#define UNREADABLE (~0ULL)	/* instead of a size or an address */

/* --min-size, --max-size: are blocks of this size recorded? */
static __always_inline bool is_size_recorded(__u64 size)
{
	return size >= mt_config.min_size && size <= mt_config.max_size;
}

/* The product, or the largest number if it is larger than that. */
static __always_inline __u64 mul_sat(__u64 a, __u64 b)
{
	if ((a | b) >> 32 && b) {
		__u64 limit = ~0ULL / b;

		/* or clang makes a 128-bit multiplication of it, which BPF has not */
		asm volatile("" : "+r"(limit));
		if (a > limit)
			return ~0ULL;
	}
	return a * b;
}

/* What the arguments at an entry request. */
static __always_inline __u64 size_asked(const mt_regs *ctx, __u64 cookie)
{
	__u64 size = arch_arg(ctx, MT_COOKIE_SIZE(cookie));
	__u32 i = MT_COOKIE_COUNT(cookie);

	if (cookie & MT_COOKIE_STRING) {
		/* in full mode the size is read from the block; until then not 0, for which malloc may give no block */
		if (mt_config.mode != MT_MODE_COUNT)
			return 1;
		return string_size(size, i < MT_N_ARGS ? arch_arg(ctx, i) : ~0ULL);
	}
	return i < MT_N_ARGS ? mul_sat(size, arch_arg(ctx, i)) : size;
}

/*
 * What glibc set aside for a block, as malloc_usable_size() returns: the word before
 * it holds the size of its chunk and three flags. A chunk may use the first word
 * of the next one, but for those that have a mapping of their own.
 */
#define CHUNK_FLAGS 7ULL
#define CHUNK_MMAPPED 2ULL

static __always_inline __u64 size_set_aside(__u64 addr)
{
	__u64 head, own;

	if (bpf_probe_read_user(&head, sizeof(head), (const void *)(addr - sizeof(head))))
		return UNREADABLE;
	own = head & CHUNK_MMAPPED ? 16 : 8;
	head &= ~CHUNK_FLAGS;
	return head > own ? head - own : 0;
}

#endif
