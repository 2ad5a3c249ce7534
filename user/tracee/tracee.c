// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the tracees, their lives and attachments. An object is examined once per
 * session (tracee_plans.c); it is attached once per tracee.
 */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "probe/kernel.h"
#include "process/translator.h"
#include "tracee/tracee_parts.h"
#include "util/log.h"

void tracees__init(struct tracees *t, bool growth)
{
	*t = (struct tracees){ .probing = &probing_own, .objects = objects__new() };
	if (!growth) {
		alloc_funcs__init(&t->funcs);
		return;
	}
	t->want.recording.mode = MT_MODE_GROWTH;
	alloc_funcs__init_growth(&t->funcs);
}

void tracees__want_mappings(struct tracees *t, bool arenas)
{
	t->want.recording.mmap = !arenas;
	t->want.recording.arenas = arenas;
	alloc_funcs__add_maps(&t->funcs, arenas);
}

static void life_free(struct tracee_life *l)
{
	space__done(&l->space);
	object__put(l->script);
	free(l);
}

static void tracee_free(struct tracee *p)
{
	faults__close(p->faults);
	attachment__free(p->attachment);
	for (size_t i = 0; i < p->lives.n; i++)
		life_free(p->lives.v[i]);
	vec_done(&p->lives);
	vec_done(&p->examined);
	for (size_t i = 0; i < N_EXTRAS; i++)
		vec_done(&p->extras[i]);
	process__done(&p->process);
	free(p);
}

static void known_file_free(struct known_file *k)
{
	plan__done(&k->plan);
	for (size_t i = 0; i < N_EXTRAS; i++)
		vec_done(&k->extras[i].at);
	if (k->within)
		within__done(k->within);
	free(k->within);
	free(k->lookalikes);
	free(k->python);
	free(k);
}

void tracees__done(struct tracees *t)
{
	machine__free(t->machine);
	scout__free(t->scout);
	for (size_t i = 0; i < t->v.n; i++)
		tracee_free(t->v.v[i]);
	vec_done(&t->v);
	for (size_t i = 0; i < t->files.n; i++)
		known_file_free(t->files.v[i]);
	vec_done(&t->files);
	hash__done(&t->file_of);
	hash__done(&t->by_pid);
	hash__done(&t->by_proc);
	tracees__drop_codes(t);
	vec_done(&t->pause.translators);
	vec_done(&t->pause.disproven);
	alloc_funcs__done(&t->funcs);
	spots__done(&t->spots);
	objects__free(t->objects);
	t->objects = NULL;
}

bool object_list__has(const struct object_list *l, const struct object *obj)
{
	return vec_first(one, l, *one == obj);
}

void tracee__new_plans(struct tracees *t, struct tracee *p, const struct plan ***ret, size_t *ret_n)
{
	struct vec(const struct plan *) plans = {};
	struct space *space = &tracee__life(p)->space;

	for (size_t i = 0; i < t->files.n + space->n; i++) {
		struct object *obj = i < t->files.n ? t->files.v[i]->plan.object : space->v[i - t->files.n].object;
		struct known_file *k;

		/* first those of -O, mapped or not: a library may be loaded later */
		if (!obj || (i < t->files.n && !t->files.v[i]->asked) || object_list__has(&p->examined, obj))
			continue;
		/* a file that makes no sense is no allocator */
		k = tracees__file_of(t, obj, false);
		*vec_push(&p->examined) = obj;
		if (k->plan.n_funcs)
			*vec_push(&plans) = &k->plan;
	}
	*ret = plans.v;
	*ret_n = plans.n;
}

/* The number that the kernel gave to its only life. */
static void tracee__set_proc(struct tracees *t, struct tracee *p, uint32_t proc)
{
	tracee__life(p)->proc = proc;
	if (!proc)
		return;
	hash__put(&t->by_proc, proc, tracee__life(p));
	tracees__claim_codes(t, proc);
}

void tracee__add_life(struct tracees *t, struct tracee *p, uint32_t proc)
{
	struct tracee_life *l = xcalloc(1, sizeof(*l));

	l->tracee = p;
	l->cpu_before_ns = p->cpu_ns;
	*vec_push(&p->lives) = l;
	t->n_changes++;
	tracee__set_proc(t, p, proc);
	machine__count_code(t->machine, p);
}

