// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * --mode leak: which blocks are in use. Owns the readings of the targets' heaps, when they are made, and what they say of a block
 * that the table has.
 *
 * A reading takes a while, and the target goes on meanwhile. It begins with a tick of the programs' clock, so a block that was born
 * before that tick and is not in it has been freed, and leaves the table; what was born later and is not in it may be live, and stays.
 * A heap that changed while it was read may have hidden a block from the reading: it is read twice, and what neither has is dead.
 *
 * What always holds: readings take at most one of BUDGET parts of a CPU, but for those that somebody asked for, that a full table
 * needs, and that of a process which has ended; nor more than probes on free would have. A reading is used at once, and forgotten.
 */
#include <errno.h>
#include <signal.h>
#include <time.h>

#include "heap/block_index.h"
#include "heap/census.h"
#include "process/keeper.h"
#include "trace/session_parts.h"
#include "util/log.h"
#include "util/sorted.h"

#define BUDGET 20		/* a twentieth of a CPU */
#define MAX_READINGS 2
#define STOP_NS (100 * MS_NS)	/* --exact: for no longer than that */
#define PATIENCE_NS (800 * MS_NS)	/* with a heap that changes too fast to be read, where somebody waits for it */
#define TELL_AFTER_NS SECOND_NS	/* of a reading that takes long */
/*
 * Of the table: then heaps are read, whatever the budget says, so that what is dead can leave it; and again when a part of what was
 * empty after that is taken.
 */
#define FULL_PART 0.5
/*
 * Readings are instead of probes on free, of which each call costs about that much: where a heap is large and calls are few, they wait
 * until they have spared what the last one took. What takes no time is done all the same, and all of it now and then.
 */
#define FREE_COSTS_NS 500
#define CHEAP_NS (10 * MS_NS)
#define NOW_AND_THEN_NS (10 * SECOND_NS)

struct reading {
	struct census census;
	struct block_index index;
};

/* A life whose heap is read. */
struct user_of_heap {
	uint32_t proc;
	pid_t pid;
	struct keeping *kept;	/* owned; its memory outlives it. NULL: it does not, and the last reading is the last word */
	struct target target;
	bool is_open;		/* target is */
	struct glibc glibc;
	/* of the pass under way; none: it is not in it */
	struct reading readings[MAX_READINGS];
	size_t n_readings;
	uint64_t born_before_ns;	/* what was born then or later is not judged; on the programs' clock */
	bool has_holes, lacks_mapped;	/* parts of the heap could not be read */
	uint64_t calls;		/* allocations until the last reading began */
	bool was_read, has_ended;
	bool is_too_large;	/* --exact: to be read within STOP_NS */
	bool was_left_out;	/* because it could not be read, which was said */
};

struct uses {
	struct session *s;
	struct keeper *keeper;	/* NULL: this kernel keeps no memory past the end of its process */
	struct use_calls calls;
	struct target_calls target_calls;
	struct vec(struct user_of_heap *) v;
	struct user_of_heap *by_slot[MT_MAX_PROCS];
	uint64_t not_before_ns;	/* by the budget */
	uint64_t cost_ns;	/* CPU time of the last pass */
	double fill;		/* of the table, after the last pass */
	uint64_t unsure_blocks;	/* that stayed in the table after the last pass */
	uint64_t n_unread;	/* lives that have ended, and were never read */
	uint64_t read_ns;	/* when the last reading ended, CLOCK_MONOTONIC; 0: there was none */
	uint64_t took_ns;	/* the same one */
	uint64_t paused_ns;	/* --exact: for how long it stood still for the last pass, or the longest of several processes */
	uint64_t began_ns;	/* the pass under way */
	uint64_t stop_by_ns;	/* when the reading under way has to end; 0: there is no limit */
	bool is_fresh;		/* nothing was allocated between the last pass and the next cut that could be dead */
	bool said_unstopped;
};

/* ---- what is known of a block */

