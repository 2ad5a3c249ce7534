// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns what becomes of each field when profiles are put together. What always
 * holds: the sites of a process add up to it, and processes to the totals, if
 * they did before; what one of them does not know, the whole does not know.
 */
#include "model/join.h"

#include <errno.h>
#include <string.h>

#include "model/ages.h"
#include "model/frees.h"
#include "model/heaps.h"
#include "model/merge.h"
#include "model/schema.h"
#include "util/ids.h"
#include "util/util.h"

bool snapshot__same_trace(const struct snapshot *a, const struct snapshot *b)
{
	const struct snap_process *pa = a->processes, *pb = b->processes;

	/* two looks at a heap are two moments, and nothing counts on from the first */
	if (snapshot__is_heap(a) || snapshot__is_heap(b))
		return false;
	return a->n_processes && b->n_processes && a->wall_start_ns == b->wall_start_ns &&
	       !strcmp(a->kernel, b->kernel) && a->recording.mode == b->recording.mode && pa->id == pb->id &&
	       pa->pid == pb->pid && !strcmp(pa->comm, pb->comm) && a->duration_ns <= b->duration_ns;
}

int snapshots__check_alike(const struct snapshot *sa, const struct snapshot *sb, const char *name_a,
			   const char *name_b, const char *verb, struct err *e)
{
	const struct recording *a = &sa->recording, *b = &sb->recording;

	if (snapshot__is_heap(sa) != snapshot__is_heap(sb))
		return err_set(e, -EINVAL, "%s and %s cannot be %s: one is what malloctrace heap found, the other a trace", name_a, name_b, verb);
	if (a->mode != b->mode)
		return err_set(e, -EINVAL, "%s and %s cannot be %s: --mode %s and --mode %s", name_a, name_b,
			       verb, mode__name(a->mode), mode__name(b->mode));
	if (a->size != b->size)
		return err_set(e, -EINVAL, "%s and %s cannot be %s: %s sizes and %s sizes", name_a, name_b,
			       verb, size__name(a->size), size__name(b->size));
	if (a->min_size != b->min_size || a->max_size != b->max_size)
		return err_set(e, -EINVAL,
			       "%s and %s cannot be %s: they recorded blocks of different sizes (--min-size, --max-size)",
			       name_a, name_b, verb);
	for (size_t i = 0; i < n_recording_flags; i++)
		if (recording__has(a, &recording_flags[i]) != recording__has(b, &recording_flags[i]))
			return err_set(e, -EINVAL, "%s and %s cannot be %s: one was recorded with %s", name_a,
				       name_b, verb, recording_flags[i].option);
	return 0;
}

/* What was recorded alike is the same in all: see above. */
static void join_conditions(struct snapshot *to, const struct snapshot *s)
{
	static const struct fields *const tables[] = { &tool_fields, &host_fields, &recording_fields, &scan_fields, &folded_fields, &stack_fields, &overhead_fields };

	for (size_t i = 0; i < ARRAY_SIZE(tables); i++)
		fields__merge(tables[i], to, s);
	fields__merge(&hidden_fields, &to->hidden, &s->hidden);
	counters__add(&to->totals, &s->totals);
	std_error__add(&to->error, &s->error);
	/* of two moments, or two machines, no one figure is */
	to->machine = (struct snap_machine){ .known = to->machine.known && s->machine.known };
	to->recording.free_stacks &= s->recording.free_stacks;
	to->known &= s->known;
	to->scanned &= s->scanned;
	to->losses_total += s->losses_total;
	to->trigger = NULL;
	/* their times count from other moments */
	to->started_on = to->stopped_on = to->waiting_for = NULL;
	to->n_marks = 0;
}

/* By name, in the order in which they first appear. */
static void join_counters(struct snap_counter *to, size_t *n, const struct snap_counter *v, size_t n_v)
{
	for (size_t i = 0; i < n_v; i++) {
		size_t at = 0;

		while (at < *n && strcmp(to[at].name, v[i].name))
			at++;
		*n += at == *n;
		to[at].name = v[i].name;
		to[at].n += v[i].n;
		to[at].says = counter__says(v[i].name, to[at].n);
	}
}

struct sums {
	size_t processes, sites, places, modules, probes, losses, edges, tags, free_sites, frees, sources, heaps;
};

struct tag_numbers {		/* of tags by what they are: (name, is it a thread's) */
	struct string_ids names;
	struct key_ids tags;
};

