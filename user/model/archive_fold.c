// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns what is given up when the archive is full: the least interesting is folded,
 * which keeps its sums and loses its stacks. Before that, lives of one program become one row, which loses
 * nothing but who of them did what (archive_kinds.c). First where blocks were freed, of the
 * lives with the least live bytes (archive_frees.c). Then sites of which nothing is
 * live, those with the fewest bytes allocated before others, into a row of their life
 * without a stack, one for each function, as sites are in that were given up while it lived. Then more lives of a program become part
 * of its row, in the end all. Only then whole lives, those with the least live
 * bytes first, into one row for all of them. If a few lives have more sites than there
 * is room for, those with the least live bytes.
 *
 * What always holds: no figure of a total changes.
 */
#include <stdlib.h>

#include "model/life.h"

/* Folded down to this share, so that it need not be done again at once. */
#define SLACK(n) ((n) - (n) / 8)
/* Lives of a program that are kept apart from its row, at first and later. */
static const size_t apart[] = { 16, 4, 0 };

static uint64_t live_bytes(const struct kept_site *s)
{
	return s->row.counts.alloc_bytes - s->row.counts.free_bytes;
}

static int by_bytes_down(const void *x, const void *y)
{
	const struct life_thread *a = x, *b = y;

	return a->counts.alloc_bytes < b->counts.alloc_bytes ? 1 : a->counts.alloc_bytes > b->counts.alloc_bytes ? -1 : 0;
}

void life__fold_threads(struct life *l, size_t keep)
{
	if (l->ended_threads.n <= keep)
		return;
	qsort(l->ended_threads.v, l->ended_threads.n, sizeof(*l->ended_threads.v), by_bytes_down);
	for (size_t i = keep; i < l->ended_threads.n; i++) {
		l->n_more_ended++;
		thread_counts__add(&l->more_ended, &l->ended_threads.v[i].counts);
	}
	l->ended_threads.n = keep;
}

bool kept__fold_into(struct kept *k, struct kept_site *s)
{
	if (!s->row.n_evicted && s->row.func != CUT_FUNC_SPARE)
		s->row.n_evicted = 1;
	for (size_t i = 0; i < k->bare.n; i++) {
		struct kept_site *to = &k->sites.v[k->bare.v[i]];

		if (to->row.func == s->row.func) {
			cut_site__add(&to->row, &s->row);
			to->since_baseline_bytes += s->since_baseline_bytes;
			s->moves_to = k->bare.v[i];
			return true;
		}
	}
	return false;
}

static void drop_folded(struct archive *a, struct kept *k)
{
	size_t to = 0;

	for (size_t i = 0; i < k->sites.n; i++)
		if (!k->sites.v[i].folded)
			k->sites.v[i].moves_to = to++;
	kept_frees__renumber(a, k);
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
	uint64_t weight;
};

static int by_weight(const void *x, const void *y)
{
	const struct choice *a = x, *b = y;

	return a->weight < b->weight ? -1 : a->weight > b->weight;
}

static bool too_much(const struct archive *a, bool slack)
{
	const struct archive_limits *l = &a->limits;

	return slack ? a->n_sites > SLACK(l->sites) || a->n_frames > SLACK(l->frames) :
		       a->n_sites > l->sites || a->n_frames > l->frames;
}

