// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * --mode leak: which blocks are in use. Owns whose heaps are read, and when; uses_read.c has one of them, and what may be wrong.
 *
 * What always holds: readings take at most one of BUDGET parts of a CPU, but for those that somebody asked for, that a full table
 * needs, and that of a process which has ended; nor more than probes on free would have. A reading is used at once, and forgotten.
 */
#include "trace/uses_parts.h"

#include <errno.h>
#include <signal.h>
#include <time.h>

#include "process/keeper.h"
#include "util/log.h"
#include "util/signals.h"

#define BUDGET 20		/* a twentieth of a CPU */
#define TELL_AFTER_NS SECOND_NS	/* of a reading that takes long */
/*
 * Of the table: then heaps are read, whatever the budget says, so that what is dead can leave it; and again when a part of what was
 * empty after that is taken.
 */
#define FULL_PART 0.5
/*
 * Readings are instead of probes on free, of which each call costs about that much: where a heap is large and calls are few, they wait
 * until they have spared what the last one took. What takes no time is done all the same, and all of it now and then: at first each
 * second, later after an eighth of the trace. A verdict takes points over 20 s.
 */
#define FREE_COSTS_NS 500
#define CHEAP_NS (10 * MS_NS)
#define NOW_AND_THEN_NS (10 * SECOND_NS)
#define NOW_AND_THEN_PART 8

/* ---- which heaps */

/* Of a process that has ended, the memory goes only now. */
static void close_heap(struct user_of_heap *h)
{
	if (h->is_open)
		target__done(&h->target);
	h->is_open = false;
	keeping__free(h->kept);
	h->kept = NULL;
}

static void free_user(struct user_of_heap *h)
{
	uses__forget_readings(h);
	if (h->has_later)
		reading__done(&h->later);
	close_heap(h);
	glibc__done(&h->glibc);
	free(h);
}

/* What was read is used, and forgotten. */
static void drop_unused(struct uses *u)
{
	_cleanup_err_ struct err e = {};
	int err = collect__drop_unused(u->s->collect, &u->calls, &e);

	if (err)
		say("freed blocks count as live: %s", err_msg(&e));
	for (size_t i = 0; i < u->v.n; i++) {
		if (err && (u->v.v[i]->n_readings || u->v.v[i]->is_lost))
			u->v.v[i]->bound = BOUND_UNKNOWN;
		uses__forget_readings(u->v.v[i]);
	}
}

struct user_of_heap *uses__find(const struct uses *u, uint32_t proc)
{
	struct user_of_heap *h = u->by_slot[MT_PROC_SLOT(proc)];

	return h && h->proc == proc ? h : NULL;
}

/* Descriptors, or memory, may be short just now, or nothing of it is there yet that could be kept. What else went wrong stays so. */
static bool may_pass(int err)
{
	return err == -ENODATA || err == -EAGAIN || err == -ENOMEM || err == -EMFILE || err == -ENFILE;
}

static struct keeping *keep_heap(struct uses *u, struct user_of_heap *h)
{
	_cleanup_err_ struct err e = {};
	struct keeping *kept = NULL;
	int err = u->keeper && h->is_to_keep ? keeper__keep(u->keeper, h->pid, &kept, &e) : 0;

	h->is_to_keep = may_pass(err);
	if (err && !h->said_unkept)
		say_verbose("%d: its memory will not outlive it: %s", (int)h->pid, err_msg(&e));
	h->said_unkept |= err != 0;
	return kept;
}

/* One that is open, and could not be kept when it was opened, stays so until it can be. */
static void open_heap(struct uses *u, struct user_of_heap *h)
{
	_cleanup_err_ struct err e = {};
	struct keeping *kept = keep_heap(u, h);
	struct target target;

	if (h->is_open && !kept)
		return;
	if (kept ? target__open_kept(kept, &u->target_calls, &target, &e) : target__open(h->pid, &u->target_calls, &target, &e)) {
		say_verbose("%d: its heap cannot be read: %s", (int)h->pid, err_msg(&e));
		h->is_to_keep |= kept != NULL;
		keeping__free(kept);
		return;
	}
	close_heap(h);
	h->target = target;
	h->kept = kept;
	h->is_open = true;
	h->paused_before_ns = 0;
	/* another program may be there by now, of which nothing is known yet */
	if (!collect__goes_on(u->s->collect, h->proc))
		close_heap(h);
}

static void add(struct uses *u, const struct tracee_life *l, bool goes_on)
{
	struct user_of_heap *h = xcalloc(1, sizeof(*h));

	u->last_of_slot[MT_PROC_SLOT(l->proc)] = l->proc;
	*vec_push(&u->v) = h;
	h->proc = l->proc;
	h->pid = l->tracee->process.pid;
	h->is_to_keep = true;
	if (goes_on)
		open_heap(u, h);
	u->by_slot[MT_PROC_SLOT(h->proc)] = h;
}

