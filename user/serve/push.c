// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns the process that pushes, from the side of the one that traces. */
#include "serve/push.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "reader/lockdown.h"
#include "reader/reader.h"
#include "serve/push_parts.h"
#include "serve/ready.h"
#include "util/util.h"

int push__start(const char *url, const char *name, struct push *ret, struct err *e)
{
	static char *const argv[] = { PUSH_CHILD_NAME, NULL }, *const envp[] = { NULL };
	_cleanup_close_ int exe = open("/proc/self/exe", O_PATH | O_CLOEXEC), settings = memfd_create("settings", MFD_CLOEXEC);
	int pair[2], err;
	pid_t pid;

	if (exe < 0 || settings < 0 || dprintf(settings, "%s\n%s\n", url, name) < 0 || lseek(settings, 0, SEEK_SET) ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return err_set(e, -errno, "the process that pushes: %s", strerror(errno));
	pid = fork();
	if (!pid) {
		const int fds[] = { pair[1], -1, STDERR_FILENO, settings };

		lockdown__exec(&(struct lockdown_start){ exe, fds, ARRAY_SIZE(fds), argv, envp });
	}
	close(pair[1]);
	if (pid < 0) {
		close(pair[0]);
		return err_set(e, -errno, "the process that pushes cannot be started: %s", strerror(errno));
	}
	*ret = (struct push){ .pid = pid, .fd = pair[0] };
	err = ready__await(pair[0], "--push", e);
	if (err)
		push__end(ret);
	return err;
}

void push__end(struct push *p)
{
	if (p->fd >= 0)
		close(p->fd);
	if (p->pid > 0) {
		kill(p->pid, SIGKILL);
		waitpid(p->pid, NULL, 0);
	}
	*p = (struct push){ .fd = -1 };
}

void push__put(struct push *p, const struct push_item *item, int fd)
{
	if (reader_socket__put(p->fd, item, sizeof(*item), fd, MSG_DONTWAIT) != sizeof(*item))
		p->n_refused++;
}

bool push__read_counts(struct push *p)
{
	struct push_counts c;
	ssize_t got;
	int fd;

	while ((got = reader_socket__get(p->fd, &c, sizeof(c), &fd, MSG_DONTWAIT)) > 0) {
		if (fd >= 0)
			close(fd);
		if (got == sizeof(c))
			p->counts = c;
	}
	return got < 0 && (errno == EAGAIN || errno == EINTR);
}
