// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns which sites are one row. What always holds: sites of different processes, threads, tags and kinds of growth are
 * different rows; which row a site is in depends on its attributed frame alone, not on the order of sites.
 */
#include "present/rows.h"

#include <errno.h>
#include <string.h>

#include "model/group.h"
#include "model/merge.h"
#include "present/figures.h"
#include "present/text/report_parts.h"
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

static const char *function_of(const struct frame *f)
{
	return text_or_none(f->line ? f->line->function : NULL);
}

/* Code that no file has, such as a JIT compiler's: its addresses say nothing. */
static bool is_nameless_code(const struct frame *f)
{
	return !*function_of(f) && (!f->module || *f->module == '[');
}

/* An address tells apart only what has neither a name nor a line. */
static uint64_t address_of(const struct frame *f)
{
	return !f->place || *function_of(f) || is_nameless_code(f) || (f->line && f->line->line) ? 0 : f->place->offset;
}

static bool same_frame(const struct frame *a, const struct frame *b)
{
	uint32_t line_a = a->line ? a->line->line : 0, line_b = b->line ? b->line->line : 0;

	return line_a == line_b && address_of(a) == address_of(b) && !a->place == !b->place &&
	       !strcmp(function_of(a), function_of(b)) && !strcmp(text_or_none(frame__origin(a)), text_or_none(frame__origin(b))) &&
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
	uint64_t h = hash__mix(hash__string(function_of(&f)), (uint64_t)k->site->process << 32 | (uint32_t)k->site->tid);

	h = hash__mix(h, f.line ? f.line->line : 0);
	return hash__mix(h, address_of(&f));
}

uint64_t row__id(const struct snapshot *s, const struct tellings *t, const struct snap_site *site)
{
	struct frame f = tellings__of(t, s, site);
	uint64_t h = hash__mix(hash__string(function_of(&f)), (uint64_t)s->processes[site->process].id << 32 | (uint32_t)site->tid);

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
	struct snap_site as_site = { .c = t->c };

	return key ? metric__of(key, &as_site) : t->c.alloc_calls;
}

static int heavier_first(const struct thread_row *a, const struct thread_row *b, const struct metric *key)
{
	uint64_t wa = weight(a, key), wb = weight(b, key);

	if (wa == wb) {
		wa = a->c.alloc_calls + a->c.free_calls;
		wb = b->c.alloc_calls + b->c.free_calls;
	}
	if (wa != wb)
		return wa < wb ? 1 : -1;
	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	return a->tid != b->tid ? a->tid < b->tid ? -1 : 1 : strcmp(a->name, b->name);
}

static int by_pattern(const void *pa, const void *pb, void *arg)
{
	const struct sorting *o = arg;
	uint32_t ia = *(const uint32_t *)pa, ib = *(const uint32_t *)pb;
	int d;

	if (o->v[ia].process != o->v[ib].process)
		return o->v[ia].process < o->v[ib].process ? -1 : 1;
	d = strcmp(o->patterns[ia], o->patterns[ib]);
	return d ? d : heavier_first(&o->v[ia], &o->v[ib], o->key);
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

/* ---- the table */

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