/* Each once. A function's calls are known if they are in all profiles that have it as a tag. */
static void join_tag(struct snapshot *to, struct tag_numbers *numbers, const struct snap_tag *t, uint32_t *ret)
{
	struct snap_tag *tags = (struct snap_tag *)to->tags;
	uint32_t name, at;
	bool is_new;

	string_ids__get(&numbers->names, t->name, &name);
	key_ids__get(&numbers->tags, (struct key){ name, t->thread, 0 }, &at, &is_new);
	if (is_new)
		tags[to->n_tags++] = *t;
	else if (tags[at].entered == UINT64_MAX || t->entered == UINT64_MAX)
		tags[at].entered = UINT64_MAX;
	else
		tags[at].entered += t->entered;
	*ret = at + 1;
}

static void join_tags(struct snapshot *to, struct tag_numbers *numbers, const struct snapshot *s,
		     struct snap_site *sites)
{
	uint32_t *number = snapshot__alloc(to, s->n_tags + 1, sizeof(*number));

	for (size_t i = 0; i < s->n_tags; i++)
		join_tag(to, numbers, &s->tags[i], &number[i + 1]);
	for (size_t i = 0; i < s->n_sites; i++)
		sites[i].tag = number[s->sites[i].tag];
}

static uint32_t new_id(const struct snapshot *s, uint32_t id, uint32_t base)
{
	for (size_t i = 0; id && i < s->n_processes; i++)
		if (s->processes[i].id == id)
			return base + (uint32_t)i + 1;
	return 0;
}

static void join_rows(struct snapshot *to, const struct snapshot *s, const struct sums *at, bool older)
{
	struct snap_process *processes = (struct snap_process *)to->processes + at->processes;
	struct snap_module *modules = (struct snap_module *)to->modules + at->modules;

	for (size_t i = 0; i < s->n_processes; i++) {
		processes[i] = s->processes[i];
		processes[i].id = (uint32_t)(at->processes + i + 1);
		processes[i].parent = new_id(s, s->processes[i].parent, (uint32_t)at->processes);
	}
	for (size_t i = 0; i < s->n_modules; i++)
		modules[i] = s->modules[i];
	for (size_t i = 0; i < s->n_places; i++) {
		to->places[at->places + i] = s->places[i];
		if (s->places[i].module >= 0)
			to->places[at->places + i].module += (int)at->modules;
	}
	for (size_t i = 0; i < s->n_probes; i++)
		((struct snap_probe *)to->probes)[at->probes + i] = s->probes[i];
	for (size_t i = 0; i < s->n_sites; i++) {
		struct snap_site *site = &to->sites[at->sites + i];
		uint32_t *stack = snapshot__alloc(to, s->sites[i].n_stack + 1, sizeof(*stack));

		*site = s->sites[i];
		site->process += (uint32_t)at->processes;
		for (uint32_t k = 0; k < site->n_stack; k++)
			stack[k] = s->sites[i].stack[k] + (uint32_t)at->places;
		site->stack = stack;
		if (!older)
			site->older_blocks = site->older_bytes = 0;
	}
}

static void join_frees(struct snapshot *to, const struct snapshot *s, const struct sums *at)
{
	struct snap_free_site *wheres = (struct snap_free_site *)to->free_sites + at->free_sites;
	struct snap_free *frees = (struct snap_free *)to->frees + at->frees;

	for (size_t i = 0; i < s->n_free_sites; i++) {
		uint32_t *stack = snapshot__alloc(to, s->free_sites[i].n_stack + 1, sizeof(*stack));

		wheres[i] = s->free_sites[i];
		wheres[i].process += (uint32_t)at->processes;
		for (uint32_t k = 0; k < wheres[i].n_stack; k++)
			stack[k] = s->free_sites[i].stack[k] + (uint32_t)at->places;
		wheres[i].stack = stack;
	}
	for (size_t i = 0; i < s->n_frees; i++) {
		frees[i] = s->frees[i];
		frees[i].site += (uint32_t)at->sites;
		frees[i].where += (uint32_t)at->free_sites;
	}
}

static struct sums add_up(struct snapshot *const *v, size_t n)
{
	struct sums all = {};

