// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns whether there is a live view, and its beginning and end: the terminal is taken as soon as it is known that a trace may
 * begin, so that what holds it up is seen, and is given back before the last report.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "present/top/term.h"
#include "trace/live_parts.h"
#include "util/err.h"
#include "util/log.h"
#include "util/loop.h"
#include "util/rights.h"
#include "util/util.h"

/* ---- messages while the screen is up */

/*
 * Owns messages while the screen is up. What always holds: none of them gets to the terminal meanwhile, and each is said
 * again on the normal screen, because a line that was overwritten is lost; a file gets them at once.
 */

#define SAID_MAX 200			/* messages kept for the end */

static void on_say(const char *text, void *arg)
{
	struct said *s = arg;

	/* a file gets them at once, as always */
	if (!isatty(STDERR_FILENO))
		dprintf(STDERR_FILENO, "malloctrace: %s\n", text);
	pthread_mutex_lock(&s->lock);
	if (s->all.n == SAID_MAX) {
		free(s->all.v[0]);
		memmove(s->all.v, s->all.v + 1, --s->all.n * sizeof(*s->all.v));
		s->n_shown -= s->n_shown > 0;
	}
	*vec_push(&s->all) = xstrdup(text);
	pthread_mutex_unlock(&s->lock);
	eventfd_write(s->fd, 1);
}

static void on_progress(const char *text, void *arg)
{
	struct said *s = arg;

	pthread_mutex_lock(&s->lock);
	free(s->progress);
	s->progress = text ? xstrdup(text) : NULL;
	pthread_mutex_unlock(&s->lock);
	eventfd_write(s->fd, 1);
}

static void on_step(const char *text, void *arg)
{
	struct said *s = arg;

	if (s->starts)
		on_progress(text, arg);
}

void said__show(struct said *s, struct top *t)
{
	pthread_mutex_lock(&s->lock);
	for (; s->n_shown < s->all.n; s->n_shown++)
		top__say(t, "%s", s->all.v[s->n_shown]);
	pthread_mutex_unlock(&s->lock);
}

bool said__show_progress(struct said *s, struct top *t)
{
	bool any;

	pthread_mutex_lock(&s->lock);
	any = s->progress;
	if (any)
		top__progress(t, s->progress);
	pthread_mutex_unlock(&s->lock);
	return any;
}

/* Messages go to stderr again; what was said is said again. */
static void said__close(struct said *s)
{
	if (s->fd < 0)
		return;
	log__redirect(NULL);
	for (size_t i = 0; i < s->all.n; i++) {
		if (isatty(STDERR_FILENO))
			say("%s", s->all.v[i]);
		free(s->all.v[i]);
	}
	vec_done(&s->all);
	free(s->progress);
	close(s->fd);
	pthread_mutex_destroy(&s->lock);
	*s = (struct said){ .fd = -1 };
}

/* ---- the terminal, until the trace begins */

/*
 * Owns the thread that has the terminal until the trace begins. Loading and
 * attaching are system calls that may take seconds: a loop that they are part of
 * would answer no key.
 *
 * What always holds: signals and keys that arrive here are handled here or end
 * the program; those that arrive later are the loop's.
 */

#define REDRAW_MS 250	/* ages go on */

struct starting {
	struct live *live;
	int signal_fd;
	struct ending end;	/* of the thread */
	pthread_t thread;
};

/* What will be traced; of several processes, the sum. */
static void show_target(struct live *l)
{
	const struct opts *o = l->s->opts;
	uint64_t age_ns = 0, rss_bytes = 0;
	char who[256];

	snprintf(who, sizeof(who), "%s", o->cmd ? o->cmd[0] : l->s->uname.nodename);
	for (size_t i = 0; i < o->pids.n; i++) {
		struct process p;

		rss_bytes += process__rss_bytes(o->pids.v[i]);
		if (o->pids.n > 1 || process__look(o->pids.v[i], &p, NULL))
			continue;
		snprintf(who, sizeof(who), "%s (%d)", p.comm, (int)p.pid);
		age_ns = p.age_ns;
		process__done(&p);
	}
	if (o->pids.n > 1)
		snprintf(who, sizeof(who), "%zu processes", o->pids.n);
	top__target(l->top, who, age_ns, rss_bytes);
}

