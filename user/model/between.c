// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns what changed between two moments. What always holds: a figure is one that
 * was counted, at the sample that was nearest to its moment (off_ns says how far
 * off); nothing is interpolated. A site that had not allocated yet held nothing, one
 * that never freed and does not allocate any more what it holds now; another
 * that was not sampled within half the time between the two moments is
 * counted as unknown: what was seen could be of the other one.
 */
#include "model/between.h"

#include <stdlib.h>

#include "util/util.h"

static uint64_t distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

/* The point that is nearest to t_ns; NULL: none. */
static const struct snap_point *nearest(const struct snap_point *v, size_t n, uint64_t t_ns)
{
	const struct snap_point *found = NULL;

	for (size_t i = 0; i < n; i++)
		if (!found || distance(v[i].t_ns, t_ns) < distance(found->t_ns, t_ns))
			found = &v[i];
	return found;
}

/* max_ns: a point that is farther off says nothing about the moment */
static bool site_at(const struct snapshot *s, const struct snap_site *site, uint64_t t_ns, uint64_t max_ns,
		    uint64_t *ret, uint64_t *off_ns)
{
	const struct snap_point *p = nearest(site->history, site->n_history, t_ns);

	if (t_ns >= s->duration_ns) {
		*ret = site->c.live_bytes;
		return true;
	}
	if (!site->c.alloc_calls || site->first_ns > t_ns) {
		*ret = 0;
		return true;
	}
	/* nothing was freed ever, and nothing was added since: no sample is needed to know */
	if (!site->c.free_calls && site->last_ns <= t_ns) {
		*ret = site->c.live_bytes;
		return true;
	}
	if (!p || distance(p->t_ns, t_ns) > max_ns)
		return false;
	*ret = p->live_bytes;
	*off_ns = MAX(*off_ns, distance(p->t_ns, t_ns));
	return true;
}

static uint64_t process_at(const struct snapshot *s, const struct snap_process *p, uint64_t t_ns, uint64_t max_ns)
{
	const struct snap_point *at = nearest(p->timeline, p->n_timeline, t_ns);

	if (t_ns >= s->duration_ns)
		return p->c.live_bytes;
	/* of one that came later; those that have ended keep what they had */
	return at && (at->t_ns <= t_ns || at->t_ns - t_ns <= max_ns) ? at->live_bytes : 0;
}

COMPARATOR(by_size, struct change,
	   ORDER(distance(b->after, b->before), distance(a->after, a->before)) ?:
	   ORDER(b->site->c.alloc_bytes, a->site->c.alloc_bytes) ?:
	   ORDER(a->site, b->site))

void changes__init(struct changes *c, const struct snapshot *s, uint64_t from_ns, uint64_t to_ns)
{
	uint64_t max_ns = (to_ns - from_ns) / 2;

	*c = (struct changes){ .v = xcalloc(s->n_sites + 1, sizeof(*c->v)) };
	for (size_t i = 0; i < s->n_sites; i++) {
		struct change *v = &c->v[c->n];
		uint64_t off_ns = 0;

		v->site = &s->sites[i];
		if (!site_at(s, v->site, from_ns, max_ns, &v->before, &off_ns) ||
		    !site_at(s, v->site, to_ns, max_ns, &v->after, &off_ns)) {
			c->n_unknown++;
			continue;
		}
		if (v->before == v->after)
			continue;
		c->off_ns = MAX(c->off_ns, off_ns);
		c->n++;
	}
	for (size_t i = 0; i < s->n_processes; i++) {
		c->before += process_at(s, &s->processes[i], from_ns, max_ns);
		c->after += process_at(s, &s->processes[i], to_ns, max_ns);
	}
	qsort(c->v, c->n, sizeof(*c->v), by_size);
}

void changes__done(struct changes *c)
{
	free(c->v);
	*c = (struct changes){};
}
