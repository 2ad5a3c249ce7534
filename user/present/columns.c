// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the tables of columns.
 *
 * What always holds: a cell is never wider than its column says (names aside),
 * what was not recorded has no column, and what is not known of a row is "-",
 * never 0. Rates are over the time in which the process was traced, none of a
 * process that has ended; in the live view they are since the snapshot before.
 */
#include "present/columns.h"

#include <math.h>
#include <string.h>

#include "model/group.h"
#include "present/deaths.h"
#include "present/figures.h"
#include "present/telling.h"
#include "util/text.h"
#include "util/util.h"

#define NS_PER_S 1e9
#define LIVE (HAS_LIVE_BLOCKS | HAS_LIVE_BYTES)

/* ---- cells of any row */

static const struct counters *counters_of(const struct row_of *r)
{
	return r->site ? &r->site->c : r->thread ? &r->thread->c : &r->process->c;
}

static const struct trend *trend_of(const struct row_of *r)
{
	return r->site ? &r->site->trend : &r->process->trend;
}

static uint64_t live_bytes(const struct row_of *r)
{
	return r->site && r->older ? r->site->older_bytes : counters_of(r)->live_bytes;
}

static uint64_t live_blocks(const struct row_of *r)
{
	return r->site && r->older ? r->site->older_blocks : counters_of(r)->live_blocks;
}

FIGURE(live, fmt_bytes, live_bytes(r))
FIGURE(blocks, fmt_count, live_blocks(r))
FIGURE(calls, fmt_count, counters_of(r)->alloc_calls)
FIGURE(bytes, fmt_bytes, counters_of(r)->alloc_bytes)
FIGURE(frees, fmt_count, counters_of(r)->free_calls)

static double per_second(const struct row_of *r, uint64_t n)
{
	uint64_t ns = process__traced_ns(r->s, r->process);

	return ns ? (double)n * NS_PER_S / (double)ns : NAN;
}

const char *show_rate(double per_second, char buf[static CELL_MAX])
{
	if (isnan(per_second))
		return "-";
	if (per_second > 0 && per_second < 9.95)
		snprintf(buf, CELL_MAX, "%.1f", per_second);
	else
		fmt_count(buf, (uint64_t)(per_second + 0.5));
	return buf;
}

double rates__calls(const struct row_of *r)
{
	return r->rates.calls;
}

const char *rates__show_calls(const struct row_of *r, char buf[static CELL_MAX])
{
	return show_rate(r->rates.calls, buf);
}

double rates__delta(const struct row_of *r)
{
	return r->rates.delta;
}

const char *rates__show_delta(const struct row_of *r, char buf[static CELL_MAX])
{
	return fmt_change(buf, r->rates.delta);
}

static enum tone delta_tone(const struct row_of *r)
{
	return r->rates.delta ? TONE_PLAIN : TONE_DIM;
}

/* Whatever allocates just now. */
static enum tone rate_tone(const struct row_of *r)
{
	return !r->has_rates || r->rates.calls > 0 ? TONE_PLAIN : TONE_DIM;
}

static double calls_rate(const struct row_of *r)
{
	return r->has_rates ? r->rates.calls : per_second(r, counters_of(r)->alloc_calls);
}

/* The title says per what: "70,000", "0.3" */
static const char *show_calls_rate(const struct row_of *r, char buf[static CELL_MAX])
{
	size_t len;

	if (r->has_rates)
		return show_rate(r->rates.calls, buf);
	fmt_rate(buf, counters_of(r)->alloc_calls, process__traced_ns(r->s, r->process));
	len = strlen(buf);
	if (len > 2)
		buf[len - 2] = 0;
	return buf;
}

static double bytes_rate(const struct row_of *r)
{
	return r->has_rates ? r->rates.bytes : per_second(r, counters_of(r)->alloc_bytes);
}

static const char *show_bytes_rate(const struct row_of *r, char buf[static CELL_MAX])
{
	double rate = bytes_rate(r);

	if (isnan(rate))
		return "-";
	return fmt_bytes(buf, rate >= 0x1p63 ? UINT64_MAX : (uint64_t)(r->has_rates ? rate + 0.5 : rate));
}

