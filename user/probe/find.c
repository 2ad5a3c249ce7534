// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Reads an object's symbols and makes the plan. Owns nothing beyond a call;
 * the plan owns its arrays and one reference to the object.
 *
 * What always holds of a plan: one function per address, one point per
 * (offset, how), no point on an IFUNC's resolver.
 *
 * Usable sizes are read from glibc's block headers, so a function must be
 * glibc's own: in a file that is known to hold glibc's allocator, malloc and its
 * like, but not operator new, which may be the program's and hand out parts of a
 * block. That one is left out then: what it takes comes from malloc.
 */
#include <string.h>

#include "probe/plan.h"
#include "reader/reader.h"
#include "util/clock.h"
#include "util/util.h"

struct found {			/* a symbol that is a row of the table */
	uint32_t row;
	bool local;
	bool doubtful;
	uint16_t flags;
	uint64_t vaddr, size;
};

struct search {
	const struct object *obj;
	const struct alloc_funcs *funcs;
	struct plan_want want;
	bool asked;
	const struct alloc_func **by_name;
	struct vec(struct found) found;
	size_t n_symbols;
	size_t family;		/* the best row of families[] so far */
	bool headers[2];	/* [is_exec]: blocks have glibc's headers */
	/* the function that gives back what a thread's cache holds; 0: not known */
	uint64_t shutdown, shutdown_size;
	bool may_load, may_throw;	/* such functions are looked for in this file */
	/* passers: those that pass calls on, which may refuse them */
	struct spot_points loader, refusals, passers;
};

/*
 * A symbol that only this allocator has, the stronger word first: tcmalloc and mimalloc define
 * glibc's __libc_malloc, too.
 */
static const struct {
	const char *symbol;
	bool is_suffix;
	const char *family;
	bool headers[2];	/* [is_exec]: a program linked with glibc may have another malloc than glibc's */
	/* realloc(p, 0) frees p and gives no block (jemalloc's: unless it is configured otherwise) */
	bool frees_at_0;
} families[] = {
	{ "mallctlnametomib", true, "jemalloc", { false, false }, true },
	{ "tc_version", false, "tcmalloc", { false, false }, true },
	{ "mi_version", true, "mimalloc", { false, false }, false },
	{ "__dls2b", false, "musl", { false, false }, false },
	{ "__libc_malloc_impl", false, "musl", { false, false }, false },
	{ "gnu_get_libc_version", false, "glibc", { true, false }, true },
	{ "_int_malloc", false, "glibc", { true, true }, true },
};

static void note_family(struct search *s, const char *name)
{
	size_t len = strlen(name);

	for (size_t i = 0; i < ARRAY_SIZE(families); i++) {
		size_t want = strlen(families[i].symbol);

		if (families[i].is_suffix ? len >= want && !strcmp(name + len - want, families[i].symbol) :
					    !strcmp(name, families[i].symbol)) {
			s->family = MIN(s->family, i);
			s->headers[0] |= families[i].headers[0];
			s->headers[1] |= families[i].headers[1];
			return;
		}
	}
}

/*
 * glibc's, by the names of its versions. Shared libraries have no names of such functions, and need
 * none: MT_CODE_BY_SLOT.
 */
static void note_shutdown(struct search *s, const struct object_symbol *sym)
{
	static const char *const names[] = { "tcache_thread_shutdown", "__malloc_arena_thread_freeres",
					     "arena_thread_freeres" };

	for (size_t i = 0; i < ARRAY_SIZE(names) && !s->shutdown; i++) {
		if (!strcmp(sym->name, names[i]) && sym->size) {
			s->shutdown = sym->value;
			s->shutdown_size = sym->size;
		}
	}
}

/* ---- what else is probed in a file */

static const struct {
	const char *name;
	enum mt_loader what;
} loaders[] = {
	{ "dlopen", MT_LOADER_OPENS },
	{ "dlmopen", MT_LOADER_OPENS },
	{ "dlclose", MT_LOADER_CLOSES },
};

/* Makes room for an exception, in all C++ runtimes that follow the common ABI. */
#define MAKES_EXCEPTION "__cxa_allocate_exception"

static bool begins_so(const char *name, const char *const *with, size_t n)
{
	return array_first(one, with, n, !strncmp(name, *one, strlen(*one)));
}

