// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* What always holds: what is left names rows that are there; nothing of the other snapshot is changed. */
#include "model/remap.h"

#include <string.h>

#include "model/heaps.h"
#include "model/same_sites.h"
#include "util/util.h"

/* ---- rows of any list */

static uint32_t mapped(const struct remap *map, enum profile_table t, uint32_t index)
{
	return map->of[t] ? map->of[t][index] : index + map->base[t];
}

const uint32_t *remap__stack(struct snapshot *to, const struct remap *map, const uint32_t *stack, uint32_t n)
{
	uint32_t *v;

	if (!map->of[TABLE_PLACES] && !map->base[TABLE_PLACES])
		return stack;
	v = snapshot__alloc(to, n + (size_t)1, sizeof(*v));
	for (uint32_t i = 0; i < n; i++)
		v[i] = mapped(map, TABLE_PLACES, stack[i]);
	return v;
}

/* False: what it refers to is gone. */
static bool map_index(const struct remap *map, const struct member *m, uint32_t *at)
{
	uint32_t plus = m->none == INDEX_PLUS_1, index;

	if (m->none == INDEX_OR_MINUS_1 && *at == UINT32_MAX)
		return true;
	if (plus && !*at)
		return m->table != TABLE_SITES || !map->drop_older;
	index = mapped(map, m->table, *at - plus);
	*at = index + plus;
	return index != ROW_GONE;
}

static bool refers(const struct member *of)
{
	for (const struct member *m = of; m && m->kind; m++)
		if (m->kind == MEMBER_INDEX || m->kind == MEMBER_STACK || refers(m->members))
			return true;
	return false;
}

static size_t map_rows(struct snapshot *to, const struct member *m, const void *from, size_t n,
		       void *v, const struct remap *map, uint32_t *went);

static void map_list(struct snapshot *to, const struct member *m, void *row,
		     const struct remap *map)
{
	const void **rows = (const void **)((char *)row + m->offset);
	size_t n = member__count(m, row);
	void *v = snapshot__alloc(to, n + 1, m->size);

	member__set_count(m, row, map_rows(to, m, *rows, n, v, map, NULL));
	*rows = v;
}

static bool map_row(struct snapshot *to, const struct member *of, void *row,
		    const struct remap *map)
{
	bool is_there = true;

	for (const struct member *m = of; m && m->kind && is_there; m++) {
		void *at = (char *)row + m->offset;
		const uint32_t **stack = at;

		if (m->kind == MEMBER_INDEX)
			is_there = map_index(map, m, at);
		else if (m->kind == MEMBER_STACK)
			*stack = remap__stack(to, map, *stack, (uint32_t)member__count(m, row));
		else if (m->kind == MEMBER_ROWS && refers(m->members))
			map_list(to, m, row, map);
	}
	return is_there;
}

static size_t map_rows(struct snapshot *to, const struct member *m, const void *from, size_t n,
		       void *v, const struct remap *map, uint32_t *went)
{
	size_t n_left = 0;

	for (size_t i = 0; i < n; i++) {
		char *row = (char *)v + n_left * m->size;
		bool is_there = !went || went[i] != ROW_GONE;

		if (is_there) {
			memcpy(row, (const char *)from + i * m->size, m->size);
			is_there = map_row(to, m->members, row, map);
		}
		if (went)
			went[i] = is_there ? (uint32_t)n_left : ROW_GONE;
		n_left += is_there;
	}
	return n_left;
}

size_t rows__remap(struct snapshot *to, enum profile_table t, const void *from, size_t n, void *v,
		   const struct remap *map, uint32_t *went)
{
	return map_rows(to, table__member(t), from, n, v, map, went);
}

/* ---- frees */

