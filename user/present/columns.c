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
#include "model/rss_trend.h"
#include "present/deaths.h"
#include "present/figures.h"
#include "present/heap_words.h"
#include "present/machine_words.h"
#include "present/rows.h"
#include "present/telling.h"
#include "util/text.h"
#include "util/util.h"

#define NS_PER_S 1e9
#define LIVE (HAS_LIVE_BLOCKS | HAS_LIVE_BYTES)
#define COUNTER(key) IS(counter_fields, key)
#define ERROR(key) IS(error_fields, key)
#define MOVES(key) IS(move_fields, key)
#define PROCESS(key) IS(process_fields, key)
#define SITE(key) IS(site_fields, key)

/* ---- verdicts */

const struct verdict_word verdict_words[] = {
	{ "leak", TONE_BAD, "it has grown all the time and what it allocates is not freed, or no pointer leads to its blocks" },
	{ "suspect", TONE_WARN, "the same, but not for long enough yet, or not evenly, or the process frees blocks from before the trace" },
	{ "growing", TONE_WARN, "it grows, but its blocks are freed later, or pointers to them were found: a cache, a queue" },
	{ "new", TONE_DIM, "its first allocation was moments ago" },
	{ "steady", TONE_GOOD, "it does not grow, or not any more, or it was as high before" },
	{ "draining", TONE_GOOD, "what it holds becomes less" },
};
const size_t n_verdict_words = ARRAY_SIZE(verdict_words);

/* NULL: none of them, or NULL */
static const struct verdict_word *find_verdict(const char *name)
{
	for (size_t i = 0; name && i < n_verdict_words; i++)
		if (!strcmp(verdict_words[i].name, name))
			return &verdict_words[i];
	return NULL;
}

/* ---- cells of any row */

static const struct counters *counters_of(const struct row_of *r)
{
	return r->site ? &r->site->c : r->thread ? &r->thread->c : &r->process->c;
}

static const struct trend *trend_of(const struct row_of *r)
{
	return r->site ? &r->site->trend : r->sum ? &r->sum->trend : &r->process->trend;
}

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

static double growth(const struct row_of *r)
{
	return process__growth(r->process);
}

static const char *show_growth(const struct row_of *r, char buf[static CELL_MAX])
{
	double rate = growth(r);

	return isnan(rate) ? "-" : fmt_change(buf, rate);
}

static const char *show_verdict(const struct row_of *r, char buf[static CELL_MAX])
{
	const char *verdict = trend_of(r)->verdict;

	/* whatever it did, it does no more */
	if (!r->site && r->process->ended)
		return death__word(r->process, buf);
	if (verdict)
		return verdict;
	/* why there is none: its live figures are not known */
	return !r->site && r->process->n_heaps_unread && r->process->n_members < 2 ? "not read" : "-";
}

enum tone row__verdict_tone(const struct row_of *r)
{
	const struct verdict_word *v = find_verdict(trend_of(r)->verdict);

	return v ? v->tone : TONE_DIM;
}

enum tone row__growth_tone(const struct row_of *r)
{
	return trend_of(r)->known && trend_of(r)->growth_bytes_per_s >= 1 ? row__verdict_tone(r) : TONE_DIM;
}

/* ---- of processes */

FIGURE(rss, r->process->ended ? NAN : (double)r->process->rss_bytes,
       r->process->ended || !r->process->rss_bytes ? "-" : fmt_bytes(buf, r->process->rss_bytes))

static double rss_change(const struct row_of *r)
{
	struct rss_trend t = rss_trend__of(r->process);

	return t.known ? (double)t.change_bytes : NAN;
}

