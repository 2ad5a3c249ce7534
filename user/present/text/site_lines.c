// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns how a site of each view looks in a report: a line of the views' columns
 * (present/columns.c), with words between them.
 *
 * Estimated figures bear a mark, and the first of a row its relative standard
 * error; in a wide report the second one too:
 *
 *	~      estimated: one sample per 512.0 KiB on average, ± is one standard error
 *
 *	 1.   ~31.0 MiB  ±12%  75.2%  ~31,744 blocks  oldest  29.9s    0% freed  malloc
 *
 * What always holds: what was not recorded has no cell; cells of a line stand
 * below those of the line before.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "present/text/report_parts.h"

#define GAP 2

struct site_cell {
	const char *column;	/* of site_columns */
	unsigned int width;	/* without the mark of an estimate */
	const char *before, *after;
	const char *noun;	/* instead of the figure: what there are so many of */
	bool close;		/* no blanks before it */
	bool plain;		/* no mark: another figure of the line has it */
	bool wide;		/* in wide reports alone */
};

/* ---- peaks, temporary blocks, realloc */

/*
 * What a report tells of the highest moment, of blocks that were freed at
 * once, and of realloc:
 *
 *	PEAK by peak bytes (10 of 214 sites, 97.1% of bytes)
 *	redis-server (1432) held 39.0 MiB at 21.3s, 38.0 MiB now
 *
 *	 1.   31.0 MiB  79.5%  now   31.0 MiB  from 100ms to  29.9s  malloc
 *	     trackingRememberKey  src/tracking.c:212
 *
 *	TEMPORARY by temp calls (1 of 1 site, 100% of calls)
 *	2,099,000 of 2,194,473 allocations (95.7%) were freed before the next one, 69,967/s
 *
 *	 1.   2.10M temp  69,967/s   100%  >99% of  2.10M calls   96.1 MiB  malloc
 *	     sdsnewlen            src/sds.c:114
 *
 * What always holds: a site's share of a peak is of its own process's, which is
 * one moment; the peaks of several processes fall on several.
 */

/* "2,099,000", or estimated "~2.10M": the digits that an estimate has not are not shown */
static const char *count_of(const struct report *r, char buf[static FMT_MAX], uint64_t n)
{
	return r->s->estimated ? report__mark_figure(r, fmt_count(buf, n)) : fmt_exact(buf, n);
}

static void peak_lines(struct report *r)
{
	const struct snapshot *s = r->s;
	_cleanup_free_ char *who = NULL;

	para__begin(&r->para, "", 0);
	if (s->n_processes == 1 && s->processes->n_members < 2) {
		const struct snap_process *p = s->processes;

		who = report__owner(r, p, r->width / 2);
		para__item(&r->para, "%s held %s%s at %s", who, report__mark(r), BYTES(p->c.peak_bytes),
			   DURATION(p->peak_at_ns));
		para__item(&r->para, "%s%s %s", report__mark(r), BYTES(p->c.live_bytes), p->ended ? "at its end" : "now");
	} else {
		para__item(&r->para, "each process at its own highest moment");
		para__item(&r->para, "shares are of what it held then");
	}
	para__end(&r->para);
}

static void temporary_lines(struct report *r)
{
	const struct counters *t = &r->s->totals;
	char a[FMT_MAX], b[FMT_MAX];

	para__begin(&r->para, "", 0);
	para__item(&r->para, "%s of %s allocation%s (%s) were freed by their thread before its next one",
		   count_of(r, a, t->temp_calls), count_of(r, b, t->alloc_calls), plural(t->alloc_calls),
		   SHARE(t->temp_calls, t->alloc_calls));
	para__item(&r->para, "%s", RATE(t->temp_calls, r->s->duration_ns));
	para__end(&r->para);
}

/* Nothing where nobody called it. A call is told apart by its function: a site is realloc's, or it is not. */
void report__realloc_lines(struct report *r)
{
	const struct counters *t = &r->s->totals;
	char a[FMT_MAX];
	uint64_t bytes = 0;

	if (!(r->s->known & HAS_REALLOC_CALLS) || !t->realloc_calls)
		return;
	for (size_t i = 0; i < r->s->n_sites; i++)
		if (r->s->sites[i].c.realloc_calls)
			bytes += r->s->sites[i].c.alloc_bytes;
	report__line(r, "realloc: %s call%s (%s), %s%s (%s)", count_of(r, a, t->realloc_calls), plural(t->realloc_calls),
		   SHARE(t->realloc_calls, t->alloc_calls), report__mark(r), BYTES(bytes), SHARE(bytes, t->alloc_bytes));
}

static const struct site_cell live[] = {
	{ "live", 9, .close = true },
	{ "live-error", 5, .close = true },
	{ "share", .width = 5 },
	{ "blocks", .width = 6 },
	{ "blocks-error", 5, .wide = true },
	{ "blocks", 6, .noun = "block" },
	{ "oldest", 6, .before = "oldest " },
	{ "freed", 4, .after = " freed" },
};

