// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the joining of rows of a cut that are about the same: a stack has two sites, or
 * a pair of sites two rows of frees, if an index that places were given back in was
 * searched at the wrong moment; and code that came back to where it was has sites from before and from
 * after. What always holds: sums stay, the number of the
 * first one stays, and no row of frees names another.
 */
#include <errno.h>
#include <string.h>

#include "bpf/hash.h"
#include "collect/recycle.h"
#include "model/frees.h"
#include "model/merge.h"
#include "util/ids.h"

struct renamed {
	uint32_t from, to;	/* numbers of sites */
};

struct renames vec(struct renamed);

/* The same addresses: do they mean the same? */
static bool is_same_code(const struct snap_site *a, const struct snap_site *b, const struct code_calls *code)
{
	return !array_first(one, a->frames, a->n_frames, !code->is_same(a->proc, *one, a->met_ns, b->met_ns,
			code->arg));
}

static bool is_same(const struct snap_site *a, const struct snap_site *b, const struct code_calls *code)
{
	return (code || a->hash == b->hash) && a->proc == b->proc && a->func == b->func && a->named_tid == b->named_tid &&
	       a->n_frames == b->n_frames && a->end == b->end &&
	       !memcmp(a->frames, b->frames, a->n_frames * sizeof(*a->frames)) &&
	       (a->hash == b->hash || is_same_code(a, b, code));
}

/* What is equal if they are the same. */
static uint64_t key_of(const struct snap_site *s, const struct code_calls *code)
{
	uint64_t key = s->proc;

	if (!code)
		return mt_mix(s->hash);
	for (uint32_t i = 0; i < s->n_frames; i++)
		key = mt_mix(key ^ s->frames[i]);
	return key;
}

static void join(struct snap_site *to, const struct snap_site *s, struct renames *renames)
{
	*vec_push(renames) = (struct renamed){ s->number, to->number };
	site__add(to, s);
	/* of one process: there was an instant at which they held this together */
	if (to->c.peak_bytes == to->at_peak_bytes || to->c.peak_bytes == to->c.alloc_bytes - to->c.free_bytes)
		to->peak_at_most = false;
}

struct want {
	const struct snap_site *v, *site;
	const struct code_calls *code;
};

static bool same_row(const void *arg, uint32_t number)
{
	const struct want *want = arg;

	return is_same(&want->v[number], want->site, want->code);
}

static void join_sites(struct snap_site *v, size_t *n, const struct code_calls *code, struct renames *renames)
{
	struct id_table rows = {};
	size_t to = 0;

	id_table__init(&rows, *n);
	for (size_t i = 0; i < *n; i++) {
		struct want want = { v, &v[i], code };
		uint32_t *row = v[i].n_frames ? id_table__find(&rows, key_of(&v[i], code), same_row, &want) : NULL;

		if (row && *row) {
			join(&v[*row - 1], &v[i], renames);
			continue;
		}
		if (row)
			*row = to + 1;
		v[to++] = v[i];
	}
	id_table__done(&rows);
	*n = to;
}

/* Such moments are rare. */
static uint32_t new_name(const struct renames *renames, uint32_t site)
{
	const struct renamed *r = vec_first(x, renames, x->from == site);

	return r ? r->to : site;
}

static void join_frees(struct cut *cut, const struct renames *sites, const struct renames *wheres)
{
	for (size_t i = 0; i < cut->n_frees; i++) {
		cut->frees[i].site = new_name(sites, cut->frees[i].site);
		cut->frees[i].where = new_name(wheres, cut->frees[i].where);
	}
	cut->n_frees = frees__join(cut->frees, cut->n_frees);
}

void collect__merge_repeats(struct cut *cut, const struct code_calls *code)
{
	struct renames sites = {}, wheres = {};

	join_sites(cut->sites, &cut->n_sites, code, &sites);
	if (cut->n_frees) {
		join_sites(cut->wheres, &cut->n_wheres, code, &wheres);
		join_frees(cut, &sites, &wheres);
	}
	vec_done(&sites);
	vec_done(&wheres);
}
