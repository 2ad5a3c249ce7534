// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Probes of a process's own: -p and -- CMD. No other process meets them, and each traced process
 * was named, so what it maps is read whenever something shows that this may have changed.
 */
#include "tracee/tracee_parts.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "probe/kernel.h"
#include "probe/plan.h"
#include "process/maps.h"
#include "process/translator.h"
#include "util/log.h"
#include "util/rights.h"

static int refresh(struct tracees *t, struct tracee *p, struct err *e)
{
	return tracee__is_open(t, p) ? tracee__refresh(t, p, 0, e) : 0;
}

/* ---- another program */

/*
 * Owns nothing: what becomes of a tracee when it is another program. The process is the same, and
 * so are its links, as a rule; its life, its names and what it maps are others.
 */

/* The program was started by another than the first thread of the one before. */
static int probe_again(struct tracees *t, struct tracee *p, const struct mt_event *ev, const char *comm, struct err *e)
{
	struct attachment *old = p->attachment;
	uint64_t unseen_ns;
	int err;

	if (!old)
		return 0;
	err = attachment__renew(old, &p->attachment, e);
	if (err)
		return err;
	unseen_ns = now_ns() - ev->t_ns;
	attachment__free(old);
	for (size_t i = 0; i < N_EXTRAS; i++)
		p->extras[i].n = 0;
	if (t->want.recording.mode == MT_MODE_GROWTH) {
		faults__close(p->faults);
		p->faults = NULL;
		err = faults__open(t->kernel, p->process.pid, &p->faults, e);
	}
	if (err || p->own || !t->begun)
		return err;
	p->unseen_ns = unseen_ns;
	say("%s (%d): a thread other than the first called exec, which removed the probes: they were attached again %.1f ms later; what it allocated until then was not seen",
	    comm, (int)p->process.pid, unseen_ns / 1e6);
	return 0;
}

void tracee__close(struct tracees *t, struct tracee *p)
{
	_cleanup_free_ char *why = rights__why_refused(RIGHT_BIT(RIGHT_SYS_PTRACE));

	/* of all processes of a machine many do: the report has their number */
	if (!t->n_closed++ || !tracees__are_shared(t))
		say("%s (%d) runs a program now that this user may not look into (another user's rights, capabilities, or a file that cannot be read): it is not traced any more: %s",
		    p->process.comm, (int)p->process.pid, why ? why : "");
	attachment__free(p->attachment);
	p->attachment = NULL;
	faults__close(p->faults);
	p->faults = NULL;
	tracee__end(t, p);
}

/*
 * It runs another program now, as the message says; comm, clean, is the name that the exec gave it.
 * Where probes are its own.
 */
static int tracee__on_exec(struct tracees *t, struct tracee *p, const struct mt_event *ev, const char *comm, struct err *e)
{
	uint32_t proc = ev->proc;
	_cleanup_err_ struct err why = {};
	struct process now = { .pidfd = -1 };
	size_t had = p->n_allocators;
	/* what can be read of it is another program's by now, if anything */
	bool over = kernel__has_ended(t->kernel, proc);
	int err = ev->tid && !over ? probe_again(t, p, ev, comm, e) : 0;

	if (err)
		return err;
	err = over ? -ESRCH : process__read(p->process.pid, &now, &why);
	if (!err) {
		/* the same process still: what waits for its end goes on waiting */
		close(now.pidfd);
		now.pidfd = p->process.pidfd;
		p->process.pidfd = -1;
		process__done(&p->process);
		p->process = now;
	} else {
		/* gone already, or another program again: it must not go by its predecessor's name */
		free(p->process.exe);
		p->process.exe = xstrdup("");
	}
	free(p->process.comm);
	p->process.comm = xstrdup(comm);
	/* links stay: they are to files, and the new program may map the same ones */
	tracee__add_life(t, p, proc);
	tracee__tell_model(t, p, 0, p->own ? 0 : kernel__proc(t->kernel, proc)->started_ns);
	if (p->unseen_ns)
		model__process(t->model, proc)->unseen_ns = p->unseen_ns;
	p->unseen_ns = 0;
	/* its probes stay with a process through an exec: they must be out before it gets to what it runs */
	if (translator__of(p->process.exe)) {
		p->lives.v[p->lives.n - 1]->closed = true;
		attachment__free(p->attachment);
		p->attachment = NULL;
		say("%s (%d) is an emulator now: breakpoints would kill the program that it runs, so it is not traced any more",
		    p->process.comm, (int)p->process.pid);
		return 0;
	}
	/*
	 * a set-user-ID program, or one that may not be read: no reason to lose what was seen
	 * before, if anything was
	 */
	if (why.code == -EACCES) {
		tracee__life(p)->closed = true;
		if (p->own && p->lives.n == 2)
			return err_set(e, why.code, "%s", err_msg(&why));
		say("%s (%d) runs another program now, which cannot be read: no function names, no new probes: %s",
		    p->process.comm, (int)p->process.pid, err_msg(&why));
	}
	err = over ? 0 : refresh(t, p, e);
	if (!err && p->n_allocators > had)
		say_verbose("%s (%d) runs another program now", p->process.comm, (int)p->process.pid);
	return err;
}

