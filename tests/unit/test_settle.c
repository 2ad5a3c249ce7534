// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* What a process that has settled can do no more, and what it still can. Each test is a process of its own. */
#include <criterion/criterion.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "reader/lockdown.h"
#include "trace/session.h"
#include "util/util.h"

static void settled(void)
{
	struct err e = {};

	cr_assert_eq(settle__process(&e), 0, "%s", e.msg ? e.msg : "no words");
}

Test(settle, no_other_program)
{
	char *argv[] = { "true", NULL };

	settled();
	cr_assert_eq(execv("/bin/true", argv), -1);
	cr_assert_eq(errno, EPERM);
}

Test(settle, children_are_bound)
{
	char *argv[] = { "true", NULL };
	int status = 0;
	pid_t pid;

	settled();
	pid = fork();
	if (!pid) {
		execv("/bin/true", argv);
		_exit(errno == EPERM ? 7 : 1);
	}
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_assert_eq(WEXITSTATUS(status), 7);
}

/* The request decides: what reads another process is asked of the kernel, which finds none such here. */
Test(settle, others_are_read_only)
{
	settled();
	cr_assert_eq(ptrace(PTRACE_POKEDATA, getppid(), NULL, NULL), -1);
	cr_assert_eq(errno, EPERM);
	cr_assert_eq(ptrace(PTRACE_SETREGSET, getppid(), NULL, NULL), -1);
	cr_assert_eq(errno, EPERM);
	cr_assert_eq(ptrace(PTRACE_GETREGSET, getppid(), NULL, NULL), -1);
	cr_assert_eq(errno, ESRCH);
	cr_assert_eq(syscall(__NR_process_vm_writev, getpid(), NULL, 0, NULL, 0, 0), -1);
	cr_assert_eq(errno, EPERM);
}

Test(settle, the_machine_stays_as_it_is)
{
	settled();
	cr_assert_eq(mount("none", "/nowhere", "tmpfs", 0, NULL), -1);
	cr_assert_eq(errno, EPERM);
	cr_assert_eq(unshare(0), -1);	/* which would change nothing, and succeed */
	cr_assert_eq(errno, EPERM);
}

/* By another number there is no such call either: of x86_64, x32 has each of them once more. */
Test(settle, no_other_numbers)
{
	char *argv[] = { "true", NULL };

	settled();
	cr_expect_eq(syscall(0x40000000 | 520, "/bin/true", argv, NULL), -1);	/* execve of x32 */
#if defined(__x86_64__)
	cr_expect_eq(errno, EPERM);
	cr_expect_eq(syscall(0x40000000 | __NR_getpid), -1);
	cr_expect_eq(errno, EPERM);
#else
	cr_expect_eq(errno, ENOSYS);
#endif
}

static void *confine_itself(void *arg)
{
	static const struct lockdown_call most[] = {
		LOCKDOWN_CALL(read), LOCKDOWN_CALL(write), LOCKDOWN_CALL(futex), LOCKDOWN_CALL(exit), LOCKDOWN_CALL(exit_group), LOCKDOWN_CALL(madvise),
		LOCKDOWN_CALL(munmap), LOCKDOWN_CALL(rt_sigprocmask),
	};
	int *pipes = arg;
	char c = lockdown__allow(most, ARRAY_SIZE(most)) ? 'n' : 'y';

	if (write(pipes[1], &c, 1) != 1 || read(pipes[2], &c, 1) < 0)
		abort();
	return NULL;
}

/* A thread that has a filter of its own cannot be given this one: then nobody has it, and that is not called success. */
Test(settle, all_threads_or_none)
{
	struct err e = {};
	int pipes[4];
	pthread_t thread;
	char c;

	cr_assert(!pipe(pipes) && !pipe(pipes + 2));
	cr_assert_eq(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	cr_assert_eq(pthread_create(&thread, NULL, confine_itself, pipes), 0);
	cr_assert_eq(read(pipes[0], &c, 1), 1);
	cr_assert_eq(c, 'y');
	cr_expect_eq(settle__process(&e), -EBUSY);
	cr_expect_str_eq(err_msg(&e), "system calls cannot be given up: Device or resource busy");
	err_done(&e);
	close(pipes[3]);
	cr_assert_eq(pthread_join(thread, NULL), 0);
}
