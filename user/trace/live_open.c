// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns whether there is a live view, and its beginning and end: the terminal is taken as soon as it is known that a trace may
 * begin, so that what holds it up is seen, and is given back before the last report.
 */
#include <errno.h>
#include <string.h>
#include <sys/timerfd.h>

#include "present/top/term.h"
#include "trace/live_parts.h"
#include "util/exit_status.h"
#include "util/log.h"
#include "util/rights.h"

#define INTERVAL_NS SECOND_NS
#define FIRST_NS (SECOND_NS / 4)	/* the second snapshot: rates are there soon */

/* --tty; or two terminals, nothing that requests lines, and nothing else that writes to it. */
static bool is_wanted(const struct opts *o)
{
	if (o->tty)
		return true;
	if (o->interval_ns || o->batch || o->json || (o->cmd && !o->cmd_output) || o->events)
		return false;
	for (size_t i = 0; i < o->outputs.n; i++)
		if (!strcmp(o->outputs.v[i], "-"))
			return false;
	return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
}

/* ---- until the trace begins */

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

static void draw_start(void *arg)
{
	struct live *l = arg;

	show_target(l);
	live__draw(l);
}

/* What is loaded and attached goes with the process, as if it was killed. */
static _Noreturn void quit_start(void *arg)
{
	struct live *l = arg;

	term__close();
	said__leave(&l->said);
	dprintf(STDERR_FILENO, "malloctrace: quit before the trace began: nothing was recorded\n");
	_exit(l->s->opts->cmd ? EXIT_CMD_UNTRACED : EXIT_FAILED);	/* nothing was recorded */
}

static int open_screen(struct live *l, struct err *e)
{
	struct starting_calls calls = { draw_start, quit_start, l };
	struct top_opts o = {
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
	l->names = l->top ? names__new(l->s->output.sym) : NULL;
	if (!l->names)
		return err_set(e, -ENOMEM, "no memory for the live view");
	l->s->output.names = l->names;
	top__on_drop(l->top, live__on_drop, l);
	l->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	l->respite_timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (l->timer_fd < 0 || l->respite_timer_fd < 0)
		return err_set(e, -errno, "the live view: %s", strerror(errno));
	err = said__open(&l->said);
	if (!err)
		err = live__fill_loop(l);
	if (err)
		return err_set(e, err, "the live view: %s", strerror(-err));
	err = term__open(e);
	if (err)
		return err;
	said__listen(&l->said);
	return starting__begin(&calls, l->said.fd, &l->starting, e);
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
	int err;

	if (!is_wanted(s->opts))
		return 0;
	if (!s->kernel && may_be_refused())
		return 0;
	err = s->opts->tty ? term__take_tty(e) : 0;
	if (err)
		return err;
	if (!term__is_able(&why)) {
		if (s->opts->tty)
			return err_set(e, why.code ? why.code : -ENOTTY, "--tty: %s", err_msg(&why));
		say("no live view: %s; the report comes at the end, with Ctrl-C", err_msg(&why));
		return 0;
	}
	s->live = calloc(1, sizeof(*s->live));
	if (!s->live)
		return err_set(e, -ENOMEM, "out of memory");
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
	said__begun(&l->said);
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
