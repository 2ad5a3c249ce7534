// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns what stands above and below the live view's tables:
 *
 *	redis-server (1432)  up 3d04h  traced 2m14s, from 3d04h after its start          malloctrace 0.1.0
 *	live   41.2 MiB  +182.0 KiB/s ▁▂▂▃▃▄▄▅▅▆▆▇   RSS   96.0 MiB  +190.0 KiB/s ▁▂▂▃▃▄▄▅▅▆▆▇
 *	calls   182.4k/s alloc   181.2k/s free    14.1 MiB/s   cost  ~4.1% CPU                losses none
 *	─[1 live]─ 2 allocs ─ 3 peak ─ 4 processes ─ 5 threads ─ 6 sizes ──── 14 by LIVE ↓ ─
 *
 * What always holds: each figure has its place and its width, whatever it is;
 * losses have a line of their own as soon as there are any, in a colour that
 * nothing else has.
 */
#include <math.h>
#include <string.h>

#include "model/rss_trend.h"
#include "present/top/top_parts.h"

#define RATE_COLS 12		/* "+182.0 KiB/s" */
#define NOW " now"		/* since the last snapshot: rows say how they grow in the whole trace */
#define NOW_FROM 80		/* columns: from here on that is said */
#define BYTES_COLS 9
#define SPARK_MIN 4
#define SPARK_MAX 40
#define LIST_COLS 24		/* what is listed, beside all tabs */

/* ---- sums of what is in sight */

struct sums {
	struct counters c;
	uint64_t rss;
	struct seen before;
	struct top_cost cost;
	bool rates;		/* the snapshot before is known */
	double seconds;		/* since then */
	uint64_t swap, used, used_first;	/* with RSS: what is in swap, and in huge pages; now, and when the trace began */
	size_t n_running, n;
};

static void sum_up(const struct top *t, struct sums *r)
{
	const struct snapshot *s = t->shown;
	struct ended ended;

	*r = (struct sums){ .cost = top__cost(s), .rates = t->before.holds && s->duration_ns > t->before.t_ns };
	r->seconds = r->rates ? (double)(s->duration_ns - t->before.t_ns) / TOP_NS_PER_S : 0;
	for (size_t i = 0; i < s->n_processes; i++) {
		const struct snap_process *p = &s->processes[i];
		const struct seen *b = seen__find(&t->before, top__process_row_id(p));

		if (t->scope && p->id != t->scope)
			continue;
		r->n += process__n(s, p);
		r->n_running += process__n(s, p) - process__n_ended(s, p);
		counters__add(&r->c, &p->c);
		r->rss += p->ended ? 0 : p->rss_bytes;
		r->swap += p->ended ? 0 : p->swap_bytes;
		r->used += p->ended ? 0 : process__used_bytes(p);
		r->used_first += p->ended ? 0 : process__used_at_attach(p);
		/* one that came since has begun with nothing */
		if (t->scope && b)
			r->before = *b;
		if (t->scope && top__has_moved(t, p))
			r->rates = false;
	}
	/* also what is in another row now */
	if (!t->scope)
		r->before = t->before.all;
	if (ended__sum(s, top__scope_process(t), &ended)) {
		r->c.live_bytes -= MIN(ended.live_bytes, r->c.live_bytes);
		r->before.c.live_bytes -= MIN(r->before.ended_bytes, r->before.c.live_bytes);
	}
}

static double per_second(const struct sums *s, uint64_t now, uint64_t before)
{
	return s->rates && s->seconds > 0 ? ((double)now - (double)before) / s->seconds : NAN;
}

/* ---- pieces */

static int put(struct grid *g, int row, int *col, int width, enum style style, const char *text)
{
	grid__put(g, row, *col, width, style, text);
	*col += width;
	return *col;
}

static void put_right(struct grid *g, int row, int *col, int width, enum style style, const char *text)
{
	grid__put_right(g, row, *col, width, style, text);
	*col += width;
}

