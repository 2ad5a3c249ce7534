// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Programs of our own: traced to their entry point, through their execs, to every kind of end. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "process/maps.h"
#include "process/process.h"
#include "process/spawn.h"
#include "util/util.h"

#define ARGV(...) ((char *[]){ __VA_ARGS__, NULL })
#define SH(script) ARGV("/bin/sh", "-c", script)

/* What the calls saw, and what they are to do. */
static struct {
	pid_t pid;
	unsigned int n_exec, n_mapping, n_asked, n_started;
	unsigned int n_asked_since_exec;
	unsigned int start_after;	/* system calls after an exec; 0: never */
	bool stop_at_mapping;
	bool libc_mapped;
	char exe[256];
	uid_t uid;
	unsigned long long blocked_signals;
} seen;

static void on_exec(pid_t pid, void *arg)
{
	_cleanup_free_ char *status = NULL;
	const char *mask;
	char path[64];
	struct stat st;
	ssize_t len;

	cr_assert_eq(arg, &seen);
	seen.pid = pid;
	seen.n_exec++;
	seen.n_asked_since_exec = 0;
	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	len = readlink(path, seen.exe, sizeof(seen.exe) - 1);
	seen.exe[MAX(len, 0)] = 0;
	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	cr_assert_eq(read_small_file(path, &status, NULL), 0);
	mask = strstr(status, "\nSigBlk:");
	cr_assert(mask && sscanf(mask, "\nSigBlk: %llx", &seen.blocked_signals) == 1);
	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	cr_assert_eq(stat(path, &st), 0);
	seen.uid = st.st_uid;
}

static void on_mapping(pid_t pid, void *arg)
{
	struct maps maps = {};

	cr_assert_gt(seen.n_exec, 0, "the exec comes first");
	cr_assert_eq(pid, seen.pid);
	seen.n_mapping++;
	cr_assert_eq(maps__read(pid, &maps, NULL), 0);
	for (size_t i = 0; i < maps.n; i++)
		seen.libc_mapped |= maps.v[i].exec && strstr(maps.v[i].path, "/libc.so");
	maps__done(&maps);
	if (seen.stop_at_mapping && seen.n_mapping == 1)
		kill(pid, SIGSTOP);
}

static bool has_started(pid_t pid, void *arg)
{
	seen.n_asked++;
	return ++seen.n_asked_since_exec == seen.start_after;
}

static void on_started(pid_t pid, void *arg)
{
	cr_assert_eq(pid, seen.pid);
	seen.n_started++;
}

static const struct spawn_calls calls = { on_exec, on_mapping, has_started, on_started, &seen };

static void block_sigchld(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGUSR2);
	cr_assert_eq(sigprocmask(SIG_BLOCK, &set, NULL), 0);
}

/* And was waited for: then nothing of it is left. */
static bool has_ended(const struct spawn *s)
{
	return process__state(spawn__pid(s)) == 'X';
}

TestSuite(spawn, .init = block_sigchld, .timeout = 30);

static struct spawn *new(char **argv)
{
	struct spawn_opts o = { .argv = argv, .as_root = true };
	_cleanup_err_ struct err e = {};
	struct spawn *s = NULL;

	cr_assert_eq(spawn__new(&o, &calls, &s, &e), 0, "%s", err_msg(&e));
	cr_assert_gt(spawn__pid(s), 0);
	cr_assert_not(has_ended(s));
	return s;
}

static void go(struct spawn *s)
{
	_cleanup_err_ struct err e = {};

	cr_assert_eq(spawn__go(s, &e), 0, "%s", err_msg(&e));
	spawn__on_sigchld(s);
}

static void next_signal(struct spawn *s)
{
	struct timespec limit = { .tv_sec = 10 };
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	cr_assert_eq(sigtimedwait(&set, NULL, &limit), SIGCHLD, "the program stands still");
	spawn__on_sigchld(s);
}

static int finish(struct spawn *s)
{
	while (!has_ended(s))
		next_signal(s);
	return spawn__wait(s);
}

static int run(char **argv)
{
	struct spawn *s = new(argv);
	int status, err;

	go(s);
	status = finish(s);
	err = spawn__exec_errno(s);
	cr_expect_eq(spawn__wait(s), status, "it is told again");
	spawn__free(s);
	return err ? -err * 1000 - status : status;
}

static char state_of(pid_t pid)
{
	_cleanup_free_ char *text = NULL;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	if (read_small_file(path, &text, NULL) || !strrchr(text, ')'))
		return 0;
	return strrchr(text, ')')[2];
}

