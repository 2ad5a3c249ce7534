// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the live view in the event loop: the keyboard, the interval, names that
 * arrive, and the screen that is drawn of all that. How it gets there, and how it ends, is live_open.c's.
 *
 * What always holds: what comes by itself, snapshots and names, takes half of the time and no more, however many
 * stacks there are, so a key is answered soon; names are looked up elsewhere (names/names.c). Between its
 * steps room is made in the kernel's tables: stacks come while the screen is made. While the screen
 * is up nothing else writes to the terminal: messages go to live_open.c.
 */
#include <errno.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>

#include "model/runtimes.h"
#include "present/top/term.h"
#include "trace/live_parts.h"
#include "util/log.h"
#include "util/parse.h"

#define BUSY_NS (SECOND_NS * 3 / 10)	/* lookups that take longer are shown */
#define MISSING_NS (5 * SECOND_NS)	/* between two looks for names that are missing, at all sites */

/* ---- drawing */

/* What is waited for, if that has been a while. */
static void show_progress(struct live *l)
{
	char path[256], text[384];
	size_t left = names__n_left(l->names, path, sizeof(path));
	char n[FMT_MAX];

	if (!left)
		l->waiting_since_ns = 0;
	else if (!l->waiting_since_ns)
		l->waiting_since_ns = now_ns();
	if (said__show_progress(&l->said, l->top))
		return;
	if (!left || now_ns() - l->waiting_since_ns <= BUSY_NS) {
		top__progress(l->top, NULL);
		return;
	}
	snprintf(text, sizeof(text), "Reading symbols of %s: %s name%s to come.", path, fmt_exact(n, left), left == 1 ? "" : "s");
	top__progress(l->top, text);
}

/*
 * Once, when the names of what is on the screen have come, or will not come. All sites are gone
 * through: not for each key, and not for each snapshot. True: there is something new to draw.
 */
static bool tell_missing(struct live *l)
{
	_cleanup_free_ char *words = NULL;
	uint64_t now = now_ns();
	char path[256];

	if (l->told_missing || !top__shown(l->top) || names__n_left(l->names, path, sizeof(path)))
		return false;
	if (l->looked_missing_ns && now - l->looked_missing_ns < MISSING_NS)
		return false;
	l->looked_missing_ns = now;
	words = output__missing_names(&l->s->output, top__shown(l->top));
	if (words)
		top__say(l->top, "%s", words);
	l->told_missing = words;
	return words;
}

/* Until the trace begins another thread draws. */
static void make_room(struct live *l)
{
	if (!l->starting)
		session__make_room(l->s);
}

void live__draw(struct live *l)
{
	int rows, cols;

	said__show(&l->said, l->top);
	term__size(&rows, &cols);
	grid__resize(&l->grid, rows, cols);
	top__draw(l->top, &l->grid);
	/* names that are known already are there at once; once more is enough for the rest */
	for (int i = 0; i < 2 && top__shown(l->top); i++) {
		const uint32_t *wanted;
		size_t n = top__wanted(l->top, &wanted);

		if (!names__want(l->names, top__shown(l->top), wanted, n))
			break;
		make_room(l);
		top__named(l->top);
		make_room(l);
		top__draw(l->top, &l->grid);
	}
	show_progress(l);
	make_room(l);
	top__draw(l->top, &l->grid);
	term__draw(&l->grid);
}

static void on_said(void *arg)
{
	struct live *l = arg;
	eventfd_t n;

	if (!eventfd_read(l->said.fd, &n))
		live__draw(l);
}

/* ---- snapshots */

size_t live__fill_names(struct snapshot *s, const uint32_t *places, size_t n, void *arg)
{
	struct live *l = arg;

	return names__want(l->names, s, places, n);
}

void live__on_drop(struct snapshot *s, void *arg)
{
	struct live *l = arg;

	for (size_t i = 0; i < l->held.n; i++) {
		if (l->held.v[i].shown != s)
			continue;
		if (l->held.v[i].base != s)
			snapshot__free(l->held.v[i].base);
		l->held.v[i] = l->held.v[--l->held.n];
		return;
	}
}

/* Once each, when the first process that has it is met. */
static void tell_runtimes(struct live *l, const struct snapshot *s)
{
	const struct runtime *r;

	for (size_t i = 0; (r = runtime__of_snapshot(s, i)); i++) {
		unsigned int bit = 1u << (r - runtimes);

		if (!(l->runtimes & bit)) {
			_cleanup_free_ char *words = runtime__words(r, s);

			say("%s: %s", r->title, words ? words : r->unseen);
		}
		l->runtimes |= bit;
	}
}

