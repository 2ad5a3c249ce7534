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
#include "present/caveats.h"
#include "present/figures.h"
#include "present/frames.h"
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
#define COLUMN_JUDGED "Where its live bytes are going, and why it is judged so"
#define CELL(name, what) static void name(const struct row_of *r, struct cell *c) { what; }

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

static enum tone verdict_tone(const struct row_of *r)
{
	const char *verdict = trend_of(r)->verdict;

	for (size_t i = 0; verdict && i < n_verdict_words; i++)
		if (!strcmp(verdict_words[i].name, verdict))
			return verdict_words[i].tone;
	return TONE_DIM;
}

static enum tone growth_tone(const struct row_of *r)
{
	return trend_of(r)->known && trend_of(r)->growth_bytes_per_s >= 1 ? verdict_tone(r) : TONE_DIM;
}

/* Whatever allocates just now. */
static enum tone rate_tone(const struct row_of *r)
{
	return !r->has_rates || r->rates.calls > 0 ? TONE_PLAIN : TONE_DIM;
}

CELL(calls_now, cell__rate(c, r->rates.calls))
CELL(change_now, cell__change(c, r->rates.delta))

static void delta(const struct row_of *r, struct cell *c)
{
	cell__change(c, r->rates.delta);
	c->tone = r->rates.delta ? TONE_PLAIN : TONE_DIM;
}

/* The title says per what: "70,000", "0.3" */
static void calls_rate(const struct row_of *r, struct cell *c)
{
	uint64_t calls = counters_of(r)->alloc_calls;
	size_t len;

	c->tone = rate_tone(r);
	if (r->has_rates) {
		cell__rate(c, r->rates.calls);
		return;
	}
	c->sort = per_second(r, calls);
	c->text = fmt_rate(c->buf, calls, process__traced_ns(r->s, r->process));
	len = strlen(c->buf);
	if (len > 2)
		c->buf[len - 2] = 0;
}

static void bytes_rate(const struct row_of *r, struct cell *c)
{
	double rate = r->has_rates ? r->rates.bytes + 0.5 : per_second(r, counters_of(r)->alloc_bytes);

	if (isnan(rate))
		cell__unknown(c);
	else
		cell__bytes(c, rate >= 0x1p63 ? UINT64_MAX : (uint64_t)rate);
	c->sort = r->has_rates ? r->rates.bytes : rate;
	c->tone = rate_tone(r);
}

static void verdict(const struct row_of *r, struct cell *c)
{
	bool of_process = !r->site && !r->sum;

	c->tone = verdict_tone(r);
	/* whatever it did, it does no more */
	if (of_process && r->process->ended)
		c->text = death__word(r->process, c->buf);
	else if (trend_of(r)->verdict)
		c->text = trend_of(r)->verdict;
	else	/* why there is none: its live figures are not known */
		c->text = of_process && r->process->n_heaps_unread && r->process->n_members < 2 ? "not read" : "-";
}

/* ---- of processes */

static void growth(const struct row_of *r, struct cell *c)
{
	cell__change(c, process__growth(r->process));
	c->tone = growth_tone(r);
}

static void rss(const struct row_of *r, struct cell *c)
{
	if (r->process->ended)
		cell__unknown(c);
	else
		cell__bytes(c, r->process->rss_bytes);
	if (!r->process->rss_bytes)
		c->text = "-";
}

static void rss_change(const struct row_of *r, struct cell *c)
{
	struct rss_trend t = rss_trend__of(r->process);

	cell__change(c, t.known ? (double)t.sum_bytes : NAN);
	c->tone = growth_tone(r);
}

static void age(const struct row_of *r, struct cell *c)
{
	uint64_t ns = process__age_ns(r->s, r->process);

	if (ns)
		cell__duration(c, ns);
	else
		cell__unknown(c);
}

static void members(const struct row_of *r, struct cell *c)
{
	c->text = snapshot__is_grouped(r->s) || r->process->n_members > 1 ? fmt_count(c->buf, r->process->n_members) : "";
}

