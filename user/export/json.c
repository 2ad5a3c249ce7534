// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the JSON profile, schema "malloctrace/1": a line for each key of the
 * whole, for each process and for each site, so that a profile can be read by
 * eye and compared by diff.
 *
 * What always holds: every key of the schema is there; one without meaning is
 * null. Keys may be added, never renamed: scripts depend on them.
 */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "export/export.h"
#include "export/json_marks.h"
#include "export/json_memory.h"
#include "export/json_parts.h"
#include "export/json_probes.h"
#include "export/json_taken.h"
#include "export/json_tags.h"
#include "export/json_writer.h"
#include "util/util.h"

#define NS_PER_S 1000000000ll
#define NS_PER_MS 1000000ll

static void u64_or_null(struct json *j, const char *key, bool known, uint64_t n)
{
	if (known)
		json__u64(j, key, n);
	else
		json__null(j, key);
}

static void double_or_null(struct json *j, const char *key, bool known, double d)
{
	if (known)
		json__double(j, key, d);
	else
		json__null(j, key);
}

/* error NULL: these are counted, or nothing is known about their error */
static void counters(struct json *j, const struct counters *c, unsigned int known, const struct std_error *error)
{
	u64_or_null(j, "alloc_calls", known & HAS_ALLOC_CALLS, c->alloc_calls);
	u64_or_null(j, "alloc_bytes", known & HAS_ALLOC_BYTES, c->alloc_bytes);
	u64_or_null(j, "free_calls", known & HAS_FREE_CALLS, c->free_calls);
	u64_or_null(j, "free_bytes", known & HAS_FREE_BYTES, c->free_bytes);
	u64_or_null(j, "live_blocks", known & HAS_LIVE_BLOCKS, c->live_blocks);
	u64_or_null(j, "live_bytes", known & HAS_LIVE_BYTES, c->live_bytes);
	u64_or_null(j, "peak_bytes", known & HAS_PEAK_BYTES, c->peak_bytes);
	u64_or_null(j, "realloc_calls", known & HAS_REALLOC_CALLS, c->realloc_calls);
	u64_or_null(j, "temp_calls", known & HAS_TEMP_CALLS, c->temp_calls);
	u64_or_null(j, "failed_calls", known & HAS_FAILED_CALLS, c->failed_calls);
	u64_or_null(j, "unknown_frees", known & HAS_UNKNOWN_FREES, c->unknown_frees);
	if (!error)
		return;
	json__object(j, "standard_error");
	double_or_null(j, "alloc_calls", known & HAS_ALLOC_CALLS, error->alloc_calls);
	double_or_null(j, "alloc_bytes", known & HAS_ALLOC_BYTES, error->alloc_bytes);
	double_or_null(j, "live_blocks", known & HAS_LIVE_BLOCKS, error->live_blocks);
	double_or_null(j, "live_bytes", known & HAS_LIVE_BYTES, error->live_bytes);
	double_or_null(j, "peak_bytes", known & HAS_PEAK_BYTES, error->peak_bytes);
	json__object_end(j);
}

static void totals(struct json *j, const struct counters *c, unsigned int known, const struct std_error *error)
{
	json__object(j, "totals");
	counters(j, c, known, error);
	json__object_end(j);
}

static void wall_time(struct json *j, const char *key, int64_t ns)
{
	time_t sec = ns / NS_PER_S - (ns % NS_PER_S < 0);
	int ms = (int)((ns - sec * NS_PER_S) / NS_PER_MS);
	char date[40], text[48];
	struct tm tm;

	if (!gmtime_r(&sec, &tm) || !strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", &tm)) {
		json__null(j, key);
		return;
	}
	snprintf(text, sizeof(text), "%s.%03dZ", date, ms);
	json__str(j, key, text);
}

/* report --older, of an age that is no border of the classes that were recorded: what may be older or not */
static void older_unsure(struct json *j, const struct older_unsure *u)
{
	if (!u->blocks)
		return;
	json__object(j, "older_unsure");
	json__u64(j, "blocks", u->blocks);
	json__u64(j, "bytes", u->bytes);
	json__u64(j, "from_ns", u->from_ns);
	u64_or_null(j, "below_ns", u->below_ns != UINT64_MAX, u->below_ns);
	json__object_end(j);
}

