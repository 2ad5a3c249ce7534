// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns what a report tells of the highest moment, of blocks that were freed at
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
#include <errno.h>

#include "model/group.h"
#include "present/figures.h"
#include "present/text/report_parts.h"
#include "util/util.h"

/* "2,099,000", or estimated "~2.10M": the digits that an estimate has not are not shown */
static const char *count_of(const struct report *r, char buf[static FMT_MAX], uint64_t n)
{
	return r->s->estimated ? report__mark_figure(r, fmt_count(buf, n)) : fmt_exact(buf, n);
}

void report__peak_lines(struct report *r)
{
	const struct snapshot *s = r->s;
	char a[FMT_MAX], b[FMT_MAX], c[FMT_MAX];
	_cleanup_free_ char *who = NULL;

	para__begin(&r->para, "", 0);
	if (s->n_processes == 1 && s->processes->n_members < 2) {
		const struct snap_process *p = s->processes;

		who = report__owner(r, p, r->width / 2);
		para__item(&r->para, "%s held %s%s at %s", who ? who : p->comm, report__mark(r), fmt_bytes(a, p->c.peak_bytes),
			   fmt_duration(b, p->peak_at_ns));
		para__item(&r->para, "%s%s %s", report__mark(r), fmt_bytes(c, p->c.live_bytes), p->ended ? "at its end" : "now");
	} else {
		para__item(&r->para, "each process at its own highest moment");
		para__item(&r->para, "shares are of what it held then");
	}
	para__end(&r->para);
}

void report__temporary_lines(struct report *r)
{
	const struct counters *t = &r->s->totals;
	char a[FMT_MAX], b[FMT_MAX], c[FMT_MAX], d[FMT_MAX];

	para__begin(&r->para, "", 0);
	para__item(&r->para, "%s of %s allocation%s (%s) were freed by their thread before its next one",
		   count_of(r, a, t->temp_calls), count_of(r, b, t->alloc_calls), plural(t->alloc_calls),
		   fmt_share(c, t->temp_calls, t->alloc_calls));
	para__item(&r->para, "%s", fmt_rate(d, t->temp_calls, r->s->duration_ns));
	para__end(&r->para);
}

/* Nothing where nobody called it. A call is told apart by its function: a site is realloc's, or it is not. */
void report__realloc_lines(struct report *r)
{
	const struct counters *t = &r->s->totals;
	char a[FMT_MAX], b[FMT_MAX], c[FMT_MAX], d[FMT_MAX];
	uint64_t bytes = 0;

	if (!(r->s->known & HAS_REALLOC_CALLS) || !t->realloc_calls)
		return;
	for (size_t i = 0; i < r->s->n_sites; i++)
		if (r->s->sites[i].c.realloc_calls)
			bytes += r->s->sites[i].c.alloc_bytes;
	para__begin(&r->para, "", 0);
	para__item(&r->para, "realloc: %s call%s (%s), %s%s (%s)", count_of(r, a, t->realloc_calls), plural(t->realloc_calls),
		   fmt_share(b, t->realloc_calls, t->alloc_calls), report__mark(r), fmt_bytes(c, bytes), fmt_share(d, bytes, t->alloc_bytes));
	para__end(&r->para);
}
