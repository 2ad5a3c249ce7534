// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Room for others: processes that have ended leave the kernel's tables when these
 * get full, and so do stacks that hold nothing of those that go on. Owns the order: what the programs reported of a process was read,
 * its rows are copied into the model (of stacks, into a row of their process), its numbers are forgotten by all, and only then the
 * kernel may give them again.
 */
#include <poll.h>

#include "model/triggers.h"
#include "trace/session.h"
#include "util/log.h"

#define SWEEP_NS (SECOND_NS / 100)	/* a second, of our time */
/*
 * what was reported within this time of an end may not have been in the ring when its messages were
 * all handled
 */
#define LATE_NS (2 * SECOND_NS)
#define URGENT_NS (SECOND_NS / 20)	/* between two urgent attempts to make room */

static void keep_module(const void *handle)
{
	object__hold((struct object *)handle);
}

static void let_go_module(const void *handle)
{
	object__put((struct object *)handle);
}

/* It must not be found by its number any more. */
static void forget(struct session *s, uint32_t proc)
{
	struct tracee_life *l = hash__get(&s->tracees.by_proc, proc);

	/*
	 * a screen may show an older snapshot, and need names when it is scrolled; files have a
	 * plan that holds them
	 */
	if (l && s->live && l->space.jit)
		object__hold(l->space.jit);
	if (l && s->live && l->script)
		object__hold(l->script);
	/* the message that it ended may have been lost */
	if (l && tracee__life(l->tracee) == l && !l->tracee->ended)
		tracee__end(&s->tracees, l->tracee);
	tracees__forget(&s->tracees, proc);
	if (s->triggers)
		triggers__forget(s->triggers, proc);
	unwind__drop(s->unwind, proc);
	/* the number comes again, and must not come with its interpreter */
	if (kernel__sees_python(s->kernel))
		kernel__drop_python(s->kernel, proc);
}

static void retire(struct session *s, const uint32_t *procs, size_t n)
{
	const struct model_calls calls = tracees__model_calls(&s->tracees);
	const struct module_calls modules = { keep_module, s->live ? NULL : let_go_module };
	uint64_t began_ns = now_ns(), blocks, cpu_ns, archived_ns;

	session__settle_calls(s, procs, n);
	model__keep_modules(s->model, &modules);
	model__archive(s->model, procs, n, s->cut, s->tracees.n_changes, &calls);
	archived_ns = now_ns();
	for (size_t i = 0; i < n; i++) {
		if (s->budget)
			budget__forget(s->budget, procs[i]);
		forget(s, procs[i]);
	}
	collect__release(s->collect);
	s->cut = NULL;
	collect__swept(s->collect, &blocks, &cpu_ns);
	say_verbose("table space of %zu processes that ended: %llu of their blocks removed in %.1f ms, rows kept in %.1f ms, space freed in %.1f ms",
		    n, (unsigned long long)blocks, cpu_ns / 1e6, (archived_ns - began_ns) / 1e6,
		    (now_ns() - archived_ns) / 1e6);
}

/*
 * Its end is reported after all else about it, so all of that was read once the
 * model knows. What has not come when all that was reported after its end has been handled
 * is lost, and so is a process that the model never heard of. The clock alone would not
 * do: where processes come faster than they can be read, messages wait for long,
 * and what a process had would be gone before it is known that there was one.
 */
static bool may_leave(uint32_t proc, uint32_t how, uint64_t ended_for_ns, void *arg)
{
	const struct session *s = arg;

	if (session__needs_life(s, proc))
		return false;
	return how == MT_ENDED_DROPPED || model__process(s->model, proc)->ended ||
	       now_ns() - ended_for_ns + LATE_NS < s->recycle.told_ns;
}

static void recycle(struct session *s, enum room_wanted wanted)
{
	struct pollfd ring = { .fd = kernel__events_fd(s->kernel), .events = POLLIN };
	const struct leave_calls calls = { may_leave, s };
	const uint32_t *procs;
	size_t n = 0;

	if (wanted == ROOM_ENOUGH || !s->cut)
		return;
	if (!s->events.n && poll(&ring, 1, 0) == 0)
		s->recycle.told_ns = now_ns();
	collect__sweep(s->collect, wanted == ROOM_AT_ONCE ? UINT64_MAX / 2 : SWEEP_NS, s->opts->recording.older_ns, &calls,
		       &procs, &n);
	if (n)
		retire(s, procs, n);
}

