// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Signals by name, and those that wait. Owns nothing. */
#include "util/signals.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "util/util.h"

const char *signal_name(int sig, char buf[static SIGNAL_NAME_MAX])
{
	const char *name = sig > 0 ? sigabbrev_np(sig) : NULL;

	if (name)
		snprintf(buf, SIGNAL_NAME_MAX, "SIG%s", name);
	else if (sig >= SIGRTMIN && sig <= SIGRTMAX)
		snprintf(buf, SIGNAL_NAME_MAX, "SIGRTMIN+%d", sig - SIGRTMIN);
	else
		snprintf(buf, SIGNAL_NAME_MAX, "signal %d", sig);
	return buf;
}

bool signal_is_crash(int sig)
{
	static const int crashes[] = { SIGSEGV, SIGBUS, SIGABRT, SIGILL, SIGFPE, SIGTRAP, SIGSYS };

	for (size_t i = 0; i < ARRAY_SIZE(crashes); i++)
		if (crashes[i] == sig)
			return true;
	return false;
}

/* Those that ask for the end. */
static const int ends[] = { SIGINT, SIGTERM, SIGHUP };

bool signal_asks_for_end(void)
{
	sigset_t set;

	if (sigpending(&set))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
		if (sigismember(&set, ends[i]))
			return true;
	return false;
}

void signals_of_end(sigset_t *ret)
{
	struct sigaction hangup;
	/* not below nohup */
	bool ignored = !sigaction(SIGHUP, NULL, &hangup) && hangup.sa_handler == SIG_IGN;

	sigemptyset(ret);
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
		if (ends[i] != SIGHUP || !ignored)
			sigaddset(ret, ends[i]);
}

/* ---- what was inherited */

static struct {
	int sig;
	sighandler_t wanted;
	struct sigaction was;
} inherited[] = {
	{ SIGCHLD, SIG_DFL, {} },
	{ SIGXFSZ, SIG_IGN, {} },	/* a write fails, and that is said */
	{ SIGPIPE, SIG_DFL, {} },	/* whoever writes decides */
};
static sigset_t mask_was;

void signals__begin(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(inherited); i++) {
		sigaction(inherited[i].sig, NULL, &inherited[i].was);
		signal(inherited[i].sig, inherited[i].wanted);
	}
	sigprocmask(SIG_BLOCK, NULL, &mask_was);
}

void signals__restore(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(inherited); i++)
		sigaction(inherited[i].sig, &inherited[i].was, NULL);
	sigprocmask(SIG_SETMASK, &mask_was, NULL);
}
