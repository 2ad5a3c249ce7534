// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Processes that share one memory without being threads of each other. */
#include <criterion/criterion.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "heap/target.h"
#include "process/sharers.h"
#include "util/log.h"
#include "util/util.h"

static char stack[64 * 1024] __attribute__((aligned(16)));

__attribute__((noreturn)) static int wait_here(void *arg)
{
	(void)arg;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		pause();
}

/* A process with a sibling that shares its memory, and a child that does not. */
struct family {
	pid_t pid, sibling, child;
};

static void with_sibling(struct family *f)
{
	f->sibling = clone(wait_here, stack + sizeof(stack), CLONE_VM | SIGCHLD, NULL);
}

static void begin_with(struct family *f, void (*make)(struct family *f))
{
	struct family seen;
	int fds[2];

	cr_assert(!pipe(fds));
	f->pid = fork();
	if (!f->pid) {
		make(f);
		f->child = fork();
		if (!f->child)
			wait_here(NULL);
		if (write(fds[1], f, sizeof(*f)) != sizeof(*f))
			_exit(1);
		wait_here(NULL);
	}
	cr_assert_eq(read(fds[0], &seen, sizeof(seen)), (ssize_t)sizeof(seen));
	f->sibling = seen.sibling;
	f->child = seen.child;
	close(fds[0]);
	close(fds[1]);
}

static void begin(struct family *f)
{
	begin_with(f, with_sibling);
}

/* One that was not yet ready to follow its parent is ended all the same. */
static void end(struct family *f)
{
	kill(f->child, SIGKILL);
	kill(f->sibling, SIGKILL);
	kill(f->pid, SIGKILL);
	waitpid(f->pid, NULL, 0);
}

static char state_of(pid_t pid)
{
	char path[64], comm[64], state = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	f = fopen(path, "re");
	cr_assert(f && fscanf(f, "%*d %63s %c", comm, &state) == 2);
	fclose(f);
	return state;
}

Test(sharers, found_from_either_side)
{
	struct sharers s = {};
	struct family f;

	begin(&f);
	cr_assert_eq(sharers__find(f.pid, &s), 0);
	cr_expect_eq(s.n, 1);
	cr_expect(sharers__has(&s, f.sibling));
	sharers__done(&s);
	cr_assert_eq(sharers__find(f.sibling, &s), 0);
	cr_expect_eq(s.n, 1);
	cr_expect(sharers__has(&s, f.pid));
	sharers__done(&s);
	cr_assert_eq(sharers__find(f.child, &s), 0);
	cr_expect_eq(s.n, 0);
	sharers__done(&s);
	end(&f);
}

static char thread_stack[64 * 1024] __attribute__((aligned(16)));

__attribute__((noreturn)) static int leave_a_thread(void *arg)
{
	if (clone(wait_here, thread_stack + sizeof(thread_stack),
		  CLONE_VM | CLONE_SIGHAND | CLONE_THREAD, NULL) < 0)
		_exit(1);
	for (;;)
		syscall(SYS_exit, 0);
}

static void without_first_thread(struct family *f)
{
	static volatile pid_t first = 1;

	f->sibling =
		clone(leave_a_thread, stack + sizeof(stack),
		      CLONE_VM | CLONE_CHILD_CLEARTID | SIGCHLD, NULL, NULL, NULL, (void *)&first);
	while (first)
		sched_yield();
}

/* The kernel compares memories by threads, and the first one has none any more. */
Test(sharers, without_its_first_thread)
{
	struct sharers s = {};
	struct family f;

	begin_with(&f, without_first_thread);
	cr_assert_eq(sharers__find(f.pid, &s), 0);
	cr_expect_eq(s.n, 1);
	cr_expect(sharers__has(&s, f.sibling));
	sharers__done(&s);
	cr_expect_eq(sharers__sort_in(&s, f.sibling), 0);
	cr_expect_eq(sharers__sort_in(&s, f.child), 0);
	cr_expect_eq(sharers__sort_in(&s, f.pid), f.sibling);
	sharers__done(&s);
	end(&f);
}

/* ---- one that this user may not compare */

#define TARGETS 12345		/* uids */
#define OTHERS 12346

__attribute__((noreturn)) static int wait_as_another(void *arg)
{
	if (setresuid(OTHERS, OTHERS, OTHERS))
		_exit(1);
	*(volatile bool *)arg = true;
	wait_here(NULL);
}

static unsigned int n_refused;

static void on_say(const char *text, void *arg)
{
	n_refused += strstr(text, "may share the memory of process") != NULL;
}

static void as_another(struct family *f)
{
	static volatile bool changed;

	if (setresuid(0, 0, 0))
		_exit(1);
	f->sibling =
		clone(wait_as_another, stack + sizeof(stack), CLONE_VM | SIGCHLD, (void *)&changed);
	while (!changed)
		sched_yield();
	/* what setresuid() took away, of this memory */
	if (setresuid(TARGETS, TARGETS, TARGETS) || prctl(PR_SET_DUMPABLE, 1))
		_exit(1);
}

Test(sharers, one_that_may_not_be_compared_is_told)
{
	struct sharers s = {};
	struct family f;

	if (geteuid())
		cr_skip_test("only root can make such a process");
	begin_with(&f, as_another);
	log__redirect(&(struct log_sink){ .say = on_say });
	cr_assert_eq(setresuid(TARGETS, TARGETS, 0), 0);
	cr_expect_eq(sharers__find(f.pid, &s), 0);
	cr_expect_eq(s.n, 0);
	cr_expect_eq(n_refused, 1);
	sharers__done(&s);
	cr_assert_eq(setresuid(0, 0, 0), 0);
	log__redirect(NULL);
	end(&f);
}

/* Also where those that were sorted in have exited meanwhile. */
Test(sharers, sorted_by_memory)
{
	struct family f[8], gone;
	struct sharers s = {};

	begin(&gone);
	for (size_t i = 0; i < ARRAY_SIZE(f); i++)
		begin(&f[i]);
	cr_expect_eq(sharers__sort_in(&s, gone.pid), 0);
	for (size_t i = 0; i < ARRAY_SIZE(f); i++) {
		cr_expect_eq(sharers__sort_in(&s, f[i].sibling), 0);
		cr_expect_eq(sharers__sort_in(&s, f[i].child), 0);
	}
	end(&gone);
	for (size_t i = 0; i < ARRAY_SIZE(f); i++)
		cr_expect_eq(sharers__sort_in(&s, f[i].pid), f[i].sibling);
	sharers__done(&s);
	for (size_t i = 0; i < ARRAY_SIZE(f); i++)
		end(&f[i]);
}

/* A pause stops whoever can change that memory, and nobody else. */
Test(sharers, paused_together)
{
	_cleanup_err_ struct err e = {};
	struct target t = {};
	struct family f;

	begin(&f);
	cr_assert_eq(target__open(f.pid, NULL, &t, &e), 0, "%s", err_msg(&e));
	cr_assert_eq(target__pause(&t, &e), 0, "%s", err_msg(&e));
	cr_expect_eq(state_of(f.pid), 't');
	cr_expect_eq(state_of(f.sibling), 't');
	cr_expect_neq(state_of(f.child), 't');
	target__done(&t);
	cr_expect_neq(state_of(f.pid), 't');
	cr_expect_neq(state_of(f.sibling), 't');
	end(&f);
}
