// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the order of the JSON profile, schema "malloctrace/2": a line for each key of
 * the whole, for each process, site and frame, so that a profile can be read by
 * eye and compared by diff. What a row has is in the tables of model/schema.c.
 *
 * What always holds: every key of the schema is there; one without meaning is
 * null. Keys may be added, never renamed: scripts depend on them. Of a profile of
 * so many sites that nobody reads it by eye, sites have no keys that are empty.
 */
#include <errno.h>
#include <string.h>

#include "files/export.h"
#include "files/json/json.h"
#include "files/json/json_parts.h"
#include "files/json/json_probes.h"
#include "files/json/json_rows.h"
#include "files/json/json_sources.h"
#include "files/json/json_tags.h"
#include "model/marks.h"
#include "model/heaps.h"
#include "util/util.h"

#define FULL_SITES 10000	/* a site with all its keys is a kilobyte, most of it zeros */

static void totals(struct json *j, const struct counters *c, unsigned int known, const struct std_error *error)
{
	json__object(j, "totals");
	json__counters(j, c, known, error);
	json__object_end(j);
}

/* ---- the whole */

static void marks(struct json *j, const struct snapshot *s)
{
	json__array(j, "marks");
	for (size_t i = 0; i < s->n_marks; i++) {
		const struct snap_mark *m = &s->marks[i];

		json__line(j, 4);
		json__object(j, NULL);
		json__row(j, &mark_fields, m, marks__known(s, m));
		json__u64(j, "process", s->processes[m->process].id);
		json__object_end(j);
	}
	json__array_end(j);
}

static void whose(struct json *j, const struct snapshot *s)
{
	json__line(j, 2);
	json__str(j, "schema", "malloctrace/2");
	json__line(j, 2);
	json__object(j, "tool");
	json__str(j, "version", s->version);
	json__object_end(j);
	json__line(j, 2);
	json__object_of(j, "host", &host_fields, s, s->known);
}

/* Where all processes of a machine are traced; and cgroups whose limits were read. */
static void machine(struct json *j, const struct snapshot *s)
{
	if (s->machine.known) {
		json__line(j, 2);
		json__object_of(j, "machine", &machine_fields, &s->machine, s->machine.has_pressure ? KNOWN_PRESSURE : 0);
	}
	if (!s->n_cgroups)
		return;
	json__line(j, 2);
	json__array(j, "cgroups");
	for (size_t i = 0; i < s->n_cgroups; i++) {
		const struct snap_cgroup *c = &s->cgroups[i];

		json__line(j, 4);
		json__object(j, NULL);
		json__row(j, &cgroup_fields, c, 0);
		if (c->has_events)
			json__object_of(j, "events", &cgroup_event_fields, c, 0);
		else
			json__null(j, "events");
		json__object_end(j);
	}
	json__array_end(j);
}

static void recording(struct json *j, const struct snapshot *s)
{
	whose(j, s);
	machine(j, s);
	json__row(j, &recording_fields, s, s->known | (s->baseline ? KNOWN_BASELINE : 0));
	/* report --older, of an age that is no border of the classes that were recorded: what may be older or not */
	if (s->older_unsure.blocks)
		json__object_of(j, "older_unsure", &older_fields, &s->older_unsure, s->known);
	marks(j, s);
	json__line(j, 2);
	json__array(j, "probes");
	for (size_t i = 0; i < s->n_probes; i++) {
		json__line(j, 4);
		json__probe(j, s, &s->probes[i]);
	}
	json__array_end(j);
}

static void named_counters(struct json *j, const char *key, const struct snap_counter *v, size_t n,
			   const uint64_t *total)
{
	json__line(j, 2);
	json__object(j, key);
	if (total)
		json__u64(j, "total", *total);
	for (size_t i = 0; i < n; i++)
		json__u64(j, v[i].name, v[i].n);
	json__object_end(j);
}