/* 32-bit programs, and those of another architecture under emulation, have other registers. */
static int check_machine(const struct tracee *p, struct err *e)
{
	const struct space *s = &tracee__life(p)->space;
	bool any = false;

	for (size_t i = 0; i < s->n; i++) {
		const struct object *obj = s->v[i].object;

		if (!obj || !obj->is_elf)
			continue;
		any = true;
		if (tracees__is_native(obj))
			return 0;
	}
	return any ? err_set(e, -ENOTSUP,
			     "'%s' (%d) is not a 64-bit program of this machine's architecture: malloctrace cannot trace it",
			     p->process.comm, (int)p->process.pid) :
		     0;
}

bool tracee__may_not_read(const struct space_range *r)
{
	return r->why.code == -EACCES || r->why.code == -EPERM;
}

/* Each file once, whatever the number of its mappings. */
void tracee__tell_unread(const struct tracee *p)
{
	struct tracee_life *l = tracee__life(p);

	for (size_t at = 0; at < l->space.n; at++) {
		struct space_range *r = &l->space.v[at];
		bool said = r->reported;

		r->reported = true;
		for (size_t i = 0; i < at && !said && tracee__may_not_read(r); i++)
			said = tracee__may_not_read(&l->space.v[i]) && r->label && l->space.v[i].label &&
			       !strcmp(l->space.v[i].label, r->label);
		if (tracee__may_not_read(r) && !said)
			say("%s (%d): a file cannot be read; its function names and any allocator in it are missing: %s",
			    p->process.comm, (int)p->process.pid, err_msg(&r->why));
	}
}

/* Code that no file is mapped for, beside parts of a file: an allocator may be in it, and cannot be probed there. */
static void hint_moved(pid_t pid, struct err *e)
{
	struct maps maps = {};

	if (maps__read(pid, &maps, NULL))
		return;
	for (size_t i = 1; i + 1 < maps.n; i++) {
		struct mapping *m = &maps.v[i], *beside = m[1].ino && m[1].start == m->end ? m + 1 : m - 1;

		/* the kernel's own pieces have names in brackets */
		if (!m->exec || m->ino || m->path[0] == '[' || !beside->ino || (beside->end != m->start && beside->start != m->end))
			continue;
		clean_name(beside->path);
		err_hint(e,
			 "code next to %s is in anonymous memory (moved to huge pages?), where nothing can be probed",
			 beside->path);
	}
	maps__done(&maps);
}

#define MAX_NAMED 20		/* files, in a message: it may have mapped thousands */

static int no_allocator(struct tracees *t, const struct tracee *p, struct err *e)
{
	const struct space *s = &tracee__life(p)->space;
	const struct runtime *runtime = tracee__runtime(t, p);
	const struct object *last = NULL;
	size_t n_unread = 0, n_searched = 0;

	for (size_t i = 0; i < s->n; i++)
		if (tracee__may_not_read(&s->v[i]))
			return err_set(e, s->v[i].why.code, "no allocator found in %s (%d): %s",
				       p->process.comm, (int)p->process.pid, err_msg(&s->v[i].why));
	err_set(e, -ENOENT, "'%s' (%d) maps no allocator that malloctrace knows", p->process.comm, (int)p->process.pid);
	if (runtime)
		err_hint(e, "it is a %s program, and malloctrace does not see %s; %s", runtime->title, runtime->unseen, runtime->advice);
	for (size_t i = 0; i < s->n; i++) {
		const struct object *obj = s->v[i].object;

		if (!obj) {
			if (s->v[i].label && s->v[i].label[0] == '/' && n_unread++ < MAX_NAMED)
				err_hint(e, "could not open %s", s->v[i].label);
			continue;
		}
		if (obj == last)
			continue;
		last = obj;
		if (n_searched++ >= MAX_NAMED)
			continue;
		if (object__is_lost(obj)) {
			err_hint(e, "could not read %s", obj->path);
			continue;
		}
		for (size_t k = 0; k < t->files.n; k++)
			if (t->files.v[k]->plan.object == obj)
				err_hint(e, "searched %s (no malloc among %zu functions%s)", obj->path,
					 t->files.v[k]->n_symbols, t->files.v[k]->n_symbols ? "" : ": it is stripped");
	}
	if (n_searched > MAX_NAMED)
		err_hint(e, "searched %zu other files", n_searched - MAX_NAMED);
	if (n_unread > MAX_NAMED)
		err_hint(e, "could not open %zu other files", n_unread - MAX_NAMED);
	hint_moved(p->process.pid, e);
	err_hint(e, "name one with -O FILE, and its functions with --sym malloc=NAME --sym free=NAME");
	return -ENOENT;
}