static const char *change_text(char buf[static CELL_MAX], double per_s)
{
	if (isnan(per_s))
		return "-";
	snprintf(buf, CELL_MAX, "%.*s/s", CELL_MAX - 3, CHANGE(per_s));
	return buf;
}

static const char *rate_text(char buf[static CELL_MAX], double per_s)
{
	if (isnan(per_s))
		return "-";
	if (per_s > 0 && per_s < 9.95)
		snprintf(buf, CELL_MAX, "%.1f/s", per_s);
	else
		snprintf(buf, CELL_MAX, "%s/s", COUNT(per_s > 0 ? (uint64_t)(per_s + 0.5) : 0));
	return buf;
}

/* ---- the lines */

/* "mode count", "estimated", and so on: what changes how figures are to be read. */
static void caveats(const struct top *t, char *buf, size_t size)
{
	const struct snapshot *s = t->shown;
	char observed[3 * FMT_MAX];
	int n = 0;

	*buf = 0;
	if (s->recording.mode != MT_MODE_FULL)
		n += snprintf(buf + n, size - n, "  --mode %s", mode__name(s->recording.mode));
	if (s->reading.at_ns && s->duration_ns > s->reading.at_ns && n < (int)size)
		n += snprintf(buf + n, size - n, ", heap read %s ago", DURATION(s->duration_ns - s->reading.at_ns));
	if (s->reading.exact_asked && n < (int)size)
		n += snprintf(buf + n, size - n, ", %sexact", s->reading.unsure_blocks || s->reading.n_unread ? "not " : "");
	if (s->recording.sample_bytes && n < (int)size)
		n += snprintf(buf + n, size - n, "  ~ one sample per %s", BYTES(s->recording.sample_bytes));
	if (s->observed_share < 1 && n < (int)size)
		n += snprintf(buf + n, size - n, "  ~ %s", observed__words(s, observed));
	if (unmet__words(s) && n < (int)size)
		n += snprintf(buf + n, size - n, "; %s", unmet__words(s));
	for (size_t i = 0; i < n_recording_flags; i++)
		if (recording__has(&s->recording, &recording_flags[i]) && n < (int)size)
			n += snprintf(buf + n, size - n, "  %s", recording_flags[i].option);
	if (s->recording.older_ns && n < (int)size)
		n += snprintf(buf + n, size - n, "  blocks older than %s", DURATION(s->recording.older_ns));
	if (s->recording.within && n < (int)size)
		n += snprintf(buf + n, size - n, "  only inside of %s", s->recording.within);
	if (recording__has_size_range(&s->recording) && n < (int)size)
		snprintf(buf + n, size - n, "  not all sizes");
}

/* A part of the title, and how much it matters: where a screen is too narrow the highest goes first, 0 stays. */
struct piece {
	char text[256];
	enum style style;
	unsigned int drop;
};

static void put_pieces(struct grid *g, int row, int room, struct piece *v, size_t n)
{
	int col = 0;

	for (unsigned int drop = 9; drop; drop--) {
		int cols = 0;

		for (size_t i = 0; i < n; i++)
			cols += (int)text_width(v[i].text);
		for (size_t i = 0; i < n && cols > room; i++)
			if (v[i].drop == drop)
				*v[i].text = 0;
	}
	for (size_t i = 0; i < n; i++)
		col += grid__put(g, row, col, room - col, v[i].style, v[i].text);
}

