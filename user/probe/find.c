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
#include <errno.h>
#include <string.h>

#include "probe/features.h"
#include "probe/plan.h"
#include "probe/plan_apart.h"
#include "util/stint.h"
#include "util/util.h"

struct plan_want plan_want__of(const struct recording *r)
{
	return (struct plan_want){ .recording = *r, .no_uretprobes = !feature__has(FEATURE_URETPROBES) };
}

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
	size_t len = strlen(name), i;

	for (i = 0; i < ARRAY_SIZE(families); i++) {
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

static int by_name(const void *a, const void *b)
{
	return strcmp((*(const struct alloc_func *const *)a)->name, (*(const struct alloc_func *const *)b)->name);
}

static int look_at(const struct object_symbol *sym, void *arg)
{
	struct alloc_func wanted = { .name = sym->name }, *key = &wanted;
	const struct alloc_func **hit;
	struct search *s = arg;
	struct found *f;

	s->n_symbols++;
	note_family(s, sym->name);
	note_shutdown(s, sym);
	hit = bsearch(&key, s->by_name, s->funcs->n, sizeof(*s->by_name), by_name);
	/* a resolver runs once and returns a function's address: to probe it would be to see nothing */
	if (!hit || sym->ifunc)
		return 0;
	f = vec_push(&s->found);
	if (!f)
		return -ENOMEM;
	*f = (struct found){
		.row = *hit - s->funcs->v,
		.local = sym->local,
		.flags = (*hit)->flags,
		.vaddr = sym->value,
		.size = sym->size,
	};
	return 0;
}

static int by_address_and_row(const void *a, const void *b)
{
	const struct found *x = a, *y = b;

	if (x->vaddr != y->vaddr)
		return x->vaddr < y->vaddr ? -1 : 1;
	return x->row < y->row ? -1 : x->row > y->row;
}

/*
 * A name that is local to a file may mean anything (a parser's own `free`, the
 * dynamic loader's private malloc). It counts if the user named it, if only an
 * allocator has such a name (one that is linked into a library hides there), or in a
 * program, where linking hides even the allocator's real names, but only if no
 * other function there has this name.
 */
static bool counts(const struct search *s, const struct found *f)
{
	size_t i;

	if (!f->local)
		return true;
	if (!s->asked && !s->obj->is_exec && !(f->flags & FUNC_OWN_NAME))
		return false;
	for (i = 0; i < s->found.n; i++)
		if (s->found.v[i].row == f->row && s->found.v[i].vaddr != f->vaddr)
			return false;
	return true;
}

static void mark_doubtful(struct search *s)
{
	struct found *v = s->found.v;
	size_t i;

	for (i = 0; i < s->found.n; i++)
		v[i].doubtful = !counts(s, &v[i]);
}

/* One per address: the first row names it, and what is said of any of its names holds. */
static void merge(struct search *s)
{
	struct found *v = s->found.v;
	size_t i, n = 0;

	if (s->found.n)
		qsort(v, s->found.n, sizeof(*v), by_address_and_row);
	for (i = 0; i < s->found.n; i++) {
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
	size_t i;

	for (i = 0; i < s->found.n; i++) {
		core |= s->found.v[i].flags & FUNC_CORE;
		named |= s->found.v[i].flags & FUNC_NAMED;
		frees |= s->funcs->v[s->found.v[i].row].role == ROLE_FREE;
		maps |= s->funcs->v[s->found.v[i].row].role == ROLE_MAP;
	}
	return s->asked ? s->found.n > 0 : (core && frees) || maps || named;
}

/* Functions written in assembly often have no size: then the next one ends them. */
static int fill_sizes(struct search *s)
{
	_cleanup_free_ uint64_t *starts = NULL;
	size_t n = 0, i, j;
	int r;

	for (i = 0; i < s->found.n && s->found.v[i].size; i++)
		;
	if (i == s->found.n)
		return 0;
	r = object__function_starts(s->obj, &starts, &n);
	if (r)
		return r;
	for (; i < s->found.n; i++) {
		if (s->found.v[i].size)
			continue;
		for (j = 0; j < n && starts[j] <= s->found.v[i].vaddr; j++)
			;
		if (j < n)
			s->found.v[i].size = starts[j] - s->found.v[i].vaddr;
	}
	return 0;
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
	if (row->role != ROLE_FREE)
		return;
	if (s->shutdown && is_glibc(s) && (int64_t)from == (int32_t)from && (int64_t)to == (int32_t)to)
		f->code.shutdown = (struct mt_code_range){ (int32_t)from, (int32_t)to };
	if (!s->obj->is_exec && object__has_slot_for(s->obj, f->vaddr))
		f->code.flags |= MT_CODE_BY_SLOT;
}

static int place_all(const struct search *s, struct plan *plan, struct points *points)
{
	size_t i;

	plan->funcs = calloc(s->found.n, sizeof(*plan->funcs));
	if (!plan->funcs)
		return -ENOMEM;
	for (i = 0; i < s->found.n; i++) {
		const struct found *f = &s->found.v[i];
		struct planned_func *pf = &plan->funcs[plan->n_funcs];
		struct alloc_func row = s->funcs->v[f->row];
		size_t first = points->n;
		int r;

		if (!is_wanted(s, f))
			continue;
		row.flags = f->flags;
		*pf = (struct planned_func){ .func = f->row, .vaddr = f->vaddr, .size = f->size,
					     .frees_at_0 = row.role == ROLE_REALLOC && s->family < ARRAY_SIZE(families) &&
					     families[s->family].frees_at_0,
					     .usable = is_map(s, f) ? wants_usable(s) :
					     row.role != ROLE_FREE && has_usable(s) && alloc_funcs__is_c(f->row),
					     .unseen = row.role != ROLE_FREE && has_census(s) && alloc_funcs__is_c(f->row) };
		r = place__function(s->obj, &row, &s->want, pf, points);
		if (r == -EINVAL)	/* a symbol without code in the file */
			continue;
		if (r)
			return r;
		complete_code(s, &row, pf);
		drop_shared(points, first);
		plan->n_requested += wants_usable(s) && row.role != ROLE_FREE && !pf->usable;
		plan->n_funcs++;
	}
	return 0;
}

static int make(struct search *s, struct object *obj, struct plan *ret, struct err *e)
{
	struct points points = { 0 };
	struct plan plan = { 0 };
	size_t i;
	int r;

	s->by_name = calloc(s->funcs->n + 1, sizeof(*s->by_name));
	if (!s->by_name)
		return -ENOMEM;
	for (i = 0; i < s->funcs->n; i++)
		s->by_name[i] = &s->funcs->v[i];
	qsort(s->by_name, s->funcs->n, sizeof(*s->by_name), by_name);

	r = object__for_each_function(obj, look_at, s, e);
	if (r)
		return r;
	mark_doubtful(s);
	merge(s);
	if (is_allocator(s)) {
		r = fill_sizes(s);
		if (!r)
			r = place_all(s, &plan, &points);
	}
	plan.points = points.v;
	plan.n_points = points.n;
	/* points that were chosen by half of a file may be wrong ones: there are none then */
	if (!r && stint__is_over()) {
		plan__done(&plan);
		plan = (struct plan){ 0 };
	}
	if (!r) {
		plan.family = strdup(s->family < ARRAY_SIZE(families) ? families[s->family].family : "");
		r = plan.family ? 0 : -ENOMEM;
	}
	if (r) {
		plan__done(&plan);
		return r;
	}
	plan.object = obj;
	plan.want = s->want;
	object__hold(obj);
	*ret = plan;
	return 0;
}

int plan__make(struct object *obj, const struct alloc_funcs *funcs, const struct plan_want *want, bool asked,
	       struct plan *ret, size_t *ret_n_symbols, struct err *e)
{
	_cleanup_stint_ struct stint stint = stint__begin();
	struct search s = { .obj = obj, .funcs = funcs, .asked = asked, .family = ARRAY_SIZE(families) };
	int r;

	if (readers__are_apart())
		return plan_apart__make(obj, funcs, want, asked, ret, ret_n_symbols, e);
	if (want)
		s.want = *want;
	r = make(&s, obj, ret, e);
	free(s.by_name);
	vec_done(&s.found);
	if (r == -ENOMEM)
		return err_set(e, r, "no memory to plan probes for %s", obj->path);
	if (!r && ret_n_symbols)
		*ret_n_symbols = s.n_symbols;
	return r;
}

void plan__done(struct plan *p)
{
	if (!p)
		return;
	object__put(p->object);
	free(p->funcs);
	free(p->points);
	free(p->family);
	*p = (struct plan){ 0 };
}
