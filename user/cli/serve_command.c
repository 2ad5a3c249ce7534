// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns the listening socket, and the process that traces. */
#include "cli/commands.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "serve/listen.h"
#include "util/err.h"
#include "util/log.h"

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

/* Whom these options mean, and whether they are there: the next process will look itself, and what is found here is forgotten. */
static int try_targets(int argc, char **argv, struct err *e)
{
	struct opts o;
	int err = opts__parse(&o, argc, argv, e) ?: targets__find(&o, e);

	for (size_t i = 0; !err && i < o.pids.n; i++)
		if (kill(o.pids.v[i], 0) && errno == ESRCH)
			err = err_set(e, -ESRCH, "no process %d", (int)o.pids.v[i]);
	opts__done(&o);
	return err;
}

/* Would a process that traces begin with these? What can be known before the one that there is has ended is to be known now. */
static int try_options(const struct opts *now, int argc, char **argv, struct err *e)
{
	struct serve_secrets secrets = {};
	int err = listen__check(&now->serve, e) ?: secrets__read(&now->serve, &secrets, e) ?: try_targets(argc, argv, e);

	secrets__done(&secrets);
	return err;
}

/* The options once more, by what the file says now. false: they are wrong, and all stays as it was. */
static bool read_again(struct opts *o, int argc, char **argv)
{
	_cleanup_err_ struct err e = {};
	struct opts now;
	int fd = o->serve.listen_fd, err = opts__parse(&now, argc, argv, &e) ?: try_options(&now, argc, argv, &e);

	if (!err && strcmp(now.serve.listen, o->serve.listen)) {
		fd = listen__open(&now.serve, &e);
		err = fd < 0 ? fd : 0;
		if (!err)
			listen__close(&o->serve);
	}
	if (err) {
		/* the one before is listened at until the new one is had */
		say_error("%s%s; all goes on as before", err_msg(&e), err == -EADDRINUSE ? " (by the address before, if the port is the same: that takes a restart)" : "");
		opts__done(&now);
		return false;
	}
	now.serve.listen_fd = fd;
	opts__done(o);
	*o = now;
	return true;
}

static bool has_ended(pid_t pid)
{
	siginfo_t ended = {};

	return !waitid(P_PID, (id_t)pid, &ended, WEXITED | WNOHANG | WNOWAIT) && ended.si_pid;
}

/*
 * The process that traces writes its last files and takes its probes away, for a reload. false: meanwhile all was to end, and has;
 * what was told to it only hastens it, as at any end.
 */
static bool wait_for_end(pid_t pid, int signals, int *ret_status)
{
	struct pollfd p = { .fd = signals, .events = POLLIN };
	struct signalfd_siginfo info;
	bool goes_on = true, again = false;

	/* what came before it ended counts, too */
	while (!has_ended(pid) || poll(&p, 1, 0) > 0) {
		if (read(signals, &info, sizeof(info)) != sizeof(info))
			continue;
		if (info.ssi_signo == SIGINT || info.ssi_signo == SIGTERM) {
			goes_on = false;
			if (info.ssi_code != SI_KERNEL)
				kill(pid, (int)info.ssi_signo);
		}
		again |= info.ssi_signo == SIGHUP;
	}
	*ret_status = wait_for(pid);
	/* options may have changed once more since they were read */
	if (again)
		kill(getpid(), SIGHUP);
	return goes_on;
}

/* The process that listens: until all is over, or, in the next process that traces, until it is to begin; then true. */
static bool watch(pid_t pid, struct opts *o, int argc, char **argv, const sigset_t *before, int signals, int *ret_status, int *ret_err, struct err *e)
{
	while (pid > 0) {
		struct signalfd_siginfo info;
		int sig = read(signals, &info, sizeof(info)) == sizeof(info) ? (int)info.ssi_signo : 0;

		if (sig == SIGCHLD) {
			if (!has_ended(pid))
				continue;
			/* nobody asked for it: the service manager starts all again */
			*ret_status = wait_for(pid);
			return false;
		}
		if (sig == SIGHUP && info.ssi_code != SI_KERNEL) {
			if (!read_again(o, argc, argv))
				continue;
			notify__say("RELOADING=1");
			kill(pid, SIGTERM);
			if (!wait_for_end(pid, signals, ret_status))
				return false;
			pid = start(before);
			continue;
		}
		/* a terminal tells both */
		if (sig > 0 && info.ssi_code != SI_KERNEL)
			kill(pid, sig == SIGHUP ? SIGTERM : sig);
	}
	if (pid < 0)
		*ret_err = err_set(e, -errno, "the process that traces cannot be started: %s", strerror(errno));
	return pid == 0;
}

bool serve_command__begin(struct opts *o, int argc, char **argv, int *ret_status, int *ret_err, struct err *e)
{
	sigset_t set = watched_set(), before;
	bool is_next;
	int signals;
	pid_t pid;

	o->serve.listen_fd = listen__open(&o->serve, e);
	if (o->serve.listen_fd < 0) {
		*ret_err = o->serve.listen_fd;
		*ret_status = *ret_err == -EINVAL ? EXIT_USAGE : EXIT_FAILED;
		return false;
	}
	sigprocmask(SIG_BLOCK, &set, &before);
	signals = signalfd(-1, &set, SFD_CLOEXEC);
	pid = signals < 0 ? -1 : start(&before);
	is_next = watch(pid, o, argc, argv, &before, signals, ret_status, ret_err, e);
	if (!is_next)
		listen__close(&o->serve);
	close(signals);
	return is_next;
}
