// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns what changed from row to row. What always holds: each site is in
 * one row, so the rows of a column add up to that profile; the order is the
 * same for the same two files.
 */
#include "model/diff.h"

#include <math.h>
#include <string.h>

#include "bpf/abi.h"
#include "model/frees.h"
#include "model/group.h"
#include "model/heaps.h"
#include "model/merge.h"
#include "util/clock.h"
#include "util/ids.h"
#include "util/util.h"

/*
 * ---- rows of two profiles are matched: two sites have the same number if all frames have the same module's file name and function,
 * whatever their addresses, lines and paths are. Files of scripts are told apart by their folders, too: many are called alike.
 */

struct matcher {
	struct string_ids strings;
	struct key_ids frames;	/* (module, name or offset, which of them) */
	struct key_ids stacks;	/* (number + 1 of the stack without its last frame, that frame) */
	struct key_ids rows;	/* the number of a whole stack; the process's name; the kind of growth */
	bool by_comm;		/* one of the two has processes of several names: rows are kept apart by them */
};

static void add_frame(struct matcher *m, const struct frame *f, uint32_t *chain)
{
	bool named = f->line && f->line->function && *f->line->function;
	uint32_t module, name = 0, frame;
	const char *origin = frame__origin(f);

	string_ids__get(&m->strings, !origin ? "" : origin == f->module ? path_basename(origin) : path_tail(origin), &module);
	if (named)
		string_ids__get(&m->strings, f->line->function, &name);
	key_ids__get(&m->frames, (struct key){ module, named ? name : f->place->offset, named },
		     &frame, NULL);
	key_ids__get(&m->stacks, (struct key){ .a = *chain, .b = frame }, chain, NULL);
	(*chain)++;
}

static void matcher_row(struct matcher *m, const struct snapshot *s, const struct snap_site *site, uint32_t *ret,
		 bool *ret_new)
{
	uint32_t chain = 0, comm = 0;

	if (m->by_comm)
		string_ids__get(&m->strings, s->processes[site->process].comm, &comm);
	for (uint32_t i = 0; i < site->n_stack; i++) {
		const struct place *p = &s->places[site->stack[i]];

		for (size_t k = 0; k < place__n_frames(p); k++) {
			struct frame f = place__frame(s, p, k);

			add_frame(m, &f, &chain);
		}
	}
	key_ids__get(&m->rows, (struct key){ chain, comm, site->growth }, ret, ret_new);
}

static bool several_comms(const struct snapshot *s)
{
	for (size_t i = 1; i < s->n_processes; i++)
		if (strcmp(s->processes[i].comm, s->processes[0].comm))
			return true;
	return false;
}

static void matcher_init(struct matcher *m, const struct snapshot *before, const struct snapshot *after)
{
	*m = (struct matcher){ .by_comm = several_comms(before) || several_comms(after) };
}

static void matcher_done(struct matcher *m)
{
	string_ids__done(&m->strings);
	key_ids__done(&m->frames);
	key_ids__done(&m->stacks);
	key_ids__done(&m->rows);
}

/* ---- rows */

/* Durations that differ by less are the same. */
#define SAME_DURATION 1.1

static bool is_live(const struct metric *m)
{
	return !strcmp(m->name, "live-bytes");
}

/*
 * What is live at an instant has no rate but its growth, which takes a while to be known; calls, and
 * what they allocated, add up all the time.
 */
static bool has_rates(const struct metric *m, const struct snapshot *s)
{
	if (!is_live(m))
		return !strncmp(m->name, "alloc-", 6) || !strncmp(m->name, "temp-", 5);
	for (size_t i = 0; i < s->n_sites; i++)
		if (s->sites[i].trend.known)
			return true;
	return !s->n_sites;
}

static double rate_of(const struct metric *m, const struct snapshot *s, const struct snap_site *site)
{
	if (is_live(m))
		return site->trend.known ? site->trend.growth_bytes_per_s : NAN;
	return (double)metric__of(m, site) * SECOND_NS / (double)s->duration_ns;
}

static bool differ(uint64_t a_ns, uint64_t b_ns)
{
	return a_ns && b_ns && (double)MAX(a_ns, b_ns) > SAME_DURATION * (double)MIN(a_ns, b_ns);
}

