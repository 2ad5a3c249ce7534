// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Snapshot → snapshot of groups (grouping.c says which).
 *
 * What always holds: each process is in one group and each site in one merged
 * site, so all sums stay what they were; the outcome does not depend on names
 * having been looked up. The work grows with sites, frames and points, never with
 * their products: a machine has thousands of processes.
 */
#include "model/group.h"

#include <string.h>

#include "model/ages.h"
#include "model/heaps.h"
#include "model/merge.h"
#include "model/remap.h"
#include "model/same_sites.h"
#include "model/schema.h"
#include "model/trends.h"
#include "util/hash.h"
#include "util/ids.h"
#include "util/util.h"

/* ---- the work under way */

struct work {
	const struct grouping *by;
	const struct snapshot *from;
	struct snapshot *to;
	struct snap_process *groups;	/* of to */
	size_t n_groups;
	uint32_t *group_of;	/* by process */
	uint32_t *same_place;	/* by place: the first at the same offset of the same code */
	uint32_t *merged_into;	/* by site: the site of to */
};

/* ---- what belongs to which group */

static void choose_groups(struct work *w)
{
	const struct snapshot *s = w->from;

	w->group_of = xcalloc(s->n_processes + 1, sizeof(*w->group_of));
	grouping__assign(w->by, s, w->group_of, &w->n_groups);
	w->groups = snapshot__alloc(w->to, w->n_groups + 1, sizeof(*w->groups));
	w->to->processes = w->groups;
	w->to->n_processes = w->n_groups;
}

/* That one of them is steady says nothing of another, of which that is not known. */
static void add_trend(struct trend *sum, const struct trend *t, bool first)
{
	bool unclear = !t->verdict || (!first && !sum->verdict);

	trend__add(sum, t);
	if (unclear && !verdict__is_alarm(sum->verdict))
		sum->verdict = sum->why = NULL;
}

static void add_member(const struct snapshot *s, struct snap_process *g, const struct snap_process *p)
{
	bool first = !g->n_members, first_running = g->n_members == g->n_ended;

	/* a row of a saved profile may stand for several already */
	g->n_members += process__n(s, p);
	g->n_ended += process__n_ended(s, p);
	g->ended_live_blocks += process__ended_blocks(p);
	g->ended_live_bytes += process__ended_bytes(p);
	row__merge(table__member(TABLE_PROCESSES), g, p, first);
	g->start_ticks = first ? p->start_ticks : 0;
	if (!p->ended)
		add_trend(&g->trend, &p->trend, first_running);
	g->n_threads += p->n_threads;
	/* one of them stands for those of which nothing was seen, if nothing was of all */
	if (p->blind.is && (!g->blind.is || g->blind.idle))
		g->blind = p->blind;
	if (g->probe_hits)
		g->blind = (struct snap_blind){};
}

/* Resident memory, and what is beside it, of those that run; if none does, what they last had. */
static void add_rss(struct snap_process *g, const struct snap_process *p)
{
	if (p->ended && !g->ended)
		return;
	g->rss_bytes += p->rss_bytes;
	g->rss_at_attach_bytes += p->rss_at_attach_bytes;
	g->swap_bytes += p->swap_bytes;
	g->swap_at_attach_bytes += p->swap_at_attach_bytes;
	g->hugetlb_bytes += p->hugetlb_bytes;
	g->hugetlb_at_attach_bytes += p->hugetlb_at_attach_bytes;
	g->file_bytes += p->file_bytes;
	g->file_at_attach_bytes += p->file_at_attach_bytes;
	g->table_bytes += p->table_bytes;
	g->table_at_attach_bytes += p->table_at_attach_bytes;
	memory__add(&g->memory, &p->memory);
}

/*
 * What a group is known by. Groups of those that run and of those that have ended come and go: there it is made of
 * the name, and is the same in every snapshot.
 */
static uint32_t id_of(const struct work *w, const struct snap_process *g, const struct snap_process *first)
{
	uint32_t id = 2166136261u;

	if (!w->by->group_of)
		return first->id;
	if (!w->by->ended_apart)
		return g - w->groups + 1;
	for (const char *s = g->comm; *s; s++)
		id = (id ^ (unsigned char)*s) * 16777619u;
	id = (id | 2) ^ g->ended;
	/* of two names with one id, the second has another */
	for (const struct snap_process *other = w->groups; other < g; other++)
		if (other->id == id) {
			id += 2;
			other = w->groups - 1;
		}
	return id;
}