/* One with a mapping of its own: its header is all that is before it on its page, unless it was aligned. */
static bool may_be_mapped(const struct user_of_heap *h, uint64_t addr)
{
	return addr % h->target.page_bytes == 16 || addr % h->target.page_bytes == 0;
}

/* A thread that ends leaves its mark of free blocks in some that are given again, and not written to. */
static bool is_unsettled(const struct census *c, uint64_t addr)
{
	size_t i = sorted__count(a, c->unsettled.v, c->unsettled.n, *a < addr);

	return i < c->unsettled.n && c->unsettled.v[i] == addr;
}

static enum block_use use_of(uint32_t proc, uint64_t addr, uint64_t born_ns, void *arg)
{
	const struct uses *u = arg;
	const struct user_of_heap *h = u->by_slot[MT_PROC_SLOT(proc)];

	if (!h || h->proc != proc || !h->n_readings)
		return h && h->proc == proc && !h->was_read ? BLOCK_UNSURE : BLOCK_IN_USE;
	/* the last one says it all; one before it may be right where that one missed a block, or it was freed between the two */
	for (size_t i = h->n_readings; i; i--) {
		const struct reading *r = &h->readings[i - 1];
		uint32_t n = block_index__find(&r->index, addr);

		if (n != NO_BLOCK && r->census.blocks.v[n].addr == addr)
			return i == h->n_readings ? BLOCK_IN_USE : BLOCK_UNSURE;
	}
	for (size_t i = 0; i < h->n_readings; i++)
		if (is_unsettled(&h->readings[i].census, addr))
			return BLOCK_UNSURE;
	/* of one that stands still all is known */
	if (born_ns >= h->born_before_ns && !h->target.stopped)
		return BLOCK_UNSURE;
	if (h->lacks_mapped && may_be_mapped(h, addr))
		return BLOCK_UNSURE;
	for (size_t i = 0; i < h->n_readings && h->has_holes; i++)
		if (!sorted__range_of(h->readings[i].census.ranges.v, h->readings[i].census.ranges.n, addr))
			return BLOCK_UNSURE;
	return BLOCK_NOT_IN_USE;
}

/* ---- one heap */

static void reading__done(struct reading *r)
{
	block_index__done(&r->index);
	census__done(&r->census);
	*r = (struct reading){};
}

static void forget_readings(struct user_of_heap *h)
{
	for (size_t i = 0; i < h->n_readings; i++)
		reading__done(&h->readings[i]);
	h->n_readings = 0;
}

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
	forget_readings(h);
	close_heap(h);
	glibc__done(&h->glibc);
	free(h);
}

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

static int read_once(struct user_of_heap *h, struct reading *to, struct err *e)
{
	int err = census__take(&h->target, &h->glibc, &to->census, e);

	if (!err && !glibc__is_alone(&h->target)) {
		census__done(&to->census);
		to->census = (struct census){};
		err = err_set(e, -ENOTSUP, "it has more than one C library, each with a heap of its own");
	}
	if (err)
		return err;
	err = block_index__build(&to->index, to->census.blocks.v, to->census.blocks.n, e);
	if (err)
		census__done(&to->census);
	return err;
}

/* --exact: nothing changes while it is read, nor until a cut is taken (session__let_heaps_go_on()). */
static bool read_stopped(struct uses *u, struct user_of_heap *h, struct reading *to)
{
	_cleanup_err_ struct err e = {};
	int err = target__pause(&h->target, &e);

	if (!err) {
		u->stop_by_ns = now_ns() + STOP_NS;
		err = read_once(h, to, &e);
		u->stop_by_ns = 0;
	}
	if (!err)
		return true;
	target__resume(&h->target);
	h->is_too_large = err == -EINTR;
	if (!u->said_unstopped)
		say("%d is not stopped for its heap to be read: %s", (int)h->pid, err == -EINTR ? "that takes more than a tenth of a second" : err_msg(&e));
	u->said_unstopped = true;
	return false;
}

