/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Strings in the target's memory: their length, and what is requested of jemalloc's mallctl.
 *
 * strdup and its like allocate a string and its end. No argument has the size: after the
 * call it is found in the block, and where only the entry is seen, in what is about to be copied.
 */
#ifndef MT_STRINGS_BPF_H
#define MT_STRINGS_BPF_H

#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

#define STRING_PART 128
#define STRING_PARTS (1 << 20)	/* a longer string is counted as unreadable */

struct string_walk {
	__u64 addr, len, most;
	__u64 found;		/* its end, or most */
};

static long string_turn(__u32 i, void *arg)
{
	struct string_walk *w = arg;
	char part[STRING_PART];
	long n = bpf_probe_read_user_str(part, sizeof(part), (const void *)(w->addr + w->len));

	if (n < 0)
		return 1;
	/*
	 * older kernels (6.1) do not count the end of an empty string, which the rest is where the
	 * last part was full
	 */
	if (!n)
		n = 1;
	/* what does not end here is cut, and given an end: that one does not count either */
	w->len += n - 1;
	w->found = n < STRING_PART || w->len >= w->most;
	return w->found;
}

/*
 * The verifier of 6.1 takes what a loop leaves on the stack for what was there before, and drops
 * code after a branch on it, in silence: what a global function returns may be any number.
 */
__noinline __u64 string_found(const struct string_walk *w)
{
	return w ? w->found : 0;
}

/* Bytes that a copy of the string needs, of which at most `most` characters are taken; ~0: it could not be read. */
__noinline __u64 string_size(__u64 addr, __u64 most)
{
	struct string_walk w = { .addr = addr, .most = most };

	if (most)
		bpf_loop(STRING_PARTS, string_turn, &w, 0);
	if (most && !string_found(&w))
		return ~0ULL;
	return (w.len < most ? w.len : most) + 1;
}

/* Eight characters as they lie in memory, the first of which is the lowest byte. */
#define CHARS(a, b, c, d, e, f, g, h)								\
	((__u64)(a) | (__u64)(b) << 8 | (__u64)(c) << 16 | (__u64)(d) << 24 | (__u64)(e) << 32 |	\
	 (__u64)(f) << 40 | (__u64)(g) << 48 | (__u64)(h) << 56)

#define ARENA_NAME_MAX 32	/* "arena.4294967295.destroy" */
#define ARENA_NAME_MIN 14	/* "arena.0.reset", with its end */

/* Does this name request jemalloc's mallctl to free all blocks of an arena: "arena.N.destroy", "arena.N.reset"? */
__noinline int empties_arena(__u64 name)
{
	__u64 s[ARENA_NAME_MAX / 8] = {}, end = 0;
	long n = bpf_probe_read_user_str(s, sizeof(s), (const void *)name);

	if (n < ARENA_NAME_MIN || s[0] << 16 != CHARS(0, 0, 'a', 'r', 'e', 'n', 'a', '.'))
		return 0;
	if (bpf_probe_read_user(&end, sizeof(end), (const void *)(name + n - 1 - sizeof(end))))
		return 0;
	return end == CHARS('.', 'd', 'e', 's', 't', 'r', 'o', 'y') ||
	       end >> 16 == CHARS('.', 'r', 'e', 's', 'e', 't', 0, 0);
}

#endif