static void where(const struct row_of *r, struct cell *c)
{
	const struct snap_process *p = r->process;
	const char *is = process__where(p, c->buf);

	/* --by cgroup: the name says it */
	c->text = is && !(p->cgroup && !strcmp(p->cgroup, p->comm)) ? is : "";
}

static const struct column of_process[] = {
	{ "live", "LIVE", 9, .scaled = true, .field = COUNTER("live_bytes") },
	{ "bytes", "BYTES", 9, .scaled = true, .without = LIVE, .field = COUNTER("alloc_bytes") },
	{ "calls", "CALLS", 7, .scaled = true, .without = LIVE, .drop = 4, .field = COUNTER("alloc_calls") },
	{ "delta", "Δ", 10, .scaled = true, .needs = LIVE, .two_snapshots = true, .cell = delta },
	{ "change", "CHANGE", 10, .scaled = true, .field = PROCESS("since_baseline_bytes") },
	{ "growth", "GROWTH/s", 10, .scaled = true, .label = "Growth", .field = PROCESS("growth_bytes_per_s"), .cell = growth },
	{ "blocks", "BLOCKS", 7, .scaled = true, .drop = 7, .field = COUNTER("live_blocks") },
	{ "calls-rate", "CALLS/s", 7, .scaled = true, .drop = 3, .field = COUNTER("alloc_calls"), .cell = calls_rate },
	{ "bytes-rate", "BYTES/s", 9, .scaled = true, .drop = 8, .field = COUNTER("alloc_bytes"), .cell = bytes_rate },
	{ "peak", "PEAK", 9, .scaled = true, .drop = 9, .field = COUNTER("peak_bytes") },
	{ "rss", "RSS", 9, .drop = 2, .label = "RSS", .field = PROCESS("rss_bytes"), .cell = rss },
	{ "rss-change", "RSS CHANGE", 10, .drop = 1, .tip = "Of resident memory, since the trace began", .cell = rss_change },
	{ "age", "AGE", 6, .drop = 6, .cell = age },
	{ "lost", "LOST", 7, .two_snapshots = true, .field = PROCESS("lost_blocks") },
	{ "attached", "ATTACHED", 8, .two_snapshots = true, .tip = "How long after its start", .field = PROCESS("age_at_attach_ns") },
	{ "verdict", "VERDICT", 8, true, .tip = COLUMN_JUDGED, .cell = verdict },
	{ "members", "PROCS", 7, .field = PROCESS("members"), .cell = members },
	{ "pid", "PID", 7, .field = PROCESS("pid") },
	{ "container-pid", "NSPID", 7, .drop = 1, .field = PROCESS("container_pid") },
	{ "process", "PROCESS", 0, true, .groups = true, .field = PROCESS("comm") },
	{ "where", "WHERE", 0, true, .drop = 5, .cell = where },
};

/* ---- of threads */

static void tid(const struct row_of *r, struct cell *c)
{
	c->sort = -(double)r->thread->tid;
	if (r->thread->tid <= 0)
		return;
	snprintf(c->buf, CELL_MAX, "%d", r->thread->tid);
	c->text = c->buf;
}

static void n_threads(const struct row_of *r, struct cell *c)
{
	const struct thread_row *t = r->thread;

	c->sort = t->n_threads;
	if (t->n_threads > 1 || t->stands_for)
		c->text = fmt_count(c->buf, MAX(t->n_threads, t->stands_for));
}

static void n_ended(const struct row_of *r, struct cell *c)
{
	const struct thread_row *t = r->thread;

	cell__count(c, t->n_ended);
	if (!t->n_ended || t->n_threads == 1)
		c->text = t->n_ended ? "yes" : "";
}