static void add(struct diff *d, struct matcher *m, const struct snapshot *s, bool after)
{
	for (size_t i = 0; i < s->n_sites; i++) {
		uint64_t weight = metric__of(d->metric, &s->sites[i]);
		struct diff_row *row;
		double error;
		uint32_t id;
		bool is_new;

		if (!weight)
			continue;
		matcher_row(m, s, &s->sites[i], &id, &is_new);
		if (is_new)
			vec_push(&d->rows);
		row = &d->rows.v[id];
		*(after ? &row->after : &row->before) += weight;
		*(after ? &d->after : &d->before) += weight;
		if (d->rates)
			*(after ? &row->after_per_s : &row->before_per_s) += rate_of(d->metric, s, &s->sites[i]);
		error = metric__error(d->metric, &s->sites[i]);
		row->error = hypot(row->error, error);
		if (row->s != s) {
			row->s = s;
			row->site = &s->sites[i];
		}
	}
}

static uint64_t size_of_change(const struct diff_row *r)
{
	return r->after > r->before ? r->after - r->before : r->before - r->after;
}

static double change_of_rate(const struct diff_row *r)
{
	double change = r->after_per_s - r->before_per_s;

	return isnan(change) ? 0 : change;
}

/* the sites' places in their files decide in the end, which are the same next time */
COMPARATOR(larger_first, struct diff_row,
	   ORDER(fabs(change_of_rate(b)), fabs(change_of_rate(a))) ?:
	   ORDER(size_of_change(b), size_of_change(a)) ?: ORDER(b->after, a->after) ?:
	   ORDER(a->site, b->site))

/* Not the sum of the sites': each of these has in it what may have been skipped of it. */
static double error_of_totals(const struct snapshot *s, const struct metric *m)
{
	struct snap_site all = { .error = s->error };

	return metric__error(m, &all);
}

/* How many frames are kept of a stack that has more; UINT32_MAX: none has more. */
static uint32_t depth_of(const struct snapshot *s)
{
	uint32_t depth = 0;

	for (size_t i = 0; i < s->n_sites; i++)
		if (s->sites[i].end == MT_END_DEPTH)
			depth = MAX(depth, s->sites[i].n_stack);
	return depth ? depth : UINT32_MAX;
}

static bool limit_depth(struct snapshot *s, uint32_t depth)
{
	bool any = false;

	for (size_t i = 0; i < s->n_sites; i++)
		if (s->sites[i].n_stack > depth) {
			s->sites[i].n_stack = depth;
			s->sites[i].end = MT_END_DEPTH;
			any = true;
		}
	return any;
}

uint32_t snapshots__even_depth(struct snapshot *a, struct snapshot *b, bool *ret_first)
{
	uint32_t of_a = depth_of(a), of_b = depth_of(b);

	*ret_first = of_a < of_b;
	return limit_depth(*ret_first ? b : a, MIN(of_a, of_b)) ? MIN(of_a, of_b) : 0;
}

void diff__init(struct diff *d, const struct snapshot *before, const struct snapshot *after, const struct metric *metric)
{
	struct matcher m;

	*d = (struct diff){ .metric = metric, .of_before = before, .of_after = after };
	d->rates = has_rates(metric, before) && has_rates(metric, after) &&
		   differ(before->duration_ns, after->duration_ns);
	if (metric->error_at)
		d->error = hypot(error_of_totals(before, metric), error_of_totals(after, metric));
	matcher_init(&m, before, after);
	add(d, &m, before, false);
	add(d, &m, after, true);
	matcher_done(&m);
	if (d->rows.n)
		qsort(d->rows.v, d->rows.n, sizeof(*d->rows.v), larger_first);
	for (size_t i = 0; i < d->rows.n; i++)
		d->n_of_kind[diff_row__kind(&d->rows.v[i])]++;
}

void diff__done(struct diff *d)
{
	vec_done(&d->rows);
}

/* A change of less than this many errors may be none. */
#define SURE_ERRORS 2

enum diff_kind diff_row__kind(const struct diff_row *r)
{
	if ((double)size_of_change(r) < SURE_ERRORS * r->error)
		return DIFF_UNSURE;
	if (!r->before)
		return DIFF_NEW;
	if (!r->after)
		return DIFF_GONE;
	return r->after > r->before ? DIFF_GREW : r->after < r->before ? DIFF_SHRANK : DIFF_SAME;
}

const char *diff_kind__name(enum diff_kind kind)
{
	static const char *const names[N_DIFF_KINDS] = { "grew", "shrank", "new", "gone", "same", "unsure" };

	return names[kind];
}

