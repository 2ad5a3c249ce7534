// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns nothing: what is done here is done to the process that does it. */
#include "reader/lockdown.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/capability.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "util/util.h"

#if defined(__x86_64__)
#define OWN_ARCH AUDIT_ARCH_X86_64
#define OTHER_CALLS_FROM 0x40000000u	/* x32: the same calls once more, under the same architecture */
#else
#define OWN_ARCH AUDIT_ARCH_AARCH64
#define OTHER_CALLS_FROM 0x80000000u	/* there are none */
#endif

#define MAX_CALLS 96
#define DYING_MS 100
#define OUT_OF_THE_WAY 10	/* of the low numbers, which descriptors get in the end */

/*
 * Users that nobody is: who has the same number may kill and stop. Above 2^31 there are neither people nor services, nor are
 * there ranges of containers, by the lists of systemd and of shadow; half of it is left to those who do otherwise.
 */
#define STRANGERS_FROM 0x80000000u
#define N_STRANGERS 0x40000000u		/* a power of two */
#define NOBODY 65534			/* the one that is left where a user namespace has no such number */
#define N_PROCESSES 128			/* of one such user: more than a starter makes */

static int become(uint32_t id)
{
	return syscall(__NR_setresgid, id, id, id) || syscall(__NR_setresuid, id, id, id) ? -1 : 0;
}

/*
 * Of a child of root, after fork: a user and a group that nobody else is, or nobody. Whether it is root still is to be looked at.
 * Not by the C library, which would have all threads do it, of which there are none after a fork.
 */
static void become_stranger(void)
{
	struct rlimit l;
	uint32_t id;

	/* what root's shell allows is meant for another user */
	if (!getrlimit(RLIMIT_NPROC, &l) && l.rlim_cur < N_PROCESSES) {
		/* all of it if we may, else as much as we may */
		setrlimit(RLIMIT_NPROC, &(struct rlimit){ l.rlim_max, l.rlim_max });
		setrlimit(RLIMIT_NPROC, &(struct rlimit){ MAX(l.rlim_max, N_PROCESSES), MAX(l.rlim_max, N_PROCESSES) });
	}
	syscall(__NR_setgroups, 0, NULL);
	if (getrandom(&id, sizeof(id), GRND_NONBLOCK) != sizeof(id) || become(STRANGERS_FROM + id % N_STRANGERS))
		become(NOBODY);
}

bool lockdown__is_stranger(void)
{
	return getuid() - STRANGERS_FROM < N_STRANGERS;
}

/*
 * An exec makes a process dumpable again. A user's own processes may trace it from then on, unless it holds a capability that
 * they lack: so it keeps those it has until lockdown__give_up_rights(). Those of the file stay by themselves; others, which a
 * service manager gave, have to be ambient: a child that cannot keep them does not run. A stranger has none, and nobody's process may trace it.
 */
static void keep_capabilities(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct mine[_LINUX_CAPABILITY_U32S_3];

	/* a service's filter may refuse capset: a stranger does not need it */
	if (syscall(__NR_capget, &head, mine) || !(mine[0].permitted | mine[1].permitted))
		return;
	for (size_t i = 0; i < _LINUX_CAPABILITY_U32S_3; i++)
		mine[i].inheritable = mine[i].permitted;
	if (syscall(__NR_capset, &head, mine))
		_exit(errno);
	for (unsigned long cap = 0; cap < 32 * _LINUX_CAPABILITY_U32S_3; cap++)
		if (mine[CAP_TO_INDEX(cap)].permitted & CAP_TO_MASK(cap) && prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, cap, 0, 0))
			_exit(errno);
}

/* Between fork and exec. */
static _Noreturn void execute(const struct lockdown_start *s, int program)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), exe = fcntl(program, F_DUPFD_CLOEXEC, OUT_OF_THE_WAY);
	int fds[ARRAY_SIZE(s->fds)];
	sigset_t none;

	/* an image for one program alone has no /dev */
	if (null < 0)
		null = memfd_create("null", MFD_CLOEXEC);
	if (null < 0 || exe < 0)
		_exit(errno);
	for (size_t i = 0; i < s->n_fds; i++) {
		fds[i] = fcntl(s->fds[i] < 0 ? null : s->fds[i], F_DUPFD_CLOEXEC, OUT_OF_THE_WAY);
		if (fds[i] < 0)
			_exit(errno);
	}
	for (size_t i = 0; i < s->n_fds; i++)
		if (dup2(fds[i], (int)i) < 0)
			_exit(errno);
	if (dup3(exe, (int)s->n_fds, O_CLOEXEC) < 0 || syscall(__NR_close_range, s->n_fds + 1, ~0u, 0))
		_exit(errno);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	/* Ctrl-C is for malloctrace alone */
	setsid();
	/* who is still root is judged later */
	if (!geteuid())
		become_stranger();
	keep_capabilities();
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		_exit(errno);
	/* the kernel forgets it with each change of user: so not before */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	syscall(__NR_execveat, (int)s->n_fds, "", s->argv, s->envp ?: (char *const[]){ NULL }, 0x1000 /* AT_EMPTY_PATH */);
	_exit(errno);
}

