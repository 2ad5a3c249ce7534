// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the table of views of the live view, and which columns each of them has:
 * those of reports (present/columns.c), and what only two snapshots can tell, or
 * only a screen can show.
 *
 * What always holds: a column has the same width in every row and in every
 * update; what is not known is "-".
 */
#include <string.h>

#include "model/group.h"
#include "present/figures.h"
#include "present/telling.h"
#include "present/top/top_parts.h"
#include "present/views.h"
#include "util/text.h"

#define LIVE (HAS_LIVE_BYTES | HAS_LIVE_BLOCKS)
#define ALLOCS (HAS_ALLOC_BYTES | HAS_ALLOC_CALLS)

/* ---- cells */

/* With --older, live blocks are those that are older. */
static uint64_t live_bytes(const struct top_row *r)
{
	return r->of.s->recording.older_ns ? r->of.site->older_bytes : r->of.site->c.live_bytes;
}

static uint64_t live_blocks(const struct top_row *r)
{
	return r->of.s->recording.older_ns ? r->of.site->older_blocks : r->of.site->c.live_blocks;
}

static double live_value(const struct top_row *r)
{
	return (double)live_bytes(r);
}

static const char *live_cell(const struct top_row *r, char buf[static CELL_MAX])
{
	return fmt_bytes(buf, live_bytes(r));
}

static double blocks_value(const struct top_row *r)
{
	return (double)live_blocks(r);
}

static const char *blocks_cell(const struct top_row *r, char buf[static CELL_MAX])
{
	return fmt_count(buf, live_blocks(r));
}

/* Of an estimate: how much of it one standard error is. */
static double live_error_value(const struct top_row *r)
{
	return r->of.site->c.live_bytes ? r->of.site->error.live_bytes / (double)r->of.site->c.live_bytes : r->of.site->error.live_bytes;
}

static const char *live_error_cell(const struct top_row *r, char buf[static CELL_MAX])
{
	return r->of.s->recording.older_ns ? "-" : fmt_error(buf, r->of.site->error.live_bytes, r->of.site->c.live_bytes);
}

static double calls_error_value(const struct top_row *r)
{
	return r->of.site->c.alloc_calls ? r->of.site->error.alloc_calls / (double)r->of.site->c.alloc_calls : r->of.site->error.alloc_calls;
}

static const char *calls_error_cell(const struct top_row *r, char buf[static CELL_MAX])
{
	return fmt_error(buf, r->of.site->error.alloc_calls, r->of.site->c.alloc_calls);
}

static double delta_value(const struct top_row *r)
{
	return r->delta;
}

static const char *delta_cell(const struct top_row *r, char buf[static CELL_MAX])
{
	return fmt_change(buf, r->delta);
}

static enum style delta_style(const struct top_row *r)
{
	return r->delta ? STYLE_PLAIN : STYLE_DIM;
}

static double calls_rate_value(const struct top_row *r)
{
	return r->calls_rate;
}

/* "182,400", "12.5": at most 7 */
static const char *calls_rate_cell(const struct top_row *r, char buf[static CELL_MAX])
{
	if (isnan(r->calls_rate))
		return "-";
	if (r->calls_rate > 0 && r->calls_rate < 9.95)
		snprintf(buf, CELL_MAX, "%.1f", r->calls_rate);
	else
		fmt_count(buf, (uint64_t)(r->calls_rate + 0.5));
	return buf;
}

static double bytes_rate_value(const struct top_row *r)
{
	return r->bytes_rate;
}

static const char *bytes_rate_cell(const struct top_row *r, char buf[static CELL_MAX])
{
	return isnan(r->bytes_rate) ? "-" : fmt_bytes(buf, (uint64_t)(r->bytes_rate + 0.5));
}

static enum style rate_style(const struct top_row *r)
{
	return r->calls_rate > 0 ? STYLE_PLAIN : STYLE_DIM;
}

static const struct trend *trend_of(const struct top_row *r)
{
	return r->of.site ? &r->of.site->trend : &r->of.process->trend;
}