/* What is loaded and attached goes with the process, as if it was killed. */
static _Noreturn void quit_start(struct live *l)
{
	term__close();
	/* what was said is said again, and nobody says any more */
	pthread_mutex_lock(&l->said.lock);
	for (size_t i = 0; i < l->said.all.n && isatty(STDERR_FILENO); i++)
		dprintf(STDERR_FILENO, "malloctrace: %s\n", l->said.all.v[i]);
	dprintf(STDERR_FILENO, "malloctrace: quit before the trace began: nothing was recorded\n");
	_exit(l->s->opts->cmd ? EXIT_CMD_UNTRACED : EXIT_FAILED);	/* nothing was recorded */
}

static void on_keys(struct starting *s)
{
	struct term_event ev;
	bool any = false;

	while (term__read(&ev)) {
		any = true;
		if (ev.mouse)
			continue;
		if (ev.key == 'q' || ev.key == 'Q')
			quit_start(s->live);
		if (ev.key == TOP_KEY_REDRAW)
			term__repaint();
	}
	if (!any && term__gone())
		quit_start(s->live);
}

static void on_signals(struct starting *s)
{
	struct signalfd_siginfo info;

	while (read(s->signal_fd, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGWINCH)
			term__resized();
		else if (info.ssi_signo == SIGTSTP)
			term__stop();
		else
			quit_start(s->live);
	}
}

static void *show_progress(void *arg)
{
	struct starting *s = arg;
	uint64_t n;

	for (;;) {
		struct pollfd fds[] = {
			{ s->end.fd, POLLIN, 0 }, { s->signal_fd, POLLIN, 0 }, { STDIN_FILENO, POLLIN, 0 }, { s->live->said.fd, POLLIN, 0 },
		};

		show_target(s->live);
		live__draw(s->live);
		if (poll(fds, ARRAY_SIZE(fds), REDRAW_MS) < 0 && errno != EINTR)
			return NULL;
		if (fds[0].revents)
			return NULL;
		if (fds[1].revents)
			on_signals(s);
		if (fds[2].revents)
			on_keys(s);
		if (fds[3].revents && read(s->live->said.fd, &n, sizeof(n)) < 0)
			return NULL;
	}
}

/*
 * From here to starting__end() the terminal belongs to a thread. The signals of
 * the session and of the live view are blocked already.
 */
static int starting__begin(struct live *l, struct err *e)
{
	struct starting *s = xcalloc(1, sizeof(*s));
	sigset_t set;
	int err;

	s->live = l;
	s->end = ENDING_NONE;
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGTSTP);
	sigaddset(&set, SIGWINCH);
	s->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	err = s->signal_fd < 0 || ending__open(&s->end) ? errno : pthread_create(&s->thread, NULL, show_progress, s);
	if (!err) {
		l->starting = s;
		return 0;
	}
	if (s->signal_fd >= 0)
		close(s->signal_fd);
	ending__close(&s->end);
	free(s);
	return err_set(e, -err, "the live view: %s", strerror(err));
}

/* The thread has ended when this returns. */
static void starting__end(struct starting *s)
{
	if (!s)
		return;
	ending__tell(&s->end);
	pthread_join(s->thread, NULL);
	close(s->signal_fd);
	ending__close(&s->end);
	free(s);
}

/* ---- is there one? */

#define INTERVAL_NS SECOND_NS
#define FIRST_NS (SECOND_NS / 4)	/* the second snapshot: rates are there soon */