static const struct site_cell allocs[] = {
	{ "calls", 6, .close = true },
	{ "calls-error", .width = 5 },
	{ "calls", 5, .noun = "call" },
	{ "rate", .width = 8 },
	{ "bytes", .width = 9 },
	{ "bytes-error", 5, .wide = true },
	{ "average", 9, .before = "avg ", .plain = true },
	{ "temporary", 4, .after = " temp" },
};

static const struct site_cell reallocs[] = {
	{ "passed-on", 6, .close = true },
	{ "passed-on", 5, .noun = "call" },
	{ "moved", 4, .after = " moved" },
	{ "copied", .width = 9 },
	{ "grown", 4, .after = " grow by " },
	{ "larger-by", 9, .close = true },
};

static const struct site_cell peak[] = {
	{ "peak", 9, .close = true },
	{ "peak-share", .width = 5 },
	{ "live", 9, .before = "now  " },
	{ "first", 6, .before = "from " },
	{ "until", 6, .before = " to ", .close = true },
};

static const struct site_cell temporary[] = {
	{ "temporary-calls", 6, .after = " temp", .close = true },
	{ "temporary-rate", .width = 8 },
	{ "share", .width = 5 },
	{ "temporary", 4, .after = " of " },
	{ "calls", 6, .close = true },
	{ "calls", 5, .noun = "call" },
	{ "bytes", .width = 9 },
};

static const struct site_cell sizes[] = {
	{ "bytes", 9, .close = true },
	{ "share", .width = 5 },
	{ "smallest", .width = 9 },
	{ "largest", 9, .before = " to ", .close = true },
	{ "average", 9, .before = "mean ", .plain = true },
	{ "lived", 6, .before = "lived ", .wide = true },
};

static const struct site_cell lifetimes[] = {
	{ "frees", 6, .after = " freed", .close = true },
	{ "share", .width = 5 },
	{ "lived", 6, .before = "lived ", .after = " avg" },
	{ "blocks", 6, .after = " live," },
	{ "oldest", 6, .before = " oldest ", .close = true },
};

static const struct site_cell frees[] = {
	{ "frees", 6, .after = " freed", .close = true },
	{ "share", .width = 5 },
	{ "freed", 4, .after = " of its " },
	{ "calls", 6, .close = true },
	{ "freed-bytes", .width = 9 },
	{ "lived", 6, .before = "lived " },
};

#define GROWTH(its_noun)				\
	{ "bytes-guessed", 9, .close = true }, \
	{ "share", .width = 5 }, \
	{ "calls", .width = 6 }, \
	{ "calls", 6, .noun = its_noun }, \
	{ "bytes-per-s", .width = 11 }, \
	{ "first", .width = 6 }, \
	{ "until", 6, .before = " to ", .close = true },

static const struct site_cell resident[] = { GROWTH("fault") };
static const struct site_cell mapped[] = { GROWTH("call") };

/* ---- frees */

/*
 * What a report tells of frees:
 *
 *	FREES by freed calls (2 of 2 sites, 100% of frees)
 *
 *	 1.   7,744 freed  83.6%   97% of its  8,000    7.2 MiB  lived   12ms  malloc
 *	     thread_alloc  threads.c:74
 *	     thread_main   threads.c:182
 *	     freed by free (78%): 6,031 calls, 5.6 MiB, after 10ms,
 *	     worker (1501) 3,100, worker (1502) 2,931,
 *	     120 allocated by another thread than freed
 *	         drop          threads.c:129
 *	         thread_main   threads.c:182
 *	     and 2 other places: 22%
 *
 * What always holds: the places of a site are in one order, whatever the order
 * of rows is; what is not shown is told as a share.
 */

#define THREADS_SHOWN 4
#define PLACE_INDENT 4

COMPARATOR(by_thread_calls, struct snap_free *const,
	   ORDER((*b)->calls, (*a)->calls) ?: ORDER((*a)->tid, (*b)->tid))

/* "worker (1501) 3,100, worker (1502) 2,931, 120 of them allocated by another thread" */
static void put_threads(struct report *r, const struct free_place *p, const uint32_t *rows, size_t n_rows)
{
	_cleanup_free_ const struct snap_free **v = xcalloc(n_rows + 1, sizeof(*v));
	size_t n = 0;

	for (size_t i = 0; i < n_rows; i++)
		if (r->s->frees[rows[i]].where == p->where)
			v[n++] = &r->s->frees[rows[i]];
	qsort(v, n, sizeof(*v), by_thread_calls);
	for (size_t i = 0; i < MIN(n, THREADS_SHOWN); i++) {
		if (!v[i]->tid)
			para__item(&r->para, "%s by threads that are not told apart", EXACT(v[i]->calls));
		else
			para__item(&r->para, "%s (%d) %s", v[i]->thread ? v[i]->thread : "thread", v[i]->tid, EXACT(v[i]->calls));
	}
	if (n > THREADS_SHOWN)
		para__item(&r->para, "%zu more thread%s", n - THREADS_SHOWN, plural(n - THREADS_SHOWN));
	if (p->cross_calls)
		para__item(&r->para, "%s allocated by another thread than freed", EXACT(p->cross_calls));
}

