// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns nothing beyond a call. Only a C library is searched, and a program that may have one in it. */
#include "probe/loader.h"

#include <errno.h>
#include <string.h>

#include "probe/plan_apart.h"
#include "util/util.h"

static const struct {
	const char *name;
	enum mt_loader what;
} functions[] = {
	{ "dlopen", MT_LOADER_OPENS },
	{ "dlmopen", MT_LOADER_OPENS },
	{ "dlclose", MT_LOADER_CLOSES },
};

struct search {
	const struct object *obj;
	struct spot_points *points;
};

static int take(const struct object_symbol *sym, void *arg)
{
	struct search *s = arg;
	uint64_t offset;

	for (size_t i = 0; i < ARRAY_SIZE(functions) && !sym->ifunc && !sym->local; i++) {
		struct spot_point *p;

		if (strcmp(sym->name, functions[i].name) || !object__vaddr_to_offset(s->obj, sym->value, &offset))
			continue;
		/* several versions may be one */
		p = spot_points__at(s->points, offset);
		if (!p)
			return -ENOMEM;
		p->cookie = functions[i].what;
	}
	return 0;
}

int loader__find(const struct object *obj, struct spot_points *ret)
{
	const char *name = object__file_name(obj);
	struct search s = { obj, ret };

	if (!obj->is_elf || (!obj->is_exec && strncmp(name, "libc.so", 7) && strncmp(name, "libc-", 5) &&
			     strncmp(name, "libdl", 5)))
		return 0;
	if (readers__are_apart())
		return loader_apart__find(obj, ret);
	return object__for_each_function(obj, take, &s, NULL) == -ENOMEM ? -ENOMEM : 0;
}
