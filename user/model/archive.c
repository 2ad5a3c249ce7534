// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns what lives had in the kernel's tables when they were taken out of them,
 * and the files that their stacks lead through.
 *
 * It is bounded: beyond its limits what is smallest is aggregated (archive_fold.c).
 * What always holds: a file is held as long as a stack leads through it.
 */
#include <string.h>

#include "model/life.h"

static const struct archive_limits preset = { .lives = 4096, .sites = 32768, .frames = 1u << 20, .points = 1u << 17,
					      .frees = 1u << 17 };

/* Threads of a life that are kept one by one once it is here: those that allocated the most. */
#define MAX_THREADS 64

struct kept_module {
	const void *handle;	/* distinguishes it from others; NULL: it was no file, then its path does */
	char *path, *build_id;
	size_t refs;		/* of places */
};

struct kept_place {
	struct kept_module *module;	/* NULL: in no known mapping */
	uint64_t offset;
	size_t refs;		/* of stacks */
	uint32_t index;		/* in the places of the model */
	uint64_t made_for;	/* as long as places.n_forgotten + 1 is this */
};

/* Lives that leave together: most of their stacks share most of their places. */
struct batch {
	struct archive *archive;
	struct places *places;
	const struct model_calls *calls;
	struct life *const *leaving;	/* by number; NULL: it stays */
	struct kept_place **known;	/* by index in places; owned, with a reference to each */
	size_t n_known;
	uint32_t *site_of;	/* by number in the kernel's tables: index + 1 of what was kept of it; owned */
	size_t n_numbers;
};

void archive__init(struct archive *a)
{
	a->limits = preset;
}

/* ---- places and files */

static uint64_t hash_of_module(const void *handle, const char *path)
{
	return handle ? hash__mix((uintptr_t)handle, hash__seed()) : hash__string(path);
}

static bool same_module(const void *value, const void *want)
{
	const struct kept_module *m = value;
	const struct snap_module *from = want;

	return m->handle == from->handle && (m->handle || !strcmp(m->path, from->path));
}

static void put_module(struct archive *a, struct kept_module *m)
{
	if (!m || --m->refs)
		return;
	hash__remove_value(&a->modules, hash_of_module(m->handle, m->path), m);
	if (m->handle && a->calls.let_go)
		a->calls.let_go(m->handle);
	free(m->path);
	free(m->build_id);
	free(m);
}

static struct kept_module *get_module(struct archive *a, const struct snap_module *from)
{
	uint64_t hash = hash_of_module(from->handle, from->path);
	struct kept_module *m = hash__find(&a->modules, hash, same_module, from);

	if (m) {
		m->refs++;
		return m;
	}
	m = xcalloc(1, sizeof(*m));
	m->path = xstrdup(from->path);
	m->build_id = from->build_id ? xstrdup(from->build_id) : NULL;
	hash__add(&a->modules, hash, m);
	m->refs = 1;
	m->handle = from->handle;
	if (m->handle && a->calls.keep)
		a->calls.keep(m->handle);
	return m;
}

static uint64_t hash_of_place(const struct kept_place *p)
{
	return hash__mix((uintptr_t)p->module, p->offset);
}

static bool same_place(const void *value, const void *want)
{
	const struct kept_place *a = value, *b = want;

	return a->module == b->module && a->offset == b->offset;
}

static void put_place(struct archive *a, struct kept_place *p)
{
	if (!p || --p->refs)
		return;
	hash__remove_value(&a->places, hash_of_place(p), p);
	put_module(a, p->module);
	free(p);
}

static struct kept_place *get_place(struct archive *a, const struct places *places, uint32_t index)
{
	const struct place *from = &places->list.v[index];
	struct kept_place find = { .offset = from->offset, .refs = 1 }, *p;

	if (from->module >= 0)
		find.module = get_module(a, &places->modules.v[from->module]);
	p = hash__find(&a->places, hash_of_place(&find), same_place, &find);
	if (p) {
		put_module(a, find.module);
		p->refs++;
		return p;
	}
	p = xmalloc(sizeof(*p));
	*p = find;
	hash__add(&a->places, hash_of_place(p), p);
	return p;
}

void kept_site__stack(const struct kept_site *s, struct places *places, uint32_t *ret)
{
	for (uint32_t i = 0; i < s->n_stack; i++) {
		struct kept_place *p = s->stack[i];

		if (p->made_for != places->n_forgotten + 1) {
			struct kept_module *m = p->module;
			struct address at = { .offset = p->offset };

			if (m)
				at = (struct address){ .module = m->handle ? m->handle : m,
						       .handle = m->handle,
						       .path = m->path,
						       .build_id = m->build_id,
						       .offset = p->offset };
			places__index(places, &at, &p->index);
			p->made_for = places->n_forgotten + 1;
		}
		ret[i] = p->index;
	}
}

/* ---- sites */

void kept_site__drop_stack(struct archive *a, struct kept_site *s)
{
	a->n_points -= s->course.points.n;
	course__done(&s->course);
	for (uint32_t i = 0; i < s->n_stack; i++)
		put_place(a, s->stack[i]);
	a->n_frames -= s->n_stack;
	free(s->stack);
	s->stack = NULL;
	s->n_stack = 0;
}