struct tracee *tracees__push(struct tracees *t, struct process *process)
{
	struct tracee *p = xcalloc(1, sizeof(*p));

	hash__put(&t->by_pid, process->pid, p);
	p->process = *process;
	p->wall_started_ns = wall_ns() - (int64_t)process->age_ns;
	p->started_ns = (int64_t)now_ns() - (int64_t)process->age_ns;
	*vec_push(&t->v) = p;
	t->n_live++;
	return p;
}

/* Once: the report has their number. */
static void tell_full(struct tracees *t)
{
	if (t->reported_full || !objects__is_full(t->objects))
		return;
	t->reported_full = true;
	say("no more files can be opened (ulimit -Hn): code of other files that are mapped has no names, and its allocators are not seen");
}

/* What is missing is reported once for each program. */
void tracee__note_listed(struct tracees *t, struct tracee *p)
{
	const struct space *s = &tracee__life(p)->space;
	size_t n = s->n_unlisted, most = space__most_listed(s);

	machine__count_code(t->machine, p);
	if (!n || p->reported_unlisted)
		return;
	p->reported_unlisted = true;
	say("%s (%d) has more than %zu code mappings%s: %zu are left out, so code there has no names, and a file that is mapped nowhere else gets no probes",
	    p->process.comm, (int)p->process.pid, most,
	    most < SPACE_MOST_LISTED ? ", and its user's processes too many" : "", n);
}

static int add(struct tracees *t, pid_t pid, struct tracee **ret, struct err *e)
{
	struct process process;
	int err = process__read(pid, &process, e);

	if (err)
		return err;
	*ret = tracees__push(t, &process);
	tracee__add_life(t, *ret, 0);
	return 0;
}

int tracees__add(struct tracees *t, pid_t pid, struct err *e)
{
	_cleanup_free_ const struct plan **plans = NULL;
	struct tracee *p;
	size_t n_new, n;
	int err;

	if (tracees__have_memory_of(t, pid))
		return 0;
	err = add(t, pid, &p, e);
	if (err)
		return err;
	tracee__count_sharers(p);
	if (translator__of(p->process.exe))
		return err_set(e, -ENOTSUP,
			       "%s (%d) is an emulator: breakpoints would kill the program that it runs, so it cannot be traced",
			       translator__of(p->process.exe), (int)pid);
	err = space__refresh(&p->lives.v[0]->space, t->objects, pid, &n_new, e);
	tell_full(t);
	tracee__note_listed(t, p);
	if (!err)
		err = check_machine(p, e);
	if (err)
		return err;
	tracee__new_plans(t, p, &plans, &n);
	if (!n && t->want.recording.mode != MT_MODE_GROWTH)
		return no_allocator(t, p, e);
	if (n && tracee__check_room(p, plans, n, e))
		return -ENOSPC;
	/* read now, so that errors come before anything is loaded; attached by tracees__attach_all */
	p->examined.n = 0;
	return 0;
}

int tracees__add_own(struct tracees *t, pid_t pid, struct err *e)
{
	struct tracee *p;
	int err = add(t, pid, &p, e);

	/* it stands still until its loader is done */
	if (!err)
		p->own = p->held = true;
	return err;
}

void tracee__tell_model(struct tracees *t, struct tracee *p, uint64_t age_ns, uint64_t began_ns)
{
	const struct process_use use = process__use(p->process.pid);
	const struct snap_process info = {
		.proc = tracee__life(p)->proc,
		.pid = p->process.pid,
		.comm = p->process.comm,
		.exe = p->process.exe,
		.cgroup = p->process.cgroup,
		.container = p->process.container,
		.pod = p->process.pod,
		.unit = p->process.unit,
		.age_at_attach_ns = age_ns,
		.began_ns = began_ns,
		.rss_bytes = use.rss_bytes,
		.swap_bytes = use.swap_bytes,
		.hugetlb_bytes = use.hugetlb_bytes,
		.file_bytes = use.file_bytes,
		.table_bytes = use.table_bytes,
		.container_pid = p->process.ns_pid,
		.parent_proc = p->parent_proc,
		.wall_started_ns = p->wall_started_ns,
		.started_ns = p->started_ns,
		.start_ticks = p->process.start_ticks,
	};

	model__add_life(t->model, &info);
}

