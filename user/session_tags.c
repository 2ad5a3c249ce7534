// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Tags of a session: their calls are counted where the functions begin. What
 * always holds: a snapshot has the calls of the same instant as its allocations;
 * a function without a beginning of its own, because it is inlined everywhere,
 * has calls that are not known.
 */
#include <string.h>

#include "session_parts.h"

int session__ask_tags(struct session *s, struct err *e)
{
	int err = 0;

	for (size_t i = 0; i < s->opts->tags.n && !err; i++)
		if (strcmp(s->opts->tags.v[i], TAG_THREAD))
			err = spots__add(&s->tracees.spots, MT_SPOT_TAG, "--tag", s->opts->tags.v[i], e);
	return err;
}

void session__put_tags(const struct session *s, const struct cut *cut, struct snapshot *snap)
{
	const struct spots *spots = &s->tracees.spots;
	struct snap_tag *tags = snapshot__alloc(snap, spots->n + 1, sizeof(*tags));

	snap->tags = tags;
	snap->n_tags = 0;
	for (size_t i = 0; i < spots->n; i++) {
		const struct spot *spot = &spots->v[i];
		/* where probes come and go, allocations are estimated, calls are not */
		bool known = spot->n_points && !s->budget;

		if (spot->kind == MT_SPOT_TAG)
			tags[snap->n_tags++] = (struct snap_tag){ .name = snapshot__strdup(snap, spot->text),
								  .entered = known ? cut->spot_hits[spot->number] : UINT64_MAX };
	}
}
