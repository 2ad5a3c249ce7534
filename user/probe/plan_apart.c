// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Plans, spots and what else is found in the code and the notes of a file, asked of the sandbox:
 * see elf/apart.h.
 *
 * Owns nothing beyond a call. What always holds of a plan that comes back: its functions are rows
 * of the table, its points are entries, returns and tail jumps of functions of the file (verify.c),
 * and no cookie is made of what is out of range. Whether the points are the right ones is the
 * self-check's to find.
 */
#include <errno.h>
#include <string.h>

#include "elf/apart.h"
#include "probe/plan.h"
#include "probe/spots.h"
#include "util/util.h"

#define NAME_BYTES_MAX (1u << 16)
#define FAMILY_MAX 31
#define WORDS_MAX (1u << 16)
#define TEXT_MAX (1u << 20)

/* ---- plans */

struct answer {
	struct plan plan;
	size_t n_symbols;
	char *lookalikes;
};

static const struct wire_field alloc_func_fields[] = {
	WIRE_NAME(struct alloc_func, name, NAME_BYTES_MAX),
	WIRE_NAME(struct alloc_func, shown, NAME_BYTES_MAX),
	WIRE_UPTO(struct alloc_func, role, N_ROLES - 1),
	WIRE_ANY(struct alloc_func, size),
	WIRE_ANY(struct alloc_func, count),
	WIRE_ANY(struct alloc_func, old),
	WIRE_ANY(struct alloc_func, out),
	WIRE_ANY(struct alloc_func, result),
	WIRE_ANY(struct alloc_func, flags),
};

static const struct wire_type alloc_func_type = WIRE_TYPE(struct alloc_func, alloc_func_fields);

static const struct wire_field request_fields[] = {
	WIRE_BOOL(struct plan_request, lookalikes),
	WIRE_BOOL(struct plan_request, asked),
	WIRE_RAW(struct plan_request, want),
	WIRE_ANY(struct plan_request, funcs.n_builtin),
	WIRE_LIST(struct plan_request, funcs.v, funcs.n, &alloc_func_type),
};

static const struct wire_type request_type = WIRE_TYPE(struct plan_request, request_fields);

static const struct wire_field func_fields[] = {
	WIRE_ANY(struct planned_func, func),
	WIRE_ANY(struct planned_func, vaddr),
	WIRE_ANY(struct planned_func, size),
	WIRE_BOOL(struct planned_func, no_return),
	WIRE_BOOL(struct planned_func, usable),
	WIRE_BOOL(struct planned_func, unseen),
	WIRE_BOOL(struct planned_func, frees_at_0),
	WIRE_RAW(struct planned_func, code),
	WIRE_WORDS(struct planned_func, why),
};

static bool is_func(const void *record)
{
	return ((const struct planned_func *)record)->code.n <= MT_CODE_RANGES;
}

static const struct wire_type func_type = WIRE_TYPE(struct planned_func, func_fields, is_func);

static const struct wire_field point_fields[] = {
	WIRE_ANY(struct point, offset),
	WIRE_ANY(struct point, func),
	WIRE_UPTO(struct point, how, ON_RET_INSN),
	WIRE_UPTO(struct point, sp_delta, MT_COOKIE_SP_MAX),
	WIRE_BOOL(struct point, return_only),
	WIRE_BOOL(struct point, own_return),
	WIRE_BOOL(struct point, no_args),
};

static const struct wire_type point_type = WIRE_TYPE(struct point, point_fields);

static const struct wire_field answer_fields[] = {
	WIRE_ANY(struct answer, n_symbols),
	WIRE_ANY(struct answer, plan.n_requested),
	WIRE_OWN(struct answer, plan.family, FAMILY_MAX),
	WIRE_PLAIN_VEC(struct answer, plan.loader),
	WIRE_PLAIN_VEC(struct answer, plan.refusals),
	WIRE_LIST(struct answer, plan.funcs, plan.n_funcs, &func_type),
	WIRE_LIST(struct answer, plan.points, plan.n_points, &point_type),
	WIRE_OWN(struct answer, lookalikes, WORDS_MAX),
};

