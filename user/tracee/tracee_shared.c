// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Tracees whose probes are shared. Owns nothing but those probes. A file is
 * probed once, when the first of them maps it; from then on every process that maps it is
 * seen from its first call on.
 *
 * What a process maps comes from records that the kernel makes at that moment, and a
 * forked one has what its parent has: so one that lives for a few milliseconds
 * has names, too, and /proc of no process is read again and again.
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "probe/attach.h"
#include "tracee/tracee_parts.h"
#include "util/log.h"
#include "util/signals.h"

#define ALLOCATORS_OF_ONE 256u
#define ALLOCATORS_OF_ALL 1024u

/* ---- probes */

static bool has_allocator_probes(const struct known_file *k)
{
	return k->state == FILE_PROBED && k->plan.n_funcs;
}

static bool has_spot_probes(const struct known_file *k)
{
	return k->extras[EXTRA_SPOTS].state == EXTRA_PROBED;
}

const struct known_file *tracees__covered_by(const struct tracees *t, const struct known_file *k, bool spots)
{
	bool (*is_probed)(const struct known_file *k) = spots ? has_spot_probes : has_allocator_probes;
	uint64_t offset = spots ? k->extras[EXTRA_SPOTS].at.v[0].offset : k->plan.points[0].offset;
	const struct known_file *found = NULL;
	struct attachment *mark = NULL;
	const char *id = k->plan.object->build_id;

	for (size_t i = 0; id && i < t->files.n && !found; i++) {
		const struct known_file *other = t->files.v[i];

		if (other == k || !is_probed(other) || !other->plan.object->build_id ||
		    strcmp(other->plan.object->build_id, id))
			continue;
		/* a mark takes a tenth of a second: most copies have no breakpoints at all */
		if (!mark && !breakpoint__is_at(k->plan.object, offset))
			return NULL;
		if (!mark && file_mark__set(t->kernel, k->plan.object, &mark)) {
			say("%s has breakpoints that may be malloctrace's own, set under another name of the file: it is probed; if they are, its calls count twice",
			    k->plan.object->path);
			return NULL;
		}
		if (file_mark__is_seen(other->plan.object))
			found = other;
	}
	attachment__free(mark);
	return found;
}

/*
 * p: the tracee that mapped it first, or NULL. What cannot be probed is said, and leaves the others
 * as they are.
 */
static int probe(struct tracees *t, const struct tracee *p, struct known_file *k, struct err *e)
{
	_cleanup_err_ struct err why = {};
	const struct plan *plan = &k->plan;
	const struct known_file *other;
	int err;

	tracees__unprobe_former(t, plan->object);
	other = plan->n_points ? tracees__covered_by(t, k, false) : NULL;
	if (other) {
		k->state = FILE_COVERED;
		k->probed_ns = other->probed_ns;
		say_verbose("%s is %s under another name", plan->object->path, other->plan.object->path);
		return 0;
	}
	err = tracees__probe_plans(t, p, t->shared_probes, &plan, 1, &why);
	if (err == -EPERM || err == -EACCES || err == -ENOMEM)
		return err_set(e, err, "%s", err_msg(&why));
	if (err) {
		k->state = FILE_REFUSED;
		say("%s; what it allocates is not seen", err_msg(&why));
		return 0;
	}
	unwind__prepare(t->unwind, plan->object);
	k->probed_ns = t->begun && !(p && p->held) ? now_ns() : 0;
	return 0;
}

static void note_unseen(struct tracees *t, struct tracee *p, struct known_file *k, uint64_t mapped_ns)
{
	uint64_t unseen_ns = k->probed_ns - mapped_ns;

	if (!k->said_late)
		say("%s was probed %.1f ms after %s (%d) had mapped it: what it allocated until then was not seen",
		    object__file_name(k->plan.object), unseen_ns / 1e6, p->process.comm, (int)p->process.pid);
	k->said_late = true;
	p->unseen_ns = MAX(p->unseen_ns, unseen_ns);
	model__process(t->model, tracee__life(p)->proc)->unseen_ns = p->unseen_ns;
}

/*
 * A program has a handful of allocators. Whoever maps thousands of files that look like one, to keep malloctrace from tracing
 * anybody, is not probed in all of them; who else maps one of them, is.
 */
