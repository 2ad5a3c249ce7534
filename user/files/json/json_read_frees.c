// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns how "free_sites" and "frees" are read. What always holds: each row names a
 * site and a free site that are there.
 */
#include <errno.h>

#include "files/json/json_fields.h"

/* Far beyond what malloctrace writes. */
#define FREE_SITES_MAX 2000000
#define FREES_MAX 8000000

static int read_where(struct reader *r, json_t *from, void *row)
{
	struct snap_free_site *to = row;

	to->function = "";
	return reader__row(r, from, to, &free_site_fields, "a free site") ?:
		       reader__process_of(r, from, &to->process)	  ?:
		       reader__end(r, from, &to->end)			  ?:
		       reader__stack(r, from, &to->n_stack, &to->stack);
}

static int read_free(struct reader *r, json_t *from, void *row)
{
	struct snap_free *to = row;
	int err;

	to->site = to->where = UINT32_MAX;
	err = reader__row(r, from, to, &free_fields, "frees") ?: reader__mean(r, from, to->calls, &to->lifetime_sum_ns);
	if (!err && to->site >= r->s->n_sites)
		err = err_set(r->e, -EINVAL, "frees: site: want the number of a site");
	if (!err && to->where >= r->s->n_free_sites)
		err = err_set(r->e, -EINVAL, "frees: where: want the number of a free site");
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
	s->recording.free_stacks = true;
	s->free_sites = wheres = snapshot__alloc(s, s->n_free_sites + 1, sizeof(*wheres));
	s->frees = rows = snapshot__alloc(s, s->n_frees + 1, sizeof(*rows));
	return reader__elements(r, *free_sites, "free_sites", read_where, wheres, sizeof(*wheres)) ?:
	       reader__elements(r, *frees, "frees", read_free, rows, sizeof(*rows));
}
