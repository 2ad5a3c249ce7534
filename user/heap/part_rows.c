// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns the rows of resident memory while they are summed up, and the choice of those that are shown. */
#include "heap/parts.h"

#include <inttypes.h>
#include <string.h>

#include "elf/symtab.h"
#include "heap/reach.h"
#include "util/sorted.h"

size_t part_rows__add(struct part_rows *r, enum part_kind kind, const char *name, const char *module)
{
	*vec_push(&r->all) = (struct snap_part){ .kind = kind, .name = name, .module = module };
	return r->all.n - 1;
}

size_t part_rows__get(struct part_rows *r, enum part_kind kind, const char *name, const char *module)
{
	uint64_t key = hash__mix(hash__mix(kind, (uintptr_t)name), (uintptr_t)module);
	size_t i = (uintptr_t)hash__get(&r->by_key, key);

	if (i)
		return i - 1;
	i = part_rows__add(r, kind, name, module);
	hash__put(&r->by_key, key, (void *)(uintptr_t)(i + 1));
	return i;
}

void part_rows__done(struct part_rows *r)
{
	vec_done(&r->all);
	hash__done(&r->by_key);
	*r = (struct part_rows){};
}

uint64_t part_rows__resident(const struct part_rows *r)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < r->all.n; i++)
		sum += r->all.v[i].resident_bytes;
	for (size_t i = 0; i < N_PART_KINDS; i++)
		sum += r->rest[i].resident_bytes;
	return sum;
}

/* By kind, the most resident first. */
COMPARATOR(by_size, struct snap_part,
	   ORDER(a->kind, b->kind) ?: ORDER(b->resident_bytes, a->resident_bytes) ?: ORDER(b->mapped_bytes, a->mapped_bytes) ?:
	   ORDER(a->addr, b->addr) ?: ORDER(a->tid, b->tid) ?: (a->name && b->name ? strcmp(a->name, b->name) : 0))

static void add_to(struct snap_part *to, const struct snap_part *from)
{
	to->mapped_bytes += from->mapped_bytes;
	to->resident_bytes += from->resident_bytes;
	to->swapped_bytes += from->swapped_bytes;
}

static const char *name_of(struct snapshot *s, const struct snap_part *row)
{
	char text[32];

	snprintf(text, sizeof(text), "at 0x%" PRIx64, row->addr);
	return snapshot__strdup(s, row->name ? row->name : text);
}

void part_rows__put(struct part_rows *r, struct snapshot *s, struct snap_heap *h)
{
	struct snap_part *to = snapshot__alloc(s, r->all.n + N_PART_KINDS, sizeof(*to));
	size_t n = 0;

	vec_sort(&r->all, by_size);
	for (size_t i = 0, kind = 0, n_kind; kind < N_PART_KINDS; kind++) {
		struct snap_part *rest = &r->rest[kind];

		for (n_kind = 0; i < r->all.n && r->all.v[i].kind == kind; i++) {
			const struct snap_part *row = &r->all.v[i];

			if (!row->mapped_bytes && !row->resident_bytes)
				continue;
			if (n_kind++ >= PART_ROWS_MAX) {
				add_to(rest, row);
				continue;
			}
			to[n] = *row;
			to[n].name = name_of(s, row);
			to[n++].module = snapshot__strdup(s, row->module);
		}
		if (rest->mapped_bytes || rest->resident_bytes) {
			to[n] = *rest;
			to[n].kind = kind;
			to[n++].name = PART_REST;
		}
	}
	h->parts = to;
	h->n_parts = n;
}

/* ---- variables of modules */

/*
 * Owns the share of each variable in a module's data. A page that several have in common is split by bytes, and what no
 * symbol claims is the module's: so the sum of all is the pages that are there.
 */

void part_globals__count(struct part_globals *g, struct parts *p, struct module *m, uint64_t start, uint64_t end, bool swapped)
{
	const struct variables *all = module__variables(&p->modules, m);
	uint64_t *to;

	*(swapped ? &g->swapped_bytes : &g->resident_bytes) += end - start;
	if (!all->n)
		return;
	if (!g->resident) {
		g->resident = xcalloc(all->n, sizeof(*g->resident));
		g->swapped = xcalloc(all->n, sizeof(*g->swapped));
	}
	to = swapped ? g->swapped : g->resident;
	start -= m->bias;
	end -= m->bias;
	for (size_t i = sorted__count(one, all->v, all->n, one->end <= start); i < all->n && all->v[i].start < end; i++)
		to[i] += MIN(end, all->v[i].end) - MAX(start, all->v[i].start);
}

