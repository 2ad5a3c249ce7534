// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the rows that show where blocks were freed: cut → snapshot, and snapshot →
 * snapshot where sites are left out or become one. What always holds: each row
 * names a site and a free site that are there; a free site's sums are those of its
 * rows.
 */
#include "model/frees.h"

#include "util/ids.h"

void frees__drop(struct snapshot *s)
{
	s->recording.free_stacks = false;
	s->free_sites = NULL;
	s->frees = NULL;
	s->n_free_sites = s->n_frees = 0;
}

size_t frees__join(struct snap_free *v, size_t n)
{
	struct key_ids rows = {};
	size_t to = 0;

	for (size_t i = 0; i < n; i++) {
		struct snap_free f = v[i];
		uint32_t at;
		bool is_new;

		key_ids__get(&rows, (struct key){ f.site, f.where, (uint64_t)f.tid }, &at, &is_new);
		if (is_new) {
			v[to++] = f;
			continue;
		}
		v[at].calls += f.calls;
		v[at].bytes += f.bytes;
		v[at].cross_calls += f.cross_calls;
		v[at].lifetime_sum_ns += f.lifetime_sum_ns;
	}
	key_ids__done(&rows);
	return to;
}

/* ---- cut → snapshot */

struct work {
	struct snapshot *s;
	uint32_t *site_of, *where_of;	/* by number in the kernel's tables: index + 1, 0: none */
	size_t n_numbers;
	struct key_ids threads;		/* (process, tid); number: index into comms, beyond them: not known */
	struct vec(const char *) comms;
};

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
	struct snap_site *v = (struct snap_site *)w->s->free_sites;

	for (size_t i = 0; i < cut->n_wheres; i++) {
		const struct snap_site *from = &cut->wheres[i];
		const uint32_t *stack = NULL;

		if (!has_process(from, process_of_proc))
			continue;
		if (from->n_frames)
			stack = places__of_site(places, from, calls);
		v[w->s->n_free_sites++] = (struct snap_site){
			.process = process_of_proc[from->proc] - 1,
			.function = calls->function(from->func, calls->arg),
			.n_stack = from->n_frames,
			.stack = snapshot__copy(w->s, stack, from->n_frames, sizeof(*stack)),
			.end = from->end,
		};
		w->where_of[from->number] = (uint32_t)w->s->n_free_sites;
	}
}

/* site, where: its row's and that of the place in the snapshot */
static void add_row(struct work *w, const struct snap_free *row, uint32_t site, uint32_t at)
{
	struct snap_site *where = (struct snap_site *)&w->s->free_sites[at];
	struct snap_free *to = (struct snap_free *)&w->s->frees[w->s->n_frees];
	uint32_t thread = UINT32_MAX;

	if (row->tid)
		key_ids__get(&w->threads, (struct key){ .a = where->process, .b = (uint64_t)row->tid },
			     &thread, NULL);
	w->s->n_frees++;
	*to = *row;
	to->site = site;
	to->where = at;
	to->thread = thread < w->comms.n ? w->comms.v[thread] : NULL;
	where->c.free_calls += to->calls;
	where->c.free_bytes += to->bytes;
}

/* Of a life that is in the kernel's tables no more, whose sites begin at first_site. */
static void build_kept(struct work *w, struct places *places, uint32_t process, const struct kept *k,
		      uint32_t first_site, const struct model_calls *calls)
{
	struct snap_site *v = (struct snap_site *)w->s->free_sites;
	uint32_t first_where = (uint32_t)w->s->n_free_sites;

	for (size_t i = 0; i < k->wheres.n; i++) {
		const struct kept_site *from = &k->wheres.v[i];
		uint32_t *stack = snapshot__alloc(w->s, from->n_stack + 1, sizeof(*stack));

		kept_site__stack(from, places, stack);
		v[w->s->n_free_sites++] = (struct snap_site){
			.process = process,
			.function = calls->function(from->row.func, calls->arg),
			.n_stack = from->n_stack,
			.stack = stack,
			.end = from->row.end,
		};
	}
	for (size_t i = 0; i < k->frees.n; i++)
		add_row(w, &k->frees.v[i], first_site + k->frees.v[i].site, first_where + k->frees.v[i].where);
}

void frees__build(struct snapshot *s, struct model *m, const struct cut *cut, const uint32_t *process_of_proc,
		 const struct model_calls *calls)
{
	struct work w = { .s = s, .n_numbers = 1 };
	uint32_t n_sites = 0;

	for (size_t i = 0; i < cut->n_sites; i++)
		w.n_numbers = MAX(w.n_numbers, cut->sites[i].number + 1ul);
	for (size_t i = 0; i < cut->n_wheres; i++)
		w.n_numbers = MAX(w.n_numbers, cut->wheres[i].number + 1ul);
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
	for (size_t i = 0; i < cut->n_frees; i++) {
		const struct snap_free *from = &cut->frees[i];

		if (from->site < w.n_numbers && w.site_of[from->site] && w.where_of[from->where])
			add_row(&w, from, w.site_of[from->site] - 1, w.where_of[from->where] - 1);
	}
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
