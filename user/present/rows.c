// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns which sites are one row, and which processes and sites come first where several processes grow. What always holds: sites of different processes, threads, tags and kinds of growth are
 * different rows; which row a site is in depends on its attributed frame alone, not on the order of sites.
 */
#include "present/rows.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "model/group.h"
#include "model/merge.h"
#include "model/rss_trend.h"
#include "present/columns.h"
#include "present/frames.h"
#include "util/hash.h"
#include "util/ids.h"
#include "util/text.h"
#include "util/util.h"

struct row_key {
	const struct snapshot *s;
	const struct tellings *t;
	const struct snap_site *site;
	const uint32_t *first;	/* by row: a site that is in it */
};

static const char *text_or_none(const char *s)
{
	return s ? s : "";
}

/* An address tells apart only what has neither a name nor a line. Of code that no file has, such as a JIT compiler's, it says nothing. */
static uint64_t address_of(const struct frame *f)
{
	bool in_no_file = !f->module || *f->module == '[';

	return !f->place || frame__function(f) || in_no_file || (f->line && f->line->line) ? 0 : f->place->offset;
}

static bool same_frame(const struct frame *a, const struct frame *b)
{
	uint32_t line_a = a->line ? a->line->line : 0, line_b = b->line ? b->line->line : 0;

	return line_a == line_b && address_of(a) == address_of(b) && !a->place == !b->place &&
	       !strcmp(text_or_none(frame__function(a)), text_or_none(frame__function(b))) && !strcmp(text_or_none(frame__origin(a)), text_or_none(frame__origin(b))) &&
	       !strcmp(text_or_none(a->line ? a->line->file : NULL), text_or_none(b->line ? b->line->file : NULL));
}

static bool same_owner(const struct snap_site *a, const struct snap_site *b)
{
	return a->process == b->process && a->tid == b->tid && !strcmp(text_or_none(a->thread), text_or_none(b->thread)) && a->tag == b->tag && a->growth == b->growth &&
	       !a->evicted_stacks == !b->evicted_stacks && site__is_arena(a) == site__is_arena(b);
}

static bool same_row(const void *arg, uint32_t row)
{
	const struct row_key *k = arg;
	const struct snap_site *other = &k->s->sites[k->first[row]];
	struct frame a, b;

	if (!same_owner(k->site, other))
		return false;
	a = tellings__of(k->t, k->s, k->site);
	b = tellings__of(k->t, k->s, other);
	return same_frame(&a, &b);
}

static uint64_t hash_of(const struct row_key *k)
{
	struct frame f = tellings__of(k->t, k->s, k->site);
	uint64_t h = hash__mix(hash__string(text_or_none(frame__function(&f))), (uint64_t)k->site->process << 32 | (uint32_t)k->site->tid);

	h = hash__mix(h, f.line ? f.line->line : 0);
	return hash__mix(h, address_of(&f));
}

uint64_t row__id(const struct snapshot *s, const struct tellings *t, const struct snap_site *site)
{
	struct frame f = tellings__of(t, s, site);
	uint64_t h = hash__mix(hash__string(text_or_none(frame__function(&f))), (uint64_t)s->processes[site->process].id << 32 | (uint32_t)site->tid);

	h = hash__mix(h, (uint64_t)(f.line ? f.line->line : 0) << 32 | site->tag << 1 | site__is_arena(site));
	h = hash__mix(h, hash__string(text_or_none(site->thread)));
	h = hash__mix(h, hash__string(text_or_none(f.line ? f.line->file : NULL)));
	h = hash__mix(h, hash__string(text_or_none(frame__origin(&f))));
	return hash__mix(h, address_of(&f));
}

struct snapshot *rows__of(const struct snapshot *s, const struct tellings *t, uint64_t leak_after_ns, uint32_t **ret_row_of)
{
	_cleanup_free_ uint32_t *row_of = xcalloc(s->n_sites + 1, sizeof(*row_of)), *first = xcalloc(s->n_sites + 1, sizeof(*first));
	struct id_table index = {};
	struct snapshot *rows = NULL;
	size_t n = 0;

