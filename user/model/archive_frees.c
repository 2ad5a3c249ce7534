// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns what is kept of where blocks were freed, of lives that left the kernel's
 * tables. What always holds: each row names a site and a place of the same life, and
 * over the rows of a site calls and bytes are what they were, whatever was folded.
 */
#include <errno.h>
#include <string.h>

#include "model/life.h"
#include "util/ids.h"

static void add(struct kept_free *sum, const struct kept_free *f)
{
	sum->calls += f->calls;
	sum->bytes += f->bytes;
	sum->cross_calls += f->cross_calls;
	sum->lifetime_ns += f->lifetime_ns;
}

/* Rows that have become the same are one. Without memory they stay several, which add up to the same. */
static void join_rows(struct archive *a, struct kept *k)
{
	struct key_ids rows = {};
	size_t n = 0;

	for (size_t i = 0; i < k->frees.n; i++) {
		struct kept_free f = k->frees.v[i];
		uint32_t at = 0;
		bool is_new = true;

		if (key_ids__get(&rows, (struct key){ f.site, f.where, f.tid }, &at, &is_new)) {
			memmove(&k->frees.v[n], &k->frees.v[i], (k->frees.n - i) * sizeof(f));
			n += k->frees.n - i;
			break;
		}
		if (is_new)
			k->frees.v[n++] = f;
		else
			add(&k->frees.v[at], &f);
	}
	a->n_frees -= k->frees.n - n;
	k->frees.n = n;
	key_ids__done(&rows);
}

/* ---- cut → kept */

static int keep_wheres(struct batch *b, const struct cut *cut, uint32_t *where_of)
{
	for (size_t i = 0; i < cut->n_wheres; i++) {
		const struct cut_site *row = &cut->wheres[i];
		struct life *l = row->proc < MT_PROC_NUMBERS ? b->leaving[row->proc] : NULL;
		struct kept_site *to = l ? vec_push(&l->kept->wheres) : NULL;

		if (!l)
			continue;
		if (!to)
			return -ENOMEM;
		b->archive->n_wheres++;
		where_of[row->site] = l->kept->wheres.n;
		if (batch__keep_stack(b, row, to))
			return -ENOMEM;
	}
	return 0;
}

int kept_frees__keep(struct batch *b, const struct cut *cut)
{
	_cleanup_free_ uint32_t *where_of = NULL;	/* by number: index + 1 */
	_cleanup_free_ struct life **life_of = NULL;	/* by number of the place */
	size_t n_numbers = 0;
	int err;

	for (size_t i = 0; i < cut->n_wheres; i++)
		n_numbers = MAX(n_numbers, cut->wheres[i].site + (size_t)1);
	if (!n_numbers)
		return 0;
	where_of = calloc(n_numbers, sizeof(*where_of));
	life_of = calloc(n_numbers, sizeof(*life_of));
	err = where_of && life_of ? keep_wheres(b, cut, where_of) : -ENOMEM;
	for (size_t i = 0; i < cut->n_wheres && !err; i++)
		if (where_of[cut->wheres[i].site])
			life_of[cut->wheres[i].site] = b->leaving[cut->wheres[i].proc];
	for (size_t i = 0; i < cut->n_frees && !err; i++) {
		const struct cut_free *f = &cut->frees[i];
		struct life *l = f->where < n_numbers ? life_of[f->where] : NULL;
		struct kept_free *to;

		if (!l || f->site >= b->n_numbers || !b->site_of[f->site])
			continue;
		to = vec_push(&l->kept->frees);
		if (!to)
			return -ENOMEM;
		*to = (struct kept_free){ b->site_of[f->site] - 1, where_of[f->where] - 1, f->tid, f->calls, f->bytes, f->cross_calls, f->lifetime_ns };
		b->archive->n_frees++;
	}
	return err;
}

void kept_frees__done(struct archive *a, struct kept *k)
{
	for (size_t i = 0; i < k->wheres.n; i++)
		kept_site__drop_stack(a, &k->wheres.v[i]);
	a->n_wheres -= k->wheres.n;
	a->n_frees -= k->frees.n;
	vec_done(&k->wheres);
	vec_done(&k->frees);
}

/* ---- folding */

void kept_frees__fold(struct archive *a, struct kept *k)
{
	if (!k->wheres.n || (k->wheres.n == 1 && !k->wheres.v[0].n_stack && k->frees.n <= k->sites.n))
		return;
	for (size_t i = 0; i < k->wheres.n; i++)
		kept_site__drop_stack(a, &k->wheres.v[i]);
	a->n_wheres -= k->wheres.n - 1;
	k->wheres.n = 1;
	k->wheres.v[0] = (struct kept_site){ .row = { .proc = k->wheres.v[0].row.proc, .func = CUT_FUNC_SPARE } };
	for (size_t i = 0; i < k->frees.n; i++)
		k->frees.v[i].where = k->frees.v[i].tid = 0;
	join_rows(a, k);
}

void kept_frees__renumber(struct archive *a, struct kept *k)
{
	bool any = false;

	for (size_t i = 0; i < k->frees.n; i++) {
		const struct kept_site *s = &k->sites.v[k->frees.v[i].site];

		any |= s->folded;
		k->frees.v[i].site = s->folded ? k->sites.v[s->moves_to].moves_to : s->moves_to;
	}
	if (any)
		join_rows(a, k);
}

void kept_frees__move(struct archive *a, struct kept *to, struct kept *from)
{
	struct kept_site *where = from->frees.n && !to->wheres.n ? vec_push(&to->wheres) : NULL;

	if (where) {
		where->row.func = CUT_FUNC_SPARE;
		a->n_wheres++;
	}
	for (size_t i = 0; i < from->frees.n && to->wheres.n; i++) {
		struct kept_free *row = vec_push(&to->frees);

		if (!row)
			break;
		*row = from->frees.v[i];
		row->site = from->sites.v[row->site].moves_to;
		row->where = row->tid = 0;
		a->n_frees++;
	}
	join_rows(a, to);
}
