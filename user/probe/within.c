// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Finds what a file has of the functions of --within: the ranges of their code,
 * which stacks are compared with, and the points that count their calls. What
 * always holds: a point is a first instruction, a return or a jump that the code
 * leads to; one that is missing makes tracing dearer, and no figure wrong, but for what a
 * function jumps to through a pointer at its end: that is not known to be inside.
 */
#include "probe/spots.h"

#include <errno.h>
#include <string.h>

#include "elf/symtab.h"
#include "reader/reader.h"

struct search {
	const struct spots *spots;
	const struct object *obj;
	struct within *w;
	uint64_t *starts;	/* owned; where functions begin, sorted */
	size_t n_starts;
	struct vec(uint64_t) named;	/* the same, of all names there are */
	bool full;
};

COMPARATOR(by_value, uint64_t, ORDER(*a, *b))

/* Up to the next function; what lies between two of them is run by neither. */
static uint64_t end_of(const struct search *s, uint64_t vaddr)
{
	const struct object_segment *code = object__segment_at(s->obj, vaddr, true);
	const uint64_t *start, *named;
	uint64_t end;

	if (!code)
		return vaddr;
	end = code->vaddr + code->file_size;
	start = array_first(at, s->starts, s->n_starts, *at > vaddr);
	if (start)
		end = MIN(end, *start);
	named = vec_first(at, &s->named, *at > vaddr);
	return named ? MIN(end, *named) : end;
}

static bool is_in(const struct mt_within_list *l, uint64_t vaddr)
{
	return array_first(one, l->range, l->n, vaddr >= one->from && vaddr < one->to);
}

static void add_range(struct search *s, uint64_t vaddr, uint64_t end)
{
	struct mt_within_list *l = &s->w->ranges;

	if (end == vaddr || is_in(l, vaddr))
		return;
	if (l->n && l->range[l->n - 1].to == vaddr && s->w->inlined) {
		l->range[l->n - 1].to = end;
		return;
	}
	if (l->n == MT_WITHIN_RANGES) {
		s->full = true;
		return;
	}
	l->range[l->n].from = vaddr;
	l->range[l->n++].to = end;
}

static void add_point(struct search *s, uint64_t vaddr, enum mt_within_kind kind)
{
	uint64_t offset;

	if (!object__vaddr_to_offset(s->obj, vaddr, &offset))
		return;
	if (vec_first(p, &s->w->points, p->offset == offset))
		return;
	*vec_push(&s->w->points) = (struct spot_point){ .offset = offset, .cookie = MT_WITHIN_COOKIE(kind, 0, vaddr) };
}

/* ---- pieces of the functions that lie elsewhere */

static int note_name(const char *raw, uint64_t vaddr, void *arg)
{
	struct search *s = arg;

	*vec_push(&s->named) = vaddr;
	return 0;
}

static bool may_be(const struct search *s, const struct spot *spot)
{
	return spot->kind == MT_SPOT_WITHIN_ENTER && spot->n_parts < 3 && spot__may_be_in(spot, s->obj);
}

static int note_piece(const char *raw, uint64_t vaddr, void *arg)
{
	struct search *s = arg;

	for (size_t i = 0; i < s->spots->n; i++) {
		const struct spot *spot = &s->spots->v[i];

		if (may_be(s, spot) && spot__is_function(spot, raw, true) && !spot__is_function(spot, raw, false))
			add_range(s, vaddr, end_of(s, vaddr));
	}
	return 0;
}

/* A copy that was inlined: stacks show it, but no point begins or ends it for certain. */
static int note_inlined(const char *name, uint64_t low, uint64_t high, bool first, void *arg)
{
	struct search *s = arg;

	for (size_t i = 0; i < s->spots->n; i++) {
		const struct spot *spot = &s->spots->v[i];

		if (!may_be(s, spot) || !spot__is_function(spot, name, false))
			continue;
		s->w->inlined = true;
		add_range(s, low, high);
	}
	return 0;
}

