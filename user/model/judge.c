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
 * What the trace cannot see
 *   A process that was there before the trace frees blocks of which nothing is
 *   known, not even whose they were. A cache that has been full for a week looks
 *   as if it grew, until the blocks that it frees are those that were seen: as
 *   long as many older ones are freed, nothing is called a leak.
 */
#include "model/judge.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "model/heaps.h"
#include "util/parse.h"

#define MAX_WINDOWS 12
#define MIN_WINDOWS 5
#define N_THIRDS 3
#define N_QUARTERS 4
/* Examined from the end: all of the time, if that says nothing its last quarter, and so on. */
#define SHRINK 4

/* ---- what is measured */

struct shape {			/* of the course from from_ns on */
	double span_s;
	size_t n;		/* windows that have a point; less than MIN_WINDOWS: nothing can be said */
	double t_s[MAX_WINDOWS], floor[MAX_WINDOWS];	/* the least in each, and when that was */
	double slope;		/* bytes per second */
	/* mean of the increments over its standard error; either sign, INFINITY if they are equal */
	double t;
	double t_needed;
	size_t n_up, n_down;	/* increments */
	double path;		/* their sum, all taken for positive */
	double third[N_THIRDS];	/* bytes per second */
	double low, high;	/* of all points in it */
	double high_before;	/* the highest floor of any point before it, 0 if there is none */
	double alloc_rate;	/* calls per second, at the end */
	bool busier;		/* they rose by a quarter or more from the first half to the second */
};

/* Student's t for 0.1%, by degrees of freedom */
static const double t_needed[MAX_WINDOWS] = {
	INFINITY, 318.3, 22.33, 10.21, 7.173, 5.893, 5.208, 4.785, 4.501, 4.297, 4.144, 4.025,
};

static double call_rate(const struct evidence *e, size_t from, size_t to)
{
	const struct course_point *a = &e->points[from], *b = &e->points[to];

	return to > from ? ((double)b->alloc_calls - (double)a->alloc_calls) / ((double)(b->t_ns - a->t_ns) / 1e9) : 0;
}

static void fill_windows(struct shape *w, const struct evidence *e, size_t first)
{
	const struct course_point *p = e->points;
	size_t n_points = e->n_points - first, n_windows = MIN(n_points, (size_t)MAX_WINDOWS), last = 0;
	double from_s = (double)p[first].t_ns / 1e9;

	w->span_s = (double)(p[e->n_points - 1].t_ns - p[first].t_ns) / 1e9;
	w->low = INFINITY;
	for (size_t i = first; i < e->n_points; i++) {
		double t_s = (double)p[i].t_ns / 1e9, low = (double)p[i].low_bytes;
		size_t at = MIN(n_windows - 1, (size_t)((t_s - from_s) / w->span_s * (double)n_windows));

		w->low = MIN(w->low, low);
		w->high = MAX(w->high, (double)p[i].high_bytes);
		if (!w->n || at != last)
			w->floor[w->n++] = INFINITY;
		if (low < w->floor[w->n - 1]) {
			w->floor[w->n - 1] = low;
			w->t_s[w->n - 1] = (double)p[i].low_ns / 1e9;
		}
		last = at;
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

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

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
	/*
	 * neither rises nor falls, but more than half of its ups and downs went one way, and it has
	 * not come to rest
	 */
	UNSURE = 1 << 12,
	ROUGH = 1 << 13,	/* an estimate that is too rough to tell a course from its error */
	LOST = 1 << 15,		/* no pointer was found to half of its blocks, or more */
	HELD = 1 << 16,		/* a pointer was found to each of them */
	STEPS = 1 << 14,	/* each quarter of the whole time is higher than the one before, or each is lower */
};

/* A change is worth a word from 1% of what is held on. */
#define MATERIAL 0.01

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

	if (change <= 0 || change < w->high * MATERIAL)
		return false;
	for (size_t k = 0; k < N_THIRDS; k++)
		if (w->third[k] * direction <= 0)
			return false;
	if (at_rest(w))
		return false;
	return w->t * direction >= w->t_needed || (!n_against && n_with >= MAX_WINDOWS / 2);
}

static uint64_t watched_ns(const struct evidence *e)
{
	return e->end_ns > e->first_ns ? e->end_ns - e->first_ns : 0;
}

static double mean_life_s(const struct evidence *e)
{
	return e->free_calls ? (double)e->lifetime_sum_ns / (double)e->free_calls / 1e9 : 0;
}

static bool holds_times_expected(const struct evidence *e, const struct shape *w, double times)
{
	double seen_s = (double)watched_ns(e) / 1e9;
	double rate = MAX(w->alloc_rate, seen_s > 0 ? (double)e->alloc_calls / seen_s : 0);

	/* few frees say little about lifetimes; and few blocks may be chance */
	return !e->mixed && e->free_calls >= 10 && (double)e->live_blocks >= times * rate * mean_life_s(e) + 10;
}

