// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Tags and scopes of a session: calls of tags are counted where the functions begin. What
 * always holds: a snapshot has the calls of the same instant as its allocations;
 * a function without a beginning of its own, because it is inlined everywhere,
 * has calls that are not known.
 */
#include <string.h>

#include "trace/session_parts.h"
#include "util/log.h"

int session__ask_tags(struct session *s, struct err *e)
{
	int err = 0;

	for (size_t i = 0; i < s->opts->withins.n && !err; i++)
		err = spots__add(&s->tracees.spots, MT_SPOT_WITHIN_ENTER, "--within", s->opts->withins.v[i], e);
	for (size_t i = 0; i < s->opts->tags.n && !err; i++)
		if (strcmp(s->opts->tags.v[i], TAG_THREAD))
			err = spots__add(&s->tracees.spots, MT_SPOT_TAG, "--tag", s->opts->tags.v[i], e);
	return err;
}

/* Nothing could be recorded: not because nothing was allocated. */
static void report_uncalled(const struct session *s, const struct cut *cut)
{
	for (size_t i = 0; i < s->tracees.spots.n; i++) {
		const struct spot *spot = &s->tracees.spots.v[i];

		if (spot->kind == MT_SPOT_WITHIN_ENTER && spot->n_points && !cut->spot_hits[spot->number])
			say("--within %s: was not called during the trace; calls that began before the trace are not seen",
			    spot->text);
	}
}

void session__put_tags(const struct session *s, const struct cut *cut, struct snapshot *snap)
{
	const struct spots *spots = &s->tracees.spots;
	struct snap_tag *tags = snapshot__alloc(snap, spots->n + 1, sizeof(*tags));

	snap->tags = tags;
	snap->n_tags = 0;
	if (snap->ended)
		report_uncalled(s, cut);
	for (size_t i = 0; i < spots->n; i++) {
		const struct spot *spot = &spots->v[i];
		/* where probes come and go, allocations are estimated, calls are not */
		bool known = spot->n_points && !s->budget;

		if (spot->kind == MT_SPOT_TAG)
			tags[snap->n_tags++] = (struct snap_tag){ .name = snapshot__strdup(snap, spot->text),
								  .entered = known ? cut->spot_hits[spot->number] : UINT64_MAX };
	}
}