static bool has_too_many(struct tracees *t, struct tracee *p, const struct known_file *k)
{
	size_t n_probed = 0;

	if (k->asked)
		return false;
	if (p->n_probed_for >= ALLOCATORS_OF_ONE) {
		if (!p->said_many)
			say("%s (%d) maps more than %u files with allocation functions: what is allocated in others is not seen", p->process.comm,
			    (int)p->process.pid, ALLOCATORS_OF_ONE);
		p->said_many = true;
		return true;
	}
	for (size_t i = 0; i < t->files.n; i++)
		n_probed += known_file__is_probed(t->files.v[i]);
	if (n_probed < ALLOCATORS_OF_ALL)
		return false;
	if (!t->said_many)
		say("more than %u files with allocation functions are mapped: what is allocated in others is not seen", ALLOCATORS_OF_ALL);
	t->said_many = true;
	return true;
}

static int probe_unless_too_many(struct tracees *t, struct tracee *p, struct known_file *k, struct err *e)
{
	if (!has_too_many(t, p, k)) {
		p->n_probed_for++;
		return probe(t, p, k, e);
	}
	if (!k->left_out)
		p->n_written_over += k->plan.n_points;
	k->left_out = true;
	return 0;
}

int tracee__probe_files(struct tracees *t, struct tracee *p, size_t from, uint64_t mapped_ns, struct err *e)
{
	const struct space *space = &tracee__life(p)->space;
	int err = 0;

	for (size_t i = from; i < space->n && !err && t->shared_probes && !signal_asks_for_end(); i++) {
		struct known_file *k;

		if (!space->v[i].object)
			continue;
		k = tracees__file_of(t, space->v[i].object, false);
		/* a file that makes no sense is no allocator, and has none of these */
		err = tracees__probe_extra(t, p, k, EXTRA_LOADER, e) ?: tracees__probe_extra(t, p, k, EXTRA_SPOTS, e);
		if (!k->plan.n_funcs || k->state == FILE_REFUSED)
			continue;
		if (k->state == FILE_UNPROBED && !err)
			err = probe_unless_too_many(t, p, k, e);
		p->n_allocators++;
		if (!err && mapped_ns && k->probed_ns > mapped_ns)
			note_unseen(t, p, k, mapped_ns);
	}
	if (!err && t->shared_probes)
		tracee__know_python(t, p);
	return err || !t->shared_probes ? err : tracee__probe_extras(t, p, EXTRA_REFUSALS, e);
}

static bool is_mapped(const struct tracees *t, const struct object *obj)
{
	return vec_first(p, &t->v, !(*p)->ended && vec_first(r, &tracee__life(*p)->space, r->object == obj));
}

static bool has_any_probes(const struct known_file *k)
{
	return has_allocator_probes(k) || table_first(x, k->extras, x->state == EXTRA_PROBED);
}

void tracees__unprobe_deleted(struct tracees *t)
{
	for (size_t i = 0; i < t->files.n; i++) {
		struct known_file *k = t->files.v[i];
		struct stat st;

		if (!has_any_probes(k) || k->asked ||
		    object__stat(k->plan.object, &st) || st.st_nlink || is_mapped(t, k->plan.object))
			continue;
		if (t->shared_probes)	/* else all are out already */
			attachment__remove(t->shared_probes, k->plan.object, false);
		known_file__forget_probes(k);
		say_verbose("%s is deleted, and no process maps it any more: its probes are removed",
			    k->plan.object->path);
	}
}

int tracees__probe_asked(struct tracees *t, struct err *e)
{
	int err = 0;

	for (size_t i = 0; i < t->files.n && !err; i++)
		if (t->files.v[i]->asked && t->files.v[i]->plan.n_funcs && !known_file__is_probed(t->files.v[i]))
			err = probe(t, NULL, t->files.v[i], e);
	return err;
}

static int probe_object(struct tracees *t, struct object *obj, struct err *e)
{
	struct known_file *k = tracees__file_of(t, obj, false);
	int err = tracees__probe_extra(t, NULL, k, EXTRA_LOADER, e) ?: tracees__probe_extra(t, NULL, k, EXTRA_SPOTS, e);
	if (err || !k->plan.n_funcs || k->state != FILE_UNPROBED)
		return err;
	return probe(t, NULL, k, e);
}

