// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Points besides those of allocation functions: where libraries are loaded, functions that the user named (--mark, --start-on,
 * --within ...), and where calls fail unseen. Owns the table of these kinds. Each file is searched once per session; its points are
 * probed once per tracee, or once where probes are shared. A named function that is found nowhere is reported, at once or at the end.
 */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "elf/symtab.h"
#include "tracee/tracee_parts.h"
#include "util/log.h"

/* ---- functions that the user named */

static int find_within(struct tracees *t, struct known_file *k, struct within *ret, struct err *e)
{
	int err = within__find(&t->spots, k->plan.object, &k->extras[EXTRA_SPOTS].at, ret, e);

	if (!err && ret->ranges.n && t->n_within == MT_WITHIN_LISTS) {
		within__done(ret);
		err = err_set(e, -E2BIG, "--within: more than %d files have such functions", MT_WITHIN_LISTS);
	}
	return err;
}

/* A file that a process maps while the trace runs, or any process of many, must not end the trace. */
static bool is_optional(const struct tracees *t)
{
	return t->begun || t->machine;
}

#define TAKES_TOO_LONG "its debug information takes too long to search"

static int look_within(struct tracees *t, struct known_file *k, struct err *e)
{
	_cleanup_err_ struct err why = {};
	struct within w = {};
	int err = spots__first(&t->spots, MT_SPOT_WITHIN_ENTER) ? find_within(t, k, &w, &why) : 0;

	if (err == -E2BIG && is_optional(t)) {
		t->gone_unprobed++;
		say("%s: what they allocate is not recorded", err_msg(&why));
		return 0;
	}
	if (err)
		return err_set(e, err, "%s", err_msg(&why));
	if (w.unsearched) {
		t->gone_unprobed++;
		say("--within: inlined copies in %s are not seen: " TAKES_TOO_LONG,
		    k->plan.object->path);
	}
	if (!w.ranges.n)
		return 0;
	k->within = xmalloc(sizeof(*k->within));
	*k->within = w;
	k->within_list = t->n_within++;
	within__number(k->within, k->within_list);
	return 0;
}

static int attach_within(struct tracees *t, struct attachment *a, struct known_file *k, struct err *e)
{
	int err;

	if (!k->within || !object__may_be_probed(k->plan.object))
		return 0;
	err = kernel__set_within(t->kernel, k->within_list, &k->within->ranges);
	if (!err && k->within->inlined)
		err = kernel__set_within_inlined(t->kernel, k->within_list, k->plan.object);
	if (err)
		return err_set(e, err, "--within: %s: %s", k->plan.object->path, strerror(-err));
	return attachment__add_spots(a, FOR_WITHIN, k->plan.object, &k->within->points, e);
}

/* Stacks show an inlined copy; where one begins is not known for certain, so no probe counts its calls. */
static void report_inlined(struct tracees *t, const struct spot *s, const struct object *obj)
{
	size_t n = s->n_inlined_here;

	if (!n || (s->kind != MT_SPOT_MARK && s->kind != MT_SPOT_START && s->kind != MT_SPOT_STOP))
		return;
	t->gone_unprobed += n;
	say("%s %s: %zu inlined cop%s in %s: calls there are not seen", s->option, s->text, n, n == 1 ? "y" : "ies", obj->path);
}

/*
 * How many copies there are is not known, nor whether there are any. A tag is looked for on stacks,
 * by the names that these have.
 */
static void report_unsearched(struct tracees *t, const struct spot *s, const struct object *obj)
{
	if (s->unsearched_here == SEARCHED || s->kind == MT_SPOT_TAG)
		return;
	t->gone_unprobed++;
	say("%s %s: inlined copies in %s are not seen: %s", s->option, s->text, obj->path,
	    s->unsearched_here == UNSEARCHED_LONG
		    ? TAKES_TOO_LONG
		    : "it was built with -gsplit-dwarf, and .dwo files are not read");
}

static int find_spots(struct tracees *t, struct known_file *k, struct err *e)
{
	int err;

	if (!t->spots.n)
		return 0;
	err = spots__find(&t->spots, k->plan.object, NULL, &k->extras[EXTRA_SPOTS].at, e);
	for (size_t i = 0; i < t->spots.n && !err; i++) {
		report_inlined(t, &t->spots.v[i], k->plan.object);
		report_unsearched(t, &t->spots.v[i], k->plan.object);
	}
	return err ?: look_within(t, k, e);
}

/* Each spot that has a point in this file. */
static void tell(const struct tracees *t, const struct known_file *k, const struct tracee *p)
{
	const struct spot_points *at = &k->extras[EXTRA_SPOTS].at;

	for (size_t i = 0; i < t->spots.n; i++) {
		const struct spot *s = &t->spots.v[i];
		size_t n = 0;

		for (size_t j = 0; j < at->n; j++)
			for (uint64_t c = at->v[j].cookie; c; c >>= 8)
				n += (c & 0xff) == s->number;
		if (!n)
			continue;
		if (t->begun && p && !p->held)
			say("%s %s: %s (%d) has loaded %s, which defines it: calls are seen from now on",
			    s->option, s->text, p->process.comm, (int)p->process.pid,
			    object__file_name(k->plan.object));
		else
			say_verbose("%s %s: %zu point%s in %s", s->option, s->text, n, n == 1 ? "" : "s",
				    k->plan.object->path);
	}
}