/* Threads of a group are those of its members; of many that have ended, what they did together. */
static void list_threads(struct work *w, const struct snap_process *const *v, size_t n, struct snap_process *g)
{
	struct snap_thread *threads = snapshot__alloc(w->to, g->n_threads + 1, sizeof(*threads)), *to = threads;
	struct snap_thread sum = { .comm = g->comm, .ended = true };

	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < v[i]->n_threads; k++) {
			counters__add(&sum.c, &v[i]->threads[k].c);
			sum.stands_for += MAX(v[i]->threads[k].stands_for, 1u);
			*to++ = v[i]->threads[k];
		}
	g->threads = threads;
	if (w->by->ended_from && g->n_threads) {
		*threads = sum;
		g->n_threads = 1;
	}
}

static bool has_verdict(const struct trend *t, const char *verdict)
{
	return t->verdict && verdict && !strcmp(t->verdict, verdict);
}

static void build_group(struct work *w, const uint32_t *members, size_t n, struct snap_process *g)
{
	const struct snap_process **v = xcalloc(n, sizeof(*v));
	struct timeline *lines = xcalloc(n, sizeof(*lines));
	size_t n_alike = 0;

	g->comm = w->by->group_of ? w->by->group_of(&w->from->processes[*members]) : w->from->processes[*members].comm;
	for (size_t i = 0; i < n; i++) {
		v[i] = &w->from->processes[members[i]];
		lines[i] = (struct timeline){ v[i]->timeline, v[i]->n_timeline, v[i]->ended };
		add_member(w->from, g, v[i]);
	}
	timelines__add_up(w->to, lines, n, &g->timeline, &g->n_timeline);
	histograms__add_up(w->to, v, n, g);
	/* of a row that has ended that is all it held */
	if (g->ended)
		g->ended_live_blocks = g->ended_live_bytes = 0;
	g->id = id_of(w, g, v[0]);
	g->memory = (struct snap_memory){ .known = true, .grown_known = true, .sized_all = true };
	for (size_t i = 0; i < n; i++)
		add_rss(g, v[i]);
	list_threads(w, v, n, g);
	if (n == 1 && g->n_members == 1) {
		g->pid = v[0]->pid;
		g->exit_signal = v[0]->exit_signal;
		g->oom_killed = v[0]->oom_killed;
		g->container_pid = v[0]->container_pid;
		g->peak_at_ns = v[0]->peak_at_ns;
	}
	for (size_t i = 0; i < n; i++)
		n_alike += has_verdict(&v[i]->trend, g->trend.verdict) ? MAX(v[i]->n_members, 1u) : 0;
	g->trend.why = trend__why_among(w->to, &g->trend, n_alike, g->n_members);
	free(v);
	free(lines);
}

static void build_groups(struct work *w)
{
	struct lists members = {};

	lists__init(&members, w->group_of, w->from->n_processes, w->n_groups);
	for (size_t g = 0; g < w->n_groups; g++) {
		const uint32_t *first = members.v + members.start[g];
		size_t n = members.start[g + 1] - members.start[g];

		/* a process that stays by itself is what it was */
		if (n == 1 && !w->by->group_of)
			w->groups[g] = w->from->processes[*first];
		else
			build_group(w, first, n, &w->groups[g]);
	}
	lists__done(&members);
}

/* Whoever forked a process may be in another row now. */
static void name_parents(struct work *w)
{
	const struct snapshot *s = w->from;
	struct hash index = {};

	if (w->by->group_of)
		return;
	for (size_t i = 0; i < s->n_processes; i++)
		hash__put(&index, s->processes[i].id, (void *)&s->processes[i]);
	for (size_t g = 0; g < w->n_groups; g++) {
		const struct snap_process *parent = w->groups[g].parent ? hash__get(&index, w->groups[g].parent) : NULL;

		if (parent)
			w->groups[g].parent = w->groups[w->group_of[parent - s->processes]].id;
	}
	hash__done(&index);
}

/* ---- which places are the same code */

/*
 * A build id is the code's; a path may be another file in each container. Of code that no file has (PYTHON_PATH) offsets mean the same
 * in all processes.
 */
static void find_same_code(struct work *w)
{
	const struct snapshot *s = w->from;
	_cleanup_free_ uint32_t *code = xcalloc(s->n_modules + 1, sizeof(*code));
	_cleanup_free_ uint32_t *first = xcalloc(s->n_places + 1, sizeof(*first));
	struct string_ids build_ids = {}, paths = {};
	struct key_ids places = {};

	for (size_t i = 0; i < s->n_modules; i++) {
		const struct snap_module *m = &s->modules[i];

		string_ids__get(m->build_id ? &build_ids : &paths, m->build_id ?: m->path, &code[i]);
	}
	w->same_place = xcalloc(s->n_places + 1, sizeof(*w->same_place));
	for (size_t i = 0; i < s->n_places; i++) {
		const struct place *p = &s->places[i];
		bool known = p->module >= 0 && (size_t)p->module < s->n_modules;
		uint32_t id;
		bool is_new;

		key_ids__get(&places,
			     (struct key){ known ? code[p->module] : 0, p->offset,
					   !known ? 0 : s->modules[p->module].build_id ? 1 : 2 },
			     &id, &is_new);
		if (is_new)
			first[id] = (uint32_t)i;
		w->same_place[i] = first[id];
	}
	string_ids__done(&build_ids);
	string_ids__done(&paths);
	key_ids__done(&places);
}