static void quality(struct json *j, const struct snapshot *s)
{
	named_counters(j, "losses", s->losses, s->n_losses, &s->losses_total);
	named_counters(j, "edges", s->edges, s->n_edges, NULL);
	json__line(j, 2);
	/* what the block table itself holds: at rest the same as the live totals */
	if (s->scanned && s->known & HAS_LIVE_BLOCKS) {
		json__object_of(j, "scan", &scan_fields, s, s->known);
		json__line(j, 2);
	}
	/* of ended processes, what is kept as sums alone */
	json__object_of(j, "folded", &folded_fields, s, s->known);
	json__line(j, 2);
	json__object(j, "stacks");
	for (unsigned int i = 0; i < SNAPSHOT_N_ENDS; i++)
		json__u64(j, stack_end__name(i), s->stacks_by_end[i]);
	json__u64(j, "frames_walked", s->frames_walked);
	json__object_end(j);
	json__line(j, 2);
	json__object_of(j, "overhead", &overhead_fields, s, s->known);
}

static void lists(struct json *j, const struct snapshot *s)
{
	/* totals are those of the sites and these together */
	if (s->hidden.by) {
		json__line(j, 2);
		json__object_of(j, "hidden", &hidden_fields, &s->hidden, s->known);
	}
	if (s->n_taken) {
		json__line(j, 2);
		json__array_of(j, "snapshots", 4, &taken_fields, s->taken, s->n_taken, sizeof(*s->taken), s->known);
	}
	json__line(j, 2);
	json__array_of(j, "modules", 4, &module_fields, s->modules, s->n_modules, sizeof(*s->modules), s->known);
}

/* ---- processes */

static void threads(struct json *j, const struct snap_process *p, unsigned int known)
{
	/* a block may be freed by any thread: it is live in no thread */
	known &= ~(HAS_LIVE_BLOCKS | HAS_LIVE_BYTES | HAS_PEAK_BYTES | (known & HAS_LIFETIMES ? 0 : HAS_FREE_CALLS | HAS_FREE_BYTES));
	json__array(j, "threads");
	for (size_t i = 0; i < p->n_threads; i++) {
		json__line(j, 8);
		json__object(j, NULL);
		json__row(j, &thread_fields, &p->threads[i], known);
		totals(j, &p->threads[i].c, known, NULL);
		json__object_end(j);
	}
	json__array_end(j);
}

/* What the faults brought against what RSS grew by; null where it did not grow. */
static void growth(struct json *j, const struct snap_process *p)
{
	uint64_t by_faults = p->growth.bytes[GROWTH_FAULT];
	int64_t change = (int64_t)(p->rss_bytes - p->rss_at_attach_bytes);
	char key[32];

	json__line(j, 6);
	json__object(j, "growth");
	for (enum growth_kind k = GROWTH_FAULT; k < GROWTH_N_KINDS; k++) {
		snprintf(key, sizeof(key), "%s_calls", growth__name(k));
		json__u64(j, key, p->growth.calls[k]);
		snprintf(key, sizeof(key), "%s_bytes", growth__name(k));
		json__u64(j, key, p->growth.bytes[k]);
	}
	json__i64(j, "rss_change_bytes", change);
	if (change > 0)
		json__double(j, "explained_share", (double)by_faults / (double)change);
	else
		json__null(j, "explained_share");
	json__object_end(j);
}

static void object_or_null(struct json *j, const char *key, bool is, const struct fields *fields,
			   const void *row, unsigned int known)
{
	if (is)
		json__object_of(j, key, fields, row, known);
	else
		json__null(j, key);
}

static void process(struct json *j, const struct snapshot *s, const struct snap_process *p)
{
	unsigned int known = process__known(s, p);

	json__line(j, 4);
	json__object(j, NULL);
	json__row(j, &process_fields, p, known);
	/* what was folded is several, too */
	if (p->n_members)
		json__u64(j, "ended_members", process__n_ended(s, p));
	else
		json__null(j, "ended_members");
	json__line(j, 6);
	totals(j, &p->c, known, s->estimated ? &p->error : NULL);
	json__line(j, 6);
	object_or_null(j, "blind", p->blind.is, &blind_fields, &p->blind, known);
	json__line(j, 6);
	object_or_null(j, "memory", p->memory.known, &memory_fields, &p->memory,
		       known | (p->memory.grown_known ? KNOWN_GROWN : 0));
	if (recording__is_growth(&s->recording))
		growth(j, p);
	json__line(j, 6);
	threads(j, p, known);
	json__line(j, 6);
	json__array_of(j, "timeline", 8, &point_fields, p->timeline, p->n_timeline, sizeof(*p->timeline), known);
	json__line(j, 6);
	json__array_of(j, "sizes", 0, &size_fields, p->sizes, p->n_sizes, sizeof(*p->sizes), known);
	json__line(j, 6);
	if (known & HAS_LIFETIMES)
		json__array_of(j, "lifetimes", 0, &lifetime_fields, p->lifetimes, p->n_lifetimes,
			       sizeof(*p->lifetimes), known);
	else
		json__null(j, "lifetimes");
	json__object_end(j);
}

