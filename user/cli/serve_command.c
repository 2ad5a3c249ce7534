// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns the listening socket, and the process that traces. */
#include "cli/serve_command.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "serve/listen.h"
#include "util/exit_status.h"
#include "util/log.h"
#include "util/notify.h"

static const int watched[] = { SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGCHLD };

static sigset_t watched_set(void)
{
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(watched) / sizeof(*watched); i++)
		sigaddset(&set, watched[i]);
	return set;
}

/* 0: this is the new one. */
static pid_t start(const sigset_t *before)
{
	pid_t parent = getpid(), pid = fork();

	if (pid)
		return pid;
	/* without the one that listens there is nobody to answer */
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(EXIT_FAILED);
	sigprocmask(SIG_SETMASK, before, NULL);
	return 0;
}

static int wait_for(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return EXIT_FAILED;
	return WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILED;
}

/* The options once more, by what the file says now. false: they are wrong, and all stays as it was. */
static bool read_again(struct opts *o, int argc, char **argv)
{
	_cleanup_err_ struct err e = {};
	struct opts now;
	int fd = o->serve.listen_fd;

	if (opts__parse(&now, argc, argv, &e)) {
		say_error("%s; all goes on as before", err_msg(&e));
		return false;
	}
	if (strcmp(now.serve.listen, o->serve.listen)) {
		fd = listen__open(&now.serve, &e);
		if (fd < 0) {
			say_error("%s; all goes on as before", err_msg(&e));
			opts__done(&now);
			return false;
		}
		close(o->serve.listen_fd);
	}
	now.serve.listen_fd = fd;
	opts__done(o);
	*o = now;
	return true;
}

bool serve_command__begin(struct opts *o, int argc, char **argv, int *ret_status, int *ret_err, struct err *e)
{
	sigset_t set = watched_set(), before;
	siginfo_t info;
	pid_t pid;

	o->serve.listen_fd = listen__open(&o->serve, e);
	if (o->serve.listen_fd < 0) {
		*ret_err = o->serve.listen_fd;
		*ret_status = *ret_err == -EINVAL ? EXIT_USAGE : EXIT_FAILED;
		return false;
	}
	sigprocmask(SIG_BLOCK, &set, &before);
	pid = start(&before);
	while (pid > 0) {
		int sig = sigwaitinfo(&set, &info);

		if (sig == SIGCHLD) {
			siginfo_t ended = {};

			if (waitid(P_PID, (id_t)pid, &ended, WEXITED | WNOHANG | WNOWAIT) || !ended.si_pid)
				continue;
			/* nobody asked for it: the service manager starts all again */
			*ret_status = wait_for(pid);
			return false;
		}
		if (sig == SIGHUP && info.si_code != SI_KERNEL) {
			if (!read_again(o, argc, argv))
				continue;
			notify__say("RELOADING=1");
			kill(pid, SIGTERM);
			wait_for(pid);
			pid = start(&before);
			continue;
		}
		/* a terminal tells both */
		if (sig > 0 && sig != SIGCHLD && info.si_code != SI_KERNEL)
			kill(pid, sig == SIGHUP ? SIGTERM : sig);
	}
	if (pid < 0)
		*ret_err = err_set(e, -errno, "the process that traces cannot be started: %s", strerror(errno));
	return pid == 0;
}
