// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the lives, their ended threads and their timelines. Ids count from 1 in order of appearance
 * and are never given again.
 */
#include <string.h>

#include "model/life.h"
#include "model/merge.h"
#include "model/model.h"
#include "util/util.h"

/* A server may start a thread per request, for days: after this many, the ended ones are one row. */
#define MAX_ENDED_THREADS 1024
#define MAX_FORMER_NAMES 64	/* of the threads of a process that run */
/* Points of a timeline; when it is full, every second one goes and they come half as often. */
#define MAX_POINTS 1024
/* Of all timelines, as far as each has a few. */
#define MAX_ALL_POINTS (256 * 1024)
#define FEW_POINTS 32

struct model *model__new(void)
{
	struct model *m = xcalloc(1, sizeof(*m));

	archive__init(&m->archive);
	m->by_proc = xcalloc(MT_PROC_NUMBERS, sizeof(*m->by_proc));
	return m;
}

void model__keep_modules(struct model *m, const struct module_calls *calls)
{
	m->archive.calls = *calls;
}

/* It began while the probes were still on their way: not all that it did was seen. */
static void note_early(const struct model *m, struct life *l)
{
	if (!l->row.age_at_attach_ns && l->row.began_ns && l->row.began_ns < m->start_clock_ns)
		l->row.age_at_attach_ns = m->start_clock_ns - l->row.began_ns;
}

static void note_use_at_attach(struct snap_process *p)
{
	p->rss_at_attach_bytes = p->rss_bytes;
	p->swap_at_attach_bytes = p->swap_bytes;
	p->hugetlb_at_attach_bytes = p->hugetlb_bytes;
	p->file_at_attach_bytes = p->file_bytes;
	p->table_at_attach_bytes = p->table_bytes;
}

void model__begin(struct model *m, uint64_t start_clock_ns, int64_t wall_start_ns, uint64_t start_ns)
{
	bool again = m->start_clock_ns;

	m->start_clock_ns = start_clock_ns;
	m->wall_start_ns = wall_start_ns;
	/* they were read before their probes were in place; 0 is from the first instruction on */
	for (size_t i = 0; i < m->lives.n; i++) {
		struct life *l = m->lives.v[i];

		note_early(m, l);
		if ((l->row.age_at_attach_ns || again) && l->row.wall_started_ns && (int64_t)start_ns > l->row.started_ns)
			l->row.age_at_attach_ns = MAX(l->row.age_at_attach_ns, (uint64_t)((int64_t)start_ns - l->row.started_ns));
		if (again)
			note_use_at_attach(&l->row);
	}
	/* one that was set while nothing was recorded is the beginning */
	if (again)
		m->baseline.t_ns = 0;
}

uint64_t model__since_start(const struct model *m, uint64_t clock_ns)
{
	return clock_ns > m->start_clock_ns ? clock_ns - m->start_clock_ns : 0;
}

struct snap_process *model__process(struct model *m, uint32_t proc)
{
	struct life *l = model__life(m, proc);

	m->nobody = (struct snap_process){};
	return l ? &l->row : &m->nobody;
}

static void free_cgroup(struct snap_process *p)
{
	free((char *)p->cgroup);
	free((char *)p->container);
	free((char *)p->pod);
	free((char *)p->unit);
}

static void life_free(struct model *m, struct life *l)
{
	free((char *)l->row.comm);
	free((char *)l->row.exe);
	free_cgroup(&l->row);
	life__fold_threads(l, 0);
	vec_done(&l->ended_threads);
	for (size_t i = 0; i < l->former_names.n; i++)
		free((char *)l->former_names.v[i].comm);
	vec_done(&l->former_names);
	vec_done(&l->timeline);
	kept__free(&m->archive, l->kept);
	free(l);
}

void model__free(struct model *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->lives.n; i++)
		life_free(m, m->lives.v[i]);
	vec_done(&m->lives);
	free(m->by_proc);
	archive__done(&m->archive);
	places__done(&m->places);
	history__done(&m->history);
	baseline__done(&m->baseline);
	free(m);
}

struct life *model__life(const struct model *m, uint32_t proc)
{
	return proc < MT_PROC_NUMBERS ? m->by_proc[proc] : NULL;
}

void model__forget_number(struct model *m, struct life *l)
{
	if (model__life(m, l->row.proc) == l)
		m->by_proc[l->row.proc] = NULL;
	l->row.proc = 0;
}

void model__drop_folded(struct model *m)
{
	size_t to = 0;

	for (size_t i = 0; i < m->lives.n; i++)
		if (m->lives.v[i]->folded)
			life_free(m, m->lives.v[i]);
		else
			m->lives.v[to++] = m->lives.v[i];
	m->lives.n = to;
}

