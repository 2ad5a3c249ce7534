// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Out of memory ends the program. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "util/util.h"

/* What the program does at its end is not for a child by fork() to do. */
static void restore(void)
{
	if (write(STDERR_FILENO, "restored, ", 10) != 10)
		_exit(9);
}

Test(xmalloc, a_child_leaves_what_it_inherited)
{
	char said[128] = "";
	size_t n = 0;
	int ends[2], status;
	ssize_t got;
	pid_t pid;

	cr_assert_eq(pipe(ends), 0);
	pid = fork();
	if (!pid) {
		dup2(ends[1], STDERR_FILENO);
		atexit(restore);
		xmalloc__end_with(7);
		xmalloc(SIZE_MAX / 2);
		_exit(8);
	}
	close(ends[1]);
	while (n < sizeof(said) - 1 && (got = read(ends[0], said + n, sizeof(said) - 1 - n)) > 0)
		n += (size_t)got;
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == 7, "wanted status 7, got %#x", (unsigned int)status);
	cr_expect_str_eq(said, "malloctrace: out of memory (9223372036854775807 bytes were asked for)\n");
}

/* ---- two threads at once: the second one does not end the program before the first one has tidied up */

static pid_t second;
static bool may_begin;

static void *want_too_much(void *arg)
{
	while (!__atomic_load_n(&may_begin, __ATOMIC_SEQ_CST))
		sched_yield();
	__atomic_store_n(&second, gettid(), __ATOMIC_SEQ_CST);
	return xmalloc(SIZE_MAX / 2);
}

/* Until the second thread sleeps. */
static void tidy_up(void)
{
	char path[64], text[256] = "";

	__atomic_store_n(&may_begin, true, __ATOMIC_SEQ_CST);
	while (!strstr(text, ") S ")) {
		FILE *f;

		snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)second);
		f = second ? fopen(path, "r") : NULL;
		if (f && !fgets(text, sizeof(text), f))
			*text = 0;
		if (f)
			fclose(f);
	}
	_exit(5);
}

Test(xmalloc, a_second_thread_waits_for_the_first, .exit_code = 5, .timeout = 20)
{
	pthread_t thread;

	atexit(tidy_up);
	xmalloc__end_with(7);
	cr_assert_eq(pthread_create(&thread, NULL, want_too_much, NULL), 0);
	xmalloc(SIZE_MAX / 2);
}