void live__update(struct live *l)
{
	struct snapshot *base = session__take_or_skip(l->s, l->s->opts->recording.older_ns > 0), *shown = base;

	if (!base && l->s->failure.code)
		session__fail(l->s);
	if (!base)
		return;
	make_room(l);
	if (grouping__changes(l->by))
		shown = snapshot__group(base, l->by);
	*vec_push(&l->held) = (struct held){ shown, base };
	make_room(l);
	top__update(l->top, shown);
	make_room(l);
	tell_runtimes(l, base);
}

void live__choose_rows(struct live *l)
{
	const struct opts *o = l->s->opts;

	l->by = !o->by && o->all ? &grouping_programs : grouping__find(o->by);
	l->other = l->by->group_of ? (o->all ? &grouping_crowd : grouping__find("process")) : &grouping_programs;
}

/* ---- the heap */

static void on_looked(void *arg)
{
	struct live *l = arg;
	const char *why = session__heap_look_failed(l->s);

	top__heap_failed(l->top, why);
	live__update(l);
	live__draw(l);
}

/* It may take seconds: that the key was seen is said at once, until how far it is takes its place, or its end. */
static void look_at_heap(struct live *l, const struct heap_wish *wish)
{
	int err;

	say_progress("%s", wish->reachable ? "Searching the memory for pointers to blocks ..." : "Reading the heap ...");
	err = session__begin_heap_look(l->s, wish, on_looked, l);
	if (err && err != -EBUSY)
		say_progress(NULL);
	top__heap_failed(l->top, !err	       ? NULL :
			 err == -EBUSY	       ? "The memory is being read already: the result will be here soon." :
			 err == -ENOTSUP       ? "Heaps are looked at in --mode full alone." :
						 "The memory cannot be read: no thread can be started.");
}

/* A row of several processes has no memory of its own: all of them are looked at. */
static uint32_t heap_process(const struct live *l)
{
	return l->by->group_of ? 0 : top__heap_process(l->top);
}

/* ---- the interval, names that arrive, and what keys request */

/* interval_ns 0: once */
static void arm(int timer_fd, uint64_t first_ns, uint64_t interval_ns)
{
	struct itimerspec spec = {
		.it_value = { first_ns / SECOND_NS, first_ns % SECOND_NS },
		.it_interval = { interval_ns / SECOND_NS, interval_ns % SECOND_NS },
	};

	timerfd_settime(timer_fd, 0, &spec, NULL);
}

void live__set_timer(struct live *l, uint64_t first_ns, uint64_t interval_ns)
{
	arm(l->timer_fd, first_ns, interval_ns);
}

static void wait_for_respite(struct live *l, uint64_t from_ns)
{
	arm(l->respite_timer_fd, l->respite.until_ns - from_ns, 0);
}

/* The screen is drawn. */
static void tell_and_rest(struct live *l, uint64_t began_ns)
{
	if (tell_missing(l))
		live__draw(l);
	respite__begin(&l->respite, began_ns, now_ns(), 0);
}

static void tick(struct live *l, uint64_t began_ns)
{
	live__update(l);
	live__draw(l);
	/* the heap, which nobody asked for: now and then, as far as that costs little */
	if (!l->all_ended && session__heap_look_is_due(l->s))
		session__begin_heap_look(l->s, &(struct heap_wish){ .parts = true, .silent = true }, on_looked, l);
	tell_and_rest(l, began_ns);
}

static void on_names(void *arg)
{
	struct live *l = arg;
	uint64_t began_ns = now_ns();

	if (!respite__is_over(&l->respite, began_ns)) {
		names__heard(l->names);
		wait_for_respite(l, began_ns);
		return;
	}
	if (l->respite.put_off && respite__allows(&l->respite, began_ns)) {
		tick(l, began_ns);
		return;
	}
	live__draw(l);
	tell_and_rest(l, began_ns);
}

static void on_respite_over(void *arg)
{
	struct live *l = arg;
	uint64_t n;

	if (read(l->respite_timer_fd, &n, sizeof(n)) == sizeof(n))
		on_names(l);
}

static void on_timer(void *arg)
{
	struct live *l = arg;
	uint64_t n, began_ns = now_ns();

	if (read(l->timer_fd, &n, sizeof(n)) != sizeof(n))
		return;
	/* the next one may be a minute away */
	if (respite__allows(&l->respite, began_ns))
		tick(l, began_ns);
	else
		wait_for_respite(l, began_ns);
}

