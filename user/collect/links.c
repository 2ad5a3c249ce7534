// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the rows of a cut that show where blocks were freed, and the giving back of
 * those of processes that have ended. Without --free-stacks there is no table, and
 * nothing happens. What always holds: a row is read from the bank that has come to
 * rest and from what the other one held when it did; one that is given back is all
 * zero before a program can find it.
 */
#include "collect/passes.h"

#include <string.h>

void links__init(struct links *l, const struct tables *t)
{
	*l = (struct links){ .tables = t };
	if (!t->n_links)
		return;
	l->rest = xcalloc(t->n_links, sizeof(*l->rest));
	l->seen = xcalloc(t->n_sites, sizeof(*l->seen));
}

void links__done(struct links *l)
{
	free(l->rest);
	free(l->seen);
	vec_done(&l->frees);
	vec_done(&l->wheres);
	*l = (struct links){};
}

static void add_where(struct links *l, uint32_t where, uint32_t first_spare)
{
	const struct mt_site *s = &l->tables->sites[where];
	struct snap_site *to;
	uint64_t stack;

	if (l->seen[where] == l->n_cuts)
		return;
	l->seen[where] = l->n_cuts;
	to = vec_push(&l->wheres);
	to->number = where;
	if (where >= first_spare) {
		to->proc = l->tables->procs[where - first_spare].number;
		to->func = SITE_FUNC_SPARE;
		return;
	}
	stack = __atomic_load_n(&s->stack, __ATOMIC_ACQUIRE);
	to->proc = s->proc;
	to->func = s->func;
	to->named_tid = s->tid;
	to->hash = s->hash;
	tables__stack(l->tables, stack, to);
}

static bool is_row(const struct tables *t, uint64_t key)
{
	return key && key != MT_LINK_GONE && MT_LINK_SITE(key) < t->n_sites && MT_LINK_WHERE(key) < t->n_sites;
}

void links__read(struct links *l, uint32_t bank, uint32_t first_spare, struct cut *cut)
{
	const struct tables *t = l->tables;

	l->n_cuts++;
	l->frees.n = l->wheres.n = 0;
	for (uint32_t i = 0; i < t->n_links; i++) {
		uint64_t key = __atomic_load_n(&t->links[i].key, __ATOMIC_ACQUIRE);
		struct mt_freed *rest = l->rest[i];
		struct snap_free *to;

		if (!is_row(t, key))
			continue;
		rest[bank] = t->links[i].bank[bank];
		/* made since, or charged to the other bank alone, which has not come to rest yet */
		if (!rest[0].calls && !rest[1].calls)
			continue;
		to = vec_push(&l->frees);
		add_where(l, MT_LINK_WHERE(key), first_spare);
		*to = (struct snap_free){
			.site = MT_LINK_SITE(key),
			.where = MT_LINK_WHERE(key),
			.tid = (int)MT_LINK_TID(key),
			.calls = rest[0].calls + rest[1].calls,
			.bytes = rest[0].bytes + rest[1].bytes,
			.cross_calls = rest[0].cross_calls + rest[1].cross_calls,
			.lifetime_sum_ns = __atomic_load_n(&t->links[i].lifetime_ns, __ATOMIC_RELAXED),
		};
	}
	cut->frees = l->frees.v;
	cut->n_frees = l->frees.n;
	cut->wheres = l->wheres.v;
	cut->n_wheres = l->wheres.n;
}

/* ---- rows that are given back */

/* A search passes it from now on; or ends at it, if it would end after it anyway. */
static void leave(const struct tables *t, uint32_t at)
{
	uint64_t gone = MT_LINK_GONE;

	__atomic_store_n(&t->links[at].key, gone, __ATOMIC_SEQ_CST);
	/* a program that has passed here may miss its own row once: two of them, which a cut adds up */
	while (!__atomic_load_n(&t->links[(at + 1) & (t->n_links - 1)].key, __ATOMIC_SEQ_CST) &&
	       __atomic_compare_exchange_n(&t->links[at].key, &gone, 0, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
		at = (at - 1) & (t->n_links - 1);
		gone = MT_LINK_GONE;
	}
}

void links__release(struct links *l, uint32_t first_spare, const struct sweep *sweep)
{
	const struct tables *t = l->tables;
	uint64_t n = 0;

	for (uint32_t i = 0; i < t->n_links; i++) {
		uint64_t key = __atomic_load_n(&t->links[i].key, __ATOMIC_ACQUIRE);
		uint32_t site;

		/* blocks are freed by their own process: both sites are its */
		if (!is_row(t, key))
			continue;
		site = MT_LINK_SITE(key);
		if (!sweep__is_dead(sweep, site < first_spare ? t->sites[site].proc : t->procs[site - first_spare].number))
			continue;
		memset(t->links[i].bank, 0, sizeof(t->links[i].bank));
		t->links[i].lifetime_ns = 0;
		memset(l->rest[i], 0, sizeof(l->rest[i]));
		leave(t, i);
		n++;
	}
	if (n)
		__atomic_fetch_sub(t->links_used, n, __ATOMIC_SEQ_CST);
}
