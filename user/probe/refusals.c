// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns nothing beyond a call. */
#include "probe/refusals.h"

#include <errno.h>
#include <string.h>

#include "probe/plan_apart.h"
#include "util/util.h"

/* Makes room for an exception, in all C++ runtimes that follow the common ABI. */
#define MAKES_EXCEPTION "__cxa_allocate_exception"

/* Which files have it, besides programs. */
static const char *const runtimes[] = { "libstdc++.so", "libc++abi.so", "libc++.so" };

bool refusals__may_throw(const struct plan *p, const struct alloc_funcs *funcs)
{
	for (size_t i = 0; i < p->n_funcs; i++)
		if (funcs->v[p->funcs[i].func].flags & FUNC_THROWS)
			return true;
	return false;
}

bool refusals__may_pass_on(const struct plan *p)
{
	for (size_t i = 0; i < p->n_funcs; i++)
		if (p->funcs[i].usable)
			return true;
	return false;
}

static bool is_runtime(const struct object *obj)
{
	const char *name = object__file_name(obj);

	for (size_t i = 0; i < ARRAY_SIZE(runtimes); i++)
		if (!strncmp(name, runtimes[i], strlen(runtimes[i])))
			return true;
	return obj->is_exec;
}

struct search {
	const struct object *obj;
	const struct alloc_funcs *funcs;
	bool exceptions, passing_on;
	struct spot_points *points;
};

/* What a point on this function is to report; false: nothing. */
static bool is_selected(const struct search *s, const char *name, uint64_t *ret_cookie)
{
	*ret_cookie = (uint64_t)MT_AT_THROW << MT_COOKIE_AT_SHIFT;
	if (s->exceptions && !strcmp(name, MAKES_EXCEPTION))
		return true;
	for (size_t i = 0; i < s->funcs->n && s->passing_on; i++)
		if (s->funcs->v[i].flags & FUNC_PASSES_ON && !strcmp(name, s->funcs->v[i].name)) {
			*ret_cookie = alloc_funcs__cookie(s->funcs, i) | (uint64_t)MT_AT_OVERFLOW << MT_COOKIE_AT_SHIFT;
			return true;
		}
	return false;
}

static int take(const struct object_symbol *sym, void *arg)
{
	struct search *s = arg;
	uint64_t offset, cookie;
	struct spot_point *p;

	if (sym->ifunc || !is_selected(s, sym->name, &cookie) || !object__vaddr_to_offset(s->obj, sym->value, &offset))
		return 0;
	p = spot_points__at(s->points, offset);
	if (p && !p->cookie)
		p->cookie = cookie;
	return p ? 0 : -ENOMEM;
}

int refusals__find(const struct plan *p, const struct alloc_funcs *funcs, struct spot_points *ret)
{
	struct search s = { p->object, funcs, is_runtime(p->object), refusals__may_pass_on(p), ret };

	if (!p->object->is_elf || (!s.exceptions && !s.passing_on))
		return 0;
	if (readers__are_apart())
		return refusals_apart__find(p, funcs, ret);
	return object__for_each_function(p->object, take, &s, NULL) == -ENOMEM ? -ENOMEM : 0;
}