static void write_file(struct live *l)
{
	_cleanup_err_ struct err e = {};
	_cleanup_free_ char *path = xstrdup(top__path(l->top));
	struct snapshot *snap;

	top__progress(l->top, "Writing a snapshot, with all names.");
	top__draw(l->top, &l->grid);
	term__draw(&l->grid);
	l->s->output.writes_any = true;
	snap = session__take(l->s, true, &e);
	l->s->output.writes_any = false;
	if (!snap || output__write(&l->s->output, snap, path, &e))
		top__refuse_path(l->top, err_msg(&e));
	else
		say("%s is written.", path);
	snapshot__free(snap);
}

static void read_source(struct live *l)
{
	const char *module;
	struct line of = top__source_of(l->top, &module);
	struct source_file *f = source_file__read(&of, module);

	top__give_source(l->top, f->why ? NULL : &f->lines, f->path, f->why);
	source_file__free(l->source);
	l->source = f;
}

/* ---- keys and signals */

static void act(struct live *l, enum top_action action)
{
	const struct grouping *by;

	switch (action) {
	case TOP_NONE:
		break;
	case TOP_QUIT:
		loop__stop(l->s->loop);
		break;
	case TOP_WRITE:
		write_file(l);
		break;
	case TOP_INTERVAL:
		if (!l->all_ended)
			live__set_timer(l, top__interval_ns(l->top), top__interval_ns(l->top));
		break;
	case TOP_BASELINE:
		session__set_baseline(l->s);
		live__update(l);
		break;
	case TOP_GROUP:
		by = l->by;
		l->by = l->other;
		l->other = by;
		live__update(l);
		say("A row is %s.", l->by->row);
		break;
	case TOP_SOURCE:
		read_source(l);
		break;
	case TOP_HEAP_LOOK:
		look_at_heap(l, &(struct heap_wish){ .parts = true, .process = heap_process(l) });
		break;
	case TOP_HEAP_SEARCH:
		look_at_heap(l, &(struct heap_wish){ .reachable = true, .roots = true, .parts = true, .process = heap_process(l) });
		break;
	case TOP_REPAINT:
		term__repaint();
		break;
	}
}

static void on_input(void *arg)
{
	struct live *l = arg;
	struct term_event ev;
	bool any = false;

	while (term__read(&ev)) {
		any = true;
		if (ev.mouse)
			act(l, top__mouse(l->top, ev.what, ev.row, ev.col));
		else
			act(l, top__key(l->top, ev.key));
		/* keys refer to what is seen */
		live__draw(l);
	}
	if (!any && term__gone()) {
		/* the terminal is gone: the trace ends as if by a signal, and files are written */
		loop__remove_fd(l->s->loop, STDIN_FILENO);
		loop__stop(l->s->loop);
	}
}

static void on_signal(int sig, void *arg)
{
	struct live *l = arg;

	switch (sig) {
	case SIGWINCH:
		term__resized();
		break;
	case SIGTSTP:
		term__stop();
		break;
	case SIGHUP:
		loop__stop(l->s->loop);
		return;
	}
	live__draw(l);
}

void live__on_baseline(struct session *s)
{
	live__update(s->live);
	live__draw(s->live);
}

void live__on_all_ended(struct session *s)
{
	struct live *l = s->live;

	if (l->all_ended)
		return;
	l->all_ended = true;
	/* nothing happens any more: the trace does not last until somebody has read the screen */
	kernel__freeze(s->kernel, true);
	s->end_ns = s->end_ns ? s->end_ns : now_ns();
	live__set_timer(l, 0, 0);
	l->respite.put_off = false;
	top__all_ended(l->top);
	live__update(l);
	live__draw(l);
	/* no other snapshot follows */
	l->looked_missing_ns = 0;
	if (tell_missing(l))
		live__draw(l);
}

/* ---- the loop */

int live__fill_loop(struct live *l)
{
	struct loop *loop = l->s->loop;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGWINCH);
	sigaddset(&set, SIGTSTP);
	sigaddset(&set, SIGHUP);
	return loop__add_signals(loop, &set, on_signal, l) ?:
	       loop__add_fd(loop, STDIN_FILENO, on_input, l) ?:
	       loop__add_fd(loop, l->timer_fd, on_timer, l) ?:
	       loop__add_fd(loop, l->said.fd, on_said, l) ?:
	       loop__add_fd(loop, names__fd(l->names), on_names, l) ?:
	       loop__add_fd(loop, l->respite_timer_fd, on_respite_over, l);
}
