// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns the plans of all objects: each is made once, when its object is first seen, and tried out at most once. */
#include "tracee/tracee_parts.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "probe/attach.h"
#include "process/memcg.h"
#include "util/log.h"
#include "util/parse.h"

#if defined(__x86_64__)
#define OWN_MACHINE EM_X86_64
#else
#define OWN_MACHINE EM_AARCH64
#endif

struct known_file *tracees__known_file(const struct tracees *t, const struct object *obj)
{
	return hash__get(&t->file_of, (uintptr_t)obj);
}

bool tracees__is_native(const struct object *obj)
{
	return obj->is_elf && obj->is_64 && obj->machine == OWN_MACHINE;
}

/* By its name, or, of a program, by what its language puts into it. */
static const struct runtime *runtime_of(const struct object *obj)
{
	const struct runtime *r = runtime__of_file(path_basename(obj->path));

	if (r || !obj->is_exec)
		return r;
	return array_first(x, runtimes, n_runtimes, x->section && object__has_section(obj, x->section));
}

/* What an object offers; made when it is seen for the first time. */
struct known_file *tracees__file_of(struct tracees *t, struct object *obj, bool asked)
{
	struct known_file *k = tracees__known_file(t, obj);

	if (k)
		return k;
	k = xcalloc(1, sizeof(*k));
	*vec_push(&t->files) = k;
	hash__put(&t->file_of, (uintptr_t)obj, k);
	k->asked = asked;
	k->runtime = runtime_of(obj);
	if (tracees__is_native(obj))
		plan__make(obj, &t->funcs, &t->want, asked, &k->plan, &k->n_symbols);
	if (k->plan.n_points && !object__may_be_probed(obj)) {
		plan__done(&k->plan);
		k->plan = (struct plan){};
	}
	for (size_t i = 0; i < k->plan.n_funcs; i++)
		t->funcs.v[k->plan.funcs[i].func].flags |= FUNC_FOUND;
	if (!k->plan.object) {
		/* nothing to probe: remembered with a reference all the same */
		object__hold(obj);
		k->plan.object = obj;
	}
	return k;
}

int tracees__ask_for(struct tracees *t, const char *path, struct err *e)
{
	struct object *obj;
	int err = objects__get_path(t->objects, path, &obj, e);
	struct known_file *k = NULL;

	if (err)
		return err;
	if (!obj->is_elf)
		err = err_set(e, -ENOEXEC, "-O %s: not an ELF file", path);
	else if (!tracees__is_native(obj))
		err = err_set(e, -ENOEXEC, "-O %s: not a 64-bit ELF file of this architecture", path);
	else
		k = tracees__file_of(t, obj, true);
	if (k && !k->plan.n_funcs) {
		err = err_set(e, -ENOENT,
			      "-O %s: none of its %zu functions is an allocation function that malloctrace knows",
			      path, k->n_symbols);
		err_hint(e, "name them with --sym malloc=NAME --sym free=NAME, or --prefix STR");
	}
	object__put(obj);
	return err;
}

/*
 * Once per file: are its points right? If not, the plan becomes a plain one, in
 * place. A process that runs does not wait while a child of ours tries out what
 * it has just loaded: reading the code must do then.
 */
static void check_plan(struct tracees *t, const struct tracee *p, const struct plan *plan)
{
	struct known_file *k = tracees__known_file(t, plan->object);
	struct check_result r;
	uint64_t start_ns = now_ns();
	struct plan plain;

	if (!k || k->checked || (t->begun && !(p && p->own)) || plan__is_plain(plan))
		return;
	k->checked = true;
	say_step("Testing the probe points in %s in a child process.", object__file_name(plan->object));
	check__plan(t->kernel, &t->funcs, plan, &r);
	switch (r.verdict) {
	case CHECK_RIGHT:
		say_verbose("%s: probe points tested: %u functions called in a child process, each reported correctly; %.1f ms",
			    object__file_name(plan->object), r.n_called, (now_ns() - start_ns) / 1e6);
		return;
	case CHECK_CANNOT:
		say_verbose("%s: probe points not tested: %s", object__file_name(plan->object), r.why);
		return;
	case CHECK_WRONG:
		break;
	}
	say("%s: optimised probe points failed their self-test (%.*s): using plain ones, which cost more",
	    object__file_name(plan->object), (int)strcspn(r.why, ":"), r.why);
	say_verbose("%s: self-test of probe points: %s", object__file_name(plan->object), r.why);
	t->want.recording.points = POINTS_PLAIN;
	plan__make(plan->object, &t->funcs, &t->want, k->asked, &plain, NULL);
	t->want.recording.points = plan->want.recording.points;
	plan__done(&k->plan);
	k->plan = plain;
}

