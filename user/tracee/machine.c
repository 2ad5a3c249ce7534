// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Two streams report a process: the kernel's records of mappings, and our own
 * programs' messages about fork, exec and exit. The records of an exec come before
 * its message. So records are read first, and as long as an exec was recorded
 * whose message has not come, mappings gather in an image, which the message's
 * new life takes over; there may be several execs in a row. Mappings of a process that is
 * not known, a forked child perhaps, gather likewise.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tracee/images.h"
#include "tracee/machine.h"
#include "tracee/tracee_parts.h"
#include "tracee/tracee_pause.h"
#include "tracee/tracee_shared.h"
#include "util/log.h"
#include "util/parse.h"
#include "util/signals.h"

/* Examined each second, of those that need not be. */
#define FEW_A_SECOND 64
#define MANY_A_SECOND 512
#define LOOKS_AT_A_MOVER 16

struct machine {
	struct tracees *t;
	const struct selection *selection;
	struct images images;
	struct vec(pid_t) dirty;
	size_t turn;		/* the tracee that is examined next */
	bool said_unplaced;	/* that it is not known whether some were in the cgroup */
	size_t n_closed;	/* processes that this user may not inspect */
	struct err why_closed;
	bool said_unread;	/* that a process ended before what it mapped could be read */
};

int tracees__share(struct tracees *t, const struct selection *selection, struct err *e)
{
	struct machine *m = calloc(1, sizeof(*m));

	if (!m)
		return err_set(e, -ENOMEM, "out of memory");
	m->t = t;
	m->selection = selection;
	t->machine = m;
	t->probing = &probing_shared;
	return 0;
}

void machine__free(struct machine *m)
{
	if (!m)
		return;
	images__done(&m->images);
	vec_done(&m->dirty);
	err_done(&m->why_closed);
	free(m);
}

uint64_t tracees__n_left_out(const struct tracees *t)
{
	return kernel__n_closed(t->kernel) + (t->machine ? t->machine->n_closed : 0);
}

/* ---- what is selected */

/*
 * selected: its parent, or it itself under its former name, is traced. ppid 0: not known. entered:
 * the cgroup that it was reported to enter, as a line of /proc/PID/cgroup; may be NULL.
 */
static bool is_wanted(const struct machine *m, pid_t pid, pid_t ppid, const char *comm, bool selected,
		      const char *entered)
{
	_cleanup_free_ char *cgroups = NULL;

	if (!selection__selects(m->selection) || (m->selection->follow && selected))
		return true;
	if (!m->selection->cgroups.n || !process__cgroups(pid, &cgroups))
		return selection__wants(m->selection, comm, cgroups);
	/* one that is gone already was where it was when it was selected, where it went, or where its parent is */
	if (!entered && (selected || !ppid || process__cgroups(ppid, &cgroups)))
		return selected && selection__wants(&(struct selection){ .adopt = MT_ADOPT_ALL,
									 .comms = m->selection->comms },
						    comm, NULL);
	return selection__wants(m->selection, comm, entered ? entered : cgroups);
}

static bool is_wanted_event(const struct machine *m, const struct mt_event *ev, bool selected, const char *entered)
{
	char comm[sizeof(ev->comm) + 1];

	snprintf(comm, sizeof(comm), "%.16s", ev->comm);
	clean_name(comm);
	return is_wanted(m, ev->pid, ev->ppid, comm, selected, entered);
}

bool machine__wants(const struct selection *selection, pid_t pid)
{
	const struct machine m = { .selection = selection };
	char comm[32];

	process__thread_comm(pid, pid, comm);
	return is_wanted(&m, pid, 0, comm, false, NULL);
}

/* ---- those that are there */

/* Why a single process could not be taken is no reason to end the trace. */
static int pass_over(struct machine *m, int err, struct err *why, struct err *e)
{
	if (err == -ENOMEM || err == -EPERM)
		return err_set(e, err, "%s", err_msg(why));
	if (err == -EACCES) {
		if (!m->n_closed++)
			m->why_closed = *why;
		else
			err_done(why);
		*why = (struct err){};
	}
	return 0;
}

