// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns what a rate of the live view is: what a row did between two snapshots.
 *
 * What always holds: figures that came to a row from another one are no rate. Rows of another kind, after a key, have none until
 * they have been seen twice; nor has a row that processes went to, or left, because they ended; nor what is told of stacks that gave
 * up their room.
 */
#include <string.h>

#include "present/top/top_parts.h"

/* ---- figures of an earlier snapshot, by row */

/*
 * What is kept of a snapshot that is gone: a few figures of each row, found
 * by the row's id.
 */

void seen__done(struct seen_table *t)
{
	seen__clear(t);
	vec_done(&t->rows);
}

void seen__clear(struct seen_table *t)
{
	hash__done(&t->at);
	*t = (struct seen_table){ .rows = t->rows };
	t->rows.n = 0;
}

void seen__add(struct seen_table *t, const struct seen *s)
{
	size_t at = (size_t)(uintptr_t)hash__get(&t->at, s->id);
	struct seen *to = at ? &t->rows.v[at - 1] : vec_push(&t->rows);

	*to = *s;
	if (!at)
		hash__put(&t->at, s->id, (void *)(uintptr_t)t->rows.n);
}

const struct seen *seen__find(const struct seen_table *t, uint64_t id)
{
	size_t at = (size_t)(uintptr_t)hash__get(&t->at, id);

	return at ? &t->rows.v[at - 1] : NULL;
}

/* ---- what is remembered */

static void add_figures(struct seen *sum, const struct seen *more)
{
	counters__add(&sum->c, &more->c);
	sum->rss_bytes += more->rss_bytes;
	sum->ended_bytes += more->ended_bytes;
}

void top__remember(const struct top *t, struct seen_table *to)
{
	const struct snapshot *s = t->shown;

	seen__clear(to);
	to->t_ns = s->duration_ns;
	to->holds = true;
	for (size_t i = 0; i < s->n_sites; i++)
		seen__add(to, &(struct seen){ .id = t->site_ids[i], .c = s->sites[i].c });
	for (size_t i = 0; i < s->n_processes; i++) {
		const struct snap_process *p = &s->processes[i];
		struct seen f = { .id = top__process_row_id(p), .c = p->c, .rss_bytes = p->ended ? 0 : p->rss_bytes,
				  .ended_bytes = process__ended_bytes(p), .n_members = p->n_members };

		add_figures(&to->all, &f);
		seen__add(to, &f);
	}
	for (size_t i = 0; i < t->threads.n + t->threads.n_members; i++) {
		const struct thread_row *row = i < t->threads.n ? &t->threads.v[i] : &t->threads.members[i - t->threads.n];

		seen__add(to, &(struct seen){ .id = top__thread_row_id(&s->processes[row->process],
								       row), .c = row->c });
	}
	top__remember_tags(t, to);
}

/* ---- processes that go from row to row */

/* Of a row of a program's processes that run, that of those which have ended. */
static const struct snap_process *ended_part(const struct snapshot *s, const struct snap_process *p)
{
	for (size_t i = 0; i < s->n_processes && p->n_members && !p->ended; i++)
		if (s->processes[i].ended && s->processes[i].n_members && !strcmp(s->processes[i].comm, p->comm))
			return &s->processes[i];
	return NULL;
}

void top__find_moves(struct top *t)
{
	const struct snapshot *s = t->shown;

	free(t->moved);
	t->moved = xcalloc(s->n_processes + 1, sizeof(*t->moved));
	for (size_t i = 0; i < s->n_processes; i++) {
		const struct snap_process *p = s->processes[i].ended ? &s->processes[i] : ended_part(s, &s->processes[i]);
		const struct seen *b = p ? seen__find(&t->before, top__process_row_id(p)) : NULL;

		t->moved[i] = p && p->n_members && (!b || b->n_members != p->n_members);
	}
}

bool top__has_moved(const struct top *t, const struct snap_process *p)
{
	return t->moved[p - t->shown->processes];
}

bool top__site_has_moved(const struct top *t, const struct snap_site *s)
{
	return s->evicted_stacks || top__has_moved(t, &t->shown->processes[s->process]);
}

/* ---- rates */

void top__set_rates(const struct top *t, struct top_row *r, const struct counters *c, int64_t since_baseline, const struct seen *before, bool moved)
{
	uint64_t ns = t->shown->duration_ns - t->before.t_ns;
	double per_ns = (double)TOP_NS_PER_S / (double)MAX(ns, 1ull);
	struct counters b = before ? before->c : (struct counters){};

	r->of.has_rates = true;
	/* the trace began with nothing */
	r->of.rates.delta = t->shown->baseline ? (double)since_baseline : (double)c->live_bytes;
	r->of.rates.calls = r->of.rates.bytes = r->of.rates.frees = NAN;
	if (moved || !t->before.holds || !ns || t->shown->duration_ns <= t->before.t_ns)
		return;
	/* estimates may go back */
	r->of.rates.calls = MAX((double)c->alloc_calls - (double)b.alloc_calls, 0.0) * per_ns;
	r->of.rates.bytes = MAX((double)c->alloc_bytes - (double)b.alloc_bytes, 0.0) * per_ns;
	r->of.rates.frees = MAX((double)c->free_calls - (double)b.free_calls, 0.0) * per_ns;
}

/* Of a program whose processes end: what those that run and those that have ended did together, which is known. */
static void set_program_rates(const struct top *t, struct top_row *r, const struct snap_process *ended)
{
	const struct seen *b = seen__find(&t->before, r->id), *e = seen__find(&t->before, top__process_row_id(ended));
	struct counters c = r->of.process->c;
	struct seen before = {};
	double delta = r->of.rates.delta;

	counters__add(&c, &ended->c);
	if (b)
		add_figures(&before, b);
	if (e)
		add_figures(&before, e);
	/* some of them are in a row of others now */
	if (e && e->n_members > ended->n_members)
		return;
	top__set_rates(t, r, &c, 0, &before, false);
	r->of.rates.delta = delta;
}

void top__set_process_rates(const struct top *t, struct top_row *r)
{
	const struct snap_process *p = r->of.process, *ended = ended_part(t->shown, p);
	bool moved = top__has_moved(t, p);

	top__set_rates(t, r, &p->c, p->since_baseline_bytes, seen__find(&t->before, r->id), moved);
	if (moved && ended)
		set_program_rates(t, r, ended);
}

/*
 * Rates are those of a row's sites: what became known of names since the
 * snapshot before moves sites from row to row, and is no allocation.
 */
struct seen *top__rows_before(const struct top *t, const uint32_t *of, uint32_t first, size_t n)
{
	struct seen *ret = xcalloc(n + 1, sizeof(*ret));

	for (size_t i = 0; i < t->shown->n_sites; i++) {
		const struct seen *before = seen__find(&t->before, t->site_ids[i]);

		if (of[i] < first)
			continue;
		if (before)
			add_figures(&ret[of[i] - first], before);
		ret[of[i] - first].moved |= top__site_has_moved(t, &t->shown->sites[i]);
	}
	return ret;
}
