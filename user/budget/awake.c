// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns nothing. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "budget/awake.h"
#include "util/parse.h"
#include "util/util.h"

bool awake__parse(const char *text, struct awake_thread *ret)
{
	const char *state = strstr(text, "\nState:\t"), *sleeps = strstr(text, "\nvoluntary_ctxt_switches:\t");

	if (!state || !sleeps)
		return false;
	ret->runnable = state[strlen("\nState:\t")] == 'R';
	ret->sleeps = strtoull(sleeps + strlen("\nvoluntary_ctxt_switches:\t"), NULL, 10);
	return true;
}

static bool read_thread(pid_t pid, pid_t tid, struct awake_thread *ret)
{
	char path[64], text[4096];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/status", (int)pid, (int)tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return false;
	text[n] = 0;
	ret->tid = tid;
	return awake__parse(text, ret);
}

void awake__read(pid_t pid, struct awake *ret)
{
	struct dirent *d;
	char path[64];
	uint64_t tid;
	DIR *dir;

	ret->n = 0;
	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = opendir(path);
	while (dir && (d = readdir(dir))) {
		if (parse_u64(d->d_name, 1, INT32_MAX, &tid))
			continue;
		if (ret->n == AWAKE_MOST_THREADS) {
			ret->n = 0;
			break;
		}
		ret->n += read_thread(pid, (pid_t)tid, &ret->threads[ret->n]);
	}
	if (dir)
		closedir(dir);
}

size_t awake__between(const struct awake *from, const struct awake *to)
{
	size_t n = 0;

	for (size_t i = 0; i < from->n; i++)
		for (size_t k = 0; k < to->n; k++) {
			const struct awake_thread *a = &from->threads[i], *b = &to->threads[k];

			n += a->tid == b->tid && a->runnable && b->runnable && a->sleeps == b->sleeps;
		}
	return n;
}