	id_table__init(&index, s->n_sites);
	for (size_t i = 0; i < s->n_sites; i++) {
		struct row_key key = { s, t, &s->sites[i], first };
		uint32_t *slot = id_table__find(&index, hash_of(&key), same_row, &key);

		if (!*slot) {
			first[n] = (uint32_t)i;
			*slot = ++n;
		}
		row_of[i] = *slot - 1;
	}
	rows = snapshot__merge_sites(s, row_of, n, leak_after_ns);
	id_table__done(&index);
	if (ret_row_of) {
		*ret_row_of = row_of;
		row_of = NULL;
	}
	return rows;
}

/* ---- threads */

/*
 * The threads' table:
 *
 *	THREADS by calls (3 of 3 names, 10 threads, 100% of calls)
 *
 *	CALLS  CALLS/s      BYTES    AVG  FREES  TEMP  THREADS  ENDED   TID  THREAD
 *	2.19M   73,129  424.3 MiB  202 B  2.16M   95%                  1432  redis-server
 *	4,096      136    1.0 MiB  256 B  4,000    0%        8      1        worker-*
 *	1,024       34  256.0 KiB  256 B  1,000    0%             yes  1440    worker-1
 *
 * What always holds: each thread is in one row; members are listed below their
 * row all or none, as far as the lines that were asked for suffice.
 */

struct sorting {
	char *const *patterns;	/* by thread */
	const struct thread_row *v;
	const struct metric *key;
};

static uint64_t weight(const struct thread_row *t, const struct metric *key)
{
	return key ? rank__of_counters(key, &t->c) : t->c.alloc_calls;
}

static int heavier_first(const struct thread_row *a, const struct thread_row *b, const struct metric *key)
{
	return ORDER(weight(b, key), weight(a, key)) ?: ORDER(b->c.alloc_calls + b->c.free_calls, a->c.alloc_calls + a->c.free_calls) ?:
	       ORDER(a->process, b->process) ?: ORDER(a->tid, b->tid) ?: strcmp(a->name, b->name);
}

static int by_pattern(const void *pa, const void *pb, void *arg)
{
	const struct sorting *o = arg;
	uint32_t ia = *(const uint32_t *)pa, ib = *(const uint32_t *)pb;

	return ORDER(o->v[ia].process, o->v[ib].process) ?: strcmp(o->patterns[ia], o->patterns[ib]) ?: heavier_first(&o->v[ia], &o->v[ib], o->key);
}

static int by_weight(const void *pa, const void *pb, void *arg)
{
	return heavier_first(pa, pb, arg);
}

/* A thread that was gone when its name was asked for; the first one's is the process's. */
static const char *name_or(const struct snap_process *p, const struct snap_thread *t)
{
	return *t->comm ? t->comm : t->tid == p->pid ? p->comm : "?";
}

static size_t list_all(struct thread_row *v, const struct snapshot *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n_processes; i++)
		for (size_t k = 0; k < s->processes[i].n_threads; k++) {
			const struct snap_thread *t = &s->processes[i].threads[k];

			v[n++] = (struct thread_row){
				.process = i, .tid = t->tid, .name = name_or(&s->processes[i], t), .n_threads = 1, .n_ended = t->ended,
				.stands_for = t->stands_for, .c = t->c,
			};
		}
	return n;
}

/* *name is theirs from now on: until here it was the pattern of the first one. */
static void name_several(struct thread_row *row, char **name)
{
	char *sum = xstrdup(row->members->name);

	for (size_t i = 1; i < row->n_threads; i++)
		numbered__add(sum, row->members[i].name);
	numbered__end(sum);
	free(*name);
	*name = sum;
	row->name = sum;
}

