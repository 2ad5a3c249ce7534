// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* What a process that has settled can do no more, and what it still can. Each test is a process of its own. */
#include <criterion/criterion.h>
#include <errno.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "trace/settle.h"

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
