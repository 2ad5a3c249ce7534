// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns how rows of two profiles are matched. What always holds: two sites have
 * the same number if all frames have the same module's file name and function,
 * whatever their addresses, lines and paths are. Files of scripts are told apart by their folders, too: many are called alike.
 */
#include "model/match.h"

#include <string.h>

#include "util/util.h"

static void add_frame(struct matcher *m, const struct frame *f, uint32_t *chain)
{
	bool named = f->line && f->line->function && *f->line->function;
	uint32_t module, name = 0, frame;
	const char *origin = frame__origin(f);

	string_ids__get(&m->strings, !origin ? "" : origin == f->module ? path_basename(origin) : path_tail(origin), &module);
	if (named)
		string_ids__get(&m->strings, f->line->function, &name);
	key_ids__get(&m->frames, (struct key){ module, named ? name : f->place->offset, named },
		     &frame, NULL);
	key_ids__get(&m->stacks, (struct key){ .a = *chain, .b = frame }, chain, NULL);
	(*chain)++;
}

void matcher__row(struct matcher *m, const struct snapshot *s, const struct snap_site *site, uint32_t *ret,
		 bool *ret_new)
{
	uint32_t chain = 0, comm = 0;

	if (m->by_comm)
		string_ids__get(&m->strings, s->processes[site->process].comm, &comm);
	for (uint32_t i = 0; i < site->n_stack; i++) {
		const struct place *p = &s->places[site->stack[i]];

		for (size_t k = 0; k < place__n_frames(p); k++) {
			struct frame f = place__frame(s, p, k);

			add_frame(m, &f, &chain);
		}
	}
	key_ids__get(&m->rows, (struct key){ chain, comm, site->growth }, ret, ret_new);
}

static bool several_comms(const struct snapshot *s)
{
	for (size_t i = 1; i < s->n_processes; i++)
		if (strcmp(s->processes[i].comm, s->processes[0].comm))
			return true;
	return false;
}

void matcher__init(struct matcher *m, const struct snapshot *before, const struct snapshot *after)
{
	*m = (struct matcher){ .by_comm = several_comms(before) || several_comms(after) };
}

void matcher__done(struct matcher *m)
{
	string_ids__done(&m->strings);
	key_ids__done(&m->frames);
	key_ids__done(&m->stacks);
	key_ids__done(&m->rows);
}
