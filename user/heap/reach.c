// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the order of the scans: the first marks (mark.c), the others look at what it has not reached (candidates.c). They
 * end early if nothing is left to look at.
 */
#include <errno.h>
#include <stdio.h>
#include <time.h>

#include "heap/reach.h"
#include "heap/reach_parts.h"

/* So many times as many as were asked for, at most. */
#define MORE_SCANS 4
#define QUIET_SCANS 2	/* of a heap that moves: one may have missed what another one finds */
/* Scans that come to nothing because the heap moves too fast. */
#define MAX_FAILED 3
/* How long it takes at most until a wait is ended. */
#define SLICE_NS (5 * MS_NS)

static void begin_scan(struct search *s, const struct reach_opts *o, unsigned int scan, uint64_t bytes)
{
	unsigned int of = o->paused ? 1 : MAX(o->scans, scan);
	char what[sizeof(s->what)];

	snprintf(what, sizeof(what), "searching for pointers, scan %u of %u", scan, of);
	search__begin(s, what, (scan - 1.0) / of, (double)scan / of, bytes);
}

static uint64_t heap_bytes(const struct census *c)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < c->blocks.n; i++)
		sum += c->blocks.v[i].usable;
	return sum;
}

static int first_scan(struct search *s, const struct reach_opts *o, struct mark *m, struct reach_result *ret, struct err *e)
{
	struct roots r = {};
	uint64_t swapped_bytes;
	int err = o->blocks(s->t, o->arg, &ret->first, e);

	if (!err)
		err = mark__init(m, &ret->first, o->roots, e);
	if (!err)
		err = roots__look(&r, s, &ret->first, o, e);
	if (err)
		return err;
	swapped_bytes = s->t->memory.swapped_bytes;
	begin_scan(s, o, 1, roots__bytes(&r) + heap_bytes(&ret->first));
	err = mark__run(m, s, &r, o, e);
	ret->is = (struct snap_unreached){
		.scans = 1,
		.root_bytes = r.searched_bytes,
		.swapped_bytes = s->t->memory.swapped_bytes - swapped_bytes,
		.passed_over_bytes = s->t->passed_over_bytes,
		.unread_shared_bytes = s->unread_bytes,
		.async_io = r.async_io,
		.kept_in_part = r.kept_in_part,
	};
	ret->registers_stopped = r.stopped;
	ret->registers_missing = r.missing;
	ret->n_unread_threads = r.n_unread;
	ret->crowded = m->crowded;
	roots__done(&r);
	return err;
}

static int wait_for_next(struct search *s, uint64_t gap_ns, struct err *e)
{
	for (uint64_t end = now_ns() + gap_ns, now; (now = now_ns()) < end;) {
		struct timespec slice = { .tv_nsec = MIN(end - now, SLICE_NS) };

		if (target__go_on(s->t, REACH_AGAIN, s->part_end))
			return err_set(e, -EINTR, "interrupted");
		nanosleep(&slice, NULL);
	}
	return 0;
}

static int next_scan(struct search *s, const struct reach_opts *o, struct candidates *c, struct reach_result *ret, struct err *e)
{
	struct census now = {};
	int err = wait_for_next(s, o->gap_ns, e);

	if (!err)
		err = o->blocks(s->t, o->arg, &now, e);
	if (!err) {
		begin_scan(s, o, ret->is.scans + 1, 2 * ret->is.root_bytes + heap_bytes(&now));
		err = candidates__scan(c, s, &now, o, ret, e);
	}
	census__done(&now);
	ret->is.scans += !err;
	return err;
}

/* ---- who holds what */

static int by_bytes(const void *a, const void *b, void *roots)
{
	const struct reach_root *x = (struct reach_root *)roots + *(const uint32_t *)a, *y = (struct reach_root *)roots + *(const uint32_t *)b;

	return x->bytes != y->bytes ? (x->bytes > y->bytes ? -1 : 1) : x->addr < y->addr ? -1 : x->addr > y->addr;
}

/* The most bytes first; those that hold nothing any more are left out. */
static void sort_roots(struct reach_result *r, struct mark *m)
{
	size_t n = m->roots.n, n_kept = 0;
	_cleanup_free_ uint32_t *order = xmalloc((n + 1) * sizeof(*order)), *place = xcalloc(n + 1, sizeof(*place));

	for (size_t i = 0; i < r->first.blocks.n; i++) {
		struct reach_root *root = m->root[i] ? &m->roots.v[m->root[i] - 1] : NULL;

		if (root) {
			root->blocks++;
			root->bytes += r->first.blocks.v[i].usable;
		}
	}
	for (size_t i = 0; i < n; i++)
		if (m->roots.v[i].blocks)
			order[n_kept++] = i;
	if (n_kept)
		qsort_r(order, n_kept, sizeof(*order), by_bytes, m->roots.v);
	for (size_t i = 0; i < n_kept; i++) {
		*vec_push(&r->roots) = m->roots.v[order[i]];
		place[order[i] + 1] = i + 1;
	}
	for (size_t i = 0; i < r->first.blocks.n; i++)
		m->root[i] = place[m->root[i]];
	r->root = m->root;
	m->root = NULL;
}

/* ---- all of it */

static void conclude(struct mark *m, struct candidates *c, struct reach_result *r)
{
	_cleanup_free_ uint8_t *judged = xmalloc(c->blocks.n + 1);

	candidates__judge(c, judged);

	r->state = xcalloc(r->first.blocks.n + 1, 1);
	for (size_t i = 0; i < c->blocks.n; i++)
		r->state[c->number.v[i]] = judged[i];
	/* what newer blocks seemed to lead to, and does not lead to any more, nobody holds */
	for (size_t i = 0; m->root && i < c->blocks.n; i++)
		if (judged[i] != REACHED)
			m->root[c->number.v[i]] = 0;
	if (m->root)
		sort_roots(r, m);
}

int reach__run(struct target *t, const struct reach_opts *o, struct reach_result *ret, struct err *e)
{
	struct reach_result r = {};
	struct candidates c = {};
	struct search s = {};
	struct mark m = {};
	unsigned int n_failed = 0, n_quiet = QUIET_SCANS;
	int err;

	search__init(&s, t);
	err = first_scan(&s, o, &m, &r, e);
	if (!err)
		err = candidates__init(&c, &m, e);
	r.n_candidates = c.blocks.n;
	/* as long as scans find pointers that those before them have not, more would be found */
	while (!err && c.n_remain && !o->paused && (r.is.scans < o->scans || (n_quiet < QUIET_SCANS && r.is.scans < MORE_SCANS * o->scans))) {
		err = next_scan(&s, o, &c, &r, e);
		if (!err)
			n_quiet = c.n_hit ? 0 : n_quiet + 1;
		/* no census was to be had: the heap moved too fast, and may not the next time */
		if (err == -EAGAIN && n_failed++ < MAX_FAILED) {
			err_done(e);
			err = 0;
		}
	}
	if (!err)
		conclude(&m, &c, &r);
	candidates__done(&c);
	mark__done(&m);
	search__done(&s);
	/* what was found until then is half a search, but for the blocks */
	if (err == -EINTR) {
		ret->first = r.first;
		r.first = (struct census){};
	}
	if (err)
		reach_result__done(&r);
	else
		*ret = r;
	return err;
}

void reach_result__done(struct reach_result *r)
{
	census__done(&r->first);
	free(r->state);
	free(r->root);
	vec_done(&r->roots);
	*r = (struct reach_result){};
}