/* Only a library of that kind is searched, and a program that may have one in it. */
static void choose_searches(struct search *s)
{
	static const char *const loading[] = { "libc.so", "libc-", "libdl" }, *const throwing[] = { "libstdc++.so", "libc++abi.so", "libc++.so" };
	const char *name = object__file_name(s->obj);

	s->may_load = s->obj->is_exec || begins_so(name, loading, ARRAY_SIZE(loading));
	s->may_throw = s->obj->is_exec || begins_so(name, throwing, ARRAY_SIZE(throwing));
}

struct spot_point *spot_points__at(struct spot_points *points, uint64_t offset)
{
	struct spot_point *p = vec_first(x, points, x->offset == offset);

	if (!p) {
		p = vec_push(points);
		p->offset = offset;
	}
	return p;
}

/* Several versions of a function may be one. */
static void add_spot(const struct search *s, struct spot_points *to, const struct object_symbol *sym, uint64_t cookie)
{
	struct spot_point *p;
	uint64_t offset;

	if (!object__vaddr_to_offset(s->obj, sym->value, &offset))
		return;
	p = spot_points__at(to, offset);
	if (!p->cookie)
		p->cookie = cookie;
}

static void note_spot(struct search *s, const struct object_symbol *sym, const struct alloc_func *row)
{
	if (sym->ifunc)
		return;
	if (s->may_load && !sym->local && !strncmp(sym->name, "dl", 2))
		for (size_t i = 0; i < ARRAY_SIZE(loaders); i++)
			if (!strcmp(sym->name, loaders[i].name))
				add_spot(s, &s->loader, sym, loaders[i].what);
	if (s->may_throw && !strcmp(sym->name, MAKES_EXCEPTION))
		add_spot(s, &s->refusals, sym, (uint64_t)MT_AT_THROW << MT_COOKIE_AT_SHIFT);
	if (row && row->flags & FUNC_PASSES_ON)
		add_spot(s, &s->passers, sym,
			 alloc_funcs__cookie(s->funcs, row - s->funcs->v) | (uint64_t)MT_AT_OVERFLOW << MT_COOKIE_AT_SHIFT);
}

bool plan__may_throw(const struct plan *p, const struct alloc_funcs *funcs)
{
	return array_first(one, p->funcs, p->n_funcs, funcs->v[one->func].flags & FUNC_THROWS);
}

bool plan__has_usable(const struct plan *p)
{
	return array_first(one, p->funcs, p->n_funcs, one->usable);
}

bool plan__skips_passers(const struct plan *p)
{
	return array_first(one, p->funcs, p->n_funcs, one->usable || one->unseen);
}

static void take_spots(struct search *s, struct plan *plan)
{
	for (size_t i = 0; i < s->passers.n && plan__skips_passers(plan); i++) {
		struct spot_point *p = spot_points__at(&s->refusals, s->passers.v[i].offset);

		*p = p->cookie ? *p : s->passers.v[i];
	}
	plan->loader = s->loader;
	plan->refusals = s->refusals;
	s->loader = s->refusals = (struct spot_points){};
}

/* ---- allocation functions */

COMPARATOR(by_name, struct alloc_func *const, strcmp((*a)->name, (*b)->name))

static int look_at(const struct object_symbol *sym, void *arg)
{
	struct alloc_func wanted = { .name = sym->name }, *key = &wanted;
	const struct alloc_func **hit;
	struct search *s = arg;

	s->n_symbols++;
	note_family(s, sym->name);
	note_shutdown(s, sym);
	hit = bsearch(&key, s->by_name, s->funcs->n, sizeof(*s->by_name), by_name);
	note_spot(s, sym, hit ? *hit : NULL);
	/* a resolver runs once and returns a function's address: to probe it would be to see nothing */
	if (!hit || sym->ifunc)
		return 0;
	*vec_push(&s->found) = (struct found){
		.row = *hit - s->funcs->v,
		.local = sym->local,
		.flags = (*hit)->flags,
		.vaddr = sym->value,
		.size = sym->size,
	};
	return 0;
}

COMPARATOR(by_address_and_row, struct found, ORDER(a->vaddr, b->vaddr) ?: ORDER(a->row, b->row))

/*
 * A name that is local to a file may mean anything (a parser's own `free`, the
 * dynamic loader's private malloc). It counts if the user named it, if only an
 * allocator has such a name (one that is linked into a library hides there), or in a
 * program, where linking hides even the allocator's real names, but only if no
 * other function there has this name.
 */
static bool counts(const struct search *s, const struct found *f)
{
	if (!f->local)
		return true;
	if (!s->asked && !s->obj->is_exec && !(f->flags & FUNC_OWN_NAME))
		return false;
	return !vec_first(other, &s->found, other->row == f->row && other->vaddr != f->vaddr);
}