static const char *show_rss_change(const struct row_of *r, char buf[static CELL_MAX])
{
	double change = rss_change(r);

	return isnan(change) ? "-" : fmt_change(buf, change);
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

static const char *show_members(const struct row_of *r, char buf[static CELL_MAX])
{
	return snapshot__is_grouped(r->s) || r->process->n_members > 1 ? fmt_count(buf, r->process->n_members) : "";
}

static const char *show_where(const struct row_of *r, char buf[static CELL_MAX])
{
	const struct snap_process *p = r->process;
	const char *where = process__where(p, buf);

	/* --by cgroup: the name says it */
	return where && !(p->cgroup && !strcmp(p->cgroup, p->comm)) ? where : "";
}

static const struct column of_process[] = {
	{ "live", "LIVE", 9, .scaled = true, .field = COUNTER("live_bytes") },
	{ "bytes", "BYTES", 9, .scaled = true, .without = LIVE, .field = COUNTER("alloc_bytes") },
	{ "calls", "CALLS", 7, .scaled = true, .without = LIVE, .drop = 4, .field = COUNTER("alloc_calls") },
	{ "delta", "Δ", 10, .scaled = true, .needs = LIVE, .two_snapshots = true, .value = rates__delta, .format = rates__show_delta,
	  .tone = delta_tone },
	{ "change", "CHANGE", 10, .scaled = true, .field = PROCESS("since_baseline_bytes") },
	{ "growth", "GROWTH/s", 10, .scaled = true, .label = "Growth", .field = PROCESS("growth_bytes_per_s"), .value = growth,
	  .format = show_growth, .tone = row__growth_tone },
	{ "blocks", "BLOCKS", 7, .scaled = true, .drop = 7, .field = COUNTER("live_blocks") },
	{ "calls-rate", "CALLS/s", 7, .scaled = true, .drop = 3, .field = COUNTER("alloc_calls"), .value = calls_rate,
	  .format = show_calls_rate, .tone = rate_tone },
	{ "bytes-rate", "BYTES/s", 9, .scaled = true, .drop = 8, .field = COUNTER("alloc_bytes"), .value = bytes_rate,
	  .format = show_bytes_rate, .tone = rate_tone },
	{ "peak", "PEAK", 9, .scaled = true, .drop = 9, .field = COUNTER("peak_bytes") },
	{ "rss", "RSS", 9, .drop = 2, .label = "RSS", .field = PROCESS("rss_bytes"), .value = rss, .format = show_rss },
	{ "rss-change", "RSS CHANGE", 10, .drop = 1, .tip = "Of resident memory, since the trace began", .value = rss_change,
	  .format = show_rss_change, .tone = row__growth_tone },
	{ "age", "AGE", 6, .drop = 6, .value = age, .format = show_age },
	{ "lost", "LOST", 7, .two_snapshots = true, .field = PROCESS("lost_blocks") },
	{ "attached", "ATTACHED", 8, .two_snapshots = true, .tip = "How long after its start", .field = PROCESS("age_at_attach_ns") },
	{ "verdict", "VERDICT", 8, true, .tip = COLUMN_JUDGED, .format = show_verdict, .tone = row__verdict_tone },
	{ "members", "PROCS", 7, .field = PROCESS("members"), .format = show_members },
	{ "pid", "PID", 7, .field = PROCESS("pid") },
	{ "container-pid", "NSPID", 7, .drop = 1, .field = PROCESS("container_pid") },
	{ "process", "PROCESS", 0, true, .groups = true, .field = PROCESS("comm") },
	{ "where", "WHERE", 0, true, .drop = 5, .format = show_where },
};

/* ---- of threads */

static double tid(const struct row_of *r)
{
	return -(double)r->thread->tid;
}

static const char *show_tid(const struct row_of *r, char buf[static CELL_MAX])
{
	snprintf(buf, CELL_MAX, "%d", r->thread->tid);
	return r->thread->tid > 0 ? buf : "";
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
	/* a program has rows of both kinds */
	if (p->ended && p->n_members && snapshot__is_grouped(r->s)) {
		snprintf(buf, CELL_MAX, "%.*s [ended]", (int)text_head(p->comm, CELL_MAX / 4), p->comm);
		return buf;
	}
	if (p->pid <= 0)
		return p->comm;
	snprintf(buf, CELL_MAX, "%.*s (%d)", (int)text_head(p->comm, CELL_MAX / 4), p->comm, p->pid);
	return buf;
}

static const struct column of_thread[] = {
	{ "calls", "CALLS", 7, .scaled = true, .field = COUNTER("alloc_calls") },
	{ "calls-rate", "CALLS/s", 7, .scaled = true, .drop = 4, .label = "Rate", .field = COUNTER("alloc_calls"), .value = calls_rate,
	  .format = show_calls_rate, .tone = rate_tone },
	{ "bytes-rate", "BYTES/s", 9, .scaled = true, .two_snapshots = true, .field = COUNTER("alloc_bytes"), .value = bytes_rate,
	  .format = show_bytes_rate, .tone = rate_tone },
	{ "bytes", "BYTES", 9, .scaled = true, .field = COUNTER("alloc_bytes") },
	{ "average", "AVG", 9, .scaled = true, .drop = 6, .mean = true, .field = COUNTER("alloc_bytes"), .over = COUNTER("alloc_calls") },
	/* which thread frees is seen where frees are */
	{ "frees", "FREES", 7, .scaled = true, .drop = 3, .needs = HAS_LIFETIMES, .field = COUNTER("free_calls") },
	{ "temporary", "TEMP", 4, .drop = 5, .field = COUNTER("temp_calls"), .over = COUNTER("alloc_calls") },
	{ "temporary-calls", "TEMPORARY", 9, .scaled = true, .two_snapshots = true, .field = COUNTER("temp_calls") },
	{ "reallocs", "REALLOC", 7, .scaled = true, .drop = 7, .label = "Reallocs", .field = COUNTER("realloc_calls") },
	{ "failed", "FAILED", 7, .two_snapshots = true, .field = COUNTER("failed_calls") },
	{ "older-frees", "OLDER FREES", 11, .two_snapshots = true, .field = COUNTER("unknown_frees") },
	{ "threads", "THREADS", 7, .value = n_threads, .format = show_n_threads },
	{ "ended", "ENDED", 7, .drop = 1, .value = n_ended, .format = show_n_ended },
	{ "tid", "TID", 7, .label = "TID", .value = tid, .format = show_tid },
	{ "thread", "THREAD", 0, true, .format = show_thread },
	{ "process", "PROCESS", 0, true, .groups = true, .drop = 2, .format = show_process },
};

/* ---- of sites */

static const char *show_oldest(const struct row_of *r, char buf[static CELL_MAX])
{
	return r->site->oldest_ns ? fmt_oldest(buf, r->site) : "-";
}

FIGURE(share_of_whole, (double)r->weight, fmt_share(buf, r->weight, r->whole))
FIGURE(peak_share, r->process->c.peak_bytes ? (double)r->site->at_peak_bytes / (double)r->process->c.peak_bytes : NAN,
       r->process->c.peak_bytes ? fmt_share(buf, r->site->at_peak_bytes, r->process->c.peak_bytes) : "-")
FIGURE(last, -(double)r->site->last_ns,
       fmt_duration(buf, r->s->duration_ns > r->site->last_ns ? r->s->duration_ns - r->site->last_ns : 0))
FIGURE(frees_rate, r->rates.frees, show_rate(r->rates.frees, buf))

static enum tone frees_rate_tone(const struct row_of *r)
{
	return r->rates.frees > 0 ? TONE_PLAIN : TONE_DIM;
}

FIGURE(lived, r->site->c.free_calls ? (double)r->site->lifetime_sum_ns / (double)r->site->c.free_calls : NAN,
       r->site->c.free_calls ? fmt_lived(buf, r->s, r->site->lifetime_sum_ns, r->site->c.free_calls) : "-")

/* Over all of the trace, with what it is per: "70,000/s" */
static const char *show_rate_of_trace(const struct row_of *r, char buf[static CELL_MAX])
{
	return fmt_rate(buf, r->site->c.alloc_calls, r->s->duration_ns);
}

static const char *show_temporary_rate(const struct row_of *r, char buf[static CELL_MAX])
{
	return fmt_rate(buf, r->site->c.temp_calls, r->s->duration_ns);
}

static const char *show_bytes_per_s(const struct row_of *r, char buf[static CELL_MAX])
{
	char a[FMT_MAX];

	if (!r->s->duration_ns)
		return "-";
	snprintf(buf, CELL_MAX, "%s/s", fmt_bytes(a, (uint64_t)((unsigned __int128)r->site->c.alloc_bytes * 1000000000 / r->s->duration_ns)));
	return buf;
}

/* A fault whose size is a guess makes the sum one. */
static const char *show_guessed(const struct row_of *r, char buf[static CELL_MAX])
{
	char a[FMT_MAX];

	snprintf(buf, CELL_MAX, "%s%s", r->site->growth == GROWTH_FAULT && r->site->guessed_calls ? "~" : "", fmt_bytes(a, r->site->c.alloc_bytes));
	return buf;
}

static const char *show_site(const struct row_of *r, char buf[static CELL_MAX])
{
	const char *kept = tellings__kept_name(r->tellings, r->s, r->site);
	_cleanup_free_ char *name = kept ? NULL : tellings__name(NULL, r->s, r->site), *fits = name ? text_shorten(name, CELL_MAX / 4) : NULL;

	if (kept)
		return kept;
	snprintf(buf, CELL_MAX, "%s", fits ? fits : "");
	return buf;
}

static enum tone unreached_tone(const struct row_of *r)
{
	return r->site->unreached_blocks ? TONE_BAD : TONE_DIM;
}

static char *fit_types(const struct row_of *r, size_t width)
{
	return heap__types_text(r->site->types, r->site->n_types, width);
}

static const char *show_types(const struct row_of *r, char buf[static CELL_MAX])
{
	return r->site->n_types ? r->site->types[0].name : "";
}

static double growth_order(const struct row_of *r)
{
	return site__growth_order(r->site);
}

static const struct column of_site[] = {
	{ "live", "LIVE", 9, .scaled = true, .field = COUNTER("live_bytes"), .older = SITE("older_bytes") },
	{ "delta", "Δ", 10, .scaled = true, .needs = LIVE, .two_snapshots = true, .value = rates__delta, .format = rates__show_delta,
	  .tone = delta_tone },
	{ "change", "CHANGE", 10, .scaled = true, .label = "Δ", .field = SITE("since_baseline_bytes") },
	{ "growth", "GROWTH/s", 10, .scaled = true, .label = "Growth", .field = SITE("growth_bytes_per_s"), .value = growth_order, .tone = row__growth_tone },
	{ "blocks", "BLOCKS", 7, .scaled = true, .field = COUNTER("live_blocks"), .older = SITE("older_blocks") },
	{ "unreached", "UNREACHABLE", 11, .tip = "Bytes of its live blocks that no pointer was found to", .any_age = true, .field = SITE("unreached_bytes"), .tone = unreached_tone },
	{ "types", "TYPES", 0, true, .tip = "What its live blocks are, of those that were looked at", .format = show_types, .fit = fit_types },
	{ "freed", "FREED", 5, .tip = "Of the blocks that it allocated", .field = COUNTER("free_calls"), .over = COUNTER("alloc_calls") },
	{ "oldest", "OLDEST", 7, .tip = "Age of the oldest live block", .field = SITE("oldest_ns"), .format = show_oldest },
	{ "verdict", "VERDICT", 8, true, .tip = COLUMN_JUDGED, .needs = LIVE, .format = show_verdict, .tone = row__verdict_tone },
	{ "calls", "CALLS", 7, .scaled = true, .field = COUNTER("alloc_calls") },
	{ "calls-rate", "CALLS/s", 7, .scaled = true, .label = "Rate", .field = COUNTER("alloc_calls"), .value = calls_rate,
	  .format = show_calls_rate, .tone = rate_tone },
	{ "most-rate", "MOST/s", 7, .scaled = true, .field = SITE("most_calls_per_s") },
	{ "bytes", "BYTES", 9, .scaled = true, .field = COUNTER("alloc_bytes") },
	{ "bytes-rate", "BYTES/s", 9, .scaled = true, .field = COUNTER("alloc_bytes"), .value = bytes_rate, .format = show_bytes_rate,
	  .tone = rate_tone },
	{ "average", "AVG", 9, .scaled = true, .label = "Average", .mean = true, .field = COUNTER("alloc_bytes"), .over = COUNTER("alloc_calls") },
	{ "temporary", "TEMP", 4, .label = "Temporary", .tip = "Freed by the same thread before its next allocation",
	  .field = COUNTER("temp_calls"), .over = COUNTER("alloc_calls") },
	{ "peak", "AT PEAK", 9, .scaled = true, .field = SITE("at_peak_bytes") },
	{ "live-error", "±", 4, .error = true, .field = ERROR("live_bytes"), .over = COUNTER("live_bytes") },
	{ "calls-error", "±", 4, .error = true, .field = ERROR("alloc_calls"), .over = COUNTER("alloc_calls") },
	{ "blocks-error", "±", 4, .error = true, .field = ERROR("live_blocks"), .over = COUNTER("live_blocks") },
	{ "bytes-error", "±", 4, .error = true, .field = ERROR("alloc_bytes"), .over = COUNTER("alloc_bytes") },
	{ "temporary-calls", "TEMP", 7, .scaled = true, .field = COUNTER("temp_calls") },
	{ "rate", "RATE", 8, .field = COUNTER("alloc_calls"), .format = show_rate_of_trace },
	{ "temporary-rate", "RATE", 8, .field = COUNTER("temp_calls"), .format = show_temporary_rate },
	{ "bytes-per-s", "RATE", 11, .field = COUNTER("alloc_bytes"), .format = show_bytes_per_s },
	{ "bytes-guessed", "BYTES", 9, .field = COUNTER("alloc_bytes"), .format = show_guessed },
	{ "smallest", "SMALLEST", 9, .field = SITE("min_size") },
	{ "largest", "LARGEST", 9, .field = SITE("max_size") },
	{ "first", "FIRST", 7, .field = SITE("first_ns") },
	{ "until", "UNTIL", 7, .field = SITE("last_ns") },
	{ "share", "SHARE", 5, .value = share_of_whole, .format = show_share_of_whole },
	{ "trend", "TREND", 8, true, .needs = LIVE, .two_snapshots = true },
	{ "peak-share", "SHARE", 5, .needs = HAS_PEAK_BYTES, .value = peak_share, .format = show_peak_share },
	{ "last", "LAST", 6, .field = SITE("last_ns"), .value = last, .format = show_last },
	{ "frees-rate", "FREES/s", 7, .two_snapshots = true, .field = COUNTER("free_calls"), .value = frees_rate, .format = show_frees_rate,
	  .tone = frees_rate_tone },
	{ "frees", "FREES", 7, .scaled = true, .field = COUNTER("free_calls") },
	{ "freed-bytes", "BYTES", 9, .scaled = true, .field = COUNTER("free_bytes") },
	{ "lived", "LIVED", 6, .tip = "Mean lifetime of freed blocks", .needs = HAS_LIFETIMES, .value = lived, .format = show_lived },
	{ "cross", "CROSS", 5, .field = SITE("cross_frees"), .over = COUNTER("free_calls") },
	{ "freed-at", "FREED AT", 26, true, .needs = HAS_LIFETIMES, .two_snapshots = true },
	{ "passed-on", "CALLS", 7, .field = MOVES("calls") },
	{ "moved", "MOVED", 5, .tip = "To another address: the block was copied", .field = MOVES("moved_calls"), .over = MOVES("calls") },
	{ "copied", "COPIED", 9, .tip = "Bytes, when it moved", .field = MOVES("moved_bytes") },
	{ "grown", "GROWN", 5, .field = MOVES("grown_calls"), .over = MOVES("calls") },
	{ "larger-by", "LARGER BY", 9, .tip = "On average, of the calls that make it larger", .mean = true,
	  .field = MOVES("grown_bytes"), .over = MOVES("grown_calls") },
	{ "small-steps", "SMALL STEPS", 11, .tip = "Of the calls that make it larger: to less than 1.5 times the size. "
	  "A buffer that grows so is copied again and again", .field = MOVES("doubled_calls"), .over = MOVES("grown_calls") },
	{ "shrunk", "SHRUNK", 6, .field = MOVES("shrunk_calls"), .over = MOVES("calls") },
	{ "longest", "LONGEST", 7, .tip = "How often one block was passed on, at most", .field = MOVES("longest") },
	{ "process", "PROCESS", 0, true, .groups = true, .format = show_process },
	{ "function", "FUNCTION", 0, true, .field = IS(site_names, "function") },
	{ "site", "SITE", 0, true, .code = true, .format = show_site },
};

const struct columns process_columns = { of_process, ARRAY_SIZE(of_process) };
const struct columns thread_columns = { of_thread, ARRAY_SIZE(of_thread) };
const struct columns site_columns = { of_site, ARRAY_SIZE(of_site) };

/* ---- tables that only a page has */

/*
 * The columns of tables that only a page has (files/html/page/): places where
 * blocks were freed, what changed between two moments that its reader chose, and
 * functions, each with what it allocates itself and with what its callees do.
 * What is no field of the schema is made by the page's script, by the column's name.
 */

static const struct column of_free_place[] = {
	{ "frees", "FREES", 7, .field = IS(free_site_fields, "calls") },
	{ "share", "SHARE", .width = 5 },
	{ "bytes", "BYTES", 9, .field = IS(free_site_fields, "bytes") },
	{ "cross", "OTHERS'", 7, .tip = "Of blocks that another thread allocated" },
	{ "lived", "LIVED", 6, .tip = "How long the blocks had lived, on average" },
	{ "threads", "THREADS", .left = true },
	{ "process", "PROCESS", .left = true },
	{ "site", "FREED AT", .left = true },
};
const struct columns free_place_columns = { of_free_place, ARRAY_SIZE(of_free_place) };

static const struct column of_change[] = {
	{ "change", "CHANGE", 10, .scaled = true },
	{ "share", "SHARE", .width = 5 },
	{ "from", "FROM", 9, .scaled = true },
	{ "to", "TO", 9, .scaled = true },
	{ "verdict", "VERDICT", 8, true, .tip = COLUMN_JUDGED },
	{ "process", "PROCESS", .left = true },
	{ "site", "SITE", .left = true },
};
const struct columns change_columns = { of_change, ARRAY_SIZE(of_change) };

#define SELF "Of the stacks that are named by it"
#define TOTAL "Of all stacks that it is in, each of them once"

/* those without TOTAL are what reports show of a function (present/sums.c) */
static const struct column of_function[] = {
	{ "live", "LIVE SELF", 9, .scaled = true, .tip = SELF, .field = IS(counter_fields, "live_bytes") },
	{ "share", "SHARE", .width = 5 },
	{ "live-total", "LIVE TOTAL", 10, .scaled = true, .needs = LIVE, .tip = TOTAL },
	{ "blocks", "BLOCKS SELF", 11, .scaled = true, .tip = SELF, .field = IS(counter_fields, "live_blocks") },
	{ "blocks-total", "BLOCKS TOTAL", 12, .scaled = true, .needs = LIVE, .tip = TOTAL },
	{ "calls", "CALLS SELF", 10, .scaled = true, .tip = SELF, .field = IS(counter_fields, "alloc_calls") },
	{ "calls-total", "CALLS TOTAL", 11, .scaled = true, .tip = TOTAL },
	{ "bytes", "BYTES", 9, .scaled = true, .tip = "Allocated, by the stacks that are named by it", .field = IS(counter_fields, "alloc_bytes") },
	{ "freed", "FREED", 5, .tip = SELF, .field = IS(counter_fields, "free_calls"), .over = IS(counter_fields, "alloc_calls") },
	{ "stacks", "STACKS", 7, .tip = "Those that are named by it" },
	{ "change", "Δ SELF", 10, .scaled = true, .needs = LIVE },
	{ "change-total", "Δ TOTAL", 10, .scaled = true, .needs = LIVE },
	{ "function", "FUNCTION", .left = true },
};
const struct columns function_columns = { of_function, ARRAY_SIZE(of_function) };
