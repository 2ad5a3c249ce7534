// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns which line of a source file is charged with what. What always holds: a line has what the stacks allocated that go
 * through it, so lines of one function need not add up to it: recursion goes through several.
 */
#include "present/listing.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/merge.h"
#include "util/util.h"

struct work {
	struct vec(struct listed_line) v;	/* with calls; in no order */
	struct vec(uint32_t) seen;	/* lines of the stack at hand */
};

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

bool listing__same(const struct line *a, const struct line *b)
{
	return same_text(a->function, b->function) && same_text(a->file, b->file) && same_text(a->dir, b->dir);
}

static int charge(struct work *w, uint32_t number, const struct counters *c)
{
	struct listed_line *to = NULL;
	uint32_t *seen;

	for (size_t i = 0; i < w->seen.n; i++)
		if (w->seen.v[i] == number)
			return 0;
	seen = vec_push(&w->seen);
	for (size_t i = 0; i < w->v.n && !to; i++)
		if (w->v.v[i].number == number)
			to = &w->v.v[i];
	if (!to) {
		to = vec_push(&w->v);
		if (to)
			*to = (struct listed_line){ .number = number, .calls = true };
	}
	if (!to || !seen)
		return -ENOMEM;
	*seen = number;
	counters__add(&to->c, c);
	return 0;
}

static int charge_site(struct work *w, struct listing *l, const struct snapshot *s, const struct snap_site *site)
{
	int err = 0;

	w->seen.n = 0;
	for (uint32_t i = 0; i < site->n_stack; i++) {
		const struct place *p = &s->places[site->stack[i]];

		for (size_t k = 0; k < p->n_lines && !err; k++)
			if (p->lines[k].line && listing__same(&p->lines[k], &l->of))
				err = charge(w, p->lines[k].line, &site->c);
	}
	if (w->seen.n)
		counters__add(&l->sum, &site->c);
	return err;
}

static int by_number(const void *a, const void *b)
{
	const struct listed_line *la = a, *lb = b;

	return la->number < lb->number ? -1 : la->number > lb->number;
}

static int list(struct listing *l, const struct snapshot *s, const struct work *w, uint32_t around)
{
	struct vec(struct listed_line) all = {};
	uint32_t last = 0;

	for (size_t i = 0; i < w->v.n; i++) {
		const struct listed_line *at = &w->v.v[i];
		uint32_t next = i + 1 < w->v.n ? w->v.v[i + 1].number : UINT32_MAX;
		uint32_t from = at->number > around ? at->number - around : 1, to = (uint32_t)MIN((uint64_t)at->number + around, next - 1);

		for (uint32_t n = MAX(from, last + 1); n <= to; n++) {
			const char *text = snapshot__source_line(s, &l->of, n);
			struct listed_line *slot = text || n == at->number ? vec_push(&all) : NULL;

			l->has_text |= text != NULL;
			if (!slot && (text || n == at->number)) {
				vec_done(&all);
				return -ENOMEM;
			}
			if (slot)
				*slot = n == at->number ? *at : (struct listed_line){ .number = n };
			if (slot)
				slot->text = text;
		}
		last = to;
	}
	l->v = all.v;
	l->n = all.n;
	return 0;
}

int listing__init(struct listing *l, const struct snapshot *s, const struct line *of, uint32_t around,
		  bool (*takes)(void *arg, const struct snap_site *site), void *arg)
{
	struct work w = {};
	int err = 0;

	*l = (struct listing){ .of = *of };
	for (size_t i = 0; i < s->n_sites && !err; i++)
		if (!takes || takes(arg, &s->sites[i]))
			err = charge_site(&w, l, s, &s->sites[i]);
	if (w.v.n)
		qsort(w.v.v, w.v.n, sizeof(*w.v.v), by_number);
	if (!err)
		err = list(l, s, &w, around);
	for (size_t i = 0; i < s->n_sources; i++)
		if (snap_source__is_of(&s->sources[i], of)) {
			l->newer |= s->sources[i].newer;
			l->why = s->sources[i].why ? s->sources[i].why : l->why;
		}
	vec_done(&w.v);
	vec_done(&w.seen);
	return err;
}

void listing__done(struct listing *l)
{
	free(l->v);
	*l = (struct listing){};
}
