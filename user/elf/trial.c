// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the list of devices that do not answer, and the process that waits for each of them. What always holds: as long as it
 * waits, nobody else touches that device; all that was waited in vain has an end; and what waits holds no probe and no table.
 */
#include "elf/trial.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

#include "reader/reader.h"
#include "util/util.h"

#define VAIN_NS (10 * SECOND_NS)	/* for all: then no such file is tried any more */
#define HUSH_NS (30 * SECOND_NS)	/* without a process that shows when it answers again */
#define SLICE_MS 20			/* a user who asks for the end does not wait longer */
#define PAGE_BYTES 4096
#define N_PAGES 8			/* of a file, from its first to its last: some of them are in no cache */

struct silence {
	uint64_t dev;
	int pidfd;		/* owned; of who waits for it; -1: nobody does, */
	uint64_t until_ns;	/* and it is left alone until then */
};

static struct {
	pthread_mutex_t lock;
	struct vec(struct silence) silent;
	uint64_t vain_ns;	/* that was waited in vain, in all */
	char *mounts;		/* owned; our own mountinfo */
	int mounts_fd;		/* owned; 0: not opened yet, -1: there is none */
} trials = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* ---- which file systems */

static bool has_changed(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLPRI };

	return poll(&p, 1, 0) > 0 && p.revents & (POLLPRI | POLLERR);
}

static void look_at_mounts(void)
{
	bool first = !trials.mounts_fd;

	if (first)
		trials.mounts_fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
	if (trials.mounts_fd < 0 || (!has_changed(trials.mounts_fd) && trials.mounts))
		return;
	free(trials.mounts);
	trials.mounts = NULL;
	if (!lseek(trials.mounts_fd, 0, SEEK_SET))
		read_small_fd(trials.mounts_fd, &trials.mounts, NULL);
}

/* One that is in no table (memory of the kernel's own) is this machine's. */
static bool may_hang(pid_t pid, const struct mapping *m, struct trial *t)
{
	_cleanup_free_ char *theirs = NULL;
	char path[64];

	look_at_mounts();
	t->is_ours = trials.mounts && mounts__find_type(trials.mounts, m->dev_major, m->dev_minor, t->type);
	if (t->is_ours)
		return mount__may_hang(t->type);
	/* a container's own; what was there a moment ago may be another by now: nothing of it is kept */
	snprintf(path, sizeof(path), "/proc/%d/mountinfo", (int)pid);
	return !read_small_file(path, &theirs, NULL) && mounts__find_type(theirs, m->dev_major, m->dev_minor, t->type) &&
	       mount__may_hang(t->type);
}

/* ---- the process */

/* As a file that is mapped is opened and read. In a process with the memory of one of several threads: system calls alone. */
static void visit(const char *path)
{
	char link[] = "/proc/self/fd/0", page[PAGE_BYTES];
	int found, fd;
	struct stat st;

	syscall(SYS_close_range, 0, ~0u, 0);
	found = open(path, O_PATH | O_CLOEXEC);
	if (found || fstat(found, &st) || !S_ISREG(st.st_mode))
		return;
	fd = open(link, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 || fstat(fd, &st))
		return;
	for (off_t i = 0; i < N_PAGES; i++)
		if (pread(fd, page, sizeof(page), st.st_size / PAGE_BYTES * i / (N_PAGES - 1) * PAGE_BYTES) < 0)
			return;
}

/* Tables that are mapped would stay as long as a process has them that cannot be ended. */
static void keep_tables_from_children(void)
{
	_cleanup_free_ char *maps = NULL;
	char *save = NULL;

	if (read_small_file("/proc/self/maps", &maps, NULL))
		return;
	for (char *line = strtok_r(maps, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		unsigned long from, to;

		if (strstr(line, " anon_inode:") && sscanf(line, "%lx-%lx ", &from, &to) == 2)
			madvise((void *)from, to - from, MADV_DONTFORK);
	}
}

/* Its pidfd, or -errno. It ends by itself, with or without the file, unless it has to wait. Nobody is told of its end. */
static int send_out(const char *link, const char *path)
{
	pid_t parent = getpid();
	int pidfd = -1;
	long pid;

	keep_tables_from_children();
	pid = syscall(SYS_clone, CLONE_PIDFD, NULL, &pidfd, NULL, NULL);
	if (pid < 0)
		return -errno;
	if (pid)
		return pidfd;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() == parent) {
		visit(link);
		visit(path);
	}
	_exit(0);
}