/* An exec just before the kernel was told of a process is not reported. */
static int read_again(pid_t pid, struct process *p, struct err *e)
{
	char comm[32];

	process__thread_comm(pid, pid, comm);
	if (!*comm || !strcmp(comm, p->comm))
		return 0;
	process__done(p);
	return process__look(pid, p, e);
}

/* proc 0: the kernel is told of it. parent: NULL: none that is traced. */
static int add_running(struct machine *m, pid_t pid, uint32_t proc, const struct tracee *parent, struct err *e)
{
	_cleanup_err_ struct err why = {};
	struct process process;
	struct tracee *p;
	uint64_t start_ticks;
	bool is_reported;
	int err = process__look(pid, &process, &why);

	if (err) {
		if (err == -EACCES)
			kernel__ignore(m->t->kernel, pid, proc);
		/* the programs know by themselves: should it become one that may be looked into, they see that */
		if (err == -EACCES && kernel__sees_own_only(m->t->kernel))
			kernel__reconsider(m->t->kernel, pid);
		return pass_over(m, err, &why, e);
	}
	start_ticks = process.start_ticks;
	is_reported = proc;
	if (!is_reported)
		err = kernel__add_process(m->t->kernel, pid, &proc, e);
	if (err || hash__get(&m->t->by_proc, proc)) {
		process__done(&process);
		return err == -ENOSPC ? 0 : err;	/* counted: process_full */
	}
	err = is_reported ? 0 : read_again(pid, &process, &why);
	if (err) {
		kernel__ignore(m->t->kernel, pid, proc);
		kernel__reconsider(m->t->kernel, pid);
		return pass_over(m, err, &why, e);
	}
	err = tracees__add_running(m->t, &process, proc, parent ? tracee__life(parent) : NULL, &p, &why);
	if (err)
		return pass_over(m, err, &why, e);
	/*
	 * it may have ended before the kernel was told, and its pid may be another's now: nothing
	 * will report it. What the kernel itself reported goes on until the message of its end: an
	 * exec may come before that.
	 */
	if (!is_reported && !process__is(pid, start_ticks)) {
		kernel__ignore(m->t->kernel, pid, proc);
		kernel__reconsider(m->t->kernel, pid);
		model__life_ended(m->t->model, proc);
		unwind__drop(m->t->unwind, proc);
		tracee__end(m->t, p);
	}
	return 0;
}

/* Each process but our own and the kernel's threads. */
static int for_each_running(struct machine *m, int (*fn)(struct machine *m, pid_t pid, struct err *e), struct err *e)
{
	DIR *proc = opendir("/proc");
	struct dirent *d;
	int err = 0;

	if (!proc)
		return err_set(e, -errno, "/proc: %s", strerror(errno));
	while (!err && !signal_asks_for_end() && (d = readdir(proc))) {
		uint64_t pid;

		if (!parse_u64(d->d_name, 1, INT32_MAX, &pid) && !process__is_own(pid) && process__has_memory(pid))
			err = fn(m, pid, e);
	}
	closedir(proc);
	return err;
}

static int add_or_ignore(struct machine *m, pid_t pid, struct err *e)
{
	if (!machine__wants(m->selection, pid)) {
		kernel__ignore(m->t->kernel, pid, 0);
		/* the kernel reports who enters a cgroup from now on: not who did between the two */
		if (!m->selection->cgroups.n || !machine__wants(m->selection, pid))
			return 0;
	}
	return add_running(m, pid, 0, NULL, e);
}

static int add_child(struct machine *m, pid_t pid, struct err *e)
{
	const struct tracee *parent = tracees__find(m->t, pid) ? NULL : tracees__find(m->t, process__parent(pid));

	return parent ? add_running(m, pid, 0, parent, e) : 0;
}

/* Those that are there: the selected; then, with -f, children that they have already, and theirs. */
static int read_processes(struct machine *m, struct err *e)
{
	int err = m->selection->adopt == MT_ADOPT_ALL ? for_each_running(m, add_or_ignore, e) : 0;
	size_t had;

	do {
		had = m->t->v.n;
		if (!err && m->selection->follow)
			err = for_each_running(m, add_child, e);
	} while (!err && m->t->v.n > had);
	return err;
}

