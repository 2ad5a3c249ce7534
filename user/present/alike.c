// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns what tells sites apart that have the same telling frame. A group of such sites is split by one way after the
 * other (the table `ways`), until each stands alone or nothing more is known.
 *
 * What always holds: the names depend on the sites alone, not on their order; where very many are alike, on what they hold, too, because
 * those that matter are told apart.
 */
#include "present/alike.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/runtimes.h"
#include "present/frames.h"
#include "util/own_name.h"
#include "present/telling.h"
#include "util/funcname.h"
#include "util/hash.h"
#include "util/util.h"

#define CALLERS_MAX 3	/* by their functions */
#define CALLS_MAX 4	/* by lines or addresses, which the same function makes */

/* A name in its parts, from which it is put together in the order of the stack, whatever was found first. */
struct alike_words {
	char *head, *tail;	/* owned; the telling frame's, and what is no frame's */
	struct {
		size_t depth;	/* of the caller */
		char *text;	/* owned */
	} callers[CALLERS_MAX + CALLS_MAX];	/* the innermost first */
	size_t n_callers;
};

struct group {
	const struct snapshot *s;
	struct alike_site **v;
	size_t n;
	unsigned int callers, calls;	/* so many were added */
	size_t way;		/* of `ways`: the one to try next */
};

/* ---- frames, counted from the telling one: 1 is its caller, -1 what it calls */

/* A stack with its inlined frames, in a row: they are looked at again and again. */
struct alike_frame {
	uint32_t place, inlined;
};

static bool lay_out(const struct snapshot *s, struct alike_site *a)
{
	size_t n = site__n_frames(s, a->site);

	a->frames = calloc(n + 1, sizeof(*a->frames));
	for (uint32_t i = 0; a->frames && i < a->site->n_stack; i++)
		for (uint32_t k = 0; k < place__n_frames(&s->places[a->site->stack[i]]); k++)
			a->frames[a->n_frames++] = (struct alike_frame){ a->site->stack[i], k };
	return a->frames;
}

static struct frame frame_at(const struct snapshot *s, const struct alike_site *a, ptrdiff_t d)
{
	ptrdiff_t at = (ptrdiff_t)a->at + d;

	if (at < 0 || (size_t)at >= a->n_frames)
		return (struct frame){};
	return place__frame(s, &s->places[a->frames[at].place], a->frames[at].inlined);
}

static bool has_name(const struct frame *f)
{
	return f->line && f->line->function && *f->line->function;
}

/* The same function, or the same place where that has no name. */
static bool same_function(const struct frame *a, const struct frame *b)
{
	if (a->line && a->line == b->line)
		return true;
	if (!a->place || !b->place)
		return a->place == b->place;
	if (has_name(a) && has_name(b))
		return a->line->function == b->line->function || !strcmp(a->line->function, b->line->function);
	return !has_name(a) && !has_name(b) && a->place == b->place;
}

static bool same_line(const struct frame *a, const struct frame *b)
{
	if (a->line == b->line)
		return true;
	return a->line && b->line && a->line->line == b->line->line && a->line->file && b->line->file &&
	       !strcmp(a->line->file, b->line->file);
}

/* ---- ways: what would be added to a part of a site's name, "" for nothing; the caller's */

enum part { PART_HEAD, PART_CALLER, PART_TAIL };

struct way {
	/* Where the group's sites differ in this way, *ret_at; false: they do not. */
	bool (*differs)(const struct group *g, ptrdiff_t *ret_at);
	char *(*says)(const struct group *g, const struct alike_site *a, ptrdiff_t at);
	enum part part;		/* of a caller's, the head if at is the telling frame */
	bool again;		/* what is still alike is tried again in the same way, as long as that differs */
};

static bool any_differs(const struct group *g, ptrdiff_t d, bool (*same)(const struct frame *a, const struct frame *b))
{
	struct frame first = frame_at(g->s, g->v[0], d);

	for (size_t i = 1; i < g->n; i++) {
		struct frame f = frame_at(g->s, g->v[i], d);

		if (!same(&first, &f))
			return true;
	}
	return false;
}

static char *text(const char *format, ...) __attribute__((format(printf, 1, 2)));
static char *text(const char *format, ...)
{
	va_list args;
	char *ret;

	va_start(args, format);
	ret = vformat(format, args);
	va_end(args);
	return ret;
}