static double least_third(const struct shape *w)
{
	return MIN(w->third[0], MIN(w->third[1], w->third[2]));
}

static double most_third(const struct shape *w)
{
	return MAX(w->third[0], MAX(w->third[1], w->third[2]));
}

/* Of an estimate: a change is one from two standard errors on, and what is held is known from four on. */
static bool is_rough(const struct evidence *e, const struct shape *w)
{
	double change = fabs(w->floor[w->n - 1] - w->floor[0]);

	return e->error_bytes > w->high / 4 || ((trends(w, 1) || trends(w, -1)) && change < 2 * e->error_bytes);
}

/* By pointers, whatever the course is. */
static unsigned int signs_of_look(const struct evidence *e)
{
	/* most of what is live has come since, or what was there has gone: it says nothing of what is there now */
	if (!e->scans || !e->looked_blocks || e->looked_blocks * 2 < e->live_blocks || e->unreached_blocks > e->live_blocks)
		return 0;
	return !e->unreached_blocks ? HELD : e->unreached_blocks * 2 >= e->looked_blocks ? LOST : 0;
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
	if (!e->mixed && e->free_calls >= 10 && (double)e->oldest_ns / 1e9 >= 100 * mean_life_s(e) &&
	    (!w->busier || holds_times_expected(e, w, 2)))
		signs |= STALE;
	if (holds_times_expected(e, w, 10))
		signs |= PILED;
	if (e->unknown_frees && e->unknown_frees >= e->live_blocks / 2)
		signs |= MASKED;
	if (w->high_before > 0.9 * w->floor[w->n - 1])
		signs |= REVISITS;
	if (drifts(w))
		signs |= UNSURE;
	if (steps(w, 1) || steps(w, -1))
		signs |= STEPS;
	return signs;
}

/*
 * All of the time; if that shows no trend, the last quarter of it, and so on, as long as
 * there are points enough. A later part is believed only if it goes faster than the
 * whole: what slows down looks like a trend again in its last part. Not so if it falls
 * after it rose: that is no slowing down.
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
		if (fabs(w.slope) > 1.5 * fabs(ret->slope) || (w.slope < 0 && most_third(ret) > 0)) {
			*ret = w;
			return (signs_of(e, ret) & ~STEPS) | (signs & STEPS);
		}
	}
	/* whatever it did before: where it is going now */
	ret->slope = median_slope(ret, ret->n / 2);
	return signs;
}

/* ---- words */

struct why {
	char text[192];
	size_t len;
	bool unreached;		/* it says what no pointer was found to */
	const struct evidence *e;
	const struct shape *w;
};

__attribute__((format(printf, 2, 3))) static void add(struct why *y, const char *fmt, ...)
{
	va_list ap;
	int n;

	if (y->len)
		y->len += (size_t)snprintf(y->text + y->len, sizeof(y->text) - y->len, ", ");
	va_start(ap, fmt);
	n = vsnprintf(y->text + y->len, sizeof(y->text) - y->len, fmt, ap);
	va_end(ap);
	y->len = MIN(sizeof(y->text) - 1, y->len + (size_t)MAX(n, 0));
}

static const char *mark(const struct why *y)
{
	return y->e->estimated ? "~" : "";
}

static void explain_freed(struct why *y)
{
	const struct evidence *e = y->e;
	char a[FMT_MAX], b[FMT_MAX];
	long percent = e->alloc_calls ? lround(100.0 * (double)e->free_calls / (double)e->alloc_calls) : 0;

	if (e->free_calls * 100 <= e->alloc_calls) {
		add(y, "%s%s of %s%s freed", e->free_calls ? mark(y) : "", fmt_count(a, e->free_calls), mark(y),
		    fmt_count(b, e->alloc_calls));
		return;
	}
	fmt_duration(b, (uint64_t)(mean_life_s(e) * 1e9));
	/* never 100% where some are left */
	add(y, "%s%ld%% of %s%s freed, after %s on average", percent > 99 && e->free_calls < e->alloc_calls ? ">" : "",
	    e->free_calls < e->alloc_calls ? MIN(99, percent) : 100, mark(y), fmt_count(a, e->alloc_calls), b);
}

static void add_rate(struct why *y, double bytes_per_s, double span_s)
{
	double per_min = fabs(bytes_per_s) * 60;
	bool hourly = per_min < 10;
	char a[FMT_MAX], b[FMT_MAX];

	fmt_bytes(a, (uint64_t)(hourly ? per_min * 60 : per_min));
	fmt_duration(b, (uint64_t)(span_s * 1e9));
	add(y, "%s%s%s/%s for %s", mark(y), bytes_per_s < 0 ? "-" : "+", a, hourly ? "h" : "min", b);
}

