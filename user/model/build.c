// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Model and cut → snapshot. Owns nothing. The sums of a process
 * and the totals are made from the sites, so they agree with them always.
 */
#include <math.h>
#include <string.h>

#include "model/frees.h"
#include "model/life.h"
#include "model/merge.h"
#include "model/model.h"
#include "model/remap.h"
#include "model/schema.h"
#include "util/util.h"

_Static_assert(MOVES_LONGEST_MAX == MT_CHAIN_MAX, "what a block can carry");

struct build {
	struct snapshot *s;
	const struct model_calls *calls;
	struct places *places;	/* the model's */
	uint64_t unit_ns;	/* of the programs' clock */
	const struct course **courses;	/* by site: what it is judged by once all of them are there */
	const char *names[MT_MAX_NAMES + 1];	/* of threads, by number; NULL: not read yet */
};

/* ---- rows */

/* Since the trace's start. It ended at an instant; the programs' clock may go by ticks, and be ahead of that. */
static uint64_t moment(const struct build *b, const struct model *m, uint64_t clock_ns)
{
	return MIN(model__since_start(m, clock_ns), b->s->duration_ns);
}

static const char *thread_name(struct build *b, uint32_t number)
{
	char name[32] = "";

	if (!b->names[number] && b->calls->thread_name) {
		b->calls->thread_name(number, name, b->calls->arg);
		b->names[number] = *name ? snapshot__strdup(b->s, name) : NULL;
	}
	return b->names[number];
}

/* Variances of independent estimates add up; their roots do not. */
static void add_variance(struct std_error *sum, const struct std_error *var)
{
	fields__merge(&variance_fields, sum, var);
}

/*
 * Small blocks may have been skipped altogether: as if three samples more had been taken. Where
 * none is, there was no more than seven would stand for, but for one time in a thousand (exp(-4 *
 * sqrt(3))).
 */
#define SAMPLES_MORE 3

static void add_passed_over(const struct build *b, struct std_error *e)
{
	double bytes = (double)b->s->recording.sample_bytes, calls = bytes / MT_SAMPLE_LEAST;

	if (b->s->recording.sample_bytes <= 1)
		return;
	e->alloc_bytes += SAMPLES_MORE * bytes * bytes;
	e->live_bytes += SAMPLES_MORE * bytes * bytes;
	e->alloc_calls += SAMPLES_MORE * calls * calls;
	e->live_blocks += SAMPLES_MORE * calls * calls;
}

/*
 * The variance of live blocks of n bytes together is at most n times the mean distance of samples,
 * whatever their sizes: a block of s bytes is recorded with p = 1 - exp(-s / mean), which makes s *
 * s * (1 - p) / p at most s * mean.
 */
static double peak_error(const struct build *b, uint64_t bytes)
{
	double mean = (double)b->s->recording.sample_bytes;

	return b->s->recording.sample_bytes > 1 ? sqrt(mean * (double)bytes + SAMPLES_MORE * mean * mean) : 0;
}

static void take_root(struct std_error *e)
{
	e->alloc_calls = sqrt(e->alloc_calls);
	e->alloc_bytes = sqrt(e->alloc_bytes);
	e->live_blocks = sqrt(e->live_blocks);
	e->live_bytes = sqrt(e->live_bytes);
}

/* Which of the cut's threads are whose: by the number of a process, from 1 on; 0: of none. */
static void list_threads(const struct cut *cut, const uint32_t *process_of_proc, size_t n_processes, struct lists *ret)
{
	_cleanup_free_ uint32_t *went = xcalloc(cut->n_threads + 1, sizeof(*went));

	for (size_t i = 0; i < cut->n_threads; i++)
		went[i] = cut->threads[i].proc < MT_PROC_NUMBERS ? process_of_proc[cut->threads[i].proc] : 0;
	lists__init(ret, went, cut->n_threads, n_processes + 1);
}

/* What a thread did under a name that it has no more, taken from what it did in all. */
static struct snap_thread former_name(struct build *b, const struct snap_thread *was, struct counters *left)
{
	return (struct snap_thread){ .tid = was->tid, .comm = snapshot__strdup(b->s, was->comm), .c = counters__take(left, &was->c) };
}

static bool runs(const struct cut *cut, const struct lists *lists, size_t from, size_t to, pid_t tid)
{
	for (size_t i = from; i < to; i++)
		if ((pid_t)cut->threads[lists->v[i]].tid == tid)
			return true;
	return false;
}