void thread_rows__init(struct thread_rows *t, const struct snapshot *s, const struct metric *key)
{
	_cleanup_free_ struct thread_row *all = NULL;
	_cleanup_free_ uint32_t *order = NULL;
	struct sorting o;
	size_t n = 0;

	*t = (struct thread_rows){};
	for (size_t i = 0; i < s->n_processes; i++)
		n += s->processes[i].n_threads;
	all = xcalloc(n + 1, sizeof(*all));
	order = xcalloc(n + 1, sizeof(*order));
	t->v = xcalloc(n + 1, sizeof(*t->v));
	t->members = xcalloc(n + 1, sizeof(*t->members));
	t->names = xcalloc(n + 1, sizeof(*t->names));
	t->n_members = list_all(all, s);
	for (size_t i = 0; i < n; i++) {
		order[i] = i;
		t->names[i] = numbered__pattern(all[i].name);
	}
	o = (struct sorting){ t->names, all, key };
	qsort_r(order, n, sizeof(*order), by_pattern, &o);
	for (size_t i = 0; i < n; i++) {
		const struct thread_row *m = &all[order[i]];
		struct thread_row *row = i ? &t->v[t->n - 1] : NULL;

		t->members[i] = *m;
		if (!row || row->process != m->process || strcmp(t->names[order[i]], t->names[order[i - 1]])) {
			row = &t->v[t->n++];
			*row = *m;
			row->members = &t->members[i];
			continue;
		}
		row->tid = 0;
		row->n_threads++;
		row->n_ended += m->n_ended;
		counters__add(&row->c, &m->c);
	}
	for (size_t i = 0; i < t->n; i++)
		if (t->v[i].n_threads > 1)
			name_several(&t->v[i], &t->names[order[t->v[i].members - t->members]]);
	qsort_r(t->v, t->n, sizeof(*t->v), by_weight, (void *)key);
	for (size_t i = 0; i < t->n_members; i++)
		t->members[i].member = true;
}

void thread_rows__done(struct thread_rows *t)
{
	for (size_t i = 0; t->names && i < t->n_members; i++)
		free(t->names[i]);
	free(t->names);
	free(t->members);
	free(t->v);
	*t = (struct thread_rows){};
}

/* ---- rows that are sums of sites */

/*
 * Rows that are sums of sites:
 *
 *	    LIVE      TOTAL  SHARE  BLOCKS   CALLS  FREED  STACKS  FUNCTION             MODULE
 *	31.0 MiB   31.0 MiB  75.2%  31,744  31,744     0%       3  trackingRememberKey  redis-server
 *
 * What always holds: each site that is shown is in one row, so rows add up to them; the
 * order depends on figures and names alone. TOTAL does not add up: a stack goes through many
 * functions, and counts once for each of them.
 */

struct part {			/* a site, while rows are made */
	struct sum_key key;
	const struct snap_site *site;
};

static int by_key(const struct sum_key *a, const struct sum_key *b)
{
	return strcmp(a->name, b->name) ?: strcmp(a->module, b->module);
}

COMPARATOR(parts_by_key, struct part, by_key(&a->key, &b->key) ?: ORDER(a->site, b->site))

COMPARATOR(heavier_sum_first, struct sum_row,
	   ORDER(b->weight, a->weight) ?: ORDER(b->sum.c.alloc_bytes, a->sum.c.alloc_bytes) ?: by_key(&a->key, &b->key))

/* Parts are in the order of their keys. */
static void add_up(struct sum_rows *r, const struct part *parts, size_t n, const struct metric *key)
{
	uint64_t whole = 0;

	for (size_t i = 0; i < n; i++) {
		struct sum_row *row;

		if (!i || by_key(&parts[i].key, &parts[i - 1].key)) {
			r->v[r->n] = (struct sum_row){ .key = parts[i].key, .number = (uint32_t)r->n };
			r->n++;
		}
		row = &r->v[r->n - 1];
		tag_sum__add(&row->sum, parts[i].site);
		row->since_baseline_bytes += parts[i].site->since_baseline_bytes;
		trend__add(&row->trend, &parts[i].site->trend);
		if (parts[i].site->oldest_ns > (row->oldest ? row->oldest->oldest_ns : 0))
			row->oldest = parts[i].site;
		row->weight += metric__of(key, parts[i].site);
		whole += metric__of(key, parts[i].site);
	}
	for (size_t i = 0; i < r->n; i++) {
		r->v[i].whole = whole;
		/* stacks that each are steady may become more and more */
		if (r->v[i].sum.n_sites > 1 && !verdict__is_alarm(r->v[i].trend.verdict))
			r->v[i].trend = (struct trend){};
	}
}