/* Numbers of variables, the most resident first. */
static int by_resident(const void *pa, const void *pb, void *arg)
{
	const uint64_t *resident = arg;
	const size_t *a = pa, *b = pb;

	return ORDER(resident[*b], resident[*a]) ?: ORDER(*a, *b);
}

static void put_variable(struct part_globals *g, struct parts *p, struct module *m, size_t i, bool listed, struct part_rows *to)
{
	const struct variable *v = &m->variables.v[i];
	struct snap_part *row = &to->rest[PART_GLOBAL];
	char name[DEMANGLE_OUT_MAX + 1];

	if (listed) {
		size_t at;

		demangle(variable__name(&m->variables, v), name);
		at = part_rows__add(to, PART_GLOBAL, pool__string(&p->pool, name), m->path);
		row = &to->all.v[at];
	}
	add_to(row, &(struct snap_part){ .mapped_bytes = v->end - v->start, .resident_bytes = g->resident[i],
					 .swapped_bytes = g->swapped[i] });
	g->mapped_bytes -= MIN(v->end - v->start, g->mapped_bytes);
	g->resident_bytes -= g->resident[i];
	g->swapped_bytes -= g->swapped[i];
}

void part_globals__put(struct part_globals *g, struct parts *p, struct module *m, struct part_rows *to)
{
	_cleanup_free_ size_t *order = NULL;
	struct snap_part *row;
	size_t n = 0, at;

	if (!g->mapped_bytes)
		return;
	if (g->resident && m->variables.n) {
		order = xcalloc(m->variables.n, sizeof(*order));
		for (size_t i = 0; i < m->variables.n; i++)
			if (g->resident[i] || g->swapped[i])
				order[n++] = i;
		qsort_r(order, n, sizeof(*order), by_resident, g->resident);
		for (size_t i = 0; i < n; i++)
			put_variable(g, p, m, order[i], i < PART_ROWS_MAX, to);
	}
	at = part_rows__get(to, PART_GLOBAL, pool__string(&p->pool, n ? "(other data)" : "(data)"), m->path);
	row = &to->all.v[at];
	row->mapped_bytes += g->mapped_bytes;
	row->resident_bytes += g->resident_bytes;
	row->swapped_bytes += g->swapped_bytes;
}

void part_globals__done(struct part_globals *g)
{
	free(g->resident);
	free(g->swapped);
	*g = (struct part_globals){};
}

/* ---- what a mapping is */

/* Owns what a mapping is called, and which kind of memory it is, by its line in /proc/PID/maps. */

const char PART_RESERVED[] = "(reserved, no access)";

/* What is not here and has a name is a file. The first that fits counts. */
static const struct known {
	const char *prefix;
	bool shared;		/* only if it is */
	enum part_kind kind;
	const char *name;	/* NULL: as it is */
	bool is_nothing;
	bool is_never_linked;	/* "(deleted)" says nothing */
} known[] = {
	{ "[vvar", .is_nothing = true },	/* the kernel's clocks: its own memory */
	{ "[vsyscall]", .is_nothing = true },
	{ "[heap]", .kind = PART_HEAP },
	{ "[stack]", .kind = PART_STACK },
	{ "[vdso]", .kind = PART_CODE },
	{ "[anon_shmem:", .kind = PART_SHARED },	/* prctl(PR_SET_VMA_ANON_NAME) */
	{ "[anon:", .kind = PART_ANON },
	{ "[", .kind = PART_OTHER },
	{ "/dev/zero", .shared = true, .kind = PART_SHARED, .name = "(anonymous, shared)" },
	{ "/dev/zero", .kind = PART_ANON },
	{ "/dev/shm/", .kind = PART_SHARED },
	{ "/memfd:", .kind = PART_SHARED, .is_never_linked = true },
	{ "/SYSV", .kind = PART_SHARED, .is_never_linked = true },
	{ "", .kind = PART_FILE },
};

static const struct known *known_as(const struct mapping *m)
{
	const struct known *k = known;

	while (strncmp(m->path, k->prefix, strlen(k->prefix)) || (k->shared && !m->shared))
		k++;
	return k;
}