static double average(const struct row_of *r)
{
	const struct counters *c = counters_of(r);

	return c->alloc_calls ? (double)c->alloc_bytes / (double)c->alloc_calls : NAN;
}

static const char *show_average(const struct row_of *r, char buf[static CELL_MAX])
{
	const struct counters *c = counters_of(r);

	return c->alloc_calls ? fmt_bytes(buf, c->alloc_bytes / c->alloc_calls) : "-";
}

static double share(uint64_t part, uint64_t whole)
{
	return whole ? (double)part / (double)whole : NAN;
}

static double freed(const struct row_of *r)
{
	return share(counters_of(r)->free_calls, counters_of(r)->alloc_calls);
}

static const char *show_freed(const struct row_of *r, char buf[static CELL_MAX])
{
	const struct counters *c = counters_of(r);

	return c->alloc_calls ? fmt_percent(buf, c->free_calls, c->alloc_calls) : "-";
}

static double temporary(const struct row_of *r)
{
	return share(counters_of(r)->temp_calls, counters_of(r)->alloc_calls);
}

static const char *show_temporary(const struct row_of *r, char buf[static CELL_MAX])
{
	const struct counters *c = counters_of(r);

	return c->alloc_calls ? fmt_percent(buf, c->temp_calls, c->alloc_calls) : "-";
}

FIGURE(reallocs, fmt_count, counters_of(r)->realloc_calls)

FIGURE(peak, fmt_bytes, r->site ? r->site->at_peak_bytes : r->process->c.peak_bytes)

static double growth(const struct row_of *r)
{
	if (!r->site)
		return process__growth(r->process);
	return r->site->trend.known ? r->site->trend.growth_bytes_per_s : NAN;
}

static const char *show_growth(const struct row_of *r, char buf[static CELL_MAX])
{
	double rate = growth(r);

	return isnan(rate) ? "-" : fmt_change(buf, rate);
}

static double change(const struct row_of *r)
{
	int64_t bytes = r->site ? r->site->since_baseline_bytes : r->process->since_baseline_bytes;

	return r->s->baseline ? (double)bytes : NAN;
}

static const char *show_change(const struct row_of *r, char buf[static CELL_MAX])
{
	double bytes = change(r);

	return isnan(bytes) ? "-" : fmt_change(buf, bytes);
}

static const char *show_verdict(const struct row_of *r, char buf[static CELL_MAX])
{
	const char *verdict = trend_of(r)->verdict;

	/* whatever it did, it does no more */
	if (!r->site && r->process->ended)
		return death__word(r->process, buf);
	return verdict ? verdict : "-";
}

static enum tone verdict_tone(const struct row_of *r)
{
	static const struct {
		const char *verdict;
		enum tone tone;
	} tones[] = {
		{ "leak", TONE_BAD },	 { "suspect", TONE_WARN },  { "growing", TONE_WARN },
		{ "steady", TONE_GOOD }, { "draining", TONE_GOOD },
	};
	const char *verdict = trend_of(r)->verdict;

	for (size_t i = 0; verdict && i < ARRAY_SIZE(tones); i++)
		if (!strcmp(tones[i].verdict, verdict))
			return tones[i].tone;
	return TONE_DIM;
}

static enum tone growth_tone(const struct row_of *r)
{
	return trend_of(r)->known && trend_of(r)->growth_bytes_per_s >= 1 ? verdict_tone(r) : TONE_DIM;
}

/* ---- of processes */

static double rss(const struct row_of *r)
{
	return r->process->ended ? NAN : (double)r->process->rss_bytes;
}

static const char *show_rss(const struct row_of *r, char buf[static CELL_MAX])
{
	return r->process->ended || !r->process->rss_bytes ? "-" : fmt_bytes(buf, r->process->rss_bytes);
}

static double age(const struct row_of *r)
{
	uint64_t ns = process__age_ns(r->s, r->process);

	return ns ? (double)ns : NAN;
}