/* ---- sites */

static void new_site(struct work *w, const struct snap_site *site, uint32_t group)
{
	struct snap_site *to = &w->to->sites[w->to->n_sites++];
	const struct remap map = { .of[TABLE_PLACES] = w->same_place };

	*to = *site;
	to->process = group;
	to->tid = 0;
	to->thread = NULL;
	to->stack = remap__stack(w->to, &map, site->stack, to->n_stack);
}

static void merge_sites(struct work *w)
{
	const struct snapshot *s = w->from;
	struct same_sites same;
	bool is_new;

	w->merged_into = xcalloc(s->n_sites + 1, sizeof(*w->merged_into));
	w->to->sites = snapshot__alloc(w->to, s->n_sites + 1, sizeof(*w->to->sites));
	w->to->n_sites = 0;
	same_sites__init(&same, w->to->sites, s->n_sites);
	for (size_t i = 0; i < s->n_sites; i++) {
		const struct snap_site *site = &s->sites[i];
		uint32_t group = w->group_of[site->process];

		same_sites__get(&same, site, group, w->same_place, &w->merged_into[i], &is_new);
		if (is_new)
			new_site(w, site, group);
		else
			site__add(&w->to->sites[w->merged_into[i]], site);
	}
	same_sites__done(&same);
	snapshot__count_ends(w->to);
}

#define GAP_NS 2000000000ull	/* histories that begin later than that after the first allocation lack their beginning */

/*
 * What a site held over time, as far as that is known. One that was of little interest has no history, or none of its
 * beginning: what it held then counts from its first allocation on, so that its history does not begin with a jump.
 */
static struct timeline history_of(struct snapshot *to, const struct snapshot *s, const struct snap_site *site)
{
	struct timeline line = { site->history, site->n_history, s->processes[site->process].ended };
	struct snap_point *v;
	size_t n = 0;

	if ((line.n && line.v->t_ns < site->first_ns + GAP_NS) || (!line.n && !site->c.live_bytes))
		return line;
	v = snapshot__alloc(to, line.n + 3, sizeof(*v));
	v[n].t_ns = site->first_ns;
	v[n++].live_bytes = line.n ? line.v->live_bytes : site->c.free_calls ? site->c.live_bytes : site->min_size;
	for (size_t i = 0; i < line.n; i++)
		v[n++] = line.v[i];
	if (!line.n && site->last_ns > site->first_ns)
		v[n++] = (struct snap_point){ .t_ns = site->last_ns, .live_bytes = site->c.live_bytes };
	if (!line.n && !line.ended && s->duration_ns > v[n - 1].t_ns)
		v[n++] = (struct snap_point){ .t_ns = s->duration_ns, .live_bytes = site->c.live_bytes };
	line.v = v;
	line.n = n;
	return line;
}

static void merge_histories(struct work *w)
{
	const struct snapshot *s = w->from;
	struct lists parts = {};
	struct timeline *lines = xcalloc(s->n_sites + 1, sizeof(*lines));
	const struct snap_site **sites = xcalloc(s->n_sites + 1, sizeof(*sites));

	lists__init(&parts, w->merged_into, s->n_sites, w->to->n_sites);
	for (size_t i = 0; i < w->to->n_sites; i++) {
		size_t n = parts.start[i + 1] - parts.start[i], n_alike = 0;

		/* of one, it is that one's already */
		for (size_t k = 0; n > 1 && k < n; k++) {
			const struct snap_site *site = &s->sites[parts.v[parts.start[i] + k]];

			sites[k] = site;
			lines[k] = w->by ? (struct timeline){ site->history, site->n_history, s->processes[site->process].ended } :
					   history_of(w->to, s, site);
		}
		if (n < 2)
			continue;
		for (size_t k = 0; k < n; k++)
			n_alike += has_verdict(&sites[k]->trend, w->to->sites[i].trend.verdict);
		w->to->sites[i].trend.why = trend__why_among(w->to, &w->to->sites[i].trend, n_alike, n);
		shares__add_up(w->to, sites, n, &w->to->sites[i]);
		timelines__add_up(w->to, lines, n, &w->to->sites[i].history, &w->to->sites[i].n_history);
		ages__add_up(w->to, sites, n, &w->to->sites[i]);
	}
	lists__done(&parts);
	free(lines);
	free(sites);
}

