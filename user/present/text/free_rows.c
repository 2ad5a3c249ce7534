// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns what a report tells of frees:
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
#include "present/rows.h"

#include <string.h>

#include "present/figures.h"
#include "present/frames.h"
#include "present/text/report_parts.h"
#include "util/util.h"

#define THREADS_SHOWN 4
#define PLACE_INDENT 4

/* ---- rows → places */

void free_lists__init(struct free_lists *l, const struct snapshot *s)
{
	l->start = xcalloc(s->n_sites + 2, sizeof(*l->start));
	l->v = xcalloc(s->n_frees + 1, sizeof(*l->v));
	for (size_t i = 0; i < s->n_frees; i++)
		l->start[s->frees[i].site + 2]++;
	for (size_t i = 2; i < s->n_sites + 2; i++)
		l->start[i] += l->start[i - 1];
	for (size_t i = 0; i < s->n_frees; i++)
		l->v[l->start[s->frees[i].site + 1]++] = (uint32_t)i;
}

void free_lists__done(struct free_lists *l)
{
	free(l->start);
	free(l->v);
	*l = (struct free_lists){};
}

COMPARATOR(by_where, struct free_place, ORDER(a->where, b->where))

static int compare_wheres(const struct snapshot *s, uint32_t a, uint32_t b)
{
	const struct snap_free_site *x = &s->free_sites[a], *y = &s->free_sites[b];
	int d = strcmp(x->function, y->function);

	for (uint32_t i = 0; !d && i < MIN(x->n_stack, y->n_stack); i++) {
		uint64_t p = s->places[x->stack[i]].offset, q = s->places[y->stack[i]].offset;

		d = p < q ? -1 : p > q;
	}
	return d ? d : x->n_stack < y->n_stack ? -1 : x->n_stack > y->n_stack;
}

static int by_calls_down(const void *a, const void *b, void *arg)
{
	const struct free_place *x = a, *y = b;

	if (x->calls != y->calls)
		return x->calls < y->calls ? 1 : -1;
	if (x->bytes != y->bytes)
		return x->bytes < y->bytes ? 1 : -1;
	return compare_wheres(arg, x->where, y->where);
}

void free_places__of(const struct snapshot *s, const struct free_lists *l, size_t site, struct free_place **ret, size_t *ret_n)
{
	size_t n = l->start[site + 1] - l->start[site], to = 0;
	struct free_place *v = xcalloc(n + 1, sizeof(*v));

	for (size_t i = 0; i < n; i++) {
		const struct snap_free *f = &s->frees[l->v[l->start[site] + i]];

		v[i] = (struct free_place){ f->where, f->calls, f->bytes, f->cross_calls, f->lifetime_sum_ns };
	}
	qsort(v, n, sizeof(*v), by_where);
	for (size_t i = 0; i < n; i++) {
		if (to && v[to - 1].where == v[i].where) {
			v[to - 1].calls += v[i].calls;
			v[to - 1].bytes += v[i].bytes;
			v[to - 1].cross_calls += v[i].cross_calls;
			v[to - 1].lifetime_sum_ns += v[i].lifetime_sum_ns;
		} else {
			v[to++] = v[i];
		}
	}
	qsort_r(v, to, sizeof(*v), by_calls_down, (void *)s);
	*ret = v;
	*ret_n = to;
}

void free_places__shown(const struct snapshot *s, const size_t *sites, size_t n, uint32_t **ret, size_t *ret_n)
{
	_cleanup_free_ bool *seen = xcalloc(s->n_free_sites + 1, sizeof(*seen));
	uint32_t *v = xcalloc(s->n_free_sites + 1, sizeof(*v));
	struct free_lists l = {};
	size_t n_shown = 0;

	free_lists__init(&l, s);
	for (size_t i = 0; i < n; i++) {
		_cleanup_free_ struct free_place *places = NULL;
		size_t n_places = 0;

		free_places__of(s, &l, sites[i], &places, &n_places);
		for (size_t k = 0; k < MIN(n_places, FREE_PLACES_SHOWN); k++) {
			if (!seen[places[k].where])
				v[n_shown++] = places[k].where;
			seen[places[k].where] = true;
		}
	}
	free_lists__done(&l);
	*ret = v;
	*ret_n = n_shown;
}

/* ---- as text */

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
	const struct snap_free_site *w = &r->s->free_sites[p->where];
	struct snap_site stack = { .process = w->process, .function = w->function, .n_stack = w->n_stack, .stack = w->stack, .end = w->end };
	_cleanup_free_ char *function = name__shorten(w->function, r->width / 3);

	para__begin(&r->para, "", indent);
	if (w->n_stack)
		para__item(&r->para, "freed by %s (%s): %s call%s", function, PERCENT(p->calls, whole), EXACT(p->calls), plural(p->calls));
	else
		para__item(&r->para, "freed where nobody knows (%s): %s call%s", PERCENT(p->calls, whole), EXACT(p->calls), plural(p->calls));
	para__item(&r->para, "%s", BYTES(p->bytes));
	para__item(&r->para, "after %s", LIVED(r->s, p->lifetime_sum_ns, p->calls));
	put_threads(r, p, rows, n_rows);
	para__end(&r->para);
	if (w->n_stack)
		frames__write(r->out, r->s, &stack, indent + PLACE_INDENT, frames__name_width(r->s, &stack), r->width);
}

void report__free_places(struct report *r, const struct snap_site *site, size_t indent)
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