static void process_title(const struct top *t, const struct snap_process *p, struct grid *g, int row, int room)
{
	struct piece v[] = { { .style = STYLE_TITLE }, { .style = STYLE_PLAIN, .drop = 3 }, { .style = STYLE_PLAIN, .drop = 1 },
			     { .style = STYLE_WARN, .drop = 2 }, { .style = STYLE_DIM, .drop = 4 }, { .style = STYLE_DIM, .drop = 5 } };
	/* of several processes in a row, heaps are not added up */
	const struct snap_heap *heap = p->n_members > 1 ? NULL : snapshot__heap_of(t->shown, (uint32_t)(p - t->shown->processes));
	uint64_t age = process__age_ns(t->shown, p);

	process__name(t->shown, p, v[0].text);
	if (p->ended) {
		snprintf(v[1].text, sizeof(v[1].text), "  %s", DEATH(p));
		v[1].style = STYLE_BAD;
		v[1].drop = 0;
	} else if (p->n_members > 1) {
		snprintf(v[1].text, sizeof(v[1].text), ", %s running", EXACT(process__n(t->shown, p) - process__n_ended(t->shown, p)));
	} else if (age) {
		snprintf(v[1].text, sizeof(v[1].text), "  up %s", DURATION(age));
	}
	snprintf(v[2].text, sizeof(v[2].text), "  traced %s", DURATION(t->shown->duration_ns));
	caveats(t, v[3].text, sizeof(v[3].text));
	/* several began at times of their own */
	if (p->n_members > 1)
		*v[4].text = 0;
	else if (p->age_at_attach_ns)
		snprintf(v[4].text, sizeof(v[4].text), "  from %s after its start", DURATION(p->age_at_attach_ns));
	else
		snprintf(v[4].text, sizeof(v[4].text), "  from its first instruction");
	if (heap && heap->older_known)
		snprintf(v[5].text, sizeof(v[5].text), "; %s in %s block%s older", BYTES(heap->older_bytes), EXACT(heap->older_blocks),
			 heap->older_blocks == 1 ? " is" : "s are");
	put_pieces(g, row, room, v, ARRAY_SIZE(v));
}

static void processes_title(const struct top *t, struct grid *g, int row, int room)
{
	struct piece v[] = { { .style = STYLE_TITLE, .drop = 4 }, { .style = STYLE_PLAIN }, { .style = STYLE_PLAIN, .drop = 3 },
			     { .style = STYLE_PLAIN, .drop = 1 }, { .style = STYLE_WARN, .drop = 2 } };
	struct sums sum;

	sum_up(t, &sum);
	snprintf(v[0].text, sizeof(v[0].text), "%.200s  ", t->shown->host ? t->shown->host : "malloctrace");
	snprintf(v[1].text, sizeof(v[1].text), "%zu processes", sum.n);
	snprintf(v[2].text, sizeof(v[2].text), ", %zu running", sum.n_running);
	snprintf(v[3].text, sizeof(v[3].text), "  traced %s", DURATION(t->shown->duration_ns));
	caveats(t, v[4].text, sizeof(v[4].text));
	put_pieces(g, row, room, v, ARRAY_SIZE(v));
}

static void title_line(const struct top *t, struct grid *g, int row)
{
	const struct snap_process *p = top__scope_process(t);
	const char *frozen = g->cols < 60 ? " FROZEN " : " FROZEN: space goes on ";
	char right[128];
	int right_cols;

	snprintf(right, sizeof(right), "malloctrace %s", t->shown->version ? t->shown->version : "");
	if (t->frozen)
		snprintf(right, sizeof(right), "%s", frozen);
	right_cols = t->frozen || g->cols >= 100 ? (int)text_width(right) : 0;
	if (p)
		process_title(t, p, g, row, g->cols - (right_cols ? right_cols + 2 : 0));
	else
		processes_title(t, g, row, g->cols - (right_cols ? right_cols + 2 : 0));
	if (right_cols)
		grid__put(g, row, MAX(g->cols - right_cols, 0), right_cols, t->frozen ? STYLE_LOSS : STYLE_DIM, right);
}

