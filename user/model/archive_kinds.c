// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns what lives of one program have in common: a build starts a thousand compilers, which go through the same
 * stacks. When the archive is full, lives of one program (name, file and cgroup) become one row, but for those that hold the most, as
 * long as there is room for these; sites of theirs with the same function and stack become one, so nothing that is held loses its stack.
 *
 * What always holds: no figure of a total changes.
 */
#include <stdlib.h>
#include <string.h>

#include "model/life.h"

static int by_program(const struct life *a, const struct life *b)
{
	int comm = strcmp(a->comm ? a->comm : "", b->comm ? b->comm : ""), exe = strcmp(a->exe ? a->exe : "", b->exe ? b->exe : "");

	return comm ? comm : exe ? exe : strcmp(a->cgroup ? a->cgroup : "", b->cgroup ? b->cgroup : "");
}

/* By program; of one, the row of several first, then those that hold the most. */
static int by_program_and_worth(const void *x, const void *y)
{
	const struct life *a = *(struct life *const *)x, *b = *(struct life *const *)y;
	int program = by_program(a, b);

	if (program)
		return program;
	if (!a->n_members != !b->n_members)
		return a->n_members ? -1 : 1;
	if (a->kept->live_bytes != b->kept->live_bytes)
		return a->kept->live_bytes > b->kept->live_bytes ? -1 : 1;
	return a->id < b->id ? -1 : a->id > b->id;
}

/* ---- sites */

static uint64_t hash_of(const struct kept_site *s)
{
	uint64_t hash = s->row.func;

	for (uint32_t i = 0; i < s->n_stack; i++)
		hash = hash__mix(hash, (uintptr_t)s->stack[i]);
	return hash;
}

struct wanted {
	const struct kept *in;
	const struct kept_site *site;
};

/* Values are places in the list of sites, from 1 on. Stacks are lists of places that there are once. */
static bool is_same(const void *value, const void *arg)
{
	const struct wanted *w = arg;
	const struct kept_site *a = &w->in->sites.v[(uintptr_t)value - 1], *b = w->site;

	return a->row.func == b->row.func && a->row.tid == b->row.tid && a->row.end == b->row.end && a->n_stack == b->n_stack &&
	       !memcmp(a->stack, b->stack, b->n_stack * sizeof(*b->stack));
}

static int list_site(struct hash *known, const struct kept *k, size_t i)
{
	return hash__add(known, hash_of(&k->sites.v[i]), (void *)(i + 1));
}

/* It becomes part of one that there is, or goes over as it is. False, without memory: it stays. */
static bool move_site(struct archive *a, struct hash *known, struct kept *to, struct kept_site *s)
{
	struct wanted want = { to, s };
	void *found = hash__find(known, hash_of(s), is_same, &want);
	struct kept_site *same = found ? &to->sites.v[(uintptr_t)found - 1] : vec_push(&to->sites);

	if (!same)
		return false;
	if (found) {
		cut_site__add(&same->row, &s->row);
		same->since_baseline_bytes += s->since_baseline_bytes;
		/* that of one of them says nothing of the sum */
		a->n_points -= same->course.points.n;
		course__done(&same->course);
		kept_site__drop_stack(a, s);
		return true;
	}
	*same = *s;
	*s = (struct kept_site){};
	a->n_sites++;
	/* one that could not be listed gets nothing added to it: there are two rows of one stack then */
	if (!same->n_stack)
		kept__note_bare(to, to->sites.n - 1);
	list_site(known, to, to->sites.n - 1);
	return true;
}

/* ---- lives */

/* The first n of its sites are another's now. */
static void drop_moved(struct archive *a, struct kept *k, size_t n)
{
	k->sites.n -= n;
	memmove(k->sites.v, k->sites.v + n, k->sites.n * sizeof(*k->sites.v));
	a->n_sites -= n;
	k->bare.n = 0;
	for (size_t i = 0; i < k->sites.n; i++)
		if (!k->sites.v[i].n_stack)
			kept__note_bare(k, i);
}

static void absorb(struct model *m, struct hash *known, struct life *to, struct life *l)
{
	uint64_t moved_bytes = 0;
	size_t n = 0;

	for (; n < l->kept->sites.n; n++) {
		const struct mt_counts *counts = &l->kept->sites.v[n].row.counts;
		uint64_t live_bytes = counts->alloc_bytes - counts->free_bytes;

		if (!move_site(&m->archive, known, to->kept, &l->kept->sites.v[n]))
			break;
		moved_bytes += live_bytes;
	}
	to->kept->live_bytes += moved_bytes;
	l->kept->live_bytes -= MIN(moved_bytes, l->kept->live_bytes);
	/* what there is no memory for stays where it is, and its life with it */
	if (n < l->kept->sites.n) {
		drop_moved(&m->archive, l->kept, n);
		return;
	}
	life__add_sums(to, l);
	to->n_members++;
	to->unseen_ns = MAX(to->unseen_ns, l->unseen_ns);
	l->folded = true;
	m->archive.n_lives--;
}

static struct life *row_for(struct model *m, const struct life *like)
{
	struct life *l = model__new_life(m);

	if (!l)
		return NULL;
	l->kept = calloc(1, sizeof(*l->kept));
	l->comm = strdup(like->comm ? like->comm : "");
	l->exe = strdup(like->exe ? like->exe : "");
	l->cgroup = like->cgroup ? strdup(like->cgroup) : NULL;
	l->container = like->container ? strdup(like->container) : NULL;
	l->pod = like->pod ? strdup(like->pod) : NULL;
	l->unit = like->unit ? strdup(like->unit) : NULL;
	l->runtime = like->runtime;
	l->ended = true;
	if (!l->kept || !l->comm || !l->exe) {
		l->folded = true;
		return NULL;
	}
	m->archive.n_lives++;
	return l;
}

/* v: those of one program, in order. */
static void merge_program(struct model *m, struct life **v, size_t n, size_t apart)
{
	struct life *to = v[0]->n_members ? v[0] : NULL;
	size_t from = apart + (to != NULL);
	struct hash known = {};
	int err = 0;

	/* --free-stacks: their rows name sites by number */
	if (n <= from + 1 || m->archive.n_frees)
		return;
	if (!to)
		to = row_for(m, v[0]);
	for (size_t i = 0; to && i < to->kept->sites.n && !err; i++)
		err = list_site(&known, to->kept, i);
	for (size_t i = from; i < n && to && !err; i++)
		absorb(m, &known, to, v[i]);
	hash__done(&known);
}

void archive__merge_programs(struct model *m, size_t apart)
{
	struct vec(struct life *) all = {};

	for (size_t i = 0; i < m->lives.n; i++) {
		struct life *l = m->lives.v[i], **slot = l->kept && l != m->others ? vec_push(&all) : NULL;

		if (slot)
			*slot = l;
	}
	if (all.n)
		qsort(all.v, all.n, sizeof(*all.v), by_program_and_worth);
	for (size_t i = 0, end; i < all.n; i = end) {
		for (end = i + 1; end < all.n && !by_program(all.v[i], all.v[end]); end++)
			;
		merge_program(m, all.v + i, end - i, apart);
	}
	vec_done(&all);
	model__drop_folded(m);
}