/* Stopped as by a terminal, and left so: the only stop in which a tracee answers nothing. */
static bool is_left_stopped(pid_t pid)
{
	siginfo_t info;

	return state_of(pid) == 't' && ptrace(PTRACE_GETSIGINFO, pid, 0, &info) && errno == ESRCH;
}

static void until_left_stopped(struct spawn *s)
{
	while (!is_left_stopped(spawn__pid(s))) {
		cr_assert_not(has_ended(s), "it ended instead of stopping");
		next_signal(s);
	}
}

Test(spawn, ends)
{
	cr_expect_eq(run(ARGV("/bin/true")), 0);
	cr_expect_eq(run(ARGV("/bin/false")), 1);
	cr_expect_eq(run(ARGV("true")), 0, "found by PATH");
	cr_expect_eq(run(SH("exit 77")), 77);
	cr_expect_eq(run(SH("kill -9 $$")), 128 + SIGKILL);
	cr_expect_eq(run(SH("kill -TERM $$")), 128 + SIGTERM);
	cr_expect_eq(run(SH("kill -SEGV $$")), 128 + SIGSEGV);
}

Test(spawn, what_cannot_be_run)
{
	char path[] = "/tmp/malloctrace-test-XXXXXX";
	int fd = mkstemp(path);

	cr_assert_geq(fd, 0);
	cr_assert_eq(write(fd, "#!/no/such/interpreter\n", 23), 23);
	close(fd);
	/* a directory in it that may not be searched would make another error of it */
	setenv("PATH", "/usr/bin:/bin", 1);
	cr_expect_eq(run(ARGV("/no/such/program")), -ENOENT * 1000 - 127);
	cr_expect_eq(run(ARGV("no-such-program-in-the-path")), -ENOENT * 1000 - 127);
	cr_expect_eq(run(ARGV("")), -ENOENT * 1000 - 127);
	cr_expect_eq(run(ARGV("/")), -EACCES * 1000 - 126, "a directory");
	cr_expect_eq(run(ARGV(path)), -EACCES * 1000 - 126, "not executable");
	cr_assert_eq(chmod(path, 0700), 0);
	cr_expect_eq(run(ARGV(path)), -ENOENT * 1000 - 127, "no interpreter");
	cr_expect_eq(run(ARGV("/bin/true/x")), -ENOTDIR * 1000 - 127);
	cr_expect_eq(seen.n_exec, 0);
	cr_expect_eq(seen.n_asked, 0);
	unlink(path);
	/* such a status of the program's own is no failure to run it */
	cr_expect_eq(run(SH("exit 127")), 127);
	cr_expect_eq(run(SH("exit 126")), 126);
}

Test(spawn, exec_and_mappings)
{
	_cleanup_free_ char *want = realpath("/bin/true", NULL);

	cr_assert_not_null(want);
	cr_expect_eq(run(ARGV("/bin/true")), 0);
	cr_expect_eq(seen.n_exec, 1);
	cr_expect_str_eq(seen.exe, want);
	cr_expect_geq(seen.n_mapping, 1);
	cr_expect(seen.libc_mapped, "its library is there when it is told");
	cr_expect_gt(seen.n_asked, 10, "asked at each system call");
	cr_expect_eq(seen.n_started, 0);
	cr_expect_eq(seen.blocked_signals, 0, "what is blocked here is not its business");
}

Test(spawn, entry_point)
{
	unsigned int n_all;

	cr_expect_eq(run(SH("true; exit 3")), 3);
	n_all = seen.n_asked;
	memset(&seen, 0, sizeof(seen));
	seen.start_after = 4;
	cr_expect_eq(run(SH("true; exit 3")), 3);
	cr_expect_gt(n_all, 10);
	cr_expect_eq(seen.n_asked, 4, "not stopped any more");
	cr_expect_eq(seen.n_started, 1);
	cr_expect_eq(seen.n_exec, 1, "a child of its own is not traced");
}

Test(spawn, chain_of_execs)
{
	cr_expect_eq(run(ARGV("env", "env", "true")), 0);
	cr_expect_eq(seen.n_exec, 3);
	cr_expect_not_null(strstr(seen.exe, "/true"), "%s", seen.exe);
	memset(&seen, 0, sizeof(seen));
	seen.start_after = 5;
	cr_expect_eq(run(ARGV("env", "env", "false")), 1);
	/* from its entry point on it is traced no more */
	cr_expect_eq(seen.n_exec, 1);
	cr_expect_eq(seen.n_started, 1);
	cr_expect_eq(seen.n_asked, 5);
}