/* Which row each site went to, now that rows are in their order. */
static void note_rows(struct sum_rows *r, const struct snapshot *s, const struct part *parts, size_t n)
{
	_cleanup_free_ uint32_t *places = xcalloc(r->n + 1, sizeof(*places));
	size_t number = 0;

	for (size_t i = 0; i < r->n; i++)
		places[r->v[i].number] = (uint32_t)i + 1;
	for (size_t i = 0; i < n; i++) {
		number += i && by_key(&parts[i].key, &parts[i - 1].key);
		r->of[parts[i].site - s->sites] = places[number];
	}
}

/* ---- what goes through a row */

COMPARATOR(rows_by_key, struct sum_row *const, by_key(&(*a)->key, &(*b)->key))

struct through {
	struct sum_row **rows;	/* in the order of their keys */
	uint32_t *first;	/* by place: where its rows begin in the next */
	uint32_t *of;		/* 1 + a row for each frame of each place; 0: it has none */
	uint32_t *seen;		/* by row: 1 + the site that was added last */
};

static void find_rows(struct through *w, const struct sum_rows *r, const struct view *v, const struct snapshot *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n_places; i++)
		n += place__n_frames(&s->places[i]);
	w->rows = xcalloc(r->n + 1, sizeof(*w->rows));
	w->seen = xcalloc(r->n + 1, sizeof(*w->seen));
	w->first = xcalloc(s->n_places + 1, sizeof(*w->first));
	w->of = xcalloc(n + 1, sizeof(*w->of));
	for (size_t i = 0; i < r->n; i++)
		w->rows[i] = &r->v[i];
	qsort(w->rows, r->n, sizeof(*w->rows), rows_by_key);
	n = 0;
	for (size_t i = 0; i < s->n_places; i++) {
		w->first[i] = (uint32_t)n;
		for (size_t k = 0; k < place__n_frames(&s->places[i]); k++) {
			struct frame f = place__frame(s, &s->places[i], k);
			struct sum_row wanted = { .key = v->sum_by(&f) }, *key = &wanted, **found;

			found = bsearch(&key, w->rows, r->n, sizeof(*w->rows), rows_by_key);
			w->of[n++] = found ? (uint32_t)(*found - r->v) + 1 : 0;
		}
	}
	w->first[s->n_places] = (uint32_t)n;
}

static void pass(struct through *w, struct sum_rows *r, uint32_t row, uint32_t site, uint64_t weight)
{
	/* a function that calls itself is there more than once, its stack is not */
	if (!row || w->seen[row - 1] == site + 1)
		return;
	w->seen[row - 1] = site + 1;
	r->v[row - 1].total += weight;
}

/* Of each site all rows that any of its frames would belong to, each once. */
static void add_totals(struct sum_rows *r, const struct view *v, const struct snapshot *s)
{
	const struct metric *bytes = metric__preset(s->known);
	struct through w = {};

	find_rows(&w, r, v, s);
	for (size_t i = 0; i < s->n_sites; i++) {
		const struct snap_site *site = &s->sites[i];

		if (!r->of[i])
			continue;
		pass(&w, r, r->of[i], (uint32_t)i, metric__of(bytes, site));
		for (uint32_t k = 0; k < site->n_stack; k++)
			for (uint32_t m = w.first[site->stack[k]]; m < w.first[site->stack[k] + 1]; m++)
				pass(&w, r, w.of[m], (uint32_t)i, metric__of(bytes, site));
	}
	free(w.rows);
	free(w.seen);
	free(w.first);
	free(w.of);
}

void sum_rows__init(struct sum_rows *r, const struct view *v, const struct snapshot *s, const struct tellings *t, const struct metric *key,
		   bool (*takes)(void *arg, const struct snap_site *site), void *arg)
{
	_cleanup_free_ struct part *parts = xcalloc(s->n_sites + 1, sizeof(*parts));
	size_t n = 0;

	*r = (struct sum_rows){ .v = xcalloc(s->n_sites + 1, sizeof(*r->v)), .of = xcalloc(s->n_sites + 1, sizeof(*r->of)) };
	for (size_t i = 0; i < s->n_sites; i++)
		if (view__shows(v, &s->sites[i], false) && (!takes || takes(arg, &s->sites[i]))) {
			struct frame f = tellings__of(t, s, &s->sites[i]);

			parts[n++] = (struct part){ v->sum_by(&f), &s->sites[i] };
		}
	qsort(parts, n, sizeof(*parts), parts_by_key);
	add_up(r, parts, n, key);
	qsort(r->v, r->n, sizeof(*r->v), heavier_sum_first);
	note_rows(r, s, parts, n);
	add_totals(r, v, s);
}