/* Has the file that was searched last inlined copies? */
static bool has_inlined(const struct spots *spots)
{
	return vec_first(one, spots, one->kind == MT_SPOT_WITHIN_ENTER && one->n_inlined_here);
}

/* ---- points */

static bool is_wanted(const struct spots *s, uint64_t cookie)
{
	for (; cookie; cookie >>= 8)
		if (s->v[(cookie & 0xff) - 1].kind == MT_SPOT_WITHIN_ENTER)
			return true;
	return false;
}

/* Its own returns end it; a jump to elsewhere hands over, and a return there ends what was handed over. */
static void add_exits(struct search *s, uint64_t vaddr)
{
	struct exits x;

	place__exits(s->obj, vaddr, end_of(s, vaddr) - vaddr, &x);
	for (size_t i = 0; i < x.jumps.n; i++)
		if (is_in(&s->w->ranges, x.jumps.v[i].vaddr) && !is_in(&s->w->ranges, x.jumps.v[i].target))
			add_point(s, x.jumps.v[i].vaddr, MT_WITHIN_JUMP);
	for (size_t i = 0; i < x.returns.n; i++)
		add_point(s, x.returns.v[i], is_in(&s->w->ranges, x.returns.v[i]) ? MT_WITHIN_LEAVE : MT_WITHIN_LANDED);
	exits__done(&x);
}

static void find(struct search *s, struct object *obj, const struct spot_points *found)
{
	struct vec(uint64_t) begin = {};
	uint64_t vaddr;

	object__function_starts(obj, &s->starts, &s->n_starts);
	defined__each(obj, NULL, note_name, s);
	vec_sort(&s->named, by_value);
	for (size_t i = 0; i < found->n; i++)
		if (is_wanted(s->spots, found->v[i].cookie) && object__offset_to_vaddr(obj, found->v[i].offset, &vaddr))
			*vec_push(&begin) = vaddr;
	for (size_t i = 0; i < begin.n; i++)
		add_range(s, begin.v[i], end_of(s, begin.v[i]));
	defined__each(obj, NULL, note_piece, s);
	/* an entry first: where a point is several things, that is what counts */
	for (size_t i = 0; i < begin.n; i++)
		add_point(s, begin.v[i], MT_WITHIN_ENTER);
	for (size_t i = 0; i < begin.n; i++)
		add_exits(s, begin.v[i]);
	vec_done(&begin);
	/* last: what leads from a function into an inlined copy of itself goes elsewhere all the same */
	if (has_inlined(s->spots))
		s->w->unsearched = defined__each_inlined(obj, NULL, note_inlined, s) == -E2BIG;
}

int within__find(const struct spots *spots, struct object *obj, const struct spot_points *found,
		 struct within *ret, struct err *e)
{
	struct search s = { .spots = spots, .obj = obj, .w = ret };

	*ret = (struct within){};
	if (!has_inlined(spots) && !vec_first(p, found, is_wanted(spots, p->cookie)))
		return 0;
	if (readers__are_apart())
		return spots_apart__within(spots, obj, found, ret, e);
	find(&s, obj, found);
	free(s.starts);
	vec_done(&s.named);
	if (!s.full)
		return 0;
	within__done(ret);
	return err_set(e, -E2BIG, "--within: %s has more than %d pieces of such functions, with inlined copies", obj->path, MT_WITHIN_RANGES);
}

void within__done(struct within *w)
{
	vec_done(&w->points);
	w->ranges.n = 0;
	w->inlined = false;
}

void within__number(struct within *w, uint32_t list)
{
	for (size_t i = 0; i < w->points.n; i++) {
		uint64_t c = w->points.v[i].cookie;

		w->points.v[i].cookie = MT_WITHIN_COOKIE(MT_WITHIN_KIND(c), list, MT_WITHIN_VADDR(c));
	}
}
