// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns nothing beyond a call. What always holds of a plan that comes back: its functions are rows of the table, its points lie in
 * code of the file, and no cookie is made of what is out of range. Whether the points are the right ones is the self-check's to find.
 */
#include "probe/plan_apart.h"

#include <errno.h>
#include <string.h>

#include "util/util.h"

#define NAME_BYTES_MAX (1u << 16)
#define FAMILY_MAX 31

/* ---- the table of functions */

void alloc_funcs__put(struct wire *w, const struct alloc_funcs *funcs)
{
	wire__u64(w, funcs->n_builtin);
	wire__u64(w, funcs->n);
	for (size_t i = 0; i < funcs->n; i++) {
		wire__bytes(w, &funcs->v[i], sizeof(funcs->v[i]));
		wire__string(w, funcs->v[i].name);
	}
}

int alloc_funcs__get(struct wire_in *in, struct alloc_funcs *ret)
{
	size_t n_builtin = wire_in__u64(in), n = wire_in__count(in, sizeof(*ret->v));

	*ret = (struct alloc_funcs){ .v = calloc(n + 1, sizeof(*ret->v)), .n = n, .room = n + 1, .n_builtin = n_builtin };
	if (!ret->v)
		return -ENOMEM;
	for (size_t i = 0; i < n && !in->bad; i++) {
		const void *row = wire_in__bytes(in, sizeof(*ret->v));

		if (row)
			memcpy(&ret->v[i], row, sizeof(*ret->v));
		ret->v[i].name = wire_in__string(in, NAME_BYTES_MAX);
		ret->v[i].shown = NULL;
	}
	return in->bad ? -EINVAL : 0;
}

/* ---- plans */

static void put_plan(struct wire *w, const struct plan *p, size_t n_symbols)
{
	wire__u64(w, n_symbols);
	wire__u64(w, p->n_requested);
	wire__string(w, p->family);
	wire__u64(w, p->n_funcs);
	for (size_t i = 0; i < p->n_funcs; i++) {
		const struct planned_func *f = &p->funcs[i];

		wire__u64(w, f->func);
		wire__u64(w, f->vaddr);
		wire__u64(w, f->size);
		wire__u64(w, f->no_return);
		wire__u64(w, f->usable);
		wire__u64(w, f->unseen);
		wire__u64(w, f->frees_at_0);
		wire__bytes(w, &f->code, sizeof(f->code));
		wire__string(w, f->why);
	}
	wire__u64(w, p->n_points);
	for (size_t i = 0; i < p->n_points; i++) {
		const struct point *pt = &p->points[i];

		wire__u64(w, pt->offset);
		wire__u64(w, pt->func);
		wire__u64(w, pt->how);
		wire__u64(w, pt->sp_delta);
		wire__u64(w, pt->return_only);
		wire__u64(w, pt->own_return);
		wire__u64(w, pt->no_args);
	}
}

int plan_apart__serve(struct reader_request *q)
{
	struct object *obj = apart__object(q);
	bool asked = wire_in__bool(&q->in);
	const void *bytes = wire_in__bytes(&q->in, sizeof(struct plan_want));
	struct alloc_funcs funcs;
	struct plan_want want;
	struct plan plan = {};
	size_t n_symbols = 0;
	int err = alloc_funcs__get(&q->in, &funcs);

	if (!err && obj && bytes) {
		memcpy(&want, bytes, sizeof(want));
		err = plan__make(obj, &funcs, &want, asked, &plan, &n_symbols, NULL);
	} else {
		err = err ?: -ENOMEM;
	}
	if (!err)
		put_plan(&q->out, &plan, n_symbols);
	plan__done(&plan);
	free(funcs.v);
	object__put(obj);
	return err;
}

static void get_func(struct wire_in *in, const struct object *obj, size_t n_rows, struct planned_func *f)
{
	const void *code;
	const char *why;

	f->func = wire_in__upto(in, n_rows - 1);
	f->vaddr = wire_in__u64(in);
	f->size = wire_in__u64(in);
	f->no_return = wire_in__bool(in);
	f->usable = wire_in__bool(in);
	f->unseen = wire_in__bool(in);
	f->frees_at_0 = wire_in__bool(in);
	code = wire_in__bytes(in, sizeof(f->code));
	if (code)
		memcpy(&f->code, code, sizeof(f->code));
	why = wire_in__string(in, sizeof(f->why) - 1);
	if (why)
		strcpy(f->why, why);
	clean_name(f->why);
	in->bad |= !why || !object__is_code(obj, f->vaddr) || f->code.n > MT_CODE_RANGES;
}

static void get_point(struct wire_in *in, const struct object *obj, size_t n_rows, struct point *p)
{
	p->offset = wire_in__u64(in);
	p->func = wire_in__upto(in, n_rows - 1);
	p->how = wire_in__upto(in, ON_RET_INSN);
	p->sp_delta = wire_in__upto(in, MT_COOKIE_SP_MAX);
	p->return_only = wire_in__bool(in);
	p->own_return = wire_in__bool(in);
	p->no_args = wire_in__bool(in);
	in->bad |= !object__is_code_at(obj, p->offset);
}

static int get_plan(struct wire_in *in, const struct object *obj, size_t n_rows, struct plan *p, size_t *ret_n_symbols)
{
	const char *family;

	*ret_n_symbols = wire_in__u64(in);
	p->n_requested = wire_in__u64(in);
	family = wire_in__string(in, FAMILY_MAX);
	p->n_funcs = wire_in__count(in, sizeof(struct mt_code));
	p->funcs = calloc(p->n_funcs + 1, sizeof(*p->funcs));
	if (!p->funcs)
		return -ENOMEM;
	for (size_t i = 0; i < p->n_funcs && !in->bad; i++)
		get_func(in, obj, n_rows, &p->funcs[i]);
	p->n_points = wire_in__count(in, 7 * sizeof(uint64_t));
	p->points = calloc(p->n_points + 1, sizeof(*p->points));
	p->family = strdup(family ? family : "");
	if (!p->points || !p->family)
		return -ENOMEM;
	clean_name(p->family);
	for (size_t i = 0; i < p->n_points && !in->bad; i++)
		get_point(in, obj, n_rows, &p->points[i]);
	return 0;
}

/* No plan is one without functions. */
int plan_apart__make(struct object *obj, const struct alloc_funcs *funcs, const struct plan_want *want, bool asked, struct plan *ret,
		     size_t *ret_n_symbols, struct err *e)
{
	struct plan_want wanted = want ? *want : (struct plan_want){};
	apart_cleanup struct apart a;
	struct plan plan = {};
	size_t n_symbols = 0;
	int err;

	apart__begin(&a, READ_PLAN, obj);
	wire__u64(&a.args, asked);
	/* no pointer is of use over there */
	wanted.recording.within = NULL;
	wire__bytes(&a.args, &wanted, sizeof(wanted));
	alloc_funcs__put(&a.args, funcs);
	err = apart__ask(&a);
	if (!err)
		err = get_plan(&a.in, obj, funcs->n, &plan, &n_symbols);
	if (!err)
		err = apart__settle(&a);
	if (err) {
		plan__done(&plan);
		if (err == -ENOMEM)
			return err_set(e, err, "no memory to plan probes for %s", obj->path);
		plan.family = strdup("");
		n_symbols = 0;
		if (!plan.family)
			return err_set(e, -ENOMEM, "out of memory");
	}
	plan.object = obj;
	plan.want = want ? *want : (struct plan_want){};
	object__hold(obj);
	*ret = plan;
	if (ret_n_symbols)
		*ret_n_symbols = n_symbols;
	return 0;
}