static void thread(const struct row_of *r, struct cell *c)
{
	const struct thread_row *t = r->thread;

	snprintf(c->buf, CELL_MAX, "  %.*s", (int)text_head(t->name, CELL_MAX / 4 - 2), t->name);
	c->text = t->member ? c->buf : t->name;
}

static void process(const struct row_of *r, struct cell *c)
{
	const struct snap_process *p = r->process;
	int len = (int)text_head(p->comm, CELL_MAX / 4);

	if (r->s->n_processes < 2)
		return;
	c->text = c->buf;
	/* a program has rows of both kinds */
	if (p->ended && p->n_members && snapshot__is_grouped(r->s))
		snprintf(c->buf, CELL_MAX, "%.*s [ended]", len, p->comm);
	else if (p->pid > 0)
		snprintf(c->buf, CELL_MAX, "%.*s (%d)", len, p->comm, p->pid);
	else
		c->text = p->comm;
}

static const struct column of_thread[] = {
	{ "calls", "CALLS", 7, .scaled = true, .field = COUNTER("alloc_calls") },
	{ "calls-rate", "CALLS/s", 7, .scaled = true, .drop = 4, .label = "Rate", .field = COUNTER("alloc_calls"), .cell = calls_rate },
	{ "bytes-rate", "BYTES/s", 9, .scaled = true, .two_snapshots = true, .field = COUNTER("alloc_bytes"), .cell = bytes_rate },
	{ "bytes", "BYTES", 9, .scaled = true, .field = COUNTER("alloc_bytes") },
	{ "average", "AVG", 9, .scaled = true, .drop = 6, .mean = true, .field = COUNTER("alloc_bytes"), .over = COUNTER("alloc_calls") },
	/* which thread frees is seen where frees are */
	{ "frees", "FREES", 7, .scaled = true, .drop = 3, .needs = HAS_LIFETIMES, .field = COUNTER("free_calls") },
	{ "temporary", "TEMP", 4, .drop = 5, .field = COUNTER("temp_calls"), .over = COUNTER("alloc_calls") },
	{ "temporary-calls", "TEMPORARY", 9, .scaled = true, .two_snapshots = true, .field = COUNTER("temp_calls") },
	{ "reallocs", "REALLOC", 7, .scaled = true, .drop = 7, .label = "Reallocs", .field = COUNTER("realloc_calls") },
	{ "failed", "FAILED", 7, .two_snapshots = true, .field = COUNTER("failed_calls") },
	{ "older-frees", "OLDER FREES", 11, .two_snapshots = true, .field = COUNTER("unknown_frees") },
	{ "threads", "THREADS", 7, .cell = n_threads },
	{ "ended", "ENDED", 7, .drop = 1, .cell = n_ended },
	{ "tid", "TID", 7, .label = "TID", .cell = tid },
	{ "thread", "THREAD", 0, true, .cell = thread },
	{ "process", "PROCESS", 0, true, .groups = true, .drop = 2, .cell = process },
};

/* ---- of sites */

CELL(oldest, c->text = r->site->oldest_ns ? fmt_oldest(c->buf, r->site) : "-")
CELL(share_of_whole, cell__share(c, r->weight, r->whole))

static void site_growth(const struct row_of *r, struct cell *c)
{
	c->sort = site__growth_order(r->site);
	c->tone = growth_tone(r);
}

static void peak_share(const struct row_of *r, struct cell *c)
{
	uint64_t peak = r->process->c.peak_bytes;

	if (!peak) {
		cell__unknown(c);
		return;
	}
	cell__share(c, r->site->at_peak_bytes, peak);
	c->sort /= (double)peak;
}

static void last(const struct row_of *r, struct cell *c)
{
	cell__duration(c, r->s->duration_ns > r->site->last_ns ? r->s->duration_ns - r->site->last_ns : 0);
	c->sort = -(double)r->site->last_ns;
}

static void frees_rate(const struct row_of *r, struct cell *c)
{
	cell__rate(c, r->rates.frees);
	c->tone = r->rates.frees > 0 ? TONE_PLAIN : TONE_DIM;
}

