// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns who else has to do with the memory of a process: those that share it, by a system call for each process; and who debugs it. */
#include "process/sharers.h"

#include <errno.h>
#include <linux/kcmp.h>
#include <string.h>
#include <sys/syscall.h>

#include "process/process.h"
#include "util/log.h"
#include "util/util.h"

/* 0: the same; -1 and errno */
static long compare(pid_t a, pid_t b)
{
	return syscall(SYS_kcmp, a, b, KCMP_VM, 0, 0);
}

static bool said_unknown, said_refused;	/* once */

/*
 * Processes that share a memory have the same sizes; so may others, and while sizes change two
 * readings differ.
 */
#define READINGS 3

static bool are_alike(pid_t a, pid_t b)
{
	bool alike = false;

	for (int i = 0; i < READINGS && !alike; i++) {
		_cleanup_free_ char *of_a = NULL, *of_b = NULL;

		alike = !process__file(a, "statm", &of_a) && !process__file(b, "statm", &of_b) &&
			!strcmp(of_a, of_b);
	}
	return alike;
}

struct kin {
	pid_t parent, group;
};

static bool find_kin(pid_t pid, struct kin *ret)
{
	_cleanup_free_ char *text = NULL;
	const char *at = process__file(pid, "stat", &text) ? NULL : strrchr(text, ')');

	return at && sscanf(at, ") %*c %d %d", &ret->parent, &ret->group) == 2;
}

/* One that begins by clone(2) is a child or a sister, or stays in the same process group. */
static bool are_kin(pid_t a, pid_t b)
{
	struct kin of_a, of_b;

	return find_kin(a, &of_a) && find_kin(b, &of_b) &&
	       (of_a.parent == b || of_b.parent == a || of_a.group == of_b.group);
}

/* Who may not be compared is mostly another user's, and has nothing to do with it. */
static void tell_refused(pid_t pid, pid_t other)
{
	if (!said_refused && are_kin(pid, other) && are_alike(pid, other) &&
	    !__atomic_exchange_n(&said_refused, true, __ATOMIC_RELAXED))
		say("process %d may share the memory of process %d: this user may not compare them (kcmp: %s). If it does, its calls are not counted; root can tell",
		    (int)other, (int)pid, strerror(EPERM));
}

int sharers__find(pid_t pid, struct sharers *ret)
{
	struct vec(pid_t) found = {};
	pid_t runner = process__runner(pid);
	_cleanup_pids_ struct pids all = {};
	pid_t other;
	int err;

	if (!runner)
		return -ESRCH;
	if (compare(runner, runner)) {
		err = -errno;
		if (err != -ESRCH && !__atomic_exchange_n(&said_unknown, true, __ATOMIC_RELAXED))
			say("kcmp: %s: processes that share the memory of a target are not found", strerror(-err));
		return err;
	}
	all = pids__of_all();
	while ((other = pids__next(&all))) {
		pid_t tid = other == pid ? 0 : process__runner(other);
		long order = tid ? compare(runner, tid) : 1;

		if (order < 0 && errno == EPERM)
			tell_refused(pid, other);
		/* a thread of the kernel may use its memory for a while */
		if (!order && process__has_memory(other))
			*vec_push(&found) = other;
	}
	if (!all.dir)
		return all.err;
	*ret = (struct sharers){ .v = found.v, .n = found.n };
	return 0;
}

bool sharers__has(const struct sharers *s, pid_t pid)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->v[i] == pid)
			return true;
	return false;
}

/*
 * 0, with ret at the one that shares the memory of this thread, or at the place where it belongs.
 */
static int search(const struct sharers *s, pid_t runner, size_t *ret, bool *found)
{
	size_t from = 0, to = s->n;

	*found = false;
	while (from < to && !*found) {
		size_t mid = from + (to - from) / 2;
		long order = compare(runner, s->runners[mid]);

		*ret = mid;
		if (order < 0 || order > 2)
			return order < 0 ? -errno : -EINVAL;
		if (order == 1)
			to = mid;
		else
			from = mid + 1;
		*found = !order;
	}
	if (!*found)
		*ret = from;
	return 0;
}

/* Its thread has exited: if others go on, one of these stands for it. */
static void renew(struct sharers *s, size_t at)
{
	pid_t runner = process__runner(s->v[at]);

	if (runner && runner != s->runners[at] && !compare(runner, runner)) {
		s->runners[at] = runner;
		return;
	}
	s->n--;
	memmove(s->v + at, s->v + at + 1, (s->n - at) * sizeof(*s->v));
	memmove(s->runners + at, s->runners + at + 1, (s->n - at) * sizeof(*s->runners));
}

static void insert(struct sharers *s, size_t at, pid_t pid, pid_t runner)
{
	s->v = xreallocarray(s->v, s->n + 1, sizeof(*s->v));
	s->runners = xreallocarray(s->runners, s->n + 1, sizeof(*s->runners));
	memmove(s->v + at + 1, s->v + at, (s->n - at) * sizeof(*s->v));
	memmove(s->runners + at + 1, s->runners + at, (s->n - at) * sizeof(*s->runners));
	s->v[at] = pid;
	s->runners[at] = runner;
	s->n++;
}

pid_t sharers__sort_in(struct sharers *s, pid_t pid)
{
	/* a thread that has exited has no memory, as others like it */
	pid_t runner = process__runner(pid);
	size_t at = 0;
	bool found;

	if (!runner)
		return 0;
	while (search(s, runner, &at, &found)) {
		/* which of the two has exited? */
		if (!s->n || !compare(s->runners[at], s->runners[at]))
			return 0;
		renew(s, at);
	}
	if (found)
		return process__runner(pid) == runner ? s->v[at] : 0;
	insert(s, at, pid, runner);
	return 0;
}

void sharers__done(struct sharers *s)
{
	free(s->v);
	free(s->runners);
	*s = (struct sharers){};
}

/* ---- debuggers */

/* Owns the names of tracers that set no breakpoints: there is no other way to tell what a tracer does. */

static const char *const write_nothing[] = { "strace" };

/* A thread of ours that stops a process for a while, and sets no breakpoints (heap/target_stop.c). */
static bool is_own(pid_t tid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/task/%d", (int)tid);
	return !access(path, F_OK);
}

static pid_t tracer_of(pid_t pid)
{
	_cleanup_free_ char *text = NULL;
	const char *line = process__file(pid, "status", &text) ? NULL : strstr(text, "\nTracerPid:");
	pid_t tracer;

	return !line || sscanf(line, "\nTracerPid: %d", &tracer) != 1 || is_own(tracer) ? 0 : tracer;
}

bool debugger__holds_still(pid_t pid)
{
	_cleanup_pids_ struct pids threads = pids__of_threads(pid);
	bool still = threads.dir;
	pid_t tid;

	while (still && (tid = pids__next(&threads)))
		still = process__state(tid) == 't';
	return still;
}

struct debugger debugger__of(pid_t pid)
{
	struct debugger d = { .pid = tracer_of(pid), .writes = true };

	if (!d.pid || d.pid == getpid())
		return (struct debugger){};
	process__thread_comm(d.pid, d.pid, d.comm);
	for (size_t i = 0; i < ARRAY_SIZE(write_nothing); i++)
		d.writes &= !!strcmp(d.comm, write_nothing[i]);
	return d;
}