static void recording(struct json *j, const struct snapshot *s)
{
	json__line(j, 2);
	json__str(j, "schema", "malloctrace/1");
	json__line(j, 2);
	json__object(j, "tool");
	json__str(j, "version", s->version);
	json__object_end(j);
	json__line(j, 2);
	json__object(j, "host");
	json__str(j, "name", s->host);
	json__str(j, "kernel", s->kernel);
	json__str(j, "arch", s->arch);
	json__object_end(j);
	json__line(j, 2);
	json__str(j, "mode", s->mode);
	json__str(j, "size", s->size);
	json__u64(j, "sample_bytes", s->sample_bytes);
	json__bool(j, "estimated", s->estimated);
	json__double(j, "observed_share", s->observed_share);
	json__str(j, "by", s->by ? s->by : "process");
	json__line(j, 2);
	if (s->mmap)
		json__bool(j, "mmap", true);
	json__u64(j, "min_size", s->min_size);
	u64_or_null(j, "max_size", s->partial_sizes && s->max_size != UINT64_MAX, s->max_size);
	if (s->within)
		json__str(j, "within", s->within);
	json__u64(j, "older_ns", s->older_ns);
	older_unsure(j, &s->older_unsure);
	u64_or_null(j, "baseline_ns", s->baseline, s->baseline_ns);
	json__line(j, 2);
	json__u64(j, "duration_ns", s->duration_ns);
	wall_time(j, "wall_start", s->wall_start_ns);
	wall_time(j, "wall_now", s->wall_now_ns);
	json__bool(j, "ended", s->ended);
	json__str(j, "trigger", s->trigger);
	json__marks(j, s);
	json__line(j, 2);
	json__array(j, "probes");
	for (size_t i = 0; i < s->n_probes; i++) {
		json__line(j, 4);
		json__probe(j, s, &s->probes[i]);
	}
	json__array_end(j);
}

static void quality(struct json *j, const struct snapshot *s)
{
	json__line(j, 2);
	json__object(j, "losses");
	json__u64(j, "total", s->losses_total);
	for (size_t i = 0; i < s->n_losses; i++)
		json__u64(j, s->losses[i].name, s->losses[i].n);
	json__object_end(j);
	json__line(j, 2);
	/* what the block table itself holds: at rest the same as the live totals */
	if (s->scanned && s->known & HAS_LIVE_BLOCKS) {
		json__object(j, "scan");
		json__u64(j, "live_blocks", s->scan_blocks);
		json__u64(j, "live_bytes", s->scan_bytes);
		json__object_end(j);
		json__line(j, 2);
	}
	json__object(j, "edges");
	for (size_t i = 0; i < s->n_edges; i++)
		json__u64(j, s->edges[i].name, s->edges[i].n);
	json__object_end(j);
	json__line(j, 2);
	/* of ended processes, what is kept as sums alone */
	json__object(j, "folded");
	json__u64(j, "processes", s->n_folded_processes);
	json__u64(j, "sites", s->n_folded_sites);
	json__object_end(j);
	json__line(j, 2);
	json__object(j, "stacks");
	for (unsigned int i = 0; i < SNAPSHOT_N_ENDS; i++)
		json__u64(j, stack_end__name(i), s->stacks_by_end[i]);
	json__u64(j, "frames_walked", s->frames_walked);
	json__object_end(j);
	json__line(j, 2);
	json__object(j, "overhead");
	json__u64(j, "probe_hits", s->probe_hits);
	if (s->probe_ns_estimate)
		json__u64(j, "probe_ns_estimate", s->probe_ns_estimate);
	else
		json__null(j, "probe_ns_estimate");
	json__u64(j, "target_cpu_ns", s->target_cpu_ns);
	json__u64(j, "tool_cpu_ns", s->tool_cpu_ns);
	json__object_end(j);
}

