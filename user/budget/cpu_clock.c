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

struct thread_clock {
	pid_t tid;
	int fd;
	uint64_t ns;		/* when it was last read */
};

struct cpu_clock {
	clockid_t clock;
	bool has_clock;
	struct vec(struct thread_clock) threads;
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
	for (size_t i = 0; i < c->threads.n; i++)
		close(c->threads.v[i].fd);
	vec_done(&c->threads);
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
		struct thread_clock *t;

		if (!isdigit((unsigned char)d->d_name[0]) || parse_u64(d->d_name, 1, INT32_MAX, &tid))
			continue;
		t = c->threads.n < MAX_THREADS ? vec_push(&c->threads) : NULL;
		if (t)
			*t = (struct thread_clock){ (pid_t)tid, open_event((pid_t)tid), 0 };
		if (!t || t->fd < 0) {
			c->threads.n -= t != NULL;
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

	if (c->threads.n) {
		for (size_t i = 0; i < c->threads.n; i++) {
			if (read(c->threads.v[i].fd, &ns, sizeof(ns)) != sizeof(ns))
				continue;
			c->threads.v[i].ns = ns;
			sum += ns;
		}
	} else if (c->has_clock && !clock_gettime(c->clock, &t)) {
		sum = t.tv_sec * 1000000000ull + t.tv_nsec;
	}
	c->last_ns = MAX(c->last_ns, sum);
	return c->last_ns;
}

bool cpu_clock__thread_ns(const struct cpu_clock *c, pid_t tid, uint64_t *ret)
{
	for (size_t i = 0; i < c->threads.n; i++)
		if (c->threads.v[i].tid == tid) {
			*ret = c->threads.v[i].ns;
			return true;
		}
	return false;
}
