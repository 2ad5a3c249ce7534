// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the tables of a report whose rows are no sites: processes, threads, tags and marks:
 *
 *	PROCESSES by growth (10 of 214, 97.1% of live bytes)
 *
 *	    LIVE    GROWTH/s  CALLS/s       RSS  RSS CHANGE  VERDICT   PID  PROCESS
 *	38.0 MiB    +1.3 MiB   73,130  96.0 MiB   +37.0 MiB  leak     1432  redis-server
 *	 1.2 MiB           -        -         -           -  ended    1501  worker
 *	redis-server (1432): heap 79.0 MiB of 90.0 MiB mapped, other anonymous 10.0 MiB, ...
 *	ended: LIVE was not freed before exit
 *	look into one: malloctrace -p 1432
 *
 * What always holds: the order is total, so the same figures give the same rows.
 */
#include <math.h>
#include <string.h>

#include "present/text/report_parts.h"

#define NAME_COLS 40
#define MEMORY_ROWS 3	/* so many processes' memory is told below the table */

struct process_order {
	const struct metric *key;
	bool ended_last;
};

static int by_weight(const void *pa, const void *pb, void *arg)
{
	const struct snap_process *a = *(const struct snap_process *const *)pa, *b = *(const struct snap_process *const *)pb;
	const struct process_order *o = arg;

	return (o->ended_last ? a->ended - b->ended : 0) ?: ORDER(rank__of_counters(o->key, &b->c), rank__of_counters(o->key, &a->c)) ?:
	       ORDER(b->c.alloc_bytes, a->c.alloc_bytes) ?: ORDER(a->id, b->id);
}

const struct snap_process **processes__rank(const struct snapshot *s, const struct metric *key, bool ended_last)
{
	struct process_order o = { key, ended_last && snapshot__has_both(s) };
	const struct snap_process **v = xcalloc(s->n_processes + 1, sizeof(*v));

	for (size_t i = 0; i < s->n_processes; i++)
		v[i] = &s->processes[i];
	qsort_r(v, s->n_processes, sizeof(*v), by_weight, &o);
	return v;
}

/* "not read: 3 heaps, of worker (1501) and others; up to 1,200 of their blocks that count as live may have been freed" */
static void tell_unread(struct report *r)
{
	const struct snap_process *first = NULL;
	uint64_t n_unread = 0, blocks = 0;
	_cleanup_free_ char *name = NULL;
	bool others = false;

	for (size_t i = 0; i < r->s->n_processes; i++) {
		const struct snap_process *p = &r->s->processes[i];

		if (!p->n_heaps_unread)
			continue;
		others = first != NULL;
		first = first ? first : p;
		n_unread += p->n_heaps_unread;
		blocks += p->unsure_blocks;
	}
	name = first ? report__owner(r, first, NAME_COLS) : NULL;
	if (!name)
		return;
	report__line(r, "not read: %s heap%s, of %s%s; up to %s of %s blocks that count as live may have been freed", EXACT(n_unread), plural(n_unread), name,
		     others ? " and others" : "", EXACT(blocks), n_unread == 1 ? "its" : "their");
}

static void hints(struct report *r, const struct snap_process *const *v, size_t n)
{
	const struct snap_process *runs = NULL;
	bool ended = false, oom = false;

	for (size_t i = 0; i < n; i++) {
		ended |= v[i]->ended && v[i]->c.live_bytes;
		oom |= v[i]->oom_killed;
		if (!runs && !v[i]->ended && v[i]->pid > 0)
			runs = v[i];
	}
	if (ended && r->s->known & HAS_LIVE_BYTES)
		report__line(r, "ended: LIVE was not freed before exit%s", r->s->reading.n_unread ? ", except where the heap was not read" : "");
	tell_unread(r);
	if (oom)
		report__line(r, "OOM: killed by the kernel, which had no memory left");
	if (runs && !r->o->brief)
		report__line(r, "look into one: malloctrace -p %d", runs->pid);
}