/* One figure with its change and its course: "live   41.2 MiB  +182.0 KiB/s ▁▂▂▃▃▄▄" */
static void figure(const struct top *t, struct grid *g, int row, int *col, const char *label, int label_cols, uint64_t bytes,
		   double per_s, int spark, point_figure of)
{
	bool marked = t->shown->estimated && of == point__live;
	char a[CELL_MAX], b[CELL_MAX + 1];
	int now = g->cols >= NOW_FROM ? (int)strlen(NOW) : 0;

	put(g, row, col, label_cols, STYLE_LABEL, label);
	snprintf(b, sizeof(b), "%s%s", marked ? "~" : "",
		 marked && !bytes && isinf(t->shown->error.live_bytes) ? "?" : fmt_bytes(a, bytes));
	put_right(g, row, col, BYTES_COLS + marked, STYLE_FIGURE, b);
	/* half a figure tells something else */
	if (*col + RATE_COLS + 1 + now <= g->cols) {
		grid__put_right(g, row, *col, RATE_COLS + 1, per_s >= 1 ? STYLE_WARN : STYLE_DIM, change_text(a, per_s));
		grid__put(g, row, *col + RATE_COLS + 1, now, STYLE_DIM, now && !isnan(per_s) ? NOW : "");
	}
	*col += RATE_COLS + 2 + now;
	if (spark >= SPARK_MIN)
		top__draw_course(t, g, row, *col, spark, of);
	*col += spark >= SPARK_MIN ? spark : 0;
}

/* "heap 79.0 MiB of 90.0 MiB mapped": of one process that runs, some seconds old */
static void heap_text(const struct top *t, char *buf, size_t size)
{
	const struct snap_process *p = top__scope_process(t);

	*buf = 0;
	if (p && !p->ended && p->memory.known && p->memory.heap_mapped)
		snprintf(buf, size, "heap %s%s of %s mapped", p->memory.heap_estimated ? "~" : "", BYTES(p->memory.heap_resident), BYTES(p->memory.heap_mapped));
}

/* Behind three blanks, or not at all. */
static void put_whole(struct grid *g, int row, int *col, const char *text)
{
	if (*text && *col + 3 + (int)strlen(text) <= g->cols)
		*col += 3 + grid__put(g, row, *col + 3, g->cols - *col - 3, STYLE_DIM, text);
}

static void memory_line(const struct top *t, struct grid *g, int row, const struct sums *s)
{
	bool live = t->shown->known & HAS_LIVE_BYTES;
	int now = g->cols >= NOW_FROM ? 2 * (int)strlen(NOW) : 0;
	int fixed = 6 + 5 + 2 * (BYTES_COLS + RATE_COLS + 2) + now + 3 + t->shown->estimated, col = 0;
	int spark = MIN((g->cols - fixed) / 2, SPARK_MAX);
	double grown = (double)s->used - (double)s->used_first;
	char text[4 * FMT_MAX];

	if (live)
		figure(t, g, row, &col, "live", 6, s->c.live_bytes, per_second(s, s->c.live_bytes, s->before.c.live_bytes), spark, point__live);
	else
		figure(t, g, row, &col, recording__is_growth(&t->shown->recording) ? "grown" : "alloc", 6, s->c.alloc_bytes,
		       per_second(s, s->c.alloc_bytes, s->before.c.alloc_bytes), 0, point__live);
	col += spark >= SPARK_MIN ? 3 : 1;
	if (col + 5 + BYTES_COLS > g->cols)
		return;
	figure(t, g, row, &col, "RSS", 5, s->rss, per_second(s, s->rss, s->before.rss_bytes), spark, point__rss);
	/* what was allocated and kept since the trace began, of what the process grew by since then */
	*text = 0;
	if (live && grown >= 1 << 20 && s->used_first && !t->shown->recording.older_ns)
		snprintf(text, sizeof(text), "%s of its growth explained", PERCENT(MIN(s->c.live_bytes, (uint64_t)grown), (uint64_t)grown));
	put_whole(g, row, &col, text);
	*text = 0;
	if (s->swap)
		snprintf(text, sizeof(text), "swap %s", BYTES(s->swap));
	put_whole(g, row, &col, text);
	heap_text(t, text, sizeof(text));
	put_whole(g, row, &col, text);
}