/* Sites lose their stacks until there is room: those of which nothing is live, or any. */
static void fold_sites(struct model *m, bool any)
{
	struct archive *a = &m->archive;
	struct vec(struct choice) all = {};
	size_t n_sites = a->n_sites;

	for (size_t i = 0; i < m->lives.n; i++) {
		struct kept *k = m->lives.v[i]->kept;

		for (size_t j = 0; k && j < k->sites.n; j++) {
			struct kept_site *s = &k->sites.v[j];
			struct choice *c = s->n_stack && (any || !kept_site__is_live(s)) ? vec_push(&all) : NULL;

			if (c)
				*c = (struct choice){ k, j, kept_site__is_live(s) ? live_bytes(s) : s->row.counts.alloc_bytes };
		}
	}
	if (all.n)
		qsort(all.v, all.n, sizeof(*all.v), by_weight);
	for (size_t i = 0;
	     i < all.n && (n_sites > SLACK(a->limits.sites) || a->n_frames > SLACK(a->limits.frames)); i++) {
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

static void add_hist(struct mt_hist *sum, const struct mt_hist *h)
{
	for (int i = 0; i < MT_N_CLASSES; i++) {
		sum->size_allocs[i] += h->size_allocs[i];
		sum->size_frees[i] += h->size_frees[i];
		sum->lifetimes[i] += h->lifetimes[i];
	}
}

/* The row that folded lives become part of. */
static struct life *others_of(struct model *m)
{
	if (!m->others) {
		m->others = model__new_life(m);
		if (m->others) {
			m->others->ended = true;
			m->others->kept = calloc(1, sizeof(*m->others->kept));
		}
	}
	return m->others && m->others->kept ? m->others : NULL;
}

void life__add_sums(struct life *sum, struct life *l)
{
	struct kept *to = sum->kept, *from = l->kept;

	to->row.unknown_frees += from->row.unknown_frees;
	to->row.probe_hits += from->row.probe_hits;
	to->row.frames += from->row.frames;
	to->row.lost_blocks += from->row.lost_blocks;
	to->row.lost_stacks += from->row.lost_stacks;
	to->row.missed_frees += from->row.missed_frees;
	to->row.n_untold += from->row.n_untold;
	thread_counts__add(&to->row.untold, &from->row.untold);
	to->row.peak_bytes += from->row.peak_bytes;
	cut_error__add(&to->row.var, &from->row.var);
	add_hist(&to->row.hist, &from->row.hist);
	sum->n_heaps_unread += l->n_heaps_unread;
	sum->unsure_blocks += MIN(l->unsure_blocks, UINT64_MAX - sum->unsure_blocks);
	life__fold_threads(l, 0);
	sum->n_more_ended += l->n_more_ended;
	thread_counts__add(&sum->more_ended, &l->more_ended);
}

static bool fold_life(struct model *m, struct life *l)
{
	struct life *others = others_of(m);
	struct kept *to = others ? others->kept : NULL, *from = l->kept;
	struct archive *a = &m->archive;

	if (!to)
		return false;
	life__add_sums(others, l);
	for (size_t i = 0; i < from->sites.n; i++) {
		struct kept_site *s = &from->sites.v[i], *row;

		kept_site__drop_stack(a, s);
		if (kept__fold_into(to, s))
			continue;
		row = vec_push(&to->sites);
		if (!row)
			continue;
		s->moves_to = to->sites.n - 1;
		row->row = s->row;
		row->since_baseline_bytes = s->since_baseline_bytes;
		a->n_sites++;
		kept__note_bare(to, to->sites.n - 1);
	}
	kept_frees__move(a, to, from);
	to->live_bytes += from->live_bytes;
	a->n_lives--;
	a->n_folded_lives += MAX(l->n_members, 1u);
	return true;
}

static int by_live_bytes(const void *x, const void *y)
{
	const struct life *a = *(struct life *const *)x, *b = *(struct life *const *)y;

	if (a->kept->live_bytes != b->kept->live_bytes)
		return a->kept->live_bytes < b->kept->live_bytes ? -1 : 1;
	return a->id < b->id ? -1 : a->id > b->id;
}

struct lives {
	struct vec(struct life *) v;
};

static void rank_lives(const struct model *m, struct lives *ret)
{
	for (size_t i = 0; i < m->lives.n; i++) {
		struct life *l = m->lives.v[i], **slot = l->kept && l != m->others ? vec_push(&ret->v) : NULL;

		if (slot)
			*slot = l;
	}
	if (ret->v.n)
		qsort(ret->v.v, ret->v.n, sizeof(*ret->v.v), by_live_bytes);
}

/* Lives become part of one row until there is room, but for a few of the largest. */
static void fold_lives(struct model *m)
{
	struct archive *a = &m->archive;
	struct lives all = {};
	size_t few = a->limits.lives / 16;

	rank_lives(m, &all);
	for (size_t i = 0; i < all.v.n && (a->n_lives > SLACK(a->limits.lives) || (too_much(a, true) && a->n_lives > few)); i++)
		if (fold_life(m, all.v.v[i]))
			all.v.v[i]->folded = true;
	vec_done(&all.v);
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
	for (size_t i = 0; i < all.v.n && too_many_frees(&m->archive, true); i++)
		kept_frees__fold(&m->archive, all.v.v[i]->kept);
	vec_done(&all.v);
}

void archive__fold(struct model *m)
{
	struct archive *a = &m->archive;

	if (a->n_frees && too_many_frees(a, false))
		fold_frees(m);
	for (size_t i = 0; i < ARRAY_SIZE(apart) && (a->n_lives > a->limits.lives || too_much(a, false)); i++) {
		archive__merge_programs(m, apart[i]);
		if (too_much(a, false))
			fold_sites(m, false);
	}
	if (a->n_lives > a->limits.lives || too_much(a, false))
		fold_lives(m);
	if (too_much(a, false))
		fold_sites(m, true);
}
