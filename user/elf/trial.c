// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the processes that try files, of which one waits for each device that does not answer. What always holds: as long as it
 * waits, nobody else touches that device; and all that was waited in vain has an end.
 */
#include "elf/trial.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "reader/reader.h"

#define ANSWER_NS (2 * SECOND_NS)	/* for one file: a server at the other end of the world answers within that */
#define VAIN_NS (10 * SECOND_NS)	/* for all: then no such file is tried any more */
#define SLICE_MS 20			/* a user who asks for the end does not wait longer */
#define PAGE_BYTES 4096

/* ---- which file systems */

static bool has_changed(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLPRI };

	return poll(&p, 1, 0) > 0 && p.revents & (POLLPRI | POLLERR);
}

static void look_at_mounts(struct trials *t)
{
	bool first = !t->mounts_fd;

	if (first)
		t->mounts_fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
	if (t->mounts_fd < 0 || (!has_changed(t->mounts_fd) && !first && t->mounts))
		return;
	free(t->mounts);
	t->mounts = NULL;
	if (!lseek(t->mounts_fd, 0, SEEK_SET))
		read_small_fd(t->mounts_fd, &t->mounts, NULL);
}

/* One that is in no table (a subvolume of btrfs, memory of the kernel's own) is this machine's. */
static bool may_hang(struct trials *t, pid_t pid, const struct mapping *m)
{
	_cleanup_free_ char *theirs = NULL;
	char path[64];

	look_at_mounts(t);
	if (t->mounts && mounts__find_type(t->mounts, m->dev_major, m->dev_minor, t->type))
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
	struct stat st;
	int found = open(path, O_PATH | O_CLOEXEC), fd;

	/* all others are closed */
	if (found || fstat(found, &st) || !S_ISREG(st.st_mode))
		return;
	fd = open(link, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 || fstat(fd, &st) || pread(fd, page, sizeof(page), 0) < 0)
		return;
}

/* Its pidfd, or -errno. It ends by itself, with or without the file, unless it has to wait. Nobody is told of its end. */
static int send_out(const char *link, const char *path)
{
	int pidfd = -1;
	long pid = syscall(SYS_clone, CLONE_PIDFD, NULL, &pidfd, NULL, NULL);

	if (pid < 0)
		return -errno;
	if (pid)
		return pidfd;
	/* no probe is kept by one that waits */
	syscall(SYS_close_range, 0, ~0u, 0);
	visit(link);
	syscall(SYS_close_range, 0, ~0u, 0);
	visit(path);
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

static struct silence *find(struct trials *t, const struct mapping *m)
{
	for (size_t i = 0; i < t->silent.n; i++)
		if (t->silent.v[i].dev_major == m->dev_major && t->silent.v[i].dev_minor == m->dev_minor)
			return &t->silent.v[i];
	return NULL;
}

static bool is_silent(struct trials *t, const struct mapping *m)
{
	struct silence *s = find(t, m);

	if (!s)
		return false;
	if (!is_over(s->pidfd, 0))
		return true;
	close(s->pidfd);
	*s = t->silent.v[--t->silent.n];
	return false;
}

static enum trial await(struct trials *t, const struct mapping *m, int pidfd)
{
	uint64_t begun_ns = now_ns();
	bool called_off = false;
	struct silence *s;

	while (now_ns() - begun_ns < ANSWER_NS && !called_off) {
		if (is_over(pidfd, SLICE_MS)) {
			close(pidfd);
			return TRIAL_PASSED;
		}
		called_off = readers__is_end(begun_ns);
	}
	t->vain_ns += now_ns() - begun_ns;
	syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
	s = vec_push(&t->silent);
	if (s)
		*s = (struct silence){ m->dev_major, m->dev_minor, pidfd };
	else
		close(pidfd);
	return called_off ? TRIAL_CALLED_OFF : TRIAL_SILENT;
}

enum trial trials__of(struct trials *t, pid_t pid, const struct mapping *m, const char *link)
{
	_cleanup_free_ char *path = NULL;
	int pidfd;

	if (!may_hang(t, pid, m))
		return TRIAL_NOT_NEEDED;
	if (is_silent(t, m) || t->vain_ns > VAIN_NS)
		return TRIAL_SILENT;
	if (asprintf(&path, "/proc/%d/root%s", (int)pid, m->path) < 0) {
		path = NULL;
		return TRIAL_SILENT;
	}
	pidfd = send_out(link, path);
	return pidfd < 0 ? TRIAL_SILENT : await(t, m, pidfd);
}

void trials__done(struct trials *t)
{
	for (size_t i = 0; i < t->silent.n; i++) {
		is_over(t->silent.v[i].pidfd, 0);
		close(t->silent.v[i].pidfd);
	}
	vec_done(&t->silent);
	free(t->mounts);
	if (t->mounts_fd > 0)
		close(t->mounts_fd);
	*t = (struct trials){};
}