/* "cost  ~31% CPU (--overhead 5 limits it)": the advice where there are so many columns and it matters. Does it? */
static bool cost_text(const struct top *t, const struct sums *s, char *buf, size_t size, int room)
{
	const struct top_cost *now = &s->cost, *before = &t->cost_before;
	uint64_t cpu = now->target_cpu_ns - before->target_cpu_ns, probes = now->probe_ns - before->probe_ns;
	char a[CELL_MAX], share[CELL_MAX + 1], advice[32] = "";
	bool matters;
	int n;

	if (!now->probe_ns || !cpu || now->target_cpu_ns < before->target_cpu_ns || now->probe_ns < before->probe_ns) {
		snprintf(buf, size, "probes %9s", rate_text(a, per_second(s, now->hits, before->hits)));
		return false;
	}
	probes = MIN(probes, cpu);
	matters = cost__pct(probes, cpu) >= COST_SAID_PCT;
	if (matters)
		snprintf(share, sizeof(share), "~%.0f%%", cost__pct(probes, cpu));
	else
		snprintf(share, sizeof(share), "~%s", fmt_share(a, probes, cpu));
	if (matters && cost__can_be_bounded(t->shown))
		snprintf(advice, sizeof(advice), " (--overhead %d limits it)", COST_SAID_PCT);
	n = snprintf(buf, size, "cost %6s CPU%s", share, advice);
	if (n > room)
		snprintf(buf, size, "cost %6s CPU", share);
	return matters;
}

static void calls_line(const struct top *t, struct grid *g, int row, const struct sums *s)
{
	char a[CELL_MAX], text[2 * CELL_MAX];
	int col = 0, end;
	bool costly;

	if (t->shown->losses_total)
		snprintf(text, sizeof(text), "LOSSES %s", EXACT(t->shown->losses_total));
	else if (blind__n(t->shown))
		snprintf(text, sizeof(text), "BLIND");
	else if (unexplained__most(t->shown))
		snprintf(text, sizeof(text), "UNSEEN %s", BYTES(unexplained__most(t->shown)->memory.unexplained_bytes));
	else
		snprintf(text, sizeof(text), "losses none");
	end = g->cols - (int)strlen(text);
	grid__put(g, row, end, g->cols - end, t->shown->losses_total || blind__n(t->shown) || unexplained__most(t->shown) ? STYLE_LOSS : STYLE_GOOD, text);
	end -= 2;
	put(g, row, &col, 6, STYLE_LABEL, recording__is_growth(&t->shown->recording) ? "events" : "calls");
	put_right(g, row, &col, 9, STYLE_FIGURE,
		  rate_text(a, per_second(s, s->c.alloc_calls, s->before.c.alloc_calls)));
	put(g, row, &col, 6, STYLE_LABEL, recording__is_growth(&t->shown->recording) ? "" : " alloc");
	if (t->shown->known & HAS_LIFETIMES && col + 15 <= end) {
		put_right(g, row, &col, 10, STYLE_FIGURE, rate_text(a, per_second(s, s->c.free_calls, s->before.c.free_calls)));
		put(g, row, &col, 5, STYLE_LABEL, " free");
	}
	if (col + 12 <= end) {
		double rate = per_second(s, s->c.alloc_bytes, s->before.c.alloc_bytes);

		if (isnan(rate))
			snprintf(text, sizeof(text), "-");
		else
			snprintf(text, sizeof(text), "%s/s", BYTES(rate > 0 ? (uint64_t)(rate + 0.5) : 0));
		put_right(g, row, &col, 12, STYLE_FIGURE, text);
	}
	costly = cost_text(t, s, text, sizeof(text), end - col - 3);
	if (col + 3 + (int)strlen(text) <= end) {
		col += 3;
		put(g, row, &col, (int)strlen(text), costly ? STYLE_WARN : STYLE_DIM, text);
	}
	snprintf(text, sizeof(text), "malloctrace %5s of a CPU",
		 s->rates ? SHARE(MAX(s->cost.tool_cpu_ns, t->cost_before.tool_cpu_ns) - t->cost_before.tool_cpu_ns,
				      (uint64_t)(s->seconds * TOP_NS_PER_S)) : "-");
	if (col + 3 + (int)strlen(text) <= end) {
		col += 3;
		put(g, row, &col, (int)strlen(text), STYLE_DIM, text);
	}
}

