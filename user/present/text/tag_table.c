// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the table of tags, and that of marks:
 *
 *	TAGS by live bytes (2 tags, 98.4% of bytes)
 *
 *	CALLED  ALLOCS  /CALL    BYTES    /CALL      KEPT  /CALL  BLOCKS  SHARE  TAG
 *	 1,000   3,000    3.0  1.2 MiB  1.2 KiB  96.0 KiB   98 B   1,000  98.4%  handle
 *	     -     120      -  3.0 KiB        -   1.5 KiB      -      60   1.6%  (none)
 *
 *	MARKS (2 of 2 intervals; 1,500 allocations, 600.0 KiB, +48.0 KiB live on average)
 *
 *	   FROM   LASTED   ALLOCS      BYTES  LIVE CHANGE
 *	   1.2s    800ms    1,500  600.0 KiB    +48.0 KiB  handle #1 to handle #2
 *
 * What always holds: tags and "(none)" add up to all sites that are shown; how
 * much a call takes is told only where calls were counted; an interval lies
 * between two marks that follow each other and have exact figures both.
 */
#include <math.h>
#include <string.h>

#include "present/figures.h"
#include "present/machine_words.h"
#include "present/rank.h"
#include "present/rows.h"
#include "present/text/report_parts.h"
#include "util/text.h"
#include "util/util.h"

/* ---- rows */

/* What has no tag comes last. */
static int heavier_first(const void *pa, const void *pb)
{
	const struct tag_row *a = pa, *b = pb;

	if (!a->tag != !b->tag)
		return a->tag ? -1 : 1;
	if (a->weight != b->weight)
		return a->weight < b->weight ? 1 : -1;
	if (a->sum.c.alloc_bytes != b->sum.c.alloc_bytes)
		return a->sum.c.alloc_bytes < b->sum.c.alloc_bytes ? 1 : -1;
	return a->tag < b->tag ? -1 : a->tag > b->tag;
}

struct tag_row *tag_rows__make(const struct snapshot *s, const struct tag_sum *sums, const struct metric *key)
{
	struct tag_row *v = xcalloc(s->n_tags + 1, sizeof(*v));
	uint64_t whole = 0;

	for (size_t i = 0; i <= s->n_tags; i++) {
		v[i] = (struct tag_row){ .name = i ? s->tags[i - 1].name : "(none)", .tag = i ? &s->tags[i - 1] : NULL,
					 .entered = i ? s->tags[i - 1].entered : UINT64_MAX, .sum = sums[i],
					 .weight = rank__of_counters(key, &sums[i].c) };
		whole += v[i].weight;
	}
	for (size_t i = 0; i <= s->n_tags; i++)
		v[i].whole = whole;
	return v;
}

static struct tag_row *tag_rows(const struct report *r, const struct metric *key)
{
	_cleanup_free_ struct tag_sum *sums = tags__add_up(r->s);
	struct tag_row *v = tag_rows__make(r->s, sums, key);

	qsort(v, r->s->n_tags + 1, sizeof(*v), heavier_first);
	return v;
}

static void tags(struct report *r)
{
	const struct metric *key = rank__metric(r->o->sort);
	size_t n = MIN(r->s->n_tags, r->top), n_rows = 0;
	_cleanup_free_ struct tag_row *v = NULL;
	_cleanup_free_ struct row_of *rows = xcalloc(n + 2, sizeof(*rows));
	char words[FMT_MAX];
	uint64_t listed = 0;

	if (!r->s->n_tags) {
		fprintf(r->out, "\nTAGS: none; --tag FUNC says what they are\n");
		return;
	}
	if (!key)
		key = metric__preset(r->s->known);
	v = tag_rows(r, key);
	for (size_t i = 0; i < n; i++) {
		listed += v[i].weight;
		rows[n_rows++] = (struct row_of){ .s = r->s, .tag = &v[i] };
	}
	rows[n_rows++] = (struct row_of){ .s = r->s, .tag = &v[r->s->n_tags] };
	report__metric_words(words, key);
	if (n < r->s->n_tags)
		fprintf(r->out, "\nTAGS by %s (%s tags, %s of %s)\n\n", words, OUT_OF(n, r->s->n_tags),
			SHARE(listed, v->whole), key->unit);
	else
		fprintf(r->out, "\nTAGS by %s (%zu tag%s, %s of %s)\n\n", words, n, plural(n), SHARE(listed, v->whole), key->unit);
	columns__write(r->out, &tag_columns, rows, n_rows, r->width, r->o->whole_names);
}