static void lived(const struct row_of *r, struct cell *c)
{
	uint64_t sum_ns = r->site->lifetime_sum_ns, n = r->site->c.free_calls;

	cell__unknown(c);
	if (!n)
		return;
	c->sort = (double)sum_ns / (double)n;
	c->text = fmt_lived(c->buf, r->s, sum_ns, n);
}

/* Over all of the trace, with what it is per: "70,000/s" */
CELL(rate_of_trace, c->text = fmt_rate(c->buf, r->site->c.alloc_calls, r->s->duration_ns))
CELL(temporary_rate, c->text = fmt_rate(c->buf, r->site->c.temp_calls, r->s->duration_ns))

static void bytes_per_s(const struct row_of *r, struct cell *c)
{
	unsigned __int128 bytes = r->site->c.alloc_bytes;

	c->text = "-";
	if (!r->s->duration_ns)
		return;
	snprintf(c->buf, CELL_MAX, "%s/s", BYTES((uint64_t)(bytes * 1000000000 / r->s->duration_ns)));
	c->text = c->buf;
}

/* A fault whose size is a guess makes the sum one. */
static void guessed(const struct row_of *r, struct cell *c)
{
	cell__bytes(c, r->site->c.alloc_bytes);
	if (r->site->growth == GROWTH_FAULT && r->site->guessed_calls)
		cell__mark(c);
}

static void site(const struct row_of *r, struct cell *c)
{
	const char *kept = tellings__kept_name(r->tellings, r->s, r->site);
	_cleanup_free_ char *name = kept ? NULL : tellings__name(NULL, r->s, r->site), *fits = name ? text_shorten(name, CELL_MAX / 4) : NULL;

	snprintf(c->buf, CELL_MAX, "%s", fits ? fits : "");
	c->text = kept ? kept : c->buf;
}

/* Where the frame is that names it. */
static void site_where(const struct row_of *r, struct cell *c)
{
	struct frame f = tellings__of(r->tellings, r->s, r->site);
	_cleanup_free_ char *is = f.place ? frame__where_short(&f, r->process->exe, CELL_MAX / 2) : NULL;

	snprintf(c->buf, CELL_MAX, "%s", is ? is : "");
	c->text = c->buf;
}

CELL(unreached, c->tone = r->site->unreached_blocks ? TONE_BAD : TONE_DIM)
CELL(types, c->text = r->site->n_types ? r->site->types[0].name : "")

static char *fit_types(const struct row_of *r, size_t width)
{
	return heap__types_text(r->site->types, r->site->n_types, width);
}