/* ---- sites */

static void site(struct json *j, const struct snapshot *s, const struct snap_site *site, struct frame_numbers *frames)
{
	unsigned int known = site__known(s, site);

	json__line(j, 4);
	json__object(j, NULL);
	json__process_of(j, s, site->process);
	json__row(j, &site_names, site, known);
	json__tag_of_site(j, s, site);
	json__counters(j, &site->c, known, s->estimated ? &site->error : NULL);
	json__row(j, &site_fields, site, known);
	json__mean(j, known & HAS_LIFETIMES ? site->c.free_calls : 0, site->lifetime_sum_ns);
	/* no key where realloc was not called for a block that was known */
	if (site->moves.calls)
		json__object_of(j, "moves", &move_fields, &site->moves, known);
	if (known & HAS_LIVE_BLOCKS) {
		json__array_of(j, "ages", 0, &age_fields, site->ages, site->n_ages, sizeof(*site->ages), known);
		json__array_of(j, "history", 0, &history_fields, site->history, site->n_history,
			       sizeof(*site->history), known);
	} else {
		json__null(j, "ages");
		json__null(j, "history");
	}
	json__site_blocks(j, site);
	json__stack(j, site->end, site->stack, site->n_stack, frames);
	json__object_end(j);
}

/* What `malloctrace heap` found: there is no trace to tell of. */
static void heap_alone(struct json *j, const struct snapshot *s, struct frame_numbers *frames)
{
	whose(j, s);
	json__line(j, 2);
	json__row(j, &(struct fields){ fields__find(&recording_fields, "wall_now"), 1 }, s, s->known);
	json__line(j, 2);
	json__array(j, "processes");
	for (size_t i = 0; i < s->n_processes; i++) {
		json__line(j, 4);
		json__object_of(j, NULL, &process_fields, &s->processes[i], process__known(s, &s->processes[i]));
	}
	json__array_end(j);
	json__heaps(j, s, frames);
}

static int trace(struct json *j, const struct snapshot *s, struct frame_numbers *frames)
{
	/* a page reads its own */
	bool terse = s->n_sites > FULL_SITES && !j->in_page;
	int err = terse ? frame_numbers__by_use(frames) : 0;

	if (err)
		return err;
	recording(j, s);
	json__line(j, 2);
	totals(j, &s->totals, s->known, s->estimated ? &s->error : NULL);
	quality(j, s);
	lists(j, s);
	err = json__tags(j, s);
	json__line(j, 2);
	json__array(j, "processes");
	for (size_t i = 0; i < s->n_processes; i++)
		process(j, s, &s->processes[i]);
	json__array_end(j);
	json__line(j, 2);
	json__array(j, "sites");
	j->terse = terse;
	for (size_t i = 0; i < s->n_sites && !err; i++)
		site(j, s, &s->sites[i], frames);
	j->terse = false;
	json__array_end(j);
	if (s->recording.free_stacks && !err)
		json__frees(j, s, frames);
	json__heaps(j, s, frames);
	if (!err)
		json__frames(j, frames);
	if (s->n_sources)
		json__sources(j, s);
	return err;
}

int json__document(struct json *j, const struct snapshot *s, struct err *e)
{
	__attribute__((cleanup(frame_numbers__done))) struct frame_numbers frames;
	int err = frame_numbers__init(&frames, s);

	json__object(j, NULL);
	if (!err && snapshot__is_heap(s))
		heap_alone(j, s, &frames);
	else if (!err)
		err = trace(j, s, &frames);
	json__line(j, 0);
	json__object_end(j);
	return err ? err_set(e, err, "out of memory") : 0;
}

int json__write(FILE *out, const struct snapshot *s, const struct export_opts *o, struct err *e)
{
	struct json j = { .out = out };
	int err = json__document(&j, s, e);

	fputc('\n', out);
	if (err)
		return err;
	return ferror(out) ? err_set(e, -EIO, "cannot write JSON") : 0;
}