/* " LOSSES 1,204 blocks found no room (--max-live N for more); 7 stacks …: the figures are not exact" */
static void loss_line(const struct top *t, struct grid *g, int row)
{
	const struct snapshot *s = t->shown;
	char text[4096];
	size_t n = 0;

	grid__fill(g, row, 0, g->cols, STYLE_LOSS, ' ');
	for (size_t i = 0; i < s->n_losses && n < sizeof(text); i++)
		if (s->losses[i].n)
			n += snprintf(text + n, sizeof(text) - n, "%s%s %s", n ? "; " : "LOST: ", EXACT(s->losses[i].n), s->losses[i].says);
	clauses__put(g, row, 1, STYLE_LOSS, n ? text : "");
}

/* " shopd (1432): no allocation seen; possible allocator: …" */
static void blind_line(const struct top *t, struct grid *g, int row)
{
	const struct snap_process *p = blind__first(t->shown);
	const char *name = PROCESS_NAME(t->shown, p);

	grid__fill(g, row, 0, g->cols, STYLE_LOSS, ' ');
	/* what to do about it is worth the most where there is not room for all */
	if (p->blind.candidates)
		clauses__putf(g, row, 1, STYLE_LOSS, "%s: no allocation seen; possible allocator: %s", name, p->blind.candidates);
	else
		clauses__putf(g, row, 1, STYLE_LOSS, "%s: no allocation seen%s; probed: %s", name, BLIND_RAN(p),
			      p->blind.probed ? p->blind.probed : "");
}

/* " sh started 3 processes that were not traced: add -f" */
static void unfollowed_line(struct grid *g, int row, const char *words)
{
	grid__fill(g, row, 0, g->cols, STYLE_WARN, ' ');
	clauses__put(g, row, 1, STYLE_WARN, words);
}

/* " hider (1432) grew by 150.0 MiB, and the calls that were seen explain 20.0 MiB of it: ..." */
static void unexplained_line(const struct top *t, struct grid *g, int row)
{
	const struct snap_process *p = unexplained__most(t->shown);

	grid__fill(g, row, 0, g->cols, STYLE_LOSS, ' ');
	clauses__putf(g, row, 1, STYLE_LOSS, "%s %s", PROCESS_NAME(t->shown, p), UNEXPLAINED(p));
}

/* ---- the line of tabs */

/* How much of the tabs there is room for; of the one at hand it is all, always. */
enum tabs { TABS_ROOMY, TABS_NAMES, TABS_KEYS, TABS_KEYS_DENSE, TABS_ONE };

static bool is_on(const struct top *t, size_t i)
{
	return i == t->view && t->pane != PANE_TREE;
}

/* At the right of the tabs. */
enum list_words { LIST_ALL, LIST_SHORT, LIST_LEAST, LIST_ORDER };
#define SEARCHED_MAX (FMT_MAX + 32)

static bool has_tab(const struct top *t, size_t i, enum tabs how)
{
	/* letters, as t for the tree, have a tab while they are shown; the heap also where all of them have room */
	bool always = t->views[i]->live.key >= '0' && t->views[i]->live.key <= '9';
	bool roomy = t->views[i]->bit == VIEW_HEAP && how == TABS_ROOMY && !top__is_heap(top__view(t));

	return top__has_view(t, t->views[i]) && ((always && how != TABS_ONE) || roomy || is_on(t, i));
}

/* With the rule behind it. */
static int tab_cols(const struct top *t, size_t i, enum tabs how)
{
	if (is_on(t, i) || how <= TABS_NAMES)
		return (int)strlen(t->views[i]->name) + 5;
	return how == TABS_KEYS ? 4 : 2;
}