/*
 * ---- a diff in the form of a snapshot, for views that know how to show what changed since a baseline. What always holds: live bytes less
 * since_baseline_bytes, over all sites, are the earlier profile's live bytes; all other figures are those of the later one.
 */

struct work {
	const struct snapshot *before;
	struct snapshot *to;
	struct matcher matcher;
	struct vec(struct snap_site) sites;	/* by number of the row */
	struct vec(uint32_t) n_merged;		/* the same */
	struct vec(struct snap_process) processes;
	struct string_ids comms;		/* number: index into processes */
	struct vec(struct place) places;
	uint32_t *place_of;	/* by place of before: index into places + 1, 0: not there yet */
	struct vec(struct snap_module) modules;
	struct string_ids module_names;
	struct vec(int) module_of_name;		/* the first module of a file name */
};

static struct snapshot *copy(const struct snapshot *s)
{
	struct snapshot *to = s->n_processes > 1 ? snapshot__group(s, grouping__find("comm")) : snapshot__like(s);

	if (s->n_processes <= 1)
		to->by = "process";
	else if (snapshot__is_grouped(s))
		to->by = s->by;
	/* of one moment, and no difference */
	to->machine = (struct snap_machine){};
	return to;
}

/* ---- processes: those of one name are one */

static void find_process(struct work *w, const struct snap_process *p, uint32_t *ret)
{
	struct snap_process *to;

	if (!w->matcher.by_comm && w->processes.n) {
		*ret = 0;
		return;
	}
	string_ids__get(&w->comms, p->comm, ret);
	if (*ret < w->processes.n)
		return;
	to = vec_push(&w->processes);
	*to = (struct snap_process){ .id = (uint32_t)w->processes.n, .pid = p->pid, .comm = p->comm, .exe = p->exe, .cgroup = p->cgroup,
				     .container = p->container, .pod = p->pod, .unit = p->unit, .ended = true };
}

static void add_processes(struct work *w)
{
	const struct snapshot *before = w->before;
	uint32_t at;

	for (size_t i = 0; i < w->to->n_processes; i++) {
		struct snap_process *p = vec_push(&w->processes);

		*p = w->to->processes[i];
		p->since_baseline_bytes = (int64_t)p->c.live_bytes;
		string_ids__get(&w->comms, p->comm, &at);
	}
	for (size_t i = 0; i < before->n_processes; i++) {
		find_process(w, &before->processes[i], &at);
		w->processes.v[at].since_baseline_bytes -= (int64_t)before->processes[i].c.live_bytes;
	}
}

/* ---- places: those of what is gone are added */

static void add_module(struct work *w, const struct snap_module *m, int *ret)
{
	uint32_t name;

	string_ids__get(&w->module_names, path_basename(m->path), &name);
	if (name == w->module_of_name.n) {
		*vec_push(&w->modules) = *m;
		*vec_push(&w->module_of_name) = (int)w->modules.n - 1;
	}
	*ret = w->module_of_name.v[name];
}

static void add_place(struct work *w, uint32_t place, uint32_t *ret)
{
	const struct place *p = &w->before->places[place];
	int module = -1;

	if (!w->place_of[place]) {
		if (p->module >= 0 && (size_t)p->module < w->before->n_modules)
			add_module(w, &w->before->modules[p->module], &module);
		*vec_push(&w->places) = *p;
		w->places.v[w->places.n - 1].module = module;
		w->place_of[place] = (uint32_t)w->places.n;
	}
	*ret = w->place_of[place] - 1;
}

static void keep_places(struct work *w)
{
	const struct snapshot *s = w->to;
	uint32_t name;

	w->place_of = xcalloc(w->before->n_places + 1, sizeof(*w->place_of));
	for (size_t i = 0; i < s->n_places; i++)
		*vec_push(&w->places) = s->places[i];
	for (size_t i = 0; i < s->n_modules; i++) {
		*vec_push(&w->modules) = s->modules[i];
		string_ids__get(&w->module_names, path_basename(s->modules[i].path), &name);
		if (name == w->module_of_name.n)
			*vec_push(&w->module_of_name) = (int)i;
	}
}

/* ---- sites */