static const struct wire_type answer_type = WIRE_TYPE(struct answer, answer_fields);

static int serve(struct reader_request *q, const void *args, void *ret)
{
	const struct plan_request *of = args;
	struct answer *to = ret;
	struct object *obj = apart__object(q);

	if (!obj)
		return -EINVAL;
	if (of->lookalikes)
		to->lookalikes = lookalikes__of(obj, &of->funcs);
	else
		plan__make(obj, &of->funcs, &of->want, of->asked, &to->plan, &to->n_symbols);
	object__put(to->plan.object);
	object__put(obj);
	return 0;
}

const struct reader_question plan_question = { READ_PLAN, &request_type, &answer_type, serve };

static bool are_rows(const struct plan *p, const struct object *obj, size_t n_rows)
{
	return p->family && !array_first(pt, p->points, p->n_points, pt->func >= n_rows) &&
	       !array_first(f, p->funcs, p->n_funcs, f->func >= n_rows || !object__is_code(obj, f->vaddr));
}

/* A uretprobe kills programs where it does not belong, so its function must be the one that the row names. */
static bool is_verified(const struct point *pt, const struct verified_point *v, const struct alloc_func *row, bool no_uretprobes)
{
	switch (pt->how) {
	case ON_RET_INSN:
		return v->is & POINT_RETURN;
	case ON_RETURN:
		return v->is & POINT_NAMED && v->is & POINT_QUIET && !(row->flags & FUNC_THROWS) && !no_uretprobes;
	case ON_ENTRY:
		return v->is & (pt->no_args ? POINT_JUMP : POINT_START | POINT_PROLOGUE);
	}
	return false;
}

/* Puts the points where they will be verified; how many there are. */
static size_t ask_spots(const struct spot_points *p, struct verified_point *v)
{
	for (size_t i = 0; i < p->n; i++)
		v[i] = (struct verified_point){ .offset = p->v[i].offset, .counter = p->v[i].counter };
	return p->n;
}

static bool are_spots(const struct object *obj, const struct spot_points *p, const struct verified_point *v)
{
	for (size_t i = 0; i < p->n; i++)
		if (!object__is_code_at(obj, v[i].offset) ||
		    !(v[i].is & (p->v[i].counter ? POINT_USDT : POINT_START | POINT_RETURN | POINT_JUMP | POINT_USDT)))
			return false;
	return true;
}

static bool are_verified_spots(const struct object *obj, const struct spot_points *p)
{
	_cleanup_free_ struct verified_point *v = xcalloc(p->n, sizeof(*v));

	verify__points(obj, v, ask_spots(p, v));
	return are_spots(obj, p, v);
}

/* false: one of its points is none. */
static bool are_verified(const struct plan *p, const struct object *obj, const struct alloc_funcs *funcs, bool no_uretprobes)
{
	size_t loader = p->n_points, refusals = loader + p->loader.n, n = refusals + p->refusals.n;
	_cleanup_free_ struct verified_point *v = xcalloc(n, sizeof(*v));

	for (size_t i = 0; i < p->n_points; i++)
		v[i] = (struct verified_point){ .offset = p->points[i].offset, .name = funcs->v[p->points[i].func].name };
	ask_spots(&p->loader, v + loader);
	ask_spots(&p->refusals, v + refusals);
	verify__points(obj, v, n);
	for (size_t i = 0; i < p->n_points; i++)
		if (!object__is_code_at(obj, v[i].offset) ||
		    !is_verified(&p->points[i], &v[i], &funcs->v[p->points[i].func], no_uretprobes))
			return false;
	return are_spots(obj, &p->loader, v + loader) && are_spots(obj, &p->refusals, v + refusals);
}