/* Once per file, when it is probed for the first time. */
static void tell_plan(struct tracees *t, const struct plan *plan)
{
	struct known_file *k = tracees__known_file(t, plan->object);

	if (!k || k->said_points)
		return;
	k->said_points = true;
	say_verbose("probes in %s%s%s: %zu functions, %zu points", plan->object->path,
		    *plan->family ? ", " : "", plan->family, plan->n_funcs, plan->n_points);
	for (size_t i = 0; i < plan->n_funcs; i++)
		say_verbose("  %s: %s", t->funcs.v[plan->funcs[i].func].name, plan->funcs[i].why);
	if (plan->n_requested)
		say("%s: sizes are the requested ones: --size usable reads glibc's block headers%s",
		    object__file_name(plan->object),
		    plan->want.recording.mode == MT_MODE_COUNT ? ", which --mode count does not see" : "");
}

int tracees__probe_plans(struct tracees *t, const struct tracee *p, struct attachment *a, const struct plan **plans,
			 size_t n, struct err *e)
{
	int err;

	for (size_t i = 0; i < n; i++)
		check_plan(t, p, plans[i]);
	for (size_t i = 0; i < n && !t->begun; i++)
		say_step("Probing %s: %zu functions, %zu points.", plans[i]->object->path, plans[i]->n_funcs,
			 plans[i]->n_points);
	err = attachment__add(a, &t->funcs, plans, n, e);
	for (size_t i = 0; i < n && !err; i++) {
		struct known_file *k = tracees__known_file(t, plans[i]->object);

		k->state = FILE_PROBED;
		k->ever_probed = true;
		tell_plan(t, plans[i]);
	}
	return err;
}

static const struct object *last_allocator(const struct tracees *t, const struct tracee *p)
{
	for (size_t i = p->examined.n; i-- > 0;) {
		const struct known_file *k = tracees__known_file(t, p->examined.v[i]);

		if (k && k->plan.n_funcs)
			return k->plan.object;
	}
	return NULL;
}

const char *tracee__last_allocator(const struct tracees *t, const struct tracee *p)
{
	const struct object *obj = last_allocator(t, p);

	return obj ? object__file_name(obj) : "";
}

void tracee__note_late_allocator(struct tracees *t, struct tracee *p)
{
	const struct object *obj = last_allocator(t, p);
	const struct space *s = &tracee__life(p)->space;
	uint64_t mapped_ns = UINT64_MAX, now = now_ns();

	for (size_t i = 0; i < s->n; i++)
		if (s->v[i].object == obj && !s->v[i].gone)
			mapped_ns = MIN(mapped_ns, s->v[i].born_ns);
	if (!obj || mapped_ns >= now)
		return;
	p->unseen_ns = MAX(p->unseen_ns, now - mapped_ns);
	model__process(t->model, tracee__life(p)->proc)->unseen_ns = p->unseen_ns;
}

/*
 * A file that was written to in place is the same one to the kernel, which goes on
 * putting breakpoints where the old code had its functions. They must go at once.
 */
