// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns a diff in the form of a snapshot, for views that know how to show what
 * changed since a baseline.
 *
 * What always holds: live bytes less since_baseline_bytes, over all sites, are
 * the earlier profile's live bytes; all other figures are those of the later one.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/diff.h"
#include "model/frees.h"
#include "model/group.h"
#include "model/heaps.h"
#include "model/match.h"
#include "model/merge.h"

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
	struct place *to;
	int module = -1;

	if (!w->place_of[place]) {
		if (p->module >= 0 && (size_t)p->module < w->before->n_modules)
			add_module(w, &w->before->modules[p->module], &module);
		to = vec_push(&w->places);
		*to = *p;
		to->module = module;
		w->place_of[place] = (uint32_t)w->places.n;
	}
	*ret = w->place_of[place] - 1;
}

static void keep_places(struct work *w)
{
	const struct snapshot *s = w->to;

	w->place_of = xcalloc(w->before->n_places + 1, sizeof(*w->place_of));
	for (size_t i = 0; i < s->n_places; i++) {
		struct place *p = vec_push(&w->places);

		*p = s->places[i];
	}
	for (size_t i = 0; i < s->n_modules; i++) {
		struct snap_module *m = vec_push(&w->modules);
		uint32_t name;

		string_ids__get(&w->module_names, path_basename(s->modules[i].path), &name);
		*m = s->modules[i];
		if (name == w->module_of_name.n) {
			int *first = vec_push(&w->module_of_name);

			*first = (int)i;
		}
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
		matcher__row(&w->matcher, w->to, &site, &id, &is_new);
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
		matcher__row(&w->matcher, s, site, &id, &is_new);
		if (is_new)
			add_gone(w, site, vec_push(&w->sites));
		w->sites.v[id].since_baseline_bytes -= (int64_t)site->c.live_bytes;
	}
}

/* ---- all of it */

#define KEEP(to, field, n_field, vec)							\
	do {										\
		(to)->n_field = (vec).n;						\
		(to)->field = snapshot__alloc(to, (vec).n + 1, sizeof(*(vec).v));	\
		if ((vec).n)								\
			memcpy((void *)(to)->field, (vec).v, (vec).n * sizeof(*(vec).v));	\
	} while (0)

static void build(struct work *w)
{
	add_processes(w);
	keep_places(w);
	add_later(w);
	add_earlier(w);
	KEEP(w->to, sites, n_sites, w->sites);
	KEEP(w->to, processes, n_processes, w->processes);
	KEEP(w->to, places, n_places, w->places);
	KEEP(w->to, modules, n_modules, w->modules);
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

	matcher__init(&w.matcher, before, after);
	build(&w);
	matcher__done(&w.matcher);
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
