// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the HTML report: a page that is the same for every trace (user/files/html/page/,
 * made one by scripts/html-page when the program is built) with the snapshot's
 * data in it, which the page's script draws.
 *
 * What always holds: what another process chose (names, paths) is only in the
 * data, there is no character in that which means something to HTML, and the
 * page's policy lets nothing run but the script of the page itself.
 */
#include <errno.h>

#include "files/export.h"
#include "files/html/html_parts.h"
#include "files/json/json_probes.h"
#include "html_page.h"
#include "util/util.h"

#define NS_PER_MS 1000000
/* Of timelines: as many as there may be in all, and as many as a process may have even if they are more. */
#define POINTS_OF_ALL 65536
#define POINTS_OF_EACH 64

static void optional_str(struct json *j, const char *key, const char *s)
{
	if (s)
		json__str(j, key, s);
}

static void optional_u64(struct json *j, const char *key, uint64_t n)
{
	if (n)
		json__u64(j, key, n);
}

/* ---- how it was measured */

static void conditions(struct json *j, const struct snapshot *s)
{
	json__line(j, 0);
	json__u64(j, "format", 1);
	json__str(j, "version", s->version);
	json__str(j, "kernel", s->kernel);
	json__str(j, "arch", s->arch);
	optional_str(j, "host", s->host);
	json__str(j, "by", s->by);
	json__line(j, 0);
	json__str(j, "mode", mode__name(s->recording.mode));
	json__str(j, "size", size__name(s->recording.size));
	json__bool(j, "growth", recording__is_growth(&s->recording));
	json__bool(j, "estimated", s->estimated);
	json__u64(j, "sample_bytes", s->recording.sample_bytes);
	json__double(j, "observed_share", s->observed_share);
	json__bool(j, "partial_sizes", recording__has_size_range(&s->recording));
	json__u64(j, "min_size", s->recording.min_size);
	if (s->recording.max_size != UINT64_MAX)
		json__u64(j, "max_size", s->recording.max_size);
	if (s->recording.mmap)
		json__bool(j, "mmap", true);
	json__u64(j, "older_ns", s->recording.older_ns);
	optional_u64(j, "older_unsure_blocks", s->older_unsure.blocks);
	optional_u64(j, "older_unsure_bytes", s->older_unsure.bytes);
	if (s->baseline)
		json__u64(j, "baseline_ns", s->baseline_ns);
	optional_str(j, "baseline_name", s->baseline_name);
	optional_str(j, "within", s->recording.within);
	optional_str(j, "started_on", s->started_on);
	optional_str(j, "stopped_on", s->stopped_on);
	optional_str(j, "waiting_for", s->waiting_for);
	if (s->n_taken) {
		json__array(j, "taken");	/* [t_ns, number, why, ...] of snapshots before this one */
		for (size_t i = 0; i < s->n_taken; i++) {
			json__u64(j, NULL, s->taken[i].t_ns);
			json__u64(j, NULL, s->taken[i].number);
			json__str(j, NULL, s->taken[i].why);
		}
		json__array_end(j);
	}
	if (s->hidden.by) {
		json__str(j, "hidden", s->hidden.by);
		json__u64(j, "n_hidden_sites", s->hidden.n_sites);
	}
	json__line(j, 0);
	json__u64(j, "duration_ns", s->duration_ns);
	json__i64(j, "wall_start_ms", s->wall_start_ns / NS_PER_MS);
	json__i64(j, "wall_now_ms", s->wall_now_ns / NS_PER_MS);
	json__bool(j, "ended", s->ended);
	optional_str(j, "trigger", s->trigger);
	json__u64(j, "probe_hits", s->probe_hits);
	json__u64(j, "probe_ns_estimate", s->probe_ns_estimate);
	json__u64(j, "target_cpu_ns", s->target_cpu_ns);
	json__u64(j, "tool_cpu_ns", s->tool_cpu_ns);
	json__u64(j, "frames_walked", s->frames_walked);
	json__u64(j, "n_folded_processes", s->n_folded_processes);
	json__u64(j, "n_folded_sites", s->n_folded_sites);
}

/* [what, how often] of those that happened */
static void happened(struct json *j, const char *key, const struct snap_counter *v, size_t n)
{
	json__line(j, 0);
	json__array(j, key);
	for (size_t i = 0; i < n; i++) {
		if (!v[i].n)
			continue;
		json__array(j, NULL);
		json__str(j, NULL, v[i].name);
		json__str(j, NULL, v[i].says);
		json__u64(j, NULL, v[i].n);
		json__array_end(j);
	}
	json__array_end(j);
}