/* Tables for the new code come before its probes: stacks are right from the first one on. */
int tracee__update_unwind(struct tracees *t, struct tracee *p, struct err *e)
{
	struct tracee_life *l = tracee__life(p);
	struct unwind_verdict v;
	int err;

	if (!t->begun)
		say_step("Reading unwind tables of what %s (%d) maps.", p->process.comm, (int)p->process.pid);
	err = unwind__update(t->unwind, l->proc, &l->space, l->code_seq, &v, e);

	if (!err && strcmp(v.why, p->unwind_why)) {
		snprintf(p->unwind_why, sizeof(p->unwind_why), "%s", v.why);
		say_verbose("stacks of %s (%d) by %s", p->process.comm, (int)p->process.pid, v.why);
	}
	return err;
}

bool tracee__is_open(const struct tracees *t, const struct tracee *p)
{
	return !p->ended && (p->attachment || t->shared_probes || t->pause.since_ns) && !tracee__life(p)->closed;
}

int tracee__look(struct tracees *t, struct tracee *p, struct err *e)
{
	struct space *space = &tracee__life(p)->space;
	struct tracee_life *l = tracee__life(p);
	uint32_t seq = kernel__code_seq(t->kernel, l->proc);
	size_t n_new;
	int err;

	t->n_changes += space__tidy(space);
	machine__count_code(t->machine, p);
	err = space__refresh(space, t->objects, p->process.pid, &n_new, e);
	tell_full(t);
	tracee__note_listed(t, p);
	t->n_changes += n_new;
	p->dirty |= n_new > 0 || seq != l->code_seq;
	if (!err)
		l->code_seq = seq;
	p->stale &= err != 0;
	return err;
}

int tracee__take_in(struct tracees *t, struct tracee *p, size_t from, uint64_t mapped_ns, struct err *e)
{
	int err = p->dirty ? tracee__update_unwind(t, p, e) : 0;

	p->dirty &= err != 0;
	return err ?: t->probing->probe(t, p, from, mapped_ns, e);
}

int tracee__refresh(struct tracees *t, struct tracee *p, uint64_t mapped_ns, struct err *e)
{
	struct space *space = &tracee__life(p)->space;
	size_t from;
	int err;

	t->n_changes += space__tidy(space);
	from = space->n;
	err = tracee__look(t, p, e);
	/* of many processes, one that cannot be read has its turn again */
	p->stale &= !tracees__are_shared(t);
	return err ?: tracee__take_in(t, p, from, mapped_ns, e);
}

void tracee__note_mapping(struct tracees *t, struct tracee *p, const struct mapping *m, uint64_t t_ns)
{
	struct space *space = &tracee__life(p)->space;
	size_t had, n_ended;
	bool is_new;

	if (!tracee__is_open(t, p))
		return;
	machine__count_code(t->machine, p);
	had = space->n;
	n_ended = space->n_ended;
	is_new = space__add(space, t->objects, p->process.pid, m, t_ns);
	tell_full(t);
	tracee__note_listed(t, p);
	if (!is_new)
		return;
	t->n_changes++;
	/* a file of no program, that a compiler writes its code to perhaps, has neither tables nor probes */
	p->dirty |= space->n == had || !space->v[had].object || space->v[had].object->is_elf ||
		    space->n_ended != n_ended;
	/*
	 * parts of it lie elsewhere by now, or it is known under other numbers: /proc may show it;
	 * and it shows what is gone
	 */
	if ((m->ino && !space->v[space->n - 1].object) || space__is_long(space) || t_ns < space->looked_ns)
		p->stale = true;
}

bool tracee__is_unsettled(const struct tracees *t, const struct tracee *p)
{
	const struct tracee_life *l = tracee__life(p);

	return l->proc && kernel__code_seq(t->kernel, l->proc) != l->code_seq;
}

int tracee__check_first(const struct tracee *p, struct err *e)
{
	if (!p->process.is_headless)
		return 0;
	return err_set(e, -EINVAL, "the first thread of '%s' (%d) has ended, and it cannot be probed alone: malloctrace -f -p %d can",
		       p->process.comm, (int)p->process.pid, (int)p->process.pid);
}