static const struct column of_site[] = {
	{ "live", "LIVE", 9, .scaled = true, .field = COUNTER("live_bytes"), .older = SITE("older_bytes") },
	{ "live-now", "LIVE NOW", 9, .scaled = true, .field = COUNTER("live_bytes") },
	{ "delta", "Δ", 10, .scaled = true, .needs = LIVE, .two_snapshots = true, .cell = delta },
	{ "change", "CHANGE", 10, .scaled = true, .label = "Δ", .field = SITE("since_baseline_bytes") },
	{ "growth", "GROWTH/s", 10, .scaled = true, .label = "Growth", .field = SITE("growth_bytes_per_s"), .cell = site_growth },
	{ "blocks", "BLOCKS", 7, .scaled = true, .field = COUNTER("live_blocks"), .older = SITE("older_blocks") },
	{ "unreached", "UNREACHABLE", 11, .tip = "Bytes of its live blocks that no pointer was found to", .any_age = true, .field = SITE("unreached_bytes"), .cell = unreached },
	{ "types", "TYPES", 0, true, .tip = "What its live blocks are, of those that were looked at", .cell = types, .fit = fit_types },
	{ "freed", "FREED", 5, .tip = "Of the blocks that it allocated", .field = COUNTER("free_calls"), .over = COUNTER("alloc_calls") },
	{ "oldest", "OLDEST", 7, .tip = "Age of the oldest live block", .field = SITE("oldest_ns"), .cell = oldest },
	{ "verdict", "VERDICT", 8, true, .tip = COLUMN_JUDGED, .needs = LIVE, .cell = verdict },
	{ "calls", "CALLS", 7, .scaled = true, .field = COUNTER("alloc_calls") },
	{ "calls-rate", "CALLS/s", 7, .scaled = true, .label = "Rate", .field = COUNTER("alloc_calls"), .cell = calls_rate },
	{ "most-rate", "MOST/s", 7, .scaled = true, .field = SITE("most_calls_per_s") },
	{ "bytes", "BYTES", 9, .scaled = true, .field = COUNTER("alloc_bytes") },
	{ "bytes-rate", "BYTES/s", 9, .scaled = true, .field = COUNTER("alloc_bytes"), .cell = bytes_rate },
	{ "average", "AVG", 9, .scaled = true, .label = "Average", .mean = true, .field = COUNTER("alloc_bytes"), .over = COUNTER("alloc_calls") },
	{ "temporary", "TEMP", 4, .label = "Temporary", .tip = "Freed by the same thread before its next allocation",
	  .field = COUNTER("temp_calls"), .over = COUNTER("alloc_calls") },
	{ "peak", "AT PEAK", 9, .scaled = true, .field = SITE("at_peak_bytes") },
	{ "live-error", "±", 4, .error = true, .field = ERROR("live_bytes"), .over = COUNTER("live_bytes") },
	{ "calls-error", "±", 4, .error = true, .field = ERROR("alloc_calls"), .over = COUNTER("alloc_calls") },
	{ "blocks-error", "±", 4, .error = true, .field = ERROR("live_blocks"), .over = COUNTER("live_blocks") },
	{ "bytes-error", "±", 4, .error = true, .field = ERROR("alloc_bytes"), .over = COUNTER("alloc_bytes") },
	{ "temporary-calls", "TEMP", 7, .scaled = true, .field = COUNTER("temp_calls") },
	{ "rate", "RATE", 8, .field = COUNTER("alloc_calls"), .cell = rate_of_trace },
	{ "temporary-rate", "RATE", 8, .field = COUNTER("temp_calls"), .cell = temporary_rate },
	{ "bytes-per-s", "RATE", 11, .field = COUNTER("alloc_bytes"), .cell = bytes_per_s },
	{ "bytes-guessed", "BYTES", 9, .field = COUNTER("alloc_bytes"), .cell = guessed },
	{ "smallest", "SMALLEST", 9, .field = SITE("min_size") },
	{ "largest", "LARGEST", 9, .field = SITE("max_size") },
	{ "first", "FIRST", 7, .field = SITE("first_ns") },
	{ "until", "UNTIL", 7, .field = SITE("last_ns") },
	{ "share", "SHARE", 5, .cell = share_of_whole },
	{ "trend", "TREND", 8, true, .needs = LIVE, .two_snapshots = true },
	{ "peak-share", "SHARE", 5, .needs = HAS_PEAK_BYTES, .cell = peak_share },
	{ "last", "LAST", 6, .field = SITE("last_ns"), .cell = last },
	{ "frees-rate", "FREES/s", 7, .two_snapshots = true, .field = COUNTER("free_calls"), .cell = frees_rate },
	{ "frees", "FREES", 7, .scaled = true, .field = COUNTER("free_calls") },
	{ "freed-bytes", "BYTES", 9, .scaled = true, .field = COUNTER("free_bytes") },
	{ "lived", "LIVED", 6, .tip = "Mean lifetime of freed blocks", .needs = HAS_LIFETIMES, .cell = lived },
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
	{ "process", "PROCESS", 0, true, .groups = true, .cell = process },
	{ "function", "FUNCTION", 0, true, .field = IS(site_names, "function") },
	{ "site", "SITE", 0, true, .code = true, .cell = site },
	{ "where", "", 0, true, .cell = site_where },
};