/* totals are those of the sites and these together */
static void hidden(struct json *j, const struct snapshot *s)
{
	const struct snap_hidden *h = &s->hidden;

	if (!h->by)
		return;
	json__line(j, 2);
	json__object(j, "hidden");
	json__str(j, "by", h->by);
	json__u64(j, "sites", h->n_sites);
	json__u64(j, "alloc_calls", h->alloc_calls);
	json__u64(j, "alloc_bytes", h->alloc_bytes);
	u64_or_null(j, "live_blocks", s->known & HAS_LIVE_BLOCKS, h->live_blocks);
	u64_or_null(j, "live_bytes", s->known & HAS_LIVE_BYTES, h->live_bytes);
	json__object_end(j);
}

static void modules(struct json *j, const struct snapshot *s)
{
	json__line(j, 2);
	json__array(j, "modules");
	for (size_t i = 0; i < s->n_modules; i++) {
		json__line(j, 4);
		json__object(j, NULL);
		json__str(j, "path", s->modules[i].path);
		json__str(j, "build_id", s->modules[i].build_id);
		json__object_end(j);
	}
	json__array_end(j);
}

static void threads(struct json *j, const struct snap_process *p, unsigned int known)
{
	/* a block is freed by whom it may please: it is live in no thread */
	known &= ~(HAS_LIVE_BLOCKS | HAS_LIVE_BYTES | HAS_PEAK_BYTES);
	json__array(j, "threads");
	for (size_t i = 0; i < p->n_threads; i++) {
		const struct snap_thread *t = &p->threads[i];

		json__line(j, 8);
		json__object(j, NULL);
		json__i64(j, "tid", t->tid);
		json__str(j, "comm", t->comm);
		json__bool(j, "ended", t->ended);
		if (t->stands_for)
			json__u64(j, "stands_for", t->stands_for);
		totals(j, &t->c, known, NULL);
		json__object_end(j);
	}
	json__array_end(j);
}

static void timeline(struct json *j, const struct snap_process *p, unsigned int known)
{
	json__array(j, "timeline");
	for (size_t i = 0; i < p->n_timeline; i++) {
		const struct snap_point *t = &p->timeline[i];

		json__line(j, 8);
		json__object(j, NULL);
		json__u64(j, "t_ns", t->t_ns);
		u64_or_null(j, "live_bytes", known & HAS_LIVE_BYTES, t->live_bytes);
		u64_or_null(j, "live_blocks", known & HAS_LIVE_BLOCKS, t->live_blocks);
		json__u64(j, "alloc_calls", t->alloc_calls);
		json__u64(j, "rss_bytes", t->rss_bytes);
		json__object_end(j);
	}
	json__array_end(j);
}

