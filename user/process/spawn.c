// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the child until it is released, and its end until it is waited for. If
 * malloctrace dies meanwhile the kernel lets the child go on: it is not tied to
 * us, and no breakpoint was written into it. Before it is let go, when it is a
 * copy of malloctrace and nothing else, it dies with us.
 */
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <fcntl.h>
#include <pwd.h>
#include <signal.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "process/process.h"
#include "process/spawn.h"
#include "util/invoker.h"
#include "util/parse.h"
#include "util/rights.h"
#include "util/signals.h"
#include "util/util.h"

#define CATCH_NS SECOND_NS	/* for CMD to stand still, which is a matter of microseconds */
#define SEIZE_OPTIONS (PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEEXEC)

enum state {
	WAITING,	/* before exec, stopped by its own SIGSTOP */
	RUNNING,	/* to its first exec: traced */
	STARTING,	/* from exec to the entry point: stopped at each system call */
	FREE,		/* not traced; at its next exec the programs stop it, and it is caught */
	RELEASED,
	ENDED,
};

/* What a fork of malloctrace touches between its stop and its exec, and far more. */
#define FORK_SLACK (4ull << 20)

struct spawn {
	pid_t pid;
	enum state state;
	struct spawn_calls calls;
	int exec_errno_fd;
	int exec_errno;
	int status;
	bool maps_code;		/* inside an mmap that requests executable memory */
	uint64_t rss_before;	/* the most that it had before its exec, as a fork of malloctrace */
	struct rusage usage;	/* when it was last waited for */
};

/* sudo says whose they are: root's, which CMD is not. What was set to something else stays. */
static void take_names_of(uid_t uid)
{
	static const struct {
		const char *name;
		size_t at;
	} rows[] = {
		{ "HOME", offsetof(struct passwd, pw_dir) },
		{ "USER", offsetof(struct passwd, pw_name) },
		{ "LOGNAME", offsetof(struct passwd, pw_name) },
		{ "SHELL", offsetof(struct passwd, pw_shell) },
	};
	char *of_root[ARRAY_SIZE(rows)] = {};
	struct passwd *pw = getpwuid(0);

	for (size_t i = 0; i < ARRAY_SIZE(rows) && pw; i++)
		of_root[i] = xstrdup(*(char **)((char *)pw + rows[i].at));
	pw = getpwuid(uid);
	for (size_t i = 0; i < ARRAY_SIZE(rows) && pw; i++) {
		const char *is = getenv(rows[i].name);

		if (is && of_root[i] && !strcmp(is, of_root[i]))
			setenv(rows[i].name, *(char **)((char *)pw + rows[i].at), 1);
	}
}

static int become_user(void)
{
	uid_t uid;
	gid_t gid;

	/* asked for while we are root */
	if (invoker__find(&uid, &gid))
		take_names_of(uid);
	return invoker__become();
}

static void close_own_files(int but)
{
	DIR *d = opendir("/proc/self/fd");
	struct dirent *e;
	uint64_t fd;

	while (d && (e = readdir(d)))
		if (!parse_u64(e->d_name, 3, INT32_MAX, &fd) && (int)fd != but && (int)fd != dirfd(d) &&
		    fcntl(fd, F_GETFD) & FD_CLOEXEC)
			close(fd);
	if (d)
		closedir(d);
}

/*
 * Capabilities that malloctrace has from its file or from its parent
 * are not CMD's. And a process that got them from its file can be traced by
 * nobody without CAP_SYS_PTRACE, not even by its parent: this one, which has
 * lost them and holds no file of malloctrace's any more, lets itself be traced.
 */
static int give_up_rights(int errno_fd)
{
	cap_t none;
	int err;

	if (geteuid() == 0)
		return 0;
	close_own_files(errno_fd);
	none = cap_init();
	err = !none || cap_set_proc(none) || prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) ? -errno : 0;
	cap_free(none);
	return err;
}

static void __attribute__((noreturn)) child_fail(int fd, int err)
{
	if (write(fd, &err, sizeof(err)) != sizeof(err)) {
		/* the parent is gone: there is nothing to report to */
	}
	_exit(exit_status__of_exec(err));
}

