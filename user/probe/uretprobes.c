// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns its children and its link for the time of a call. */
#include "probe/uretprobes.h"

#include <string.h>

#include "util/util.h"

/* To be able to test everywhere what those kernels get. */
static bool asked_for_none(void)
{
	const char *asked = secure_getenv("MALLOCTRACE_RETURNS");

	return asked && !strcmp(asked, "insns");
}

#if defined(__x86_64__)

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "probe/multi.h"
#include "process/maps.h"
#include "reader/lockdown.h"

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
	if (read(go, &c, 1) != 1 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog))
		_exit(1);
	_exit(fn(1) != 2);
}

static int probe_return(pid_t pid)
{
	static const struct bpf_insn nothing[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = ATTACH_UPROBE_MULTI);
	_cleanup_close_ int prog = bpf_prog_load(BPF_PROG_TYPE_KPROBE, "mt_nothing", "GPL", nothing,
						 ARRAY_SIZE(nothing), &opts);
	const struct mapping *m;
	struct maps maps = {};
	uint64_t offset = 0;

	if (prog < 0 || maps__read(getpid(), &maps, NULL))
		return -1;
	m = maps__find(&maps, (uintptr_t)probed);
	if (m)
		offset = m->file_off + ((uintptr_t)probed - m->start);
	maps__done(&maps);
	return offset ? uprobe_multi__link(prog, "/proc/self/exe", &offset, NULL, 1, true, pid) : -1;
}

static bool survives(void)
{
	_cleanup_close_ int link = -1;
	int go[2], fate = -1;
	pid_t pid;

	if (pipe(go))
		return false;
	pid = fork();
	if (!pid) {
		close(go[1]);
		return_confined(go[0]);
	}
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

enum feature_state uretprobes__try(void)
{
	return !asked_for_none() && (!has_syscall() || survives()) ? FEATURE_OK : FEATURE_MISSING;
}

#else

enum feature_state uretprobes__try(void)
{
	return asked_for_none() ? FEATURE_MISSING : FEATURE_OK;
}

#endif