void sum_rows__done(struct sum_rows *r)
{
	free(r->v);
	free(r->of);
	*r = (struct sum_rows){};
}

/* ---- where blocks were freed: the places of a site are in one order, whatever the order of rows is */

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
	const struct snap_site *x = &s->free_sites[a], *y = &s->free_sites[b];
	int d = strcmp(x->function, y->function);

	for (uint32_t i = 0; !d && i < MIN(x->n_stack, y->n_stack); i++)
		d = ORDER(s->places[x->stack[i]].offset, s->places[y->stack[i]].offset);
	return d ?: ORDER(x->n_stack, y->n_stack);
}

static int by_calls_down(const void *a, const void *b, void *arg)
{
	const struct free_place *x = a, *y = b;

	return ORDER(y->calls, x->calls) ?: ORDER(y->bytes, x->bytes) ?: compare_wheres(arg, x->where, y->where);
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

/* ---- processes that grow */

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

COMPARATOR(by_growth, struct grower,
	   ORDER(a->p->ended, b->p->ended) ?: ORDER(b->grows, a->grows) ?: ORDER(b->bytes, a->bytes) ?:
	   ORDER(b->p->c.live_bytes, a->p->c.live_bytes) ?: ORDER(a->p->id, b->p->id))

/* In order; the caller's. */
static struct grower *growers_of(const struct snapshot *s)
{
	struct grower *v = xcalloc(s->n_processes + 1, sizeof(*v));

	for (size_t i = 0; i < s->n_processes; i++)
		v[i] = grower_of(s, &s->processes[i]);
	qsort(v, s->n_processes, sizeof(*v), by_growth);
	return v;
}

const struct snap_process **processes__by_growth(const struct snapshot *s)
{
	_cleanup_free_ struct grower *growers = growers_of(s);
	const struct snap_process **v = xcalloc(s->n_processes + 1, sizeof(*v));

	for (size_t i = 0; i < s->n_processes; i++)
		v[i] = growers[i].p;
	return v;
}

/* Without a verdict yet, whatever grew counts. */
static bool may_grow(const struct grower *g)
{
	const char *verdict = g->p->trend.verdict;

	return g->grows || (!g->p->ended && !verdict && g->bytes > 0);
}

COMPARATOR(by_held, struct grower,
	   ORDER(a->p->ended, b->p->ended) ?: ORDER(b->p->c.live_bytes, a->p->c.live_bytes) ?:
	   ORDER(a->p->id, b->p->id))

/* The first that grow, *ret_n of them; where none does, those that hold most. */
static struct grower *first_growers(const struct snapshot *s, size_t *ret_n, const char **ret_verb)
{
	struct grower *v = growers_of(s);
	size_t n = 0;

	for (size_t i = 0; i < s->n_processes && n < GROWERS; i++)
		if (may_grow(&v[i]))
			v[n++] = v[i];
	*ret_verb = "grow";
	if (!n && s->n_processes) {
		qsort(v, s->n_processes, sizeof(*v), by_held);
		*ret_verb = v->p->ended ? "held" : "hold";
		n = MIN(s->n_processes, (size_t)GROWERS);
	}
	*ret_n = n;
	return v;
}

size_t *processes__sites_of_growers(const struct snapshot *s, const char *sort, size_t *ret_n,
				    const char **ret_verb)
{
	size_t n_growers, *v = xcalloc(GROWERS * GROWER_ROWS, sizeof(*v));
	_cleanup_free_ struct grower *growers = first_growers(s, &n_growers, ret_verb);
	struct rank k;

	rank__init(&k, s, VIEW_LIVE, sort ? sort : "growth", false, s->n_sites);
	*ret_n = 0;
	/* of each the first of the ranking */
	for (size_t i = 0; i < n_growers; i++)
		for (size_t at = 0, n = 0; at < k.n && n < GROWER_ROWS; at++)
			if (&s->processes[k.v[at]->process] == growers[i].p) {
				v[(*ret_n)++] = k.v[at] - s->sites;
				n++;
			}
	rank__done(&k);
	return v;
}