/* Each once, of no frees yet. went: of which row each of n_from became part. */
static void merge_wheres(struct snap_site *v, size_t *n, uint32_t *went, size_t n_from)
{
	_cleanup_free_ uint32_t *row_of = xcalloc(*n + 1, sizeof(*row_of));
	struct same_sites same;
	bool is_new;

	same_sites__init(&same, v, *n);
	for (size_t i = 0; i < *n; i++) {
		same_sites__get(&same, &v[i], v[i].process, NULL, &row_of[i], &is_new);
		if (!is_new)
			continue;
		v[row_of[i]] = v[i];
		v[row_of[i]].c = (struct counters){};
	}
	*n = same.n;
	for (size_t i = 0; i < n_from; i++)
		if (went[i] != ROW_GONE)
			went[i] = row_of[went[i]];
	same_sites__done(&same);
}

static void map_frees(struct snapshot *to, const struct snapshot *from, const struct remap *map)
{
	_cleanup_free_ uint32_t *where_of = xcalloc(from->n_free_sites + 1, sizeof(*where_of));
	struct snap_site *wheres = snapshot__alloc(to, from->n_free_sites + 1, sizeof(*wheres));
	struct snap_free *frees = snapshot__alloc(to, from->n_frees + 1, sizeof(*frees));
	struct remap to_wheres = *map;

	to->n_free_sites = rows__remap(to, TABLE_FREE_SITES, from->free_sites, from->n_free_sites,
				       wheres, map, where_of);
	merge_wheres(wheres, &to->n_free_sites, where_of, from->n_free_sites);
	to_wheres.of[TABLE_FREE_SITES] = where_of;
	to->n_frees = rows__remap(to, TABLE_FREES, from->frees, from->n_frees, frees, &to_wheres,
				  NULL);
	for (size_t i = 0; i < to->n_frees; i++) {
		wheres[frees[i].where].c.free_calls += frees[i].calls;
		wheres[frees[i].where].c.free_bytes += frees[i].bytes;
	}
	to->free_sites = wheres;
	to->frees = frees;
}

/* ---- all of them */

const struct snap_heap *heaps__named(struct snapshot *to, const struct snapshot *from)
{
	struct snap_heap *v = snapshot__copy(to, from->heaps, from->n_heaps, sizeof(*v));

	for (size_t i = 0; i < from->n_heaps; i++) {
		v[i].pid = heap__pid(from, &from->heaps[i]);
		v[i].comm = heap__comm(from, &from->heaps[i]);
	}
	return v;
}

void snapshot__remap(struct snapshot *to, const struct snapshot *from, const struct remap *map)
{
	struct snap_mark *marks = snapshot__alloc(to, from->n_marks + 1, sizeof(*marks));
	struct snap_heap *heaps = snapshot__alloc(to, from->n_heaps + 1, sizeof(*heaps));

	to->n_marks = rows__remap(to, TABLE_MARKS, from->marks, from->n_marks, marks, map, NULL);
	to->marks = marks;
	to->n_heaps = rows__remap(to, TABLE_HEAPS, heaps__named(to, from), from->n_heaps, heaps,
				  map, NULL);
	to->heaps = heaps;
	map_frees(to, from, map);
}

void snapshot__count_ends(struct snapshot *s)
{
	memset(s->stacks_by_end, 0, sizeof(s->stacks_by_end));
	for (size_t i = 0; i < s->n_sites; i++)
		if (s->sites[i].n_stack)
			s->stacks_by_end[MIN(s->sites[i].end, SNAPSHOT_N_ENDS - 1)]++;
}

/* ---- lists */

void lists__init(struct lists *l, const uint32_t *went, size_t n, size_t n_lists)
{
	l->start = xcalloc(n_lists + 2, sizeof(*l->start));
	l->v = xcalloc(n + 1, sizeof(*l->v));
	for (size_t i = 0; i < n; i++)
		l->start[went[i] + 2]++;
	for (size_t k = 2; k < n_lists + 2; k++)
		l->start[k] += l->start[k - 1];
	for (size_t i = 0; i < n; i++)
		l->v[l->start[went[i] + 1]++] = (uint32_t)i;
}

void lists__done(struct lists *l)
{
	free(l->start);
	free(l->v);
}
