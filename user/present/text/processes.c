// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the processes' table:
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
#include <string.h>

#include "model/group.h"
#include "model/merge.h"
#include "model/rss_trend.h"
#include "present/columns.h"
#include "present/figures.h"
#include "present/rank.h"
#include "present/text/report_parts.h"
#include "util/util.h"

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
	uint64_t wa = rank__of_counters(o->key, &a->c), wb = rank__of_counters(o->key, &b->c);

	if (o->ended_last && a->ended != b->ended)
		return a->ended - b->ended;
	if (wa == wb) {
		wa = a->c.alloc_bytes;
		wb = b->c.alloc_bytes;
	}
	if (wa != wb)
		return wa < wb ? 1 : -1;
	return a->id < b->id ? -1 : a->id > b->id;
}

/* Those that grow come first, by how much: the first one is what the sentence is about (present/sentence.c). */
struct grower {
	const struct snap_process *p;
	bool grows;
	double bytes;
};

static struct grower grower_of(const struct snapshot *s, const struct snap_process *p)
{
	struct rss_trend r = rss_trend__of(p);
	bool grows = !p->ended && (verdict__is_alarm(p->trend.verdict) || r.grows);
	double bytes = process__grown_bytes(s, p, &r);

	return (struct grower){ p, grows, grows || p->ended ? bytes : MAX(bytes, (double)r.change_bytes) };
}

static int by_growth(const void *pa, const void *pb)
{
	const struct grower *a = pa, *b = pb;

	if (a->p->ended != b->p->ended)
		return a->p->ended - b->p->ended;
	if (a->grows != b->grows)
		return b->grows - a->grows;
	if (a->bytes != b->bytes)
		return a->bytes < b->bytes ? 1 : -1;
	if (a->p->c.live_bytes != b->p->c.live_bytes)
		return a->p->c.live_bytes < b->p->c.live_bytes ? 1 : -1;
	return a->p->id < b->p->id ? -1 : a->p->id > b->p->id;
}

const struct snap_process **processes__by_growth(const struct snapshot *s)
{
	_cleanup_free_ struct grower *growers = xcalloc(s->n_processes + 1, sizeof(*growers));
	const struct snap_process **v = xcalloc(s->n_processes + 1, sizeof(*v));

	for (size_t i = 0; i < s->n_processes; i++)
		growers[i] = grower_of(s, &s->processes[i]);
	qsort(growers, s->n_processes, sizeof(*growers), by_growth);
	for (size_t i = 0; i < s->n_processes; i++)
		v[i] = growers[i].p;
	return v;
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
		ended |= v[i]->ended;
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
	const struct metric *key = rank__metric(r->o->sort);
	_cleanup_free_ const struct snap_process **v = NULL;
	_cleanup_free_ struct row_of *rows = NULL;
	size_t n = MIN(r->s->n_processes, r->top);
	uint64_t whole = 0, listed = 0;
	char words[FMT_MAX];
	const char *what;
	bool by_growth;

	if (!r->s->n_processes)
		return;
	/* the age of blocks is no figure of a process */
	if (!key)
		key = metric__preset(r->s->known);
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
	report__metric_words(words, key);
	what = snapshot__is_grouped(r->s) ? "GROUPS" : "PROCESSES";
	fputc('\n', r->out);
	report__line(r, "%s by %s (%s, %s of %s)", what, by_growth ? "growth" : words, OUT_OF(n, r->s->n_processes),
		SHARE(listed, whole), by_growth ? words : key->unit);
	fputc('\n', r->out);
	columns__write(r->out, &process_columns, rows, n, r->width, r->o->whole_names && !r->o->brief);
	if (r->s->n_processes > 1 && !r->o->brief)
		for (size_t i = 0; i < MIN(n, (size_t)MEMORY_ROWS); i++)
			report__memory_of(r, v[i]);
	hints(r, v, n);
}