static void explain_rate(struct why *y)
{
	add_rate(y, y->w->slope, y->w->span_s);
}

static void explain_slowing(struct why *y)
{
	const struct shape *w = y->w;

	if (w->third[2] < (w->third[0] + w->third[1]) / 4)
		add(y, "less and less");
	else if (w->third[2] < (w->third[0] + w->third[1]) / 3)
		add(y, "slowing down");
}

static void explain_oldest(struct why *y)
{
	char a[FMT_MAX];

	if (y->e->oldest_ns)
		add(y, "oldest %s", fmt_duration(a, y->e->oldest_ns));
}

static void explain_masked(struct why *y)
{
	char a[FMT_MAX];

	if (y->e->unknown_frees && y->e->unknown_frees >= y->e->live_blocks / 2)
		add(y, "but %s older ones were freed", fmt_count(a, y->e->unknown_frees));
}

static void explain_down_from(struct why *y)
{
	char a[FMT_MAX];

	add(y, "down from %s%s", mark(y), fmt_bytes(a, (uint64_t)y->w->high));
}

/* From a tenth on, what it grew or fell by is worth reporting, also where it no longer does so. */
#define MUCH 0.1

/* For how long the floor has been where it is, within slack: seconds, up to the end. */
static double at_rest_s(const struct evidence *e, const struct shape *w, double slack)
{
	double last = w->floor[w->n - 1], since_s;
	size_t k = w->n - 1;

	while (k && fabs(w->floor[k - 1] - last) <= slack)
		k--;
	since_s = w->t_s[k];
	/* the part of the window before, if nothing swings */
	for (size_t i = e->n_points; i-- > 0;)
		if ((double)e->points[i].t_ns / 1e9 <= since_s) {
			if (fabs((double)e->points[i].low_bytes - last) > slack ||
			    fabs((double)e->points[i].high_bytes - last) > slack)
				break;
			since_s = (double)e->points[i].t_ns / 1e9;
		}
	return (double)e->end_ns / 1e9 - since_s;
}

/* Did it rise by much above its last floor, in this time? */
static bool swings(const struct why *y, double rest_s)
{
	const struct shape *w = y->w;
	double from_s = (double)y->e->end_ns / 1e9 - rest_s, most = 0;

	for (size_t i = 0; i < y->e->n_points; i++)
		if ((double)y->e->points[i].t_ns / 1e9 > from_s)
			most = MAX(most, (double)y->e->points[i].high_bytes);
	return most > w->floor[w->n - 1] + w->high * MUCH;
}

/* What is steady now need not have been so all the time. */
static bool explain_change(struct why *y)
{
	const struct shape *w = y->w;
	double change = w->floor[w->n - 1] - w->floor[0], rest_s;
	char a[FMT_MAX], b[FMT_MAX];

	if (fabs(change) < w->high * MUCH || !change)
		return false;
	rest_s = at_rest_s(y->e, w, w->high * MATERIAL);
	/* where it swings, its floor does a little */
	if (rest_s < w->span_s / SHRINK)
		rest_s = at_rest_s(y->e, w, w->high * MUCH);
	add(y, "%s by %s%s", change > 0 ? "grew" : "fell", mark(y), fmt_bytes(a, (uint64_t)fabs(change)));
	add(y, "%s %s%s for %s", swings(y, rest_s) ? "not below" : "at", mark(y),
	    fmt_bytes(a, (uint64_t)w->floor[w->n - 1]), fmt_duration(b, (uint64_t)(MAX(rest_s, 0) * 1e9)));
	return true;
}

static void explain_range(struct why *y)
{
	char a[FMT_MAX], b[FMT_MAX], c[FMT_MAX];

	if (explain_change(y))
		return;
	fmt_bytes(a, (uint64_t)y->w->low);
	fmt_bytes(b, (uint64_t)y->w->high);
	fmt_duration(c, (uint64_t)(y->w->span_s * 1e9));
	if (strcmp(a, b))
		add(y, "between %s%s and %s%s for %s", mark(y), a, mark(y), b, c);
	else
		add(y, "%s%s for %s", mark(y), a, c);
}

static void explain_last(struct why *y)
{
	char a[FMT_MAX];

	/* where the site is in use, this would say nothing */
	if (y->e->end_ns > y->e->last_ns && (double)(y->e->end_ns - y->e->last_ns) / 1e9 > y->w->span_s / 4)
		add(y, "last allocation%s %s ago", y->e->estimated ? " that was seen" : "",
		    fmt_duration(a, y->e->end_ns - y->e->last_ns));
}

