// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns what is given up when the archive is full. One rule: what is smallest is aggregated. Sites with the least live bytes
 * (of those with none, the fewest bytes allocated) lose their stacks, and become rows of their process, one for each function;
 * processes with the least live bytes become one row for all of them. Where blocks were freed goes before that, by process.
 *
 * What always holds: no figure of a total changes, and over the rows of a site's frees calls and bytes are what they were.
 */
#include <stdlib.h>

#include "model/frees.h"
#include "model/life.h"
#include "model/merge.h"
#include "model/schema.h"

/* Folded down to this share, so that it need not be done again at once. */
#define SLACK(n) ((n) - (n) / 8)

static uint64_t live_bytes(const struct kept_site *s)
{
	return s->row.c.alloc_bytes - s->row.c.free_bytes;
}

COMPARATOR(by_bytes_down, struct snap_thread, ORDER(b->c.alloc_bytes, a->c.alloc_bytes))

void life__fold_threads(struct life *l, size_t keep)
{
	if (l->ended_threads.n <= keep)
		return;
	qsort(l->ended_threads.v, l->ended_threads.n, sizeof(*l->ended_threads.v), by_bytes_down);
	for (size_t i = keep; i < l->ended_threads.n; i++) {
		l->more_ended.stands_for++;
		counters__add(&l->more_ended.c, &l->ended_threads.v[i].c);
		free((char *)l->ended_threads.v[i].comm);
	}
	l->ended_threads.n = keep;
}

bool kept__fold_into(struct kept *k, struct kept_site *s)
{
	if (!s->row.evicted_stacks && s->row.func != SITE_FUNC_SPARE)
		s->row.evicted_stacks = 1;
	for (size_t i = 0; i < k->bare.n; i++) {
		struct kept_site *to = &k->sites.v[k->bare.v[i]];

		if (to->row.func == s->row.func) {
			site__add(&to->row, &s->row);
			s->moves_to = k->bare.v[i];
			return true;
		}
	}
	return false;
}

/* ---- frees */

static void join_rows(struct archive *a, struct kept *k)
{
	size_t n = frees__join(k->frees.v, k->frees.n);

	a->n_frees -= k->frees.n - n;
	k->frees.n = n;
}

/* All of them become those of one place without a stack, a row for each site. */
static void fold_frees_of(struct archive *a, struct kept *k)
{
	if (!k->wheres.n || (k->wheres.n == 1 && !k->wheres.v[0].n_stack && k->frees.n <= k->sites.n))
		return;
	for (size_t i = 0; i < k->wheres.n; i++)
		kept_site__drop_stack(a, &k->wheres.v[i]);
	a->n_wheres -= k->wheres.n - 1;
	k->wheres.n = 1;
	k->wheres.v[0] = (struct kept_site){ .row = { .proc = k->wheres.v[0].row.proc, .func = SITE_FUNC_SPARE } };
	for (size_t i = 0; i < k->frees.n; i++)
		k->frees.v[i].where = k->frees.v[i].tid = 0;
	join_rows(a, k);
}

/* The sites are about to be where moves_to says. */
static void renumber_frees(struct archive *a, struct kept *k)
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

/* The same, in another life, of which those of `from` become part. */
static void move_frees(struct archive *a, struct kept *to, struct kept *from)
{
	struct kept_site *where = from->frees.n && !to->wheres.n ? vec_push(&to->wheres) : NULL;

	if (where) {
		where->row.func = SITE_FUNC_SPARE;
		a->n_wheres++;
	}
	for (size_t i = 0; i < from->frees.n && to->wheres.n; i++) {
		struct snap_free *row = vec_push(&to->frees);

		*row = from->frees.v[i];
		row->site = from->sites.v[row->site].moves_to;
		row->where = row->tid = 0;
		a->n_frees++;
	}
	join_rows(a, to);
}

/* ---- sites */

static void drop_folded(struct archive *a, struct kept *k)
{
	size_t to = 0;

	for (size_t i = 0; i < k->sites.n; i++)
		if (!k->sites.v[i].folded)
			k->sites.v[i].moves_to = to++;
	renumber_frees(a, k);
	to = 0;
	k->bare.n = 0;
	for (size_t i = 0; i < k->sites.n; i++) {
		if (k->sites.v[i].folded)
			continue;
		if (to != i)
			k->sites.v[to] = k->sites.v[i];
		if (!k->sites.v[to].n_stack)
			kept__note_bare(k, to);
		to++;
	}
	a->n_sites -= k->sites.n - to;
	k->sites.n = to;
}

struct choice {
	struct kept *kept;
	size_t site;
	uint64_t live_bytes, alloc_bytes;
};

COMPARATOR(by_size, struct choice,
	   ORDER(a->live_bytes, b->live_bytes) ?: ORDER(a->alloc_bytes, b->alloc_bytes))