static bool same_module(const struct frame *a, const struct frame *b)
{
	return a->module == b->module || (a->module && b->module && !strcmp(a->module, b->module));
}

/* A name of several files: "init in libfoo.so". Where there is no name, the file is part of what stands for it. */
static bool module_differs(const struct group *g, ptrdiff_t *ret_at)
{
	*ret_at = 0;
	return has_name(&g->v[0]->frame) && any_differs(g, 0, same_module);
}

static char *say_module(const struct group *g, const struct alike_site *a, ptrdiff_t at)
{
	return a->frame.module ? text(" in %s", path_basename(a->frame.module)) : strdup("");
}

static bool line_differs(const struct group *g, ptrdiff_t *ret_at)
{
	*ret_at = 0;
	for (size_t i = 0; i < g->n; i++)
		if (!g->v[i]->frame.line || !g->v[i]->frame.line->file || !g->v[i]->frame.line->line)
			return false;
	return any_differs(g, 0, same_line);
}

static char *say_line(const struct group *g, const struct alike_site *a, ptrdiff_t at)
{
	const char *path = a->frame.line->file, *file = path_basename(path);
	bool other_file = false, other_folder = false;

	for (size_t i = 0; i < g->n; i++) {
		const char *its = g->v[i]->frame.line->file;

		other_file |= strcmp(path_basename(its), file) != 0;
		other_folder |= strcmp(its, path) && !strcmp(path_basename(its), file);
	}
	if (other_file || other_folder)
		return text(" at %s:%u", other_folder ? path_tail(path) : file, a->frame.line->line);
	return text(":%u", a->frame.line->line);
}

static size_t most_frames(const struct group *g)
{
	size_t most = 0;

	for (size_t i = 0; i < g->n; i++)
		most = MAX(most, g->v[i]->n_frames - MIN(g->v[i]->at, g->v[i]->n_frames));
	return most;
}

/* The group's names say who that caller is. */
static bool is_named(const struct group *g, size_t depth)
{
	const struct alike_words *w = g->v[0]->words;

	for (size_t i = 0; i < w->n_callers; i++)
		if (w->callers[i].depth == depth)
			return true;
	return false;
}

/* Is no function of a library there, wherever stacks go as far? */
static bool all_own(const struct group *g, ptrdiff_t d)
{
	for (size_t i = 0; i < g->n; i++) {
		struct frame f = frame_at(g->s, g->v[i], d);

		if (f.place && has_name(&f) && !frame__is_telling(&f))
			return false;
	}
	return true;
}

/* A caller of the program's own says more than a library in between; that has to do where there is nothing else. */
static bool caller_differs(const struct group *g, ptrdiff_t *ret_at)
{
	size_t n = most_frames(g);

	for (int any = 0; any < 2; any++)
		for (size_t d = 1; d < n && g->callers < CALLERS_MAX; d++)
			if (!is_named(g, d) && any_differs(g, (ptrdiff_t)d, same_function) && (any || all_own(g, (ptrdiff_t)d))) {
				*ret_at = (ptrdiff_t)d;
				return true;
			}
	return false;
}

static char *say_caller(const struct group *g, const struct alike_site *a, ptrdiff_t at)
{
	struct frame f = frame_at(g->s, a, at);
	_cleanup_free_ char *name = f.place ? telling__name(&f) : NULL;

	/* its stack ends before */
	if (!f.place)
		return strdup("");
	return name ? strdup(name) : NULL;
}

static size_t most_callees(const struct group *g)
{
	size_t most = 0;

	for (size_t i = 0; i < g->n; i++)
		most = MAX(most, g->v[i]->at);
	return most;
}

/* Inwards: what it called. */
static bool callee_differs(const struct group *g, ptrdiff_t *ret_at)
{
	size_t most = most_callees(g);

	for (size_t d = 1; d <= most; d++)
		if (any_differs(g, -(ptrdiff_t)d, same_function)) {
			*ret_at = -(ptrdiff_t)d;
			return true;
		}
	return false;
}

/* "reserve" of "std::vector<int>::reserve": whose it is says little there. */
static char *say_callee(const struct group *g, const struct alike_site *a, ptrdiff_t at)
{
	struct frame f = frame_at(g->s, a, at);
	_cleanup_free_ char *name = f.place ? frame__own_name(&f) : NULL, *last = name ? own_name__last(name) : NULL;

	/* it calls the allocation function itself, which is nothing special */
	if (!f.place || frame__is_allocator(&f))
		return strdup("");
	return last ? text(" via %s", last) : NULL;
}