/* A verdict and its colour; others are plain. */
static enum style verdict_style(const struct top_row *r)
{
	static const struct {
		const char *verdict;
		enum style style;
	} styles[] = {
		{ "leak", STYLE_BAD },	  { "suspect", STYLE_WARN }, { "growing", STYLE_WARN },
		{ "steady", STYLE_GOOD }, { "draining", STYLE_GOOD },
	};
	const char *verdict = trend_of(r)->verdict;

	for (size_t i = 0; verdict && i < ARRAY_SIZE(styles); i++)
		if (!strcmp(styles[i].verdict, verdict))
			return styles[i].style;
	return STYLE_DIM;
}

static enum style growth_style(const struct top_row *r)
{
	return trend_of(r)->known && trend_of(r)->growth_bytes_per_s >= 1 ? verdict_style(r) : STYLE_DIM;
}

/* The course of a site's live bytes, as far as it is kept; its share of its own highest. */
static void trend_draw(const struct top *t, const struct top_row *r, struct grid *g, int row, int col, int width)
{
	const struct snap_site *s = r->of.site;
	double v[16], max = 0;
	size_t n = MIN(s->n_history, MIN((size_t)width, ARRAY_SIZE(v)));

	for (size_t i = 0; i < n; i++) {
		v[i] = (double)s->history[n > 1 ? i * (s->n_history - 1) / (n - 1) : s->n_history - 1].live_bytes;
		max = MAX(max, v[i]);
	}
	draw_spark(g, row, col + width - (int)n, (int)n, verdict_style(r) == STYLE_DIM ? STYLE_BAR : verdict_style(r), v, n, max);
}

static void site_draw(const struct top *t, const struct top_row *r, struct grid *g, int row, int col, int width)
{
	struct frame f;
	size_t at;

	site__telling_frame(r->of.s, r->of.site, &f, &at);
	if (!f.place)
		grid__put(g, row, col, width, STYLE_DIM, "[no stack]");
	else
		top__draw_frame(g, row, col, width, &f, "", STYLE_PLAIN);
}

/* What rows are sorted by. */
static const char *site_cell(const struct top_row *r, char buf[static CELL_MAX])
{
	struct frame f;
	size_t at;

	site__telling_frame(r->of.s, r->of.site, &f, &at);
	return f.line && f.line->function ? f.line->function : f.module ? path_basename(f.module) : "";
}

static double pid_value(const struct top_row *r)
{
	return -(double)r->of.process->pid;
}

static double tid_value(const struct top_row *r)
{
	return -(double)r->thread.tid;
}

static uint64_t whole_of(const struct top_row *r, uint64_t (*of)(const struct snap_process *p))
{
	return of(r->of.process);
}

static uint64_t peak_of(const struct snap_process *p)
{
	return p->c.peak_bytes;
}

static double peak_share_value(const struct top_row *r)
{
	uint64_t whole = whole_of(r, peak_of);

	return whole ? (double)r->of.site->at_peak_bytes / (double)whole : NAN;
}

static const char *peak_share_cell(const struct top_row *r, char buf[static CELL_MAX])
{
	return whole_of(r, peak_of) ? fmt_share(buf, r->of.site->at_peak_bytes, whole_of(r, peak_of)) : "-";
}

static const char *last_cell(const struct top_row *r, char buf[static CELL_MAX])
{
	uint64_t now = r->of.s->duration_ns;

	return fmt_duration(buf, now > r->of.site->last_ns ? now - r->of.site->last_ns : 0);
}

static double last_value(const struct top_row *r)
{
	return -(double)r->of.site->last_ns;
}

static const char *thread_cell(const struct top_row *r, char buf[static CELL_MAX])
{
	snprintf(buf, CELL_MAX, "%s", r->thread.name);
	return buf;
}

/* Those of one kind fold and unfold, like the tree. */
static void thread_draw(const struct top *t, const struct top_row *r, struct grid *g, int row, int col, int width)
{
	bool any = t->threads.n < t->threads.n_members;
	int indent = (any ? 2 : 0) + (r->thread.member ? 2 : 0);

	if (r->thread.n_threads > 1)
		grid__put(g, row, col, width, STYLE_KEY, top__unfolded(t, r->id) ? "▾" : "▸");
	grid__put(g, row, col + indent, width - indent, STYLE_PLAIN, r->thread.name);
}