static void note_reading(struct user_of_heap *h, const struct reading *v, size_t n, uint64_t born_before_ns)
{
	h->has_holes = h->lacks_mapped = false;
	for (size_t i = 0; i < n; i++) {
		const struct census *c = &v[i].census;

		h->readings[i] = v[i];
		h->has_holes |= c->swapped_bytes || c->broken_bytes || c->passed_over_bytes;
		h->lacks_mapped |= c->lacks_mapped;
	}
	h->n_readings = n;
	h->was_read = true;
	h->born_before_ns = born_before_ns;
}

/* Allocations so far. */
static uint64_t calls_of(const struct uses *u, const struct user_of_heap *h)
{
	struct proc_now now;

	return collect__peek(u->s->collect, h->proc, true, &now) ? now.alloc_calls : 0;
}

/* One that may have missed a block is none by itself. */
static int read_heap(struct uses *u, struct user_of_heap *h, uint64_t born_before_ns, struct err *e)
{
	struct reading v[MAX_READINGS] = {};
	uint64_t since_ns = now_ns(), calls = calls_of(u, h);
	size_t n = u->s->opts->exact && !h->has_ended && !h->is_too_large && read_stopped(u, h, &v[0]);
	int err = 0;

	while (!err && (!n || (!h->target.stopped && v[n - 1].census.unsure_blocks)) && n < MAX_READINGS) {
		err = read_once(h, &v[n], e);
		n += !err;
	}
	if (err) {
		for (size_t i = 0; i < n; i++)
			reading__done(&v[i]);
		/* where glibc has no heap there is nothing that is freed unseen */
		h->was_read |= err == -ENOENT;
		return err;
	}
	forget_readings(h);
	note_reading(h, v, n, born_before_ns);
	/* of one that stands still, all that it has allocated was judged */
	h->calls = h->target.stopped ? calls_of(u, h) : calls;
	u->read_ns = now_ns();
	u->took_ns = u->read_ns - since_ns;
	return 0;
}

/* What was read is used, and forgotten. */
static void drop_unused(struct uses *u)
{
	_cleanup_err_ struct err e = {};

	if (collect__drop_unused(u->s->collect, &u->calls, &u->unsure_blocks, &e))
		say("freed blocks count as live: %s", err_msg(&e));
	for (size_t i = 0; i < u->v.n; i++)
		forget_readings(u->v.v[i]);
	u->is_fresh = true;
}

/* ---- which heaps */

static struct user_of_heap *find(const struct uses *u, uint32_t proc)
{
	struct user_of_heap *h = u->by_slot[MT_PROC_SLOT(proc)];

	return h && h->proc == proc ? h : NULL;
}

static void open_heap(struct uses *u, struct user_of_heap *h)
{
	_cleanup_err_ struct err kept = {}, opened = {};

	if (u->keeper && keeper__keep(u->keeper, h->pid, &h->kept, &kept))
		say_verbose("%d: its memory will not outlive it: %s", (int)h->pid, err_msg(&kept));
	if (h->kept ? target__open_kept(h->kept, &u->target_calls, &h->target, &opened) : target__open(h->pid, &u->target_calls, &h->target, &opened))
		say_verbose("%d: its heap cannot be read: %s", (int)h->pid, err_msg(&opened));
	else
		h->is_open = true;
	/* another program may be there by now, of which nothing is known yet */
	if (!collect__goes_on(u->s->collect, h->proc))
		close_heap(h);
}

static void add(struct uses *u, const struct tracee *p)
{
	struct user_of_heap **slot = vec_push(&u->v), *h = slot ? calloc(1, sizeof(*h)) : NULL;

	if (!h) {
		u->v.n -= slot != NULL;
		u->n_unread++;
		return;
	}
	*slot = h;
	h->proc = tracee__life(p)->proc;
	h->pid = p->process.pid;
	open_heap(u, h);
	u->by_slot[MT_PROC_SLOT(h->proc)] = h;
}