void kept__free(struct archive *a, struct kept *k)
{
	if (!k)
		return;
	for (size_t i = 0; i < k->sites.n; i++)
		kept_site__drop_stack(a, &k->sites.v[i]);
	a->n_sites -= k->sites.n;
	for (size_t i = 0; i < k->wheres.n; i++)
		kept_site__drop_stack(a, &k->wheres.v[i]);
	a->n_wheres -= k->wheres.n;
	a->n_frees -= k->frees.n;
	vec_done(&k->sites);
	vec_done(&k->bare);
	vec_done(&k->wheres);
	vec_done(&k->frees);
	free(k);
}

static struct kept_place *place_of(struct batch *b, uint32_t index)
{
	if (index >= b->n_known) {
		size_t more = MAX(b->places->list.n, index + (size_t)1);
		struct kept_place **v = xreallocarray(b->known, more, sizeof(*v));

		memset(v + b->n_known, 0, (more - b->n_known) * sizeof(*v));
		b->known = v;
		b->n_known = more;
	}
	if (!b->known[index])
		b->known[index] = get_place(b->archive, b->places, index);
	return b->known[index];
}

void kept__note_bare(struct kept *k, size_t site)
{
	uint32_t *slot = vec_push(&k->bare);

	*slot = site;
}

static void keep_course(struct archive *a, struct kept_site *s, const struct course *c)
{
	size_t n = c ? c->points.n : 0;

	if (!n || a->n_points + n > a->limits.points)
		return;
	s->course.points.v = xmalloc(n * sizeof(*c->points.v));
	memcpy(s->course.points.v, c->points.v, n * sizeof(*c->points.v));
	s->course.points.n = s->course.points.room = n;
	a->n_points += n;
}

/* Its figures, without what is true of the kernel's tables alone. */
static void keep_row(const struct snap_site *row, struct kept_site *to)
{
	to->row = *row;
	to->row.frames = NULL;
	to->row.n_frames = 0;
	to->row.raw_ages = NULL;
	/* the look that it is of will be gone */
	to->row.look = NULL;
	to->row.looked_blocks = to->row.unreached_blocks = to->row.unreached_bytes = 0;
}

/* Its stack is kept with to, and its number forgotten. */
static void keep_stack(struct batch *b, const struct snap_site *row, struct kept_site *to)
{
	const uint32_t *stack;

	if (!row->n_frames)
		return;
	stack = places__of_site(b->places, row, b->calls);
	places__forget_site(b->places, row->number);
	to->stack = xcalloc(row->n_frames, sizeof(*to->stack));
	for (uint32_t i = 0; i < row->n_frames; i++) {
		struct kept_place *p = place_of(b, stack[i]);

		p->refs++;
		to->stack[to->n_stack++] = p;
		b->archive->n_frames++;
	}
}

struct idle_row {		/* of a cut: holds nothing */
	uint64_t alloc_bytes;
	size_t row;
};

COMPARATOR(by_alloc_bytes, struct idle_row, ORDER(a->alloc_bytes, b->alloc_bytes))

/*
 * Which rows are not worth their stacks: of what holds nothing, those that allocated the least, if there are more than the archive has
 * room for or would soon fold. To find the places of so many stacks takes a second, and whoever is traced meanwhile
 * runs out of room. By row; the caller's.
 */
static bool *choose_bare(const struct batch *b, const struct cut *cut)
{
	const struct archive *a = b->archive;
	size_t most = MAX(a->limits.sites / 8, a->limits.sites - MIN(a->n_sites, a->limits.sites)), n = 0;
	_cleanup_free_ struct idle_row *v = xcalloc(cut->n_sites + 1, sizeof(*v));
	bool *ret = xcalloc(cut->n_sites + 1, sizeof(*ret));

	for (size_t i = 0; i < cut->n_sites; i++) {
		const struct snap_site *row = &cut->sites[i];

		if (row->proc < MT_PROC_NUMBERS && b->leaving[row->proc] && row->n_frames && !site__is_live(row))
			v[n++] = (struct idle_row){ row->c.alloc_bytes, i };
	}
	if (n > most)
		qsort(v, n, sizeof(*v), by_alloc_bytes);
	for (size_t i = 0; i + most < n; i++)
		ret[v[i].row] = true;
	return ret;
}

/* ---- frees */

static void keep_wheres(struct batch *b, const struct cut *cut, uint32_t *where_of)
{
	for (size_t i = 0; i < cut->n_wheres; i++) {
		const struct snap_site *row = &cut->wheres[i];
		struct life *l = row->proc < MT_PROC_NUMBERS ? b->leaving[row->proc] : NULL;
		struct kept_site *to;

		if (!l)
			continue;
		to = vec_push(&l->kept->wheres);
		b->archive->n_wheres++;
		where_of[row->number] = l->kept->wheres.n;
		keep_row(row, to);
		keep_stack(b, row, to);
	}
}

