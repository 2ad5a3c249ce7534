// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns what was found out about the kernel. Each row has a function that tries the thing on nothing of importance. */
#include <bpf/bpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>

#include "probe/features.h"
#include "probe/multi.h"
#include "util/util.h"

static enum feature_state by_errno(int err)
{
	return err == EPERM || err == EACCES ? FEATURE_DENIED : FEATURE_MISSING;
}

static enum feature_state try_btf(void)
{
	if (!access("/sys/kernel/btf/vmlinux", R_OK))
		return FEATURE_OK;
	return by_errno(errno);
}

/* A uprobe program that does nothing. */
static int load_nothing(enum bpf_prog_type type, unsigned int attach_type)
{
	static const struct bpf_insn nothing[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = attach_type);

	return bpf_prog_load(type, "mt_nothing", "GPL", nothing, ARRAY_SIZE(nothing), &opts);
}

static enum feature_state try_bpf(void)
{
	_cleanup_close_ int fd = load_nothing(BPF_PROG_TYPE_KPROBE, 0);

	return fd >= 0 ? FEATURE_OK : by_errno(errno);
}

static enum feature_state try_raw_tp(void)
{
	_cleanup_close_ int fd = load_nothing(BPF_PROG_TYPE_RAW_TRACEPOINT, 0);
	_cleanup_close_ int link = -1;

	if (fd < 0)
		return by_errno(errno);
	link = bpf_raw_tracepoint_open("sched_process_exit", fd);
	return link >= 0 ? FEATURE_OK : by_errno(errno);
}

/*
 * The kind of perf event is there; whether this user may open one follows from
 * its capabilities: CAP_SYS_ADMIN (CAP_PERFMON was enough until 2025).
 */
static enum feature_state try_perf_uprobe(void)
{
	if (access("/sys/bus/event_source/devices/uprobe/type", R_OK))
		return FEATURE_MISSING;
	return geteuid() == 0 ? FEATURE_OK : FEATURE_DENIED;
}

/*
 * Asked with a path that is no file: a kernel that knows the link type gets as
 * far as the path and says EBADF. With the pid -1 a kernel that filters by
 * process says EINVAL before that; the first 6.6 filtered by thread and looked
 * the thread up (ESRCH): of no use here.
 */
static enum feature_state try_uprobe_multi(void)
{
	_cleanup_close_ int fd = load_nothing(BPF_PROG_TYPE_KPROBE, ATTACH_UPROBE_MULTI);
	_cleanup_close_ int link = -1;
	uint64_t offset = 0;

	if (fd < 0)
		return by_errno(errno);
	link = uprobe_multi__link(fd, "/", &offset, NULL, 1, false, 0);
	if (link >= 0 || errno != EBADF)
		return by_errno(link >= 0 ? ENOSYS : errno);
	link = uprobe_multi__link(fd, "/", &offset, NULL, 1, false, -1);
	return link < 0 && errno == EINVAL ? FEATURE_OK : FEATURE_MISSING;
}

const struct feature features[N_FEATURES] = {
	[FEATURE_BTF] = { "BTF", try_btf, "/sys/kernel/btf/vmlinux",
			  "a kernel with CONFIG_DEBUG_INFO_BTF=y is needed (Debian 11+, Ubuntu 20.10+, Fedora 31+ have it)", true },
	[FEATURE_BPF] = { "BPF programs", try_bpf, "may be loaded",
			  "run with sudo, or give CAP_BPF and CAP_PERFMON; in a container, start it with --privileged", true },
	[FEATURE_RAW_TP] = { "exec and exit", try_raw_tp, "raw tracepoints",
			     "run with sudo, or give CAP_BPF and CAP_PERFMON", true },
	[FEATURE_PERF_UPROBE] = { "uprobes", try_perf_uprobe, "perf events",
				  "a kernel with CONFIG_UPROBE_EVENTS=y, and root (CAP_SYS_ADMIN), are needed", false },
	[FEATURE_UPROBE_MULTI] = { "uprobe_multi", try_uprobe_multi, "filter per process",
				   "kernel 6.6 or later has it; malloctrace works without it, attaches slower and costs the target more", false },
};

enum feature_state feature__state(enum feature_id id)
{
	static struct {
		bool known;
		enum feature_state state;
	} found[N_FEATURES];

	if (!found[id].known) {
		found[id].state = features[id].try();
		found[id].known = true;
	}
	return found[id].state;
}

bool feature__has(enum feature_id id)
{
	return feature__state(id) == FEATURE_OK;
}

bool features__can_trace(void)
{
	for (enum feature_id id = 0; id < N_FEATURES; id++)
		if (features[id].needed && !feature__has(id))
			return false;
	return feature__has(FEATURE_UPROBE_MULTI) || feature__has(FEATURE_PERF_UPROBE);
}
