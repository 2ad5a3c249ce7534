// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Signals by name, those that wait, and when the end was asked for, which it owns. */
#include "util/signals.h"

#include <string.h>
#include <time.h>

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

/* ---- the end */

#define REPEAT_NS SECOND_NS

/* Those that ask for the end. */
static const int ends[] = { SIGINT, SIGTERM, SIGHUP };
static volatile uint64_t noted_ns;	/* written by a handler as well; 0: none was noted */

void signals__note_end(void)
{
	if (!noted_ns)
		noted_ns = now_ns();
}

uint64_t signals__end_ns(void)
{
	return noted_ns;
}

static bool is_repeat(void)
{
	return noted_ns && now_ns() - noted_ns < REPEAT_NS;
}

static bool is_pending(sigset_t *ret)
{
	sigset_t set;
	bool any = false;

	sigemptyset(ret);
	for (size_t i = 0; !sigpending(&set) && i < ARRAY_SIZE(ends); i++)
		if (sigismember(&set, ends[i])) {
			sigaddset(ret, ends[i]);
			any = true;
		}
	return any;
}

static void drop_pending(void)
{
	sigset_t set;

	while (is_pending(&set) && sigtimedwait(&set, NULL, &(struct timespec){}) > 0)
		;
}

bool signal_asks_for_end(void)
{
	sigset_t set;

	if (!is_pending(&set))
		return false;
	if (!is_repeat())
		return true;
	drop_pending();
	return false;
}

static void on_end(int sig)
{
	if (!noted_ns || is_repeat()) {
		signals__note_end();
		return;
	}
	signal(sig, SIG_DFL);
	raise(sig);
}

void signals__begin_report(sigset_t *ret_before)
{
	struct sigaction act = { .sa_handler = on_end, .sa_flags = SA_RESTART };
	sigset_t set;

	if (noted_ns)
		drop_pending();
	sigaction(SIGINT, &act, NULL);
	sigaction(SIGTERM, &act, NULL);
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_UNBLOCK, &set, ret_before);
}

void signals__end_report(void)
{
	/* as if it had come long ago */
	if (!noted_ns)
		noted_ns = 1;
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
