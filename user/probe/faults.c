// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns page fault events: three of a kind, with a program each (growth.bpf.h).
 *
 * Those of a process belong to each thread that was there when they were opened.
 * Other processes never run the programs: the kernel checks such an event only
 * while its thread runs.
 *
 * A thread that is made later inherits its maker's events, with the programs
 * that they have at that moment. So a thread that is made between the opening of
 * an event and its getting a program has an event without an effect; hence the
 * list of threads is read again until it has no new one, and each new one gets
 * events of its own. Most of those have inherited good ones: the program knows a
 * fault that it has charged already.
 *
 * Those of the machine belong to its CPUs, and the programs know who is traced. So a
 * process that starts later is seen from its first fault on, whatever it runs: events
 * that a child inherits would do as much for -f, but the kernel takes them away at the
 * exec of a program that its user may not read, or that has another user's rights.
 */
#include <bpf/libbpf.h>
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "malloctrace.skel.h"
#include "probe/attach.h"
#include "util/parse.h"
#include "util/util.h"

#define MAX_ROUNDS 1000		/* a program that makes threads without end */

struct faults {
	pid_t pid;			/* 0: of all processes */
	struct vec(pid_t) threads;	/* those that have events of their own */
	struct vec(int) fds;
	long n_cpus;			/* of all processes: CPUs that were switched on */
};

/* Of a thread, wherever it runs; or, tid -1, of whatever runs on a CPU. */
static int open_event(struct faults *f, pid_t tid, int cpu, uint64_t config, const struct bpf_program *prog)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = config,
		.sample_period = 1,
		.inherit = tid != -1,
		.inherit_thread = tid != -1,	/* 5.13 */
	};
	int *fd = vec_push(&f->fds);

	*fd = syscall(SYS_perf_event_open, &attr, tid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (*fd < 0) {
		f->fds.n--;
		return -errno;
	}
	return ioctl(*fd, PERF_EVENT_IOC_SET_BPF, bpf_program__fd(prog)) ? -errno : 0;
}

/* The end of a fault before its beginning: what is under way meanwhile is reported as such. */
static int open_events(struct faults *f, const struct kernel *k, pid_t tid, int cpu)
{
	const struct {
		uint64_t config;
		const struct bpf_program *prog;
	} events[] = {
		{ PERF_COUNT_SW_PAGE_FAULTS_MIN, k->skel->progs.fault_ends },
		{ PERF_COUNT_SW_PAGE_FAULTS_MAJ, k->skel->progs.fault_ends },
		{ PERF_COUNT_SW_PAGE_FAULTS, k->skel->progs.fault_begins },
	};
	int err = 0;

	for (size_t i = 0; i < ARRAY_SIZE(events) && !err; i++)
		err = open_event(f, tid, cpu, events[i].config, events[i].prog);
	return err;
}

/* Threads that have no events yet get some; how many those were, or -errno. */
static int add_threads(struct faults *f, const struct kernel *k)
{
	_cleanup_free_ char *path = xasprintf("/proc/%d/task", (int)f->pid);
	DIR *dir = opendir(path);
	struct dirent *d;
	int n = 0, err = 0;
	uint64_t tid;

	if (!dir)
		return errno == ENOENT ? -ESRCH : -errno;
	while (!err && (d = readdir(dir))) {
		if (!isdigit((unsigned char)d->d_name[0]) || parse_u64(d->d_name, 1, INT32_MAX, &tid) ||
		    vec_first(known, &f->threads, *known == (pid_t)tid))
			continue;
		*vec_push(&f->threads) = (pid_t)tid;
		err = open_events(f, k, (pid_t)tid, -1);
		/* it has ended */
		if (err == -ESRCH)
			err = 0;
		n++;
	}
	closedir(dir);
	return err ? err : n;
}

static int explain(struct err *e, int err, pid_t pid)
{
	char whose[40] = "all processes";

	if (pid)
		snprintf(whose, sizeof(whose), "process %d", (int)pid);
	switch (-err) {
	case ESRCH:
		return err_set(e, err, "%s has ended", whose);
	case EMFILE:
		return err_set(e, err, "three open files are needed for each %s, and there are too many for ulimit -n",
			       pid ? "thread of a process" : "CPU");
	case EPERM:
	case EACCES:
		return err_set(e, err,
			       "the kernel does not let this user watch the page faults of %s: run with sudo; 'malloctrace doctor' says what is missing",
			       whose);
	default:
		return err_set(e, err, "cannot watch the page faults of %s: %s", whose, strerror(-err));
	}
}

/* An error, if there is one, is explained, and what was opened is closed. */
static int finish(struct faults *f, int err, struct faults **ret, struct err *e)
{
	if (err < 0) {
		explain(e, err, f->pid);
		faults__close(f);
		return err;
	}
	*ret = f;
	return 0;
}

int faults__open(struct kernel *k, pid_t pid, struct faults **ret, struct err *e)
{
	struct faults *f = xcalloc(1, sizeof(*f));
	int n = 1;

	f->pid = pid;
	for (int i = 0; i < MAX_ROUNDS && n > 0; i++)
		n = add_threads(f, k);
	return finish(f, n, ret, e);
}

int faults__open_all(struct kernel *k, struct faults **ret, struct err *e)
{
	struct faults *f = xcalloc(1, sizeof(*f));
	long n_cpus = sysconf(_SC_NPROCESSORS_CONF);
	int err = 0;

	f->n_cpus = sysconf(_SC_NPROCESSORS_ONLN);
	for (int cpu = 0; cpu < n_cpus && !err; cpu++) {
		err = open_events(f, k, -1, cpu);
		if (err == -ENODEV)	/* one that is switched off */
			err = 0;
	}
	return finish(f, err, ret, e);
}

bool faults__have_all(const struct faults *f)
{
	return f->n_cpus == sysconf(_SC_NPROCESSORS_ONLN);
}

void faults__settle_for(struct faults *f)
{
	f->n_cpus = sysconf(_SC_NPROCESSORS_ONLN);
}

void faults__close(struct faults *f)
{
	if (!f)
		return;
	for (size_t i = 0; i < f->fds.n; i++)
		close(f->fds.v[i]);
	vec_done(&f->fds);
	vec_done(&f->threads);
	free(f);
}
