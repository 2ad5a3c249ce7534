// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the page fault events of a process: three for each thread that was there
 * when they were opened, with a program each (growth.bpf.h). Other processes
 * never run the programs: an event belongs to a thread, and the kernel checks
 * it only while that thread runs.
 *
 * A thread that is made later inherits its maker's events, with the programs
 * that they have at that moment. So a thread that is made between the opening of
 * an event and its getting a program has an event without an effect; hence the
 * list of threads is read again until it has no new one, and each new one gets
 * events of its own. Most of those have inherited good ones: the program knows a
 * fault that it has charged already.
 */
#include <bpf/libbpf.h>
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "malloctrace.skel.h"
#include "probe/faults.h"
#include "util/parse.h"
#include "util/util.h"

#define MAX_ROUNDS 1000		/* a program that makes threads without end */

struct faults {
	pid_t pid;
	struct vec(pid_t) threads;	/* those that have events of their own */
	struct vec(int) fds;
};

static int open_event(struct faults *f, pid_t tid, uint64_t config, const struct bpf_program *prog)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = config,
		.sample_period = 1,
		.inherit = 1,
		.inherit_thread = 1,	/* 5.13 */
	};
	int *fd = vec_push(&f->fds);

	if (!fd)
		return -ENOMEM;
	*fd = syscall(SYS_perf_event_open, &attr, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (*fd < 0) {
		f->fds.n--;
		return -errno;
	}
	return ioctl(*fd, PERF_EVENT_IOC_SET_BPF, bpf_program__fd(prog)) ? -errno : 0;
}

static bool known(const struct faults *f, pid_t tid)
{
	for (size_t i = 0; i < f->threads.n; i++)
		if (f->threads.v[i] == tid)
			return true;
	return false;
}

/* The end of a fault before its beginning: what is under way meanwhile is reported as such. */
static int add_thread(struct faults *f, const struct kernel *k, pid_t tid)
{
	const struct {
		uint64_t config;
		const struct bpf_program *prog;
	} events[] = {
		{ PERF_COUNT_SW_PAGE_FAULTS_MIN, k->skel->progs.fault_ends },
		{ PERF_COUNT_SW_PAGE_FAULTS_MAJ, k->skel->progs.fault_ends },
		{ PERF_COUNT_SW_PAGE_FAULTS, k->skel->progs.fault_begins },
	};
	pid_t *slot = vec_push(&f->threads);
	int err = slot ? 0 : -ENOMEM;

	if (slot)
		*slot = tid;
	for (size_t i = 0; i < ARRAY_SIZE(events) && !err; i++)
		err = open_event(f, tid, events[i].config, events[i].prog);
	return err == -ESRCH ? 0 : err;	/* it has ended */
}

/* Threads that have no events yet get some; how many those were, or -errno. */
static int add_threads(struct faults *f, const struct kernel *k)
{
	_cleanup_free_ char *path = NULL;
	struct dirent *d;
	int n = 0, err = 0;
	uint64_t tid;
	DIR *dir;

	if (asprintf(&path, "/proc/%d/task", (int)f->pid) < 0)
		return -ENOMEM;
	dir = opendir(path);
	if (!dir)
		return errno == ENOENT ? -ESRCH : -errno;
	while (!err && (d = readdir(dir))) {
		if (!isdigit((unsigned char)d->d_name[0]) || parse_u64(d->d_name, 1, INT32_MAX, &tid) || known(f, tid))
			continue;
		err = add_thread(f, k, tid);
		n++;
	}
	closedir(dir);
	return err ? err : n;
}

/* A process with thousands of threads takes more files than a shell allows. */
static void allow_many_files(void)
{
	struct rlimit limit;

	if (!getrlimit(RLIMIT_NOFILE, &limit) && limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

static int explain(struct err *e, int err, pid_t pid)
{
	switch (-err) {
	case ESRCH:
		return err_set(e, err, "process %d has ended", (int)pid);
	case EMFILE:
		return err_set(e, err,
			       "process %d has too many threads: three open files are needed for each (ulimit -n)",
			       (int)pid);
	case EPERM:
	case EACCES:
		return err_set(e, err,
			       "the kernel does not let this user watch the page faults of process %d: run with sudo; 'malloctrace doctor' says what is missing",
			       (int)pid);
	default:
		return err_set(e, err, "cannot watch the page faults of process %d: %s", (int)pid, strerror(-err));
	}
}

int faults__open(struct kernel *k, pid_t pid, struct faults **ret, struct err *e)
{
	struct faults *f = calloc(1, sizeof(*f));
	int n = 1;

	if (!f)
		return err_set(e, -ENOMEM, "out of memory");
	f->pid = pid;
	allow_many_files();
	for (int i = 0; i < MAX_ROUNDS && n > 0; i++)
		n = add_threads(f, k);
	if (n < 0) {
		faults__close(f);
		return explain(e, n, pid);
	}
	*ret = f;
	return 0;
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