static int attach_spots(struct tracees *t, struct attachment *a, struct known_file *k, const struct tracee *p, struct err *e)
{
	_cleanup_err_ struct err why = {};
	int err = attachment__add_spots(a, FOR_USER, k->plan.object, &k->extras[EXTRA_SPOTS].at, &why) ?:
			  attach_within(t, a, k, &why);

	if (err && (!is_optional(t) || err == -ESRCH))
		return err_set(e, err, "%s", err_msg(&why));
	t->gone_unprobed += err != 0;
	if (err)
		say("%s; calls of the named functions are not seen there", err_msg(&why));
	else
		tell(t, k, p);
	return 0;
}

/* ---- all kinds */

static int add_loader(struct attachment *a, const struct object *obj, const struct spot_points *at, struct err *e)
{
	return attachment__add_spots(a, FOR_LOADER, obj, at, e);
}

static const struct {
	/* What the plan has found already; 0: nothing. */
	size_t in_plan;
	/* A file that the kernel refuses is no reason to end a trace: why it is refused, and what that means. */
	int (*add)(struct attachment *a, const struct object *obj, const struct spot_points *at, struct err *e);
	const char *otherwise;
	bool is_detail;		/* who does not ask need not know */
} kinds[N_EXTRAS] = {
	[EXTRA_LOADER] = { offsetof(struct plan, loader), add_loader,
			   "a library that is loaded at the address of another is noticed a little later", true },
	[EXTRA_REFUSALS] = { offsetof(struct plan, refusals), attachment__add_refusals,
			     "calls that end with an exception are not counted as failed", false },
};

static bool is_probed(const struct tracees *t, const struct tracee *p, const struct known_file *k, enum extra_kind kind)
{
	if (t->shared_probes)
		return k->extras[kind].state == EXTRA_PROBED || k->state == FILE_REFUSED;
	return object_list__has(&p->extras[kind], k->plan.object);
}

/* They are looked for, and not probed. */
static int find_extra(struct tracees *t, struct known_file *k, enum extra_kind kind, struct err *e)
{
	struct spot_points *found;

	if (k->extras[kind].state != EXTRA_UNKNOWN || !tracees__is_native(k->plan.object))
		return 0;
	k->extras[kind].state = EXTRA_FOUND;
	if (!kinds[kind].in_plan)
		return find_spots(t, k, e);
	found = (struct spot_points *)((char *)&k->plan + kinds[kind].in_plan);
	k->extras[kind].at = *found;
	*found = (struct spot_points){};
	return 0;
}

int tracees__probe_extra(struct tracees *t, struct tracee *p, struct known_file *k, enum extra_kind kind, struct err *e)
{
	struct attachment *a = tracees__probes_of(t, p);
	_cleanup_err_ struct err why = {};
	int err;

	if (!a || is_probed(t, p, k, kind))
		return 0;
	err = find_extra(t, k, kind, e);
	/* a function that is inlined wherever it is called has no point */
	if (err || (!k->extras[kind].at.n && !(kind == EXTRA_SPOTS && k->within)))
		return err;
	/* of one file under two names: of a loader it does no harm that replaced code is reported twice */
	if (t->shared_probes && kind == EXTRA_SPOTS) {
		tracees__unprobe_former(t, k->plan.object);
		if (tracees__covered_by(t, k, true))
			return 0;
	}
	if (t->shared_probes)
		k->extras[kind].state = EXTRA_PROBED;
	else
		*vec_push(&p->extras[kind]) = k->plan.object;
	if (kind == EXTRA_SPOTS)
		return attach_spots(t, a, k, p, e);
	if (kinds[kind].add(a, k->plan.object, &k->extras[kind].at, &why)) {
		if (kinds[kind].is_detail)
			say_verbose("%s; %s", err_msg(&why), kinds[kind].otherwise);
		else
			say("%s; %s", err_msg(&why), kinds[kind].otherwise);
	}
	return 0;
}

static bool may_throw(struct tracees *t, const struct space *space)
{
	return vec_first(r, space, r->object && !r->gone && !r->object->changed && tracees__known_file(t, r->object) &&
			 plan__may_throw(&tracees__known_file(t, r->object)->plan, &t->funcs));
}

int tracee__probe_extras(struct tracees *t, struct tracee *p, enum extra_kind kind, struct err *e)
{
	const struct space *space = &tracee__life(p)->space;
	bool throws = kind == EXTRA_REFUSALS && may_throw(t, space);
	int err = 0;

	for (size_t i = 0; i < space->n && !err; i++) {
		struct known_file *k;

		if (!space->v[i].object)
			continue;
		/* what was written over or unmapped has no calls any more */
		if (kind == EXTRA_REFUSALS && (space->v[i].gone || space->v[i].object->changed))
			continue;
		k = tracees__file_of(t, space->v[i].object, false);
		/*
		 * a C++ library is no allocator: it is searched once something throws; where calls are passed on
		 * unseen it is the allocator's own file
		 */
		if (kind != EXTRA_REFUSALS || throws || plan__skips_passers(&k->plan))
			err = tracees__probe_extra(t, p, k, kind, e);
	}
	return err;
}

