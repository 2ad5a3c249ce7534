// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Where the tracees load and unload libraries: probes that tell the programs in time. Each file is looked at once per
 * session, and probed once per tracee, or once where probes are everyone's. Without them code that takes the
 * place of other code is noticed when user space is told, some milliseconds later.
 */
#include <errno.h>
#include <string.h>

#include "probe/loader.h"
#include "tracee/tracee_parts.h"
#include "util/log.h"

static int look_at(struct known_plan *k, struct err *e)
{
	if (k->loader_looked || !tracees__is_native(k->plan.object))
		return 0;
	k->loader_looked = true;
	return loader__find(k->plan.object, &k->loader) ? err_set(e, -ENOMEM, "out of memory") : 0;
}

/* A file that the kernel refuses is no reason to end a trace. */
static int attach(struct attachment *a, const struct known_plan *k, struct err *e)
{
	_cleanup_err_ struct err why = {};
	int err = attachment__add_loader(a, k->plan.object, &k->loader, &why);

	if (err == -ENOMEM)
		return err_set(e, err, "%s", err_msg(&why));
	if (err)
		say_verbose("%s; libraries that take the place of others are noticed a little later", err_msg(&why));
	return 0;
}

int tracee__probe_loaders(struct tracees *t, struct tracee *p, struct err *e)
{
	const struct space *space = &tracee__life(p)->space;
	int err = 0;

	for (size_t i = 0; i < space->n && !err && p->attachment; i++) {
		struct object *obj = space->v[i].object, **slot;
		struct known_plan *k;

		if (!obj || object_list__has(&p->loaders, obj))
			continue;
		slot = vec_push(&p->loaders);
		if (!slot || tracees__plan_of(t, obj, false, &k, NULL) == -ENOMEM)
			return err_set(e, -ENOMEM, "out of memory");
		*slot = obj;
		err = look_at(k, e);
		if (!err && k->loader.n)
			err = attach(p->attachment, k, e);
	}
	return err;
}

/* One file under two names may be probed twice, which does no harm: that code may have been replaced is told twice. */
int tracees__probe_loader_of(struct tracees *t, struct known_plan *k, struct err *e)
{
	int err = look_at(k, e);

	if (err || !k->loader.n || k->loader_probed || k->refused)
		return err;
	k->loader_probed = true;
	return attach(t->everyone, k, e);
}
