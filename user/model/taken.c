// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the list of the snapshots that were taken. What always holds: it is in the
 * order of their time, and no longer than SNAPSHOT_MAX_TAKEN.
 */
#include "model/taken.h"

#include <string.h>

void taken__add(struct taken *t, uint64_t t_ns, uint32_t number, const char *why)
{
	char *words = why ? xstrdup(why) : NULL;
	struct snap_taken *slot;

	if (t->v.n < SNAPSHOT_MAX_TAKEN) {
		slot = vec_push(&t->v);
	} else {
		slot = &t->v.v[t->first];
		free((char *)slot->why);
		t->first = (t->first + 1) % SNAPSHOT_MAX_TAKEN;
	}
	*slot = (struct snap_taken){ .t_ns = t_ns, .number = number, .why = words };
}

void taken__done(struct taken *t)
{
	for (size_t i = 0; i < t->v.n; i++)
		free((char *)t->v.v[i].why);
	vec_done(&t->v);
	t->first = 0;
}

void taken__list(const struct taken *t, struct snapshot *s)
{
	struct snap_taken *rows = snapshot__alloc(s, t->v.n + 1, sizeof(*rows));

	for (size_t i = 0; i < t->v.n; i++) {
		rows[i] = t->v.v[(t->first + i) % t->v.n];
		rows[i].why = snapshot__strdup(s, rows[i].why);
		/* --stop-on: one that was taken before the end was known shows the end */
		if (s->ended)
			rows[i].t_ns = MIN(rows[i].t_ns, s->duration_ns);
	}
	s->taken = rows;
	s->n_taken = t->v.n;
}
