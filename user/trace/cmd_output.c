// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns what CMD reads from and prints to while there is a live view.
 *
 * What always holds: a terminal that shows the live view gets nothing from CMD, and no key that is
 * meant for the live view is read by it; nothing that CMD prints is lost, and it never waits for
 * malloctrace to read it: a file takes it, without a name, and is shown when the screen is the normal one again.
 */
#include "trace/cmd_output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "process/spawn.h"
#include "util/invoker.h"
#include "util/log.h"
#include "util/util.h"

/* Beyond those that have a meaning, should one of these be closed. */
static int out_of_the_way(int fd)
{
	int other = fd >= 0 && fd <= STDERR_FILENO ? fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1) : fd;

	if (other != fd) {
		int err = errno;

		close(fd);
		errno = err;
	}
	return other;
}

/* The user's that CMD becomes: it may open what it prints to once more, say as /dev/stderr. */
static int open_held(bool as_root, struct err *e)
{
	const char *dir = getenv("TMPDIR");
	int fd = invoker__open_named(dir && *dir ? dir : "/tmp", O_TMPFILE | O_RDWR | O_APPEND | O_CLOEXEC, 0600);
	uid_t uid;
	gid_t gid;

	if (fd < 0)
		fd = memfd_create("malloctrace-cmd-output", MFD_CLOEXEC);
	if (fd < 0)
		return err_set(e, -errno, "no file for what the command prints: %s", strerror(errno));
	if (!as_root && invoker__find(&uid, &gid) && fchown(fd, uid, gid))
		say_verbose("what the command prints goes to a file of root's: %s", strerror(errno));
	return fd;
}

static int take(struct cmd_output *c, int fd, int from, int to, struct err *e)
{
	fd = out_of_the_way(fd);
	if (fd < 0)
		return err_set(e, -errno, "no descriptor for what the command prints: %s", strerror(errno));
	for (int i = from; i <= to; i++)
		c->fds[i] = fd;
	return 0;
}

int cmd_output__open(struct cmd_output *c, const struct opts *o, bool live, struct err *e)
{
	bool out = isatty(STDOUT_FILENO), errs = isatty(STDERR_FILENO);
	int fd, err = 0;

	*c = (struct cmd_output){};
	if (o->cmd_output) {
		fd = spawn__open_file(o->cmd_output, o->as_root, e);
		if (fd < 0)
			return fd;
		err = take(c, fd, STDOUT_FILENO, STDERR_FILENO, e);
		c->named_fd = c->fds[STDOUT_FILENO];
	} else if (live && (out || errs)) {
		fd = open_held(o->as_root, e);
		if (fd < 0)
			return fd;
		err = take(c, fd, out ? STDOUT_FILENO : STDERR_FILENO, errs ? STDERR_FILENO : STDOUT_FILENO, e);
		c->held_fd = c->fds[out ? STDOUT_FILENO : STDERR_FILENO];
		c->to_fd = out ? STDOUT_FILENO : STDERR_FILENO;
	}
	if (!err && live && isatty(STDIN_FILENO)) {
		fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			return err_set(e, -errno, "/dev/null: %s", strerror(errno));
		err = take(c, fd, STDIN_FILENO, STDIN_FILENO, e);
	}
	return err;
}

void cmd_output__begin(const struct cmd_output *c)
{
	/* what is no file has nothing in it to be emptied */
	if (c->named_fd && ftruncate(c->named_fd, 0) && errno != EINVAL)
		say("what was in the file of --cmd-output is still there: %s", strerror(errno));
}

void cmd_output__show(struct cmd_output *c)
{
	char buf[1 << 14];
	ssize_t n;

	while (c->held_fd && (n = pread(c->held_fd, buf, sizeof(buf), c->shown)) > 0) {
		for (ssize_t at = 0, done; at < n; at += done) {
			done = write(c->to_fd, buf + at, (size_t)(n - at));
			if (done < 0 && errno == EINTR)
				done = 0;
			if (done < 0)
				return;
		}
		c->shown += n;
	}
}

void cmd_output__close(struct cmd_output *c)
{
	if (c->fds[STDIN_FILENO])
		close(c->fds[STDIN_FILENO]);
	if (c->fds[STDOUT_FILENO])
		close(c->fds[STDOUT_FILENO]);
	if (c->fds[STDERR_FILENO] && c->fds[STDERR_FILENO] != c->fds[STDOUT_FILENO])
		close(c->fds[STDERR_FILENO]);
	*c = (struct cmd_output){};
}