int tracees__probe_shared(struct tracees *t, struct err *e)
{
	int err = attachment__new(t->kernel, 0, &t->shared_probes, e) ?: tracees__probe_asked(t, e);

	/* a later process most likely maps what malloctrace does */
	if (!err && t->machine->selection->adopt == MT_ADOPT_ALL)
		err = tracees__probe_own(t, e);
	return err;
}

static int attach(struct tracees *t, struct err *e)
{
	struct machine *m = t->machine;
	uint64_t began_ns = now_ns();
	/* one that begins later is reported by a record */
	int err = tracees__tell_tight(NULL, e);

	tracees__pause_for_any(t);
	if (!err && !t->pause.since_ns)
		err = tracees__probe_shared(t, e);
	if (!err && t->want.recording.mode == MT_MODE_GROWTH)
		err = faults__open_all(t->kernel, &t->all_faults, e);
	if (!err)
		err = tracees__attach_all(m->t, e);
	if (!err) {
		say_step("Reading the processes that run.");
		m->t->begun = false;
		err = read_processes(m, e);
		m->t->begun = true;
	}
	say_verbose("read %zu processes in %.1f ms", m->t->v.n, (now_ns() - began_ns) / 1e6);
	if (!err && m->n_closed)
		say("%zu process%s left out: %s", m->n_closed, m->n_closed == 1 ? " is" : "es are",
		    err_msg(&m->why_closed));
	return err;
}

static void say_attached(const struct tracees *t)
{
	const char *first = NULL;
	size_t n_files = 0;

	for (size_t i = 0; i < t->files.n; i++) {
		const struct known_file *k = t->files.v[i];

		if (k->state != FILE_PROBED || !k->plan.n_funcs)
			continue;
		n_files++;
		first = first ? first : object__file_name(k->plan.object);
	}
	if (!first)
		first = t->want.recording.mode == MT_MODE_GROWTH ? "page faults" : "no allocator yet";
	if (t->pause.since_ns)
		say("attached to %zu process%s; probes come when no program runs any more that translates code", t->n_live,
		    t->n_live == 1 ? "" : "es");
	else if (!t->n_live)
		say("attached; no match yet, waiting for processes to start: %s", first);
	else if (n_files < 2)
		say("attached to %zu process%s: %s", t->n_live, t->n_live == 1 ? "" : "es", first);
	else
		say("attached to %zu process%s: %s and %zu other file%s", t->n_live,
		    t->n_live == 1 ? "" : "es", first, n_files - 1, n_files == 2 ? "" : "s");
}

/* ---- records */

static int mark_dirty(struct machine *m, const struct tracee *p)
{
	pid_t *slot = p->dirty || p->stale ? vec_push(&m->dirty) : NULL;

	if (slot)
		*slot = p->process.pid;
	return slot || !(p->dirty || p->stale) ? 0 : -ENOMEM;
}

static int add_mapping(struct machine *m, struct tracee *p, const struct mapping *map, uint64_t t_ns, struct err *e)
{
	_cleanup_err_ struct err why = {};
	int err = tracee__add_mapping(m->t, p, map, t_ns, &why);

	if (!err)
		err = mark_dirty(m, p);
	return err ? pass_over(m, err, &why, e) : 0;
}

static int on_record(struct tracees *t, const struct watch_record *r, struct err *e)
{
	struct machine *m = t->machine;
	struct tracee *p = tracees__find(m->t, r->pid);
	int err = 0;

	/* one that is in no namespace of ours */
	if (r->kind != WATCH_LOST && r->pid <= 0)
		return 0;
	switch (r->kind) {
	case WATCH_LOST:
		for (size_t i = 0; i < m->t->v.n; i++)
			m->t->v.v[i]->stale |= !m->t->v.v[i]->ended;
		break;
	case WATCH_EXEC:
		err = images__begin(&m->images, r->pid, true, r->t_ns);
		break;
	case WATCH_MAPPED:
		if (process__is_own(r->pid))
			break;
		err = images__add(&m->images, r);
		if (err == -ENOENT && p)
			return add_mapping(m, p, &r->map, r->t_ns, e);
		if (err == -ENOENT)
			err = images__begin(&m->images, r->pid, false, r->t_ns) ?: images__add(&m->images, r);
		break;
	}
	return err ? err_set(e, err, "out of memory") : 0;
}