void tracees__unprobe_former(struct tracees *t, const struct object *now)
{
	for (size_t i = 0; i < t->files.n; i++) {
		struct known_file *k = t->files.v[i];
		const struct object *obj = k->plan.object;

		if ((k->state != FILE_PROBED && k->extras[EXTRA_SPOTS].state != EXTRA_PROBED) ||
		    k->state == FILE_REFUSED || obj == now || !obj->changed || obj->dev != now->dev ||
		    obj->ino != now->ino)
			continue;
		attachment__remove(t->shared_probes, obj, true);
		known_file__forget_probes(k);
		k->state = FILE_REFUSED;
		say("%s was written to: its probes are removed; processes that still map the old code are not seen any more",
		    obj->path);
	}
}

/* ---- functions that the user named */

struct name_search {
	const char *name;
	bool found;
};

static int is_name(const struct object_symbol *sym, void *arg)
{
	struct name_search *s = arg;

	s->found = !strcmp(sym->name, s->name);
	return s->found;
}

/* In any file that was read; one that has another name, too, is probed by that which comes first. */
static bool is_defined(const struct tracees *t, const struct alloc_func *f)
{
	struct name_search s = { f->name, f->flags & FUNC_FOUND };

	for (size_t i = 0; i < t->files.n && !s.found; i++)
		if (tracees__is_native(t->files.v[i]->plan.object))
			object__for_each_function(t->files.v[i]->plan.object, is_name, &s);
	return s.found;
}

static bool is_prefix_missing(const struct tracees *t)
{
	bool made = false;

	for (size_t i = 0; i < t->funcs.n; i++) {
		made |= t->funcs.v[i].flags & FUNC_PREFIXED;
		if ((t->funcs.v[i].flags & (FUNC_PREFIXED | FUNC_FOUND)) == (FUNC_PREFIXED | FUNC_FOUND))
			return false;
	}
	return made;
}

/*
 * In files that were read: a function of an option that allocates, where none is that may free its blocks; NULL: there is none. Who
 * has named a free has said whose; a prefix only says it of its own.
 */
static const struct alloc_func *find_unfreed(const struct tracees *t)
{
	if (!recording__is_leak(&t->want.recording))
		return NULL;
	return alloc_funcs__unfreed(&t->funcs, FUNC_NAMED, FUNC_NAMED, FUNC_FOUND) ?:
	       alloc_funcs__unfreed(&t->funcs, FUNC_PREFIXED, FUNC_PREFIXED | FUNC_NAMED, FUNC_FOUND);
}

static const char *option_of(const struct alloc_func *f)
{
	return f->flags & FUNC_NAMED ? "--sym" : "--prefix";
}

int tracees__check_unfreed(const struct tracees *t, struct err *e)
{
	const struct alloc_func *f = find_unfreed(t);

	return f ? err_set(e, -EINVAL, UNFREED_WORDS, option_of(f), f->name) : 0;
}

void tracees__tell_named(const struct tracees *t)
{
	const char *unless = t->begun ? "" : ", unless a file that does is loaded later";
	const struct alloc_func *unfreed;

	for (size_t i = 0; i < t->funcs.n; i++)
		if (t->funcs.v[i].flags & FUNC_NAMED && !is_defined(t, &t->funcs.v[i]))
			say("--sym: no mapped file defines %s: its calls are not counted%s",
			    t->funcs.v[i].name, unless);
	/* of files that were not known when the trace began */
	unfreed = t->begun ? find_unfreed(t) : NULL;
	if (unfreed)
		say(UNFREED_WORDS, option_of(unfreed), unfreed->name);
	if (is_prefix_missing(t))
		say("--prefix: no mapped file defines both a malloc and a free of that prefix: no such calls are counted%s", unless);
}

/* ---- room for them in memory cgroups */

/*
 * Owns nothing. Is there room for probes in the targets' memory cgroups? A page of code that gets a
 * breakpoint becomes a copy that is charged there (process/memcg.h); one that is full would have a process killed.
 *
 * Probes of one process alone are refused before the first is set, or, for a library that it loads
 * later, left out. Shared probes are set in all processes that map a file, by the kernel, whatever
 * is selected: none can be left out, so it is said which processes are in danger.
 */

/* A C library, its loader and a C++ library have about half of it. */
#define USUAL_PAGES 64
#define ROUND_BYTES (1ull << 20)

