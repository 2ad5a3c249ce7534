// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the rows that show where blocks were freed: cut → snapshot, and snapshot →
 * snapshot where sites are left out or become one. What always holds: each row
 * names a site and a free site that are there; a free site's sums are those of its
 * rows.
 */
#include "model/frees.h"

#include <errno.h>
#include <string.h>

#include "util/ids.h"

void frees__drop(struct snapshot *s)
{
	s->recording.free_stacks = false;
	s->free_sites = NULL;
	s->frees = NULL;
	s->n_free_sites = s->n_frees = 0;
}

/* ---- cut → snapshot */

struct work {
	struct snapshot *s;
	uint32_t *site_of, *where_of;	/* by number in the kernel's tables: index + 1, 0: none */
	size_t n_numbers;
	struct key_ids threads;		/* (process, tid); number: index into comms, beyond them: not known */
	struct vec(const char *) comms;
};

static uint32_t last_number(const struct cut *cut)
{
	uint32_t last = 0;

	for (size_t i = 0; i < cut->n_sites; i++)
		last = MAX(last, cut->sites[i].number);
	for (size_t i = 0; i < cut->n_wheres; i++)
		last = MAX(last, cut->wheres[i].number);
	return last;
}

static bool has_process(const struct snap_site *row, const uint32_t *process_of_proc)
{
	return row->proc < MT_PROC_NUMBERS && process_of_proc[row->proc];
}

static void list_threads(struct work *w)
{
	for (size_t i = 0; i < w->s->n_processes; i++) {
		const struct snap_process *p = &w->s->processes[i];

		for (size_t k = 0; k < p->n_threads; k++) {
			uint32_t id;
			bool is_new;

			key_ids__get(&w->threads, (struct key){ .a = i, .b = (uint64_t)p->threads[k].tid },
				     &id, &is_new);
			if (is_new)
				*vec_push(&w->comms) = p->threads[k].comm;
		}
	}
}

static void build_wheres(struct work *w, struct places *places, const struct cut *cut, const uint32_t *process_of_proc,
			const struct model_calls *calls)
{
	struct snap_free_site *v = (struct snap_free_site *)w->s->free_sites;

	for (size_t i = 0; i < cut->n_wheres; i++) {
		const struct snap_site *from = &cut->wheres[i];
		const uint32_t *stack = NULL;
		struct snap_free_site *to;

		if (!has_process(from, process_of_proc))
			continue;
		if (from->n_frames)
			stack = places__of_site(places, from, calls);
		to = &v[w->s->n_free_sites++];
		w->where_of[from->number] = (uint32_t)w->s->n_free_sites;
		to->process = process_of_proc[from->proc] - 1;
		to->function = calls->function(from->func, calls->arg);
		to->end = from->end;
		to->n_stack = from->n_frames;
		if (stack)
			to->stack = memcpy(snapshot__alloc(w->s, from->n_frames, sizeof(*stack)), stack,
					   from->n_frames * sizeof(*stack));
	}
}

static void add_row(struct work *w, const struct snap_free *row)
{
	struct snap_free_site *where = (struct snap_free_site *)&w->s->free_sites[row->where];
	struct snap_free *to = (struct snap_free *)&w->s->frees[w->s->n_frees];
	uint32_t thread = UINT32_MAX;

	if (row->tid)
		key_ids__get(&w->threads, (struct key){ .a = where->process, .b = (uint64_t)row->tid },
			     &thread, NULL);
	w->s->n_frees++;
	*to = *row;
	to->thread = thread < w->comms.n ? w->comms.v[thread] : NULL;
	where->calls += to->calls;
	where->bytes += to->bytes;
}

static void build_rows(struct work *w, const struct cut *cut)
{
	for (size_t i = 0; i < cut->n_frees; i++) {
		const struct cut_free *from = &cut->frees[i];

		if (from->site < w->n_numbers && w->site_of[from->site] && w->where_of[from->where])
			add_row(w, &(struct snap_free){
					   .site = w->site_of[from->site] - 1,
					   .where = w->where_of[from->where] - 1,
					   .tid = (int)from->tid,
					   .calls = from->calls,
					   .bytes = from->bytes,
					   .cross_calls = from->cross_calls,
					   .lifetime_sum_ns = from->lifetime_ns,
				   });
	}
}

