// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the verdicts: what is measured, what counts as a sign, and which signs make
 * which verdict (rules[], of which the first that holds is taken).
 * docs/VERDICTS.md describes the same with an example for each.
 *
 * What always holds: a verdict follows from the evidence alone, so that a recorded
 * history gives the same one for ever; without enough of it there is none; and each
 * comes with the figures that it rests on.
 *
 * Why floors
 *   What a site holds swings: requests come and go, queues fill and drain. What
 *   leaks does not swing, it lies underneath. So the time is cut into windows and
 *   the least that was held in each, its floor, is examined: it rises with what
 *   stays, and hardly at all with what comes and goes.
 *
 * Why increments, and not a line through the points
 *   The errors of a line's slope are worth something if the points scatter
 *   independently around it. Live bytes do not: a queue's length is nearer to a
 *   random walk, which looks like a trend over any stretch of time, with a high
 *   significance. Its increments from window to window are independent, though.
 *   So growth is believed if the increments' mean is many standard errors above
 *   zero (Student's t, 0.1% for each side), and all thirds of the time agree.
 *   The rate that is reported is the median of the slopes between any two windows
 *   (Theil and Sen): a step or an outlier does not move it.
 *
 * Why a hundred mean lifetimes
 *   Of a site's freed blocks the mean lifetime is known, not the distribution.
 *   Whatever it is, at most 1% of them lived for a hundred times the mean or more
 *   (Markov). A live block of that age is older than 99% of its freed siblings.
 *   And in a state that lasts, a site holds its rate of allocation times that mean
 *   (Little): where it holds more, or grows without being called more often, some
 *   of its blocks are not of the kind that is freed.
 *
 * Why blocks
 *   A block takes room whatever was requested: a leak of malloc(0) has no live bytes.
 *   Where that room is more than what was requested, the course of blocks is judged
 *   as well, and the worse verdict holds. Rates in bytes are those of requested bytes.
 *
 * What the trace cannot see
 *   A process that was there before the trace frees blocks of which nothing is
 *   known, not even whose they were. A cache that has been full for a week looks
 *   as if it grew, until the blocks that it frees are those that were seen: as
 *   long as many older ones are freed, nothing is called a leak. Where as many are
 *   freed as a site has allocated, and RSS does not grow, nothing is known of it.
 */
#include "model/judge.h"

#include <math.h>
#include <string.h>

#include "model/judge_parts.h"
#include "model/merge.h"
#include "util/util.h"

#define N_QUARTERS 4
#define EVEN 0.75
#define REPLACED_PART 10	/* one in so many more or less is the same number */

/* ---- what is measured */

/* Student's t for 0.1%, by degrees of freedom */
static const double t_needed[MAX_WINDOWS] = {
	INFINITY, 318.3, 22.33, 10.21, 7.173, 5.893, 5.208, 4.785, 4.501, 4.297, 4.144, 4.025,
};

static double call_rate(const struct evidence *e, size_t from, size_t to)
{
	const struct course_point *a = &e->points[from], *b = &e->points[to];

	return to > from ? ((double)b->alloc_calls - (double)a->alloc_calls) / ((double)(b->t_ns - a->t_ns) / 1e9) : 0;
}

/*
 * Of many points, windows of the same length. Of few, a window for each: they do not come at even
 * times, and lengths would leave windows empty. A point that follows another closely, as that of
 * the last report does, belongs to its window.
 */
static bool begins_window(const struct evidence *e, size_t first, size_t i, double *began_s)
{
	const struct course_point *p = e->points;
	size_t n = e->n_points - first;
	double from_s = (double)p[first].t_ns / 1e9, t_s = (double)p[i].t_ns / 1e9, span_s = (double)p[e->n_points - 1].t_ns / 1e9 - from_s;
	double at_s = t_s;

	if (n > MAX_WINDOWS)
		at_s = from_s + MIN(floor((t_s - from_s) / span_s * MAX_WINDOWS), MAX_WINDOWS - 1.0) * span_s / MAX_WINDOWS;
	/* half of the time from one point to the next, or of a window */
	if (i > first && at_s - *began_s < span_s / (double)MIN(n, (size_t)MAX_WINDOWS) / 2)
		return false;
	*began_s = at_s;
	return true;
}

static void fill_windows(struct shape *w, const struct evidence *e, size_t first)
{
	const struct course_point *p = e->points;
	double from_s = (double)p[first].t_ns / 1e9, began_s = 0;
	size_t last;

	w->span_s = (double)(p[e->n_points - 1].t_ns - p[first].t_ns) / 1e9;
	w->low = INFINITY;
	for (size_t i = first; i < e->n_points; i++) {
		double low = (double)p[i].low_bytes;

		w->low = MIN(w->low, low);
		w->high = MAX(w->high, (double)p[i].high_bytes);
		if (w->n < MAX_WINDOWS && begins_window(e, first, i, &began_s))
			w->floor[w->n++] = INFINITY;
		if (low < w->floor[w->n - 1]) {
			w->floor[w->n - 1] = low;
			w->t_s[w->n - 1] = (double)p[i].low_ns / 1e9;
		}
	}
	for (size_t i = 0; i < first; i++)
		w->high_before = MAX(w->high_before, (double)p[i].low_bytes);
	for (last = first; (double)p[last].t_ns / 1e9 < from_s + w->span_s / 2;)
		last++;
	w->busier = call_rate(e, last, e->n_points - 1) > 1.25 * call_rate(e, first, last);
	while (last + 2 < e->n_points &&
	       (double)p[last].t_ns / 1e9 < from_s + w->span_s * (MAX_WINDOWS - 1) / MAX_WINDOWS)
		last++;
	w->alloc_rate = call_rate(e, last, e->n_points - 1);
}

COMPARATOR(compare_doubles, double, ORDER(*a, *b))

static double median_slope(const struct shape *w, size_t from)
{
	double slopes[MAX_WINDOWS * (MAX_WINDOWS - 1) / 2];
	size_t n = 0;

	for (size_t i = from; i < w->n; i++)
		for (size_t k = i + 1; k < w->n; k++)
			slopes[n++] = (w->floor[k] - w->floor[i]) / (w->t_s[k] - w->t_s[i]);
	qsort(slopes, n, sizeof(*slopes), compare_doubles);
	return n % 2 ? slopes[n / 2] : (slopes[n / 2 - 1] + slopes[n / 2]) / 2;
}

static void measure_increments(struct shape *w)
{
	size_t n = w->n - 1;
	double sum = 0, squares = 0;

	for (size_t i = 0; i < n; i++) {
		double rate = (w->floor[i + 1] - w->floor[i]) / (w->t_s[i + 1] - w->t_s[i]);

		sum += rate;
		w->path += fabs(w->floor[i + 1] - w->floor[i]);
		w->n_up += rate > 0;
		w->n_down += rate < 0;
	}
	for (size_t i = 0; i < n; i++) {
		double rate = (w->floor[i + 1] - w->floor[i]) / (w->t_s[i + 1] - w->t_s[i]);

		squares += (rate - sum / (double)n) * (rate - sum / (double)n);
	}
	w->t_needed = t_needed[n - 1];
	/* all of them the same, as far as numbers show */
	if (squares <= sum * sum * 1e-18)
		w->t = sum > 0 ? INFINITY : sum < 0 ? -INFINITY : 0;
	else
		w->t = sum / (double)n / sqrt(squares / (double)(n - 1) / (double)n);
	for (size_t k = 0; k < N_THIRDS; k++) {
		size_t a = n * k / N_THIRDS, b = n * (k + 1) / N_THIRDS;

		w->third[k] = (w->floor[b] - w->floor[a]) / (w->t_s[b] - w->t_s[a]);
	}
}

static struct shape measure(const struct evidence *e, size_t first)
{
	struct shape w = {};

	if (e->n_points - first < MIN_WINDOWS)
		return w;
	fill_windows(&w, e, first);
	if (w.n < MIN_WINDOWS)
		return w;
	measure_increments(&w);
	return w;
}

/* ---- signs */

enum sign {
	YOUNG = 1 << 0,		/* too few points, of a site that appeared while others were watched */
	RISES = 1 << 1,
	FALLS = 1 << 2,
	SLOWS = 1 << 3,		/* rises, but in the last third by less than half as before */
	LONG = 1 << 4,		/* what is examined lasted for leak_after */
	LOADING = 1 << 5,	/* the process is younger than three times that */
	UNFREED = 1 << 6,	/* at most 1 of 100 blocks was freed */
	/* the oldest block is older than 99% of the freed; neither lifetimes nor more calls explain the rise */
	STALE = 1 << 7,
	PILED = 1 << 8,		/* ten times more are held than lifetimes explain */
	REVISITS = 1 << 9,	/* rises, but it has been about as high before, and came down again */
	UNEVEN = 1 << 10,	/* one third of the time brought four times as much as another */
	/* blocks older than the trace were freed, half as many as are held: they may have been this site's */
	MASKED = 1 << 11,
	/* as many as the site holds, or as all sites do, and RSS does not grow by half of that: new blocks may have replaced older ones */
	REPLACES = 1 << 17,
	/*
	 * neither rises nor falls, but more than half of its ups and downs went one way, and it has
	 * not come to rest
	 */
	UNSURE = 1 << 12,
	ROUGH = 1 << 13,	/* an estimate that is too rough to tell a course from its error */
	LOST = 1 << 15,		/* no pointer was found to half of its blocks, or more */
	HELD = 1 << 16,		/* a pointer was found to each of them; that stands until a search says otherwise */
	PARTIAL = 1 << 18,	/* lost, but the search did not see all memory that may hold pointers */
	STEPS = 1 << 14,	/* each quarter of the whole time is higher than the one before, or each is lower */
};

static bool at_rest(const struct shape *w)
{
	return fabs(w->third[2]) < fabs(w->third[0] + w->third[1]) / 20;
}

static bool drifts(const struct shape *w)
{
	double change = fabs(w->floor[w->n - 1] - w->floor[0]);

	return change > w->high / 10 && change > w->path / 2 && !at_rest(w);
}

/*
 * What fills and is emptied in about a window's time has floors that go up and down with where its
 * emptyings fall. In quarters of the time that evens out: each is higher than the one before, or
 * lower, and the last one no less so.
 */
static bool steps(const struct shape *w, int direction)
{
	double floor[N_QUARTERS], change;

	for (size_t k = 0; k < N_QUARTERS; k++) {
		floor[k] = INFINITY;
		for (size_t i = w->n * k / N_QUARTERS; i < w->n * (k + 1) / N_QUARTERS; i++)
			floor[k] = MIN(floor[k], w->floor[i]);
	}
	change = floor[N_QUARTERS - 1] - floor[0];
	if (change * direction <= w->high / 10 ||
	    (floor[N_QUARTERS - 1] - floor[N_QUARTERS - 2]) * direction < fabs(change) / 10)
		return false;
	for (size_t k = 1; k < N_QUARTERS; k++)
		if ((floor[k] - floor[k - 1]) * direction <= 0)
			return false;
	return true;
}

static bool trends(const struct shape *w, int direction)
{
	double change = (w->floor[w->n - 1] - w->floor[0]) * direction;
	size_t n_with = direction > 0 ? w->n_up : w->n_down, n_against = direction > 0 ? w->n_down : w->n_up;

	/* however small a share of the whole, what climbs all the time is not steady; that it falls is good news, which takes more */
	if (change <= 0 || (direction < 0 && change < w->high * MATERIAL))
		return false;
	for (size_t k = 0; k < N_THIRDS; k++)
		if (w->third[k] * direction <= 0)
			return false;
	if (at_rest(w))
		return false;
	return w->t * direction >= w->t_needed || (!n_against && n_with >= MAX_WINDOWS / 2);
}

static bool holds_times_expected(const struct evidence *e, const struct shape *w, double times)
{
	double seen_s = (double)evidence__watched_ns(e) / 1e9;
	double rate = MAX(w->alloc_rate, seen_s > 0 ? (double)e->alloc_calls / seen_s : 0);

	/* few frees say little about lifetimes; and few blocks may be chance */
	return !e->no_lifetimes && e->free_calls >= 10 && (double)e->live_blocks >= times * rate * evidence__mean_life_s(e) + 10;
}

static double least_third(const struct shape *w)
{
	return MIN(w->third[0], MIN(w->third[1], w->third[2]));
}

static double most_third(const struct shape *w)
{
	return MAX(w->third[0], MAX(w->third[1], w->third[2]));
}

/* It came down in between: what was kept and grows from there on was never higher. */
static bool revisits(const struct shape *w)
{
	double first = w->floor[0], last = w->floor[w->n - 1];

	return w->high_before > 0.9 * last && w->high_before > (3 * first + last) / 4;
}

/* Of an estimate: a change is one from two standard errors on, and what is held is known from four on. */
static bool is_rough(const struct evidence *e, const struct shape *w)
{
	double change = fabs(w->floor[w->n - 1] - w->floor[0]);

	return e->error_bytes > w->high / 4 || ((trends(w, 1) || trends(w, -1)) && change < 2 * e->error_bytes);
}

/* So many blocks of a site with a pointer to each are no chance: those that come after the search are made by the same code. */
#define TELLING 10

/* By pointers, whatever the course is. */
static unsigned int signs_of_look(const struct evidence *e)
{
	/* most of what is live has come since */
	bool old = e->looked_blocks * 2 < e->live_blocks;

	/* what was there has gone: it says nothing of what is there now */
	if (!e->scans || !e->looked_blocks || e->unreached_blocks > e->live_blocks)
		return 0;
	if (!e->unreached_blocks)
		return !old || (e->looked_blocks >= TELLING && e->looked_blocks * 8 >= e->live_blocks) ? HELD : 0;
	if (old || e->unreached_blocks * 2 < e->looked_blocks)
		return 0;
	return e->search_partial ? LOST | PARTIAL : LOST;
}

/*
 * A cache that is full frees one block for each that it allocates. Its frees are unknown ones until the last block from before
 * the trace is gone. Several such caches share the count: then it equals the blocks of all sites.
 */
static bool replaces(const struct evidence *e)
{
	uint64_t n = e->unknown_frees, tenth = e->live_blocks / REPLACED_PART;

	/* what resident memory grew by may be these blocks: unless they are far more than that */
	if (!n || e->rss_grown_bytes >= e->points[e->n_points - 1].live_bytes / 2)
		return false;
	return (n >= e->live_blocks - tenth && n <= e->live_blocks + tenth) ||
	       n >= e->process_blocks - e->process_blocks / REPLACED_PART;
}

static unsigned int signs_of(const struct evidence *e, const struct shape *w)
{
	double before = (w->third[0] + w->third[1]) / 2;
	unsigned int signs = (is_rough(e, w) ? ROUGH : 0) | signs_of_look(e);

	if (trends(w, 1))
		signs |= RISES;
	if (trends(w, -1))
		signs |= FALLS;
	if (w->third[2] < before / 2)
		signs |= SLOWS;
	if (least_third(w) * 4 < most_third(w))
		signs |= UNEVEN;
	if (w->span_s * 1e9 >= (double)e->leak_after_ns * 0.9)
		signs |= LONG;
	if (e->process_age_ns < 3 * e->leak_after_ns)
		signs |= LOADING;
	if (e->free_calls * 100 <= e->alloc_calls)
		signs |= UNFREED;
	if (!e->no_lifetimes && e->free_calls >= 10 && (double)e->oldest_ns / 1e9 >= 100 * evidence__mean_life_s(e) &&
	    (!w->busier || holds_times_expected(e, w, 2)))
		signs |= STALE;
	if (holds_times_expected(e, w, 10))
		signs |= PILED;
	if (e->unknown_frees && e->unknown_frees >= e->live_blocks / 2)
		signs |= MASKED;
	if (replaces(e))
		signs |= REPLACES;
	if (revisits(w))
		signs |= REVISITS;
	if (drifts(w))
		signs |= UNSURE;
	if (steps(w, 1) || steps(w, -1))
		signs |= STEPS;
	return signs;
}

static bool climbs_evenly(const struct shape *w)
{
	return least_third(w) > 0 && least_third(w) >= most_third(w) * EVEN;
}

/* In the later half: what becomes half as much from quarter to quarter comes to rest. */
static bool later_half_climbs(const struct evidence *e)
{
	uint64_t begin_ns = e->points[0].t_ns, end_ns = e->points[e->n_points - 1].t_ns;
	double bytes, per_s;

	return course__climbs(e->points, e->n_points, begin_ns + (end_ns - begin_ns) / 2, &bytes, &per_s);
}

/*
 * All of the time; if that shows no trend, the last quarter of it, and so on, as long as
 * there are points enough. A later part is believed only if it goes faster than the
 * whole: what slows down looks like a trend again in its last part. Not so if it falls
 * after it rose: that is no slowing down. Nor if all of the last quarter climbs evenly:
 * of what slows down enough for the whole to be at rest, its last third brings no
 * more than about half of its first.
 */
static unsigned int examine(const struct evidence *e, struct shape *ret)
{
	uint64_t begin_ns = e->points[0].t_ns, end_ns = e->points[e->n_points - 1].t_ns, span_ns = end_ns - begin_ns;
	unsigned int signs;

	*ret = measure(e, 0);
	if (ret->n < MIN_WINDOWS)
		return 0;
	ret->slope = median_slope(ret, 0);
	signs = signs_of(e, ret);
	if (signs & (RISES | FALLS))
		return signs;
	for (span_ns /= SHRINK; span_ns >= e->leak_after_ns / 4; span_ns /= SHRINK) {
		bool quarter = span_ns == (end_ns - begin_ns) / SHRINK;
		struct shape w;
		size_t first = 0;

		while (e->points[first].t_ns < end_ns - span_ns)
			first++;
		w = measure(e, first);
		if (w.n < MIN_WINDOWS)
			break;
		if (!trends(&w, 1) && !trends(&w, -1))
			continue;
		w.slope = median_slope(&w, 0);
		if (fabs(w.slope) > 1.5 * fabs(ret->slope) || (w.slope < 0 && most_third(ret) > 0) ||
		    (quarter && at_rest(ret) && climbs_evenly(&w))) {
			*ret = w;
			return (signs_of(e, ret) & ~STEPS) | (signs & STEPS);
		}
	}
	/* beside what it began with, a climb may be too small to be a trend: that is no rest either */
	if (later_half_climbs(e))
		signs |= UNSURE;
	/* whatever it did before: where it is going now */
	ret->slope = median_slope(ret, ret->n / 2);
	return signs;
}

bool judge__climbs(const struct course *c)
{
	struct evidence e = { .points = c->points.v, .n_points = c->points.n, .leak_after_ns = JUDGE_LEAK_AFTER_NS };
	struct shape w;

	return c->points.n >= MIN_WINDOWS && (examine(&e, &w) & (RISES | REVISITS)) == RISES;
}

/* ---- the rules */

static const struct rule {
	const char *verdict;	/* NULL: none */
	unsigned int all, none;	/* signs that are there, signs that are not */
	void (*reasons[5])(struct why *y);
} rules[] = {
	{ "new", YOUNG, 0, { why__first } },
	{ NULL, ROUGH, 0, {} },
	/* nothing can free them any more */
	{ "leak", RISES | LOST, PARTIAL, { why__lost, why__rate, why__freed } },
	{ "leak", RISES | LOST | LONG | UNFREED, SLOWS | UNEVEN | LOADING | MASKED, { why__lost, why__freed, why__rate, why__oldest } },
	{ "suspect", LOST, FALLS, { why__lost, why__range } },
	{ NULL, RISES | REVISITS | STEPS, 0, {} },
	{ "steady", RISES | REVISITS, 0, { why__was_higher } },
	{ NULL, RISES | REPLACES, 0, {} },
	{ "leak", RISES | LONG | UNFREED, SLOWS | UNEVEN | LOADING | MASKED | HELD, { why__freed, why__rate, why__oldest } },
	{ "leak", RISES | LONG | STALE, SLOWS | UNEVEN | LOADING | MASKED | HELD, { why__freed, why__rate, why__oldest } },
	{ "suspect", RISES | UNFREED, SLOWS | HELD, { why__freed, why__rate, why__oldest, why__masked } },
	{ "suspect", RISES | STALE, SLOWS | HELD, { why__freed, why__rate, why__oldest, why__masked } },
	{ "suspect", RISES | LONG | PILED, SLOWS | HELD, { why__freed, why__rate, why__oldest, why__masked } },
	{ "growing", RISES, 0, { why__held, why__rate, why__slowing, why__freed } },
	{ "draining", FALLS | LOST, 0, { why__rate, why__down_from, why__lost } },
	{ "draining", FALLS, 0, { why__rate, why__down_from } },
	{ NULL, UNSURE, 0, {} },
	{ NULL, STEPS, 0, {} },
	{ "steady", 0, 0, { why__range, why__last } },
};

/* Over half of the time that it was watched, and lately: a start is no growth. */
static bool comes_all_the_time(const struct evidence *e)
{
	return e->unreached_blocks > 1 && e->last_ns > e->first_ns && (e->last_ns - e->first_ns) * 2 >= evidence__watched_ns(e);
}

/* Where its course is not known yet. */
static const struct rule lost_at_once = { "leak", LOST, 0, { why__lost, why__freed } };
static const struct rule lost_once = { "suspect", LOST, 0, { why__lost, why__first } };

static void explain(struct snapshot *s, const struct rule *r, struct why *y, struct trend *ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(r->reasons) && r->reasons[i]; i++)
		r->reasons[i](y);
	ret->verdict = r->verdict;
	ret->why = r->verdict ? snapshot__strdup(s, y->text) : NULL;
	ret->why_unreached = y->unreached;
}

