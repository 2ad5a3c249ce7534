// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns what is made of reports of processes, and the mappings that wait for one.
 *
 * Two streams report a process: the kernel's records of mappings, and our own
 * programs' messages about fork, exec and exit. The records of an exec come before
 * its message. So records are read first, and as long as an exec was recorded
 * whose message has not come, mappings gather in an image, which the message's
 * new life takes over; there may be several execs in a row. Mappings of a process that is
 * not known, a forked child perhaps, gather likewise.
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tracee/tracee.h"
#include "tracee/tracee_parts.h"
#include "util/log.h"

/* ---- images */

/*
 * Owns the images. Those of a pid are in the order in which they began; all but the first begin with an exec.
 * What a process maps and how often it execs before anyone claims it is its own affair: both are bounded.
 */

#define KEEP_NS (3 * SECOND_NS)
#define MAX_MAPPINGS 1024	/* of one image */
#define MAX_IMAGES 64		/* of one pid */

void image__free(struct image *i)
{
	if (!i)
		return;
	for (size_t k = 0; k < i->maps.n; k++)
		free(i->maps.v[k].map.path);
	vec_done(&i->maps);
	free(i);
}

/* Takes the first one out. */
static struct image *shift(struct images *s, pid_t pid)
{
	struct image *i = hash__get(&s->by_pid, pid);

	if (i && i->next)
		hash__put(&s->by_pid, pid, i->next);
	else
		hash__remove(&s->by_pid, pid);
	return i;
}

/* Those that began before t_ns: what came later belongs to what the process became since. */
static void images__forget_before(struct images *s, pid_t pid, uint64_t t_ns)
{
	struct image *i;

	while ((i = hash__get(&s->by_pid, pid)) && i->t_ns < t_ns)
		image__free(shift(s, pid));
}

void images__done(struct images *s)
{
	for (size_t i = 0; i < s->by_pid.room; i++)
		for (struct image *k = s->by_pid.slots[i].value, *next; k; k = next) {
			next = k->next;
			image__free(k);
		}
	hash__done(&s->by_pid);
}

void images__begin(struct images *s, pid_t pid, bool exec, uint64_t t_ns)
{
	struct image *i = xcalloc(1, sizeof(*i)), *last = hash__get(&s->by_pid, pid);
	size_t n = 1;

	*i = (struct image){ .pid = pid, .exec = exec, .t_ns = t_ns };
	for (; last && last->next; last = last->next)
		n++;
	if (!last)
		hash__put(&s->by_pid, pid, i);
	if (last)
		last->next = i;
	/* what is mapped now belongs to none but the last */
	if (last && n >= MAX_IMAGES)
		image__free(shift(s, pid));
}

int images__add(struct images *s, const struct watch_record *r)
{
	struct image *i = hash__get(&s->by_pid, r->pid);
	struct told_mapping *slot;

	while (i && i->next)
		i = i->next;
	if (!i)
		return -ENOENT;
	if (i->maps.n >= MAX_MAPPINGS)
		return 0;
	slot = vec_push(&i->maps);
	*slot = (struct told_mapping){ r->map, r->t_ns };
	slot->map.path = xstrdup(r->map.path);
	return 0;
}

static struct image *claim_exec(struct images *s, pid_t pid, uint64_t t_ns)
{
	struct image *found = NULL, *i;

	for (i = hash__get(&s->by_pid, pid); i && i->t_ns <= t_ns; i = i->next)
		found = i->exec ? i : found;
	while ((i = hash__get(&s->by_pid, pid)) && i->t_ns <= t_ns) {
		shift(s, pid);
		if (i == found)
			return i;
		image__free(i);	/* what was mapped before the exec is gone */
	}
	return NULL;
}

struct image *images__claim(struct images *s, pid_t pid, bool exec, uint64_t t_ns)
{
	struct image *i = hash__get(&s->by_pid, pid);

	if (exec)
		return claim_exec(s, pid, t_ns);
	return i && !i->exec ? shift(s, pid) : NULL;
}

struct image *images__claim_before(struct images *s, pid_t pid, uint64_t t_ns)
{
	struct image *i = hash__get(&s->by_pid, pid);

	return i && (!i->exec || i->t_ns < t_ns) ? shift(s, pid) : NULL;
}