static void keep_frees(struct batch *b, const struct cut *cut)
{
	_cleanup_free_ uint32_t *where_of = NULL;	/* by number: index + 1 */
	_cleanup_free_ struct life **life_of = NULL;	/* by number of the place */
	size_t n_numbers = 0;

	for (size_t i = 0; i < cut->n_wheres; i++)
		n_numbers = MAX(n_numbers, cut->wheres[i].number + (size_t)1);
	if (!n_numbers)
		return;
	where_of = xcalloc(n_numbers, sizeof(*where_of));
	life_of = xcalloc(n_numbers, sizeof(*life_of));
	keep_wheres(b, cut, where_of);
	for (size_t i = 0; i < cut->n_wheres; i++)
		if (where_of[cut->wheres[i].number])
			life_of[cut->wheres[i].number] = b->leaving[cut->wheres[i].proc];
	for (size_t i = 0; i < cut->n_frees; i++) {
		const struct snap_free *f = &cut->frees[i];
		struct life *l = f->where < n_numbers ? life_of[f->where] : NULL;
		struct snap_free *to;

		if (!l || f->site >= b->n_numbers || !b->site_of[f->site])
			continue;
		to = vec_push(&l->kept->frees);
		*to = *f;
		to->site = b->site_of[f->site] - 1;
		to->where = where_of[f->where] - 1;
		b->archive->n_frees++;
	}
}

/* ---- lives */

static const struct cut_proc *row_of(const struct cut *cut, uint32_t proc)
{
	for (size_t i = 0; i < cut->n_procs; i++)
		if (cut->procs[i].proc == proc)
			return &cut->procs[i];
	return NULL;
}

/* Appended to those of its life, with its stack or without */
static void keep_site(struct model *m, struct batch *b, struct kept *k, const struct snap_site *row, bool bare)
{
	struct kept_site *to, folded = {};

	k->live_bytes += row->c.alloc_bytes - row->c.free_bytes;
	keep_row(row, &folded);
	folded.row.since_baseline_bytes = baseline__change(&m->baseline, row);
	if (bare) {
		places__forget_site(b->places, row->number);
		if (kept__fold_into(k, &folded)) {
			b->site_of[row->number] = folded.moves_to + 1;
			return;
		}
	}
	to = vec_push(&k->sites);
	*to = folded;
	b->archive->n_sites++;
	b->site_of[row->number] = k->sites.n;
	if (bare) {
		kept__note_bare(k, k->sites.n - 1);
		return;
	}
	keep_stack(b, row, to);
	if (!row->n_frames)
		kept__note_bare(k, k->sites.n - 1);
	to->row.most_calls_per_s = history__most_calls_per_s(&m->history, row);
	if (site__is_live(&to->row))
		keep_course(b->archive, to, history__of_site(&m->history, row));
}

static void keep_sites(struct model *m, struct batch *b, const struct cut *cut)
{
	_cleanup_free_ bool *bare = choose_bare(b, cut);

	for (size_t i = 0; i < cut->n_sites; i++) {
		const struct snap_site *row = &cut->sites[i];
		struct life *l = row->proc < MT_PROC_NUMBERS ? b->leaving[row->proc] : NULL;

		if (l)
			keep_site(m, b, l->kept, row, bare[i] || row->evicted_stacks);
	}
}

void model__archive(struct model *m, const uint32_t *procs, size_t n, const struct cut *cut, uint64_t mappings,
		   const struct model_calls *calls)
{
	_cleanup_free_ struct life **leaving = xcalloc(MT_PROC_NUMBERS, sizeof(*leaving));
	struct batch b = { .archive = &m->archive, .places = &m->places, .calls = calls, .leaving = leaving };
	size_t n_modules;

	for (size_t i = 0; i < cut->n_sites; i++)
		b.n_numbers = MAX(b.n_numbers, cut->sites[i].number + (size_t)1);
	b.site_of = xcalloc(b.n_numbers + 1, sizeof(*b.site_of));
	places__begin(&m->places, mappings);
	for (size_t i = 0; i < n; i++) {
		struct life *l = model__life(m, procs[i]);
		const struct cut_proc *row = row_of(cut, procs[i]);

		if (!l)
			continue;
		l->kept = xcalloc(1, sizeof(*l->kept));
		if (row)
			l->kept->row = *row;
		l->row.ended = true;
		leaving[procs[i]] = l;
		m->archive.n_lives++;
	}
	keep_sites(m, &b, cut);
	keep_frees(&b, cut);
	for (size_t i = 0; i < n; i++) {
		struct life *l = procs[i] < MT_PROC_NUMBERS ? leaving[procs[i]] : NULL;

		if (!l)
			continue;
		model__forget_number(m, l);
		life__fold_threads(l, MAX_THREADS);
	}
	for (size_t i = 0; i < b.n_known; i++)
		put_place(&m->archive, b.known[i]);
	free(b.known);
	free(b.site_of);
	n_modules = m->archive.modules.n;
	archive__fold(m);
	/* what was located by the names of files that are gone */
	if (m->archive.modules.n != n_modules)
		places__done(&m->places);
}

void archive__done(struct archive *a)
{
	/* each went with the last stack that it was in */
	hash__done(&a->places);
	hash__done(&a->modules);
}