/* ---- the columns of each view */

#define OWN(id, head, cols, f) .name = id, .title = head, .width = cols, .value = f##_value, .format = f##_cell
#define SITE { .name = "site", .title = "SITE", .left = true, .format = site_cell, .draw = site_draw, .flexible = true }
#define PROCESS { .name = "process", .width = 22, .left = true, .drop = 1 }

static const struct top_column leak_columns[] = {
	{ OWN("live", "LIVE", 9, live), .scaled = true },
	{ OWN("error", "±", 4, live_error) },
	{ OWN("delta", "Δ", 10, delta), .scaled = true, .drop = 2, .style = delta_style },
	{ .name = "growth", .style = growth_style },
	{ .name = "trend", .title = "TREND", .width = 8, .left = true, .from_cols = 130, .drop = 9, .draw = trend_draw },
	{ OWN("blocks", "BLOCKS", 7, blocks), .scaled = true, .drop = 3 },
	{ .name = "freed", .drop = 6 },
	{ .name = "oldest", .drop = 5 },
	{ .name = "verdict", .style = verdict_style },
	PROCESS,
	SITE,
};

static const struct top_column alloc_columns[] = {
	{ OWN("calls-rate", "CALLS/s", 7, calls_rate), .scaled = true, .style = rate_style },
	{ OWN("bytes-rate", "BYTES/s", 9, bytes_rate), .scaled = true, .style = rate_style },
	{ .name = "calls", .drop = 3 },
	{ OWN("error", "±", 4, calls_error), .drop = 3 },
	{ .name = "bytes", .drop = 5 },
	{ .name = "average" },
	{ .name = "temporary" },
	PROCESS,
	SITE,
};

static const struct top_column peak_columns[] = {
	{ .name = "peak" },
	{ OWN("share", "SHARE", 5, peak_share) },
	{ .name = "live", .title = "LIVE NOW" },
	{ .name = "blocks", .drop = 3 },
	{ .name = "oldest", .drop = 5 },
	{ .name = "verdict", .drop = 4, .style = verdict_style },
	PROCESS,
	SITE,
};

static const struct top_column process_columns_[] = {
	{ .name = "live" },
	{ .name = "bytes" },
	{ OWN("delta", "Δ", 10, delta), .scaled = true, .needs = LIVE, .drop = 4, .style = delta_style },
	{ .name = "growth", .style = growth_style },
	{ OWN("calls-rate", "CALLS/s", 7, calls_rate), .scaled = true, .style = rate_style },
	{ OWN("bytes-rate", "BYTES/s", 9, bytes_rate), .scaled = true, .drop = 6, .style = rate_style },
	{ .name = "peak", .drop = 8 },
	{ .name = "rss", .drop = 2 },
	{ .name = "age", .drop = 7 },
	{ .name = "verdict", .drop = 3, .needs = LIVE, .style = verdict_style },
	{ .name = "members", .drop = 1 },
	{ .name = "pid", .value = pid_value },
	{ .name = "container-pid", .drop = 9, .from_cols = 150 },
	{ .name = "process", .width = 24, .left = true },
	{ .name = "where", .left = true, .drop = 5, .flexible = true },
};

static const struct top_column thread_columns_[] = {
	{ OWN("calls-rate", "CALLS/s", 7, calls_rate), .scaled = true, .style = rate_style },
	{ OWN("bytes-rate", "BYTES/s", 9, bytes_rate), .scaled = true, .style = rate_style },
	{ .name = "calls" },
	{ .name = "bytes", .drop = 1 },
	{ .name = "average", .drop = 4 },
	{ .name = "frees", .drop = 2 },
	{ .name = "temporary", .drop = 5 },
	{ .name = "reallocs", .drop = 7 },
	{ .name = "threads", .drop = 3 },
	{ .name = "ended", .width = 5, .drop = 6 },
	{ .name = "tid", .value = tid_value },
	{ .name = "thread", .title = "THREAD", .width = 24, .left = true, .format = thread_cell, .draw = thread_draw },
	{ .name = "process", .left = true, .flexible = true },
};