/* A static malloctrace maps no library: the first of these that is there is what others most likely map. */
static int probe_usual(struct tracees *t, struct err *e)
{
	static const char *const usual[] = {
		"/lib/aarch64-linux-gnu/libc.so.6", "/lib/x86_64-linux-gnu/libc.so.6", "/lib64/libc.so.6", "/usr/lib/libc.so.6",
		"/lib/ld-musl-aarch64.so.1", "/lib/ld-musl-x86_64.so.1",
	};
	bool found = false;
	int err = 0;

	for (size_t i = 0; i < ARRAY_SIZE(usual) && !err && !found; i++) {
		struct object *obj;

		if (access(usual[i], R_OK) || objects__get_path(t->objects, usual[i], &obj, NULL))
			continue;
		err = probe_object(t, obj, e);
		found = !err && tracees__known_file(t, obj) && known_file__is_probed(tracees__known_file(t, obj));
		object__put(obj);
	}
	return err;
}

int tracees__probe_own(struct tracees *t, struct err *e)
{
	struct space space = {};
	struct stat self;
	size_t n_new, n_libraries = 0;
	int err = space__refresh(&space, t->objects, getpid(), &n_new, e);

	if (stat("/proc/self/exe", &self))
		self.st_ino = 0;
	for (size_t i = 0; i < space.n && !err; i++) {
		struct object *obj = space.v[i].object;

		/* no other process has our own program, and what is in no file is no library */
		if (!obj || !obj->ino || obj->ino == self.st_ino)
			continue;
		n_libraries++;
		unwind__prepare(t->unwind, obj);
		err = probe_object(t, obj, e);
	}
	space__done(&space);
	return err || n_libraries ? err : probe_usual(t, e);
}

/* ---- code */

int tracee__add_mapping(struct tracees *t, struct tracee *p, const struct mapping *m, uint64_t t_ns, struct err *e)
{
	struct space *space = &tracee__life(p)->space;
	size_t from = space->n;

	tracee__note_mapping(t, p, m, t_ns);
	return space->n > from ? tracee__probe_files(t, p, from, t_ns, e) : 0;
}

/* ---- processes */

static char *clean_comm(const struct mt_event *ev)
{
	char *comm = xstrndup(ev->comm, sizeof(ev->comm));

	clean_name(comm);
	return comm;
}

/* What is known of a process that is gone already: its own message, and what its parent was. */
static void from_event(const struct mt_event *ev, const struct tracee *parent, struct process *ret)
{
	static const struct process no_parent = { .comm = (char *)"", .exe = (char *)"" };
	uint64_t now = clock_ns(CLOCK_BOOTTIME), tick = SECOND_NS / sysconf(_SC_CLK_TCK);

	process__copy(parent ? &parent->process : &no_parent, ev->pid, ret);
	free(ret->comm);
	ret->comm = clean_comm(ev);
	ret->ns_pid = ev->ns_pid != ev->pid ? (pid_t)ev->ns_pid : 0;
	ret->age_ns = now > ev->start_ns ? now - ev->start_ns : 0;
	ret->start_ticks = ev->start_ns / tick;
}

static struct tracee *add_tracee(struct tracees *t, struct process *process, uint32_t proc, const struct tracee_life *parent)
{
	struct tracee *before = tracees__find(t, process->pid), *p;
	/* it was read while messages of what it was before were on their way: this is one of them */
	bool is_past = before && kernel__is_older(t->kernel, proc, tracee__life(before)->proc);

	/* its end was not reported */
	if (before && !is_past) {
		model__process(t->model, tracee__life(before)->proc)->ended = true;
		tracee__end(t, before);
	}
	p = tracees__push(t, process);
	tracee__add_life(t, p, proc);
	p->parent_proc = parent ? parent->proc : 0;
	if (is_past)
		hash__put(&t->by_pid, before->process.pid, before);
	return p;
}

/* What its process was before it was read is over. */
static void end_past(struct tracees *t, struct tracee *p)
{
	if (tracees__find(t, p->process.pid) != p)
		tracee__end(t, p);
}

