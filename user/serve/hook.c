// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns the program of --exec that runs. */
#include "serve/hook.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "reader/lockdown.h"
#include "reader/reader.h"
#include "util/invoker.h"
#include "util/log.h"
#include "util/util.h"

#define FIRST_FREE_FD 3
#define NOT_RUN 127	/* as a shell has it */

struct asked {			/* and a descriptor of the file */
	char path[PATH_MAX];	/* absolute */
	char why[256];
};

int hook__open(struct hook *h, struct err *e)
{
	int pair[2];

	*h = (struct hook){ -1, -1, 0, 0 };
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return err_set(e, -errno, "--exec: %s", strerror(errno));
	h->asked_fd = pair[0];
	h->ask_fd = pair[1];
	return 0;
}

bool hook__ask(int fd, const char *path, const char *why)
{
	_cleanup_close_ int file = open(path, O_RDONLY | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
	struct asked a = {};

	if (file < 0 || !realpath(path, a.path))
		return false;
	snprintf(a.why, sizeof(a.why), "%s", why);
	return reader_socket__put(fd, &a, sizeof(a), file, MSG_DONTWAIT) == sizeof(a);
}

bool hook__is_idle(const struct hook *h)
{
	return !h->pid;
}

int hook__wait_ms(const struct hook *h)
{
	uint64_t now = now_ns();

	if (!h->pid)
		return -1;
	return h->until_ns > now ? (int)((h->until_ns - now) / MS_NS) + 1 : 0;
}

static int become_powerless(void)
{
	uid_t uid;
	gid_t gid;

	if (geteuid())
		return 0;
	if (invoker__find(&uid, &gid) && uid)
		return invoker__become();
	/* who is nobody shares that with others, which may look into what it has open */
	lockdown__become_stranger();
	return !getuid() || !geteuid() || !getgid() ? -EPERM : 0;
}

_Noreturn static void exec(const char *program, const struct asked *a, int file)
{
	char why[sizeof(a->why) + 32];
	char *argv[] = { (char *)program, (char *)a->path, NULL };
	char *envp[] = { "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", why, NULL };
	sigset_t none;

	snprintf(why, sizeof(why), "MALLOCTRACE_WHY=%s", a->why);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	setsid();
	if (chdir("/") || dup2(file, STDIN_FILENO) < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0 || syscall(SYS_close_range, FIRST_FREE_FD, ~0u, 0) ||
	    become_powerless() || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		_exit(NOT_RUN);
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	/* what it makes is its user's alone */
	umask(0077);
	execvpe(program, argv, envp);
	dprintf(STDERR_FILENO, "malloctrace: --exec %s: %s\n", program, strerror(errno));
	_exit(NOT_RUN);
}

void hook__run(struct hook *h, const char *program)
{
	_cleanup_close_ int file = -1;
	struct asked a;

	if (reader_socket__get(h->asked_fd, &a, sizeof(a), &file, MSG_DONTWAIT) != sizeof(a) || file < 0 || !program)
		return;
	a.path[sizeof(a.path) - 1] = a.why[sizeof(a.why) - 1] = '\0';
	h->pid = fork();
	if (!h->pid)
		exec(program, &a, file);
	if (h->pid < 0) {
		say_error("--exec: %s", strerror(errno));
		h->pid = 0;
	}
	h->until_ns = now_ns() + HOOK_LIMIT_S * SECOND_NS;
}

/* With all that it has started; before its setsid() it has started nothing. */
static void kill_all(pid_t pid)
{
	if (kill(-pid, SIGKILL))
		kill(pid, SIGKILL);
}

void hook__reap(struct hook *h)
{
	bool late = h->pid && now_ns() >= h->until_ns;
	int status;

	if (!h->pid)
		return;
	if (late)
		kill_all(h->pid);
	if (waitpid(h->pid, &status, late ? 0 : WNOHANG) != h->pid)
		return;
	h->pid = 0;
	if (late)
		say_error("--exec: its program was ended after %d s", HOOK_LIMIT_S);
	else if (WIFSIGNALED(status))
		say_error("--exec: its program was ended by signal %d", WTERMSIG(status));
	else if (WEXITSTATUS(status))
		say_error("--exec: its program failed, with status %d", WEXITSTATUS(status));
}

void hook__end(struct hook *h)
{
	if (!h->pid)
		return;
	kill_all(h->pid);
	waitpid(h->pid, NULL, 0);
	h->pid = 0;
}