int tracee__begin(struct tracees *t, struct tracee *p, bool parked, struct err *e)
{
	uint32_t proc;
	int err = kernel__add_process(t->kernel, p->process.pid, &proc, e);

	if (!err)
		tracee__set_proc(t, p, proc);
	if (!err && !tracees__are_shared(t))
		err = tracee__check_first(p, e);
	/* a program of our own has its entry point probed for itself alone */
	if (!err && (!tracees__are_shared(t) || p->own))
		p->attachment = attachment__new(t->kernel, p->process.pid, parked);
	if (!err && !tracees__are_shared(t) && t->want.recording.mode == MT_MODE_GROWTH)
		err = faults__open(t->kernel, p->process.pid, &p->faults, e);
	p->cpu_at_attach_ns = process__cpu_ns(p->process.pid);
	if (!err && !p->own)
		tracee__share_memory(t, p);
	/* before its exec a program of our own is a copy of malloctrace, which is not of interest */
	if (p->own)
		return err;
	/* what tracees__add saw is known to the space, but has no tables yet */
	if (!err)
		err = tracee__update_unwind(t, p, e);
	if (!err && !tracees__are_shared(t))
		err = tracee__look(t, p, e);
	if (!err)
		err = tracee__take_in(t, p, 0, 0, e);
	if (!err)
		tracee__tell_model(t, p, p->process.age_ns, 0);
	return err;
}

int tracees__attach_all(struct tracees *t, struct err *e)
{
	int err = 0;

	for (size_t i = 0; i < t->v.n && !err; i++)
		err = tracee__begin(t, t->v.v[i], t->scout, e);
	t->begun = true;
	return err;
}

void tracees__begin_detach(struct tracees *t)
{
	_cleanup_free_ struct attachment **all = xcalloc(t->v.n + 1, sizeof(*all));
	size_t n = 0;

	faults__close(t->all_faults);
	t->all_faults = NULL;
	if (t->shared_probes)
		all[n++] = t->shared_probes;
	t->shared_probes = NULL;
	for (size_t i = 0; i < t->v.n; i++) {
		if (t->v.v[i]->attachment)
			all[n++] = t->v.v[i]->attachment;
		t->v.v[i]->attachment = NULL;
		faults__close(t->v.v[i]->faults);
		t->v.v[i]->faults = NULL;
	}
	if (n && !t->leaving)
		t->leaving = attachments__leave(all, n);
	else if (n)
		attachments__free(all, n);
}

uint64_t tracees__detach(struct tracees *t)
{
	struct leaving *leaving;

	tracees__begin_detach(t);
	leaving__wait(t->pause.leaving);
	leaving = t->leaving;
	t->leaving = t->pause.leaving = NULL;
	return leaving__wait(leaving);
}

struct tracee *tracees__find(const struct tracees *t, pid_t pid)
{
	return hash__get(&t->by_pid, pid);
}

bool tracees__all_ended(const struct tracees *t)
{
	return !t->n_live;
}

void tracee__end(struct tracees *t, struct tracee *p)
{
	if (p->ended)
		return;
	/* as long as its parent has not waited for it */
	if (process__is(p->process.pid, p->process.start_ticks))
		p->cpu_ns = MAX(p->cpu_ns, process__cpu_ns(p->process.pid));
	p->ended = true;
	machine__count_code(t->machine, p);
	t->n_live--;
	if (hash__get(&t->by_pid, p->process.pid) == p)
		hash__remove(&t->by_pid, p->process.pid);
}

/* What is left of it is nobody's. */
static void take_out(struct tracees *t, struct tracee *p)
{
	tracee__end(t, p);
	for (size_t i = 0; i < t->v.n; i++)
		if (t->v.v[i] == p) {
			t->v.v[i] = t->v.v[--t->v.n];
			break;
		}
	tracee_free(p);
}

void tracees__drop(struct tracees *t, struct tracee *p)
{
	for (size_t i = 0; i < p->lives.n; i++)
		if (p->lives.v[i]->proc)
			hash__remove(&t->by_proc, p->lives.v[i]->proc);
	t->n_changes++;
	take_out(t, p);
}

void tracees__forget(struct tracees *t, uint32_t proc)
{
	struct tracee_life *l = hash__remove(&t->by_proc, proc);
	struct tracee *p = l ? l->tracee : NULL;

	if (!l)
		return;
	vec_keep(one, &p->lives, *one != l);
	life_free(l);
	t->n_changes++;
	if (p->lives.n)
		return;
	if (p->cpu_ns > p->cpu_at_attach_ns)
		t->gone_cpu_ns += p->cpu_ns - p->cpu_at_attach_ns;
	t->gone_unprobed += p->n_unprobed + p->n_written_over;
	take_out(t, p);
}