void images__drop_old(struct images *s, uint64_t now_ns)
{
	for (size_t i = 0; i < s->by_pid.room; i++) {
		struct image *k;

		/* another one may move up; what moves past the end is met the next time */
		while ((k = s->by_pid.slots[i].value) && k->t_ns + KEEP_NS < now_ns)
			images__forget_before(s, k->pid, now_ns - KEEP_NS);
	}
}

#define LOOKS_AT_A_MOVER 16

/* ---- records */

static void mark_dirty(struct machine *m, const struct tracee *p)
{
	if (p->dirty || p->stale)
		*vec_push(&m->dirty) = p->process.pid;
}

static int add_mapping(struct machine *m, struct tracee *p, const struct mapping *map, uint64_t t_ns, struct err *e)
{
	_cleanup_err_ struct err why = {};
	int err = tracee__add_mapping(m->t, p, map, t_ns, &why);

	if (!err)
		mark_dirty(m, p);
	return err ? machine__pass_over(m, err, &why, e) : 0;
}

int machine__on_record(struct tracees *t, const struct watch_record *r, struct err *e)
{
	struct machine *m = t->machine;
	struct tracee *p = tracees__find(m->t, r->pid);

	/* one that is in no namespace of ours */
	if (r->kind != WATCH_LOST && r->pid <= 0)
		return 0;
	switch (r->kind) {
	case WATCH_LOST:
		for (size_t i = 0; i < m->t->v.n; i++)
			m->t->v.v[i]->stale |= !m->t->v.v[i]->ended;
		break;
	case WATCH_EXEC:
		images__begin(&m->images, r->pid, true, r->t_ns);
		break;
	case WATCH_MAPPED:
		if (process__is_own(r->pid))
			break;
		if (!images__add(&m->images, r))
			break;
		if (p)
			return add_mapping(m, p, &r->map, r->t_ns, e);
		images__begin(&m->images, r->pid, false, r->t_ns);
		images__add(&m->images, r);
		break;
	}
	return 0;
}

int machine__settle(struct tracees *t, struct err *e)
{
	struct machine *m = t->machine;
	int err = 0;

	for (size_t i = 0; i < m->dirty.n && !err; i++) {
		struct tracee *p = tracees__find(m->t, m->dirty.v[i]);
		_cleanup_err_ struct err why = {};

		if (!p)
			continue;
		if (p->stale)
			err = tracee__refresh(m->t, p, 0, &why);
		/* what is known to be mapped is unwound, whatever became of the rest */
		if (p->dirty) {
			int unwind_err = tracee__update_unwind(m->t, p, err ? NULL : &why);

			p->dirty = false;
			err = err ?: unwind_err;
		}
		err = err ? machine__pass_over(m, err, &why, e) : 0;
	}
	m->dirty.n = 0;
	machine__find_sharers(m);
	return err;
}

/* ---- messages */

static bool is_wanted_event(const struct machine *m, const struct mt_event *ev, bool selected, const char *entered)
{
	char comm[sizeof(ev->comm) + 1];

	return machine__selects(m, ev->pid, ev->ppid, event_comm(ev, comm), selected, entered);
}

/*
 * It ended before a file that it had mapped could be opened, which was replaced or removed meanwhile: nobody knows what that was,
 * nor has it probes. A process that met one has its allocator in another file.
 */
static void note_unread_file(struct machine *m, uint32_t proc)
{
	const struct tracee_life *l = hash__get(&m->t->by_proc, proc);
	const struct space_range *unread = NULL;
	uint64_t began_ns, now;

	for (size_t i = 0; l && i < l->space.n && !unread; i++) {
		const struct object *obj = l->space.v[i].object;
		const struct known_file *k = obj ? tracees__known_file(m->t, obj) : NULL;

		if ((l->space.v[i].ino && !obj) || (obj && obj->is_elf && !k) || (k && k->plan.n_funcs && !known_file__is_probed(k)))
			unread = &l->space.v[i];
	}
	/* of one without any range nothing was read at all */
	if (!l || (l->space.n && !unread) || kernel__proc(m->t->kernel, proc)->probe_hits ||
	    m->t->want.recording.mode == MT_MODE_GROWTH || m->t->pause.since_ns)
		return;
	began_ns = kernel__proc(m->t->kernel, proc)->started_ns;
	now = kernel__clock_ns(m->t->kernel);
	model__process(m->t->model, proc)->unseen_ns = MAX(l->tracee->unseen_ns, now > began_ns ? now - began_ns : 1);
	if (unread && !m->said_unread)
		say("%s (%d) ended before %s, which it had mapped, could be read: what such a process allocates is not seen",
		    l->tracee->process.comm, (int)l->tracee->process.pid,
		    unread->object ? unread->object->path : unread->label ? unread->label : "a file");
	m->said_unread |= unread != NULL;
}

