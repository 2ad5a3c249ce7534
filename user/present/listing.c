// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns which line of a source file is charged with what. What always holds: a line has what the stacks allocated that go
 * through it, so lines of one function need not add up to it: recursion goes through several.
 */
#include "present/listing.h"

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

/* Do two lines belong to one listing? */
static bool is_same(const struct line *a, const struct line *b)
{
	return same_text(a->function, b->function) && same_text(a->file, b->file) && same_text(a->dir, b->dir);
}

static void charge(struct work *w, uint32_t number, const struct counters *c)
{
	struct listed_line *to = NULL;
	uint32_t *seen;

	for (size_t i = 0; i < w->seen.n; i++)
		if (w->seen.v[i] == number)
			return;
	seen = vec_push(&w->seen);
	for (size_t i = 0; i < w->v.n && !to; i++)
		if (w->v.v[i].number == number)
			to = &w->v.v[i];
	if (!to) {
		to = vec_push(&w->v);
		*to = (struct listed_line){ .number = number, .calls = true };
	}
	*seen = number;
	counters__add(&to->c, c);
}

static void charge_site(struct work *w, struct listing *l, const struct snapshot *s, const struct snap_site *site)
{
	w->seen.n = 0;
	for (uint32_t i = 0; i < site->n_stack; i++) {
		const struct place *p = &s->places[site->stack[i]];

		for (size_t k = 0; k < p->n_lines; k++)
			if (p->lines[k].line && is_same(&p->lines[k], &l->of))
				charge(w, p->lines[k].line, &site->c);
	}
	if (w->seen.n)
		counters__add(&l->sum, &site->c);
}

COMPARATOR(by_number, struct listed_line, ORDER(a->number, b->number))

static void list(struct listing *l, const struct snapshot *s, const struct work *w, uint32_t around)
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
			if (slot)
				*slot = n == at->number ? *at : (struct listed_line){ .number = n };
			if (slot)
				slot->text = text;
		}
		last = to;
	}
	l->v = all.v;
	l->n = all.n;
}

void listing__init(struct listing *l, const struct snapshot *s, const struct line *of, uint32_t around,
		  bool (*takes)(void *arg, const struct snap_site *site), void *arg)
{
	struct work w = {};

	*l = (struct listing){ .of = *of };
	for (size_t i = 0; i < s->n_sites; i++)
		if (!takes || takes(arg, &s->sites[i]))
			charge_site(&w, l, s, &s->sites[i]);
	if (w.v.n)
		qsort(w.v.v, w.v.n, sizeof(*w.v.v), by_number);
	list(l, s, &w, around);
	for (size_t i = 0; i < s->n_sources; i++)
		if (snap_source__is_of(&s->sources[i], of)) {
			l->newer |= s->sources[i].newer;
			l->why = s->sources[i].why ? s->sources[i].why : l->why;
		}
	vec_done(&w.v);
	vec_done(&w.seen);
}

void listing__done(struct listing *l)
{
	free(l->v);
	*l = (struct listing){};
}