static char *copy(const char *s)
{
	return s ? xstrdup(s) : NULL;
}

struct life *model__new_life(struct model *m)
{
	struct life *l = xcalloc(1, sizeof(*l)), **slot = vec_push(&m->lives);

	*slot = l;
	l->row.id = ++m->last_id;
	return l;
}

void model__add_life(struct model *m, const struct snap_process *p)
{
	struct life *l = model__new_life(m), *parent = p->parent_proc ? model__life(m, p->parent_proc) : NULL;
	uint32_t id = l->row.id;

	/* the first of a number has it */
	if (p->proc < MT_PROC_NUMBERS && !m->by_proc[p->proc])
		m->by_proc[p->proc] = l;
	l->row = *p;
	l->row.id = id;
	l->row.comm = copy(p->comm);
	l->row.exe = copy(p->exe);
	l->row.cgroup = copy(p->cgroup);
	l->row.container = copy(p->container);
	l->row.pod = copy(p->pod);
	l->row.unit = copy(p->unit);
	l->row.parent = parent ? parent->row.id : 0;
	note_use_at_attach(&l->row);
	note_early(m, l);
}

void model__thread_renamed(struct model *m, uint32_t proc, pid_t tid, const char *comm, const struct mt_thread_counts *c)
{
	static const struct counters none;
	struct life *l = model__life(m, proc);
	struct counters left = c ? counters__of_thread(c) : none;
	struct snap_thread *t = NULL;

	if (!l)
		return;
	m->n_renamed_unkept += !c;
	for (size_t i = 0; i < l->former_names.n; i++)
		if (l->former_names.v[i].tid == tid) {
			counters__take(&left, &l->former_names.v[i].c);
			t = strcmp(l->former_names.v[i].comm, comm) ? t : &l->former_names.v[i];
		}
	if (!memcmp(&left, &none, sizeof(left)))
		return;
	if (!t) {
		t = l->former_names.n < MAX_FORMER_NAMES ? vec_push(&l->former_names) : NULL;
		if (!t) {
			m->n_renamed_unkept++;
			return;
		}
		*t = (struct snap_thread){ .tid = tid, .comm = xstrdup(comm) };
	}
	counters__add(&t->c, &left);
}

static void end_thread(struct life *l, pid_t tid, const char *comm, const struct counters *c)
{
	if (l->ended_threads.n >= MAX_ENDED_THREADS) {
		l->more_ended.stands_for++;
		counters__add(&l->more_ended.c, c);
		return;
	}
	*vec_push(&l->ended_threads) = (struct snap_thread){ .tid = tid, .comm = xstrdup(comm), .ended = true, .c = *c };
}

/* A row for each name that it had. */
void model__thread_ended(struct model *m, uint32_t proc, pid_t tid, const char *comm, const struct mt_thread_counts *c)
{
	struct life *l = model__life(m, proc);
	struct counters left = counters__of_thread(c);
	size_t n = 0;

	if (!l)
		return;
	for (size_t i = 0; i < l->former_names.n; i++) {
		const struct snap_thread was = l->former_names.v[i];

		if (was.tid != tid) {
			l->former_names.v[n++] = was;
			continue;
		}
		if (strcmp(was.comm, comm)) {
			struct counters its = counters__take(&left, &was.c);

			end_thread(l, tid, was.comm, &its);
		}
		free((char *)was.comm);
	}
	l->former_names.n = n;
	end_thread(l, tid, comm, &left);
}

void model__set_cgroup(struct model *m, uint32_t proc, const char *cgroup, const char *container, const char *pod, const char *unit)
{
	struct life *l = model__life(m, proc);

	if (!l)
		return;
	free_cgroup(&l->row);
	l->row.cgroup = copy(cgroup);
	l->row.container = copy(container);
	l->row.pod = copy(pod);
	l->row.unit = copy(unit);
}

void model__set_rss(struct model *m, uint32_t proc, uint64_t rss_bytes, uint64_t swap_bytes,
		    uint64_t hugetlb_bytes)
{
	struct life *l = model__life(m, proc);

	/* of a process that ended, the last figure stays */
	if (!l || !rss_bytes)
		return;
	l->row.rss_bytes = rss_bytes;
	l->rss_seen = true;
	l->row.swap_bytes = swap_bytes;
	l->row.hugetlb_bytes = hugetlb_bytes;
}

void model__set_files_and_tables(struct model *m, uint32_t proc, uint64_t file_bytes, uint64_t table_bytes)
{
	struct life *l = model__life(m, proc);

	if (!l || !table_bytes)
		return;
	l->row.file_bytes = file_bytes;
	l->row.table_bytes = table_bytes;
}