void report__processes(struct report *r)
{
	/* the age of blocks is no figure of a process, or a tag */
	const struct metric *key = rank__metric(r->o->sort, r->s->known);
	_cleanup_free_ const struct snap_process **v = NULL;
	_cleanup_free_ struct row_of *rows = NULL;
	size_t n = MIN(r->s->n_processes, r->top);
	uint64_t whole = 0, listed = 0;
	bool by_growth;

	if (!r->s->n_processes)
		return;
	by_growth = !r->o->sort && r->s->known & HAS_LIVE_BYTES;
	v = by_growth ? processes__by_growth(r->s) : processes__rank(r->s, key, !r->o->sort);
	rows = xcalloc(n + 1, sizeof(*rows));
	for (size_t i = 0; i < r->s->n_processes; i++) {
		/* what ended processes held is no part of the live memory above */
		if (by_growth && v[i]->ended && snapshot__has_both(r->s))
			continue;
		whole += rank__of_counters(key, &v[i]->c);
		listed += i < n ? rank__of_counters(key, &v[i]->c) : 0;
	}
	for (size_t i = 0; i < n; i++)
		rows[i] = (struct row_of){ .s = r->s, .process = v[i] };
	fputc('\n', r->out);
	report__line(r, "%s by %s (%s, %s of %s)", snapshot__is_grouped(r->s) ? "GROUPS" : "PROCESSES",
		     by_growth ? "growth" : METRIC_WORDS(key),
		     OUT_OF(n, r->s->n_processes), SHARE(listed, whole), by_growth ? METRIC_WORDS(key) : key->unit);
	fputc('\n', r->out);
	columns__write(r->out, &process_columns, rows, n, r->width, r->o->whole_names && !r->o->brief);
	if (r->s->n_processes > 1 && !r->o->brief)
		for (size_t i = 0; i < MIN(n, (size_t)MEMORY_ROWS); i++)
			report__memory_of(r, v[i]);
	hints(r, v, n);
}

/* ---- threads */

void report__threads(struct report *r)
{
	const struct metric *key = r->o->sort ? metric__find(r->o->sort) : NULL;
	_cleanup_free_ struct row_of *rows = NULL;
	uint64_t whole = 0, listed = 0;
	size_t n_groups, room, n = 0;
	struct thread_rows t;

	thread_rows__init(&t, r->s, key);
	n_groups = MIN(t.n, r->top);
	room = MIN(r->top - n_groups, t.n_members);
	rows = xcalloc(n_groups + room + 1, sizeof(*rows));
	for (size_t i = 0; i < t.n; i++) {
		whole += t.v[i].c.alloc_calls;
		listed += i < n_groups ? t.v[i].c.alloc_calls : 0;
	}
	for (size_t i = 0; i < n_groups; i++) {
		const struct thread_row *row = &t.v[i];
		const struct snap_process *p = &r->s->processes[row->process];

		rows[n++] = (struct row_of){ .s = r->s, .process = p, .thread = row };
		if (row->n_threads < 2 || row->n_threads > room)
			continue;
		room -= row->n_threads;
		for (size_t k = 0; k < row->n_threads; k++)
			rows[n++] = (struct row_of){ .s = r->s, .process = p, .thread = &row->members[k] };
	}
	if (!t.n)
		fprintf(r->out, "\nTHREADS: none was seen\n");
	else
		fprintf(r->out, "\nTHREADS by calls (%s name%s, %s thread%s, %s of calls)\n\n", OUT_OF(n_groups, t.n), plural(t.n),
			EXACT(t.n_members), plural(t.n_members), SHARE(listed, whole));
	if (n)
		columns__write(r->out, &thread_columns, rows, n, r->width, r->o->whole_names);
	thread_rows__done(&t);
}

/* ---- tags and marks */

/*
 * The table of tags, and that of marks:
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

/* ---- rows */

/* What has no tag comes last. */
COMPARATOR(heavier_first, struct tag_row,
	   ORDER(!a->tag, !b->tag) ?: ORDER(b->weight, a->weight) ?: ORDER(b->sum.c.alloc_bytes, a->sum.c.alloc_bytes) ?: ORDER(a->tag, b->tag))

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

static void tags(struct report *r)
{
	/* the age of blocks is no figure of a process, or a tag */
	const struct metric *key = rank__metric(r->o->sort, r->s->known);
	size_t n = MIN(r->s->n_tags, r->top), n_rows = 0;
	_cleanup_free_ struct tag_sum *sums = tags__add_up(r->s);
	_cleanup_free_ struct tag_row *v = NULL;
	_cleanup_free_ struct row_of *rows = xcalloc(n + 2, sizeof(*rows));
	uint64_t listed = 0;

	if (!r->s->n_tags) {
		fprintf(r->out, "\nTAGS: none; --tag FUNC says what they are\n");
		return;
	}
	v = tag_rows__make(r->s, sums, key);
	qsort(v, r->s->n_tags + 1, sizeof(*v), heavier_first);
	for (size_t i = 0; i < n; i++) {
		listed += v[i].weight;
		rows[n_rows++] = (struct row_of){ .s = r->s, .tag = &v[i] };
	}
	rows[n_rows++] = (struct row_of){ .s = r->s, .tag = &v[r->s->n_tags] };
	fprintf(r->out, "\nTAGS by %s (%s tag%s, %s of %s)\n\n", METRIC_WORDS(key), n < r->s->n_tags ? OUT_OF(n, r->s->n_tags) : EXACT(n),
		plural(r->s->n_tags), SHARE(listed, v->whole), key->unit);
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