void machine__end_life(struct machine *m, uint32_t proc)
{
	note_unread_file(m, proc);
	tracees__note_unseen_end(m->t, proc);
	tracees__end_life(m->t, proc);
}

/* Of no interest, and so ignored from now on? One that enters cgroups faster than it can be looked at is kept. */
static bool is_thrown_out(struct machine *m, const struct mt_event *ev, bool selected, const char *entered)
{
	for (int i = 0; i < LOOKS_AT_A_MOVER; i++) {
		if (is_wanted_event(m, ev, selected, entered))
			return false;
		if (kernel__ignore_unless_moved(m->t->kernel, ev->pid, ev->proc)) {
			images__forget_before(&m->images, ev->pid, ev->t_ns);
			return true;
		}
	}
	return false;
}

/*
 * The child of an ignored process is reported only if it was made in another cgroup than its parent's (clone3). Which one
 * that was, only the child itself shows.
 */
static void tell_unplaced(struct machine *m, const struct mt_event *ev)
{
	_cleanup_free_ char *cgroups = NULL;

	if (m->said_unplaced || ev->old_proc || !m->selection->cgroups.n || !process__cgroups(ev->pid, &cgroups))
		return;
	m->said_unplaced = true;
	say("process %d was started in a cgroup of its own and ended before it was seen in which: if it was in the selected one, what it allocated is not counted; others may follow",
	    (int)ev->pid);
}

/*
 * One that was read goes on mapping: what it mapped since, among what was reported before it was
 * known to be traced.
 */
static int take_over_images(struct machine *m, const struct mt_event *ev, uint64_t looked_ns, struct err *e)
{
	struct tracee *p = tracees__find(m->t, ev->pid);
	struct image *image;
	int err = 0;

	while (p && !err && (image = images__claim_before(&m->images, ev->pid, ev->t_ns))) {
		for (size_t i = 0; i < image->maps.n && !err; i++)
			if (image->maps.v[i].t_ns >= looked_ns)
				err = add_mapping(m, p, &image->maps.v[i].map, image->maps.v[i].t_ns, e);
		image__free(image);
	}
	return err;
}

/* Of whom nothing is known but the message. */
static int on_met(struct machine *m, const struct mt_event *ev, struct err *e)
{
	uint64_t looked_ns = now_ns();
	int err;

	/* one that execed meanwhile looks like what it is now: of what it was nothing is left */
	if (kernel__has_ended(m->t->kernel, ev->proc)) {
		tracees__add_gone(m->t, ev, NULL);
		return 0;
	}
	err = machine__add_running(m, ev->pid, ev->proc, NULL, e) ?:
	      take_over_images(m, ev, looked_ns, e);
	/* it has ended already */
	if (!err && !hash__get(&m->t->by_proc, ev->proc) && !process__has_memory(ev->pid))
		tracees__add_gone(m->t, ev, NULL);
	return err;
}

static int on_fork(struct machine *m, const struct mt_event *ev, struct err *e)
{
	struct tracee_life *parent = hash__get(&m->t->by_proc, ev->old_proc);
	_cleanup_err_ struct err why = {};
	struct image *image;
	struct tracee *p;
	int err;

	tell_unplaced(m, ev);
	if (is_thrown_out(m, ev, parent, NULL))
		return 0;
	if (!parent)
		return on_met(m, ev, e);
	err = tracees__add_forked(m->t, ev, parent, &p, &why);
	if (err)
		return machine__pass_over(m, err, &why, e);
	image = images__claim(&m->images, ev->pid, false, ev->t_ns);
	for (size_t i = 0; image && i < image->maps.n && !err; i++)
		err = add_mapping(m, p, &image->maps.v[i].map, image->maps.v[i].t_ns, e);
	image__free(image);
	return err;
}

static int on_new(struct machine *m, const struct mt_event *ev, const char *entered, struct err *e)
{
	return is_thrown_out(m, ev, false, entered) ? 0 : on_met(m, ev, e);
}