static void put_tab(struct top *t, struct grid *g, int row, int *col, size_t i, enum tabs how)
{
	const struct view *v = t->views[i];
	int from = *col, key = v->live.beside ? view__of(v->live.beside)->live.key : v->live.key;

	if (is_on(t, i))
		*col += grid__putf(g, row, *col, g->cols - *col, STYLE_TAB, "[%c %s]", key, v->name);
	else if (how == TABS_KEYS)
		*col += grid__putf(g, row, *col, g->cols - *col, STYLE_PLAIN, " %c ", v->live.key);
	else if (how == TABS_KEYS_DENSE)
		*col += grid__putf(g, row, *col, g->cols - *col, STYLE_PLAIN, "%c", v->live.key);
	else
		*col += grid__putf(g, row, *col, g->cols - *col, STYLE_PLAIN, " %c %s ", v->live.key, v->name);
	if (t->n_tabs < ARRAY_SIZE(t->tabs)) {
		t->tabs[t->n_tabs].from = from;
		t->tabs[t->n_tabs].end = *col;
		t->tabs[t->n_tabs++].view = i;
	}
}

/* Of a table with UNREACHED: how old that is, which would be taken for now. More words where there is room. */
static void searched_text(const struct top *t, char buf[static SEARCHED_MAX], enum list_words how)
{
	const struct view *v = top__view(t);
	const struct column *c = columns__find(view__columns(v), "unreached");
	char ago[FMT_MAX];
	uint64_t ns;

	*buf = 0;
	/* of a heap it stands above the table */
	if (!c || how == LIST_ORDER || t->pane != PANE_TABLE || top__is_heap(v) || !view__has_column(t, v, c) || !top__searched_ago(t, &ns))
		return;
	fmt_duration(ago, ns);
	if (how == LIST_ALL)
		snprintf(buf, SEARCHED_MAX, "─ searched %s ago, u: again ", ago);
	else
		snprintf(buf, SEARCHED_MAX, how == LIST_LEAST ? " u %s ago " : " searched %s ago ", ago);
}

/* What is listed, from when changes count, and how old a search is: the most that there is room for. */
static void list_text(const struct top *t, char *buf, size_t size, enum list_words how)
{
	const struct columns *columns = view__columns(top__view(t));
	const struct column *c = columns->n ? &columns->v[t->at[t->view].sort] : NULL;
	const char *sorted = c ? column__title(c, t->shown) : "";
	char delta[FMT_MAX + 32] = "", searched[SEARCHED_MAX];

	*buf = 0;
	searched_text(t, searched, how);
	if (t->shown->baseline)
		snprintf(delta, sizeof(delta), "─ Δ since %s ago ",
			 DURATION(t->shown->duration_ns - MIN(t->shown->baseline_ns, t->shown->duration_ns)));
	if (t->pane == PANE_TREE)
		snprintf(buf, size, " %s, %s first ", t->metric->name, t->order == TREE_CALLERS ? "callers" : "callees");
	else if (c && how == LIST_ALL)
		snprintf(buf, size, " %zu by %s %s %s%s", t->rows.n, sorted, t->at[t->view].reverse ? "↑" : "↓", delta, searched);
	else if (*searched)
		snprintf(buf, size, "%s", searched);
	else if (c)
		snprintf(buf, size, " %s %s ", sorted, t->at[t->view].reverse ? "↑" : "↓");
}

/* A path is known by its end. */
static const char *only_words(const struct top *t)
{
	return path_basename(*t->only_sum.name == '[' && *t->only_sum.module ? t->only_sum.module : t->only_sum.name);
}

static enum tabs tabs_for(const struct top *t, int room)
{
	enum tabs how = TABS_ROOMY;