/* One per address: the first row names it, and what is said of any of its names holds. */
static void merge(struct search *s)
{
	struct found *v = s->found.v;
	size_t n = 0;

	if (s->found.n)
		qsort(v, s->found.n, sizeof(*v), by_address_and_row);
	for (size_t i = 0; i < s->found.n; i++) {
		if (v[i].doubtful)
			continue;
		if (n && v[n - 1].vaddr == v[i].vaddr) {
			v[n - 1].flags |= v[i].flags;
			v[n - 1].size = MAX(v[n - 1].size, v[i].size);
		} else {
			v[n++] = v[i];
		}
	}
	s->found.n = n;
}

static bool is_allocator(const struct search *s)
{
	bool core = false, frees = false, maps = false, named = false;

	for (size_t i = 0; i < s->found.n; i++) {
		core |= s->found.v[i].flags & FUNC_CORE;
		named |= s->found.v[i].flags & FUNC_NAMED;
		frees |= s->funcs->v[s->found.v[i].row].role == ROLE_FREE;
		maps |= s->funcs->v[s->found.v[i].row].role == ROLE_MAP;
	}
	return s->asked ? s->found.n > 0 : (core && frees) || maps || named;
}

/* Functions written in assembly often have no size: then the next one ends them. */
static void fill_sizes(struct search *s)
{
	_cleanup_free_ uint64_t *starts = NULL;
	size_t n = 0, i, j;

	for (i = 0; i < s->found.n && s->found.v[i].size; i++)
		;
	if (i == s->found.n)
		return;
	object__function_starts(s->obj, &starts, &n);
	for (; i < s->found.n; i++) {
		if (s->found.v[i].size)
			continue;
		for (j = 0; j < n && starts[j] <= s->found.v[i].vaddr; j++)
			;
		if (j < n)
			s->found.v[i].size = starts[j] - s->found.v[i].vaddr;
	}
}

/* Are the blocks of this file's malloc known to have glibc's headers? */
static bool is_glibc(const struct search *s)
{
	return s->headers[s->obj->is_exec] && families[s->family].headers[0];
}

static bool wants_usable(const struct search *s)
{
	return s->want.recording.size == SIZE_USABLE;
}

/* And is that of use? The usable size is in them. */
static bool has_usable(const struct search *s)
{
	return wants_usable(s) && recording__keeps_blocks(&s->want.recording) && is_glibc(s);
}

/* --mode leak: what is in use of this allocator's blocks, its heap shows. */
static bool has_census(const struct search *s)
{
	return recording__is_leak(&s->want.recording) && is_glibc(s);
}

static bool is_map(const struct search *s, const struct found *f)
{
	return s->funcs->v[f->row].role == ROLE_MAP || s->funcs->v[f->row].role == ROLE_UNMAP;
}

/* Is there anything to record at this function? */
static bool is_wanted(const struct search *s, const struct found *f)
{
	if (is_map(s, f))
		return true;
	/* what one frees that is linked in beside glibc's is not in glibc's heap */
	if (s->funcs->v[f->row].role == ROLE_FREE && (s->want.recording.mode == MT_MODE_COUNT || (has_census(s) && !(f->flags & FUNC_OWN_NAME))))
		return false;
	if (!has_usable(s) && !has_census(s))
		return true;
	/* with a preloaded allocator the block is that one's, and has another header, or none */
	if (f->flags & FUNC_PASSES_ON)
		return false;
	/* one that is linked in beside glibc's has sizes as requested */
	return alloc_funcs__is_c(f->row) || f->flags & FUNC_OWN_NAME;
}

/*
 * Two functions that end in the same code share its returns: the kernel side
 * goes by the call under way, so one probe does. If for one of them no call is
 * under way, that one must know.
 */
static void drop_shared(struct points *p, size_t first)
{
	size_t i, j, n = first;

	for (i = first; i < p->n; i++) {
		for (j = 0; j < n; j++)
			if (p->v[j].offset == p->v[i].offset && p->v[j].how == p->v[i].how)
				break;
		if (j == n)
			p->v[n++] = p->v[i];
		else if (p->v[i].return_only)
			p->v[j] = p->v[i];
	}
	p->n = n;
}

