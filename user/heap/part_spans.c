// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns which memory is something else than its mapping says: a thread's stack, a module's data with its zeroed part, which
 * is anonymous memory, the heap. Also who an address belongs to.
 */
#include <errno.h>
#include <string.h>

#include "elf/demangle.h"
#include "heap/parts_inner.h"
#include "heap/reach.h"
#include "util/sorted.h"

int part_spans__add(struct part_spans *to, const struct target *t, uint64_t start, uint64_t end, enum span_is is, size_t of)
{
	uint64_t page = t->page_bytes;
	struct part_span *s;

	if (start >= end)
		return 0;
	start = start / page * page;
	end = end > UINT64_MAX - page ? end / page * page : (end + page - 1) / page * page;
	s = vec_push(to);
	if (!s)
		return -ENOMEM;
	*s = (struct part_span){ start, end, is, of };
	return 0;
}

static int by_start(const void *pa, const void *pb)
{
	const struct part_span *a = pa, *b = pb;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return a->is < b->is ? -1 : a->is > b->is;
}

void part_spans__settle(struct part_spans *s)
{
	uint64_t taken = 0;
	size_t n = 0;

	if (s->n)
		qsort(s->v, s->n, sizeof(*s->v), by_start);
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
		for (size_t j = 0; j < m->obj->n_segments && !r; j++) {
			const struct object_segment *s = &m->obj->segments[j];

			if (s->write && !s->exec)
				r = part_spans__add(&p->spans, p->t, m->bias + s->vaddr, m->bias + s->vaddr + s->mem_size, SPAN_DATA, i);
		}
		if (!r)
			r = target__go_on(p->t, "modules", (double)i / (double)p->modules.all.n);
	}
	return r;
}

static int add_stacks(struct parts *p)
{
	int r = 0;

	for (size_t i = 0; i < p->stacks.all.n && !r; i++) {
		const struct thread_stack *s = &p->stacks.all.v[i];

		r = part_spans__add(&p->spans, p->t, s->start, s->end, SPAN_STACK, i);
		if (!r)
			r = part_spans__add(&p->spans, p->t, s->start - s->guard_bytes, s->start, SPAN_GUARD, i);
	}
	/* pages of [heap] that it shares with blocks are the heap's */
	return r || p->stacks.first_tls_in_heap ? r : part_spans__add(&p->spans, p->t, p->stacks.first_tls_start, p->stacks.first_tls_end, SPAN_TLS, 0);
}

int parts__new(struct target *t, struct objects *objects, struct parts **ret, struct err *e)
{
	struct parts *p = calloc(1, sizeof(*p));
	uint64_t tls_bytes = 0;
	int r;

	if (!p)
		return err_set(e, -ENOMEM, "no memory to sum up that of process %d", (int)t->pid);
	p->t = t;
	pool__init(&p->pool);
	r = target__refresh(t, e);
	if (r) {
		parts__free(p);
		return r;
	}
	r = modules__init(&p->modules, t, objects);
	if (!r)
		r = add_modules(p, &tls_bytes);
	if (!r)
		r = thread_stacks__init(&p->stacks, t, tls_bytes);
	if (!r)
		r = add_stacks(p);
	if (r) {
		parts__free(p);
		return err_set(e, r, r == -EINTR ? "the look at process %d was ended" : "no memory to sum up that of process %d", (int)t->pid);
	}
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
	*ret = (struct snap_root){ .kind = name.kind == PART_GLOBAL ? ROOT_GLOBAL : ROOT_MAPPING, .name = name.name ? name.name : "anonymous",
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
