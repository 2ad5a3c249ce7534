// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* What always holds: what is left names rows that are there; nothing of the other snapshot is changed. */
#include "model/remap.h"

#include "model/heaps.h"
#include "util/ids.h"
#include "util/util.h"

static uint32_t mapped(const uint32_t *table, uint32_t base, uint32_t index)
{
	return table ? table[index] : index + base;
}

const uint32_t *remap__stack(struct snapshot *to, const struct remap *map, const uint32_t *stack, uint32_t n)
{
	uint32_t *v = snapshot__alloc(to, n + (size_t)1, sizeof(*v));

	for (uint32_t i = 0; i < n; i++)
		v[i] = mapped(map->place_of, map->place_base, stack[i]);
	return v;
}

/* ---- marks */

static void map_marks(struct snapshot *to, const struct snapshot *from, const struct remap *map)
{
	struct snap_mark *v = snapshot__alloc(to, from->n_marks + 1, sizeof(*v));

	to->marks = v;
	to->n_marks = 0;
	for (size_t i = 0; i < from->n_marks; i++) {
		struct snap_mark mark = from->marks[i];

		mark.process = mapped(map->process_of, map->process_base, mark.process);
		if (mark.process != ROW_GONE)
			v[to->n_marks++] = mark;
	}
}

/* ---- frees */

/* Free sites that have become the same: a chain of (what it had so far, the next place). */
static void same_where(struct key_ids *chains, struct string_ids *names, const struct snap_site *w, uint32_t *ret)
{
	uint32_t name, at;

	string_ids__get(names, w->function, &name);
	key_ids__get(chains, (struct key){ .a = w->process, .b = name }, &at, NULL);
	for (uint32_t i = 0; i < w->n_stack; i++)
		key_ids__get(chains, (struct key){ .a = at, .b = w->stack[i], .c = 1 }, &at, NULL);
	key_ids__get(chains, (struct key){ .a = at, .c = 2 }, ret, NULL);
}

static void map_wheres(struct snapshot *to, const struct snapshot *from, const struct remap *map, uint32_t *where_of)
{
	struct snap_site *v = snapshot__alloc(to, from->n_free_sites + 1, sizeof(*v));
	struct key_ids chains = {}, ends = {};
	struct string_ids names = {};

	to->free_sites = v;
	to->n_free_sites = 0;
	for (size_t i = 0; i < from->n_free_sites; i++) {
		struct snap_site w = from->free_sites[i];
		uint32_t chain;
		bool is_new;

		where_of[i] = ROW_GONE;
		w.process = mapped(map->process_of, map->process_base, w.process);
		if (w.process == ROW_GONE)
			continue;
		w.stack = remap__stack(to, map, w.stack, w.n_stack);
		w.c = (struct counters){};
		same_where(&chains, &names, &w, &chain);
		key_ids__get(&ends, (struct key){ .a = chain }, &where_of[i], &is_new);
		if (is_new)
			v[to->n_free_sites++] = w;
	}
	key_ids__done(&chains);
	key_ids__done(&ends);
	string_ids__done(&names);
}

static void map_frees(struct snapshot *to, const struct snapshot *from, const struct remap *map)
{
	_cleanup_free_ uint32_t *where_of = NULL;
	struct snap_free *v;

	if (!from->recording.free_stacks)
		return;
	where_of = xcalloc(from->n_free_sites + 1, sizeof(*where_of));
	map_wheres(to, from, map, where_of);
	v = snapshot__alloc(to, from->n_frees + 1, sizeof(*v));
	to->frees = v;
	to->n_frees = 0;
	for (size_t i = 0; i < from->n_frees; i++) {
		struct snap_free row = from->frees[i];
		struct snap_site *where;

		row.site = mapped(map->site_of, map->site_base, row.site);
		row.where = where_of[row.where];
		if (row.site == ROW_GONE || row.where == ROW_GONE)
			continue;
		where = (struct snap_site *)&to->free_sites[row.where];
		where->c.free_calls += row.calls;
		where->c.free_bytes += row.bytes;
		v[to->n_frees++] = row;
	}
}

/* ---- heaps */

/* Blocks of sites that are hidden go: the list was narrowed. */
static void map_list(struct snapshot *to, struct snap_heap *h, const struct remap *map)
{
	struct snap_block *v = snapshot__alloc(to, h->n_list + 1, sizeof(*v));
	size_t n = 0;

	for (size_t i = 0; i < h->n_list; i++) {
		uint32_t site = h->list[i].site ? mapped(map->site_of, map->site_base, h->list[i].site - 1) : 0;

		if (h->list[i].site ? site == ROW_GONE : map->drop_older)
			continue;
		v[n] = h->list[i];
		v[n++].site = h->list[i].site ? site + 1 : 0;
	}
	h->list = v;
	h->n_list = n;
}

static void map_parts(struct snapshot *to, struct snap_heap *h, const struct remap *map)
{
	struct snap_part *v = snapshot__alloc(to, h->n_parts + 1, sizeof(*v));

	for (size_t i = 0; i < h->n_parts; i++) {
		v[i] = h->parts[i];
		if (v[i].n_stack)
			v[i].stack = remap__stack(to, map, v[i].stack, v[i].n_stack);
	}
	h->parts = v;
}

size_t remap__heaps(struct snapshot *to, struct snap_heap *v, const struct snapshot *from, const struct remap *map)
{
	size_t n = 0;

	for (size_t i = 0; i < from->n_heaps; i++) {
		struct snap_heap h = from->heaps[i];

		h.pid = heap__pid(from, &h);
		h.comm = heap__comm(from, &h);
		h.process = mapped(map->process_of, map->process_base, h.process);
		if (h.process == ROW_GONE)
			continue;
		map_list(to, &h, map);
		map_parts(to, &h, map);
		v[n++] = h;
	}
	return n;
}

void snapshot__remap(struct snapshot *to, const struct snapshot *from, const struct remap *map)
{
	struct snap_heap *heaps = snapshot__alloc(to, from->n_heaps + 1, sizeof(*heaps));

	map_marks(to, from, map);
	map_frees(to, from, map);
	to->n_heaps = remap__heaps(to, heaps, from, map);
	to->heaps = heaps;
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