/* number: that of the process, from 1 on. */
static void build_threads(struct build *b, const struct life *l, const struct cut *cut,
			  const struct lists *lists, size_t number, const struct cut_proc *row_of_it,
			  struct snap_process *p)
{
	size_t from = lists->start[number], to = lists->start[number + 1];
	struct snap_thread *t = snapshot__alloc(b->s, to - from + l->ended_threads.n + l->former_names.n + 1, sizeof(*t));
	struct snap_thread more = l->more_ended;

	p->threads = t;
	if (row_of_it) {
		more.stands_for += row_of_it->n_untold;
		counters__add(&more.c, &row_of_it->untold);
	}
	for (size_t i = from; i < to; i++) {
		const struct cut_thread *row = &cut->threads[lists->v[i]];
		struct snap_thread *its = t++;
		struct counters left = row->c;
		char comm[32] = "";

		b->calls->thread_comm(l->row.pid, row->tid, comm, b->calls->arg);
		p->probe_hits += row->probe_hits;
		for (size_t k = 0; k < l->former_names.n; k++) {
			const struct snap_thread *was = &l->former_names.v[k];

			if (was->tid == (pid_t)row->tid && strcmp(was->comm, comm))
				*t++ = former_name(b, was, &left);
		}
		*its = (struct snap_thread){
			.tid = row->tid,
			.comm = snapshot__strdup(b->s, comm),
			.c = left,
		};
	}
	/* it has ended without a message of its own: what it did is part of the others' */
	for (size_t k = 0; k < l->former_names.n; k++)
		if (!runs(cut, lists, from, to, l->former_names.v[k].tid)) {
			*t = former_name(b, &l->former_names.v[k], &more.c);
			t++->ended = true;
		}
	for (size_t i = 0; i < l->ended_threads.n; i++) {
		*t = l->ended_threads.v[i];
		t->comm = snapshot__strdup(b->s, t->comm);
		t++;
	}
	if (more.stands_for) {
		more.comm = "(more that ended)";
		more.ended = true;
		*t++ = more;
	}
	p->n_threads = t - p->threads;
}

static uint64_t class_below(size_t i)
{
	return i + 1 < MT_N_CLASSES ? 1ull << i : UINT64_MAX;
}

/* By a clock that ticks, what lived for n ticks lived for less than one more. */
static uint64_t lived_below(const struct build *b, size_t class)
{
	uint64_t below = class_below(class), most;

	if (below == UINT64_MAX || b->unit_ns == 1)
		return below;
	most = class ? (below - 1) / b->unit_ns : 0;
	return (most + 1) * b->unit_ns;
}

static void build_hists(struct build *b, const struct mt_hist *h, struct snap_process *p)
{
	struct snap_size *sizes = snapshot__alloc(b->s, MT_N_CLASSES, sizeof(*sizes));
	struct snap_lifetime *lives = snapshot__alloc(b->s, MT_N_CLASSES, sizeof(*lives));

	p->sizes = sizes;
	p->lifetimes = lives;
	for (size_t i = 0; i < MT_N_CLASSES; i++) {
		if (h->size_allocs[i])
			sizes[p->n_sizes++] = (struct snap_size){ class_below(i), h->size_allocs[i],
								   h->size_allocs[i] - h->size_frees[i] };
		if (h->lifetimes[i])
			lives[p->n_lifetimes++] = (struct snap_lifetime){ lived_below(b, i), h->lifetimes[i] };
	}
}

/* A trace ends at an instant, and a mark comes at one; the clock of cuts goes by ticks. */
static void copy_timeline(struct snapshot *s, const struct life *l, struct snap_process *to)
{
	struct snap_point *v = snapshot__alloc(s, l->timeline.n + 1, sizeof(*v));

	for (size_t i = 0; i < l->timeline.n; i++) {
		v[i] = l->timeline.v[i];
		v[i].t_ns = MIN(v[i].t_ns, s->duration_ns);
	}
	to->timeline = v;
	to->n_timeline = l->timeline.n;
}