	/* what is not shown has to be told */
	if (*t->only_tag)
		room -= MIN((int)text_width(t->only_tag) + 6, 34);
	if (t->only_sum.view)
		room -= MIN((int)text_width(only_words(t)) + 5, 34);
	if (*t->filter)
		room -= MIN((int)text_width(t->filter) + 3, 34);
	if (t->pane == PANE_TREE)
		room -= (int)strlen("[tree]") + 1;
	for (; how < TABS_ONE; how++) {
		int cols = 1;

		for (size_t i = 0; i < t->n_views; i++)
			cols += has_tab(t, i, how) ? tab_cols(t, i, how) : 0;
		if (cols <= room - (how == TABS_ROOMY ? LIST_COLS : 0))
			break;
	}
	return how;
}

static void tabs_line(struct top *t, struct grid *g, int row)
{
	char right[256];
	enum tabs how = tabs_for(t, g->cols);
	int col = 1, from;

	t->tabs_row = row;
	t->n_tabs = 0;
	grid__fill(g, row, 0, g->cols, STYLE_RULE, 0x2500);
	for (size_t i = 0; i < t->n_views; i++)
		if (has_tab(t, i, how)) {
			put_tab(t, g, row, &col, i, how);
			col++;
		}
	if (t->pane == PANE_TREE)
		col += grid__put(g, row, col, g->cols - col, STYLE_TAB, "[tree]") + 1;
	if (*t->only_tag)
		col += grid__putf(g, row, col, MIN(g->cols - col, 32), STYLE_MATCH, "tag %s", t->only_tag) + 1;
	if (t->only_sum.view)
		col += grid__putf(g, row, col, MIN(g->cols - col, 32), STYLE_MATCH, "in %s", only_words(t)) + 1;
	if (*t->filter)
		col += grid__putf(g, row, col, MIN(g->cols - col, 32), STYLE_MATCH, "/%s", t->filter) + 1;
	for (enum list_words how_much = LIST_ALL; how_much <= LIST_ORDER; how_much++) {
		list_text(t, right, sizeof(right), how_much);
		from = g->cols - (int)text_width(right) - 1;
		if (from < col)
			continue;
		grid__put(g, row, from, g->cols - from, STYLE_DIM, right);
		break;
	}
}

/* "ended 3, held 117.2 MiB when they did: worker 117.2 MiB" */
static void ended_line(struct grid *g, int row, const char *ended)
{
	int col = 0;

	put(g, row, &col, 6, STYLE_LABEL, "ended");
	clauses__put(g, row, col, STYLE_DIM, ended);
}

/* "memory 23.5 GiB, 22.9 GiB available, …   ended 112, held 12.3 MiB when they did: cc1 9.1 MiB" */
static void machine_line(const struct top *t, struct grid *g, int row, const char *ended)
{
	const struct snap_machine *m = &t->shown->machine;
	bool tight = m->available_bytes < m->total_bytes / 10;
	_cleanup_free_ char *memory = machine__words(t->shown);
	int col = 0;

	put(g, row, &col, 6, STYLE_LABEL, "memory");
	col += 1 + clauses__put(g, row, col + 1, tight ? STYLE_WARN : STYLE_PLAIN, memory ? memory : "");
	if (ended && col + 3 + (int)strlen("ended 112, held 12.3 MiB when they did") <= g->cols)
		clauses__putf(g, row, col + 3, STYLE_DIM, "ended %s", ended);
}

int top__draw_header(struct top *t, struct grid *g)
{
	_cleanup_free_ char *ended = ended__words(t->shown, top__scope_process(t)), *unfollowed = unfollowed__words(t->shown);
	struct sums s;
	int row = 3;

	sum_up(t, &s);
	title_line(t, g, 0);
	memory_line(t, g, 1, &s);
	calls_line(t, g, 2, &s);
	if (t->shown->machine.known && !t->scope)
		machine_line(t, g, row++, ended);
	else if (ended)
		ended_line(g, row++, ended);
	if (t->shown->losses_total)
		loss_line(t, g, row++);
	if (unfollowed)
		unfollowed_line(g, row++, unfollowed);
	if (blind__n(t->shown))
		blind_line(t, g, row++);
	if (unexplained__most(t->shown))
		unexplained_line(t, g, row++);
	tabs_line(t, g, row++);
	return row;
}
