// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns what was found out about the kernel. Each row has a function that tries the thing on nothing of importance. */
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/bpf.h>
#include <linux/filter.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "malloctrace.skel.h"
#include "probe/features.h"
#include "probe/kernel.h"
#include "probe/plan.h"
#include "process/maps.h"
#include "reader/lockdown.h"
#include "util/invoker.h"
#include "util/log.h"
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

/* ---- uprobe_multi */

/* The part of union bpf_attr for BPF_LINK_CREATE that older headers lack. */
struct link_create_uprobe_multi {
	uint32_t prog_fd, target_fd, attach_type, flags;
	uint64_t path, offsets, ref_ctr_offsets, cookies;
	uint32_t n, multi_flags, pid, pad;
};

#define UPROBE_MULTI_RETURN 1

int uprobe_multi__link(int prog_fd, const char *path, const struct uprobe_points *at, bool at_return, pid_t pid)
{
	struct link_create_uprobe_multi attr = {
		.prog_fd = prog_fd,
		.attach_type = ATTACH_UPROBE_MULTI,
		.path = (uintptr_t)path,
		.offsets = (uintptr_t)at->offsets,
		.ref_ctr_offsets = (uintptr_t)at->counters,
		.cookies = (uintptr_t)at->cookies,
		.n = at->n,
		.multi_flags = at_return ? UPROBE_MULTI_RETURN : 0,
		.pid = pid,
	};

	return syscall(__NR_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));
}

static void *close_link(void *fd)
{
	close((int)(intptr_t)fd);
	return NULL;
}

void uprobe_multi__close(int fd)
{
	pthread_t thread;

	if (fd < 0)
		return;
	if (pthread_create(&thread, NULL, close_link, (void *)(intptr_t)fd))
		close(fd);
	else
		pthread_detach(thread);
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
	link = uprobe_multi__link(fd, "/", &(struct uprobe_points){ .offsets = &offset, .n = 1 }, false, 0);
	if (link >= 0 || errno != EBADF)
		return by_errno(link >= 0 ? ENOSYS : errno);
	link = uprobe_multi__link(fd, "/", &(struct uprobe_points){ .offsets = &offset, .n = 1 }, false, -1);
	return link < 0 && errno == EINVAL ? FEATURE_OK : FEATURE_MISSING;
}

#define OWN_FILE "/proc/self/exe"

/* Where in it the code of a function of ours is. */
static bool own_offsets(const uintptr_t *at, size_t n, uint64_t *ret)
{
	const struct mapping *m;
	struct maps maps = {};

	if (maps__read(getpid(), &maps, NULL))
		return false;
	m = maps__find(&maps, at[0]);
	for (size_t i = 0; m && i < n; i++)
		ret[i] = m->file_off + (at[i] - m->start);
	maps__done(&maps);
	return m;
}

/*
 * ---- uretprobes
 *
 * On x86_64, kernels from 6.11 on return from a uretprobe by a system call of its own, and up to
 * 6.13 (unless mended since) a seccomp filter of the target sees it, knows nothing of it, and
 * forbids it: services died of that. A child of ours that allows itself next to nothing tries it.
 */

/* To be able to test everywhere what those kernels get. */
static bool asked_for_none(void)
{
	const char *asked = secure_getenv("MALLOCTRACE_RETURNS");

	return asked && !strcmp(asked, "insns");
}

#if defined(__x86_64__)

static __attribute__((noinline, noclone)) int probed(int n)
{
	__asm__ volatile("" : "+r"(n));
	return n + 1;
}

static int fate_of(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -1;
	return status;
}

