// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Where the tracees' allocators refuse what was asked for, and neither the entry nor the return of a call tells. Looked for
 * where a function may do so alone; a C++ library, which is no allocator, once there is one whose functions throw.
 */
#include <errno.h>

#include "probe/refusals.h"
#include "tracee/tracee_parts.h"
#include "util/log.h"

static int look_at(struct tracees *t, struct known_plan *k, bool throws, struct err *e)
{
	if (k->refusals_looked || !tracees__is_native(k->plan.object) || (!throws && !refusals__may_pass_on(&k->plan)))
		return 0;
	k->refusals_looked = true;
	return refusals__find(&k->plan, &t->funcs, &k->refusals) ? err_set(e, -ENOMEM, "out of memory") : 0;
}

/* A file that the kernel refuses is no reason to end a trace. */
static int attach(struct attachment *a, const struct known_plan *k, struct err *e)
{
	_cleanup_err_ struct err why = {};
	int err = attachment__add_refusals(a, k->plan.object, &k->refusals, &why);

	if (err == -ENOMEM)
		return err_set(e, err, "%s", err_msg(&why));
	if (err)
		say("%s; calls that leave by an exception are not told as failed", err_msg(&why));
	return 0;
}

/* For one tracee, or for everyone. */
static int probe(struct tracees *t, struct tracee *p, struct known_plan *k, bool throws, struct err *e)
{
	struct object **slot;
	int err;

	if (p->attachment ? object_list__has(&p->refusers, k->plan.object) : k->refusals_probed || k->refused)
		return 0;
	err = look_at(t, k, throws, e);
	if (err || !k->refusals.n)
		return err;
	if (!p->attachment) {
		k->refusals_probed = true;
		return attach(t->everyone, k, e);
	}
	slot = vec_push(&p->refusers);
	if (!slot)
		return err_set(e, -ENOMEM, "out of memory");
	*slot = k->plan.object;
	return attach(p->attachment, k, e);
}

int tracee__probe_refusals(struct tracees *t, struct tracee *p, struct err *e)
{
	const struct space *space = &tracee__life(p)->space;
	bool throws = false;
	int err = 0;

	if (t->want.mode == MT_MODE_GROWTH || (!p->attachment && !t->everyone))
		return 0;
	/* first whether anything throws, then where */
	for (int turn = 0; turn < 2; turn++)
		for (size_t i = 0; i < space->n && !err; i++) {
			struct known_plan *k;

			/* what was written over or unmapped is probed no more */
			if (!space->v[i].object || space->v[i].gone || space->v[i].object->changed)
				continue;
			if (tracees__plan_of(t, space->v[i].object, false, &k, NULL) == -ENOMEM)
				return err_set(e, -ENOMEM, "out of memory");
			if (!turn)
				throws |= refusals__may_throw(&k->plan, &t->funcs);
			else
				err = probe(t, p, k, throws, e);
		}
	return err;
}
