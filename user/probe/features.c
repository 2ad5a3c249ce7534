// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns what was found out about the kernel. Each row has a function that tries the thing on nothing of importance. */
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>

#include "probe/features.h"
#include "probe/multi.h"
#include "probe/uretprobes.h"
#include "util/parse.h"
#include "util/rights.h"
#include "util/util.h"

static bool no_files;	/* something could not be tried for lack of them */

static enum feature_state by_errno(int err)
{
	no_files |= err == EMFILE || err == ENFILE;
	return err == EPERM || err == EACCES ? FEATURE_DENIED : FEATURE_MISSING;
}

static enum feature_state try_btf(void)
{
	if (!access("/sys/kernel/btf/vmlinux", R_OK))
		return FEATURE_OK;
	return by_errno(errno);
}

static int load(enum bpf_prog_type type, unsigned int attach_type, const struct bpf_insn *insns, size_t n)
{
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = attach_type);

	return bpf_prog_load(type, "mt_nothing", "GPL", insns, n, &opts);
}

/* A program that does nothing. */
static int load_nothing(enum bpf_prog_type type, unsigned int attach_type)
{
	static const struct bpf_insn nothing[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};

	return load(type, attach_type, nothing, ARRAY_SIZE(nothing));
}

static enum feature_state try_bpf(void)
{
	_cleanup_close_ int fd = load_nothing(BPF_PROG_TYPE_KPROBE, 0);

	return fd >= 0 ? FEATURE_OK : by_errno(errno);
}

/* Lockdown takes the helper away; then the programs look to the verifier as if they called one that does not exist. */
static enum feature_state try_read_kernel(void)
{
	static const struct bpf_insn reader[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = BPF_REG_1, .src_reg = BPF_REG_10 },
		{ .code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = BPF_REG_1, .imm = -8 },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_2, .imm = 8 },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_3, .imm = 0 },
		{ .code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_probe_read_kernel },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	_cleanup_close_ int fd = load(BPF_PROG_TYPE_KPROBE, 0, reader, ARRAY_SIZE(reader));

	/* EACCES is the verifier's too: whether this user may load a program at all is another row */
	return fd >= 0 ? FEATURE_OK : feature__state(FEATURE_BPF) == FEATURE_OK ? FEATURE_MISSING : FEATURE_DENIED;
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

/* On a path that is no file: a user who may not gets EACCES before the path is checked, others EINVAL. */
static enum feature_state try_perf_uprobe(void)
{
	_cleanup_free_ char *text = NULL;
	struct perf_event_attr attr = { .size = sizeof(attr), .config1 = (uintptr_t)"/" };
	_cleanup_close_ int fd = -1;
	uint64_t type;

	if (read_small_file("/sys/bus/event_source/devices/uprobe/type", &text, NULL))
		return FEATURE_MISSING;
	text[strcspn(text, "\n")] = 0;
	if (parse_u64(text, 0, UINT32_MAX, &type))
		return FEATURE_MISSING;
	attr.type = type;
	fd = syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	return fd >= 0 || errno == EINVAL ? FEATURE_OK : by_errno(errno);
}

/* A user who may not load a program cannot try it; but the kernel's own types are open to all. */
static enum feature_state look_for_uprobe_multi(void)
{
	struct btf *btf = feature__has(FEATURE_BTF) ? btf__load_vmlinux_btf() : NULL;
	bool there = btf && btf__find_by_name_kind(btf, "bpf_uprobe_multi_link", BTF_KIND_STRUCT) >= 0;

	btf__free(btf);
	return there ? FEATURE_DENIED : FEATURE_MISSING;
}