/* Also lives that were over before anybody heard of them: reports say of how many no heap was read. */
static void add_new(struct uses *u, const struct tracee *p)
{
	for (size_t i = 0; i < p->lives.n; i++) {
		const struct tracee_life *l = p->lives.v[i];
		bool goes_on = !p->ended && i + 1 == p->lives.n;

		if (u->last_of_slot[MT_PROC_SLOT(l->proc)] != l->proc && !(goes_on && l->closed))
			add(u, l, goes_on);
	}
}

/*
 * Its last reading: of the memory that it left. One that has allocated nothing has nothing to be found. If Ctrl-C comes meanwhile, it
 * is made at the end of the trace, which is near then. Where nobody kept that memory, or the kernel has taken pages of it, none of its
 * blocks is known to have been in use.
 */
static void read_last(struct uses *u, struct user_of_heap *h)
{
	_cleanup_err_ struct err e = {};
	int err = 0;

	h->has_ended = true;
	h->has_none = !collect__alloc_calls(u->s->collect, h->proc);
	if (!h->has_none)
		err = h->is_open ? uses__read(u, h, UINT64_MAX, false, &e) : err_set(&e, -ESRCH, "it was not open");
	if (err == -EINTR && !u->s->finishing) {
		h->has_ended = false;
		return;
	}
	h->is_lost = err != 0;
	if (!h->n_readings)
		h->bound = 0;	/* if it is lost, they are counted with those that are judged */
	if (err)
		say_verbose("%d: its heap was not read at its end: %s", (int)h->pid, err_msg(&e));
	close_heap(h);
}

/* What other allocators have needs no reading. */
static void set_unsure(const struct uses *u, const struct user_of_heap *h, uint64_t bound)
{
	struct snap_process *row = model__process(u->s->model, h->proc);

	row->n_heaps_unread = uses__is_unread(h) && bound;
	row->unsure_blocks = bound;
}

static void leave(struct uses *u, size_t i)
{
	struct user_of_heap *h = u->v.v[i];

	set_unsure(u, h, h->bound);
	if (uses__find(u, h->proc) == h)
		u->by_slot[MT_PROC_SLOT(h->proc)] = NULL;
	u->v.v[i] = u->v.v[--u->v.n];
	free_user(h);
}

void session__follow_uses(struct session *s)
{
	struct uses *u = s->uses;
	bool any = false;

	if (!u)
		return;
	for (size_t i = 0; i < s->tracees.v.n; i++)
		add_new(u, s->tracees.v.v[i]);
	for (size_t i = 0; i < u->v.n; i++) {
		uint32_t proc = u->v.v[i]->proc;

		if (vec_first(p, &s->tracees.v, (*p)->lives.n && tracee__life(*p)->proc == proc && !(*p)->ended))
			continue;
		read_last(u, u->v.v[i]);
		any |= u->v.v[i]->n_readings > 0 || u->v.v[i]->is_lost;
	}
	if (any)
		drop_unused(u);
	for (size_t i = u->v.n; i; i--)
		if (u->v.v[i - 1]->has_ended)
			leave(u, i - 1);
}

bool session__needs_life(const struct session *s, uint32_t proc)
{
	/* one that nobody heard of was not among them, and never will be */
	return s->uses && hash__get(&s->tracees.by_proc, proc) &&
	       (s->uses->last_of_slot[MT_PROC_SLOT(proc)] != proc || uses__find(s->uses, proc));
}

/* ---- when */

#define TICK_TRIES 250		/* 50 ms: no tick takes longer */

/*
 * The programs' clock, after its next tick: whoever was given an earlier time is over with it. One that stands still is of no use, and
 * all that was born at that time stays unsure.
 */
static uint64_t next_tick(struct session *s)
{
	uint64_t from = kernel__clock_ns(s->kernel), now = from;
	struct timespec wait = { .tv_nsec = 200000 };

	for (int i = 0; i < TICK_TRIES && now == from; i++) {
		nanosleep(&wait, NULL);
		now = kernel__clock_ns(s->kernel);
	}
	return now;
}

static bool is_interrupted(void *arg)
{
	struct uses *u = arg;

	session__keep_events(u->s);
	return (u->stop_by_ns && now_ns() > u->stop_by_ns) || signal_asks_for_end();
}

static void tell_progress(const char *what, double part, void *arg)
{
	struct uses *u = arg;

	if (now_ns() - u->began_ns > TELL_AFTER_NS)
		say_progress("%s: %.0f%%", what, part * 100);
}

