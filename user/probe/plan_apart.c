// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns nothing beyond a call. What always holds of a plan that comes back: its functions are rows of the table, its points are
 * entries, returns and tail jumps of functions of the file (verify.h), and no cookie is made of what is out of range. Whether the
 * points are the right ones is the self-check's to find.
 */
#include "probe/plan_apart.h"

#include <errno.h>
#include <string.h>

#include "probe/lookalikes.h"
#include "util/util.h"

#define NAME_BYTES_MAX (1u << 16)
#define FAMILY_MAX 31
#define WORDS_MAX (1u << 16)

struct answer {
	struct plan plan;
	size_t n_symbols;
	char *lookalikes;
};

/* ---- tables */

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

/* ---- in the sandbox */

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

/* ---- in malloctrace */

static bool are_rows(const struct plan *p, const struct object *obj, size_t n_rows)
{
	for (size_t i = 0; i < p->n_funcs; i++)
		if (p->funcs[i].func >= n_rows || !object__is_code(obj, p->funcs[i].vaddr))
			return false;
	for (size_t i = 0; i < p->n_points; i++)
		if (p->points[i].func >= n_rows)
			return false;
	return p->family;
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

/* false: one of its points is none. */
static bool are_verified(const struct plan *p, const struct object *obj, const struct alloc_funcs *funcs, bool no_uretprobes)
{
	const struct spot_points *spots[] = { &p->loader, &p->refusals };
	size_t n = p->n_points;
	_cleanup_free_ struct verified_point *v = xcalloc(n + p->loader.n + p->refusals.n, sizeof(*v));
	bool all = true;

	for (size_t i = 0; i < n; i++)
		v[i] = (struct verified_point){ .offset = p->points[i].offset, .name = funcs->v[p->points[i].func].name };
	for (size_t k = 0; k < ARRAY_SIZE(spots); k++)
		for (size_t i = 0; i < spots[k]->n; i++)
			v[n++] = (struct verified_point){ .offset = spots[k]->v[i].offset, .counter = spots[k]->v[i].counter };
	verify__points(obj, v, n);
	for (size_t i = 0; i < n && all; i++)
		all = object__is_code_at(obj, v[i].offset);
	n = p->n_points;
	for (size_t i = 0; i < n && all; i++)
		all = is_verified(&p->points[i], &v[i], &funcs->v[p->points[i].func], no_uretprobes);
	for (size_t k = 0; k < ARRAY_SIZE(spots); k++)
		for (size_t i = 0; i < spots[k]->n && all; i++)
			all = spot_point__is_verified(&spots[k]->v[i], &v[n++]);
	return all;
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
