// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* What is found by the names of functions alone, asked of a reader. Owns nothing beyond a call. */
#include <errno.h>
#include <string.h>

#include "probe/loader.h"
#include "probe/lookalikes.h"
#include "probe/plan_apart.h"
#include "probe/refusals.h"
#include "util/util.h"

#define WORDS_MAX (1u << 16)

/* ---- points without a plan */

void spot_points__put(struct wire *w, const struct spot_points *p)
{
	wire__u64(w, p->n);
	for (size_t i = 0; i < p->n; i++) {
		wire__u64(w, p->v[i].offset);
		wire__u64(w, p->v[i].counter);
		wire__u64(w, p->v[i].cookie);
	}
}

int spot_points__get(struct wire_in *in, const struct object *obj, struct spot_points *ret)
{
	size_t n = wire_in__count(in, 3 * sizeof(uint64_t));

	for (size_t i = 0; i < n && !in->bad; i++) {
		struct spot_point *p = vec_push(ret);

		if (!p)
			return -ENOMEM;
		p->offset = wire_in__u64(in);
		p->counter = wire_in__u64(in);
		p->cookie = wire_in__u64(in);
		in->bad |= !object__is_code_at(obj, p->offset);
	}
	return 0;
}

/* The answer is points alone. -ENOMEM; a file that was lost has none. */
static int ask_for_points(struct apart *a, struct spot_points *ret)
{
	struct spot_points got = {};
	int err = apart__ask(a);

	if (err)
		return err == -ENOMEM ? err : 0;
	err = spot_points__get(&a->in, a->obj, &got);
	if (err || apart__settle(a)) {
		vec_done(&got);
		return err;
	}
	for (size_t i = 0; i < got.n; i++) {
		struct spot_point *p = spot_points__at(ret, got.v[i].offset);

		if (p)
			*p = got.v[i];
		else
			err = -ENOMEM;
	}
	vec_done(&got);
	return err;
}

int loader_apart__serve(struct reader_request *q)
{
	struct object *obj = apart__object(q);
	struct spot_points points = {};
	int err = obj ? loader__find(obj, &points) : -ENOMEM;

	spot_points__put(&q->out, &points);
	vec_done(&points);
	object__put(obj);
	return err;
}

int loader_apart__find(const struct object *obj, struct spot_points *ret)
{
	apart_cleanup struct apart a;

	apart__begin(&a, READ_LOADER, obj);
	return ask_for_points(&a, ret);
}

int refusals_apart__serve(struct reader_request *q)
{
	struct planned_func func = {};
	struct plan plan = { .object = apart__object(q), .funcs = &func, .n_funcs = 1 };
	struct spot_points points = {};
	struct alloc_funcs funcs = {};
	int err;

	/* all that is asked of the functions of the plan */
	func.usable = wire_in__bool(&q->in);
	err = plan.object ? alloc_funcs__get(&q->in, &funcs) : -ENOMEM;
	if (!err)
		err = refusals__find(&plan, &funcs, &points);
	spot_points__put(&q->out, &points);
	vec_done(&points);
	free(funcs.v);
	object__put(plan.object);
	return err;
}

int refusals_apart__find(const struct plan *p, const struct alloc_funcs *funcs, struct spot_points *ret)
{
	apart_cleanup struct apart a;

	apart__begin(&a, READ_REFUSALS, p->object);
	wire__u64(&a.args, refusals__may_pass_on(p));
	alloc_funcs__put(&a.args, funcs);
	return ask_for_points(&a, ret);
}

/* ---- lookalikes */

int lookalikes_apart__serve(struct reader_request *q)
{
	struct object *obj = apart__object(q);
	struct alloc_funcs funcs = {};
	int err = obj ? alloc_funcs__get(&q->in, &funcs) : -ENOMEM;
	_cleanup_free_ char *words = err ? NULL : lookalikes__of(obj, &funcs);

	wire__string(&q->out, words);
	free(funcs.v);
	object__put(obj);
	return err;
}

char *lookalikes_apart__of(const struct object *obj, const struct alloc_funcs *funcs)
{
	apart_cleanup struct apart a;
	const char *said;
	char *words;

	apart__begin(&a, READ_LOOKALIKES, obj);
	alloc_funcs__put(&a.args, funcs);
	if (apart__ask(&a))
		return NULL;
	said = wire_in__string(&a.in, WORDS_MAX);
	if (apart__settle(&a) || !said)
		return NULL;
	words = strdup(said);
	if (words)
		clean_name(words);
	return words;
}