/* The first Ctrl-C has ended the trace; another one has ended the reading, and is not to end the report. */
static void take_signals(void)
{
	struct timespec at_once = {};
	sigset_t set;

	signals_of_end(&set);
	while (sigtimedwait(&set, NULL, &at_once) > 0)
		;
}

/* Since then heaps were read, or the same pass went on. */
static void charge_budget(struct uses *u, uint64_t since_cpu_ns)
{
	u->cost_ns += clock_ns(CLOCK_THREAD_CPUTIME_ID) - since_cpu_ns;
	u->not_before_ns = now_ns() + u->cost_ns * (BUDGET - 1);
}

/* Is the table about to be full of what may be dead? */
static bool is_crowded(const struct session *s)
{
	double fill = collect__table_fill(s->collect);

	return fill > FULL_PART && fill > s->uses->fill + (1 - s->uses->fill) / 4;
}

void session__relieve_table(struct session *s)
{
	const struct uses *u = s->uses;

	/* half of the time is for others, also where all that is in the table is live */
	if (!u || s->end_ns || now_ns() < u->not_before_ns - u->cost_ns * (BUDGET - 2) || !is_crowded(s))
		return;
	session__read_uses(s, READ_NOW);
	/* the next cut may be long after it */
	s->uses->was_cut = true;
}

static void say_left_out(struct user_of_heap *h, int err, const char *why)
{
	if (h->was_left_out || err == -ESRCH || err == -EINTR || err == -ENOENT)
		return;
	h->was_left_out = true;
	say("%d: which of its blocks were freed is not known: %s", (int)h->pid, why);
}

/* Has it spared probes on free since the last pass what that one took? */
static bool is_worth_it(const struct uses *u, uint64_t now)
{
	uint64_t n_calls = 0, pause_ns = MAX((now - u->s->start_ns) / NOW_AND_THEN_PART, SECOND_NS);

	if (u->cost_ns < CHEAP_NS || now - u->last.read_ns > MIN(pause_ns, NOW_AND_THEN_NS))
		return true;
	for (size_t i = 0; i < u->v.n; i++) {
		uint64_t calls = collect__alloc_calls(u->s->collect, u->v.v[i]->proc);

		n_calls += calls - MIN(u->v.v[i]->calls, calls);
	}
	return n_calls * FREE_COSTS_NS >= u->cost_ns;
}

/* Those that are to stand still are the last, so that they do so for no longer than it takes to read them. */
static void order(struct uses *u)
{
	for (size_t i = 0, to = 0; i < u->v.n; i++) {
		struct user_of_heap *h = u->v.v[i];

		if (uses__is_to_stop(u, h))
			continue;
		u->v.v[i] = u->v.v[to];
		u->v.v[to++] = h;
	}
}

void session__read_uses(struct session *s, unsigned int how)
{
	struct uses *u = s->uses;
	uint64_t now = now_ns(), began_cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID), tick_ns = 0;
	bool any = false, none = false, force = how & READ_NOW;

	/* one that no cut was taken of yet is as good as another one; and what was found for the last cut holds for all that is made of it */
	if (!u || (!force && (s->end_ns || (u->is_fresh && !u->was_cut))))
		return;
	u->is_fresh = false;
	u->paused_ns = 0;
	for (size_t i = 0; i < u->v.n; i++) {
		u->v.v[i]->was_passed = false;
		u->v.v[i]->paused_before_ns = u->v.v[i]->is_open ? u->v.v[i]->target.paused_ns : 0;
	}
	/* after the end nothing is recorded any more, and the process goes on: what its heap has then says nothing of before */
	if (s->end_ns)
		return;
	if (!force && (now < u->not_before_ns || !is_worth_it(u, now)) && !is_crowded(s))
		return;
	session__follow_uses(s);
	u->began_ns = now;
	u->may_stop = s->opts->exact && how & READ_FOR_SNAPSHOT && !s->spots.waiting;
	order(u);
	for (size_t i = 0; i < u->v.n; i++) {
		struct user_of_heap *h = u->v.v[i];
		_cleanup_err_ struct err e = {};
		int err;

		if ((!h->is_open || h->is_to_keep) && collect__goes_on(s->collect, h->proc))
			open_heap(u, h);
		if (!h->is_open)
			continue;
		if (h->kept)
			keeping__tend(h->kept, NULL);
		if (!tick_ns)
			tick_ns = next_tick(s);
		err = uses__read(u, h, tick_ns, force, &e);
		any |= !err;
		none |= err == -ENOENT;
		if (err)
			say_left_out(h, err, err_msg(&e));
	}
	say_progress(NULL);
	if (s->interrupted)
		take_signals();
	if (any)
		drop_unused(u);
	/* what other allocators have is known at any time, and so is what was left behind */
	u->is_fresh = any || none || !u->v.n;
	u->was_cut = false;
	u->fill = collect__table_fill(s->collect);
	u->cost_ns = 0;
	charge_budget(u, began_cpu_ns);
}