static const struct top_column growth_columns[] = {
	{ .name = "bytes" },
	{ OWN("bytes-rate", "BYTES/s", 9, bytes_rate), .scaled = true, .style = rate_style },
	{ .name = "calls" },
	{ OWN("calls-rate", "CALLS/s", 7, calls_rate), .scaled = true, .drop = 3, .style = rate_style },
	{ OWN("last", "LAST", 6, last), .drop = 4 },
	{ .name = "function", .width = 10, .left = true, .drop = 2 },
	PROCESS,
	SITE,
};

/* ---- the views */

static bool is_live(const struct snap_site *s)
{
	return s->c.live_blocks;
}

static bool was_called(const struct snap_site *s)
{
	return s->c.alloc_calls;
}

static bool was_freed(const struct snap_site *s)
{
	return s->c.free_calls;
}

static bool was_at_peak(const struct snap_site *s)
{
	return s->at_peak_bytes;
}

#define COLUMNS(v) v, ARRAY_SIZE(v)

const struct top_view top_views[] = {
	{ '1', "leaks", VIEW_LEAKS, KIND_SITES, LIVE, -1, 0, COLUMNS(leak_columns), "live", "nothing allocated while traced is live", .shows = is_live },
	{ '1', "resident", VIEW_RESIDENT | VIEW_ALLOCS, KIND_SITES, ALLOCS, 1, GROWTH_FAULT, COLUMNS(growth_columns), "bytes", "no page fault while traced", .shows = was_called },
	{ '2', "allocs", VIEW_ALLOCS | VIEW_TEMPORARY, KIND_SITES, ALLOCS, -1, 0, COLUMNS(alloc_columns), "calls-rate", "nothing was allocated while traced", .shows = was_called },
	{ '2', "mapped", VIEW_MAPPED, KIND_SITES, ALLOCS, 1, GROWTH_BRK, COLUMNS(growth_columns), "bytes", "neither brk nor mmap added memory while traced",
	  .shows = was_called },
	{ '3', "peak", VIEW_PEAK, KIND_SITES, HAS_PEAK_BYTES, -1, 0, COLUMNS(peak_columns), "peak", "nothing was live at the peak", .shows = was_at_peak },
	{ '4', "processes", VIEW_PROCESSES, KIND_PROCESSES, 0, 0, 0, COLUMNS(process_columns_), "live", "no process", .shows = NULL },
	{ '5', "threads", VIEW_THREADS, KIND_THREADS, ALLOCS, -1, 0, COLUMNS(thread_columns_), "calls-rate", "no thread has allocated while traced", .shows = NULL },
	{ '6', "sizes", VIEW_SIZES | VIEW_LIFETIMES, KIND_BARS, ALLOCS, -1, 0, NULL, 0, NULL, "nothing was allocated while traced", .shows = NULL },
	{ '7', "tags", VIEW_TAGS, KIND_TAGS, ALLOCS, 0, 0, COLUMNS(top_tag_columns), "kept", "nothing was allocated while traced", .asked = ASKED_TAGS,
	  .option = "--tag FUNC" },
	{ '8', "marks", VIEW_TAGS, KIND_MARKS, 0, 0, 0, COLUMNS(top_mark_columns), "time", "no marked function was called while traced",
	  .asked = ASKED_MARKS, .option = "--mark FUNC", .note = top__mark_note },
	{ '9', "frees", VIEW_FREES, KIND_SITES, HAS_FREE_CALLS, -1, 0, COLUMNS(top_free_columns), "frees", "no block was freed while traced", .shows = was_freed,
	  .asked = ASKED_FREES, .option = "--free-stacks" },
	{ '0', "when", 0, KIND_WHENS, 0, 0, 0, COLUMNS(top_when_columns), "last", "no condition", .asked = ASKED_WHENS,
	  .option = "--when COND" },
};
const size_t top_n_views = ARRAY_SIZE(top_views);
_Static_assert(ARRAY_SIZE(top_views) <= TOP_MAX_VIEWS, "a place for each");