/* Of a life that is in the kernel's tables no more, whose sites begin at first_site. */
static void build_kept(struct work *w, struct places *places, uint32_t process, const struct kept *k,
		      uint32_t first_site, const struct model_calls *calls)
{
	struct snap_free_site *v = (struct snap_free_site *)w->s->free_sites;
	uint32_t first_where = (uint32_t)w->s->n_free_sites;

	for (size_t i = 0; i < k->wheres.n; i++) {
		const struct kept_site *from = &k->wheres.v[i];
		uint32_t *stack = snapshot__alloc(w->s, from->n_stack + 1, sizeof(*stack));

		kept_site__stack(from, places, stack);
		v[w->s->n_free_sites++] = (struct snap_free_site){
			.process = process,
			.function = calls->function(from->row.func, calls->arg),
			.n_stack = from->n_stack,
			.stack = stack,
			.end = from->row.end,
		};
	}
	for (size_t i = 0; i < k->frees.n; i++) {
		const struct kept_free *from = &k->frees.v[i];

		add_row(w, &(struct snap_free){
				   .site = first_site + from->site,
				   .where = first_where + from->where,
				   .tid = (int)from->tid,
				   .calls = from->calls,
				   .bytes = from->bytes,
				   .cross_calls = from->cross_calls,
				   .lifetime_sum_ns = from->lifetime_ns,
			   });
	}
}

void frees__build(struct snapshot *s, struct model *m, const struct cut *cut, const uint32_t *process_of_proc,
		 const struct model_calls *calls)
{
	struct work w = { .s = s, .n_numbers = last_number(cut) + 1ul };
	uint32_t n_sites = 0;

	s->recording.free_stacks = true;
	s->free_sites = snapshot__alloc(s, cut->n_wheres + m->archive.n_wheres + 1, sizeof(*s->free_sites));
	s->frees = snapshot__alloc(s, cut->n_frees + m->archive.n_frees + 1, sizeof(*s->frees));
	w.site_of = xcalloc(w.n_numbers, sizeof(*w.site_of));
	w.where_of = xcalloc(w.n_numbers, sizeof(*w.where_of));
	/* the snapshot has the cut's sites in their order, those of processes that it knows */
	for (size_t i = 0; i < cut->n_sites; i++)
		if (has_process(&cut->sites[i], process_of_proc))
			w.site_of[cut->sites[i].number] = ++n_sites;
	list_threads(&w);
	build_wheres(&w, &m->places, cut, process_of_proc, calls);
	build_rows(&w, cut);
	for (size_t i = 0; i < m->lives.n; i++) {
		const struct kept *k = m->lives.v[i]->kept;

		if (!k)
			continue;
		build_kept(&w, &m->places, (uint32_t)i, k, n_sites, calls);
		n_sites += (uint32_t)k->sites.n;
	}
	free(w.site_of);
	free(w.where_of);
	key_ids__done(&w.threads);
	vec_done(&w.comms);
}

/* ---- snapshot → snapshot */

static uint32_t mapped(const uint32_t *map, uint32_t i)
{
	return map ? map[i] : i;
}

/* Free sites that have become the same: a chain of (what it had so far, the next place). */
static void same_where(struct key_ids *chains, struct string_ids *names, const struct snap_free_site *from,
		      const struct frees_map *map, uint32_t *ret)
{
	uint32_t name, at;

	string_ids__get(names, from->function, &name);
	key_ids__get(chains, (struct key){ .a = mapped(map->process_of, from->process), .b = name }, &at, NULL);
	for (uint32_t i = 0; i < from->n_stack; i++)
		key_ids__get(chains,
			     (struct key){ .a = at, .b = mapped(map->place_of, from->stack[i]), .c = 1 },
			     &at, NULL);
	key_ids__get(chains, (struct key){ .a = at, .c = 2 }, &at, NULL);
	*ret = at;
}

static void map_wheres(struct snapshot *to, const struct snapshot *from, const struct frees_map *map, uint32_t *where_of)
{
	struct snap_free_site *v = snapshot__alloc(to, from->n_free_sites + 1, sizeof(*v));
	struct key_ids chains = {}, ends = {};
	struct string_ids names = {};

	to->free_sites = v;
	to->n_free_sites = 0;
	for (size_t i = 0; i < from->n_free_sites; i++) {
		const struct snap_free_site *w = &from->free_sites[i];
		uint32_t *stack, chain;
		bool is_new;

		same_where(&chains, &names, w, map, &chain);
		key_ids__get(&ends, (struct key){ .a = chain }, &where_of[i], &is_new);
		if (!is_new)
			continue;
		stack = snapshot__alloc(to, w->n_stack + 1, sizeof(*stack));
		for (uint32_t k = 0; k < w->n_stack; k++)
			stack[k] = mapped(map->place_of, w->stack[k]);
		v[to->n_free_sites++] = (struct snap_free_site){
			.process = mapped(map->process_of, w->process),
			.function = w->function,
			.n_stack = w->n_stack,
			.stack = stack,
			.end = w->end,
		};
	}
	key_ids__done(&chains);
	key_ids__done(&ends);
	string_ids__done(&names);
}

void frees__map(struct snapshot *to, const struct snapshot *from, const struct frees_map *map)
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
		struct snap_free_site *where = (struct snap_free_site *)&to->free_sites[where_of[row.where]];

		row.site = mapped(map->site_of, row.site);
		row.where = where_of[row.where];
		if (row.site == FREES_GONE)
			continue;
		where->calls += row.calls;
		where->bytes += row.bytes;
		v[to->n_frees++] = row;
	}
}
