// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Points besides those of allocation functions: where libraries are loaded, functions that the user
 * named, and where calls fail unseen. Owns the table of these kinds. Each file is searched once per
 * session; its points are probed once per tracee, or once where probes are shared.
 */
#include <errno.h>
#include <string.h>

#include "probe/loader.h"
#include "probe/refusals.h"
#include "tracee/tracee_parts.h"
#include "util/log.h"

static int find_loader(struct tracees *t, struct known_file *k, struct err *e)
{
	return loader__find(k->plan.object, &k->extras[EXTRA_LOADER].at) ? err_set(e, -ENOMEM, "out of memory") : 0;
}

static int find_refusals(struct tracees *t, struct known_file *k, struct err *e)
{
	return refusals__find(&k->plan, &t->funcs, &k->extras[EXTRA_REFUSALS].at) ? err_set(e, -ENOMEM, "out of memory") : 0;
}

static int attach_loader(struct tracees *t, struct attachment *a, struct known_file *k,
			 const struct tracee *p, struct err *e)
{
	_cleanup_err_ struct err why = {};
	int err = attachment__add_loader(a, k->plan.object, &k->extras[EXTRA_LOADER].at, &why);

	if (err == -ENOMEM)
		return err_set(e, err, "%s", err_msg(&why));
	/* a file that the kernel refuses is no reason to end a trace */
	if (err)
		say_verbose("%s; a library that is loaded at the address of another is noticed a little later",
			    err_msg(&why));
	return 0;
}

static int attach_refusals(struct tracees *t, struct attachment *a, struct known_file *k,
			   const struct tracee *p, struct err *e)
{
	_cleanup_err_ struct err why = {};
	int err = attachment__add_refusals(a, k->plan.object, &k->extras[EXTRA_REFUSALS].at, &why);

	if (err == -ENOMEM)
		return err_set(e, err, "%s", err_msg(&why));
	if (err)
		say("%s; calls that end with an exception are not counted as failed", err_msg(&why));
	return 0;
}

static const struct {
	int (*find)(struct tracees *t, struct known_file *k, struct err *e);
	int (*attach)(struct tracees *t, struct attachment *a, struct known_file *k, const struct tracee *p,
		      struct err *e);
	/*
	 * One file under two names may be probed twice otherwise. For loaders that does no harm:
	 * that code may have been replaced is reported twice.
	 */
	bool once_per_inode;
} kinds[N_EXTRAS] = {
	[EXTRA_LOADER] = { find_loader, attach_loader, false },
	[EXTRA_SPOTS] = { tracees__find_spots, tracees__attach_spots, true },
	[EXTRA_REFUSALS] = { find_refusals, attach_refusals, false },
};

static bool is_probed(const struct tracees *t, const struct tracee *p, const struct known_file *k, enum extra_kind kind)
{
	if (t->shared_probes)
		return k->extras[kind].state == EXTRA_PROBED || k->state == FILE_REFUSED;
	return object_list__has(&p->extras[kind], k->plan.object);
}

static int note_probed(struct tracees *t, struct tracee *p, struct known_file *k, enum extra_kind kind, struct err *e)
{
	struct object **slot;

	if (t->shared_probes) {
		k->extras[kind].state = EXTRA_PROBED;
		return 0;
	}
	slot = vec_push(&p->extras[kind]);
	if (!slot)
		return err_set(e, -ENOMEM, "out of memory");
	*slot = k->plan.object;
	return 0;
}

int tracees__find_extra(struct tracees *t, struct known_file *k, enum extra_kind kind, struct err *e)
{
	if (k->extras[kind].state != EXTRA_UNKNOWN || !tracees__is_native(k->plan.object))
		return 0;
	k->extras[kind].state = EXTRA_FOUND;
	return kinds[kind].find(t, k, e);
}

int tracees__probe_extra(struct tracees *t, struct tracee *p, struct known_file *k, enum extra_kind kind, struct err *e)
{
	struct attachment *a = tracees__probes_of(t, p);
	int err;

	if (!a || is_probed(t, p, k, kind))
		return 0;
	err = tracees__find_extra(t, k, kind, e);
	if (err || !k->extras[kind].at.n)
		return err;
	if (t->shared_probes && kinds[kind].once_per_inode) {
		tracees__unprobe_former(t, k->plan.object);
		if (tracees__covered_by(t, k, true))
			return 0;
	}
	return note_probed(t, p, k, kind, e) ?: kinds[kind].attach(t, a, k, p, e);
}

/*
 * A C++ library is no allocator: it is searched once something throws. Where calls are passed on
 * unseen it is the allocator's own file.
 */
static bool is_wanted(const struct known_file *k, enum extra_kind kind, bool throws)
{
	return kind != EXTRA_REFUSALS || throws || refusals__may_pass_on(&k->plan);
}

static bool may_throw(struct tracees *t, const struct space *space)
{
	for (size_t i = 0; i < space->n; i++) {
		const struct known_file *k = space->v[i].object ? tracees__known_file(t, space->v[i].object) : NULL;

		if (k && !space->v[i].gone && !space->v[i].object->changed && refusals__may_throw(&k->plan, &t->funcs))
			return true;
	}
	return false;
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
		if (tracees__file_of(t, space->v[i].object, false, &k, NULL) == -ENOMEM)
			return err_set(e, -ENOMEM, "out of memory");
		if (is_wanted(k, kind, throws))
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