static void leave_no_core(void)
{
	setrlimit(RLIMIT_CORE, &(struct rlimit){});
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

/*
 * A process that calls it from anywhere but the trampoline is killed by SIGILL; where there is no
 * such system call, it only fails.
 */
static bool has_syscall(void)
{
	pid_t pid = fork();

	if (!pid) {
		leave_no_core();
		syscall(NR_URETPROBE);
		_exit(0);
	}
	return pid < 0 || fate_of(pid) != 0;
}

static _Noreturn void return_confined(int go)
{
	struct sock_filter f[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_exit_group, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog prog = { ARRAY_SIZE(f), f };
	int (*volatile fn)(int) = probed;
	char c;

	leave_no_core();
	descriptors__keep_only(go);
	if (read(STDIN_FILENO, &c, 1) != 1 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog))
		_exit(1);
	_exit(fn(1) != 2);
}

static int probe_return(pid_t pid)
{
	_cleanup_close_ int prog = load_nothing(BPF_PROG_TYPE_KPROBE, ATTACH_UPROBE_MULTI);
	uint64_t offset = 0;

	if (prog < 0 || !own_offsets((uintptr_t[]){ (uintptr_t)probed }, 1, &offset))
		return -1;
	return uprobe_multi__link(prog, OWN_FILE, &(struct uprobe_points){ .offsets = &offset, .n = 1 }, true, pid);
}

static bool survives(void)
{
	_cleanup_close_ int link = -1;
	int go[2], fate = -1;
	pid_t pid;

	if (pipe(go))
		return false;
	pid = fork();
	if (!pid)
		return_confined(go[0]);
	if (pid > 0) {
		link = probe_return(pid);
		/* without a probe nothing is tried */
		if (link >= 0 && write(go[1], "g", 1) == 1)
			fate = 0;
		close(go[1]);
		fate |= fate_of(pid);
	} else {
		close(go[1]);
	}
	close(go[0]);
	return !fate;
}

static enum feature_state try_uretprobes(void)
{
	return !asked_for_none() && (!has_syscall() || survives()) ? FEATURE_OK : FEATURE_MISSING;
}

#else

static enum feature_state try_uretprobes(void)
{
	return asked_for_none() ? FEATURE_MISSING : FEATURE_OK;
}

#endif

/* ---- all of them */

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
	[FEATURE_URETPROBES] = { "uretprobes", try_uretprobes, "seccomp filters do not see them",
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

struct plan_want plan_want__of(const struct recording *r)
{
	return (struct plan_want){ .recording = *r, .no_uretprobes = !feature__has(FEATURE_URETPROBES) };
}

/*
 * ---- what a hit costs
 *
 * Three probes in a function of our own. The points are those of a malloc and its free (place.c):
 * two entries, on instructions that the kernel carries out itself, and a return. Only what a
 * program takes is measured in the targets (bpf/budget.bpf.h): it grows with their stacks and
 * tables, the trap does not.
 */

#define POINTS 3
#define SLICES 9
#define CALLS 40

void price_pair(void);
extern const char price_entry_2[], price_return[];

#if defined(__x86_64__)
__asm__(".text\n.globl price_pair, price_entry_2, price_return\n.type price_pair, @function\nprice_pair:\n"
	"push %rbp\nprice_entry_2: nop\n pop %rbp\nprice_return: ret\n.size price_pair, . - price_pair\n");
#else
__asm__(".text\n.globl price_pair, price_entry_2, price_return\n.type price_pair, %function\nprice_pair:\n"
	"adr x9, .\nprice_entry_2: adr x9, .\nprice_return: ret\n.size price_pair, . - price_pair\n");
#endif

/* On x86_64 a single step is dearer than a uretprobe. */
static bool returns_by_uretprobe(void)
{
#if defined(__x86_64__)
	return feature__has(FEATURE_URETPROBES);
#else
	return false;
#endif
}

COMPARATOR(by_value, uint64_t, ORDER(*a, *b))

/* Of a quick slice: those that an interrupt or another process disturbed are longer. */
static uint64_t measure(void)
{
	uint64_t took_ns[SLICES];

	for (size_t i = 0; i < SLICES; i++) {
		uint64_t from_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);

		for (size_t n = 0; n < CALLS; n++)
			price_pair();
		took_ns[i] = clock_ns(CLOCK_THREAD_CPUTIME_ID) - from_ns;
	}
	qsort(took_ns, SLICES, sizeof(*took_ns), by_value);
	return took_ns[SLICES / 4] / (CALLS * POINTS);
}

static int put_probe(struct kernel *k, const uint64_t *offsets, size_t n, bool at_return)
{
	const struct uprobe_points at = { .offsets = offsets, .n = n };

	return uprobe_multi__link(bpf_program__fd(k->skel->progs.stay), OWN_FILE, &at, at_return, getpid());
}

void price__measure_trap(struct kernel *k)
{
	const uintptr_t at[POINTS] = { (uintptr_t)price_pair, (uintptr_t)price_entry_2, (uintptr_t)price_return };
	bool by_uretprobe = returns_by_uretprobe();
	uint64_t offsets[POINTS], trap_ns;
	int entries, ret;

	if (!k->multi || !own_offsets(at, POINTS, offsets))
		return;
	entries = put_probe(k, offsets, 2, false);
	ret = put_probe(k, by_uretprobe ? offsets : offsets + 2, 1, by_uretprobe);
	if (entries >= 0 && ret >= 0) {
		trap_ns = measure();
		__atomic_store_n(&k->skel->bss->mt_trap_ns, trap_ns, __ATOMIC_RELAXED);
		say_verbose("the trap of a probe takes %" PRIu64 " ns here", trap_ns);
	}
	uprobe_multi__close(entries);
	uprobe_multi__close(ret);
}

double price__hit_ns(const struct kernel *k)
{
	uint64_t trap_ns = __atomic_load_n(&k->skel->bss->mt_trap_ns, __ATOMIC_RELAXED);
	uint64_t n = __atomic_load_n(&k->skel->bss->mt_timed, __ATOMIC_RELAXED);

	return trap_ns && n ? (double)trap_ns + (double)__atomic_load_n(&k->skel->bss->mt_timed_ns, __ATOMIC_RELAXED) / (double)n : 0;
}
