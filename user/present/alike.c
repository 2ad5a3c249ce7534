// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns what is added to the names of sites that have the same attributed frame: the line, then the callers that differ.
 *
 * What always holds: the names depend on the sites alone, not on their order; where very many are alike, on what they hold as well,
 * because those that matter are named apart.
 */
#include "present/telling.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "present/frames.h"
#include "util/hash.h"
#include "util/util.h"

#define CALLERS_MAX 3

/* A stack with its inlined frames, in a row: they are looked at again and again. */
static void lay_out(const struct snapshot *s, struct alike_site *a)
{
	a->frames = xcalloc(site__n_frames(s, a->site) + 1, sizeof(*a->frames));
	for (uint32_t i = 0; i < a->site->n_stack; i++)
		for (uint32_t k = 0; k < place__n_frames(&s->places[a->site->stack[i]]); k++)
			a->frames[a->n_frames++] = place__frame(s, &s->places[a->site->stack[i]], k);
}

/* Counted from the attributed frame outwards: 1 is its caller. */
static struct frame frame_at(const struct alike_site *a, size_t depth)
{
	return a->at + depth < a->n_frames ? a->frames[a->at + depth] : (struct frame){};
}

/* The same function, or the same place where that has no name. */
static bool same_function(const struct frame *a, const struct frame *b)
{
	if (a->line && a->line == b->line)
		return true;
	if (!a->place || !b->place)
		return a->place == b->place;
	if (frame__function(a) && frame__function(b))
		return a->line->function == b->line->function || !strcmp(a->line->function, b->line->function);
	return !frame__function(a) && !frame__function(b) && a->place == b->place;
}

/* Adds what the format says to the name. */
static void append(struct alike_site *a, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void append(struct alike_site *a, const char *format, ...)
{
	_cleanup_free_ char *more = NULL;
	char *longer;
	va_list args;

	va_start(args, format);
	more = xvasprintf(format, args);
	va_end(args);
	longer = xasprintf("%s%s", a->name, more);
	free(a->name);
	a->name = longer;
}

/* ---- groups of sites that have the same name */

struct group {
	struct alike_site **v;
	size_t n;
};

/* All have a line, and not all the same. */
static bool lines_differ(const struct group *g)
{
	const struct line *first = g->v[0]->frame.line;
	bool differ = false;

	for (size_t i = 0; i < g->n; i++) {
		const struct line *l = g->v[i]->frame.line;

		if (!l || !l->file || !l->line)
			return false;
		differ |= l->line != first->line || strcmp(l->file, first->file);
	}
	return differ;
}

static void add_lines(const struct group *g)
{
	const char *first = g->v[0]->frame.line->file;
	bool other_file = false, other_name = false;

	for (size_t i = 1; i < g->n; i++) {
		const char *file = g->v[i]->frame.line->file;

		other_file |= strcmp(file, first);
		other_name |= strcmp(path_basename(file), path_basename(first));
	}
	for (size_t i = 0; i < g->n; i++) {
		const struct line *l = g->v[i]->frame.line;

		if (other_file)
			append(g->v[i], " at %s:%u", other_name ? path_basename(l->file) : path_tail(l->file), l->line);
		else
			append(g->v[i], ":%u", l->line);
	}
}

/* Do the callers there differ? own: and are all of them the program's, wherever stacks go as far? */
static bool callers_differ(const struct group *g, size_t depth, bool own)
{
	struct frame first = frame_at(g->v[0], depth);
	bool differ = false;

	for (size_t i = 0; i < g->n; i++) {
		struct frame f = frame_at(g->v[i], depth);

		if (own && f.place && frame__function(&f) && !frame__is_telling(&f))
			return false;
		differ |= !same_function(&first, &f);
	}
	return differ;
}

/* Beyond last, a caller of the program's own where there is one: a library in between says less. 0: none differs. */
static size_t find_caller(const struct group *g, size_t last)
{
	size_t n = 0;

	for (size_t i = 0; i < g->n; i++)
		n = MAX(n, g->v[i]->n_frames - MIN(g->v[i]->at, g->v[i]->n_frames));
	for (int own = 1; own >= 0; own--)
		for (size_t d = last + 1; d < n; d++)
			if (callers_differ(g, d, own))
				return d;
	return 0;
}

COMPARATOR(by_name, struct alike_site *const,
	   strcmp((*a)->name, (*b)->name) ?: ORDER(*a, *b))

/* Those that still have the same name get another caller; last: the one that was added before. */
static void add_callers(const struct group *all, size_t last, int n_callers)
{
	qsort(all->v, all->n, sizeof(*all->v), by_name);
	for (size_t i = 0, n; i < all->n; i += n) {
		struct group g = { all->v + i, 0 };
		size_t depth;

		for (n = 1; i + n < all->n && !strcmp(all->v[i]->name, all->v[i + n]->name); n++)
			;
		g.n = n;
		depth = n > 1 && n_callers < CALLERS_MAX ? find_caller(&g, last) : 0;
		if (!depth)
			continue;
		for (size_t k = 0; k < n; k++) {
			struct frame f = frame_at(g.v[k], depth);
			_cleanup_free_ char *name = f.place ? telling__name(&f) : NULL;

			/* its stack may end before */
			if (name)
				append(g.v[k], "%s < %s", depth > last + 1 ? " < …" : "", name);
		}
		add_callers(&g, depth, n_callers + 1);
	}
}

/* ---- who is alike */

/* What rows read: names that differ in what is not shown (parameters, a hash) are alike. */
uint64_t alike__key(const struct snap_site *site, const struct frame *telling)
{
	uint64_t h = hash__mix(hash__seed(), (uint64_t)site->process << 1 | site__is_arena(site));
	_cleanup_free_ char *name = frame__function(telling) ? telling__name(telling) : NULL;

	h = name ? hash__mix(h, hash__bytes(name, strlen(name))) : hash__mix(h, (uint64_t)(uintptr_t)telling->place);
	return h ? h : 1;
}

void alike__tell_apart(const struct snapshot *s, struct alike_site *v, size_t n)
{
	_cleanup_free_ struct alike_site **room = xcalloc(n + 1, sizeof(*room));
	struct group all = { room, n };

	for (size_t i = 0; i < n; i++) {
		room[i] = &v[i];
		v[i].name = v[i].site->n_stack ? telling__name(&v[i].frame) : xstrdup(site__no_stack(v[i].site));
		lay_out(s, &v[i]);
	}
	if (lines_differ(&all))
		add_lines(&all);
	add_callers(&all, 0, 0);
	for (size_t i = 0; i < n; i++) {
		free(v[i].frames);
		v[i].frames = NULL;
	}
}
