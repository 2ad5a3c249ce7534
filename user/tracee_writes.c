// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns nothing: what becomes of a file that is probed and was written to (target/writes.h). Its probes are out already, or go now. */
#include "tracee_parts.h"
#include "util/log.h"

static bool has_mapped(const struct tracee *p, const struct object *obj)
{
	const struct space *space = &tracee__life(p)->space;

	for (size_t i = 0; i < space->n && !p->ended; i++)
		if (space->v[i].object == obj && !space->v[i].gone)
			return true;
	return false;
}

static struct known_plan *plan_of(const struct tracees *t, const struct object *obj)
{
	for (size_t i = 0; i < t->plans.n; i++)
		if (t->plans.v[i]->plan.object == obj)
			return t->plans.v[i];
	return NULL;
}

void tracees__on_written(struct tracees *t, const struct object *obj)
{
	struct known_plan *k = plan_of(t, obj);
	size_t n = 0;

	if (t->everyone)
		attachment__remove(t->everyone, obj, true);
	for (size_t i = 0; i < t->v.n; i++) {
		struct tracee *p = t->v.v[i];

		if (p->attachment)
			attachment__remove(p->attachment, obj, true);
		if (!k || !k->probed || !has_mapped(p, obj))
			continue;
		p->n_unprobed += k->plan.n_points;
		n++;
	}
	if (k)
		k->probed = k->spots_probed = k->loader_probed = k->refusals_probed = false;	/* until somebody maps it again */
	if (n)
		say("%s was written to: its probes were taken out at once, or the new code would end who maps it; what %zu process%s that ha%s the old code do%s there is not seen any more",
		    obj->path, n, n == 1 ? "" : "es", n == 1 ? "s" : "ve", n == 1 ? "es" : "");
	else
		say("%s was written to: its old probes are taken out, until somebody maps it again", obj->path);
}