static void explain_first(struct why *y)
{
	char a[FMT_MAX];

	add(y, "first allocation %s ago", fmt_duration(a, watched_ns(y->e)));
}

static void explain_was_higher(struct why *y)
{
	char a[FMT_MAX];

	add(y, "but it was at %s%s before", mark(y), fmt_bytes(a, (uint64_t)y->w->high_before));
}

static void explain_lost(struct why *y)
{
	char a[FMT_MAX], b[FMT_MAX];

	y->unreached = true;
	add(y, "no pointer to %s of %s block%s in %u scan%s", fmt_exact(a, y->e->unreached_blocks), fmt_exact(b, y->e->looked_blocks),
	    y->e->looked_blocks == 1 ? "" : "s", y->e->scans, y->e->scans == 1 ? "" : "s");
}

static void explain_held(struct why *y)
{
	if (!(signs_of_look(y->e) & HELD))
		return;
	if (y->e->held)
		add(y, "all still pointed to, through %s%s", root_kind__before(y->e->held->kind), y->e->held->name);
	else
		add(y, "all still pointed to");
}

/* ---- the rules */

static const struct rule {
	const char *verdict;	/* NULL: none */
	unsigned int all, none;	/* signs that are there, signs that are not */
	void (*reasons[5])(struct why *y);
} rules[] = {
	{ "new", YOUNG, 0, { explain_first } },
	{ NULL, ROUGH, 0, {} },
	/* nothing can free them any more */
	{ "leak", RISES | LOST, 0, { explain_lost, explain_rate, explain_freed } },
	{ "suspect", LOST, FALLS, { explain_lost, explain_range } },
	{ NULL, RISES | REVISITS | STEPS, 0, {} },
	{ "steady", RISES | REVISITS, 0, { explain_rate, explain_was_higher } },
	{ "leak", RISES | LONG | UNFREED, SLOWS | UNEVEN | LOADING | MASKED | HELD, { explain_freed, explain_rate, explain_oldest } },
	{ "leak", RISES | LONG | STALE, SLOWS | UNEVEN | LOADING | MASKED | HELD, { explain_freed, explain_rate, explain_oldest } },
	{ "suspect", RISES | UNFREED, SLOWS | HELD, { explain_freed, explain_rate, explain_oldest, explain_masked } },
	{ "suspect", RISES | STALE, SLOWS | HELD, { explain_freed, explain_rate, explain_oldest, explain_masked } },
	{ "suspect", RISES | LONG | PILED, SLOWS | HELD, { explain_freed, explain_rate, explain_oldest, explain_masked } },
	{ "growing", RISES, 0, { explain_held, explain_rate, explain_slowing, explain_freed } },
	{ "draining", FALLS | LOST, 0, { explain_rate, explain_down_from, explain_lost } },
	{ "draining", FALLS, 0, { explain_rate, explain_down_from } },
	{ NULL, UNSURE, 0, {} },
	{ NULL, STEPS, 0, {} },
	{ "steady", 0, 0, { explain_range, explain_last } },
};

/* Over half of the time that it was watched, and lately: a start is no growth. */
static bool comes_all_the_time(const struct evidence *e)
{
	return e->unreached_blocks > 1 && e->last_ns > e->first_ns && (e->last_ns - e->first_ns) * 2 >= watched_ns(e);
}

/* Where its course is not known yet. */
static const struct rule lost_at_once = { "leak", LOST, 0, { explain_lost, explain_freed } };
static const struct rule lost_once = { "suspect", LOST, 0, { explain_lost, explain_first } };

static void explain(struct snapshot *s, const struct rule *r, struct why *y, struct trend *ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(r->reasons) && r->reasons[i]; i++)
		r->reasons[i](y);
	ret->verdict = r->verdict;
	ret->why = r->verdict ? snapshot__strdup(s, y->text) : NULL;
	ret->why_unreached = y->unreached;
}

void judge(struct snapshot *s, const struct evidence *e, struct trend *ret)
{
	uint64_t enough_ns = e->leak_after_ns / 4;
	struct shape w = {};
	struct why y = { .e = e, .w = &w };
	unsigned int signs = 0;

	*ret = (struct trend){};
	if (e->n_points && watched_ns(e) >= enough_ns)
		signs = examine(e, &w);
	if (w.n >= MIN_WINDOWS) {
		ret->known = true;
		ret->growth_bytes_per_s = w.slope;
	} else if (signs_of_look(e) & LOST) {
		/* what nothing points to need not be watched for long, if it has come all the time */
		explain(s, comes_all_the_time(e) ? &lost_at_once : &lost_once, &y, ret);
		return;
	} else if (watched_ns(e) < enough_ns && e->first_ns >= enough_ns) {
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