int tracee__probe_entry(struct tracees *t, struct tracee *p, struct err *e)
{
	const struct space *s = &tracee__life(p)->space;

	for (size_t i = 0; p->attachment && i < s->n; i++) {
		struct object *obj = s->v[i].object;
		uint64_t offset;

		/* the loader is an ELF file with an entry point too, but no executable */
		if (obj && obj->is_exec && verify__entry(obj, &offset))
			return attachment__add_spot(p->attachment, FOR_ENTRY, obj, offset, e);
	}
	return err_set(e, -ENOENT, "%s: no entry point found", p->process.exe);
}

/* ---- its probes */

/* Whatever the ranges: what was examined is known. */
static int probe(struct tracees *t, struct tracee *p, size_t from, uint64_t mapped_ns, struct err *e)
{
	_cleanup_free_ const struct plan **plans = NULL;
	bool room = true;
	size_t n = 0;
	int err;

	tracee__tell_unread(p);
	tracee__new_plans(t, p, &plans, &n);
	/* a page of code that gets any point is charged to the target */
	err = tracee__leave_room(t, p, plans, n, &room, e);
	if (err || !room)
		return err;
	err = tracee__probe_extras(t, p, EXTRA_SPOTS, e);
	if (!err && n)
		err = tracees__probe_plans(t, p, p->attachment, plans, n, e);
	if (!err)
		p->n_allocators += n;
	/* after the anchors of the files, which are the last to go (attach.h) */
	if (!err)
		err = tracee__probe_extras(t, p, EXTRA_LOADER, e);
	if (err)
		return err;
	tracee__know_python(t, p);
	return tracee__probe_extras(t, p, EXTRA_REFUSALS, e);
}

static int settle(struct tracees *t, struct tracee *p, struct err *e)
{
	int err = 0;

	if (!tracee__is_open(t, p) || !(p->dirty || p->stale))
		return 0;
	if (p->stale)
		err = tracee__look(t, p, e);
	return err ?: tracee__take_in(t, p, 0, 0, e);
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
	update(t, p, refresh);
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

static void count_left(struct tracees *t, const struct tracee *p)
{
	pid_t left;

	/* a signal may have killed all of them: they exit one after the other */
	if (kernel__has_borrowers(t->kernel))
		poll(NULL, 0, SPAWN_MS);
	left = kernel__check_borrowers(t->kernel, tracee__life(p)->proc);
	if (left)
		tracee__report_left(p, left);
}

static int on_event(struct tracees *t, const struct mt_event *ev, struct err *e)
{
	struct tracee *p = tracees__find(t, ev->pid);
	char comm[sizeof(ev->comm) + 1];
	_cleanup_err_ struct err why = {};
	int err = 0;

	if (ev->kind == MT_EV_EXEC) {
		tracees__end_life(t, ev->old_proc);
		err = p && ev->proc ? tracee__on_exec(t, p, ev, event_comm(ev, comm), &why) : 0;
		if (p && ev->exit_code & MT_EXEC_CLOSED)
			tracee__close(t, p);
	} else if (ev->kind == MT_EV_EXIT) {
		tracees__end_life(t, ev->proc);
		if (p && tracee__life(p)->proc == ev->proc) {
			count_left(t, p);
			tracee__end(t, p);
		}
	}
	/* it is gone: its end is another message */
	return !err || err == -ESRCH || err == -ENOENT ? 0 : err_set(e, err, "%s", err_msg(&why));
}

static int on_record(struct tracees *t, const struct watch_record *r, struct err *e)
{
	struct tracee *p = r->kind == WATCH_MAPPED ? tracees__find(t, r->pid) : NULL;

	for (size_t i = 0; i < t->v.n && r->kind == WATCH_LOST; i++)
		t->v.v[i]->stale = true;
	if (p)
		tracee__note_mapping(t, p, &r->map, r->t_ns);
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
	pid_t unseen = kernel__check_borrowers(t->kernel, 0);

	if (unseen && !t->said_unseen) {
		t->said_unseen = true;
		say("process %d was made during the trace and shares a target's memory: this kernel shows its calls only with -f", (int)unseen);
	}
	for (size_t i = 0; i < t->v.n; i++)
		t->v.v[i]->stale |= !watched || tracee__is_unsettled(t, t->v.v[i]);
	return settle_all(t, e);
}

const struct probing probing_own = {
	.attach = tracees__attach_all,
	.probe = probe,
	.say_attached = say_attached,
	.on_event = on_event,
	.on_record = on_record,
	.settle = settle_all,
	.on_second = on_second,
};
