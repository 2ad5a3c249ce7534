// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns nothing beyond a call. The symbols are dynamic ones, which a stripped file has as well. */
#include "script/python_file.h"

#include <errno.h>
#include <string.h>

#include "elf/symtab.h"
#include "util/util.h"

#define EVAL "_PyEval_EvalFrameDefault"

/* Compilers put code that is seldom run elsewhere, as EVAL.cold; such names are in files that were not stripped. */
static int take_function(const struct object_symbol *sym, void *arg)
{
	struct python_file *f = arg;
	size_t len = strlen(EVAL);

	if (sym->ifunc || strncmp(sym->name, EVAL, len) || (sym->name[len] && sym->name[len] != '.') || !sym->size || f->n_eval == MT_PYTHON_RANGES)
		return 0;
	for (size_t i = 0; i < f->n_eval; i++)
		if (f->eval[i].start == sym->value)
			return 0;
	f->eval[f->n_eval].start = sym->value;
	f->eval[f->n_eval++].end = sym->value + sym->size;
	return 0;
}

void python_file__read(struct object *obj, struct python_file *ret)
{
	const struct {
		const char *name;
		uint64_t *at;
	} wanted[] = {
		{ "_PyRuntime", &ret->runtime },
		{ "PyCode_Type", &ret->code_type },
		{ "Py_Version", &ret->version },
	};
	struct variables all;

	*ret = (struct python_file){};
	object__for_each_function(obj, take_function, ret);
	if (!ret->n_eval)
		return;
	variables__read(obj, NULL, &all);
	for (size_t i = 0; i < all.n; i++)
		for (size_t k = 0; k < ARRAY_SIZE(wanted); k++)
			if (!strcmp(variable__name(&all, &all.v[i]), wanted[k].name))
				*wanted[k].at = all.v[i].start;
	variables__done(&all);
	if (!ret->code_type)
		ret->runtime = 0;
	else
		object__initial_address(obj, ret->code_type + PYTHON_TP_DEALLOC, &ret->dealloc);
}