static void build_process(struct build *b, const struct model *m, const struct life *l, const struct cut_proc *from,
			  struct snap_process *p)
{
	*p = l->row;
	p->comm = p->comm ?: "";
	p->exe = p->exe ?: "";
	fields__own(b->s, &process_fields, p);
	if (l == m->others) {
		char comm[64];

		snprintf(comm, sizeof(comm), "(%llu %s that ended)", (unsigned long long)m->archive.n_folded_lives,
			 m->archive.n_folded_lives == 1 ? "other" : "others");
		p->comm = snapshot__strdup(b->s, comm);
		p->n_members = m->archive.n_folded_lives;
	}
	/* of one that ended before it was examined, what it had at its first instruction says nothing */
	if (p->ended && !l->rss_seen && !p->age_at_attach_ns)
		p->rss_bytes = 0;
	copy_timeline(b->s, l, p);
	if (from) {
		p->c.unknown_frees = from->unknown_frees;
		p->c.peak_bytes = from->peak_bytes;
		p->peak_at_ns = from->peak_bytes ? moment(b, m, from->peak_ns) : 0;
		p->lost_blocks = from->lost_blocks;
		p->lost_stacks = from->lost_stacks;
		p->missed_frees = from->missed_frees;
		build_hists(b, &from->hist, p);
		p->probe_hits = from->probe_hits;
		b->s->probe_hits += from->probe_hits;
		b->s->frames_walked += from->frames;
	}
}

static void build_processes(struct build *b, struct model *m, const struct cut *cut, uint32_t *process_of_proc)
{
	struct snap_process *p = snapshot__alloc(b->s, m->lives.n + 1, sizeof(*p));
	_cleanup_free_ const struct cut_proc **rows = xcalloc(MT_PROC_NUMBERS, sizeof(*rows));
	struct lists threads = {};

	for (size_t i = 0; i < cut->n_procs; i++)
		if (cut->procs[i].proc < MT_PROC_NUMBERS)
			rows[cut->procs[i].proc] = &cut->procs[i];
	for (size_t i = 0; i < m->lives.n; i++)
		if (model__life(m, m->lives.v[i]->row.proc) == m->lives.v[i])
			process_of_proc[m->lives.v[i]->row.proc] = i + 1;
	process_of_proc[0] = 0;
	list_threads(cut, process_of_proc, m->lives.n, &threads);
	for (size_t i = 0; i < m->lives.n; i++) {
		const struct life *l = m->lives.v[i];
		const struct cut_proc *row = l->kept ? &l->kept->row : l->row.proc < MT_PROC_NUMBERS ? rows[l->row.proc] : NULL;

		build_process(b, m, l, row, &p[i]);
		build_threads(b, l, cut, &threads, i + 1, row, &p[i]);
	}
	lists__done(&threads);
	b->s->processes = p;
	b->s->n_processes = m->lives.n;
	for (size_t i = 0; i < cut->n_threads; i++) {
		b->s->probe_hits += cut->threads[i].probe_hits;
		b->s->frames_walked += cut->threads[i].frames;
	}
}

/* A row of the snapshot, from a raw one, and what it adds to its process and to the totals. */
static struct snap_site *add_site(struct build *b, const struct model *m, const struct cut *cut,
				  const struct snap_site *from, uint32_t process)
{
	struct snapshot *s = b->s;
	struct snap_process *p = (struct snap_process *)&s->processes[process];
	struct snap_site *to = &s->sites[s->n_sites++];
	/* with --overhead most seconds are seen in part, and the table has but a part of the blocks */
	bool in_part = s->observed_share < 1;

	*to = *from;
	to->frames = NULL;
	to->n_frames = 0;
	to->raw_ages = NULL;
	to->process = process;
	to->function = b->calls->function(from->func, b->calls->arg);
	to->growth = recording__is_growth(&s->recording) ? growth__of(to->function) : GROWTH_NONE;
	to->c.live_blocks = from->c.alloc_calls - from->c.free_calls;
	to->c.live_bytes = from->c.alloc_bytes - from->c.free_bytes;
	to->tid = (int)MT_TID(from->named_tid);
	to->thread = MT_NAME(from->named_tid) ? thread_name(b, MT_NAME(from->named_tid)) : NULL;
	to->min_size = from->c.alloc_calls ? from->min_size : 0;
	to->first_ns = moment(b, m, from->first_ns);
	to->last_ns = moment(b, m, from->last_ns);
	to->most_calls_per_s = in_part || from->evicted_stacks ? 0 : MAX(from->most_calls_per_s, history__most_calls_per_s(&m->history, from));
	to->oldest_ns = from->oldest_born_ns ? cut->now_ns - MIN(from->oldest_born_ns, cut->now_ns) : 0;
	ages__build(s, from->raw_ages, in_part ? to->c.live_blocks : UINT64_MAX, in_part ? to->c.live_bytes : UINT64_MAX, to);
	counters__add_counts(&p->c, &to->c);
	p->growth.calls[to->growth] += to->c.alloc_calls;
	p->growth.bytes[to->growth] += to->c.alloc_bytes;
	if (s->estimated) {
		to->error = from->var;
		add_passed_over(b, &to->error);
		add_variance(&p->error, &from->var);
		take_root(&to->error);
		to->error.peak_bytes = peak_error(b, to->at_peak_bytes);
	}
	s->n_folded_sites += from->evicted_stacks;
	s->scan_blocks += from->scan_blocks;
	s->scan_bytes += from->scan_bytes;
	return to;
}