/* The smallest lose their stacks until there is room. */
static void fold_sites(struct model *m)
{
	struct archive *a = &m->archive;
	struct vec(struct choice) all = {};
	size_t n_sites = a->n_sites;

	for (size_t i = 0; i < m->lives.n; i++) {
		struct kept *k = m->lives.v[i]->kept;

		for (size_t j = 0; k && j < k->sites.n; j++) {
			struct kept_site *s = &k->sites.v[j];
			struct choice *c = s->n_stack ? vec_push(&all) : NULL;

			if (c)
				*c = (struct choice){ k, j, live_bytes(s), s->row.c.alloc_bytes };
		}
	}
	if (all.n)
		qsort(all.v, all.n, sizeof(*all.v), by_size);
	for (size_t i = 0; i < all.n && (n_sites > SLACK(a->limits.sites) || a->n_frames > SLACK(a->limits.frames)); i++) {
		struct kept_site *s = &all.v[i].kept->sites.v[all.v[i].site];

		kept_site__drop_stack(a, s);
		s->folded = kept__fold_into(all.v[i].kept, s);
		if (!s->folded)
			kept__note_bare(all.v[i].kept, all.v[i].site);
		n_sites -= s->folded;
	}
	for (size_t i = 0; i < m->lives.n; i++)
		if (m->lives.v[i]->kept)
			drop_folded(a, m->lives.v[i]->kept);
	vec_done(&all);
}

/* ---- lives */

static void add_hist(struct mt_hist *sum, const struct mt_hist *h)
{
	for (int i = 0; i < MT_N_CLASSES; i++) {
		sum->size_allocs[i] += h->size_allocs[i];
		sum->size_frees[i] += h->size_frees[i];
		sum->lifetimes[i] += h->lifetimes[i];
	}
}

static void add_sums(struct life *sum, struct life *l)
{
	struct kept *to = sum->kept, *from = l->kept;

	to->row.unknown_frees += from->row.unknown_frees;
	to->row.probe_hits += from->row.probe_hits;
	to->row.frames += from->row.frames;
	to->row.lost_blocks += from->row.lost_blocks;
	to->row.lost_stacks += from->row.lost_stacks;
	to->row.missed_frees += from->row.missed_frees;
	to->row.n_untold += from->row.n_untold;
	counters__add(&to->row.untold, &from->row.untold);
	to->row.peak_bytes += from->row.peak_bytes;
	fields__merge(&variance_fields, &to->row.var, &from->row.var);
	add_hist(&to->row.hist, &from->row.hist);
	sum->row.unseen_ns = MAX(sum->row.unseen_ns, l->row.unseen_ns);
	sum->row.n_heaps_unread += l->row.n_heaps_unread;
	sum->row.unsure_blocks += MIN(l->row.unsure_blocks, UINT64_MAX - sum->row.unsure_blocks);
	life__fold_threads(l, 0);
	sum->more_ended.stands_for += l->more_ended.stands_for;
	counters__add(&sum->more_ended.c, &l->more_ended.c);
}

static void fold_life(struct model *m, struct life *l)
{
	struct kept *to, *from = l->kept;
	struct archive *a = &m->archive;

	/* the row that folded lives become part of */
	if (!m->others) {
		m->others = model__new_life(m);
		m->others->row.ended = true;
		m->others->kept = xcalloc(1, sizeof(*m->others->kept));
	}
	to = m->others->kept;
	add_sums(m->others, l);
	for (size_t i = 0; i < from->sites.n; i++) {
		struct kept_site *s = &from->sites.v[i], *row;

		kept_site__drop_stack(a, s);
		if (kept__fold_into(to, s))
			continue;
		row = vec_push(&to->sites);
		s->moves_to = to->sites.n - 1;
		row->row = s->row;
		a->n_sites++;
		kept__note_bare(to, to->sites.n - 1);
	}
	move_frees(a, to, from);
	to->live_bytes += from->live_bytes;
	a->n_sites -= from->sites.n;
	from->sites.n = 0;
	a->n_lives--;
	a->n_folded_lives++;
	l->folded = true;
}

COMPARATOR(by_live_bytes, struct life *const,
	   ORDER((*a)->kept->live_bytes, (*b)->kept->live_bytes) ?: ORDER((*a)->row.id, (*b)->row.id))

struct lives vec(struct life *);

/* Those with the least live bytes first. */
static void rank_lives(const struct model *m, struct lives *ret)
{
	for (size_t i = 0; i < m->lives.n; i++) {
		struct life *l = m->lives.v[i], **slot = l->kept && l != m->others ? vec_push(ret) : NULL;

		if (slot)
			*slot = l;
	}
	if (ret->n)
		qsort(ret->v, ret->n, sizeof(*ret->v), by_live_bytes);
}

/* Lives become part of one row until there is room. */
static void fold_lives(struct model *m)
{
	struct archive *a = &m->archive;
	struct lives all = {};

	rank_lives(m, &all);
	for (size_t i = 0; i < all.n && (a->n_lives > SLACK(a->limits.lives) || a->n_sites > SLACK(a->limits.sites)); i++)
		fold_life(m, all.v[i]);
	vec_done(&all);
	model__drop_folded(m);
}

static bool too_many_frees(const struct archive *a, bool slack)
{
	const struct archive_limits *l = &a->limits;

	return slack ? a->n_frees > SLACK(l->frees) || a->n_wheres > SLACK(l->sites) || a->n_frames > SLACK(l->frames) :
		       a->n_frees > l->frees || a->n_wheres > l->sites || a->n_frames > l->frames;
}

static void fold_frees(struct model *m)
{
	struct lives all = {};

	rank_lives(m, &all);
	for (size_t i = 0; i < all.n && too_many_frees(&m->archive, true); i++)
		fold_frees_of(&m->archive, all.v[i]->kept);
	vec_done(&all);
}

void archive__fold(struct model *m)
{
	struct archive *a = &m->archive;

	if (a->n_frees && too_many_frees(a, false))
		fold_frees(m);
	if (a->n_sites > a->limits.sites || a->n_frames > a->limits.frames)
		fold_sites(m);
	if (a->n_lives > a->limits.lives || a->n_sites > a->limits.sites)
		fold_lives(m);
}
