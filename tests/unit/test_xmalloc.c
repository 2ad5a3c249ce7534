// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Out of memory ends the program. */
#include <criterion/criterion.h>
#include <stdint.h>
#include <stdlib.h>
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