void model__set_memory(struct model *m, uint32_t proc, const struct snap_memory *memory)
{
	struct life *l = model__life(m, proc);

	/* of a process that ended, the last reading stays */
	if (!l || l->row.ended)
		return;
	l->row.memory = *memory;
	if (!l->first_memory.known)
		return;
	l->row.memory.heap_estimated |= l->first_memory.heap_estimated;
	l->row.memory.large_estimated |= l->first_memory.large_estimated;
	l->row.memory.grown_known = true;
	l->row.memory.first_mapped = l->first_memory.heap_mapped + l->first_memory.large_mapped;
	l->row.memory.first_untouched = l->first_memory.heap_mapped - MIN(l->first_memory.heap_resident, l->first_memory.heap_mapped);
	l->row.memory.heap_grown = (int64_t)(memory->heap_resident - l->first_memory.heap_resident);
	l->row.memory.large_grown = (int64_t)(memory->large_resident - l->first_memory.large_resident);
	l->row.memory.file_grown = (int64_t)(memory->file_resident - l->first_memory.file_resident);
	l->row.memory.shmem_grown = (int64_t)(memory->shmem_resident - l->first_memory.shmem_resident);
}

void model__set_first_memory(struct model *m, uint32_t proc, const struct snap_memory *memory)
{
	struct life *l = model__life(m, proc);

	if (l)
		l->first_memory = *memory;
}

static void thin_out(struct life *l)
{
	size_t to = 0;

	for (size_t from = 0; from < l->timeline.n; from += 2)
		l->timeline.v[to++] = l->timeline.v[from];
	l->timeline.n = to;
	l->note_every *= 2;
}

#define NO_POINT UINT64_MAX

void model__note(struct model *m, const struct cut *cut)
{
	/* by the number in the kernel's tables */
	_cleanup_free_ struct snap_point *sums = xcalloc(MT_PROC_NUMBERS, sizeof(*sums));
	size_t max_points = MAX_ALL_POINTS / (m->lives.n + 1);

	max_points = MIN(MAX(max_points, FEW_POINTS), MAX_POINTS);
	for (size_t i = 0; i < cut->n_sites; i++) {
		const struct counters *c = &cut->sites[i].c;
		struct snap_point *sum = &sums[cut->sites[i].proc];

		if (cut->sites[i].proc >= MT_PROC_NUMBERS)
			continue;
		sum->live_bytes += c->alloc_bytes - c->free_bytes;
		sum->live_blocks += c->alloc_calls - c->free_calls;
		sum->alloc_calls += c->alloc_calls;
	}
	for (size_t i = 0; i < cut->n_procs; i++)
		if (cut->procs[i].live_unknown && cut->procs[i].proc < MT_PROC_NUMBERS)
			sums[cut->procs[i].proc].t_ns = NO_POINT;
	for (size_t i = 0; i < m->lives.n; i++) {
		struct life *l = m->lives.v[i];
		struct snap_point *slot;

		if (!l->note_every)
			l->note_every = 1;
		if (l->timeline.n > max_points)
			thin_out(l);
		if (l->kept || (l->row.ended && l->timeline.n) || l->row.proc >= MT_PROC_NUMBERS || sums[l->row.proc].t_ns == NO_POINT)
			continue;
		if (l->n_notes++ % l->note_every)
			continue;
		if (l->timeline.n >= max_points)
			thin_out(l);
		/* --stop-on: the end is known only after later points were noted */
		while (l->timeline.n && l->timeline.v[l->timeline.n - 1].t_ns >= model__since_start(m, cut->now_ns))
			l->timeline.n--;
		slot = vec_push(&l->timeline);
		*slot = sums[l->row.proc];
		slot->t_ns = model__since_start(m, cut->now_ns);
		slot->rss_bytes = l->row.rss_bytes;
		slot->swap_bytes = l->row.swap_bytes;
		slot->hugetlb_bytes = l->row.hugetlb_bytes;
		slot->file_bytes = l->row.file_bytes;
		slot->table_bytes = l->row.table_bytes;
	}
	history__note(&m->history, cut, model__since_start(m, cut->now_ns));
}

void model__set_baseline(struct model *m, const struct cut *cut)
{
	baseline__set(&m->baseline, cut, model__since_start(m, cut->now_ns));
	/* what is in the kernel's tables no more will not change */
	for (size_t i = 0; i < m->lives.n; i++) {
		struct kept *k = m->lives.v[i]->kept;

		for (size_t j = 0; k && j < k->sites.n; j++)
			k->sites.v[j].row.since_baseline_bytes = 0;
	}
}