static void quality(struct json *j, const struct snapshot *s)
{
	json__line(j, 0);
	json__u64(j, "losses_total", s->losses_total);
	happened(j, "losses", s->losses, s->n_losses);
	happened(j, "edges", s->edges, s->n_edges);
	json__line(j, 0);
	json__array(j, "ends");	/* how stacks end: [words, distinct stacks] */
	for (unsigned int i = 0; i < SNAPSHOT_N_ENDS; i++) {
		json__array(j, NULL);
		json__str(j, NULL, stack_end__says(i));
		json__u64(j, NULL, s->stacks_by_end[i]);
		json__array_end(j);
	}
	json__array_end(j);
}

static void probes(struct json *j, const struct snapshot *s)
{
	json__line(j, 0);
	json__array(j, "probes");
	for (size_t i = 0; i < s->n_probes; i++)
		json__probe(j, s, &s->probes[i]);
	json__array_end(j);
	json__line(j, 0);
	json__array(j, "modules");
	for (size_t i = 0; i < s->n_modules; i++)
		json__str(j, NULL, s->modules[i].path);
	json__array_end(j);
}

static void metric_table(struct json *j, const struct snapshot *s, const struct metric *chosen)
{
	json__line(j, 0);
	json__array(j, "metrics");
	for (size_t i = 0; i < n_metrics; i++) {
		if (metrics[i].needs & ~s->known)
			continue;
		json__array(j, NULL);
		json__str(j, NULL, metrics[i].name);
		json__str(j, NULL, metrics[i].unit);
		json__array_end(j);
	}
	json__array_end(j);
	json__str(j, "metric", chosen->name);
}

/* ---- processes */

static void errors(struct json *j, const struct std_error *e)
{
	json__object(j, "error");
	json__double(j, "alloc_calls", e->alloc_calls);
	json__double(j, "alloc_bytes", e->alloc_bytes);
	json__double(j, "live_blocks", e->live_blocks);
	json__double(j, "live_bytes", e->live_bytes);
	json__object_end(j);
}

static void threads(struct json *j, const struct snap_process *p)
{
	json__array(j, "threads");
	for (size_t i = 0; i < p->n_threads; i++) {
		json__array(j, NULL);
		json__i64(j, NULL, p->threads[i].tid);
		json__str(j, NULL, p->threads[i].comm);
		json__bool(j, NULL, p->threads[i].ended);
		html__counters(j, NULL, &p->threads[i].c);
		json__array_end(j);
	}
	json__array_end(j);
}

/*
 * [t_ns, live_bytes, live_blocks, alloc_calls, rss_bytes, ...]. Of a whole
 * machine's processes, every n-th point does: a page draws some hundred, and
 * would else be made of little but lines that nobody looks at.
 */
static void timeline(struct json *j, const struct snapshot *s, const struct snap_process *p)
{
	size_t room = MAX(POINTS_OF_ALL / s->n_processes, (size_t)POINTS_OF_EACH), step = p->n_timeline / room + 1;

	json__array(j, "timeline");
	for (size_t i = 0; i < p->n_timeline; i++) {
		const struct snap_point *t = &p->timeline[i];

		/* the last one is what the totals say */
		if ((p->n_timeline - 1 - i) % step)
			continue;
		json__u64(j, NULL, t->t_ns);
		json__u64(j, NULL, t->live_bytes);
		json__u64(j, NULL, t->live_blocks);
		json__u64(j, NULL, t->alloc_calls);
		json__u64(j, NULL, t->rss_bytes);
	}
	json__array_end(j);
}

static void histograms(struct json *j, const struct snap_process *p)
{
	json__array(j, "sizes");	/* [below, alloc_calls, live_blocks, ...] */
	for (size_t i = 0; i < p->n_sizes; i++) {
		html__bound(j, p->sizes[i].below);
		json__u64(j, NULL, p->sizes[i].alloc_calls);
		json__u64(j, NULL, p->sizes[i].live_blocks);
	}
	json__array_end(j);
	json__array(j, "lifetimes");	/* [below_ns, blocks, ...] */
	for (size_t i = 0; i < p->n_lifetimes; i++) {
		html__bound(j, p->lifetimes[i].below_ns);
		json__u64(j, NULL, p->lifetimes[i].blocks);
	}
	json__array_end(j);
}