void session__bound_uses(struct session *s)
{
	uint64_t began_cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	bool has_read;

	if (!s->uses)
		return;
	has_read = uses__read_later(s->uses);
	say_progress(NULL);
	if (s->interrupted)
		take_signals();
	if (has_read)
		charge_budget(s->uses, began_cpu_ns);
}

void session__note_cut(struct session *s)
{
	struct uses *u = s->uses;

	if (!u)
		return;
	u->was_cut = true;
	if (u->last.read_ns != u->of_cut.read_ns) {
		u->before_cut = u->of_cut;
		u->of_cut = u->last;
		u->of_cut_since_ns = now_ns();
	}
	u->cut_ns = kernel__clock_ns(s->kernel);
}

static bool is_known(const struct user_of_heap *h)
{
	return h->was_passed || h->has_none;
}

bool session__knows_live_of(const struct session *s, uint32_t proc)
{
	const struct user_of_heap *h = s->uses ? uses__find(s->uses, proc) : NULL;

	return !h || is_known(h);
}

void session__doubt_unread(struct session *s)
{
	for (size_t i = 0; s->uses && i < s->uses->v.n; i++)
		if (!is_known(s->uses->v.v[i]))
			collect__doubt_live(s->collect, s->uses->v.v[i]->proc);
}

bool session__knows_live(const struct session *s)
{
	return !s->uses || s->uses->is_fresh;
}

void session__let_heaps_go_on(struct session *s, bool was_cut)
{
	struct uses *u = s->uses;

	if (!u || !s->opts->exact)
		return;
	for (size_t i = 0; i < u->v.n; i++) {
		struct user_of_heap *h = u->v.v[i];

		h->stood &= was_cut;
		if (!h->is_open)
			continue;
		target__resume(&h->target);
		u->paused_ns = MAX(u->paused_ns, h->target.paused_ns - h->paused_before_ns);
	}
}

struct heap_reading session__last_reading(const struct session *s, const struct mt_reached *mark)
{
	const struct uses *u = s->uses;
	struct heap_reading r = {};
	struct reading_time of;

	if (!u)
		return r;
	/* what was found while a mark's cut waited is not in that */
	of = mark && mark->mono_ns < u->of_cut_since_ns ? u->before_cut : u->of_cut;
	if (of.read_ns)
		r = (struct heap_reading){ .at_ns = MAX(of.read_ns - MIN(s->start_ns, of.read_ns), 1ull), .took_ns = of.took_ns };
	r.exact_asked = s->opts->exact;
	/* what a mark's is of was read before it, and went on since */
	if (mark)
		return r;
	r.paused_ns = of.read_ns ? u->paused_ns : 0;
	r.unsure_blocks = u->unrecorded;
	return r;
}

void session__note_unsure(struct session *s, const struct mt_reached *mark)
{
	struct uses *u = s->uses;

	if (!u)
		return;
	uses__count_unseen(u);
	for (size_t i = 0; i < u->v.n; i++) {
		const struct user_of_heap *h = u->v.v[i];

		set_unsure(u, h, mark ? uses__bound_of_mark(u, h) : uses__bound(h));
	}
}

/* ---- begin and end */

static int init(struct session *s)
{
	_cleanup_err_ struct err e = {};
	struct uses *u;

	if (!recording__is_leak(&s->opts->recording))
		return 0;
	u = s->uses = xcalloc(1, sizeof(*u));
	u->s = s;
	if (keeper__new(&u->keeper, &e))
		say("what is live when a process ends is what was at the last reading of its heap before that: %s", err_msg(&e));
	u->calls = (struct use_calls){ uses__of, u };
	u->target_calls = (struct target_calls){ .is_over = is_interrupted, .progress = tell_progress, .arg = u };
	return 0;
}

static void on_end(struct session *s)
{
	session__read_uses(s, READ_NOW | READ_FOR_SNAPSHOT);
}

static void done(struct session *s)
{
	struct uses *u = s->uses;

	if (!u)
		return;
	for (size_t i = 0; i < u->v.n; i++)
		free_user(u->v.v[i]);
	vec_done(&u->v);
	keeper__free(u->keeper);
	free(u);
	s->uses = NULL;
}

const struct session_module uses_module = { .init = init, .on_end = on_end, .done = done };