static void count_end(struct snapshot *s, struct snap_site *site)
{
	/* what found no room for its stack is proven of nothing */
	if (!site->n_stack)
		site->end = MT_END_UNSURE;
	else
		s->stacks_by_end[site->end < MT_N_ENDS ? site->end : MT_END_NO_RULE]++;
}

static void build_sites(struct build *b, struct model *m, const struct cut *cut, const uint32_t *process_of_proc)
{
	struct snapshot *s = b->s;

	s->sites = snapshot__alloc(s, cut->n_sites + m->archive.n_sites + 1, sizeof(*s->sites));
	b->courses = xcalloc(cut->n_sites + m->archive.n_sites + 1, sizeof(*b->courses));
	for (size_t i = 0; i < cut->n_sites; i++) {
		const struct snap_site *from = &cut->sites[i];
		struct snap_site *to;

		if (from->proc >= MT_PROC_NUMBERS || !process_of_proc[from->proc])
			continue;
		to = add_site(b, m, cut, from, process_of_proc[from->proc] - 1);
		if (from->n_frames) {
			to->stack = snapshot__copy(s, places__of_site(b->places, from, b->calls), from->n_frames,
						   sizeof(*to->stack));
			to->n_stack = from->n_frames;
		}
		count_end(s, to);
		to->since_baseline_bytes = baseline__change(&m->baseline, from);
		b->courses[to - s->sites] = history__of_site(&m->history, from);
	}
}

/* Lives that are in the kernel's tables no more. */
static void build_kept(struct build *b, struct model *m, const struct cut *cut)
{
	struct snapshot *s = b->s;

	for (size_t i = 0; i < m->lives.n; i++) {
		const struct kept *k = m->lives.v[i]->kept;

		for (size_t j = 0; k && j < k->sites.n; j++) {
			const struct kept_site *from = &k->sites.v[j];
			struct snap_site *to = add_site(b, m, cut, &from->row, i);
			uint64_t idle_ns = cut->now_ns - MIN(from->row.last_ns, cut->now_ns);
			uint32_t *stack;

			/* their blocks grow older: from some time on, all are older than what was requested */
			if (idle_ns >= s->recording.older_ns) {
				to->older_blocks = to->c.live_blocks;
				to->older_bytes = to->c.live_bytes;
			}
			if (cut->has_ages)
				ages__build_range(s, idle_ns, to->oldest_ns,
						  to->c.live_blocks, to->c.live_bytes, to);
			b->courses[to - s->sites] = &from->course;
			if (!from->n_stack)
				continue;
			stack = snapshot__alloc(s, from->n_stack, sizeof(*stack));
			kept_site__stack(from, b->places, stack);
			to->stack = stack;
			to->n_stack = from->n_stack;
			count_end(s, to);
		}
	}
	s->n_folded_processes = m->archive.n_folded_lives;
}

/* The heap scan was some time before: what was freed since is live no more. */
static void settle_look(struct snapshot *s, struct snap_site *to)
{
	const struct site_look *most = to->look;

	if (!most)
		return;
	to->look = NULL;
	if (!most->scans)
		to->looked_blocks = 0;
	to->unreached_blocks = MIN(to->unreached_blocks, to->c.live_blocks);
	to->unreached_bytes = MIN(to->unreached_bytes, to->c.live_bytes);
	to->types = rows__copy(s, &share_fields, most->types, most->n_types, sizeof(*to->types));
	to->n_types = most->n_types;
	to->sampled_blocks = MIN(most->sampled, to->c.live_blocks);
	if (most->held) {
		struct snap_root held = *most->held;

		held.bytes = MIN(held.bytes, to->c.live_bytes);
		held.blocks = MIN(held.blocks, to->c.live_blocks);
		to->held = snap_root__copy(s, &held);
	}
}

