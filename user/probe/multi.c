// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns nothing. */
#include <linux/bpf.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "probe/features.h"
#include "probe/multi.h"

/* The part of union bpf_attr for BPF_LINK_CREATE that older headers lack. */
struct link_create_uprobe_multi {
	uint32_t prog_fd, target_fd, attach_type, flags;
	uint64_t path, offsets, ref_ctr_offsets, cookies;
	uint32_t n, multi_flags, pid, pad;
};

#define UPROBE_MULTI_RETURN 1

int uprobe_multi__link(int prog_fd, const char *path, const uint64_t *offsets, const uint64_t *cookies, size_t n,
		       bool at_return, pid_t pid)
{
	struct link_create_uprobe_multi attr = {
		.prog_fd = prog_fd,
		.attach_type = ATTACH_UPROBE_MULTI,
		.path = (uintptr_t)path,
		.offsets = (uintptr_t)offsets,
		.cookies = (uintptr_t)cookies,
		.n = n,
		.multi_flags = at_return ? UPROBE_MULTI_RETURN : 0,
		.pid = pid,
	};

	return syscall(__NR_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));
}

int uprobe_multi__link_counted(int prog_fd, const char *path, const uint64_t *offsets,
			       const uint64_t *counters, const uint64_t *cookies, size_t n, pid_t pid)
{
	struct link_create_uprobe_multi attr = {
		.prog_fd = prog_fd,
		.attach_type = ATTACH_UPROBE_MULTI,
		.path = (uintptr_t)path,
		.offsets = (uintptr_t)offsets,
		.ref_ctr_offsets = (uintptr_t)counters,
		.cookies = (uintptr_t)cookies,
		.n = n,
		.pid = pid,
	};

	return syscall(__NR_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));
}