static size_t n_pages(const struct plan *p)
{
	uint64_t page = sysconf(_SC_PAGESIZE);
	size_t n = 0;

	for (size_t i = 0; i < p->n_points; i++) {
		size_t k = 0;

		while (k < i && p->points[k].offset / page != p->points[i].offset / page)
			k++;
		n += k == i;
	}
	return n;
}

int tracee__check_room(const struct tracee *p, const struct plan *const *plans, size_t n, struct err *e)
{
	char room[FMT_MAX], limit[FMT_MAX], need[FMT_MAX];
	uint64_t need_bytes, enough;
	struct memcg m;
	size_t pages = 0;

	for (size_t i = 0; i < n; i++)
		pages += n_pages(plans[i]);
	need_bytes = memcg__need_bytes(pages);
	memcg__of(p->process.pid, &m);
	if (m.room_bytes >= need_bytes || !m.dir) {
		memcg__done(&m);
		return 0;
	}
	enough = (m.limit_bytes + need_bytes - m.room_bytes + ROUND_BYTES - 1) / ROUND_BYTES * ROUND_BYTES;
	clean_name(m.dir);
	err_set(e, -ENOSPC,
		"'%s' (%d) may be killed if it is traced now: the limit of its memory cgroup, %s, leaves room for %s, and probes may need %s",
		p->process.comm, (int)p->process.pid, fmt_bytes(limit, m.limit_bytes),
		fmt_bytes(room, m.room_bytes), fmt_bytes(need, need_bytes));
	err_hint(e, "raise the limit by %s for the time of the trace: echo %llu > %s/%s",
		 fmt_bytes(need, enough - m.limit_bytes), (unsigned long long)enough, m.dir, m.limit_file);
	memcg__done(&m);
	return -ENOSPC;
}

int tracee__leave_room(const struct tracees *t, struct tracee *p, const struct plan *const *plans, size_t n,
		       bool *ret_room, struct err *e)
{
	_cleanup_err_ struct err why = {};
	int err;

	*ret_room = true;
	/* shared probes are the kernel's to set; and a program of our own has not run yet */
	if (!p->attachment || (p->own && !t->begun))
		return 0;
	err = tracee__check_room(p, plans, n, &why);
	if (!err)
		return 0;
	if (!t->begun)
		return n ? err_set(e, err, "%s", err_msg(&why)) : 0;
	*ret_room = false;
	for (size_t i = 0; i < n; i++) {
		p->n_written_over += plans[i]->n_points;
		say("%s is not probed, and what it allocates is not seen: %s", plans[i]->object->path, err_msg(&why));
	}
	return 0;
}

void tracee__tell_room(const struct tracee *p, FILE *out)
{
	char room[FMT_MAX], limit[FMT_MAX];
	struct memcg m;

	memcg__of(p->process.pid, &m);
	if (m.dir) {
		clean_name(m.dir);
		fprintf(out, "  memory     room for %s in its cgroup %s, whose limit is %s\n",
			fmt_bytes(room, m.room_bytes), m.dir, fmt_bytes(limit, m.limit_bytes));
	}
	memcg__done(&m);
}

/* The caller's. */
static char *words_of(struct tight *one)
{
	char room[FMT_MAX];

	clean_name(one->memcg.dir);
	return xasprintf("the memory cgroup %s has room for %s: %zu process%s in it (such as %d) may be killed, because every process that maps a probed file gets copies of its pages, selected or not; raise %s, or trace single processes with -p PID",
			 one->memcg.dir, fmt_bytes(room, one->memcg.room_bytes), one->n_processes, one->n_processes == 1 ? "" : "es",
			 (int)one->pid, one->memcg.limit_file);
}

void tracees__tell_tight(FILE *out)
{
	struct tights tights = {};

	tights__find(USUAL_PAGES, &tights);
	for (size_t i = 0; i < tights.n; i++) {
		_cleanup_free_ char *text = words_of(&tights.v[i]);

		if (out)
			fprintf(out, "  memory     %s\n", text);
		else
			say("%s", text);
	}
	tights__done(&tights);
}