static bool same_place(const struct frame *a, const struct frame *b)
{
	return a->place == b->place;
}

/* The first call that is another one, whatever its names: outwards, then inwards. */
static bool place_differs(const struct group *g, ptrdiff_t *ret_at)
{
	ptrdiff_t n = (ptrdiff_t)most_frames(g);

	for (int any = 0; any < 2; any++)
		for (ptrdiff_t d = 0; d < n && g->calls < CALLS_MAX; d++)
			if (any_differs(g, d, same_place) && (any || all_own(g, d))) {
				*ret_at = d;
				return true;
			}
	for (size_t d = 1; d <= most_callees(g) && g->calls < CALLS_MAX; d++)
		if (any_differs(g, -(ptrdiff_t)d, same_place)) {
			*ret_at = -(ptrdiff_t)d;
			return true;
		}
	return false;
}

/* Where in its function; of Python as its disassembler counts. */
static char *spot_of(const struct frame *f)
{
	if (is_python_module(f->module))
		return text("@bytecode %u", PYTHON_OFFSET_BYTES(f->place->offset));
	return text("@0x%" PRIx64, f->place->offset);
}

static char *say_place(const struct group *g, const struct alike_site *a, ptrdiff_t at)
{
	struct frame f = frame_at(g->s, a, at);
	_cleanup_free_ char *name = at && f.place ? frame__own_name(&f) : NULL, *spot = f.place ? spot_of(&f) : NULL;

	if (!f.place)
		return strdup("");
	if (!spot)
		return NULL;
	if (at < 0)
		return text(" [%s %s]", name ? name : "", spot);
	if (at && f.line && f.line->line && any_differs(g, at, same_line))
		return text("%s:%u", name ? name : "", f.line->line);
	/* without a name, the address is what stands for it */
	if (at && !has_name(&f))
		return name ? strdup(name) : NULL;
	return text("%s %s", name ? name : "", spot);
}

static bool function_differs(const struct group *g, ptrdiff_t *ret_at)
{
	*ret_at = 0;
	for (size_t i = 1; i < g->n; i++)
		if (strcmp(g->v[i]->site->function ? g->v[i]->site->function : "", g->v[0]->site->function ? g->v[0]->site->function : ""))
			return true;
	return false;
}

static char *say_function(const struct group *g, const struct alike_site *a, ptrdiff_t at)
{
	return text(" [%s]", a->site->function ? a->site->function : "");
}

static bool thread_differs(const struct group *g, ptrdiff_t *ret_at)
{
	*ret_at = 0;
	for (size_t i = 1; i < g->n; i++)
		if (g->v[i]->site->tid != g->v[0]->site->tid)
			return true;
	return false;
}

static char *say_thread(const struct group *g, const struct alike_site *a, ptrdiff_t at)
{
	return text(" [%s %d]", a->site->thread ? a->site->thread : "thread", a->site->tid);
}

static const struct way ways[] = {
	{ module_differs, say_module, PART_HEAD, false },
	{ line_differs, say_line, PART_HEAD, false },
	{ caller_differs, say_caller, PART_CALLER, true },
	{ callee_differs, say_callee, PART_TAIL, false },
	{ place_differs, say_place, PART_CALLER, true },
	{ function_differs, say_function, PART_TAIL, false },
	{ thread_differs, say_thread, PART_TAIL, false },
};

/* ---- groups */

static int by_name(const void *pa, const void *pb)
{
	const struct alike_site *a = *(struct alike_site *const *)pa, *b = *(struct alike_site *const *)pb;

	return strcmp(a->name, b->name) ?: (a > b) - (a < b);
}

/* Takes more. */
static bool append(char **part, char *more)
{
	char *longer = more ? text("%s%s", *part ? *part : "", more) : NULL;

	free(more);
	if (!longer)
		return false;
	free(*part);
	*part = longer;
	return true;
}

/* Takes what. A caller that has words already gets these: they say more. */
static bool set_caller(struct alike_words *w, size_t depth, char *what)
{
	size_t i = 0;

	if (!what)
		return false;
	while (i < w->n_callers && w->callers[i].depth < depth)
		i++;
	if (!*what || (w->n_callers == ARRAY_SIZE(w->callers) && (i == w->n_callers || w->callers[i].depth != depth))) {
		free(what);
		return true;
	}
	if (i < w->n_callers && w->callers[i].depth == depth) {
		free(w->callers[i].text);
	} else {
		memmove(&w->callers[i + 1], &w->callers[i], (w->n_callers - i) * sizeof(w->callers[0]));
		w->n_callers++;
	}
	w->callers[i].depth = depth;
	w->callers[i].text = what;
	return true;
}