/* Numbers of stacks that were given up, whose sums are in the last cut, may be given again. */
static void release_evicted(struct session *s)
{
	size_t n;
	const uint32_t *procs = collect__evicted(s->collect, &n);

	if (!n)
		return;
	session__settle_calls(s, procs, n);
	say_verbose("%zu stacks of %zu processes, which hold nothing, gave their room to others",
		    collect__release_evicted(s->collect), n);
}

static void on_second(struct session *s)
{
	struct cut_opts how = { .older_ns = s->opts->recording.older_ns };

	if (!s->cut || (s->budget && !budget__may_forget(s->budget)))
		return;
	/* windows take cuts, too: what is archived has to be as late as what is decided by */
	if (s->budget && collect__room_wanted(s->collect) != ROOM_ENOUGH && session__take_cut(s, &how, URGENT, NULL))
		return;
	release_evicted(s);
	recycle(s, collect__room_wanted(s->collect));
}

/* Two cuts: what is to go is chosen by the first one, and is final in the second. */
static void evict(struct session *s, const struct cut_opts *how, bool has_cut)
{
	bool evicting = false;

	/* a look knows sites by their numbers, for a second or two */
	if (session__is_looking(s) || (!has_cut && session__take_cut(s, how, URGENT, NULL)))
		return;
	collect__evict(s->collect, &evicting);
	if (evicting && !session__take_cut(s, how, URGENT, NULL))
		release_evicted(s);
}

void session__make_room(struct session *s)
{
	struct cut_opts how = { .older_ns = s->opts->recording.older_ns };
	uint64_t in_use, began_ns;

	if (s->budget || s->end_ns || !s->start_ns || !collect__is_short(s->collect, &in_use))
		return;
	/* a program may come through more new stacks in a second than there is room for */
	if (collect__must_evict(s->collect))
		evict(s, &how, false);
	began_ns = now_ns();
	/* this is asked for each message that is read: where a cut takes longer than that, keys would wait for all of them */
	if (!respite__is_over(&s->recycle.respite, began_ns))
		return;
	/* what lives may have something to give up later; what ended has not */
	if (in_use == s->recycle.in_use && !collect__may_evict(s->collect))
		return;
	/* one that has just ended must have been seen twice */
	if (!session__take_cut(s, &how, URGENT, NULL) && !session__take_cut(s, &how, URGENT, NULL))
		recycle(s, ROOM_AT_ONCE);
	/* what ended is given back before what lives has to give something up */
	if (s->cut && !session__take_cut(s, &how, URGENT, NULL)) {
		recycle(s, ROOM_AT_ONCE);
		evict(s, &how, true);
	}
	collect__is_short(s->collect, &s->recycle.in_use);
	respite__begin(&s->recycle.respite, began_ns, now_ns(), URGENT_NS);
}

#define PYTHON_ROOM_NS (10 * SECOND_NS)	/* a million entries are gone through, one by one */

void session__make_python_room(struct session *s)
{
	uint64_t began_ns = now_ns();
	size_t n;

	if (!respite__is_over(&s->recycle.python_respite, began_ns))
		return;
	n = kernel__forget_python_frees(s->kernel);
	if (n)
		say_verbose("addresses of freed code of Python: %zu of processes that ended forgotten in %.1f ms", n, (now_ns() - began_ns) / 1e6);
	respite__begin(&s->recycle.python_respite, began_ns, now_ns(), PYTHON_ROOM_NS);
}

/* How often it is asked whether tables are about to be full; a look at some numbers. */
#define ROOM_NS (SECOND_NS / 20)

static void watch_room(void *arg)
{
	session__make_room(arg);
	session__relieve_table(arg);
}

static int watch(struct session *s)
{
	return s->budget ? 0 : loop__add_timer(s->loop, ROOM_NS, false, watch_room, s);
}

const struct session_module recycle_module = { .watch = watch, .on_second = on_second };