static void until_stopped(pid_t pid)
{
	while (state_of(pid) != 'T') {
		cr_assert_neq(state_of(pid), 'Z');
		sched_yield();
	}
}

/* Who execs later is stopped by a BPF program; here it stops itself. Caught, it is followed as before. */
Test(spawn, caught_again)
{
	struct spawn *s = new(SH("kill -STOP $$; exec true"));

	seen.start_after = 3;
	go(s);
	while (!seen.n_started)
		next_signal(s);
	until_stopped(spawn__pid(s));
	spawn__catch(s);
	cr_expect_eq(seen.n_exec, 2);
	cr_expect_eq(finish(s), 0);
	cr_expect_eq(seen.n_started, 2);
	spawn__free(s);
}

Test(spawn, failing_exec_of_its_own)
{
	seen.start_after = 5;
	cr_expect_eq(run(SH("exec 2>/dev/null; exec env /no/such/program")), 127);
	cr_expect_eq(seen.n_exec, 1);
	cr_expect_eq(seen.n_started, 1);
}

Test(spawn, signals_arrive)
{
	cr_expect_eq(run(SH("trap 'exit 9' USR1; kill -USR1 $$; exit 3")), 9);
	seen.start_after = 3;
	cr_expect_eq(run(SH("trap 'exit 9' USR1; kill -USR1 $$; exit 3")), 9);
	cr_expect_eq(run(SH("trap '' TERM; kill -TERM $$; exit 4")), 4);
	/* its own traps are signals, not steps of ours */
	cr_expect_eq(run(SH("trap 'exit 8' TRAP; kill -TRAP $$; exit 3")), 8);
}

Test(spawn, stopped_and_continued)
{
	for (seen.start_after = 0; seen.start_after <= 3; seen.start_after += 3) {
		struct spawn *s = new(SH("kill -STOP $$; exit 5"));

		go(s);
		while (seen.start_after && !seen.n_started)
			next_signal(s);
		if (seen.start_after)
			until_stopped(spawn__pid(s));
		else
			until_left_stopped(s);
		cr_expect_eq(kill(spawn__pid(s), SIGCONT), 0);
		cr_expect_eq(finish(s), 5);
		spawn__free(s);
	}
}

Test(spawn, stopped_while_it_loads)
{
	struct spawn *s = new(ARGV("/bin/true"));
	unsigned int n_asked;

	seen.stop_at_mapping = true;
	go(s);
	until_left_stopped(s);
	cr_expect_eq(seen.n_mapping, 1);
	n_asked = seen.n_asked;
	cr_expect_eq(kill(spawn__pid(s), SIGCONT), 0);
	cr_expect_eq(finish(s), 0);
	cr_expect_gt(seen.n_asked, n_asked, "it is still followed");
	spawn__free(s);
}

Test(spawn, killed_while_stopped)
{
	struct spawn *s = new(SH("kill -STOP $$; exit 5"));

	go(s);
	until_left_stopped(s);
	cr_expect_eq(kill(spawn__pid(s), SIGKILL), 0);
	cr_expect_eq(finish(s), 128 + SIGKILL);
	spawn__free(s);
}

Test(spawn, released_before_its_exec)
{
	for (int i = 0; i < 20; i++) {
		struct spawn *s = new(SH("exit 6"));

		cr_assert_eq(spawn__go(s, NULL), 0);
		spawn__release(s);
		cr_expect_eq(spawn__wait(s), 6);
		cr_expect(has_ended(s));
		spawn__free(s);
	}
}

Test(spawn, released_before_its_entry_point)
{
	struct spawn *s = new(SH("kill -USR1 $$; exit 6"));
	unsigned int n_asked;

	go(s);
	while (!seen.n_asked)
		next_signal(s);
	cr_assert_not(has_ended(s));
	spawn__release(s);
	n_asked = seen.n_asked;
	cr_expect_eq(finish(s), 128 + SIGUSR1);
	cr_expect_eq(seen.n_asked, n_asked);
	spawn__free(s);
}

Test(spawn, released_while_stopped)
{
	struct spawn *s = new(SH("kill -STOP $$; exit 5"));

	go(s);
	until_left_stopped(s);
	spawn__release(s);
	/* it is not ours any more, and still stopped: it only has to get from the one stop into the other */
	while (state_of(spawn__pid(s)) != 'T') {
		cr_assert_neq(state_of(spawn__pid(s)), 'Z');
		sched_yield();
	}
	cr_expect_eq(kill(spawn__pid(s), SIGCONT), 0);
	cr_expect_eq(spawn__wait(s), 5);
	spawn__free(s);
}

