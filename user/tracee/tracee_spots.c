// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Functions that the user named (--mark, --start-on, --within ...): in which of the files that
 * tracees map they are, and their probes. Which file is probed for which process is decided in
 * tracee_extras.c. What always holds: one that is found nowhere is reported, at once or at the end.
 */
#include <errno.h>
#include <string.h>

#include "elf/defined.h"
#include "tracee/tracee_parts.h"
#include "util/log.h"

static int find_within(struct tracees *t, struct known_file *k, struct within *ret, struct err *e)
{
	int err = within__find(&t->spots, k->plan.object, &k->extras[EXTRA_SPOTS].at, ret, e);

	if (!err && ret->ranges.n && t->n_within == MT_WITHIN_LISTS) {
		within__done(ret);
		err = err_set(e, -E2BIG, "--within: more than %d files have such functions", MT_WITHIN_LISTS);
	}
	return err;
}

static int look_within(struct tracees *t, struct known_file *k, struct err *e)
{
	_cleanup_err_ struct err why = {};
	struct within w = {};
	int err = spots__first(&t->spots, MT_SPOT_WITHIN_ENTER) ? find_within(t, k, &w, &why) : 0;

	/* a file that a process maps while the trace goes on must not end it */
	if (err == -E2BIG && t->begun) {
		say("%s: what they allocate is not recorded", err_msg(&why));
		return 0;
	}
	if (err)
		return err_set(e, err, "%s", err_msg(&why));
	if (!w.ranges.n)
		return 0;
	k->within = malloc(sizeof(*k->within));
	if (!k->within) {
		within__done(&w);
		return err_set(e, -ENOMEM, "out of memory");
	}
	*k->within = w;
	k->within_list = t->n_within++;
	within__number(k->within, k->within_list);
	return 0;
}

static int attach_within(struct tracees *t, struct attachment *a, struct known_file *k, struct err *e)
{
	int err = k->within ? kernel__set_within(t->kernel, k->within_list, &k->within->ranges) : 0;

	if (err)
		return err_set(e, err, "--within: %s", strerror(-err));
	return k->within ? attachment__add_within(a, k->plan.object, &k->within->points, e) : 0;
}

int tracees__find_spots(struct tracees *t, struct known_file *k, struct err *e)
{
	if (!t->spots.n)
		return 0;
	return spots__find(&t->spots, k->plan.object, NULL, &k->extras[EXTRA_SPOTS].at, e) ?: look_within(t, k, e);
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

/* A file that the kernel refuses is no reason to end a trace that goes on. */
int tracees__attach_spots(struct tracees *t, struct attachment *a, struct known_file *k,
			  const struct tracee *p, struct err *e)
{
	_cleanup_err_ struct err why = {};
	int err = attachment__add_spots(a, k->plan.object, &k->extras[EXTRA_SPOTS].at, &why) ?:
			  attach_within(t, a, k, &why);

	if (err && (!t->begun || err == -ENOMEM || err == -ESRCH))
		return err_set(e, err, "%s", err_msg(&why));
	if (err)
		say("%s; calls of the named functions are not seen there", err_msg(&why));
	else
		tell(t, k, p);
	return 0;
}

/* ---- what is found nowhere */

/* The names that look like it, in what any tracee maps. */
static void name_closest(const struct tracees *t, const struct spot *s, char *buf, size_t len)
{
	struct closest c = {};
	size_t at = 0;

	for (size_t i = 0; i < t->files.n; i++)
		if (tracees__is_native(t->files.v[i]->plan.object))
			closest__look(&c, s, t->files.v[i]->plan.object);
	buf[0] = '\0';
	for (size_t i = 0; i < c.n && at < len; i++)
		at += snprintf(buf + at, len - at, "%s%s", i ? ", " : "", c.name[i]);
	closest__done(&c);
}

/* Is the file that was named mapped by anyone? */
static bool is_file_there(const struct tracees *t, const struct spot *s)
{
	for (size_t i = 0; i < t->files.n; i++)
		if (spot__may_be_in(s, t->files.v[i]->plan.object))
			return true;
	return false;
}

/* Each part of "ns::Cache::put" must be the name of something there. */
static bool may_be_inlined(struct object *obj, const struct spot *s)
{
	const char *name = s->part[s->n_parts - 1];
	size_t scope = (size_t)(strstr(name, s->hint) - name);
	_cleanup_free_ char *scopes = strndup(name, scope);
	char *save = NULL;

	if (!defined__may_be_inlined(obj, NULL, s->hint))
		return false;
	for (char *p = scopes ? strtok_r(scopes, ":", &save) : NULL; p; p = strtok_r(NULL, ":", &save))
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
	for (size_t i = 0; i < t->v.n; i++)
		if (tracee__life(t->v.v[i])->space.jit)
			return true;
	for (size_t i = 0; i < t->files.n; i++) {
		struct object *obj = t->files.v[i]->plan.object;

		if (spot__may_be_in(s, obj) && may_be_inlined(obj, s))
			return true;
	}
	return false;
}

static bool is_found(const struct tracees *t, const struct spot *s)
{
	return s->n_points || (s->kind == MT_SPOT_TAG && may_be_on_stacks(t, s));
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
			if (tracees__file_of(t, space->v[j].object, false, &k, NULL) == -ENOMEM)
				return err_set(e, -ENOMEM, "out of memory");
			err = tracees__find_extra(t, k, EXTRA_SPOTS, e);
		}
	}
	return err;
}

/* A tag is looked for in stacks, too: there it may be a function of Python, which is in no file and whose calls are not counted. */
static bool may_be_python(const struct tracees *t, const struct spot *s)
{
	return s->kind == MT_SPOT_TAG && tracees__may_run_python(t);
}

/* For whoever named one: it has no instruction that could be probed. */
#define NOT_OF_PYTHON "a function of Python is found by --tag and --filter; %s takes native ones"

int tracees__check_spots(struct tracees *t, struct err *e)
{
	int err = t->spots.n ? look_at_all(t, e) : 0;

	for (size_t i = 0; i < t->spots.n && !err; i++) {
		const struct spot *s = &t->spots.v[i];
		char near[512];

		if (is_found(t, s) || may_be_python(t, s))
			continue;
		if (!is_file_there(t, s)) {
			say("%s %s: no file %s is mapped yet: files that are loaded later are searched",
			    s->option, s->text, s->part[0]);
			continue;
		}
		err = err_set(e, -ENOENT, "%s %s: no such function in what the target maps", s->option, s->text);
		name_closest(t, s, near, sizeof(near));
		if (tracees__may_run_python(t))
			err_hint(e, NOT_OF_PYTHON "%s%s", s->option, *near ? ": there is " : "", near);
		else if (*near)
			err_hint(e, "there is %s", near);
		else
			err_hint(e,
				 "a function that was inlined everywhere, or a file without symbols, has no name to be found by");
	}
	return err;
}

void tracees__tell_spots(struct tracees *t)
{
	for (size_t i = 0; i < t->spots.n; i++) {
		const struct spot *s = &t->spots.v[i];
		char near[512];

		if (is_found(t, s) || may_be_python(t, s))
			continue;
		name_closest(t, s, near, sizeof(near));
		say("%s %s: no file that was mapped has such a function%s%s", s->option, s->text,
		    *near ? "; there is " : "", near);
		if (tracees__may_run_python(t))
			say(NOT_OF_PYTHON, s->option);
	}
}