static void put_place(struct report *r, const struct free_place *p, uint64_t whole, const uint32_t *rows, size_t n_rows, size_t indent)
{
	const struct snap_site *w = &r->s->free_sites[p->where];
	_cleanup_free_ char *function = name__shorten(w->function, r->width / 3);

	para__begin(&r->para, "", indent);
	para__item(&r->para, "freed %s %s (%s): %s call%s", w->n_stack ? "by" : "at an", w->n_stack ? function : "unknown site",
		   PERCENT(p->calls, whole), EXACT(p->calls), plural(p->calls));
	para__item(&r->para, "%s", BYTES(p->bytes));
	para__item(&r->para, "after %s", LIVED(r->s, p->lifetime_sum_ns, p->calls));
	put_threads(r, p, rows, n_rows);
	para__end(&r->para);
	if (w->n_stack)
		frames__write(r->out, r->s, w, indent + PLACE_INDENT, frames__name_width(r->s, w), r->width);
}

static void free_places(struct report *r, const struct snap_site *site, size_t indent)
{
	_cleanup_free_ struct free_place *v = NULL;
	size_t at = (size_t)(site - r->s->sites), n = 0;
	const uint32_t *rows = r->free_lists.v + r->free_lists.start[at];
	size_t n_rows = r->free_lists.start[at + 1] - r->free_lists.start[at];
	uint64_t others = 0;

	free_places__of(r->s, &r->free_lists, at, &v, &n);
	for (size_t i = 0; i < n; i++) {
		if (i < FREE_PLACES_SHOWN)
			put_place(r, &v[i], site->c.free_calls, rows, n_rows, indent);
		else
			others += v[i].calls;
	}
	if (others)
		fprintf(r->out, "%*sand %zu other place%s: %s\n", (int)indent, "", n - FREE_PLACES_SHOWN, plural(n - FREE_PLACES_SHOWN),
			PERCENT(others, site->c.free_calls));
}

/* ---- the views */

#define CELLS(v) .cells = v, .n_cells = ARRAY_SIZE(v)

static const struct site_lines lines[] = {
	{ VIEW_LIVE, CELLS(live) },
	{ VIEW_ALLOCS, CELLS(allocs), .says = report__realloc_lines },
	{ VIEW_REALLOC, CELLS(reallocs) },
	{ VIEW_PEAK, CELLS(peak), .says = peak_lines },
	{ VIEW_TEMPORARY, CELLS(temporary), .says = temporary_lines },
	{ VIEW_SIZES, CELLS(sizes), .bars = report__size_bars },
	{ VIEW_LIFETIMES, CELLS(lifetimes), .bars = report__lifetime_bars },
	{ VIEW_FREES, CELLS(frees), .below = free_places },
	{ VIEW_RESIDENT, CELLS(resident) },
	{ VIEW_MAPPED, CELLS(mapped) },
};

const struct site_lines *site_lines__of(const struct view *v)
{
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		if (lines[i].view == v->bit)
			return &lines[i];
	return NULL;
}

static size_t put_noun(const struct report *r, const struct site_cell *cell, const struct column *c, const struct row_of *row)
{
	char noun[FMT_MAX];
	struct cell n;

	column__cell(c, row, &n);
	snprintf(noun, sizeof(noun), "%s%s", cell->noun, n.sort == 1 ? "" : "s");
	return (size_t)fprintf(r->out, " %-*s", (int)cell->width, noun);
}

static size_t put_figure(const struct report *r, const struct site_cell *cell, const struct column *c, const struct row_of *row)
{
	size_t gap = c->error ? 1 : cell->close ? 0 : GAP, width = cell->width + (c->scaled && !cell->plain && r->s->estimated), len;
	const char *before = cell->before ? cell->before : "", *after = cell->after ? cell->after : "", *sign = c->error ? "±" : "";
	struct cell shown = {};

	(cell->plain ? column__cell : column__marked_cell)(c, row, &shown);
	len = text_width(sign) + text_width(shown.text);
	fprintf(r->out, "%*s%s%*s%s%s%s", (int)gap, "", before, (int)(width - MIN(width, len)), "", sign, shown.text, after);
	return gap + strlen(before) + MAX(width, len) + strlen(after);
}

size_t site_lines__write(const struct report *r, const struct site_lines *l, const struct row_of *row)
{
	size_t cols = 0;

	for (size_t i = 0; i < l->n_cells; i++) {
		const struct site_cell *cell = &l->cells[i];
		const struct column *c = columns__find(&site_columns, cell->column);

		if (!column__holds(c, r->s) || (cell->wide && r->width < WIDE) || (c->error && (!r->s->estimated || row->older)))
			continue;
		cols += (cell->noun ? put_noun : put_figure)(r, cell, c, row);
	}
	return cols;
}