/*
 * Tried with a path that is no file: a kernel that knows the link type gets as
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
		return by_errno(errno) == FEATURE_DENIED ? look_for_uprobe_multi() : FEATURE_MISSING;
	link = uprobe_multi__link(fd, "/", &offset, NULL, 1, false, 0);
	if (link >= 0 || errno != EBADF)
		return by_errno(link >= 0 ? ENOSYS : errno);
	link = uprobe_multi__link(fd, "/", &offset, NULL, 1, false, -1);
	return link < 0 && errno == EINVAL ? FEATURE_OK : FEATURE_MISSING;
}

#define TO_LOAD (RIGHT_BIT(RIGHT_BPF) | RIGHT_BIT(RIGHT_PERFMON))

const struct feature features[N_FEATURES] = {
	[FEATURE_BTF] = { "BTF", try_btf, "/sys/kernel/btf/vmlinux",
			  "a kernel with CONFIG_DEBUG_INFO_BTF=y is needed (Debian 11+, Ubuntu 20.10+, Fedora 31+ have it)", 0, true },
	[FEATURE_BPF] = { "BPF programs", try_bpf, "may be loaded", "a kernel with CONFIG_BPF_SYSCALL=y and CONFIG_BPF_EVENTS=y is needed",
			  TO_LOAD, true },
	[FEATURE_READ_KERNEL] = { "kernel memory", try_read_kernel, "may be read by BPF programs",
				  "the kernel is locked down (confidentiality): boot it with lockdown=integrity, or without lockdown",
				  TO_LOAD, true, .needs_no_word = true },
	[FEATURE_RAW_TP] = { "exec and exit", try_raw_tp, "raw tracepoints", "a kernel with CONFIG_BPF_EVENTS=y is needed", TO_LOAD, true,
			     .needs_no_word = true },
	[FEATURE_PERF_UPROBE] = { "uprobes", try_perf_uprobe, "perf events", "a kernel with CONFIG_UPROBE_EVENTS=y is needed",
				  RIGHT_BIT(RIGHT_SYS_ADMIN), false },
	[FEATURE_URETPROBES] = { "uretprobes", uretprobes__try, "seccomp filters do not see them",
				 "a kernel newer than 6.13 is better: on this one a seccomp filter may kill a process that returns through a uretprobe; malloctrace works without them, and costs the target more",
				 0, false, .needs_no_word = true },
	[FEATURE_UPROBE_MULTI] = { "uprobe_multi", try_uprobe_multi, "filter per process",
				   "kernel 6.6 or later has it; malloctrace works without it, as root, attaches slower and costs the target more",
				   TO_LOAD, false },
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

unsigned int features__missing_rights(void)
{
	if (features__can_trace())
		return 0;
	/* it includes the others */
	if (feature__state(FEATURE_UPROBE_MULTI) == FEATURE_MISSING)
		return rights__lacking(RIGHT_BIT(RIGHT_SYS_ADMIN));
	return rights__lacking(TO_LOAD);
}

int features__explain(struct err *e)
{
	const struct feature *perf = &features[FEATURE_PERF_UPROBE];

	if (!features__can_trace() && no_files)
		return err_set(e, -EMFILE, "too many files are open to find out what this kernel can do: raise ulimit -n");
	if (feature__state(FEATURE_UPROBE_MULTI) == FEATURE_MISSING &&
	    feature__state(FEATURE_PERF_UPROBE) == FEATURE_DENIED)
		return rights__refused(e, -EPERM, perf->rights,
				       "this kernel has no uprobe_multi, and lets only root use perf uprobes");
	for (enum feature_id id = 0; id < N_FEATURES; id++) {
		const struct feature *f = &features[id];

		if (!f->needed || feature__has(id))
			continue;
		if (feature__state(id) == FEATURE_DENIED)
			return rights__refused(e, -EPERM, f->rights, "this user may not load BPF programs");
		return err_set(e, -ENOTSUP, "this kernel cannot be used (%s): %s", f->name, f->mend);
	}
	if (!features__can_trace())
		return err_set(e, -ENOTSUP, "this kernel cannot be used (%s): %s", perf->name, perf->mend);
	return 0;
}
