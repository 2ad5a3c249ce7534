// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Probes of a process's own: -p and -- CMD. No other process meets them, and each traced process
 * was named, so what it maps is read whenever something shows that this may have changed.
 */
#include <errno.h>

#include "process/watch.h"
#include "tracee/tracee_parts.h"
#include "util/log.h"

static int probe_plans(struct tracees *t, struct tracee *p, const struct plan **plans, size_t n, struct err *e)
{
	int err = 0;

	for (size_t i = 0; i < n && !err; i++)
		err = tracees__check_plan(t, p, plans[i], e);
	for (size_t i = 0; i < n && !err && !t->begun; i++)
		say_step("Probing %s: %zu functions, %zu points.", plans[i]->object->path, plans[i]->n_funcs,
			 plans[i]->n_points);
	if (!err)
		err = attachment__add(p->attachment, &t->funcs, plans, n, e);
	if (err)
		return err;
	for (size_t i = 0; i < n; i++) {
		struct known_file *k = tracees__known_file(t, plans[i]->object);

		k->state = FILE_PROBED;
		k->ever_probed = true;
		tracees__tell_plan(t, plans[i]);
	}
	p->n_allocators += n;
	return 0;
}

/* Tables and probes for what it has mapped. */
static int take_in(struct tracees *t, struct tracee *p, struct err *e)
{
	_cleanup_free_ const struct plan **plans = NULL;
	bool room = true;
	size_t n = 0;
	int err = 0;

	tracee__tell_unread(p);
	if (p->dirty)
		err = tracee__update_unwind(t, p, e);
	p->dirty &= err != 0;
	if (!err)
		err = tracee__new_plans(t, p, &plans, &n, e);
	/* a page of code that gets any point is charged to the target */
	if (!err)
		err = tracee__leave_room(t, p, plans, n, &room, e);
	if (err || !room)
		return err;
	err = tracee__probe_extras(t, p, EXTRA_SPOTS, e);
	if (!err && n)
		err = probe_plans(t, p, plans, n, e);
	/* after the anchors of the files, which are the last to go (attach.h) */
	if (!err)
		err = tracee__probe_extras(t, p, EXTRA_LOADER, e);
	if (!err)
		err = tracee__know_python(t, p, e);
	return err ? err : tracee__probe_extras(t, p, EXTRA_REFUSALS, e);
}

static int refresh(struct tracees *t, struct tracee *p, struct err *e)
{
	int err;

	if (!tracee__is_open(t, p))
		return 0;
	err = tracee__look(t, p, e);
	return err ? err : take_in(t, p, e);
}

static int settle(struct tracees *t, struct tracee *p, struct err *e)
{
	int err = 0;

	if (!tracee__is_open(t, p) || !(p->dirty || p->stale))
		return 0;
	if (p->stale)
		err = tracee__look(t, p, e);
	return err ? err : take_in(t, p, e);
}

/* What came of it is reported: another allocator, or that it could not be read. */
static void update(struct tracees *t, struct tracee *p, int (*look)(struct tracees *t, struct tracee *p, struct err *e))
{
	_cleanup_err_ struct err e = {};
	size_t had = p->n_allocators;
	int err = look(t, p, &e);

	if (err && err != -ESRCH && err != -ENOENT)
		say("%s (%d) mapped new code that could not be read: %s", p->process.comm,
		    (int)p->process.pid, err_msg(&e));
	else if (p->n_allocators > had && t->said_attached && !tracees__are_shared(t)) {
		tracee__note_late_allocator(t, p);
		say("%s (%d) loaded another allocator: %s; its blocks are counted from now on, at most %.1f ms after it was loaded",
		    p->process.comm, (int)p->process.pid, tracee__last_allocator(t, p), p->unseen_ns / 1e6);
	}
}

void tracee__look_again(struct tracees *t, struct tracee *p)
{
	update(t, p, t->probing->refresh);
}

static void say_attached(const struct tracees *t)
{
	for (size_t i = 0; i < t->v.n; i++) {
		const struct tracee *p = t->v.v[i];

		say("attached to %s (%d): %s%s", p->process.comm, (int)p->process.pid,
		    p->n_allocators			     ? tracee__last_allocator(t, p) :
		    t->want.recording.mode == MT_MODE_GROWTH ? "page faults" :
							       "no allocator yet",
		    p->n_allocators > 1 ? " and others" : "");
	}
}

static int on_event(struct tracees *t, const struct mt_event *ev, struct err *e)
{
	struct tracee *p = tracees__find(t, ev->pid);
	char comm[sizeof(ev->comm) + 1];
	_cleanup_err_ struct err why = {};
	int err = 0;

	if (ev->kind == MT_EV_EXEC) {
		snprintf(comm, sizeof(comm), "%.16s", ev->comm);
		clean_name(comm);
		model__life_ended(t->model, ev->old_proc);
		unwind__drop(t->unwind, ev->old_proc);
		err = p && ev->proc ? tracee__on_exec(t, p, ev, comm, &why) : 0;
		if (p && ev->exit_code & MT_EXEC_CLOSED)
			tracee__close(t, p);
	} else if (ev->kind == MT_EV_EXIT) {
		model__life_ended(t->model, ev->proc);
		unwind__drop(t->unwind, ev->proc);
		if (p && tracee__life(p)->proc == ev->proc)
			tracee__end(t, p);
	}
	/* it is gone: its end is another message */
	return !err || err == -ESRCH || err == -ENOENT ? 0 : err_set(e, err, "%s", err_msg(&why));
}

static int on_record(struct tracees *t, const struct watch_record *r, struct err *e)
{
	struct tracee *p = r->kind == WATCH_MAPPED ? tracees__find(t, r->pid) : NULL;

	for (size_t i = 0; i < t->v.n && r->kind == WATCH_LOST; i++)
		t->v.v[i]->stale = true;
	/* without memory, what it maps is read */
	if (p && tracee__note_mapping(t, p, &r->map, r->t_ns, NULL))
		p->stale = true;
	return 0;
}

static int settle_all(struct tracees *t, struct err *e)
{
	for (size_t i = 0; i < t->v.n; i++)
		update(t, t->v.v[i], settle);
	return 0;
}

static int on_second(struct tracees *t, bool watched, struct err *e)
{
	for (size_t i = 0; i < t->v.n; i++)
		t->v.v[i]->stale |= !watched || tracee__is_unsettled(t, t->v.v[i]);
	return settle_all(t, e);
}

const struct probing probing_own = {
	.attach = tracees__attach_all,
	.probe_first = refresh,
	.say_attached = say_attached,
	.on_event = on_event,
	.on_record = on_record,
	.settle = settle_all,
	.on_second = on_second,
	.refresh = refresh,
};
