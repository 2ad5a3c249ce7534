// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns the words of a verdict's reasons. What always holds: each has the figures that the verdict rests on, and no others. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "model/heaps.h"
#include "model/judge_parts.h"
#include "util/parse.h"
#include "util/text.h"
#include "util/util.h"

static void grow(struct why *y, int n)
{
	y->len = MIN(sizeof(y->text) - 1, y->len + (size_t)MAX(n, 0));
}

__attribute__((format(printf, 2, 3))) static void add(struct why *y, const char *fmt, ...)
{
	va_list ap;

	if (y->len)
		grow(y, snprintf(y->text + y->len, sizeof(y->text) - y->len, ", "));
	va_start(ap, fmt);
	grow(y, vsnprintf(y->text + y->len, sizeof(y->text) - y->len, fmt, ap));
	va_end(ap);
}

#define AMOUNT_MAX (FMT_MAX + 8)

static const char *mark(const struct why *y)
{
	return y->e->estimated ? "~" : "";
}

/* "1.0 MiB"; "46.8 k blocks" */
static const char *amount(const struct why *y, char buf[static AMOUNT_MAX], double bytes)
{
	uint64_t n = (uint64_t)bytes;

	if (!y->e->in_blocks)
		return fmt_bytes(buf, n);
	n /= BLOCK_LEAST;
	snprintf(buf, AMOUNT_MAX, "%s block%s", COUNT(n), n == 1 ? "" : "s");
	return buf;
}

#define AMOUNT(y, bytes) amount(y, (char[AMOUNT_MAX]){}, bytes)

void why__freed(struct why *y)
{
	const struct evidence *e = y->e;
	long percent = e->alloc_calls ? lround(100.0 * (double)e->free_calls / (double)e->alloc_calls) : 0;

	if (e->free_calls * 100 <= e->alloc_calls) {
		add(y, "%s%s of %s%s freed", e->free_calls ? mark(y) : "", COUNT(e->free_calls), mark(y),
		    COUNT(e->alloc_calls));
		return;
	}
	/* never 100% where some are left */
	add(y, "%s%ld%% of %s%s freed%s%s%s", percent > 99 && e->free_calls < e->alloc_calls ? ">" : "",
	    e->free_calls < e->alloc_calls ? MIN(99, percent) : 100, mark(y), COUNT(e->alloc_calls), e->unseen_frees ? "" : ", after ",
	    e->unseen_frees ? "" : DURATION((uint64_t)(evidence__mean_life_s(e) * 1e9)), e->unseen_frees ? "" : " on average");
}

static void add_rate(struct why *y, double bytes_per_s, double span_s)
{
	double per_min = fabs(bytes_per_s) * 60;
	bool hourly = per_min < (y->e->in_blocks ? BLOCK_LEAST : 10);

	add(y, "%s%s%s/%s for %s", mark(y), bytes_per_s < 0 ? "-" : "+", AMOUNT(y, hourly ? per_min * 60 : per_min),
	    hourly ? "h" : "min", DURATION((uint64_t)(span_s * 1e9)));
}

void why__rate(struct why *y)
{
	add_rate(y, y->w->slope, y->w->span_s);
}

void why__slowing(struct why *y)
{
	const struct shape *w = y->w;

	if (w->third[2] < (w->third[0] + w->third[1]) / 4)
		add(y, "less and less");
	else if (w->third[2] < (w->third[0] + w->third[1]) / 3)
		add(y, "slowing down");
}

void why__oldest(struct why *y)
{
	if (y->e->oldest_ns)
		add(y, "oldest %s", DURATION(y->e->oldest_ns));
}

void why__masked(struct why *y)
{
	if (y->e->unknown_frees && y->e->unknown_frees >= y->e->live_blocks / 2)
		add(y, "but %s older ones were freed", COUNT(y->e->unknown_frees));
}

void why__down_from(struct why *y)
{
	add(y, "down from %s%s", mark(y), AMOUNT(y, y->w->high));
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
	if (fabs(change) < w->high * MUCH || !change)
		return false;
	rest_s = at_rest_s(y->e, w, w->high * MATERIAL);
	/* where it swings, its floor does a little */
	if (rest_s < w->span_s / SHRINK)
		rest_s = at_rest_s(y->e, w, w->high * MUCH);
	add(y, "%s by %s%s", change > 0 ? "grew" : "fell", mark(y), AMOUNT(y, fabs(change)));
	add(y, "%s %s%s for %s", swings(y, rest_s) ? "not below" : "at", mark(y),
	    AMOUNT(y, w->floor[w->n - 1]), DURATION((uint64_t)(MAX(rest_s, 0) * 1e9)));
	return true;
}

void why__range(struct why *y)
{
	const char *low = AMOUNT(y, y->w->low), *high = AMOUNT(y, y->w->high);
	const char *span = DURATION((uint64_t)(y->w->span_s * 1e9));

	if (explain_change(y))
		return;
	if (strcmp(low, high))
		add(y, "between %s%s and %s%s for %s", mark(y), low, mark(y), high, span);
	else
		add(y, "%s%s for %s", mark(y), low, span);
}

void why__last(struct why *y)
{
	/* where the site is in use, this would say nothing */
	if (y->e->end_ns > y->e->last_ns && (double)(y->e->end_ns - y->e->last_ns) / 1e9 > y->w->span_s / 4)
		add(y, "last allocation%s %s ago", y->e->estimated ? " that was seen" : "",
		    DURATION(y->e->end_ns - y->e->last_ns));
}

void why__first(struct why *y)
{
	add(y, "first allocation %s ago", DURATION(evidence__watched_ns(y->e)));
}

void why__was_higher(struct why *y)
{
	add(y, "but it was at %s%s before", mark(y), AMOUNT(y, y->w->high_before));
}

/* Of fewer blocks than the other figures are of: those were there when pointers were searched for. */
static bool searched_some(const struct evidence *e)
{
	return e->looked_blocks < e->live_blocks;
}

void why__lost(struct why *y)
{
	bool some = searched_some(y->e);
	y->unreached = true;
	add(y, "no pointer to %s of %s%s block%s%s in %u scan%s", EXACT(y->e->unreached_blocks), some ? "the " : "", EXACT(y->e->looked_blocks),
	    y->e->looked_blocks == 1 ? "" : "s", some ? " searched" : "", y->e->scans, y->e->scans == 1 ? "" : "s");
}

/* A name is the target's choice: the other reasons have room beside it. */
#define HELD_WIDTH 60

void why__held(struct why *y)
{
	_cleanup_free_ char *name = y->held && y->e->held ? text_shorten(y->e->held->name, HELD_WIDTH) : NULL;
	char some[FMT_MAX + 32] = "";

	if (!y->held)
		return;
	if (searched_some(y->e))
		snprintf(some, sizeof(some), " %s searched", EXACT(y->e->looked_blocks));
	if (y->e->held)
		add(y, "all%s reachable through %s%s", some, root_kind__before(y->e->held->kind), name ?: "");
	else
		add(y, "all%s reachable", some);
}
