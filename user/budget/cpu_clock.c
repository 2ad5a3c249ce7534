// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns an event for each thread that was there when it was opened, and one for each that is watched by itself.
 *
 * The clock that a process has for its CPU time (clock_getcpuclockid) is read
 * without querying the CPU that it runs on: it lags by up to a tick, 4 ms,
 * which is much for a window of ten; and not by the same at both ends, because
 * putting probes in ends with a tick. A perf event's clock is read on that CPU.
 * Threads that are made later inherit their maker's event, so those say nothing of
 * one thread. Where events are refused the process's clock must do.
 */
#include <fcntl.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "budget/cpu_clock.h"
#include "process/process.h"
#include "util/util.h"

#define MAX_THREADS 256		/* of a process with more, the clock that lags is good enough */

struct thread_clock {
	pid_t tid;
	int fd;
	uint64_t ns;		/* when it was last read */
};

struct cpu_clock {
	pthread_mutex_t lock;	/* a thread that waits for it may run before others, and then its holder does */
	clockid_t clock;
	bool has_clock;
	struct vec(struct thread_clock) threads;	/* each with those that it has made since */
	struct thread_clock watched[MAX_THREADS];	/* each by itself: some may be added while others are read */
	size_t n_watched;
	uint64_t last_ns;
};

static int open_event(pid_t tid, bool inherit)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_TASK_CLOCK,
		.inherit = inherit,
		.inherit_thread = inherit,	/* 5.13 */
	};

	return syscall(SYS_perf_event_open, &attr, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static void close_events(struct cpu_clock *c)
{
	for (size_t i = 0; i < c->threads.n; i++)
		close(c->threads.v[i].fd);
	vec_done(&c->threads);
}

/*
 * Once through the list: a thread that is made meanwhile has inherited an event, and a second one
 * would count it twice.
 */
static void open_events(struct cpu_clock *c, pid_t pid)
{
	_cleanup_pids_ struct pids tids = pids__of_threads(pid);
	pid_t tid;

	while ((tid = pids__next(&tids))) {
		int fd = c->threads.n < MAX_THREADS ? open_event(tid, true) : -1;

		if (fd < 0) {
			close_events(c);
			return;
		}
		*vec_push(&c->threads) = (struct thread_clock){ tid, fd, 0 };
	}
}

struct cpu_clock *cpu_clock__open(pid_t pid, bool fine)
{
	struct cpu_clock *c = xcalloc(1, sizeof(*c));
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT);
	pthread_mutex_init(&c->lock, &attr);
	pthread_mutexattr_destroy(&attr);
	c->has_clock = !clock_getcpuclockid(pid, &c->clock);
	if (fine)
		open_events(c, pid);
	return c;
}

void cpu_clock__close(struct cpu_clock *c)
{
	if (!c)
		return;
	close_events(c);
	for (size_t i = 0; i < c->n_watched; i++)
		close(c->watched[i].fd);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

static uint64_t read_events(struct thread_clock *v, size_t n)
{
	uint64_t sum = 0, ns;

	for (size_t i = 0; i < n; i++) {
		if (read(v[i].fd, &ns, sizeof(ns)) != sizeof(ns))
			continue;
		v[i].ns = ns;
		sum += ns;
	}
	return sum;
}

uint64_t cpu_clock__ns(struct cpu_clock *c)
{
	uint64_t sum = 0;
	struct timespec t;

	pthread_mutex_lock(&c->lock);
	if (c->threads.n)
		sum = read_events(c->threads.v, c->threads.n);
	else if (c->has_clock && !clock_gettime(c->clock, &t))
		sum = timespec_ns(t);
	read_events(c->watched, __atomic_load_n(&c->n_watched, __ATOMIC_ACQUIRE));
	c->last_ns = sum = MAX(c->last_ns, sum);
	pthread_mutex_unlock(&c->lock);
	return sum;
}

static const struct thread_clock *find(const struct cpu_clock *c, pid_t tid)
{
	return array_first(one, c->watched, c->n_watched, one->tid == tid);
}

bool cpu_clock__watch(struct cpu_clock *c, pid_t tid)
{
	struct thread_clock *t = &c->watched[c->n_watched];

	if (find(c, tid))
		return true;
	if (c->n_watched == MAX_THREADS)
		return false;
	*t = (struct thread_clock){ tid, open_event(tid, false), 0 };
	if (t->fd < 0)
		return false;
	__atomic_store_n(&c->n_watched, c->n_watched + 1, __ATOMIC_RELEASE);
	return true;
}

bool cpu_clock__thread_ns(const struct cpu_clock *c, pid_t tid, uint64_t *ret)
{
	const struct thread_clock *t = find(c, tid);

	if (t)
		*ret = t->ns;
	return t != NULL;
}

/* ---- which threads slept */

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
	_cleanup_pids_ struct pids tids = pids__of_threads(pid);
	pid_t tid;

	ret->n = 0;
	while ((tid = pids__next(&tids))) {
		if (ret->n == AWAKE_MOST_THREADS) {
			ret->n = 0;
			return;
		}
		ret->n += read_thread(pid, tid, &ret->threads[ret->n]);
	}
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
