// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* The end for want of memory. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "util/nomem.h"

/* As a terminal is restored: what was written before it is gone. */
static void restore(void)
{
	if (write(STDERR_FILENO, "restored, ", 10) != 10)
		_exit(9);
}

Test(nomem, words_come_after_the_screen)
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
		nomem__end_with(7);
		nomem__end();
	}
	close(ends[1]);
	while (n < sizeof(said) - 1 && (got = read(ends[0], said + n, sizeof(said) - 1 - n)) > 0)
		n += (size_t)got;
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == 7, "wanted status 7, got %#x", (unsigned int)status);
	cr_expect_str_eq(said, "restored, malloctrace: out of memory\n");
}