static const char *show_age(const struct row_of *r, char buf[static CELL_MAX])
{
	uint64_t ns = process__age_ns(r->s, r->process);

	return ns ? fmt_duration(buf, ns) : "-";
}

static double members(const struct row_of *r)
{
	return r->process->n_members;
}

static const char *show_members(const struct row_of *r, char buf[static CELL_MAX])
{
	return snapshot__is_grouped(r->s) ? fmt_count(buf, r->process->n_members) : "";
}

static const char *number_or_nothing(int n, char buf[static CELL_MAX])
{
	if (n <= 0)
		return "";
	snprintf(buf, CELL_MAX, "%d", n);
	return buf;
}

/* The lowest first. */
static double pid(const struct row_of *r)
{
	return -(double)r->process->pid;
}

static const char *show_pid(const struct row_of *r, char buf[static CELL_MAX])
{
	return number_or_nothing(r->process->pid, buf);
}

static const char *show_container_pid(const struct row_of *r, char buf[static CELL_MAX])
{
	return number_or_nothing(r->process->container_pid, buf);
}

static const char *show_comm(const struct row_of *r, char buf[static CELL_MAX])
{
	return r->process->comm;
}

static const char *show_where(const struct row_of *r, char buf[static CELL_MAX])
{
	const struct snap_process *p = r->process;
	const char *where = process__where(p, buf);

	/* --by cgroup: the name says it */
	return where && !(p->cgroup && !strcmp(p->cgroup, p->comm)) ? where : "";
}

static const struct column of_process[] = {
	{ "live", "LIVE", 9, .scaled = true, .needs = LIVE, .value = live, .format = show_live },
	{ "bytes", "BYTES", 9, .scaled = true, .needs = HAS_ALLOC_BYTES, .without = LIVE, .value = bytes, .format = show_bytes },
	{ "calls", "CALLS", 7, .scaled = true, .needs = HAS_ALLOC_CALLS, .without = LIVE, .drop = 4, .value = calls, .format = show_calls },
	{ "delta", "Δ", 10, .scaled = true, .needs = LIVE, .two_snapshots = true, .value = rates__delta, .format = rates__show_delta,
	  .tone = delta_tone },
	{ "change", "CHANGE", 10, .scaled = true, .needs = LIVE, .value = change, .format = show_change },
	{ "growth", "GROWTH/s", 10, .scaled = true, .needs = LIVE, .value = growth, .format = show_growth,
	  .tone = growth_tone },
	{ "blocks", "BLOCKS", 7, .scaled = true, .needs = LIVE, .drop = 7, .value = blocks, .format = show_blocks },
	{ "calls-rate", "CALLS/s", 7, .scaled = true, .needs = HAS_ALLOC_CALLS, .drop = 3, .value = calls_rate, .format = show_calls_rate,
	  .tone = rate_tone },
	{ "bytes-rate", "BYTES/s", 9, .scaled = true, .needs = HAS_ALLOC_BYTES, .drop = 8, .value = bytes_rate, .format = show_bytes_rate,
	  .tone = rate_tone },
	{ "peak", "PEAK", 9, .scaled = true, .needs = HAS_PEAK_BYTES, .drop = 9, .value = peak, .format = show_peak },
	{ "rss", "RSS", 9, .drop = 2, .value = rss, .format = show_rss },
	{ "age", "AGE", 6, .drop = 6, .value = age, .format = show_age },
	{ "verdict", "VERDICT", 8, true, .format = show_verdict, .tone = verdict_tone },
	{ "members", "PROCS", 7, .value = members, .format = show_members },
	{ "pid", "PID", 7, .value = pid, .format = show_pid },
	{ "container-pid", "NSPID", 7, .drop = 1, .format = show_container_pid },
	{ "process", "PROCESS", 0, true, .format = show_comm },
	{ "where", "WHERE", 0, true, .drop = 5, .format = show_where },
};

/* ---- of threads */

static double tid(const struct row_of *r)
{
	return -(double)r->thread->tid;
}