/* No plan is one without functions. */
void plan_apart__make(struct object *obj, const struct alloc_funcs *funcs, const struct plan_want *want, bool asked,
		      struct plan *ret, size_t *ret_n_symbols)
{
	apart_cleanup struct apart a = { .about = &plan_question, .obj = obj, .for_probes = true };
	struct plan_request of = { .asked = asked, .funcs = *funcs };
	struct answer got = {};
	int err;

	if (want)
		of.want = *want;
	/* no pointer is of use over there */
	of.want.recording.within = NULL;
	err = apart__ask(&a, &of, &got, NULL);
	if (!err && !(are_rows(&got.plan, obj, funcs->n) && are_verified(&got.plan, obj, funcs, of.want.no_uretprobes)))
		err = apart__refuse(&a, obj, &got);
	free(got.lookalikes);
	if (err)
		got.plan.family = xstrdup("");
	got.plan.object = obj;
	got.plan.want = want ? *want : (struct plan_want){};
	object__hold(obj);
	*ret = got.plan;
	if (ret_n_symbols)
		*ret_n_symbols = got.n_symbols;
}

char *plan_apart__lookalikes(const struct object *obj, const struct alloc_funcs *funcs)
{
	apart_cleanup struct apart a = { .about = &plan_question, .obj = obj };
	struct plan_request of = { .lookalikes = true, .funcs = *funcs };
	struct answer got = {};
	char *words;

	if (apart__ask(&a, &of, &got, NULL))
		return NULL;
	words = got.lookalikes;
	got.lookalikes = NULL;
	wire_type__done(&answer_type, &got);
	return words;
}

/* ---- functions that the user named */

struct spots_request {
	bool within;			/* else where they are */
	struct spots spots;
	struct spot_points found;	/* within: what was found */
};

struct spots_answer {
	struct spots spots;		/* how many there are of each */
	struct spot_points points;
	struct within within;
};

static const struct wire_field spot_fields[] = {
	WIRE_ANY(struct spot, number),
	WIRE_ANY(struct spot, kind),
	WIRE_NAME(struct spot, option, TEXT_MAX),
	WIRE_NAME(struct spot, text, TEXT_MAX),
	WIRE_NAME(struct spot, path, TEXT_MAX),
	WIRE_NAME(struct spot, hint, TEXT_MAX),
	WIRE_ANY(struct spot, n_inlined_here),
	WIRE_NAME(struct spot, part[0], TEXT_MAX),
	WIRE_NAME(struct spot, part[1], TEXT_MAX),
	WIRE_NAME(struct spot, part[2], TEXT_MAX),
	WIRE_UPTO(struct spot, n_parts, 3),
};

static const struct wire_type spot_type = WIRE_TYPE(struct spot, spot_fields);

static const struct wire_field spots_request_fields[] = {
	WIRE_BOOL(struct spots_request, within),
	WIRE_VEC(struct spots_request, spots, &spot_type),
	WIRE_PLAIN_VEC(struct spots_request, found),
};

static const struct wire_type spots_request_type = WIRE_TYPE(struct spots_request, spots_request_fields);

static const struct wire_field count_fields[] = {
	WIRE_UPTO(struct spot, n_points, UINT32_MAX),
	WIRE_UPTO(struct spot, n_inlined_here, UINT32_MAX),
	WIRE_UPTO(struct spot, unsearched_here, UNSEARCHED_SPLIT),
};

static const struct wire_type count_type = WIRE_TYPE(struct spot, count_fields);

static const struct wire_field within_fields[] = {
	WIRE_BOOL(struct within, inlined),
	WIRE_BOOL(struct within, unsearched),
	WIRE_RAW(struct within, ranges),
	WIRE_PLAIN_VEC(struct within, points),
};

static bool is_within(const void *record)
{
	const struct within *w = record;
	bool is = w->ranges.n <= MT_WITHIN_RANGES;

	for (size_t i = 0; is && i < w->ranges.n; i++)
		is = w->ranges.range[i].from < w->ranges.range[i].to;
	for (size_t i = 0; is && i < w->points.n; i++) {
		uint64_t c = w->points.v[i].cookie;

		is = c == MT_WITHIN_COOKIE(MT_WITHIN_KIND(c), 0, MT_WITHIN_VADDR(c));
	}
	return is;
}

