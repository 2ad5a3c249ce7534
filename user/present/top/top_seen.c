// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns what is kept of a snapshot that is gone: a few figures of each row, found
 * by the row's id. What always holds: a table keeps its memory when it is
 * cleared, so that an hour of updates allocates no more than a minute does.
 */
#include <errno.h>
#include <string.h>

#include "present/top/top_parts.h"

#define ROOM_MIN 256

void seen__done(struct seen_table *t)
{
	free(t->v);
	*t = (struct seen_table){};
}

void seen__clear(struct seen_table *t)
{
	if (t->v)
		memset(t->v, 0, t->room * sizeof(*t->v));
	t->n = 0;
	t->t_ns = 0;
	t->holds = false;
	t->all = (struct seen){};
}

static struct seen *slot(struct seen *v, size_t room, uint64_t id)
{
	size_t at = id & (room - 1);

	while (v[at].id && v[at].id != id)
		at = (at + 1) & (room - 1);
	return &v[at];
}

static int grow(struct seen_table *t)
{
	size_t room = t->room ? t->room * 2 : ROOM_MIN;
	struct seen *v = calloc(room, sizeof(*v));

	if (!v)
		return -ENOMEM;
	for (size_t i = 0; i < t->room; i++)
		if (t->v[i].id)
			*slot(v, room, t->v[i].id) = t->v[i];
	free(t->v);
	t->v = v;
	t->room = room;
	return 0;
}

int seen__add(struct seen_table *t, const struct seen *s)
{
	struct seen *to;

	if (t->n * 4 >= t->room * 3 && grow(t))
		return -ENOMEM;
	to = slot(t->v, t->room, s->id);
	t->n += !to->id;
	*to = *s;
	return 0;
}

const struct seen *seen__find(const struct seen_table *t, uint64_t id)
{
	const struct seen *s;

	if (!t->room)
		return NULL;
	s = slot(t->v, t->room, id);
	return s->id ? s : NULL;
}