static const char *show_tid(const struct row_of *r, char buf[static CELL_MAX])
{
	return number_or_nothing(r->thread->tid, buf);
}

static double n_threads(const struct row_of *r)
{
	return r->thread->n_threads;
}

static const char *show_n_threads(const struct row_of *r, char buf[static CELL_MAX])
{
	const struct thread_row *t = r->thread;

	return t->n_threads > 1 || t->stands_for ? fmt_count(buf, MAX(t->n_threads, t->stands_for)) : "";
}

static double n_ended(const struct row_of *r)
{
	return r->thread->n_ended;
}

static const char *show_n_ended(const struct row_of *r, char buf[static CELL_MAX])
{
	const struct thread_row *t = r->thread;

	return !t->n_ended ? "" : t->n_threads == 1 ? "yes" : fmt_count(buf, t->n_ended);
}

static const char *show_thread(const struct row_of *r, char buf[static CELL_MAX])
{
	const struct thread_row *t = r->thread;

	if (!t->member)
		return t->name;
	snprintf(buf, CELL_MAX, "  %.*s", (int)text_head(t->name, CELL_MAX / 4 - 2), t->name);
	return buf;
}

static const char *show_process(const struct row_of *r, char buf[static CELL_MAX])
{
	const struct snap_process *p = r->process;

	if (r->s->n_processes < 2)
		return "";
	if (p->pid <= 0)
		return p->comm;
	snprintf(buf, CELL_MAX, "%.*s (%d)", (int)text_head(p->comm, CELL_MAX / 4), p->comm, p->pid);
	return buf;
}

static const struct column of_thread[] = {
	{ "calls", "CALLS", 7, .scaled = true, .needs = HAS_ALLOC_CALLS, .value = calls, .format = show_calls },
	{ "calls-rate", "CALLS/s", 7, .scaled = true, .needs = HAS_ALLOC_CALLS, .drop = 4, .value = calls_rate, .format = show_calls_rate,
	  .tone = rate_tone },
	{ "bytes-rate", "BYTES/s", 9, .scaled = true, .needs = HAS_ALLOC_BYTES, .two_snapshots = true, .value = bytes_rate,
	  .format = show_bytes_rate, .tone = rate_tone },
	{ "bytes", "BYTES", 9, .scaled = true, .needs = HAS_ALLOC_BYTES, .value = bytes, .format = show_bytes },
	{ "average", "AVG", 9, .scaled = true, .needs = HAS_ALLOC_BYTES, .drop = 6, .value = average, .format = show_average },
	{ "frees", "FREES", 7, .scaled = true, .needs = HAS_FREE_CALLS, .drop = 3, .value = frees, .format = show_frees },
	{ "temporary", "TEMP", 4, .needs = HAS_TEMP_CALLS, .drop = 5, .value = temporary, .format = show_temporary },
	{ "reallocs", "REALLOC", 7, .scaled = true, .needs = HAS_REALLOC_CALLS, .drop = 7, .value = reallocs, .format = show_reallocs },
	{ "threads", "THREADS", 7, .value = n_threads, .format = show_n_threads },
	{ "ended", "ENDED", 7, .drop = 1, .value = n_ended, .format = show_n_ended },
	{ "tid", "TID", 7, .value = tid, .format = show_tid },
	{ "thread", "THREAD", 0, true, .format = show_thread },
	{ "process", "PROCESS", 0, true, .drop = 2, .format = show_process },
};

/* ---- of sites */

static double oldest(const struct row_of *r)
{
	return (double)r->site->oldest_ns;
}

static const char *show_oldest(const struct row_of *r, char buf[static CELL_MAX])
{
	return r->site->oldest_ns ? fmt_oldest(buf, r->site) : "-";
}

/* Of an estimate: how much of it one standard error is. */
static double live_error(const struct row_of *r)
{
	const struct snap_site *s = r->site;

	return s->c.live_bytes ? s->error.live_bytes / (double)s->c.live_bytes : s->error.live_bytes;
}