pid_t lockdown__spawn(const struct lockdown_start *s)
{
	_cleanup_close_ int program = open(s->exe ?: "/proc/self/exe", O_PATH | O_CLOEXEC);
	pid_t pid = program < 0 ? -1 : fork();

	if (!pid)
		execute(s, program);
	return pid < 0 ? -errno : pid;
}

int lockdown__end(pid_t pid)
{
	struct timespec while_it_dies = { 0, (long)MS_NS };
	int status = 0;

	kill(pid, SIGKILL);
	for (int ms = 0; ms < DYING_MS && !waitpid(pid, &status, WNOHANG); ms++)
		nanosleep(&while_it_dies, NULL);
	return status;
}

/*
 * Anybody can run malloctrace under a child's name, also one with capabilities
 * in its file, and with a file of theirs: it must be worth nothing to them.
 */
int lockdown__give_up_rights(enum lockdown_root root)
{
	cap_t none = cap_init();
	/* undumpable first: without capabilities nothing else keeps others of that user from tracing it */
	int err = !none || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) || cap_set_proc(none) || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ? -errno : 0;

	cap_free(none);
	if (!err && root == ROOT_REFUSED && (!getuid() || !geteuid()))
		err = -EPERM;
	if (!err && prctl(PR_SET_PDEATHSIG, SIGKILL))
		err = -errno;
	return err;
}

int lockdown__limit(const struct lockdown_limit *limits, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct rlimit l;

		if (getrlimit(limits[i].what, &l))
			return -errno;
		l.rlim_max = MIN(l.rlim_max, limits[i].most);
		l.rlim_cur = l.rlim_max;
		if (setrlimit(limits[i].what, &l))
			return -errno;
	}
	return 0;
}

#define LOAD(field) ((struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field)))
#define RETURN(what) ((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, what))
#define IF(how, value, yes, no) ((struct sock_filter)BPF_JUMP(BPF_JMP | (how) | BPF_K, (uint32_t)(value), yes, no))
#define DENY (SECCOMP_RET_ERRNO | EPERM)

int lockdown__allow(const struct lockdown_call *calls, size_t n_calls)
{
	struct sock_filter f[8 + 5 * MAX_CALLS];
	struct sock_fprog prog = { .filter = f };
	size_t n = 0;

	if (n_calls > MAX_CALLS)
		return -E2BIG;
	f[n++] = LOAD(arch);
	f[n++] = IF(BPF_JEQ, OWN_ARCH, 1, 0);
	f[n++] = RETURN(SECCOMP_RET_KILL_PROCESS);
	f[n++] = LOAD(nr);
	for (size_t i = 0; i < n_calls; i++) {
		if (!calls[i].none_of) {
			f[n++] = IF(BPF_JEQ, calls[i].number, 0, 1);
			f[n++] = RETURN(SECCOMP_RET_ALLOW);
			continue;
		}
		f[n++] = IF(BPF_JEQ, calls[i].number, 0, 4);
		f[n++] = LOAD(args[calls[i].arg]);
		f[n++] = IF(BPF_JSET, calls[i].none_of, 0, 1);
		f[n++] = RETURN(DENY);
		f[n++] = RETURN(SECCOMP_RET_ALLOW);
	}
	f[n++] = RETURN(DENY);
	prog.len = n;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog) ? -errno : 0;
}

int lockdown__refuse(const struct lockdown_refusal *calls, size_t n_calls)
{
	struct sock_filter f[8 + 5 * MAX_CALLS];
	struct sock_fprog prog = { .filter = f };
	size_t n = 0;
	long tid;

	if (n_calls > MAX_CALLS)
		return -E2BIG;
	f[n++] = LOAD(arch);
	f[n++] = IF(BPF_JEQ, OWN_ARCH, 1, 0);
	f[n++] = RETURN(SECCOMP_RET_KILL_PROCESS);
	/* by other numbers nothing is to be had that is refused by its own */
	f[n++] = LOAD(nr);
	f[n++] = IF(BPF_JGE, OTHER_CALLS_FROM, 0, 1);
	f[n++] = RETURN(DENY);
	for (size_t i = 0; i < n_calls; i++) {
		f[n++] = LOAD(nr);
		f[n++] = IF(BPF_JEQ, calls[i].number, 0, calls[i].request ? 3 : 1);
		if (calls[i].request) {
			f[n++] = LOAD(args[0]);
			f[n++] = IF(BPF_JEQ, calls[i].request, 0, 1);
		}
		f[n++] = RETURN(DENY);
	}
	f[n++] = RETURN(SECCOMP_RET_ALLOW);
	prog.len = n;
	tid = syscall(__NR_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &prog);
	/* a thread that has a filter of its own: then none has got this one */
	return tid > 0 ? -EBUSY : tid ? -errno : 0;
}