static const struct tracee *tracee_of(const struct uses *u, uint32_t proc)
{
	const struct tracees *t = &u->s->tracees;

	for (size_t i = 0; i < t->v.n; i++)
		if (t->v.v[i]->lives.n && tracee__life(t->v.v[i])->proc == proc)
			return t->v.v[i];
	return NULL;
}

/*
 * Its last reading: of the memory that it left. One that has allocated nothing has nothing to be found. If Ctrl-C comes meanwhile, it
 * is made at the end of the trace, which is near then.
 */
static void read_last(struct uses *u, struct user_of_heap *h)
{
	_cleanup_err_ struct err e = {};
	int err = 0;

	h->has_ended = true;
	if (!calls_of(u, h))
		h->was_read = true;
	else if (h->is_open)
		err = read_heap(u, h, UINT64_MAX, &e);
	if (err == -EINTR && !u->s->finishing) {
		h->has_ended = false;
		return;
	}
	if (err)
		say_verbose("%d: its heap was not read at its end: %s", (int)h->pid, err_msg(&e));
	close_heap(h);
}

static void leave(struct uses *u, size_t i)
{
	struct user_of_heap *h = u->v.v[i];

	u->n_unread += !h->was_read;
	if (find(u, h->proc) == h)
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
	for (size_t i = 0; i < s->tracees.v.n; i++) {
		const struct tracee *p = s->tracees.v.v[i];

		if (!p->ended && p->lives.n && !tracee__life(p)->closed && !find(u, tracee__life(p)->proc))
			add(u, p);
	}
	for (size_t i = 0; i < u->v.n; i++) {
		const struct tracee *p = tracee_of(u, u->v.v[i]->proc);

		if (p && !p->ended)
			continue;
		read_last(u, u->v.v[i]);
		any |= u->v.v[i]->n_readings > 0;
	}
	if (any)
		drop_unused(u);
	for (size_t i = u->v.n; i; i--)
		if (u->v.v[i - 1]->has_ended)
			leave(u, i - 1);
}

/* ---- when */

static bool is_interrupted(void *arg)
{
	struct uses *u = arg;
	sigset_t waiting;

	session__keep_events(u->s);
	if (u->stop_by_ns && now_ns() > u->stop_by_ns)
		return true;
	return !sigpending(&waiting) && (sigismember(&waiting, SIGINT) || sigismember(&waiting, SIGTERM));
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

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	while (sigtimedwait(&set, NULL, &at_once) > 0)
		;
}