static void add_later(struct work *w)
{
	for (size_t i = 0; i < w->to->n_sites; i++) {
		struct snap_site site = w->to->sites[i], *row;
		uint32_t id;
		bool is_new;

		site.since_baseline_bytes = (int64_t)site.c.live_bytes;
		matcher_row(&w->matcher, w->to, &site, &id, &is_new);
		if (is_new) {
			vec_push(&w->sites);
			vec_push(&w->n_merged);
		}
		w->n_merged.v[id]++;
		row = &w->sites.v[id];
		if (is_new) {
			*row = site;
		} else {
			site__add(row, &site);
			/* of one of them it would be wrong */
			row->history = NULL;
			row->n_history = 0;
			row->ages = NULL;
			row->n_ages = 0;
		}
		row->tid = 0;
		row->thread = NULL;
	}
	for (size_t i = 0; i < w->n_merged.n; i++)
		w->sites.v[i].trend.why = trend__why_among(w->to, &w->sites.v[i].trend, 1, w->n_merged.v[i]);
}

static void add_gone(struct work *w, const struct snap_site *site, struct snap_site *row)
{
	uint32_t *stack = snapshot__alloc(w->to, site->n_stack + 1, sizeof(*stack));

	*row = (struct snap_site){ .function = site->function, .growth = site->growth, .n_stack = site->n_stack, .stack = stack, .end = site->end };
	for (uint32_t i = 0; i < site->n_stack; i++)
		add_place(w, site->stack[i], &stack[i]);
	find_process(w, &w->before->processes[site->process], &row->process);
}

static void add_earlier(struct work *w)
{
	const struct snapshot *s = w->before;

	for (size_t i = 0; i < s->n_sites; i++) {
		const struct snap_site *site = &s->sites[i];
		uint32_t id;
		bool is_new;

		if (!site->c.live_bytes)
			continue;
		matcher_row(&w->matcher, s, site, &id, &is_new);
		if (is_new)
			add_gone(w, site, vec_push(&w->sites));
		w->sites.v[id].since_baseline_bytes -= (int64_t)site->c.live_bytes;
	}
}

/* ---- all of it */

static void build(struct work *w)
{
	add_processes(w);
	keep_places(w);
	add_later(w);
	add_earlier(w);
	w->to->sites = snapshot__copy(w->to, w->sites.v, w->sites.n, sizeof(*w->sites.v));
	w->to->n_sites = w->sites.n;
	w->to->processes = snapshot__copy(w->to, w->processes.v, w->processes.n, sizeof(*w->processes.v));
	w->to->n_processes = w->processes.n;
	w->to->places = snapshot__copy(w->to, w->places.v, w->places.n, sizeof(*w->places.v));
	w->to->n_places = w->places.n;
	w->to->modules = snapshot__copy(w->to, w->modules.v, w->modules.n, sizeof(*w->modules.v));
	w->to->n_modules = w->modules.n;
}

/* A change is as uncertain as both of its ends. */
static void add_losses(struct snapshot *to, const struct snapshot *before)
{
	struct snap_counter *all = snapshot__alloc(to, to->n_losses + before->n_losses + 1, sizeof(*all));

	if (to->n_losses)
		memcpy(all, to->losses, to->n_losses * sizeof(*all));
	if (before->n_losses)
		memcpy(all + to->n_losses, before->losses, before->n_losses * sizeof(*all));
	to->losses = all;
	to->n_losses += before->n_losses;
	to->losses_total += before->losses_total;
}

struct snapshot *diff__snapshot(const struct snapshot *before, const struct snapshot *after, const char *name)
{
	struct work w = { .before = before, .to = copy(after) };

	matcher_init(&w.matcher, before, after);
	build(&w);
	matcher_done(&w.matcher);
	vec_done(&w.sites);
	vec_done(&w.n_merged);
	vec_done(&w.processes);
	vec_done(&w.places);
	vec_done(&w.modules);
	vec_done(&w.module_of_name);
	free(w.place_of);
	string_ids__done(&w.comms);
	string_ids__done(&w.module_names);
	w.to->baseline = true;
	w.to->baseline_ns = 0;
	w.to->baseline_name = snapshot__strdup(w.to, name);
	w.to->estimated |= before->estimated;
	/* rows of two traces have become one, and frees of one alone would be half the truth */
	frees__drop(w.to);
	/* what was there at one moment is no change */
	snapshot__set_heaps(w.to, NULL, 0);
	add_losses(w.to, before);
	return w.to;
}