	for (size_t i = 0; i < n; i++) {
		all.processes += v[i]->n_processes;
		all.sites += v[i]->n_sites;
		all.places += v[i]->n_places;
		all.modules += v[i]->n_modules;
		all.probes += v[i]->n_probes;
		all.losses += v[i]->n_losses;
		all.edges += v[i]->n_edges;
		all.tags += v[i]->n_tags;
		all.free_sites += v[i]->n_free_sites;
		all.frees += v[i]->n_frees;
		all.sources += v[i]->n_sources;
		all.heaps += v[i]->n_heaps;
	}
	return all;
}

int snapshot__join(struct snapshot *const *v, const char *const *names, size_t n, struct snapshot **ret, struct err *e)
{
	struct sums all = add_up(v, n), at = {};
	struct snap_counter *losses, *edges;
	struct snap_heap *heaps;
	size_t n_losses = 0, n_edges = 0;
	struct tag_numbers numbers = {};
	struct snapshot *to;
	int err = 0;

	for (size_t i = 1; i < n && !err; i++)
		err = snapshots__check_alike(v[0], v[i], names[0], names[i], "combined", e);
	if (!err && (all.places > INT32_MAX || all.sites > UINT32_MAX))
		err = err_set(e, -E2BIG, "the profiles together are too large to combine");
	if (err)
		return err;
	to = snapshot__like(v[0]);
	for (size_t i = 1; i < n; i++)
		join_conditions(to, v[i]);
	to->n_processes = all.processes;
	to->processes = snapshot__alloc(to, all.processes + 1, sizeof(*to->processes));
	to->n_sites = all.sites;
	to->sites = snapshot__alloc(to, all.sites + 1, sizeof(*to->sites));
	to->n_places = all.places;
	to->places = snapshot__alloc(to, all.places + 1, sizeof(*to->places));
	to->n_modules = all.modules;
	to->modules = snapshot__alloc(to, all.modules + 1, sizeof(*to->modules));
	to->n_probes = all.probes;
	to->probes = snapshot__alloc(to, all.probes + 1, sizeof(*to->probes));
	if (n > 1)
		to->n_taken = 0;
	to->n_tags = 0;
	to->tags = snapshot__alloc(to, all.tags + 1, sizeof(*to->tags));
	to->n_free_sites = all.free_sites;
	to->free_sites = snapshot__alloc(to, all.free_sites + 1, sizeof(*to->free_sites));
	to->n_frees = all.frees;
	to->frees = snapshot__alloc(to, all.frees + 1, sizeof(*to->frees));
	to->n_sources = all.sources;
	to->sources = snapshot__alloc(to, all.sources + 1, sizeof(*to->sources));
	heaps = snapshot__alloc(to, all.heaps + 1, sizeof(*heaps));
	losses = snapshot__alloc(to, all.losses + 1, sizeof(*losses));
	edges = snapshot__alloc(to, all.edges + 1, sizeof(*edges));
	for (size_t i = 0; i < n; i++) {
		join_rows(to, v[i], &at, to->recording.older_ns);
		join_tags(to, &numbers, v[i], to->sites + at.sites);
		join_frees(to, v[i], &at);
		if (v[i]->n_sources)
			memcpy((struct snap_source *)to->sources + at.sources, v[i]->sources, v[i]->n_sources * sizeof(*to->sources));
		heaps__map(to, heaps + at.heaps, v[i],
			   &(struct heaps_map){ .process_base = (uint32_t)at.processes, .site_base = (uint32_t)at.sites, .place_base = (uint32_t)at.places });
		join_counters(losses, &n_losses, v[i]->losses, v[i]->n_losses);
		join_counters(edges, &n_edges, v[i]->edges, v[i]->n_edges);
		at.processes += v[i]->n_processes;
		at.sites += v[i]->n_sites;
		at.places += v[i]->n_places;
		at.modules += v[i]->n_modules;
		at.probes += v[i]->n_probes;
		at.free_sites += v[i]->n_free_sites;
		at.frees += v[i]->n_frees;
		at.sources += v[i]->n_sources;
		at.heaps += v[i]->n_heaps;
	}
	string_ids__done(&numbers.names);
	key_ids__done(&numbers.tags);
	/* of some of them it is not known where blocks were freed: rows of the others would seem to be all */
	if (!to->recording.free_stacks)
		frees__drop(to);
	snapshot__set_heaps(to, heaps, all.heaps);
	to->losses = losses;
	to->n_losses = n_losses;
	to->edges = edges;
	to->n_edges = n_edges;
	*ret = to;
	return 0;
}