/* What place.c cannot see of a function's code: see abi_code.h. */
static void complete_code(const struct search *s, const struct alloc_func *row, struct planned_func *f)
{
	uint64_t from = s->shutdown - f->vaddr, to = from + s->shutdown_size;

	/* old versions have hooks, which may call whatever they like: they are reached by a jump through a register */
	if (is_glibc(s) && !(f->code.flags & MT_CODE_BY_REGISTER) &&
	    (row->flags & FUNC_INNERMOST || (row->role == ROLE_FREE && alloc_funcs__is_c(f->func))))
		f->code.flags |= MT_CODE_INNERMOST;
	if (row->flags & FUNC_ROUNDS)
		f->code.flags |= MT_CODE_ROUNDS;
	if (row->role != ROLE_FREE)
		return;
	if (s->shutdown && is_glibc(s) && (int64_t)from == (int32_t)from && (int64_t)to == (int32_t)to)
		f->code.shutdown = (struct mt_code_range){ (int32_t)from, (int32_t)to };
	if (!s->obj->is_exec && object__has_slot_for(s->obj, f->vaddr))
		f->code.flags |= MT_CODE_BY_SLOT;
}

static void place_all(const struct search *s, struct plan *plan, struct points *points)
{
	plan->funcs = xcalloc(s->found.n, sizeof(*plan->funcs));
	for (size_t i = 0; i < s->found.n; i++) {
		const struct found *f = &s->found.v[i];
		struct planned_func *pf = &plan->funcs[plan->n_funcs];
		struct alloc_func row = s->funcs->v[f->row];
		size_t first = points->n;

		if (!is_wanted(s, f))
			continue;
		row.flags = f->flags;
		*pf = (struct planned_func){ .func = f->row, .vaddr = f->vaddr, .size = f->size,
					     .frees_at_0 = row.role == ROLE_REALLOC && s->family < ARRAY_SIZE(families) &&
					     families[s->family].frees_at_0,
					     .usable = is_map(s, f) ? wants_usable(s) :
					     row.role != ROLE_FREE && has_usable(s) && alloc_funcs__is_c(f->row),
					     .unseen = row.role != ROLE_FREE && has_census(s) && alloc_funcs__is_c(f->row) };
		if (place__function(s->obj, &row, &s->want, pf, points))
			continue;
		complete_code(s, &row, pf);
		drop_shared(points, first);
		plan->n_requested += wants_usable(s) && row.role != ROLE_FREE && !pf->usable;
		plan->n_funcs++;
	}
}

static void make(struct search *s, struct object *obj, struct plan *ret)
{
	struct points points = { 0 };
	struct plan plan = { 0 };

	s->by_name = xcalloc(s->funcs->n, sizeof(*s->by_name));
	for (size_t i = 0; i < s->funcs->n; i++)
		s->by_name[i] = &s->funcs->v[i];
	qsort(s->by_name, s->funcs->n, sizeof(*s->by_name), by_name);

	choose_searches(s);
	object__for_each_function(obj, look_at, s);
	for (size_t i = 0; i < s->found.n; i++)
		s->found.v[i].doubtful = !counts(s, &s->found.v[i]);
	merge(s);
	if (is_allocator(s)) {
		fill_sizes(s);
		place_all(s, &plan, &points);
	}
	plan.points = points.v;
	plan.n_points = points.n;
	take_spots(s, &plan);
	/* points that were chosen by half of a file may be wrong ones: there are none then */
	if (stint__is_over())
		plan__done(&plan);
	plan.family = xstrdup(s->family < ARRAY_SIZE(families) ? families[s->family].family : "");
	plan.object = obj;
	plan.want = s->want;
	object__hold(obj);
	*ret = plan;
}

void plan__make(struct object *obj, const struct alloc_funcs *funcs, const struct plan_want *want, bool asked,
		struct plan *ret, size_t *ret_n_symbols)
{
	_cleanup_stint_ struct stint stint = stint__begin();
	struct search s = { .obj = obj, .funcs = funcs, .asked = asked, .family = ARRAY_SIZE(families) };

	if (readers__are_apart()) {
		plan_apart__make(obj, funcs, want, asked, ret, ret_n_symbols);
		return;
	}
	if (want)
		s.want = *want;
	make(&s, obj, ret);
	free(s.by_name);
	vec_done(&s.found);
	vec_done(&s.loader);
	vec_done(&s.refusals);
	vec_done(&s.passers);
	if (ret_n_symbols)
		*ret_n_symbols = s.n_symbols;
}

void plan__done(struct plan *p)
{
	if (!p)
		return;
	object__put(p->object);
	free(p->funcs);
	free(p->points);
	free(p->family);
	vec_done(&p->loader);
	vec_done(&p->refusals);
	*p = (struct plan){ 0 };
}
