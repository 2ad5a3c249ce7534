// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns nothing: what becomes of a file that is probed and was written to (space/writes.h). Its
 * probes are out already, or go now.
 */
#include "tracee/tracee_parts.h"
#include "util/log.h"

static bool has_mapped(const struct tracee *p, const struct object *obj)
{
	const struct space *space = &tracee__life(p)->space;

	for (size_t i = 0; i < space->n && !p->ended; i++)
		if (space->v[i].object == obj && !space->v[i].gone)
			return true;
	return false;
}

static void drop(struct object **v, size_t *n, const struct object *obj)
{
	size_t kept = 0;

	for (size_t i = 0; i < *n; i++)
		if (v[i] != obj)
			v[kept++] = v[i];
	*n = kept;
}

/*
 * The same version as before, as its build id says: it is read, and probed, once more when the
 * tracee maps something.
 */
static void read_again(struct tracee *p, const struct object *obj)
{
	drop(p->examined.v, &p->examined.n, obj);
	for (size_t i = 0; i < N_EXTRAS; i++)
		drop(p->extras[i].v, &p->extras[i].n, obj);
}

void tracees__on_written(struct tracees *t, const struct object *obj)
{
	struct known_file *k = tracees__known_file(t, obj);
	size_t n = 0;

	if (t->shared_probes)
		attachment__remove(t->shared_probes, obj, true);
	for (size_t i = 0; i < t->v.n; i++) {
		struct tracee *p = t->v.v[i];

		if (p->attachment)
			attachment__remove(p->attachment, obj, true);
		if (!obj->changed)
			read_again(p, obj);
		if (k && has_mapped(p, obj))
			tracee__doubt_python(t, p, k);
		if (!k || !known_file__is_probed(k) || !has_mapped(p, obj))
			continue;
		p->n_written_over += k->plan.n_points;
		n++;
	}
	if (k) {
		known_file__forget_probes(k);
		/*
		 * the new version is another object; a process that has this one mapped must not be
		 * probed by it once more
		 */
		if (obj->changed)
			k->state = FILE_REFUSED;
	}
	if (n)
		say("%s was written to: its probes were removed at once, because in the new code they would crash processes; what %zu process%s that ha%s the old code do%s there is not seen any more",
		    obj->path, n, n == 1 ? "" : "es", n == 1 ? "s" : "ve", n == 1 ? "es" : "");
	else
		say("%s was written to: its old probes are removed until a process maps it again", obj->path);
}