const struct columns process_columns = { of_process, ARRAY_SIZE(of_process) };
const struct columns thread_columns = { of_thread, ARRAY_SIZE(of_thread) };
const struct columns site_columns = { of_site, ARRAY_SIZE(of_site) };

/* ---- of sums of sites */

CELL(stacks, cell__count(c, r->sum->sum.n_sites))
CELL(sum_share, cell__share(c, r->sum->weight, r->sum->whole))
CELL(sum_name, c->text = r->sum->key.name)
CELL(sum_module, c->text = r->sum->key.is_script ? path_tail(r->sum->key.module) : path_basename(r->sum->key.module))
CELL(total, cell__bytes(c, r->sum->total))

static void sum_oldest(const struct row_of *r, struct cell *c)
{
	cell__unknown(c);
	if (!r->sum->oldest)
		return;
	c->sort = (double)r->sum->oldest->oldest_ns;
	c->text = fmt_oldest(c->buf, r->sum->oldest);
}

static void sum_growth(const struct row_of *r, struct cell *c)
{
	cell__change(c, r->sum->trend.known ? r->sum->trend.growth_bytes_per_s : NAN);
	c->tone = growth_tone(r);
}

#define SUM_FIGURES \
	{ "live", "LIVE", 9, .scaled = true, .field = COUNTER("live_bytes") }, \
	{ "total", "TOTAL", 9, .scaled = true, .drop = 1, .tip = "Of all stacks that go through it", .cell = total }, \
	{ "share", "SHARE", 5, .drop = 9, .cell = sum_share }, \
	{ "delta", "Δ", 10, .scaled = true, .needs = LIVE, .two_snapshots = true, .cell = change_now }, \
	{ "growth", "GROWTH/s", 10, .scaled = true, .drop = 4, .needs = LIVE, .cell = sum_growth }, \
	{ "blocks", "BLOCKS", 7, .scaled = true, .drop = 2, .field = COUNTER("live_blocks") }, \
	{ "calls-rate", "CALLS/s", 7, .scaled = true, .needs = HAS_ALLOC_CALLS, .two_snapshots = true, .cell = calls_now }, \
	{ "calls", "CALLS", 7, .scaled = true, .drop = 8, .field = COUNTER("alloc_calls") }, \
	{ "bytes", "BYTES", 9, .scaled = true, .without = LIVE, .field = COUNTER("alloc_bytes") }, \
	{ "freed", "FREED", 5, .drop = 3, .field = COUNTER("free_calls"), .over = COUNTER("alloc_calls") }, \
	{ "oldest", "OLDEST", 7, .needs = HAS_LIVE_BLOCKS, .drop = 10, .cell = sum_oldest }, \
	{ "verdict", "VERDICT", 8, true, .needs = LIVE, .drop = 5, .cell = verdict }, \
	{ "stacks", "STACKS", 7, .drop = 7, .cell = stacks }

static const struct column of_sum[] = {
	SUM_FIGURES,
	{ "function", "FUNCTION", 0, true, .cell = sum_name },
	{ "module", "MODULE", 0, true, .drop = 6, .cell = sum_module },
};
const struct columns sum_columns = { of_sum, ARRAY_SIZE(of_sum) };

static const struct column of_file[] = {
	SUM_FIGURES,
	{ "file", "FILE", 0, true, .cell = sum_name },
	{ "module", "MODULE", 0, true, .drop = 6, .cell = sum_module },
};
const struct columns file_columns = { of_file, ARRAY_SIZE(of_file) };

static const struct column of_module[] = {
	SUM_FIGURES,
	{ "path", "MODULE", 0, true, .cell = sum_name },
};
const struct columns module_columns = { of_module, ARRAY_SIZE(of_module) };

/* ---- of tags */

static void entered(const struct row_of *r, struct cell *c)
{
	if (r->tag->entered == UINT64_MAX)
		cell__unknown(c);
	else
		cell__count(c, r->tag->entered);
}