/* The hierarchy goes by its number in one place, by its controllers in the other. */
static char *line_of_cgroup(const struct mt_move *to)
{
	_cleanup_free_ char *own = NULL;
	char number[16], *line = NULL, *save = NULL;

	/* what is cut may be any of several */
	if (strlen(to->path) >= sizeof(to->path) - 1 || process__cgroups(getpid(), &own))
		return NULL;
	snprintf(number, sizeof(number), "%u:", to->hierarchy);
	for (char *at = strtok_r(own, "\n", &save); at; at = strtok_r(NULL, "\n", &save)) {
		const char *colon = strchr(at + strcspn(at, ":") + !!strchr(at, ':'), ':');

		if (colon && !strncmp(at, number, strlen(number)))
			line = xasprintf("%.*s:%s\n", (int)(colon - at), at, to->path);
	}
	return line;
}

/* It was read after another exec, whose message is still to come. */
static bool is_past(const struct machine *m, const struct tracee *p, const struct mt_event *ev)
{
	uint32_t now = tracee__life(p)->proc, then = ev->proc ? ev->proc : ev->old_proc;

	return then && then != now && kernel__is_older(m->t->kernel, then, now);
}

static int on_exec(struct machine *m, const struct mt_event *ev, struct err *e)
{
	struct tracee_life *parent = hash__get(&m->t->by_proc, ev->parent);
	struct tracee *p = tracees__find(m->t, ev->pid);
	_cleanup_err_ struct err why = {};
	struct image *image;
	int err;

	if (ev->old_proc)
		machine__end_life(m, ev->old_proc);
	if (p && is_past(m, p, ev))
		p = NULL;
	if (p && ev->exit_code & MT_EXEC_CLOSED)
		tracee__close(m->t, p);
	if (!ev->proc || is_thrown_out(m, ev, p || parent, NULL)) {
		if (p)
			tracee__end(m->t, p);
		return 0;
	}
	if (!parent && p && p->parent_proc)
		parent = hash__get(&m->t->by_proc, p->parent_proc);
	image = images__claim(&m->images, ev->pid, true, ev->t_ns);
	err = tracees__add_execed(m->t, p, ev, parent, image ? image->maps.v : NULL,
				  image ? image->maps.n : 0, &p, &why);
	image__free(image);
	if (!err)
		mark_dirty(m, p);
	return err ? machine__pass_over(m, err, &why, e) : 0;
}

static void on_exit_of(struct machine *m, const struct mt_event *ev)
{
	struct tracee_life *l = hash__get(&m->t->by_proc, ev->proc);

	machine__end_life(m, ev->proc);
	if (l && tracee__life(l->tracee) == l)
		tracee__end(m->t, l->tracee);
	images__forget_before(&m->images, ev->pid, ev->t_ns);
}

/* It was there when all processes were read, in this very life. */
static int on_beginning_of_known(struct machine *m, const struct tracee_life *l, const struct mt_event *ev, struct err *e)
{
	bool is_exec = ev->kind == MT_EV_EXEC;

	if (is_exec && ev->old_proc)
		machine__end_life(m, ev->old_proc);
	if (!(is_exec || ev->kind == MT_EV_FORK || ev->kind == MT_EV_NEW) || l->tracee->ended || tracee__life(l->tracee) != l)
		return 0;
	return take_over_images(m, ev, l->space.looked_ns, e);
}

int machine__on_event(struct tracees *t, const struct mt_event *ev, struct err *e)
{
	struct machine *m = t->machine;
	const struct tracee_life *known = ev->proc ? hash__get(&m->t->by_proc, ev->proc) : NULL;
	_cleanup_free_ char *entered = NULL;

	if (known && ev->kind != MT_EV_EXIT)
		return on_beginning_of_known(m, known, ev, e);
	switch (ev->kind) {
	case MT_EV_FORK:
		return on_fork(m, ev, e);
	case MT_EV_NEW:
		return on_new(m, ev, NULL, e);
	case MT_EV_EXEC:
		return on_exec(m, ev, e);
	case MT_EV_EXIT:
		on_exit_of(m, ev);
		return 0;
	case MT_EV_MOVED:
		entered = line_of_cgroup((const struct mt_move *)ev);	/* whose beginning it is */
		return on_new(m, ev, entered, e);
	case MT_EV_CHANGED:
		/* a traced process stays so: what was recorded is still of interest */
		if (ev->proc || !is_wanted_event(m, ev, false, NULL) ||
		    tracees__find(m->t, ev->pid))
			return 0;
		m->was_renamed = true;
		return machine__add_running(m, ev->pid, 0, NULL, e);
	}
	return 0;
}