/* Where the sites of a process are no independent estimates, their variances do not add up to its own. */
static void take_variance(struct snapshot *s, size_t process, const struct cut_proc *from)
{
	struct std_error *e = (struct std_error *)&s->processes[process].error;

	if (!from->var.alloc_calls)
		return;
	*e = (struct std_error){};
	add_variance(e, &from->var);
}

static void take_variances(struct snapshot *s, const struct model *m, const struct cut *cut, const uint32_t *process_of_proc)
{
	for (size_t i = 0; i < cut->n_procs; i++) {
		const struct cut_proc *from = &cut->procs[i];

		if (from->proc < MT_PROC_NUMBERS && process_of_proc[from->proc])
			take_variance(s, process_of_proc[from->proc] - 1, from);
	}
	for (size_t i = 0; i < m->lives.n; i++)
		if (m->lives.v[i]->kept)
			take_variance(s, i, &m->lives.v[i]->kept->row);
}

static void build_totals(const struct build *b)
{
	struct snapshot *s = b->s;

	for (size_t i = 0; i < s->n_processes; i++)
		add_variance(&s->error, &s->processes[i].error);
	add_passed_over(b, &s->error);
	take_root(&s->error);
	for (size_t i = 0; i < s->n_processes; i++) {
		struct std_error *e = (struct std_error *)&s->processes[i].error;

		add_passed_over(b, e);
		take_root(e);
		e->peak_bytes = peak_error(b, s->processes[i].c.peak_bytes);
		s->error.peak_bytes = hypot(s->error.peak_bytes, e->peak_bytes);
		counters__add(&s->totals, &s->processes[i].c);
	}
}

/* No more can be wrong of a process than it has, nor of all than of each. */
static void build_unsure(struct snapshot *s)
{
	for (size_t i = 0; i < s->n_processes; i++) {
		struct snap_process *p = (struct snap_process *)&s->processes[i];

		p->unsure_blocks = MIN(p->unsure_blocks, p->c.live_blocks);
		s->reading.unsure_blocks += p->unsure_blocks;
		s->reading.n_unread += p->n_heaps_unread;
	}
	s->reading.unsure_blocks = MIN(s->reading.unsure_blocks, s->totals.live_blocks);
}

struct snapshot *model__snapshot(struct model *m, const struct cut *cut, const struct snapshot_info *info,
				 const struct model_calls *calls)
{
	struct snapshot *s = snapshot__like(&info->base);
	struct build b = { .s = s, .calls = calls, .places = &m->places, .unit_ns = MAX(info->unit_ns, 1) };
	_cleanup_free_ uint32_t *process_of_proc = xcalloc(MT_PROC_NUMBERS, sizeof(*process_of_proc));

	places__begin(&m->places, info->mappings);
	s->by = "process";
	s->kernel = snapshot__strdup(s, s->kernel);
	s->arch = snapshot__strdup(s, s->arch);
	s->host = snapshot__strdup(s, s->host);
	s->boot_id = s->boot_id && *s->boot_id ? snapshot__strdup(s, s->boot_id) : NULL;
	s->estimated = s->recording.sample_bytes || s->observed_share < 1;
	s->known = counters__known(&s->recording, s->observed_share);
	s->paused_ns = MIN(s->paused_ns, s->duration_ns);
	s->wall_start_ns = m->wall_start_ns;
	s->scanned = cut->scanned;
	s->baseline = m->baseline.set;
	s->baseline_ns = m->baseline.t_ns;
	snapshot__count_losses(s, m, cut, info);
	build_processes(&b, m, cut, process_of_proc);
	build_sites(&b, m, cut, process_of_proc);
	build_kept(&b, m, cut);
	/* a verdict on a site asks what all of its process holds */
	for (size_t i = 0; i < s->n_sites; i++) {
		trends__site(m, cut, info, b.courses[i], s, &s->sites[i]);
		settle_look(s, &s->sites[i]);
	}
	free(b.courses);
	s->probe_ns_estimate = s->probe_ns_estimate ?: (uint64_t)((double)s->probe_hits * info->hit_ns);
	if (s->recording.free_stacks)
		frees__build(s, m, cut, process_of_proc, calls);
	take_variances(s, m, cut, process_of_proc);
	build_totals(&b);
	build_unsure(s);
	trends__processes(info, s);
	places__copy(&m->places, s);
	return s;
}