/* What each call of the function takes: "3.0", "<0.1", "1.2 KiB"; unit: "" or " B" */
static void each(const struct tag_row *t, uint64_t n, const char *unit, struct cell *c)
{
	double per = t->entered && t->entered != UINT64_MAX ? (double)n / (double)t->entered : NAN;

	c->sort = per;
	c->text = c->buf;
	if (isnan(per))
		c->text = "-";
	else if (!n || per >= 9.95)
		(*unit ? fmt_bytes : fmt_count)(c->buf, (uint64_t)llround(per));
	else if (per < 0.05)
		snprintf(c->buf, CELL_MAX, "<0.1%s", unit);
	else
		snprintf(c->buf, CELL_MAX, "%u.%u%s", (unsigned int)(per * 10 + 0.5) / 10, (unsigned int)(per * 10 + 0.5) % 10, unit);
}

CELL(allocs_each, each(r->tag, r->tag->sum.c.alloc_calls, "", c))
CELL(bytes_each, each(r->tag, r->tag->sum.c.alloc_bytes, " B", c))
CELL(kept_each, each(r->tag, r->tag->sum.c.live_bytes, " B", c))
CELL(tag_share, cell__share(c, r->tag->weight, r->tag->whole))
CELL(tag_name, c->text = r->tag->name)

static const struct column of_tag[] = {
	{ "entered", "CALLED", 7, .label = "Entered", .tip = "How often the function was called", .cell = entered },
	{ "allocs", "ALLOCS", 7, .scaled = true, .label = "Allocations", .field = COUNTER("alloc_calls") },
	{ "allocs-each", "/CALL", 7, .scaled = true, .drop = 2, .label = "Allocs a call",
	  .tip = "Allocations for each call of the function", .field = COUNTER("alloc_calls"), .cell = allocs_each },
	{ "allocs-rate", "ALLOCS/s", 8, .scaled = true, .needs = HAS_ALLOC_CALLS, .two_snapshots = true, .cell = calls_now },
	{ "bytes", "BYTES", 9, .scaled = true, .field = COUNTER("alloc_bytes") },
	{ "bytes-each", "/CALL", 9, .scaled = true, .drop = 1, .label = "Bytes a call",
	  .tip = "Bytes allocated for each call of the function", .field = COUNTER("alloc_bytes"), .cell = bytes_each },
	{ "kept", "KEPT", 9, .scaled = true, .tip = "Live bytes", .field = COUNTER("live_bytes") },
	{ "kept-each", "/CALL", 9, .scaled = true, .label = "Kept a call",
	  .tip = "Live bytes for each call of the function", .field = COUNTER("live_bytes"), .cell = kept_each },
	{ "delta", "Δ", 10, .scaled = true, .needs = LIVE, .two_snapshots = true, .cell = change_now },
	{ "blocks", "BLOCKS", 7, .scaled = true, .drop = 4, .field = COUNTER("live_blocks") },
	{ "share", "SHARE", 5, .drop = 3, .cell = tag_share },
	{ "tag", "TAG", 0, true, .cell = tag_name },
};
const struct columns tag_columns = { of_tag, ARRAY_SIZE(of_tag) };

/* ---- of marks: figures are those since the mark before that has figures, too */

#define MARK(key) IS(mark_fields, key)
#define SINCE "Since the mark before"

static void since_then(const struct row_of *r, struct cell *c)
{
	cell__duration(c, r->s->duration_ns - MIN(r->mark->t_ns, r->s->duration_ns));
	c->sort = (double)r->mark->t_ns;
}

static void mark_process(const struct row_of *r, struct cell *c)
{
	snprintf(c->buf, CELL_MAX, "%.40s (%d)", r->process->comm, (int)r->process->pid);
	c->text = c->buf;
}

