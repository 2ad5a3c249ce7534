/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * What strdup and its like allocate: a string and its end. No argument has the
 * size; behind the call the block itself tells it, and where only the entry is
 * seen, what is about to be copied does.
 */
#ifndef MT_STRINGS_BPF_H
#define MT_STRINGS_BPF_H

#define STRING_PART 128
#define STRING_PARTS (1 << 20)	/* a longer string is told as unreadable */

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
	/* older kernels (6.1) do not count the end of an empty string, which the rest is where the last part was full */
	if (!n)
		n = 1;
	/* what does not end here is cut, and given an end: that one does not count either */
	w->len += n - 1;
	w->found = n < STRING_PART || w->len >= w->most;
	return w->found;
}

/*
 * The verifier of 6.1 takes what a loop leaves on the stack for what was there before, and drops code behind a branch on it,
 * in silence: what a global function returns may be any number.
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

#endif
