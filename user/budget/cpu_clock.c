// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns an event for each thread that was there when it was opened.
 *
 * The clock that a process has for its CPU time (clock_getcpuclockid) is read
 * without asking the CPU that it runs on: it is behind by up to a tick, 4 ms,
 * which is much for a window of ten; and not by the same at both ends, because
 * putting probes in ends with a tick. A perf event's clock is read on that CPU.
 * Threads that are made later inherit their maker's event. Where events are
 * refused the process's clock must do.
 */
#include <ctype.h>
#include <dirent.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>

#include "budget/cpu_clock.h"
#include "util/parse.h"
#include "util/util.h"

#define MAX_THREADS 256		/* of a process with more, the clock that is behind is good enough */

struct cpu_clock {
	clockid_t clock;
	bool has_clock;
	struct vec(int) fds;
	uint64_t last_ns;
};

static int open_event(pid_t tid)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_TASK_CLOCK,
		.inherit = 1,
		.inherit_thread = 1,	/* 5.13 */
	};

	return syscall(SYS_perf_event_open, &attr, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static void close_events(struct cpu_clock *c)
{
	for (size_t i = 0; i < c->fds.n; i++)
		close(c->fds.v[i]);
	vec_done(&c->fds);
}

/* Once through the list: a thread that is made meanwhile has inherited an event, and a second one would count it twice. */
static void open_events(struct cpu_clock *c, pid_t pid)
{
	char path[64];
	struct dirent *d;
	uint64_t tid;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = opendir(path);
	while (dir && (d = readdir(dir))) {
		int *fd;

		if (!isdigit((unsigned char)d->d_name[0]) || parse_u64(d->d_name, 1, INT32_MAX, &tid))
			continue;
		fd = c->fds.n < MAX_THREADS ? vec_push(&c->fds) : NULL;
		if (fd)
			*fd = open_event((pid_t)tid);
		if (!fd || *fd < 0) {
			c->fds.n -= fd != NULL;
			close_events(c);
			break;
		}
	}
	if (dir)
		closedir(dir);
}

struct cpu_clock *cpu_clock__open(pid_t pid)
{
	struct cpu_clock *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->has_clock = !clock_getcpuclockid(pid, &c->clock);
	open_events(c, pid);
	return c;
}

void cpu_clock__close(struct cpu_clock *c)
{
	if (!c)
		return;
	close_events(c);
	free(c);
}

uint64_t cpu_clock__ns(struct cpu_clock *c)
{
	uint64_t sum = 0, ns;
	struct timespec t;

	if (c->fds.n) {
		for (size_t i = 0; i < c->fds.n; i++)
			if (read(c->fds.v[i], &ns, sizeof(ns)) == sizeof(ns))
				sum += ns;
	} else if (c->has_clock && !clock_gettime(c->clock, &t)) {
		sum = t.tv_sec * 1000000000ull + t.tv_nsec;
	}
	c->last_ns = MAX(c->last_ns, sum);
	return c->last_ns;
}