/* Two terminals, nothing that requests lines, and nothing else that writes to it. */
static bool is_wanted(const struct opts *o)
{
	if (o->interval_ns || o->batch || o->json || (o->cmd && !o->cmd_output) || o->events)
		return false;
	return !opts__has_output(o, "-") && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
}

static int open_screen(struct live *l, struct err *e)
{
	struct top_opts o = {
		.leak_after_ns = l->s->opts->leak_after_ns,
		.name = live__fill_names,
		.name_arg = l,
		.suffix = export__find_by_path("x.html") ? ".html" : ".json",
		.suffixes = EXPORT_SUFFIXES,
		.interval_ns = INTERVAL_NS,
		.views = l->s->opts->views,
		.sort = l->s->opts->sort,
		.tagger = &l->s->output.tagger,
		.marks = l->s->opts->marks.n > 0,
	};
	int err;

	l->top = top__new(&o);
	l->names = names__new(l->s->output.sym);
	l->s->output.names = l->names;
	top__on_drop(l->top, live__on_drop, l);
	l->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	l->respite_timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (l->timer_fd < 0 || l->respite_timer_fd < 0)
		return err_set(e, -errno, "the live view: %s", strerror(errno));
	l->said.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (l->said.fd >= 0)
		pthread_mutex_init(&l->said.lock, NULL);
	err = l->said.fd < 0 ? -errno : live__fill_loop(l);
	if (err)
		return err_set(e, err, "the live view: %s", strerror(-err));
	err = term__open(e);
	if (err)
		return err;
	l->said.starts = true;
	log__redirect(&(struct log_sink){ on_say, on_progress, on_step, &l->said });
	return starting__begin(l, e);
}

/* ---- begin and end */

/* A user who may not load programs at all is told so in a line, without a screen. */
static bool may_be_refused(void)
{
	return rights__lacking(RIGHT_BIT(RIGHT_BPF) | RIGHT_BIT(RIGHT_PERFMON));
}

bool live__is_coming(const struct session *s)
{
	return s->live || (!s->kernel && is_wanted(s->opts) && may_be_refused());
}

int live__open(struct session *s, struct err *e)
{
	_cleanup_err_ struct err why = {};

	if (!is_wanted(s->opts))
		return 0;
	if (!s->kernel && may_be_refused())
		return 0;
	if (!term__is_able(&why)) {
		say("no live view: %s; the report comes at the end, with Ctrl-C", err_msg(&why));
		return 0;
	}
	s->live = xcalloc(1, sizeof(*s->live));
	s->live->s = s;
	live__choose_rows(s->live);
	s->live->timer_fd = s->live->respite_timer_fd = s->live->said.fd = -1;
	return open_screen(s->live, e);
}

int live__begin(struct session *s, struct err *e)
{
	struct live *l = s->live;
	int err = !l && may_be_refused() ? live__open(s, e) : 0;

	l = s->live;
	if (err || !l)
		return err;
	starting__end(l->starting);
	l->starting = NULL;
	/* the trace has begun: a step is over before the screen could show it */
	l->said.starts = false;
	on_progress(NULL, &l->said);
	live__update(l);
	live__draw(l);
	live__set_timer(l, FIRST_NS, INTERVAL_NS);
	return 0;
}

/* The descriptors stay in the loop, which has ended. */
void live__end(struct session *s)
{
	struct live *l = s->live;

	if (!l)
		return;
	/* its thread speaks to the screen */
	session__call_off_heap_look(s);
	s->live = NULL;
	starting__end(l->starting);
	term__close();
	said__close(&l->said);
	names__free(l->names);
	s->output.names = NULL;
	top__free(l->top);
	source_file__free(l->source);
	vec_done(&l->held);
	grid__done(&l->grid);
	if (l->timer_fd >= 0)
		close(l->timer_fd);
	if (l->respite_timer_fd >= 0)
		close(l->respite_timer_fd);
	free(l);
}