/* Of blocks older than an age it is not kept. */
static const char *show_live_error(const struct row_of *r, char buf[static CELL_MAX])
{
	return r->older ? "-" : fmt_error(buf, r->site->error.live_bytes, r->site->c.live_bytes);
}

static double calls_error(const struct row_of *r)
{
	const struct snap_site *s = r->site;

	return s->c.alloc_calls ? s->error.alloc_calls / (double)s->c.alloc_calls : s->error.alloc_calls;
}

static const char *show_calls_error(const struct row_of *r, char buf[static CELL_MAX])
{
	return fmt_error(buf, r->site->error.alloc_calls, r->site->c.alloc_calls);
}

static double peak_share(const struct row_of *r)
{
	return share(r->site->at_peak_bytes, r->process->c.peak_bytes);
}

static const char *show_peak_share(const struct row_of *r, char buf[static CELL_MAX])
{
	return r->process->c.peak_bytes ? fmt_share(buf, r->site->at_peak_bytes, r->process->c.peak_bytes) : "-";
}

static double last(const struct row_of *r)
{
	return -(double)r->site->last_ns;
}

static const char *show_last(const struct row_of *r, char buf[static CELL_MAX])
{
	return fmt_duration(buf, r->s->duration_ns > r->site->last_ns ? r->s->duration_ns - r->site->last_ns : 0);
}

static double frees_rate(const struct row_of *r)
{
	return r->rates.frees;
}

static const char *show_frees_rate(const struct row_of *r, char buf[static CELL_MAX])
{
	return show_rate(r->rates.frees, buf);
}

static enum tone frees_rate_tone(const struct row_of *r)
{
	return r->rates.frees > 0 ? TONE_PLAIN : TONE_DIM;
}

FIGURE(freed_bytes, fmt_bytes, r->site->c.free_bytes)

static double lived(const struct row_of *r)
{
	return (double)r->site->lifetime_sum_ns / (double)MAX(r->site->c.free_calls, 1ull);
}

static const char *show_lived(const struct row_of *r, char buf[static CELL_MAX])
{
	return fmt_duration(buf, (uint64_t)lived(r));
}

static double cross(const struct row_of *r)
{
	return (double)r->site->cross_frees / (double)MAX(r->site->c.free_calls, 1ull);
}

static const char *show_cross(const struct row_of *r, char buf[static CELL_MAX])
{
	return fmt_percent(buf, r->site->cross_frees, r->site->c.free_calls);
}

static const char *show_site(const struct row_of *r, char buf[static CELL_MAX])
{
	struct frame f = tellings__of(r->tellings, r->s, r->site);

	return telling__name(&f);
}

static const char *show_function(const struct row_of *r, char buf[static CELL_MAX])
{
	return r->site->function;
}

static double most_rate(const struct row_of *r)
{
	return (double)r->site->most_calls_per_s;
}

static const char *show_most_rate(const struct row_of *r, char buf[static CELL_MAX])
{
	return r->site->most_calls_per_s ? show_rate((double)r->site->most_calls_per_s, buf) : "-";
}

