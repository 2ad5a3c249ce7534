// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the positions. What always holds: each range of the space is in one of two lists; of those that live no two overlap, so
 * that one search finds where they begin, however many there are.
 */
#include "space/space_index.h"

#include <errno.h>
#include <string.h>

#include "space/space.h"
#include "util/sorted.h"

static int make_room(struct space_positions *p, size_t n)
{
	uint32_t *v;
	size_t room;

	if (n <= p->room)
		return 0;
	room = MAX(n, 2 * p->room);
	v = reallocarray(p->v, room, sizeof(*v));
	if (!v)
		return -ENOMEM;
	p->v = v;
	p->room = room;
	return 0;
}

int space_index__reserve(struct space *s)
{
	struct space_index *x = &s->index;

	return make_room(&x->alive, s->n + 1) ?: make_room(&x->dead, s->n + 1) ?: make_room(&x->near, s->n + 1);
}

static void insert(struct space_positions *p, size_t i, size_t at)
{
	memmove(p->v + i + 1, p->v + i, (p->n - i) * sizeof(*p->v));
	p->v[i] = at;
	p->n++;
}

void space_index__add(struct space *s, size_t at)
{
	struct space_index *x = &s->index;
	const struct space_range *r = &s->v[at];

	if (r->died_ns)
		insert(&x->dead, sorted__count(p, x->dead.v, x->dead.n, *p < at), at);
	else
		insert(&x->alive, sorted__count(p, x->alive.v, x->alive.n, s->v[*p].start < r->start), at);
}

void space_index__end(struct space *s, size_t at)
{
	struct space_positions *alive = &s->index.alive;
	size_t i = sorted__count(p, alive->v, alive->n, s->v[*p].start < s->v[at].start);

	alive->n--;
	memmove(alive->v + i, alive->v + i + 1, (alive->n - i) * sizeof(*alive->v));
	space_index__add(s, at);
}

static int by_start(const void *pa, const void *pb, void *arg)
{
	const struct space *s = arg;
	const struct space_range *a = &s->v[*(const uint32_t *)pa], *b = &s->v[*(const uint32_t *)pb];

	return a->start < b->start ? -1 : a->start > b->start;
}

void space_index__renew(struct space *s)
{
	struct space_index *x = &s->index;

	x->alive.n = x->dead.n = 0;
	for (size_t i = 0; i < s->n; i++) {
		struct space_positions *p = s->v[i].died_ns ? &x->dead : &x->alive;

		p->v[p->n++] = i;
	}
	if (x->alive.n)
		qsort_r(x->alive.v, x->alive.n, sizeof(*x->alive.v), by_start, s);
}

size_t space_index__first(const struct space *s, uint64_t addr)
{
	return sorted__count(p, s->index.alive.v, s->index.alive.n, s->v[*p].end <= addr);
}

const struct space_range *space_index__at(const struct space *s, uint64_t addr)
{
	size_t i = space_index__first(s, addr);
	const struct space_range *r = i < s->index.alive.n ? &s->v[s->index.alive.v[i]] : NULL;

	return r && r->start <= addr ? r : NULL;
}

void space_index__find(struct space *s, uint64_t start, uint64_t end, bool alive_only)
{
	struct space_index *x = &s->index;
	size_t i = space_index__first(s, start);

	x->near.n = 0;
	for (; i < x->alive.n && s->v[x->alive.v[i]].start < end; i++)
		x->near.v[x->near.n++] = x->alive.v[i];
	for (i = 0; i < x->dead.n && !alive_only; i++)
		if (s->v[x->dead.v[i]].start < end && start < s->v[x->dead.v[i]].end)
			x->near.v[x->near.n++] = x->dead.v[i];
}

void space_index__done(struct space *s)
{
	vec_done(&s->index.alive);
	vec_done(&s->index.dead);
	vec_done(&s->index.near);
}