static uint64_t cpu_ns(void)
{
	return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

/* Is the table about to be full of what may be dead? */
static bool is_crowded(const struct session *s)
{
	double fill = collect__table_fill(s->collect);

	return fill > FULL_PART && fill > s->uses->fill + (1 - s->uses->fill) / 4;
}

void session__relieve_table(struct session *s)
{
	if (!s->uses || s->end_ns || !is_crowded(s))
		return;
	session__read_uses(s, true);
	session__let_heaps_go_on(s);
}

static void say_left_out(struct user_of_heap *h, int err, const char *why)
{
	if (h->was_left_out || err == -ESRCH || err == -EINTR || err == -ENOENT)
		return;
	h->was_left_out = true;
	say("%d: which of its blocks were freed is not known: %s", (int)h->pid, why);
}

/* Where somebody waits for it, a heap that changed too fast to be read is tried again. */
static int read_patiently(struct uses *u, struct user_of_heap *h, uint64_t tick_ns, bool wanted, struct err *e)
{
	uint64_t until_ns = now_ns() + PATIENCE_NS;
	int err;

	do {
		err_done(e);
		*e = (struct err){};
		err = read_heap(u, h, tick_ns, e);
	} while (err == -EPROTO && wanted && now_ns() < until_ns);
	return err;
}

/* Has it spared probes on free since the last pass what that one took? */
static bool is_worth_it(const struct uses *u, uint64_t now)
{
	uint64_t n_calls = 0;

	if (u->cost_ns < CHEAP_NS || now - u->read_ns > NOW_AND_THEN_NS)
		return true;
	for (size_t i = 0; i < u->v.n; i++)
		n_calls += calls_of(u, u->v.v[i]) - MIN(u->v.v[i]->calls, calls_of(u, u->v.v[i]));
	return n_calls * FREE_COSTS_NS >= u->cost_ns;
}

void session__read_uses(struct session *s, bool force)
{
	struct uses *u = s->uses;
	uint64_t now = now_ns(), began_cpu_ns = cpu_ns(), tick_ns = 0;
	bool any = false;

	/* after the end nothing is recorded any more, and the process goes on: what its heap has then says nothing of before */
	if (!u || s->end_ns)
		return;
	u->is_fresh = false;
	if (!force && (now < u->not_before_ns || !is_worth_it(u, now)) && !is_crowded(s))
		return;
	session__follow_uses(s);
	u->began_ns = now;
	u->paused_ns = 0;
	for (size_t i = 0; i < u->v.n; i++) {
		struct user_of_heap *h = u->v.v[i];
		_cleanup_err_ struct err e = {};
		int err;

		if (!h->is_open)
			continue;
		if (h->kept)
			keeping__tend(h->kept, NULL);
		if (!tick_ns)
			tick_ns = next_tick(s);
		err = read_patiently(u, h, tick_ns, force, &e);
		any |= !err;
		if (err)
			say_left_out(h, err, err_msg(&e));
	}
	say_progress(NULL);
	if (s->interrupted)
		take_signals();
	if (any)
		drop_unused(u);
	u->fill = collect__table_fill(s->collect);
	u->cost_ns = cpu_ns() - began_cpu_ns;
	u->not_before_ns = now_ns() + u->cost_ns * (BUDGET - 1);
}

bool session__knows_live(const struct session *s)
{
	return !s->uses || s->uses->is_fresh;
}

void session__let_heaps_go_on(struct session *s)
{
	struct uses *u = s->uses;

	if (!u || !s->opts->exact)
		return;
	for (size_t i = 0; i < u->v.n; i++) {
		struct user_of_heap *h = u->v.v[i];
		uint64_t before_ns = h->target.paused_ns;

		if (!h->is_open || !h->target.stopped)
			continue;
		target__resume(&h->target);
		u->paused_ns = MAX(u->paused_ns, h->target.paused_ns - before_ns);
	}
}

struct heap_reading session__last_reading(const struct session *s)
{
	const struct uses *u = s->uses;
	struct heap_reading r = {};

	if (!u)
		return r;
	if (u->read_ns)
		r = (struct heap_reading){ .at_ns = MAX(u->read_ns - MIN(s->start_ns, u->read_ns), 1ull), .took_ns = u->took_ns,
					   .paused_ns = u->paused_ns };
	r.n_unread = u->n_unread;
	for (size_t i = 0; i < u->v.n; i++) {
		const struct user_of_heap *h = u->v.v[i];

		r.n_unread += !h->was_read;
		/* what came since it began may have gone, and as many others with it */
		if (h->was_read)
			r.unsure_blocks += calls_of(u, h) - MIN(h->calls, calls_of(u, h));
	}
	r.unsure_blocks += u->unsure_blocks;
	return r;
}

/* ---- begin and end */

int session__open_uses(struct session *s)
{
	_cleanup_err_ struct err e = {};
	struct uses *u;

	if (!recording__is_leak(&s->opts->recording))
		return 0;
	u = s->uses = calloc(1, sizeof(*u));
	if (!u)
		return -ENOMEM;
	u->s = s;
	if (keeper__new(&u->keeper, &e))
		say("what is live when a process ends is what was at the last reading of its heap before that: %s", err_msg(&e));
	u->calls = (struct use_calls){ use_of, u };
	u->target_calls = (struct target_calls){ .is_over = is_interrupted, .progress = tell_progress, .arg = u };
	return 0;
}

void session__uses_done(struct session *s)
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
