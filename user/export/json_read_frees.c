// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns how "free_sites" and "frees" are read. What always holds: each row names a
 * site and a free site that are there.
 */
#include <errno.h>

#include "export/json_fields.h"

/* Far beyond what malloctrace writes. */
#define FREE_SITES_MAX 2000000
#define FREES_MAX 8000000

#define WHERE(name, type) { #name, type, offsetof(struct snap_free_site, name) }
#define FREED(name, type) { #name, type, offsetof(struct snap_free, name) }

static int read_where(struct reader *r, json_t *from, void *arg)
{
	static const struct field fields[] = { WHERE(function, FIELD_STR), WHERE(calls, FIELD_U64), WHERE(bytes, FIELD_U64) };
	struct snap_free_site *to = arg;

	to->function = "";
	return reader__fields(r, from, to, fields, ARRAY_SIZE(fields), "a free site") ?: reader__process_of(r, from, &to->process) ?:
	       reader__end(r, from, &to->end);
}

static int read_where_text(struct reader *r, const struct span *piece, void *arg)
{
	struct snap_free_site *to = arg;
	struct snap_site stack = {};
	int err = reader__stack_text(r, piece, &stack, read_where, to);

	to->stack = stack.stack;
	to->n_stack = stack.n_stack;
	return err;
}

static int read_row(struct reader *r, const struct span *piece, void *arg)
{
	static const struct field fields[] = {
		FREED(site, FIELD_U32), FREED(where, FIELD_U32), FREED(tid, FIELD_INT), FREED(thread, FIELD_STR), FREED(calls, FIELD_U64),
		FREED(bytes, FIELD_U64), FREED(cross_calls, FIELD_U64),
		{ "lifetime_mean_ns", FIELD_U64, offsetof(struct snap_free, lifetime_sum_ns) },
	};
	struct snap_free *to = arg;
	json_t *j = reader__parse(r, piece, "frees");
	int err;

	to->site = to->where = UINT32_MAX;
	err = j ? reader__fields(r, j, to, fields, ARRAY_SIZE(fields), "frees") : -EINVAL;
	json_decref(j);
	if (!err && to->site >= r->s->n_sites)
		err = err_set(r->e, -EINVAL, "frees: site: want the number of a site");
	if (!err && to->where >= r->s->n_free_sites)
		err = err_set(r->e, -EINVAL, "frees: where: want the number of a free site");
	/* its sum is not told; the mean is what all ask for */
	if (__builtin_mul_overflow(to->lifetime_sum_ns, to->calls, &to->lifetime_sum_ns))
		to->lifetime_sum_ns = UINT64_MAX;
	return err;
}

int reader__frees(struct reader *r, const struct span *free_sites, const struct span *frees)
{
	struct snapshot *s = r->s;
	struct snap_free_site *wheres;
	struct snap_free *rows;
	int err;

	if (!free_sites->at || !frees->at)
		return 0;
	err = reader__count(r, *free_sites, "free_sites", FREE_SITES_MAX, &s->n_free_sites) ?:
	      reader__count(r, *frees, "frees", FREES_MAX, &s->n_frees);
	if (err)
		return err;
	s->free_stacks = true;
	s->free_sites = wheres = snapshot__alloc(s, s->n_free_sites + 1, sizeof(*wheres));
	s->frees = rows = snapshot__alloc(s, s->n_frees + 1, sizeof(*rows));
	return reader__elements(r, *free_sites, "free_sites", read_where_text, wheres, sizeof(*wheres)) ?:
	       reader__elements(r, *frees, "frees", read_row, rows, sizeof(*rows));
}