/* A heap is a process's own, also where rows are of several; a mark stays what it is, and whose it was is a group now. */
static void map_rest(struct work *w)
{
	const struct remap map = { .of = { [TABLE_SITES] = w->merged_into,
					   [TABLE_PROCESSES] = w->group_of,
					   [TABLE_PLACES] = w->same_place } };

	snapshot__remap(w->to, w->from, &map);
}

/* ---- threads */

/* Sites are kept apart by thread and name already: some lack the name alone. */
static void name_threads(struct work *w)
{
	const struct snapshot *s = w->from;
	struct strings comms = {};
	struct key_ids tids = {};	/* (process, tid); number: index into comms */
	uint32_t id;

	for (size_t i = 0; i < s->n_processes; i++)
		for (size_t k = 0; k < s->processes[i].n_threads; k++) {
			const struct snap_thread *t = &s->processes[i].threads[k];
			bool is_new;

			key_ids__get(&tids, (struct key){ .a = i, .b = (uint64_t)t->tid }, &id, &is_new);
			if (is_new)
				*vec_push(&comms) = t->comm;
		}
	w->to->sites = snapshot__alloc(w->to, s->n_sites + 1, sizeof(*w->to->sites));
	for (size_t i = 0; i < s->n_sites; i++) {
		struct snap_site *site = &w->to->sites[i];

		*site = s->sites[i];
		if (site->tid && !site->thread &&
		    key_ids__find(&tids, (struct key){ .a = site->process, .b = (uint64_t)site->tid }, &id))
			site->thread = comms.v[id];
	}
	key_ids__done(&tids);
	vec_done(&comms);
}

/* ---- all of it */

struct snapshot *snapshot__group(const struct snapshot *s, const struct grouping *by)
{
	struct work w = { .by = by, .from = s, .to = snapshot__like(s) };

	w.to->by = by->name;
	if (by->threads) {
		name_threads(&w);
	} else if (by->group_of || by->ended_from) {
		choose_groups(&w);
		build_groups(&w);
		name_parents(&w);
		find_same_code(&w);
		merge_sites(&w);
		merge_histories(&w);
		map_rest(&w);
	}
	free(w.group_of);
	free(w.same_place);
	free(w.merged_into);
	return w.to;
}

/* ---- rows of several sites */

static bool represents(const struct snap_site *a, const struct snap_site *b)
{
	int alarm = verdict__compare(a->trend.verdict, b->trend.verdict);

	if (alarm && (verdict__is_alarm(a->trend.verdict) || verdict__is_alarm(b->trend.verdict)))
		return alarm < 0;
	return (ORDER(a->c.live_bytes, b->c.live_bytes) ?: ORDER(a->c.alloc_bytes, b->c.alloc_bytes)) > 0;
}

/* A row has the stack of its site that is worst, or else heaviest; the others are added to that one. */
static void merge_rows(struct work *w, size_t n_rows)
{
	const struct snapshot *s = w->from;
	_cleanup_free_ uint32_t *first = xcalloc(n_rows + 1, sizeof(*first));

	w->to->sites = snapshot__alloc(w->to, n_rows + 1, sizeof(*w->to->sites));
	w->to->n_sites = n_rows;
	for (size_t i = 0; i < s->n_sites; i++) {
		uint32_t *at = &first[w->merged_into[i]];

		if (!*at || represents(&s->sites[i], &s->sites[*at - 1]))
			*at = i + 1;
	}
	for (size_t row = 0; row < n_rows; row++)
		w->to->sites[row] = s->sites[first[row] - 1];
	for (size_t i = 0; i < s->n_sites; i++) {
		struct snap_site *to = &w->to->sites[w->merged_into[i]];
		uint8_t end = to->end;

		to->n_stacks += MAX(s->sites[i].n_stacks, 1u);
		if (first[w->merged_into[i]] == i + 1)
			continue;
		site__add(to, &s->sites[i]);
		to->end = end;
	}
}

struct snapshot *snapshot__merge_sites(const struct snapshot *s, const uint32_t *row_of, size_t n_rows, uint64_t leak_after_ns)
{
	struct work w = { .from = s, .to = snapshot__like(s), .merged_into = (uint32_t *)row_of };

	merge_rows(&w, n_rows);
	merge_histories(&w);
	map_rest(&w);
	for (size_t i = 0; i < n_rows; i++)
		if (w.to->sites[i].n_stacks > 1)
			trends__row(w.to, &w.to->sites[i], leak_after_ns);
	return w.to;
}
