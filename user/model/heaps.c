// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns how heaps follow their processes and sites from one snapshot into another. What always holds: a heap is
 * never added to another one, and never lost; a listed block names a site that is there, or none.
 */
#include "model/heaps.h"

#include <string.h>

#include "model/merge.h"
#include "util/ids.h"
#include "util/util.h"

#define MATTERS_PCT 3	/* of live memory: a site with less needs no search before its verdict is known */

#define CHOICES(its_names) { .names = its_names, .n = ARRAY_SIZE(its_names) }

static const char *const root_names[N_ROOT_KINDS] = {
	[ROOT_GLOBAL] = "global", [ROOT_STACK] = "stack", [ROOT_THREAD] = "thread", [ROOT_MAPPING] = "mapping",
};
const struct choices root_choices = CHOICES(root_names);

static const char *const part_names[N_PART_KINDS] = {
	[PART_HEAP] = "heap", [PART_STACK] = "stack", [PART_GLOBAL] = "global", [PART_TLS] = "tls", [PART_CODE] = "code",
	[PART_FILE] = "file", [PART_SHARED] = "shared", [PART_ANON] = "anonymous", [PART_OTHER] = "other",
};
const struct choices part_choices = CHOICES(part_names);

static const char *const reach_names[] = {
	[REACH_UNKNOWN] = "unknown", [REACH_REACHED] = "reached", [REACH_UNREACHED] = "unreached", [REACH_INDIRECT] = "indirect",
};
const struct choices reach_choices = CHOICES(reach_names);

const char *root_kind__word(enum root_kind kind)
{
	return kind == ROOT_THREAD ? "tls/regs" : choices__name(&root_choices, kind);
}

const char *root_kind__before(enum root_kind kind)
{
	return kind == ROOT_STACK ? "the stack of " : kind == ROOT_THREAD ? "thread-locals or registers of " : "";
}

/* ---- whose they are */

/* One that grows; where that is not known yet, one that matters. */
static bool site__needs_search(const struct snapshot *s, const struct snap_site *site)
{
	const char *verdict = site->trend.verdict;

	if (s->processes[site->process].ended || !site->c.live_blocks)
		return false;
	if (verdict && strcmp(verdict, "new"))
		return verdict__is_alarm(verdict);
	return site->c.live_bytes * 100 >= s->totals.live_bytes * MATTERS_PCT;
}

bool snapshot__needs_search(const struct snapshot *s)
{
	for (size_t i = 0; i < s->n_sites; i++)
		if (site__needs_search(s, &s->sites[i]))
			return true;
	return false;
}

bool heap__was_searched(const struct snap_heap *h)
{
	return h && h->unreached.scans;
}

void snapshot__set_heaps(struct snapshot *s, const struct snap_heap *heaps, size_t n)
{
	s->heaps = heaps;
	s->n_heaps = n;
	s->known &= ~HAS_UNREACHED;
	for (size_t i = 0; i < n; i++)
		if (heap__was_searched(&heaps[i]) && !heaps[i].sites_unknown)
			s->known |= HAS_UNREACHED;
}

const struct snap_heap *snapshot__heap_of(const struct snapshot *s, uint32_t process)
{
	for (size_t i = 0; i < s->n_heaps; i++)
		if (s->heaps[i].process == process)
			return &s->heaps[i];
	return NULL;
}

bool snapshot__was_searched(const struct snapshot *s, uint32_t process)
{
	for (size_t i = 0; s->known & HAS_UNREACHED && i < s->n_heaps; i++)
		if (s->heaps[i].process == process && heap__was_searched(&s->heaps[i]) && !s->heaps[i].sites_unknown)
			return true;
	return false;
}

bool site__was_searched(const struct snapshot *s, const struct snap_site *site)
{
	return (site->looked_blocks || !site->c.live_blocks) && snapshot__was_searched(s, site->process);
}