int tracees__add_running(struct tracees *t, struct process *process, uint32_t proc,
			 const struct tracee_life *parent, struct tracee **ret, struct err *e)
{
	uint64_t now = now_ns();
	struct tracee *p = add_tracee(t, process, proc, parent);
	int err;

	p->cpu_at_attach_ns = process__cpu_ns(p->process.pid);
	tracee__tell_model(t, p, p->process.age_ns, 0);
	err = tracee__refresh(t, p, t->begun ? now : 0, e);
	/* one that ends meanwhile is no failure: its end is reported elsewhere */
	if (err && err != -ESRCH && err != -ENOENT)
		return err;
	end_past(t, p);
	*ret = p;
	return 0;
}

int tracees__add_forked(struct tracees *t, const struct mt_event *ev, const struct tracee_life *parent,
			struct tracee **ret, struct err *e)
{
	struct process process;
	struct tracee *p;
	int err;

	from_event(ev, parent->tracee, &process);
	p = add_tracee(t, &process, ev->proc, parent);
	space__copy(&tracee__life(p)->space, &parent->space);
	/* of one child for all */
	p->reported_unlisted = parent->tracee->reported_unlisted;
	tracee__note_listed(t, p);
	parent->tracee->reported_unlisted = p->reported_unlisted;
	tracee__life(p)->code_seq = parent->code_seq;
	/* it has what its parent had when it was forked, which may have been nothing yet */
	tracee__life(p)->awaits_python = parent->knows_python || parent->awaits_python;
	err = tracee__update_unwind(t, p, e);
	if (err)
		return err;
	p->n_allocators = parent->tracee->n_allocators;
	end_past(t, p);
	*ret = p;
	tracee__tell_model(t, p, 0, kernel__proc(t->kernel, ev->proc)->started_ns);
	return 0;
}

void tracees__add_gone(struct tracees *t, const struct mt_event *ev, const struct tracee_life *parent)
{
	struct process process;
	struct tracee *p;

	from_event(ev, parent ? parent->tracee : NULL, &process);
	p = add_tracee(t, &process, ev->proc, parent);
	end_past(t, p);
	tracee__tell_model(t, p, 0, kernel__proc(t->kernel, ev->proc)->started_ns);
}

/* The program is what is mapped first. is_past: what /proc shows is another. */
static void set_exe(struct process *p, const struct told_mapping *v, size_t n, bool is_past)
{
	for (size_t i = 0; i < n; i++) {
		char *exe = v[i].map.path[0] == '/' ? xstrdup(v[i].map.path) : NULL;

		if (!exe)
			continue;
		clean_name(exe);
		free(p->exe);
		p->exe = exe;
		return;
	}
	if (!is_past)
		process__set_exe(p);
}

int tracees__add_execed(struct tracees *t, struct tracee *p, const struct mt_event *ev,
			const struct tracee_life *parent, const struct told_mapping *v, size_t n,
			struct tracee **ret, struct err *e)
{
	bool is_past;
	pid_t own_pid;
	int err = 0;

	if (!p) {
		struct process process;

		from_event(ev, parent ? parent->tracee : NULL, &process);
		p = add_tracee(t, &process, ev->proc, parent);
	} else {
		char *comm = clean_comm(ev);

		free(p->process.comm);
		p->process.comm = comm;
		tracee__add_life(t, p, ev->proc);
	}
	p->unseen_ns = p->live_bytes = p->n_allocators = p->n_probed_for = 0;
	p->dirty = p->stale = p->reported_unlisted = false;
	is_past = tracees__find(t, p->process.pid) != p;
	set_exe(&p->process, v, n, is_past);
	process__read_cgroup(&p->process);
	/* a forked one has its parent's, and may have changed it since */
	if (!is_past)
		process__ids(p->process.pid, &p->process.uid, &own_pid);
	*ret = p;
	tracee__tell_model(t, p, 0, kernel__proc(t->kernel, ev->proc)->started_ns);
	for (size_t i = 0; i < n && !err; i++)
		err = tracee__add_mapping(t, p, &v[i].map, v[i].t_ns, e);
	/* nothing was reported: it is read */
	if (!err && !n && !is_past) {
		err = tracee__refresh(t, p, now_ns(), e);
		err = err == -ESRCH || err == -ENOENT || err == -EACCES ? 0 : err;
	}
	end_past(t, p);
	return err;
}