/* ---- marks */

struct interval {
	const struct snap_mark *from, *to;
};

static double live_change(const struct interval *i)
{
	return (double)i->to->all_live_bytes - (double)i->from->all_live_bytes;
}

static void interval_line(struct report *r, const struct interval *i)
{
	char a[FMT_MAX], b[FMT_MAX];
	bool same;
	size_t room;
	_cleanup_free_ char *from = NULL, *to = NULL;
	int cols = fprintf(r->out, "%7s  %7s  %*s  %*s", fmt_duration(a, i->from->t_ns), fmt_duration(b, i->to->t_ns - i->from->t_ns),
			   7 + r->s->estimated, report__mark_figure(r, COUNT(i->to->alloc_calls - i->from->alloc_calls)),
			   9 + r->s->estimated, report__mark_figure(r, BYTES(i->to->alloc_bytes - i->from->alloc_bytes)));

	if (r->s->known & HAS_LIVE_BYTES)
		cols += fprintf(r->out, "  %s%11s", r->s->estimated ? "~" : "", CHANGE(live_change(i)));
	snprintf(a, sizeof(a), " #%u", i->from->number);
	snprintf(b, sizeof(b), " #%u", i->to->number);
	room = r->width - MIN(r->width, (size_t)cols + 2 + strlen(a) + strlen(" to ") + strlen(b));
	same = !strcmp(i->from->name, i->to->name);
	from = text_shorten(i->from->name, MAX(same ? room : room / 2, 1u));
	to = text_shorten(same ? "" : i->to->name, MAX(room / 2, 1u));
	fprintf(r->out, "  %s%s to %s%s\n", from ? from : "", a, to ? to : "", same ? b + 1 : b);
}

static void marks(struct report *r)
{
	const struct snapshot *s = r->s;
	_cleanup_free_ struct interval *v = xcalloc(s->n_marks + 1, sizeof(*v));
	const struct snap_mark *last = NULL;
	uint64_t calls = 0, bytes = 0;
	size_t n = 0, shown;
	double live = 0;

	for (size_t i = 0; i < s->n_marks; i++) {
		if (!s->marks[i].whole)
			continue;
		if (last)
			v[n++] = (struct interval){ last, &s->marks[i] };
		last = &s->marks[i];
	}
	for (size_t i = 0; i < n; i++) {
		calls += v[i].to->alloc_calls - v[i].from->alloc_calls;
		bytes += v[i].to->alloc_bytes - v[i].from->alloc_bytes;
		live += live_change(&v[i]);
	}
	if (!n) {
		fprintf(r->out, "\nMARKS: %s call%s, no two of the %s that are listed have figures\n", EXACT(s->n_marks_seen),
			plural(s->n_marks_seen), EXACT(s->n_marks));
		return;
	}
	shown = MIN(n, r->top);
	fprintf(r->out, "\nMARKS (%s%s interval%s; %s%s allocations, %s", shown < n ? "the last " : "", OUT_OF(shown, n), plural(n),
		report__mark(r), COUNT((calls + n / 2) / n), BYTES((bytes + n / 2) / n));
	if (s->known & HAS_LIVE_BYTES)
		fprintf(r->out, ", %s live", CHANGE(live / (double)n));
	fprintf(r->out, " on average)\n");
	if (s->n_marks_seen > s->n_marks_whole)
		fprintf(r->out, "%s %s own\n", EXACT(s->n_marks_seen - s->n_marks_whole),
			s->n_marks_seen - s->n_marks_whole == 1 ? "call has no figures of its" : "calls have no figures of their");
	if (reading__mark_words(s))
		fprintf(r->out, "%s\n", reading__mark_words(s));
	fprintf(r->out, "\n%7s  %7s  %*s  %*s%s\n", "FROM", "LASTED", 7 + s->estimated, "ALLOCS", 9 + s->estimated, "BYTES",
		s->known & HAS_LIVE_BYTES ? s->estimated ? "   LIVE CHANGE" : "  LIVE CHANGE" : "");
	for (size_t i = n - shown; i < n; i++)
		interval_line(r, &v[i]);
}

void report__tags(struct report *r)
{
	if (r->s->n_tags || !r->s->n_marks_seen)
		tags(r);
	if (r->s->n_marks_seen)
		marks(r);
}