bool snapshot__is_heap(const struct snapshot *s)
{
	return s->n_heaps && !(s->known & HAS_ALL);
}

pid_t heap__pid(const struct snapshot *s, const struct snap_heap *h)
{
	return h->pid ? h->pid : s->processes[h->process].pid;
}

const char *heap__comm(const struct snapshot *s, const struct snap_heap *h)
{
	return h->comm ? h->comm : s->processes[h->process].comm;
}

/* ---- from one snapshot into another */

static uint32_t mapped(const uint32_t *table, uint32_t base, uint32_t index)
{
	return table ? table[index] : index + base;
}

/* Blocks of sites that are hidden go: the list was narrowed. */
static void map_list(struct snapshot *to, struct snap_heap *h, const struct heaps_map *map)
{
	struct snap_block *v = snapshot__alloc(to, h->n_list + 1, sizeof(*v));
	size_t n = 0;

	for (size_t i = 0; i < h->n_list; i++) {
		uint32_t site = h->list[i].site ? mapped(map->site_of, map->site_base, h->list[i].site - 1) : 0;

		if (h->list[i].site ? site == HEAPS_GONE : map->drop_older)
			continue;
		v[n] = h->list[i];
		v[n++].site = h->list[i].site ? site + 1 : 0;
	}
	h->list = v;
	h->n_list = n;
}

static void map_parts(struct snapshot *to, struct snap_heap *h, const struct heaps_map *map)
{
	struct snap_part *v = snapshot__alloc(to, h->n_parts + 1, sizeof(*v));

	for (size_t i = 0; i < h->n_parts; i++) {
		uint32_t *stack = snapshot__alloc(to, h->parts[i].n_stack + 1, sizeof(*stack));

		v[i] = h->parts[i];
		for (uint32_t k = 0; k < v[i].n_stack; k++)
			stack[k] = mapped(map->place_of, map->place_base, h->parts[i].stack[k]);
		v[i].stack = v[i].n_stack ? stack : NULL;
	}
	h->parts = v;
}

void heaps__map(struct snapshot *to, struct snap_heap *v, const struct snapshot *from, const struct heaps_map *map)
{
	for (size_t i = 0; i < from->n_heaps; i++) {
		v[i] = from->heaps[i];
		v[i].pid = heap__pid(from, &from->heaps[i]);
		v[i].comm = heap__comm(from, &from->heaps[i]);
		v[i].process = mapped(map->process_of, map->process_base, v[i].process);
		map_list(to, &v[i], map);
		map_parts(to, &v[i], map);
	}
}

/* ---- several sites in one */

COMPARATOR(by_share, struct snap_share, ORDER(b->share, a->share) ?: strcmp(a->name, b->name))

void shares__add_up(struct snapshot *to, const struct snap_site *const *v, size_t n, struct snap_site *ret)
{
	struct string_ids names = {};
	struct snap_share *sum;
	double blocks = 0;
	size_t room = 0;

	ret->held = NULL;
	for (size_t i = 0; i < n; i++) {
		room += v[i]->n_types;
		blocks += v[i]->n_types ? (double)v[i]->c.live_blocks : 0;
		if (v[i]->held && (!ret->held || v[i]->held->bytes > ret->held->bytes))
			ret->held = v[i]->held;
	}
	sum = snapshot__alloc(to, room + 1, sizeof(*sum));
	for (size_t i = 0; i < n && blocks > 0; i++)
		for (size_t k = 0; k < v[i]->n_types; k++) {
			const struct snap_share *t = &v[i]->types[k];
			uint32_t at;

			string_ids__get(&names, t->name, &at);
			sum[at].name = t->name;
			sum[at].is_class |= t->is_class;
			sum[at].share += t->share * (double)v[i]->c.live_blocks / blocks;
		}
	qsort(sum, names.n, sizeof(*sum), by_share);
	ret->types = sum;
	ret->n_types = names.n;
	string_ids__done(&names);
}