/* The path, clean. */
static const char *path_of(struct parts *p, const struct mapping *m, const struct known *k)
{
	_cleanup_free_ char *name = xasprintf("%s%s", m->path, m->deleted && !k->is_never_linked ? " (deleted)" : "");

	clean_name(name);
	return pool__string(&p->pool, name);
}

static void name_nameless(const struct mapping *m, struct part_name *ret)
{
	ret->kind = PART_ANON;
	if (!m->read && !m->write && !m->exec) {
		ret->name = PART_RESERVED;
	} else if (m->exec) {
		ret->kind = PART_CODE;
		ret->name = "(made at run time)";
	}
}

void part_mappings__name(struct parts *p, const struct mapping *m, struct part_name *ret)
{
	struct module *in = modules__find(&p->modules, m->start);
	const struct known *k;

	*ret = (struct part_name){};
	if (in && (m->ino || !module__open(&p->modules, in)) && !m->shared && (m->ino || m->write)) {
		/* of a module whose file cannot be read; what is known of others is in spans */
		ret->kind = m->write ? PART_GLOBAL : PART_CODE;
		ret->name = pool__string(&p->pool, m->write ? "(data)" : in->path);
		ret->module = m->write ? in->path : NULL;
		return;
	}
	if (!m->ino && !m->path[0]) {
		name_nameless(m, ret);
		return;
	}
	k = known_as(m);
	ret->kind = k->kind;
	ret->name = k->name ? k->name : path_of(p, m, k);
	ret->is_nothing = k->is_nothing;
}

/* ---- memory that is something else than its mapping says */

/*
 * Owns which memory is something else than its mapping says: a thread's stack, a module's data with its zeroed part, which
 * is anonymous memory, the heap. Also who an address belongs to.
 */

void part_spans__add(struct part_spans *to, const struct target *t, uint64_t start, uint64_t end, enum span_is is, size_t of)
{
	uint64_t page = t->page_bytes;
	if (start >= end)
		return;
	start = start / page * page;
	end = end > UINT64_MAX - page ? end / page * page : (end + page - 1) / page * page;
	*vec_push(to) = (struct part_span){ start, end, is, of };
}

COMPARATOR(by_start, struct part_span, ORDER(a->start, b->start) ?: ORDER(a->is, b->is))

void part_spans__settle(struct part_spans *s)
{
	uint64_t taken = 0;
	size_t n = 0;

	vec_sort(s, by_start);
	for (size_t i = 0; i < s->n; i++) {
		struct part_span one = s->v[i];

		one.start = MAX(one.start, taken);
		if (one.start >= one.end)
			continue;
		taken = one.end;
		s->v[n++] = one;
	}
	s->n = n;
}

const struct part_span *part_spans__find(const struct part_spans *s, uint64_t addr)
{
	return sorted__range_of(s->v, s->n, addr);
}

/* ---- those of a process */

static int add_modules(struct parts *p, uint64_t *ret_tls_bytes)
{
	int r = 0;

	for (size_t i = 0; i < p->modules.all.n && !r; i++) {
		struct module *m = &p->modules.all.v[i];

		if (!module__open(&p->modules, m))
			continue;
		*ret_tls_bytes += m->obj->tls_bytes;
		for (size_t j = 0; j < m->obj->n_segments; j++) {
			const struct object_segment *s = &m->obj->segments[j];

			if (s->write && !s->exec)
				part_spans__add(&p->spans, p->t, m->bias + s->vaddr, m->bias + s->vaddr + s->mem_size, SPAN_DATA, i);
		}
		r = target__go_on(p->t, "modules", (double)i / (double)p->modules.all.n);
	}
	return r;
}

static void add_stacks(struct parts *p)
{
	for (size_t i = 0; i < p->stacks.all.n; i++) {
		const struct thread_stack *s = &p->stacks.all.v[i];

		part_spans__add(&p->spans, p->t, s->start, s->end, SPAN_STACK, i);
		part_spans__add(&p->spans, p->t, s->start - s->guard_bytes, s->start, SPAN_GUARD, i);
	}
	/* pages of [heap] that it shares with blocks are the heap's */
	if (!p->stacks.first_tls_in_heap)
		part_spans__add(&p->spans, p->t, p->stacks.first_tls_start, p->stacks.first_tls_end, SPAN_TLS, 0);
}

