/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Whom malloctrace's user may look into. With CAP_SYS_PTRACE that is everybody. Without it the programs, which see every
 * process, go by the rules that the kernel has for ptrace (__ptrace_may_access): all user and group ids of the process are
 * this user's, it has no capability that malloctrace has not, and it lets itself be dumped, which a program that its user may
 * not read does not. It is asked where a thread is met for the first time, or anew, and at exec: nothing is recorded of a
 * program that has gained other rights, not even until user space has heard of it.
 */
#ifndef MT_GUARD_BPF_H
#define MT_GUARD_BPF_H

#include "vmlinux.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "bpf/count.bpf.h"

#define GUARDED __attribute__((preserve_access_index))

struct id___guard {
	__u32 val;
};

struct caps___guard {
	__u64 val;		/* before 6.3 two halves: the same bytes */
};

struct user_namespace___guard {
	struct user_namespace___guard *parent;
	struct id___guard owner;
} GUARDED;

struct cred___guard {
	struct id___guard uid, gid, suid, sgid, euid, egid;
	struct caps___guard cap_permitted, cap_effective;
	struct user_namespace___guard *user_ns;
} GUARDED;

struct task_struct___guard {
	const struct cred___guard *real_cred;
	struct mm_struct *mm;
} GUARDED;

struct mm_struct___flags {
	unsigned long flags;
} GUARDED;

/* 6.18 */
struct mm_flags___guard {
	unsigned long __mm_flags[1];
};

struct mm_struct___bitmap {
	struct mm_flags___guard flags;
} GUARDED;

#define DUMPABLE_MASK 3
#define DUMPABLE_BY_USER 1

/* malloctrace's own: filled by mt_hello */
__u32 mt_own_uid = 0, mt_own_gid = 0;
__u64 mt_own_caps = 0, mt_own_user_ns = 0;

static __always_inline __u64 caps_at(const void *at)
{
	__u64 caps = 0;

	bpf_probe_read_kernel(&caps, sizeof(caps), at);
	return caps;
}

static __always_inline __u32 id_at(const void *at)
{
	__u32 id = ~0u;

	bpf_probe_read_kernel(&id, sizeof(id), at);
	return id;
}

/* Run by malloctrace on itself. What it gives up later changes nothing in whom it may look into. */
static __always_inline void know_self(struct task_struct *task)
{
	const struct cred___guard *c = BPF_CORE_READ((struct task_struct___guard *)task, real_cred);

	if (mt_own_user_ns)
		return;
	mt_own_uid = id_at(&c->euid);
	mt_own_gid = id_at(&c->egid);
	mt_own_caps = caps_at(&c->cap_effective);
	mt_own_user_ns = (__u64)BPF_CORE_READ(c, user_ns);
}

static __always_inline bool is_dumpable(const struct mm_struct *mm)
{
	unsigned long flags = 0;

	/* one that is about to end has none, and shows nothing */
	if (!mm)
		return true;
	if (bpf_core_field_exists(((struct mm_struct___flags *)0)->flags))
		flags = BPF_CORE_READ((struct mm_struct___flags *)mm, flags);
	else
		bpf_probe_read_kernel(&flags, sizeof(flags), &((struct mm_struct___bitmap *)mm)->flags);
	return (flags & DUMPABLE_MASK) == DUMPABLE_BY_USER;
}

/* In a user namespace that this user has made, all capabilities are this user's. */
static __always_inline bool has_no_more(const struct cred___guard *c)
{
	const struct user_namespace___guard *ns = BPF_CORE_READ(c, user_ns);

	if ((__u64)ns == mt_own_user_ns)
		return !(caps_at(&c->cap_permitted) & ~mt_own_caps);
	return (__u64)BPF_CORE_READ(ns, parent) == mt_own_user_ns && id_at(&ns->owner) == mt_own_uid;
}

static __noinline int may_see(struct task_struct *task)
{
	const struct cred___guard *c;

	if (!mt_config.own_only)
		return 1;
	c = BPF_CORE_READ((struct task_struct___guard *)task, real_cred);
	if (id_at(&c->uid) != mt_own_uid || id_at(&c->euid) != mt_own_uid || id_at(&c->suid) != mt_own_uid ||
	    id_at(&c->gid) != mt_own_gid || id_at(&c->egid) != mt_own_gid || id_at(&c->sgid) != mt_own_gid)
		return 0;
	return has_no_more(c) && is_dumpable(BPF_CORE_READ((struct task_struct___guard *)task, mm));
}

#endif