static const struct column of_mark[] = {
	{ "time", "AGO", 7, .label = "At", .field = MARK("t_ns"), .cell = since_then },
	{ "number", "#", 7, .field = MARK("number") },
	{ "since", "SINCE", 7, .since = true, .field = MARK("t_ns") },
	{ "allocs", "ALLOCS", 7, .scaled = true, .label = "Allocations", .tip = SINCE, .since = true, .field = MARK("alloc_calls") },
	{ "bytes", "BYTES", 9, .scaled = true, .tip = SINCE, .since = true, .field = MARK("alloc_bytes") },
	{ "change", "LIVE Δ", 10, .scaled = true, .label = "Δ live", .tip = SINCE, .since = true, .unit = UNIT_CHANGE, .field = MARK("all_live_bytes") },
	{ "live", "LIVE", 9, .scaled = true, .tip = "Of its process", .field = MARK("live_bytes") },
	{ "tid", "TID", 7, .label = "TID", .field = MARK("tid") },
	{ "compare", "", 7, true, .label = "Since the one before" },
	{ "process", "PROCESS", 22, true, .groups = true, .cell = mark_process },
	{ "mark", "MARK", 14, true, .field = MARK("name") },
};
const struct columns mark_columns = { of_mark, ARRAY_SIZE(of_mark) };

/* ---- of conditions */

static void fired(const struct row_of *r, struct cell *c)
{
	cell__count(c, r->when->fired);
	c->tone = r->when->fired ? TONE_WARN : TONE_DIM;
}

static void last_fired(const struct row_of *r, struct cell *c)
{
	cell__unknown(c);
	c->tone = TONE_DIM;
	if (!r->when->fired)
		return;
	cell__duration(c, r->s->duration_ns - MIN(r->when->last_ns, r->s->duration_ns));
	c->sort = (double)r->when->last_ns;
	c->tone = TONE_WARN;
}

CELL(condition, c->text = r->when->text)
CELL(why, c->text = r->when->why ? r->when->why : "not met yet")

static const struct column of_when[] = {
	{ "fired", "FIRED", 7, .cell = fired },
	{ "last", "LAST", 7, .cell = last_fired },
	{ "condition", "CONDITION", 20, true, .cell = condition },
	{ "why", "WHAT IT SAID", 0, true, .cell = why },
};
const struct columns when_columns = { of_when, ARRAY_SIZE(of_when) };

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

/* those without TOTAL are what reports show of a function */
static const struct column of_function[] = {
	{ "live", "LIVE SELF", 9, .scaled = true, .tip = SELF, .field = COUNTER("live_bytes") },
	{ "share", "SHARE", .width = 5 },
	{ "live-total", "LIVE TOTAL", 10, .scaled = true, .needs = LIVE, .tip = TOTAL },
	{ "blocks", "BLOCKS SELF", 11, .scaled = true, .tip = SELF, .field = COUNTER("live_blocks") },
	{ "blocks-total", "BLOCKS TOTAL", 12, .scaled = true, .needs = LIVE, .tip = TOTAL },
	{ "calls", "CALLS SELF", 10, .scaled = true, .tip = SELF, .field = COUNTER("alloc_calls") },
	{ "calls-total", "CALLS TOTAL", 11, .scaled = true, .tip = TOTAL },
	{ "bytes", "BYTES", 9, .scaled = true, .tip = "Allocated, by the stacks that are named by it", .field = COUNTER("alloc_bytes") },
	{ "freed", "FREED", 5, .tip = SELF, .field = COUNTER("free_calls"), .over = COUNTER("alloc_calls") },
	{ "stacks", "STACKS", 7, .tip = "Those that are named by it" },
	{ "change", "Δ SELF", 10, .scaled = true, .needs = LIVE },
	{ "change-total", "Δ TOTAL", 10, .scaled = true, .needs = LIVE },
	{ "function", "FUNCTION", .left = true },
};
const struct columns function_columns = { of_function, ARRAY_SIZE(of_function) };