static int settle(struct tracees *t, struct err *e)
{
	struct machine *m = t->machine;
	int err = 0;

	for (size_t i = 0; i < m->dirty.n && !err; i++) {
		struct tracee *p = tracees__find(m->t, m->dirty.v[i]);
		_cleanup_err_ struct err why = {};

		if (!p)
			continue;
		if (p->stale)
			err = tracee__refresh_shared(m->t, p, 0, &why);
		if (p->dirty) {
			p->dirty = false;
			err = tracee__update_unwind(m->t, p, &why);
		}
		err = err ? pass_over(m, err, &why, e) : 0;
	}
	m->dirty.n = 0;
	return err;
}

/* ---- messages */

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
	if (!l || (l->space.n && !unread) || kernel__hits(m->t->kernel, proc) || m->t->want.recording.mode == MT_MODE_GROWTH ||
	    m->t->pause.since_ns)
		return;
	began_ns = kernel__began_ns(m->t->kernel, proc);
	now = kernel__clock_ns(m->t->kernel);
	model__set_unseen(m->t->model, proc, MAX(l->tracee->unseen_ns, now > began_ns ? now - began_ns : 1));
	if (unread && !m->said_unread)
		say("%s (%d) ended before %s, which it had mapped, could be read: what such a process allocates is not seen",
		    l->tracee->process.comm, (int)l->tracee->process.pid,
		    unread->object ? unread->object->path : unread->label ? unread->label : "a file");
	m->said_unread |= unread != NULL;
}

static void end_life(struct machine *m, uint32_t proc)
{
	note_unread_file(m, proc);
	tracees__note_unseen_end(m->t, proc);
	model__life_ended(m->t->model, proc);
	unwind__drop(m->t->unwind, proc);
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
	err = parent ? tracees__add_forked(m->t, ev, parent, &p, &why) : 0;
	if (!parent)
		return add_running(m, ev->pid, ev->proc, NULL, e);
	if (err)
		return pass_over(m, err, &why, e);
	image = images__claim(&m->images, ev->pid, false, ev->t_ns);
	for (size_t i = 0; image && i < image->maps.n && !err; i++)
		err = add_mapping(m, p, &image->maps.v[i].map, image->maps.v[i].t_ns, e);
	image__free(image);
	return err;
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

static int on_new(struct machine *m, const struct mt_event *ev, const char *entered, struct err *e)
{
	uint64_t looked_ns = now_ns();
	struct tracee *p;
	int err;

	if (is_thrown_out(m, ev, false, entered))
		return 0;
	/* one that execed meanwhile looks like what it is now: of what it was nothing is left */
	if (kernel__has_ended(m->t->kernel, ev->proc))
		return tracees__add_gone(m->t, ev, NULL, &p, e);
	err = add_running(m, ev->pid, ev->proc, NULL, e);
	if (!err)
		err = take_over_images(m, ev, looked_ns, e);
	/* it has ended already */
	if (!err && !hash__get(&m->t->by_proc, ev->proc) && !process__has_memory(ev->pid))
		err = tracees__add_gone(m->t, ev, NULL, &p, e);
	return err;
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

		if (colon && !strncmp(at, number, strlen(number)) &&
		    asprintf(&line, "%.*s:%s\n", (int)(colon - at), at, to->path) < 0)
			return NULL;
	}
	return line;
}

static int on_moved(struct machine *m, const struct mt_move *to, struct err *e)
{
	_cleanup_free_ char *entered = line_of_cgroup(to);

	return on_new(m, &to->ev, entered, e);
}

static int on_exec(struct machine *m, const struct mt_event *ev, struct err *e)
{
	struct tracee_life *parent = hash__get(&m->t->by_proc, ev->parent);
	struct tracee *p = tracees__find(m->t, ev->pid);
	_cleanup_err_ struct err why = {};
	struct image *image;
	int err;

	if (ev->old_proc)
		end_life(m, ev->old_proc);
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
		err = mark_dirty(m, p);
	return err ? pass_over(m, err, &why, e) : 0;
}