static void __attribute__((noreturn)) run_child(const struct spawn_opts *o, pid_t parent, int errno_fd)
{
	int err;

	/* what malloctrace blocked for its signalfd is not CMD's business */
	signals__restore();
	if (o->stdout_to_stderr && dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
		child_fail(errno_fd, errno);
	for (int i = 0; i < (int)ARRAY_SIZE(o->fds); i++)
		if (o->fds[i] && dup2(o->fds[i], i) < 0)
			child_fail(errno_fd, errno);
	err = give_up_rights(errno_fd);
	if (err)
		child_fail(errno_fd, -err);
	/* what was never let go has run nothing: however malloctrace ends, no stopped copy of it stays behind */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(EXIT_CMD_UNTRACED);
	raise(SIGSTOP);
	if (!o->as_root) {
		err = become_user();
		if (err)
			child_fail(errno_fd, -err);
	}
	/*
	 * should malloctrace be killed while it stands still at an exec, it goes on; else this says
	 * nothing to anybody
	 */
	prctl(PR_SET_PDEATHSIG, SIGCONT);
	environment__restore();
	descriptors__restore();
	execvp(o->argv[0], o->argv);
	child_fail(errno_fd, errno);
}

static int explain_seize(struct err *e, int err, const char *program)
{
	_cleanup_free_ char *text = NULL;
	uint64_t scope = 0;

	if (err != -EPERM)
		return err_set(e, err, "cannot trace %s from its start: %s", program, strerror(-err));
	if (!read_small_file("/proc/sys/kernel/yama/ptrace_scope", &text, NULL)) {
		text[strcspn(text, "\n")] = 0;
		parse_u64(text, 0, 3, &scope);
	}
	if (scope == 3)
		return err_set(e, err,
			       "cannot trace %s from its start: kernel.yama.ptrace_scope is 3, which forbids it to all until the next boot; use -p",
			       program);
	return rights__refused(e, err, RIGHT_BIT(RIGHT_SYS_PTRACE), "cannot trace %s from its start%s", program,
			       scope == 2 ? " (kernel.yama.ptrace_scope is 2)" : "");
}

int spawn__new(const struct spawn_opts *o, const struct spawn_calls *calls, struct spawn **ret, struct err *e)
{
	struct spawn *s = xcalloc(1, sizeof(*s));
	pid_t parent = getpid();
	int fds[2], status;

	if (pipe2(fds, O_CLOEXEC)) {
		free(s);
		return err_set(e, -errno, "pipe: %s", strerror(errno));
	}
	s->calls = *calls;
	s->exec_errno_fd = fds[0];
	s->pid = fork();
	if (!s->pid)
		run_child(o, parent, fds[1]);
	close(fds[1]);
	if (s->pid < 0) {
		int err = err_set(e, -errno, "cannot start %s: %s", o->argv[0], strerror(errno));

		close(fds[0]);
		free(s);
		return err;
	}
	while (waitpid(s->pid, &status, WUNTRACED) < 0 && errno == EINTR)
		;
	if (!WIFSTOPPED(status)) {
		s->state = ENDED;
		spawn__free(s);
		return err_set(e, -ECHILD, "%s ended before its program was started", o->argv[0]);
	}
	/* seized, not attached: stopping it from a terminal and continuing it work as ever */
	if (ptrace(PTRACE_SEIZE, s->pid, 0, SEIZE_OPTIONS)) {
		int err = explain_seize(e, -errno, o->argv[0]);

		spawn__free(s);
		return err;
	}
	*ret = s;
	return 0;
}

pid_t spawn__pid(const struct spawn *s)
{
	return s->pid;
}

int spawn__go(struct spawn *s, struct err *e)
{
	s->state = RUNNING;
	s->rss_before = process__most_rss_bytes(s->pid);
	if (kill(s->pid, SIGCONT))
		return err_set(e, -errno, "cannot let the program run: %s", strerror(errno));
	return 0;
}

static void on_end(struct spawn *s, int status)
{
	int err = 0;

	s->state = ENDED;
	s->status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
	if (read(s->exec_errno_fd, &err, sizeof(err)) == sizeof(err))
		s->exec_errno = err;
}

/* At each system call of the loader: was code mapped? Is the loader done? */
static void on_syscall(struct spawn *s)
{
	struct __ptrace_syscall_info info = {};

	if (s->calls.has_started(s->pid, s->calls.arg)) {
		s->state = FREE;
		s->calls.on_started(s->pid, s->calls.arg);
		return;
	}
	if (ptrace(PTRACE_GET_SYSCALL_INFO, s->pid, sizeof(info), &info) <= 0)
		return;
	if (info.op == PTRACE_SYSCALL_INFO_ENTRY) {
		s->maps_code = info.entry.nr == __NR_mmap && (info.entry.args[2] & PROT_EXEC) &&
			       !(info.entry.args[3] & MAP_ANONYMOUS);
		s->maps_code |= info.entry.nr == __NR_mprotect && (info.entry.args[2] & PROT_EXEC);
	} else if (info.op == PTRACE_SYSCALL_INFO_EXIT && s->maps_code) {
		s->maps_code = false;
		s->calls.on_mapping(s->pid, s->calls.arg);
	}
}

static bool stops_a_group(int sig)
{
	return sig == SIGSTOP || sig == SIGTSTP || sig == SIGTTIN || sig == SIGTTOU;
}

static void on_stop(struct spawn *s, int status)
{
	int sig = WSTOPSIG(status), event = status >> 16, pass_on = 0;

	if (event == PTRACE_EVENT_EXEC) {
		s->maps_code = false;
		s->state = STARTING;
		s->calls.on_exec(s->pid, s->calls.arg);
	} else if (event == PTRACE_EVENT_STOP && stops_a_group(sig)) {
		/* it was stopped as any program may be: it stays so until it is continued */
		ptrace(PTRACE_LISTEN, s->pid, 0, 0);
		return;
	} else if (sig == (SIGTRAP | 0x80)) {
		on_syscall(s);
	} else if (!event) {
		pass_on = sig;
	}
	/* a traced process notices: ignored signals interrupt its calls, and no debugger can attach */
	ptrace(s->state == STARTING ? PTRACE_SYSCALL :
	       s->state == FREE	    ? PTRACE_DETACH :
				      PTRACE_CONT,
	       s->pid, 0, pass_on);
}

static bool is_traced(const struct spawn *s)
{
	return s->state == STARTING || s->state == RUNNING;
}

void spawn__catch(struct spawn *s)
{
	uint64_t until_ns = now_ns() + CATCH_NS;
	int status = 0;
	pid_t got;

	/* another process has let it run after an exec, to the next one, at which it was caught: that is the program it is now */
	if (is_traced(s))
		return;
	while ((got = wait4(s->pid, &status, WUNTRACED | WNOHANG | __WALL | __WNOTHREAD, &s->usage)) <= 0) {
		if (got < 0 && errno != EINTR)
			return;
		/*
		 * another process lets it run: it goes on as it is, without being traced from its
		 * first instruction on
		 */
		if (now_ns() > until_ns) {
			s->state = RELEASED;
			kill(s->pid, SIGCONT);
			return;
		}
		poll(NULL, 0, 1);
	}
	if (!WIFSTOPPED(status)) {
		on_end(s, status);
		return;
	}
	/* one that this user may not trace, say a set-user-ID program, goes on without being stopped again */
	if (ptrace(PTRACE_SEIZE, s->pid, 0, SEIZE_OPTIONS)) {
		s->state = RELEASED;
	} else {
		s->maps_code = false;
		s->state = STARTING;
		s->calls.on_exec(s->pid, s->calls.arg);
	}
	kill(s->pid, SIGCONT);
}

void spawn__on_sigchld(struct spawn *s)
{
	int status;

	while (is_traced(s) || s->state == FREE || s->state == RELEASED) {
		pid_t got = wait4(s->pid, &status, WNOHANG | __WALL | __WNOTHREAD, &s->usage);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return;
		if (WIFSTOPPED(status) && is_traced(s))
			on_stop(s, status);
		else if (WIFEXITED(status) || WIFSIGNALED(status))
			on_end(s, status);
	}
}

/* A tracee can be let go only while it is stopped; a signal that it was about to get is passed on. */
void spawn__release(struct spawn *s)
{
	int status;

	if (s->state == FREE)
		s->state = RELEASED;
	if (!is_traced(s))
		return;
	/* an exec by another thread meanwhile has ended that: it may stand still, and is ours no more */
	if (ptrace(PTRACE_INTERRUPT, s->pid, 0, 0) && errno == ESRCH && !kill(s->pid, SIGCONT)) {
		s->state = RELEASED;
		return;
	}
	while (wait4(s->pid, &status, __WALL | __WNOTHREAD, &s->usage) < 0 && errno == EINTR)
		;
	if (!WIFSTOPPED(status)) {
		on_end(s, status);
		return;
	}
	ptrace(PTRACE_DETACH, s->pid, 0, status >> 16 || WSTOPSIG(status) & 0x80 ? 0 : WSTOPSIG(status));
	s->state = RELEASED;
}

void spawn__let_go(struct spawn *s)
{
	siginfo_t info = {};

	/*
	 * a stop by a terminal looks the same, but then another process will continue it, or it
	 * does no harm that it goes on
	 */
	if (s->state == FREE && !waitid(P_PID, (id_t)s->pid, &info, WSTOPPED | WNOHANG | WNOWAIT) &&
	    info.si_pid == s->pid && info.si_status == SIGSTOP)
		kill(s->pid, SIGCONT);
}

uint64_t spawn__most_rss_bytes(const struct spawn *s)
{
	uint64_t most = (uint64_t)s->usage.ru_maxrss * 1024;

	/*
	 * the kernel's figure is of all that the process has been: what is about as much as its
	 * fork had, on the way to its exec, may be that one's
	 */
	return s->state == ENDED && most > 2 * s->rss_before + FORK_SLACK ? most : 0;
}

uint64_t spawn__cpu_ns(const struct spawn *s)
{
	const struct timeval *user = &s->usage.ru_utime, *system = &s->usage.ru_stime;

	return s->state == ENDED ? (uint64_t)(user->tv_sec + system->tv_sec) * SECOND_NS + (uint64_t)(user->tv_usec + system->tv_usec) * US_NS : 0;
}

int spawn__exec_errno(const struct spawn *s)
{
	return s->exec_errno;
}

int spawn__wait(struct spawn *s)
{
	int status;

	spawn__release(s);
	while (s->state == RELEASED) {
		if (wait4(s->pid, &status, __WALL | __WNOTHREAD, &s->usage) == s->pid) {
			if (WIFEXITED(status) || WIFSIGNALED(status))
				on_end(s, status);
		} else if (errno != EINTR) {
			break;
		}
	}
	return s->status;
}

void spawn__free(struct spawn *s)
{
	if (!s)
		return;
	if (s->state == WAITING) {
		/* it has run nothing yet */
		kill(s->pid, SIGKILL);
		waitpid(s->pid, NULL, __WALL | __WNOTHREAD);
	}
	close(s->exec_errno_fd);
	free(s);
}