static const struct column of_site[] = {
	{ "live", "LIVE", 9, .scaled = true, .needs = LIVE, .value = live, .format = show_live },
	{ "delta", "Δ", 10, .scaled = true, .needs = LIVE, .two_snapshots = true, .value = rates__delta, .format = rates__show_delta,
	  .tone = delta_tone },
	{ "change", "CHANGE", 10, .scaled = true, .needs = LIVE, .value = change, .format = show_change },
	{ "growth", "GROWTH/s", 10, .scaled = true, .needs = LIVE, .value = growth, .format = show_growth,
	  .tone = growth_tone },
	{ "blocks", "BLOCKS", 7, .scaled = true, .needs = LIVE, .value = blocks, .format = show_blocks },
	{ "freed", "FREED", 5, .needs = HAS_FREE_CALLS, .value = freed, .format = show_freed },
	{ "oldest", "OLDEST", 7, .needs = LIVE, .value = oldest, .format = show_oldest },
	{ "verdict", "VERDICT", 8, true, .needs = LIVE, .format = show_verdict, .tone = verdict_tone },
	{ "calls", "CALLS", 7, .scaled = true, .needs = HAS_ALLOC_CALLS, .value = calls, .format = show_calls },
	{ "calls-rate", "CALLS/s", 7, .scaled = true, .needs = HAS_ALLOC_CALLS, .value = calls_rate, .format = show_calls_rate,
	  .tone = rate_tone },
	{ "most-rate", "MOST/s", 7, .scaled = true, .needs = HAS_ALLOC_CALLS, .value = most_rate, .format = show_most_rate },
	{ "bytes", "BYTES", 9, .scaled = true, .needs = HAS_ALLOC_BYTES, .value = bytes, .format = show_bytes },
	{ "bytes-rate", "BYTES/s", 9, .scaled = true, .needs = HAS_ALLOC_BYTES, .value = bytes_rate, .format = show_bytes_rate,
	  .tone = rate_tone },
	{ "average", "AVG", 9, .scaled = true, .needs = HAS_ALLOC_BYTES, .value = average, .format = show_average },
	{ "temporary", "TEMP", 4, .needs = HAS_TEMP_CALLS, .value = temporary, .format = show_temporary },
	{ "peak", "AT PEAK", 9, .scaled = true, .needs = HAS_PEAK_BYTES, .value = peak, .format = show_peak },
	{ "live-error", "±", 4, .needs = LIVE, .value = live_error, .format = show_live_error },
	{ "calls-error", "±", 4, .needs = HAS_ALLOC_CALLS, .value = calls_error, .format = show_calls_error },
	{ "trend", "TREND", 8, true, .needs = LIVE, .two_snapshots = true },
	{ "peak-share", "SHARE", 5, .needs = HAS_PEAK_BYTES, .value = peak_share, .format = show_peak_share },
	{ "last", "LAST", 6, .value = last, .format = show_last },
	{ "frees-rate", "FREES/s", 7, .needs = HAS_FREE_CALLS, .two_snapshots = true, .value = frees_rate, .format = show_frees_rate,
	  .tone = frees_rate_tone },
	{ "frees", "FREES", 7, .needs = HAS_FREE_CALLS, .value = frees, .format = show_frees },
	{ "freed-bytes", "BYTES", 9, .needs = HAS_FREE_CALLS, .value = freed_bytes, .format = show_freed_bytes },
	{ "lived", "LIVED", 6, .needs = HAS_FREE_CALLS, .value = lived, .format = show_lived },
	{ "cross", "CROSS", 5, .needs = HAS_FREE_CALLS, .value = cross, .format = show_cross },
	{ "freed-at", "FREED AT", 26, true, .needs = HAS_FREE_CALLS, .two_snapshots = true },
	{ "process", "PROCESS", 0, true, .format = show_process },
	{ "function", "FUNCTION", 0, true, .format = show_function },
	{ "site", "SITE", 0, true, .format = show_site },
};

const struct columns process_columns = { of_process, ARRAY_SIZE(of_process) };
const struct columns thread_columns = { of_thread, ARRAY_SIZE(of_thread) };
const struct columns site_columns = { of_site, ARRAY_SIZE(of_site) };

const struct column *columns__find(const struct columns *c, const char *name)
{
	for (size_t i = 0; i < c->n; i++)
		if (!strcmp(c->v[i].name, name))
			return &c->v[i];
	return NULL;
}

bool column__holds(const struct column *c, const struct snapshot *s)
{
	return !(c->needs & ~s->known) && (!c->without || c->without & ~s->known);
}

const char *column__cell(const struct column *c, const struct row_of *r, char buf[static CELL_MAX])
{
	const char *text = c->format ? c->format(r, buf) : "";
	size_t len = strlen(text);

	/* nothing known is nothing estimated */
	if (!c->scaled || !r->s->estimated || !*text || !strcmp(text, "-") || len + 2 > CELL_MAX)
		return text;
	memmove(buf + 1, text, len + 1);
	buf[0] = '~';
	return buf;
}