static void on_exit_of(struct machine *m, const struct mt_event *ev)
{
	struct tracee_life *l = hash__get(&m->t->by_proc, ev->proc);

	end_life(m, ev->proc);
	if (l && tracee__life(l->tracee) == l)
		tracee__end(m->t, l->tracee);
	images__forget(&m->images, ev->pid);
}

static int on_event(struct tracees *t, const struct mt_event *ev, struct err *e)
{
	struct machine *m = t->machine;

	/* it was there when all processes were read, in this very life */
	if (ev->kind != MT_EV_EXIT && ev->proc && hash__get(&m->t->by_proc, ev->proc))
		return 0;
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
		return on_moved(m, (const struct mt_move *)ev, e);	/* whose beginning it is */
	case MT_EV_CHANGED:
		/* a traced process stays so: what was recorded is still of interest */
		if (!ev->proc && is_wanted_event(m, ev, false, NULL))
			return add_running(m, ev->pid, 0, NULL, e);
		return 0;
	}
	return 0;
}

/* ---- what no message reports */

/* A life that was not reported: its message was lost. */
static void adopt_unreported(uint32_t proc, pid_t pid, void *arg)
{
	struct machine *m = arg;

	if (hash__get(&m->t->by_proc, proc))
		return;
	if (!process__has_memory(pid) || !machine__wants(m->selection, pid))
		kernel__ignore_unless_moved(m->t->kernel, pid, proc);
	else
		add_running(m, pid, proc, NULL, NULL);
}

/* --mode growth: the events of a CPU go when it is switched off, and one that is switched on has none. */
static void follow_cpus(struct tracees *t)
{
	_cleanup_err_ struct err why = {};
	struct faults *now;

	if (!t->all_faults || faults__have_all(t->all_faults))
		return;
	t->gone_unprobed++;
	if (faults__open_all(t->kernel, &now, &why)) {
		/* it is tried again when there are others */
		faults__settle_for(t->all_faults);
		say("processors were switched on or off: page faults on new ones are not seen: %s", err_msg(&why));
		return;
	}
	/* what is under way meanwhile is charged once: the program knows a fault by its number */
	faults__close(t->all_faults);
	t->all_faults = now;
	say("processors were switched on or off: page faults on new ones were not seen, for up to a second");
}

static int on_second(struct tracees *t, bool watched, struct err *e)
{
	struct machine *m = t->machine;
	size_t n_left = MANY_A_SECOND, n_others = watched ? 0 : FEW_A_SECOND, n = m->t->v.n;

	images__drop_old(&m->images, now_ns());
	follow_cpus(t);
	for (size_t i = 0; i < n && n_left; i++) {
		struct tracee *p = m->t->v.v[m->turn++ % n];

		if (p->ended)
			continue;
		/* an end whose message was lost */
		if (kernel__has_ended(m->t->kernel, tracee__life(p)->proc)) {
			end_life(m, tracee__life(p)->proc);
			tracee__end(m->t, p);
			continue;
		}
		p->stale |= tracee__is_unsettled(m->t, p);
		if (!p->stale && !n_others)
			continue;
		n_others -= !p->stale;
		n_left--;
		tracee__refresh_shared(m->t, p, 0, NULL);
	}
	kernel__for_each_life(m->t->kernel, SECOND_NS, adopt_unreported, m);
	tracees__unprobe_deleted(m->t);
	return tracees__try_to_resume(m->t, e);
}

static int probe_first(struct tracees *t, struct tracee *p, struct err *e)
{
	return tracee__probe_files(t, p, 0, 0, e);
}

static int refresh(struct tracees *t, struct tracee *p, struct err *e)
{
	return tracee__is_open(t, p) ? tracee__refresh_shared(t, p, 0, e) : 0;
}

const struct probing probing_shared = {
	.records_first = true,
	.attach = attach,
	.probe_first = probe_first,
	.say_attached = say_attached,
	.on_event = on_event,
	.on_record = on_record,
	.settle = settle,
	.on_second = on_second,
	.refresh = refresh,
};