static bool is_over(int pidfd, int wait_ms)
{
	struct pollfd p = { .fd = pidfd, .events = POLLIN };

	if (poll(&p, 1, wait_ms) <= 0)
		return false;
	waitid(P_PIDFD, pidfd, &(siginfo_t){}, WEXITED | WNOHANG | __WALL);
	return true;
}

/* ---- devices that do not answer */

static bool is_silent(uint64_t dev)
{
	bool is = false;

	for (size_t i = trials.silent.n; i-- > 0;) {
		struct silence *s = &trials.silent.v[i];

		if (s->dev != dev)
			continue;
		if (s->pidfd >= 0 ? !is_over(s->pidfd, 0) : now_ns() < s->until_ns) {
			is = true;
			continue;
		}
		if (s->pidfd >= 0)
			close(s->pidfd);
		*s = trials.silent.v[--trials.silent.n];
	}
	return is;
}

/* Without memory for this it is tried again. Takes pidfd. */
static void note_silence(uint64_t dev, int pidfd)
{
	struct silence *s = vec_push(&trials.silent);

	if (s)
		*s = (struct silence){ dev, pidfd, now_ns() + HUSH_NS };
	else if (pidfd >= 0)
		close(pidfd);
}

void trial__note_silence(uint64_t dev)
{
	pthread_mutex_lock(&trials.lock);
	if (!is_silent(dev))
		note_silence(dev, -1);
	pthread_mutex_unlock(&trials.lock);
}

/* ---- a trial */

static enum trial_verdict await(uint64_t dev, int pidfd)
{
	uint64_t begun_ns = now_ns();
	bool called_off = false;

	while (now_ns() - begun_ns < TRIAL_ANSWER_NS && !called_off) {
		if (is_over(pidfd, SLICE_MS)) {
			close(pidfd);
			return TRIAL_PASSED;
		}
		called_off = readers__is_end(begun_ns);
	}
	syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
	pthread_mutex_lock(&trials.lock);
	trials.vain_ns += now_ns() - begun_ns;
	note_silence(dev, pidfd);
	pthread_mutex_unlock(&trials.lock);
	return called_off ? TRIAL_CALLED_OFF : TRIAL_SILENT;
}

/* What is known without a trial; TRIAL_PASSED: nothing. */
static enum trial_verdict judge(pid_t pid, const struct mapping *m, struct trial *t)
{
	if (!may_hang(pid, m, t))
		return TRIAL_NOT_NEEDED;
	if (is_silent(makedev(m->dev_major, m->dev_minor)))
		return TRIAL_SILENT;
	return trials.vain_ns > VAIN_NS ? TRIAL_NOT_TRIED : TRIAL_PASSED;
}

void trial__of(pid_t pid, const struct mapping *m, const char *link, struct trial *ret)
{
	_cleanup_free_ char *path = NULL;
	int pidfd = -1;

	*ret = (struct trial){};
	pthread_mutex_lock(&trials.lock);
	ret->verdict = judge(pid, m, ret);
	pthread_mutex_unlock(&trials.lock);
	if (ret->verdict != TRIAL_PASSED)
		return;
	if (asprintf(&path, "/proc/%d/root%s", (int)pid, m->path) < 0)
		path = NULL;
	else
		pidfd = send_out(link, path);
	ret->verdict = pidfd < 0 ? TRIAL_NOT_TRIED : await(makedev(m->dev_major, m->dev_minor), pidfd);
}