static void process(struct json *j, const struct snapshot *s, const struct snap_process *p)
{
	json__line(j, 0);
	json__object(j, NULL);
	json__u64(j, "id", p->id);
	optional_u64(j, "pid", p->pid > 0 ? (uint64_t)p->pid : 0);
	json__str(j, "comm", p->comm);
	optional_str(j, "exe", p->exe);
	optional_str(j, "cgroup", p->cgroup);
	optional_str(j, "container", p->container);
	optional_str(j, "unit", p->unit);
	json__bool(j, "ended", p->ended);
	optional_u64(j, "exit_signal", p->exit_signal > 0 ? (uint64_t)p->exit_signal : 0);
	if (p->oom_killed)
		json__bool(j, "oom_killed", true);
	json__u64(j, "age_at_attach_ns", p->age_at_attach_ns);
	optional_u64(j, "container_pid", p->container_pid > 0 ? (uint64_t)p->container_pid : 0);
	optional_u64(j, "parent", p->parent);
	optional_u64(j, "n_members", p->n_members);
	optional_u64(j, "n_ended", p->n_ended);
	optional_u64(j, "wall_started_ms", p->wall_started_ns > 0 ? (uint64_t)(p->wall_started_ns / NS_PER_MS) : 0);
	optional_u64(j, "unseen_ns", p->unseen_ns);
	optional_u64(j, "lost_blocks", p->lost_blocks);
	optional_u64(j, "lost_stacks", p->lost_stacks);
	optional_u64(j, "missed_frees", p->missed_frees);
	optional_str(j, "verdict", p->trend.verdict);
	optional_str(j, "why", p->trend.why);
	if (p->trend.known)
		json__double(j, "growth_bytes_per_s", p->trend.growth_bytes_per_s);
	if (s->baseline)
		json__i64(j, "since_baseline_bytes", p->since_baseline_bytes);
	json__line(j, 0);
	html__counters(j, "totals", &p->c);
	if (s->estimated)
		errors(j, &p->error);
	json__u64(j, "rss_bytes", p->rss_bytes);
	json__u64(j, "rss_at_attach_bytes", p->rss_at_attach_bytes);
	if (p->n_members < 2)
		json__u64(j, "peak_at_ns", p->peak_at_ns);
	if (recording__is_growth(&s->recording))
		json__u64(j, "fault_bytes", p->growth.bytes[GROWTH_FAULT]);
	if (p->blind.is && !p->blind.idle) {
		json__object(j, "blind");
		json__str(j, "probed", p->blind.probed);
		optional_str(j, "candidates", p->blind.candidates);
		json__object_end(j);
	}
	if (p->memory.known)
		html__memory(j, &p->memory);
	json__line(j, 0);
	threads(j, p);
	json__line(j, 0);
	timeline(j, s, p);
	json__line(j, 0);
	histograms(j, p);
	json__object_end(j);
}

static int data(struct json *j, const struct snapshot *s, const struct metric *metric)
{
	struct html_strings t = {};
	int err;

	json__object(j, NULL);
	conditions(j, s);
	html__counter_table(j, s->known);
	metric_table(j, s, metric);
	json__line(j, 0);
	html__counters(j, "totals", &s->totals);
	if (s->estimated)
		errors(j, &s->error);
	quality(j, s);
	probes(j, s);
	json__line(j, 0);
	json__array(j, "processes");
	for (size_t i = 0; i < s->n_processes; i++)
		process(j, s, &s->processes[i]);
	json__array_end(j);
	html__asked(j, s, &t);
	err = html__stacks(j, s, &t);
	json__line(j, 0);
	json__array(j, "strings");
	for (size_t i = 0; i < t.ids.n; i++) {
		json__line(j, 0);
		json__str(j, NULL, t.ids.v[i]);
	}
	json__array_end(j);
	json__line(j, 0);
	json__object_end(j);
	string_ids__done(&t.ids);
	return err;
}

int html__write(FILE *out, const struct snapshot *s, const struct export_opts *o, struct err *e)
{
	const struct metric *metric = o && o->metric ? o->metric : metric__preset(s->known);
	struct json j = { .out = out, .in_page = true };
	int err;

	fputs(html_page_before_data, out);
	err = data(&j, s, metric);
	fputc('\n', out);
	fputs(html_page_after_data, out);
	if (!err && ferror(out))
		err = -EIO;
	return err ? err_set(e, err, "cannot write HTML") : 0;
}