static void judge_course(struct snapshot *s, const struct evidence *e, struct trend *ret)
{
	uint64_t enough_ns = e->leak_after_ns / 4;
	struct shape w = {};
	struct why y = { .e = e, .w = &w, .held = signs_of_look(e) & HELD };
	unsigned int signs = 0;

	*ret = (struct trend){};
	if (e->n_points && evidence__watched_ns(e) >= enough_ns)
		signs = examine(e, &w);
	if (w.n >= MIN_WINDOWS) {
		ret->known = true;
		ret->growth_bytes_per_s = w.slope;
	} else if (signs_of_look(e) & LOST) {
		/* what nothing points to need not be watched for long, if it has come all the time */
		explain(s, comes_all_the_time(e) && !e->search_partial ? &lost_at_once : &lost_once, &y, ret);
		return;
	} else if (evidence__watched_ns(e) < enough_ns && e->first_ns >= enough_ns) {
		signs = YOUNG;
	} else {
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(rules); i++) {
		if ((signs & rules[i].all) != rules[i].all || signs & rules[i].none)
			continue;
		explain(s, &rules[i], &y, ret);
		return;
	}
}

/* As if each block had been requested with BLOCK_LEAST bytes. */
static void judge_blocks(struct snapshot *s, const struct evidence *e, struct trend *ret)
{
	_cleanup_free_ struct course_point *v = xcalloc(e->n_points, sizeof(*v));
	struct evidence blocks = *e;

	for (size_t i = 0; i < e->n_points; i++) {
		const struct course_point *p = &e->points[i];

		v[i] = *p;
		v[i].live_bytes = p->live_blocks * BLOCK_LEAST;
		v[i].low_bytes = p->low_blocks * BLOCK_LEAST;
		v[i].high_bytes = p->high_blocks * BLOCK_LEAST;
		v[i].low_ns = p->low_blocks_ns;
	}
	blocks.points = v;
	blocks.error_bytes = e->error_blocks * BLOCK_LEAST;
	blocks.in_blocks = true;
	judge_course(s, &blocks, ret);
}

static bool is_verdict(const struct trend *t, const char *verdict)
{
	return t->verdict && !strcmp(t->verdict, verdict);
}

void judge(struct snapshot *s, const struct evidence *e, struct trend *ret)
{
	struct trend blocks;

	judge_course(s, e, ret);
	if (!e->n_points || !(s->known & HAS_LIVE_BLOCKS) || verdict__is_alarm(ret->verdict) ||
	    e->live_blocks * BLOCK_LEAST <= e->points[e->n_points - 1].live_bytes)
		return;
	judge_blocks(s, e, &blocks);
	if (is_verdict(&blocks, "steady") || is_verdict(&blocks, "draining"))
		return;
	/* what bytes do is not in question */
	blocks.known = ret->known;
	blocks.growth_bytes_per_s = is_verdict(ret, "steady") ? 0 : ret->growth_bytes_per_s;
	*ret = blocks;
}