/* The last class has no upper bound: "below" is null there. */
static void histograms(struct json *j, const struct snap_process *p, unsigned int known)
{
	json__line(j, 6);
	json__array(j, "sizes");
	for (size_t i = 0; i < p->n_sizes; i++) {
		json__object(j, NULL);
		u64_or_null(j, "below", p->sizes[i].below != UINT64_MAX, p->sizes[i].below);
		json__u64(j, "alloc_calls", p->sizes[i].alloc_calls);
		u64_or_null(j, "live_blocks", known & HAS_LIVE_BLOCKS, p->sizes[i].live_blocks);
		json__object_end(j);
	}
	json__array_end(j);
	json__line(j, 6);
	if (!(known & HAS_FREE_CALLS)) {
		json__null(j, "lifetimes");
		return;
	}
	json__array(j, "lifetimes");
	for (size_t i = 0; i < p->n_lifetimes; i++) {
		json__object(j, NULL);
		u64_or_null(j, "below_ns", p->lifetimes[i].below_ns != UINT64_MAX, p->lifetimes[i].below_ns);
		json__u64(j, "blocks", p->lifetimes[i].blocks);
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

	json__object(j, "growth");
	for (enum growth_kind k = GROWTH_FAULT; k < GROWTH_N_KINDS; k++) {
		snprintf(key, sizeof(key), "%s_calls", growth__name(k));
		json__u64(j, key, p->growth.calls[k]);
		snprintf(key, sizeof(key), "%s_bytes", growth__name(k));
		json__u64(j, key, p->growth.bytes[k]);
	}
	json__i64(j, "rss_change_bytes", change);
	double_or_null(j, "explained_share", change > 0, change > 0 ? (double)by_faults / (double)change : 0);
	json__object_end(j);
}

static void trend(struct json *j, const struct snapshot *s, const struct trend *t, int64_t since_baseline_bytes)
{
	if (s->baseline && s->known & HAS_LIVE_BYTES)
		json__i64(j, "since_baseline_bytes", since_baseline_bytes);
	else
		json__null(j, "since_baseline_bytes");
	double_or_null(j, "growth_bytes_per_s", t->known, t->growth_bytes_per_s);
	json__str(j, "verdict", t->verdict);
	json__str(j, "why", t->why);
}

static void process(struct json *j, const struct snapshot *s, const struct snap_process *p)
{
	unsigned int known = s->known;

	json__line(j, 4);
	json__object(j, NULL);
	json__u64(j, "id", p->id);
	/* a row of several processes has none */
	u64_or_null(j, "pid", p->pid > 0, (uint64_t)p->pid);
	json__str(j, "comm", p->comm);
	json__str(j, "exe", p->exe);
	json__u64(j, "age_at_attach_ns", p->age_at_attach_ns);
	json__bool(j, "ended", p->ended);
	u64_or_null(j, "exit_signal", p->exit_signal > 0, (uint64_t)p->exit_signal);
	json__bool(j, "oom_killed", p->oom_killed);
	u64_or_null(j, "members", p->n_members, p->n_members);
	u64_or_null(j, "ended_members", p->n_members, process__n_ended(s, p));
	json__line(j, 6);
	json__str(j, "cgroup", p->cgroup);
	json__str(j, "container", p->container);
	json__str(j, "unit", p->unit);
	u64_or_null(j, "container_pid", p->container_pid > 0, (uint64_t)p->container_pid);
	u64_or_null(j, "parent", p->parent, p->parent);
	json__line(j, 6);
	if (p->wall_started_ns)
		wall_time(j, "started", p->wall_started_ns);
	else
		json__null(j, "started");
	json__u64(j, "unseen_ns", p->unseen_ns);
	json__u64(j, "lost_blocks", p->lost_blocks);
	json__u64(j, "lost_stacks", p->lost_stacks);
	if (p->missed_frees)
		json__u64(j, "missed_frees", p->missed_frees);
	json__line(j, 6);
	trend(j, s, &p->trend, p->since_baseline_bytes);
	json__line(j, 6);
	totals(j, &p->c, known, s->estimated ? &p->error : NULL);
	json__line(j, 6);
	u64_or_null(j, "rss_bytes", p->rss_bytes || !p->ended, p->rss_bytes);
	u64_or_null(j, "peak_rss_bytes", p->most_rss_bytes, p->most_rss_bytes);
	json__u64(j, "rss_at_attach_bytes", p->rss_at_attach_bytes);
	u64_or_null(j, "peak_at_ns", known & HAS_PEAK_BYTES && p->n_members < 2, p->peak_at_ns);
	json__line(j, 6);
	json__u64(j, "probe_hits", p->probe_hits);
	json__blind(j, &p->blind);
	json__line(j, 6);
	json__memory(j, &p->memory);
	if (s->growth) {
		json__line(j, 6);
		growth(j, p);
	}
	json__line(j, 6);
	threads(j, p, known);
	json__line(j, 6);
	timeline(j, p, known);
	histograms(j, p, known);
	json__object_end(j);
}

static void history(struct json *j, const struct snap_site *site)
{
	json__array(j, "history");
	for (size_t i = 0; i < site->n_history; i++) {
		json__object(j, NULL);
		json__u64(j, "t_ns", site->history[i].t_ns);
		json__u64(j, "live_bytes", site->history[i].live_bytes);
		json__object_end(j);
	}
	json__array_end(j);
}

static void ages(struct json *j, const struct snap_site *site)
{
	json__array(j, "ages");
	for (size_t i = 0; i < site->n_ages; i++) {
		const struct snap_age *a = &site->ages[i];

		json__object(j, NULL);
		json__u64(j, "from_ns", a->from_ns);
		u64_or_null(j, "below_ns", a->below_ns != UINT64_MAX, a->below_ns);
		json__u64(j, "blocks", a->blocks);
		json__u64(j, "bytes", a->bytes);
		json__object_end(j);
	}
	json__array_end(j);
}

/* What realloc did here; no key where it was not called for a block that was known. */
static void moves(struct json *j, const struct snap_moves *m)
{
	if (!m->calls)
		return;
	json__object(j, "moves");
	json__u64(j, "calls", m->calls);
	json__u64(j, "moved_calls", m->moved_calls);
	json__u64(j, "moved_bytes", m->moved_bytes);
	json__u64(j, "grown_calls", m->grown_calls);
	json__u64(j, "grown_bytes", m->grown_bytes);
	json__u64(j, "shrunk_calls", m->shrunk_calls);
	json__u64(j, "doubled_calls", m->doubled_calls);
	json__u64(j, "longest", m->longest);
	json__object_end(j);
}

static int site(struct json *j, const struct snapshot *s, const struct snap_site *site, struct place_texts *texts)
{
	const struct snap_process *p = &s->processes[site->process];
	bool live = s->known & HAS_LIVE_BLOCKS;

	json__line(j, 4);
	json__object(j, NULL);
	json__u64(j, "process", p->id);
	u64_or_null(j, "pid", p->pid > 0, (uint64_t)p->pid);
	u64_or_null(j, "tid", site->tid > 0, (uint64_t)site->tid);
	json__str(j, "thread", site->thread);
	json__str(j, "function", site->function);
	json__tag_of_site(j, s, site);
	counters(j, &site->c, s->known, s->estimated ? &site->error : NULL);
	u64_or_null(j, "cross_frees", s->known & HAS_FREE_CALLS, site->cross_frees);
	if (site->growth == GROWTH_FAULT)
		json__u64(j, "guessed_calls", site->guessed_calls);
	moves(j, &site->moves);
	u64_or_null(j, "at_peak_bytes", s->known & HAS_PEAK_BYTES, site->at_peak_bytes);
	json__u64(j, "min_size", site->min_size);
	json__u64(j, "max_size", site->max_size);
	u64_or_null(j, "oldest_ns", live, site->oldest_ns);
	json__u64(j, "first_ns", site->first_ns);
	json__u64(j, "last_ns", site->last_ns);
	u64_or_null(j, "lifetime_mean_ns", s->known & HAS_FREE_CALLS && site->c.free_calls,
		    site->c.free_calls ? site->lifetime_sum_ns / site->c.free_calls : 0);
	u64_or_null(j, "older_blocks", live, site->older_blocks);
	u64_or_null(j, "older_bytes", live, site->older_bytes);
	trend(j, s, &site->trend, site->since_baseline_bytes);
	if (live) {
		ages(j, site);
		history(j, site);
	} else {
		json__null(j, "ages");
		json__null(j, "history");
	}
	return json__stack(j, site->end, site->stack, site->n_stack, texts);
}

int json__write(FILE *out, const struct snapshot *s, const struct export_opts *o, struct err *e)
{
	struct json j = { .out = out };
	__attribute__((cleanup(place_texts__done))) struct place_texts texts;
	int err = place_texts__init(&texts, s);

	json__object(&j, NULL);
	recording(&j, s);
	json__line(&j, 2);
	totals(&j, &s->totals, s->known, s->estimated ? &s->error : NULL);
	quality(&j, s);
	hidden(&j, s);
	json__taken(&j, s);
	err = err ?: json__tags(&j, s);
	modules(&j, s);
	json__line(&j, 2);
	json__array(&j, "processes");
	for (size_t i = 0; i < s->n_processes; i++)
		process(&j, s, &s->processes[i]);
	json__array_end(&j);
	json__line(&j, 2);
	json__array(&j, "sites");
	for (size_t i = 0; i < s->n_sites && !err; i++)
		err = site(&j, s, &s->sites[i], &texts);
	json__array_end(&j);
	if (s->free_stacks && !err)
		err = json__frees(&j, s, &texts);
	json__line(&j, 0);
	json__object_end(&j);
	fputc('\n', out);
	if (err)
		return err_set(e, err, "out of memory");
	return ferror(out) ? err_set(e, -EIO, "cannot write JSON") : 0;
}