/* In the order of the stack; "…" stands for callers that are left out, and only for such. */
static char *put_together(const struct alike_words *w)
{
	char *name = strdup(w->head);
	size_t last = 0;

	for (size_t i = 0; name && i < w->n_callers; last = w->callers[i++].depth)
		if (!append(&name, text("%s < %s", w->callers[i].depth > last + 1 ? " < …" : "", w->callers[i].text)))
			break;
	if (name && w->tail)
		append(&name, strdup(w->tail));
	return name;
}

/* Adds what the way says to each name. False: no memory, and names are as they were, or some of them are longer. */
static bool add(const struct group *g, const struct way *way, ptrdiff_t at)
{
	for (size_t i = 0; i < g->n; i++) {
		struct alike_words *w = g->v[i]->words;
		char *more = way->says(g, g->v[i], at), *name;

		if (way->part == PART_CALLER && at > 0 ? !set_caller(w, (size_t)at, more) :
							 !append(way->part == PART_TAIL || at < 0 ? &w->tail : &w->head, more))
			return false;
		name = put_together(w);
		if (!name)
			return false;
		free(g->v[i]->name);
		g->v[i]->name = name;
	}
	qsort(g->v, g->n, sizeof(*g->v), by_name);
	return true;
}

/* One step: what is still alike has the rest of the ways to go. Depth: these, CALLERS_MAX and CALLS_MAX. */
static void split(struct group g);

/* Sites are in the order of their names. */
static void split_runs(const struct group *g)
{
	for (size_t i = 0, n; i < g->n; i += n) {
		struct group run = *g;

		for (n = 1; i + n < g->n && !strcmp(g->v[i]->name, g->v[i + n]->name); n++)
			;
		run.v = g->v + i;
		run.n = n;
		if (n > 1)
			split(run);
	}
}

static void split(struct group g)
{
	ptrdiff_t at = 0;

	while (g.way < ARRAY_SIZE(ways) && !ways[g.way].differs(&g, &at))
		g.way++;
	if (g.way == ARRAY_SIZE(ways) || !add(&g, &ways[g.way], at))
		return;
	if (ways[g.way].differs == caller_differs) {
		g.callers++;
	} else if (ways[g.way].again) {
		g.calls++;
	} else {
		g.way++;
	}
	split_runs(&g);
}

/* ---- who is alike */

/* What rows read: names that differ in what is not shown (parameters, a hash) are alike. */
uint64_t alike__key(const struct snap_site *site, const struct frame *telling)
{
	uint64_t h = hash__mix(hash__seed(), site->process);
	_cleanup_free_ char *name = has_name(telling) ? telling__name(telling) : NULL;

	h = name ? hash__mix(h, hash__bytes(name, strlen(name))) : hash__mix(h, (uint64_t)(uintptr_t)telling->place);
	return h ? h : 1;
}

static void words_free(struct alike_words *w)
{
	if (!w)
		return;
	for (size_t i = 0; i < w->n_callers; i++)
		free(w->callers[i].text);
	free(w->head);
	free(w->tail);
	free(w);
}

void alike__tell_apart(const struct snapshot *s, struct alike_site *v, size_t n)
{
	_cleanup_free_ struct alike_site **room = calloc(n + 1, sizeof(*room));
	bool ready = room;

	for (size_t i = 0; room && i < n; i++) {
		room[i] = &v[i];
		v[i].name = v[i].site->n_stack ? telling__name(&v[i].frame) : strdup(site__no_stack(v[i].site));
		v[i].words = calloc(1, sizeof(*v[i].words));
		ready &= lay_out(s, &v[i]) && v[i].name && v[i].words && (v[i].words->head = strdup(v[i].name));
	}
	if (ready) {
		qsort(room, n, sizeof(*room), by_name);
		split_runs(&(struct group){ .s = s, .v = room, .n = n });
	}
	for (size_t i = 0; i < n; i++) {
		words_free(v[i].words);
		v[i].words = NULL;
		free(v[i].frames);
		v[i].frames = NULL;
	}
}