int parts__new(struct target *t, struct objects *objects, struct parts **ret, struct err *e)
{
	struct parts *p = xcalloc(1, sizeof(*p));
	uint64_t tls_bytes = 0;
	int r;

	p->t = t;
	pool__init(&p->pool);
	r = target__refresh(t, e);
	if (r) {
		parts__free(p);
		return r;
	}
	modules__init(&p->modules, t, objects);
	r = add_modules(p, &tls_bytes);
	if (!r)
		r = thread_stacks__init(&p->stacks, t, tls_bytes);
	if (r) {
		parts__free(p);
		return err_set(e, r, "the look at process %d was ended", (int)t->pid);
	}
	add_stacks(p);
	part_spans__settle(&p->spans);
	*ret = p;
	return 0;
}

void parts__free(struct parts *p)
{
	if (!p)
		return;
	modules__done(&p->modules);
	thread_stacks__done(&p->stacks);
	vec_done(&p->spans);
	pool__done(&p->pool);
	free(p);
}

/* ---- whose an address is */

COMPARATOR(by_range, struct heap_range, ORDER(a->start, b->start))

static void add_locals(struct heap_ranges *to, uint64_t start, uint64_t end)
{
	if (start && start < end)
		*vec_push(to) = (struct heap_range){ start, end };
}

void parts__thread_locals(const struct parts *p, struct heap_ranges *ret)
{
	const struct thread_stacks *s = &p->stacks;

	add_locals(ret, s->first_tls_start, s->first_tls_end);
	for (size_t i = 0; i < s->all.n; i++)
		if (s->all.v[i].tid)
			add_locals(ret, s->all.v[i].tls, s->all.v[i].end);
	vec_sort(ret, by_range);
	/* what the process says of its threads may overlap */
	for (size_t i = 1; i < ret->n; i++) {
		ret->v[i].start = MAX(ret->v[i].start, ret->v[i - 1].end);
		ret->v[i].end = MAX(ret->v[i].end, ret->v[i].start);
	}
}

static void name_data(struct parts *p, const struct part_span *s, uint64_t addr, struct snap_root *ret)
{
	struct module *m = &p->modules.all.v[s->of];
	const struct variables *all = module__variables(&p->modules, m);
	const struct variable *v = variables__find(all, addr - m->bias);
	char name[DEMANGLE_OUT_MAX + 1] = "(data)";

	if (v)
		demangle(variable__name(all, v), name);
	*ret = (struct snap_root){ .kind = ROOT_GLOBAL, .name = pool__string(&p->pool, name), .module = m->path };
}

static const char *thread_name(const struct parts *p, int tid)
{
	const struct thread_stack *t = thread_stacks__by_tid(&p->stacks, tid);

	return t && t->name[0] ? t->name : "(thread that has ended)";
}

static void name_mapping(struct parts *p, uint64_t addr, struct snap_root *ret)
{
	const struct mapping *m = maps__find(&p->t->maps, addr);
	struct part_name name = { .name = "(not mapped)" };

	if (m)
		part_mappings__name(p, m, &name);
	*ret = (struct snap_root){ .kind = name.kind == PART_GLOBAL ? ROOT_GLOBAL : ROOT_MAPPING, .name = name.name ? name.name : "anonymous memory",
				   .module = name.module };
}

void parts__name_root(struct parts *p, uint64_t addr, int tid, struct snap_root *ret)
{
	const struct part_span *s = part_spans__find(&p->spans, addr);
	const struct thread_stack *t;

	if (!addr) {
		*ret = tid > 0 ? (struct snap_root){ .kind = ROOT_THREAD, .name = thread_name(p, tid) } :
				 (struct snap_root){ .kind = ROOT_MAPPING, .name = tid == KEPT_FOR_TIMER ? "(the kernel: timers)" : "(the kernel: epoll)" };
		return;
	}
	if (addr >= p->stacks.first_tls_start && addr < p->stacks.first_tls_end) {
		*ret = (struct snap_root){ .kind = ROOT_THREAD, .name = thread_name(p, p->t->pid) };
		return;
	}
	if (!s) {
		name_mapping(p, addr, ret);
		return;
	}
	switch (s->is) {
	case SPAN_HEAP:
	case SPAN_GUARD:
	case SPAN_TLS:
		name_mapping(p, addr, ret);
		break;
	case SPAN_DATA:
		name_data(p, s, addr, ret);
		break;
	case SPAN_STACK:
		t = &p->stacks.all.v[s->of];
		*ret = (struct snap_root){ .kind = t->tls && addr >= t->tls ? ROOT_THREAD : ROOT_STACK, .name = thread_name(p, t->tid) };
		break;
	}
}