Test(spawn, waited_for_while_it_runs)
{
	struct spawn *s;
	int in[2];

	cr_assert_eq(pipe2(in, O_CLOEXEC), 0);
	cr_assert_eq(dup2(in[0], STDIN_FILENO), STDIN_FILENO);
	seen.start_after = 3;
	s = new(SH("read x; exit 11"));
	go(s);
	while (!seen.n_started)
		next_signal(s);
	spawn__release(s);
	cr_assert_not(has_ended(s), "it waits for a line");
	cr_assert_eq(write(in[1], "\n", 1), 1);
	cr_expect_eq(spawn__wait(s), 11);
	spawn__release(s);
	cr_expect_eq(spawn__wait(s), 11);
	spawn__free(s);
}

Test(spawn, given_up_before_it_begins)
{
	struct spawn *s = new(SH("exit 1"));
	pid_t pid = spawn__pid(s);

	cr_expect_neq(state_of(pid), 0);
	cr_expect_eq(seen.n_exec, 0);
	spawn__free(s);
	cr_expect_eq(kill(pid, 0), -1);
	cr_expect_eq(errno, ESRCH);
	spawn__free(NULL);
}

Test(spawn, output_goes_to_stderr)
{
	struct spawn_opts o = { .argv = SH("echo out"), .as_root = true, .stdout_to_stderr = true };
	int err[2], own_err = dup(STDERR_FILENO);
	struct spawn *s = NULL;
	char text[16] = "";

	cr_assert_eq(pipe2(err, O_CLOEXEC), 0);
	cr_assert_eq(dup2(err[1], STDERR_FILENO), STDERR_FILENO);
	cr_assert_eq(spawn__new(&o, &calls, &s, NULL), 0);
	dup2(own_err, STDERR_FILENO);
	close(err[1]);
	go(s);
	cr_expect_eq(finish(s), 0);
	cr_expect_eq(read(err[0], text, sizeof(text) - 1), 4);
	cr_expect_str_eq(text, "out\n");
	spawn__free(s);
}

Test(spawn, as_the_invoking_user)
{
	struct spawn_opts o = { .argv = SH("test -z \"$(id -G | grep -w 0)\"") };
	struct spawn *s = NULL;

	if (geteuid())
		cr_skip_test("only root can become another user");
	setenv("SUDO_UID", "54321", 1);
	setenv("SUDO_GID", "54322", 1);
	cr_assert_eq(spawn__new(&o, &calls, &s, NULL), 0);
	go(s);
	cr_expect_eq(finish(s), 0, "no group of root's is left");
	cr_expect_eq(seen.uid, 54321);
	spawn__free(s);
	cr_expect_eq(run(ARGV("/bin/true")), 0);
	cr_expect_eq(seen.uid, 0, "--as-root");
	/* what is no number is no user */
	setenv("SUDO_UID", "-1", 1);
	cr_assert_eq(spawn__new(&(struct spawn_opts){ .argv = ARGV("/bin/true") }, &calls, &s, NULL), 0);
	go(s);
	cr_expect_eq(finish(s), 0);
	cr_expect_eq(seen.uid, 0);
	spawn__free(s);
}

/* Whoever holds a program back and ends, or is killed, leaves no stopped copy of itself. */
Test(spawn, ends_with_who_holds_it)
{
	siginfo_t info = {};
	pid_t holder, held = 0;
	int told[2];

	cr_assert_eq(pipe2(told, O_CLOEXEC), 0);
	/* whose parent has ended is ours to wait for */
	cr_assert_eq(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
	holder = fork();
	if (!holder) {
		struct spawn_opts o = { .argv = SH("exit 1"), .as_root = true };
		struct spawn *s = NULL;

		if (!spawn__new(&o, &calls, &s, NULL))
			held = spawn__pid(s);
		if (write(told[1], &held, sizeof(held)) != sizeof(held))
			_exit(2);
		_exit(held <= 0);
	}
	cr_assert_eq(read(told[0], &held, sizeof(held)), (ssize_t)sizeof(held));
	cr_assert_gt(held, 0);
	cr_assert_eq(waitpid(holder, NULL, 0), holder);
	/* a stop that stays is what it must not come to */
	cr_assert_eq(waitid(P_PID, (id_t)held, &info, WEXITED | WSTOPPED), 0);
	cr_expect_eq(info.si_code, CLD_KILLED, "%d", info.si_code);
	cr_expect_eq(info.si_status, SIGKILL);
	kill(held, SIGKILL);
}
