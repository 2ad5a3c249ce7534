// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns how rows of two profiles are matched. What always holds: each site is in
 * one row, so the rows of a column add up to that profile; the order is the
 * same for the same two files.
 */
#include "model/diff.h"

#include <errno.h>
#include <string.h>

#include "util/ids.h"

struct matcher {
	struct string_ids strings;
	struct key_ids frames;	/* (module, name or offset, which of them) */
	struct key_ids stacks;	/* (number + 1 of the stack without its last frame, that frame) */
	struct key_ids rows;	/* the number of a whole stack */
	bool by_comm;
};

static int add_frame(struct matcher *m, const struct frame *f, uint32_t *chain)
{
	bool named = f->line && f->line->function && *f->line->function;
	uint32_t module, name = 0, frame;
	int err = string_ids__get(&m->strings, f->module ? path_basename(f->module) : "", &module);

	if (!err && named)
		err = string_ids__get(&m->strings, f->line->function, &name);
	if (!err)
		err = key_ids__get(&m->frames, (struct key){ module, named ? name : f->place->offset, named }, &frame, NULL);
	if (!err)
		err = key_ids__get(&m->stacks, (struct key){ .a = *chain, .b = frame }, chain, NULL);
	(*chain)++;
	return err;
}

static int row_of(struct matcher *m, const struct snapshot *s, const struct snap_site *site, uint32_t *ret, bool *ret_new)
{
	uint32_t chain = 0, comm = 0;
	int err = m->by_comm ? string_ids__get(&m->strings, s->processes[site->process].comm, &comm) : 0;

	for (uint32_t i = 0; i < site->n_stack && !err; i++) {
		const struct place *p = &s->places[site->stack[i]];

		for (size_t k = 0; k < place__n_frames(p) && !err; k++) {
			struct frame f = place__frame(s, p, k);

			err = add_frame(m, &f, &chain);
		}
	}
	return err ? err : key_ids__get(&m->rows, (struct key){ chain, comm, site->growth }, ret, ret_new);
}

static int add(struct diff *d, struct matcher *m, const struct snapshot *s, bool after)
{
	for (size_t i = 0; i < s->n_sites; i++) {
		uint64_t weight = d->metric->of(&s->sites[i]);
		struct diff_row *row;
		uint32_t id;
		bool is_new;

		if (!weight)
			continue;
		if (row_of(m, s, &s->sites[i], &id, &is_new) || (is_new && !vec_push(&d->rows)))
			return -ENOMEM;
		row = &d->rows.v[id];
		*(after ? &row->after : &row->before) += weight;
		*(after ? &d->after : &d->before) += weight;
		if (row->s != s) {
			row->s = s;
			row->site = &s->sites[i];
		}
	}
	return 0;
}

static uint64_t size_of_change(const struct diff_row *r)
{
	return r->after > r->before ? r->after - r->before : r->before - r->after;
}

static int larger_first(const void *pa, const void *pb)
{
	const struct diff_row *a = pa, *b = pb;
	uint64_t ca = size_of_change(a), cb = size_of_change(b);

	if (ca != cb)
		return ca < cb ? 1 : -1;
	if (a->after != b->after)
		return a->after < b->after ? 1 : -1;
	/* the sites' places in their files decide, which are the same next time */
	return a->site < b->site ? -1 : a->site > b->site;
}

static bool several_comms(const struct snapshot *s)
{
	for (size_t i = 1; i < s->n_processes; i++)
		if (strcmp(s->processes[i].comm, s->processes[0].comm))
			return true;
	return false;
}

int diff__init(struct diff *d, const struct snapshot *before, const struct snapshot *after, const struct metric *metric)
{
	struct matcher m = { .by_comm = several_comms(before) || several_comms(after) };
	int err;

	*d = (struct diff){ .metric = metric };
	err = add(d, &m, before, false);
	if (!err)
		err = add(d, &m, after, true);
	string_ids__done(&m.strings);
	key_ids__done(&m.frames);
	key_ids__done(&m.stacks);
	key_ids__done(&m.rows);
	if (err) {
		diff__done(d);
		return err;
	}
	if (d->rows.n)
		qsort(d->rows.v, d->rows.n, sizeof(*d->rows.v), larger_first);
	for (size_t i = 0; i < d->rows.n; i++)
		d->n_of_kind[diff_row__kind(&d->rows.v[i])]++;
	return 0;
}

void diff__done(struct diff *d)
{
	vec_done(&d->rows);
}

enum diff_kind diff_row__kind(const struct diff_row *r)
{
	if (!r->before)
		return DIFF_NEW;
	if (!r->after)
		return DIFF_GONE;
	return r->after > r->before ? DIFF_GREW : r->after < r->before ? DIFF_SHRANK : DIFF_SAME;
}

const char *diff_kind__name(enum diff_kind kind)
{
	static const char *const names[N_DIFF_KINDS] = { "grew", "shrank", "new", "gone", "same" };

	return names[kind];
}