static bool was_asked(const struct top *t, enum top_asked what)
{
	switch (what) {
	case ASKED_NOTHING:
		break;
	case ASKED_TAGS:
		return t->o.tagger && tagger__any(t->o.tagger);
	case ASKED_MARKS:
		return t->o.marks;
	case ASKED_FREES:
		return t->shown->recording.free_stacks;
	case ASKED_WHENS:
		return t->shown->n_whens;
	}
	return true;
}

bool top_view__there(const struct top *t, const struct top_view *v)
{
	const struct snapshot *s = t->shown;

	if (!was_asked(t, v->asked))
		return false;
	return !v->growth || (v->growth > 0) == recording__is_growth(&s->recording) ? !(v->needs & ~s->known) : false;
}

const struct column *top_column__shared(const struct top_view *v, const struct top_column *c)
{
	static const struct columns *const shared[] = {
		[KIND_SITES] = &site_columns, [KIND_PROCESSES] = &process_columns, [KIND_THREADS] = &thread_columns,
		[KIND_TAGS] = &tag_columns, [KIND_WHENS] = NULL,
	};

	if (c->format || c->draw || !shared[v->kind])
		return NULL;
	return columns__find(shared[v->kind], c->name);
}

bool top_column__holds(const struct top *t, const struct top_view *v, const struct top_column *c)
{
	const struct column *shared = top_column__shared(v, c);

	if (c->needs & ~t->shown->known || (shared && !column__holds(shared, t->shown)))
		return false;
	/* whose a row is has to be told only where there are several it could be */
	if (v->kind != KIND_PROCESSES && !strcmp(c->name, "process"))
		return t->shown->n_processes > 1 && !t->scope;
	if (v->kind == KIND_THREADS && !strcmp(c->name, "threads"))
		return t->threads.n < t->threads.n_members;
	if (!strcmp(c->name, "error"))
		return t->shown->estimated;
	if (!strcmp(c->name, "members"))
		return snapshot__is_grouped(t->shown);
	return true;
}

double top_column__value(const struct top_view *v, const struct top_column *c, const struct top_row *r)
{
	const struct column *shared = top_column__shared(v, c);

	if (c->value)
		return c->value(r);
	return shared && shared->value ? shared->value(&r->of) : NAN;
}

/* ---- what to begin with */

/* The columns of --sort; a view without that one keeps its own order. */
static const struct {
	const char *sort, *column;
} sorts[] = {
	{ "live-bytes", "live" }, { "live-blocks", "blocks" },	     { "alloc-bytes", "bytes" }, { "alloc-calls", "calls" },
	{ "peak-bytes", "peak" }, { "temp-calls", "temporary" }, { "oldest", "oldest" },
};

static void sort_at_first(struct top *t, size_t view, const char *column)
{
	for (size_t i = 0; i < top_views[view].n_columns; i++)
		if (!strcmp(top_views[view].columns[i].name, column)) {
			t->at[view].sort = i;
			t->at[view].sorted = true;
		}
}

void top__choose_first(struct top *t)
{
	for (size_t k = 0; t->o.sort && k < ARRAY_SIZE(sorts); k++)
		for (size_t i = 0; i < top_n_views && !strcmp(sorts[k].sort, t->o.sort); i++)
			sort_at_first(t, i, sorts[k].column);
	if (!t->o.sort && t->o.views & VIEW_TEMPORARY && !(t->o.views & VIEW_ALLOCS))
		for (size_t i = 0; i < top_n_views; i++)
			if (top_views[i].bits & VIEW_TEMPORARY)
				sort_at_first(t, i, "temporary");
	for (size_t i = 0; i < top_n_views; i++)
		if (t->o.views & top_views[i].bits && top_view__there(t, &top_views[i])) {
			t->view = i;
			return;
		}
	if (t->o.views & VIEW_TREE)
		t->pane = PANE_TREE;
}