static const struct wire_type within_type = WIRE_TYPE(struct within, within_fields, is_within);

static const struct wire_field spots_answer_fields[] = {
	WIRE_VEC(struct spots_answer, spots, &count_type),
	WIRE_PLAIN_VEC(struct spots_answer, points),
	WIRE_PART(struct spots_answer, within, &within_type),
};

static const struct wire_type spots_answer_type = WIRE_TYPE(struct spots_answer, spots_answer_fields);

static int serve_spots(struct reader_request *q, const void *args, void *ret)
{
	struct spots_request *of = (struct spots_request *)args;
	struct object *obj = apart__object(q);
	struct spots_answer *to = ret;
	int err = obj ? 0 : -EINVAL;

	if (obj && of->within)
		err = within__find(&of->spots, obj, &of->found, &to->within, &q->e);
	else if (obj)
		err = spots__find(&of->spots, obj, NULL, &to->points, &q->e);
	/* the answer has them from now on */
	to->spots = of->spots;
	of->spots = (struct spots){};
	object__put(obj);
	return err;
}

const struct reader_question spots_question = { READ_SPOTS, &spots_request_type, &spots_answer_type, serve_spots };

/* A cookie is made of the numbers of spots that there are. */
static bool are_numbers(size_t n_spots, const struct spot_points *points)
{
	for (size_t i = 0; i < points->n; i++)
		for (uint64_t c = points->v[i].cookie; c; c >>= 8)
			if (!(c & 0xff) || (c & 0xff) > n_spots || c >> 8 * MT_SPOTS_AT_ONCE)
				return false;
	return true;
}

/* READER_LOST: also where an end is asked for. */
static int ask(struct apart *a, struct object *obj, const struct spots_request *of, struct spots_answer *ret,
	       struct err *e)
{
	int err = apart__ask(a, of, ret, e);

	if (err)
		return err == -EINTR ? READER_LOST : err;
	if (ret->spots.n == of->spots.n && are_numbers(of->spots.n, &ret->points) &&
	    are_verified_spots(obj, &ret->points) && are_verified_spots(obj, &ret->within.points))
		return 0;
	return apart__refuse(a, obj, ret);
}

int spots_apart__find(struct spots *s, struct object *obj, const char *debug_dir, struct spot_points *ret, struct err *e)
{
	apart_cleanup struct apart a = { .about = &spots_question, .obj = obj, .debug_dir = debug_dir, .for_probes = true };
	struct spots_request of = { .spots = *s };
	struct spots_answer got = {};
	int err = s->n ? ask(&a, obj, &of, &got, e) : READER_LOST;

	*ret = got.points;
	if (err)
		return err == READER_LOST ? 0 : err;
	for (size_t i = 0; i < s->n; i++) {
		s->v[i].n_points += got.spots.v[i].n_points;
		s->v[i].n_inlined_here = got.spots.v[i].n_inlined_here;
		s->v[i].n_inlined += got.spots.v[i].n_inlined_here;
		s->v[i].unsearched_here = got.spots.v[i].unsearched_here;
		s->v[i].n_unsearched += got.spots.v[i].unsearched_here != SEARCHED;
	}
	got.points = (struct spot_points){};
	wire_type__done(&spots_answer_type, &got);
	return 0;
}

int spots_apart__within(const struct spots *spots, struct object *obj, const struct spot_points *found, struct within *ret, struct err *e)
{
	apart_cleanup struct apart a = { .about = &spots_question, .obj = obj, .for_probes = true };
	struct spots_request of = { .within = true, .spots = *spots, .found = *found };
	struct spots_answer got = {};
	int err = ask(&a, obj, &of, &got, e);

	*ret = got.within;
	got.within = (struct within){};
	wire_type__done(&spots_answer_type, &got);
	return err == READER_LOST ? 0 : err;
}