void known_file__forget_probes(struct known_file *k)
{
	if (known_file__is_probed(k))
		k->state = FILE_UNPROBED;
	for (size_t i = 0; i < N_EXTRAS; i++)
		if (k->extras[i].state == EXTRA_PROBED)
			k->extras[i].state = EXTRA_FOUND;
	k->python_probed = false;
}

/* ---- what is found nowhere */

/* Each part of "ns::Cache::put" must be the name of something there. */
static bool may_be_inlined(struct object *obj, const struct spot *s)
{
	const char *name = s->part[s->n_parts - 1];
	size_t scope = (size_t)(strstr(name, s->hint) - name);
	_cleanup_free_ char *scopes = xstrndup(name, scope);
	char *save = NULL;

	if (!defined__may_be_inlined(obj, NULL, s->hint))
		return false;
	for (char *p = strtok_r(scopes, ":", &save); p; p = strtok_r(NULL, ":", &save))
		if (!strpbrk(p, "<>(){} ") && !defined__may_be_inlined(obj, NULL, p))
			return false;
	return true;
}

/*
 * A tag need not begin anywhere: one that was inlined is on stacks as well. Where names come from a JIT's list or a server,
 * or the name has no last part to look for, nobody knows yet.
 */
static bool may_be_on_stacks(const struct tracees *t, const struct spot *s)
{
	if (t->names_to_come || !s->hint)
		return true;
	return vec_first(p, &t->v, tracee__life(*p)->space.jit) ||
	       vec_first(k, &t->files, spot__may_be_in(s, (*k)->plan.object) && may_be_inlined((*k)->plan.object, s));
}

static bool is_found(const struct tracees *t, const struct spot *s)
{
	return s->n_points || (s->kind == MT_SPOT_WITHIN_ENTER && s->n_inlined) ||
	       (s->kind == MT_SPOT_TAG && may_be_on_stacks(t, s));
}

static int look_at_all(struct tracees *t, struct err *e)
{
	int err = 0;

	for (size_t i = 0; i < t->v.n; i++) {
		const struct space *space = &tracee__life(t->v.v[i])->space;

		for (size_t j = 0; j < space->n && !err; j++) {
			struct known_file *k;

			if (!space->v[j].object)
				continue;
			k = tracees__file_of(t, space->v[j].object, false);
			err = find_extra(t, k, EXTRA_SPOTS, e);
		}
	}
	return err;
}

/*
 * A Python function has no instruction that could be probed: its interpreter runs all of them, and
 * one that calls another does not call itself for that.
 */
#define NOT_OF_PYTHON                                                                              \
	"%s takes native functions only; for a Python function, --tag %s groups its allocations, "  \
	"and --filter %s hides all others"

int tracees__check_spots(struct tracees *t, struct err *e)
{
	_cleanup_free_ char *names = NULL;
	size_t len, n_later = 0;
	FILE *later = text_stream__open(&names, &len);
	int err = t->spots.n ? look_at_all(t, e) : 0;

	for (size_t i = 0; i < t->spots.n && !err; i++) {
		const struct spot *s = &t->spots.v[i];

		if (is_found(t, s))
			continue;
		/* a tag may be on stacks as a function of Python, which is in no file and whose calls are not counted */
		if (s->kind == MT_SPOT_TAG && tracees__may_run_python(t)) {
			fprintf(later, "%s%s", n_later++ ? " or " : "", s->text);
			continue;
		}
		if (!vec_first(k, &t->files, spot__may_be_in(s, (*k)->plan.object))) {
			say("%s %s: no file %s is mapped yet: files that are loaded later are searched",
			    s->option, s->text, s->part[0]);
			continue;
		}
		err = err_set(e, -ENOENT, "%s %s: no such function in the files that the target maps", s->option, s->text);
		if (tracees__may_run_python(t))
			err_hint(e, NOT_OF_PYTHON, s->option, s->text, s->text);
		else
			err_hint(e,
				 "a function that was inlined everywhere, or is in a file without symbols, cannot be found by name");
	}
	text_stream__close(later);
	if (n_later && !err)
		say("--tag: no mapped file has a function %s; malloctrace looks for Python functions in call stacks",
		    names);
	return err;
}

void tracees__tell_spots(struct tracees *t)
{
	for (size_t i = 0; i < t->spots.n; i++) {
		const struct spot *s = &t->spots.v[i];

		/* tags are looked for in stacks, of which the output tells */
		if (is_found(t, s) || s->kind == MT_SPOT_TAG)
			continue;
		say("%s %s: no file that the target mapped has such a function", s->option, s->text);
		if (tracees__may_run_python(t))
			say(NOT_OF_PYTHON, s->option, s->text, s->text);
	}
}
