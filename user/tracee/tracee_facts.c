// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns nothing: what a snapshot needs to know about the tracees, and of their processes. */
#include <string.h>

#include "tracee/tracee_parts.h"
#include "util/util.h"

#define FEW_A_LOOK 64	/* of the processes that seem to do nothing */

static enum recording_size size_of(const struct plan *plan)
{
	for (size_t i = 0; i < plan->n_funcs; i++)
		if (plan->funcs[i].usable)
			return SIZE_USABLE;
	return SIZE_REQUESTED;
}

/* --mode leak: of some allocators frees are. */
static bool has_probed_frees(const struct tracees *t, const struct plan *plan)
{
	for (size_t i = 0; i < plan->n_funcs; i++)
		if (t->funcs.v[plan->funcs[i].func].role == ROLE_FREE)
			return true;
	return false;
}

enum recording_size tracees__size(const struct tracees *t)
{
	for (size_t i = 0; i < t->files.n; i++)
		if (t->files.v[i]->ever_probed && size_of(&t->files.v[i]->plan) == SIZE_USABLE)
			return SIZE_USABLE;
	return SIZE_REQUESTED;
}

int tracees__list_probes(const struct tracees *t, struct snapshot *s)
{
	struct snap_probe *rows = snapshot__alloc(s, t->files.n + 1, sizeof(*rows));

	s->probes = rows;
	for (size_t i = 0; i < t->files.n; i++) {
		const struct plan *plan = &t->files.v[i]->plan;
		const char **names;

		if (!plan->n_funcs || !t->files.v[i]->ever_probed)
			continue;
		names = snapshot__alloc(s, plan->n_funcs, sizeof(*names));
		for (size_t k = 0; k < plan->n_funcs; k++)
			names[k] = alloc_func__shown(&t->funcs.v[plan->funcs[k].func]);
		rows[s->n_probes++] = (struct snap_probe){
			.object = snapshot__strdup(s, plan->object->path),
			.build_id = snapshot__strdup(s, plan->object->build_id),
			.functions = names,
			.n_functions = plan->n_funcs,
			.size = size_of(plan),
			.frees_probed = recording__is_leak(&s->recording) && has_probed_frees(t, plan),
		};
	}
	return 0;
}

/* Of all that is no file one module: its places are raw addresses. */
static const char anon_path[] = "[anon]";

void tracees__locate(uint32_t proc, uint64_t addr, uint64_t t_ns, struct address *ret, void *arg)
{
	const struct tracees *t = arg;
	const struct tracee_life *life = hash__get(&t->by_proc, proc);
	const struct space_range *r;
	struct object *jit;
	uint64_t file_off;

	*ret = (struct address){ .offset = addr, .timeless = true };
	if (MT_IS_PYTHON(addr)) {
		tracees__locate_python(t, life, addr, t_ns, ret);
		return;
	}
	if (!life || !addr)
		return;
	/* a return address may be the first byte after a mapping: look up the call before it */
	r = space__find_at(&life->space, addr - 1, t_ns, &ret->timeless);
	jit = space__find_jit(&life->space, r, addr - 1);
	if (jit) {
		/* the list has raw addresses: so has the report */
		ret->module = ret->handle = jit;
		ret->path = jit->path;
		return;
	}
	if (!r) {
		if (ret->timeless && space__is_anon(&life->space, addr - 1))
			ret->module = ret->path = anon_path;
		return;
	}
	file_off = r->file_off + (addr - r->start);
	ret->module = r->object ? (const void *)r->object : r;
	ret->handle = r->object;
	ret->path = r->object ? r->object->path : r->label && r->label[0] ? r->label : anon_path;
	ret->build_id = r->object ? r->object->build_id : NULL;
	/* code that has no name yet may have a name later */
	ret->fixed = r->object && r->object->is_elf && !r->fresh;
	ret->offset = addr - r->start;
	if (r->object && !object__offset_to_vaddr(r->object, file_off, &ret->offset))
		ret->offset = file_off;
	if (r->unproven && r->label) {
		/* the file, and where in it, but not which version of it: no names */
		ret->module = ret->path = r->label;
		ret->handle = NULL;
		ret->build_id = NULL;
	}
}

bool tracees__is_same_code(uint32_t proc, uint64_t addr, uint64_t t1_ns, uint64_t t2_ns, void *arg)
{
	const struct tracees *t = arg;
	const struct tracee_life *life = hash__get(&t->by_proc, proc);
	const struct space_range *a, *b;
	bool sole;

	if (!life || !addr)
		return false;
	if (MT_IS_PYTHON(addr))
		return tracees__is_same_python(life, addr, t1_ns, t2_ns);
	a = space__find_at(&life->space, addr - 1, t1_ns, &sole);
	b = space__find_at(&life->space, addr - 1, t2_ns, &sole);
	return a == b || (a && b && a->object && !a->unproven && !b->unproven && a->object == b->object &&
			  a->file_off - a->start == b->file_off - b->start);
}

bool tracees__is_written(uint32_t proc, const uint64_t *frames, uint32_t n, uint64_t t_ns, void *arg)
{
	const struct tracees *t = arg;
	const struct tracee_life *life = hash__get(&t->by_proc, proc);

	for (uint32_t i = 0; life && life->space.written.n && i < n; i++)
		if (frames[i] && space_written__has(&life->space.written, frames[i] - 1, t_ns))
			return true;
	return false;
}

uint64_t tracees__n_mappings(const struct tracees *t)
{
	return t->n_changes;
}

const char *tracees__function(uint32_t func, void *arg)
{
	const struct tracees *t = arg;

	/* what found no room is of any function */
	return func < t->funcs.n ? alloc_func__shown(&t->funcs.v[func]) : "any";
}

void tracees__thread_comm(pid_t pid, pid_t tid, char buf[static 32], void *arg)
{
	process__thread_comm(pid, tid, buf);
}

const struct runtime *tracee__runtime(const struct tracees *t, const struct tracee *p)
{
	const struct space *space = &tracee__life(p)->space;

	for (size_t i = 0; i < space->n; i++) {
		const struct object *obj = space->v[i].object;
		const struct known_file *k = obj ? tracees__known_file(t, obj) : NULL;

		if (k && k->runtime)
			return k->runtime;
	}
	return NULL;
}

/* What it maps may grow at any time: a daemon may load Python when it is asked for it first. */
static void note_runtime(struct tracees *t, struct tracee *p)
{
	struct tracee_life *life = tracee__life(p);

	if (!life->runtime) {
		life->runtime = tracee__runtime(t, p);
		model__set_runtime(t->model, life->proc, life->runtime ? life->runtime->name : NULL);
	}
}

void tracee__sample(struct tracees *t, struct tracee *p)
{
	struct tracee_life *life = tracee__life(p);
	uint64_t cpu_ns;

	note_runtime(t, p);
	if (p->ended) {
		/* its list is open still, and may have grown to the end */
		if (life->space.jit)
			space__refresh_jit(&life->space, p->process.pid);
		return;
	}
	space__refresh_jit(&life->space, p->process.pid);
	cpu_ns = process__cpu_ns(p->process.pid);
	if (cpu_ns)
		p->cpu_ns = cpu_ns;
	model__set_rss(t->model, life->proc, process__rss_bytes(p->process.pid));
	if (process__read_cgroup(&p->process))
		model__set_cgroup(t->model, life->proc, p->process.cgroup, p->process.container, p->process.pod, p->process.unit);
}

void tracees__sample(struct tracees *t, bool all)
{
	size_t n = t->v.n, from = t->turn, n_others = all || !tracees__are_shared(t) ? SIZE_MAX : FEW_A_LOOK;

	for (size_t i = 0; i < n; i++) {
		struct tracee *p = t->v.v[(from + i) % n];
		uint64_t live = p->ended ? p->live_bytes : kernel__live_bytes(t->kernel, tracee__life(p)->proc);

		if (live == p->live_bytes && !n_others)
			continue;
		if (live == p->live_bytes && !--n_others)
			t->turn = (from + i + 1) % n;
		p->live_bytes = live;
		tracee__sample(t, p);
	}
}

void tracees__count_cpu_from_now(struct tracees *t)
{
	for (size_t i = 0; i < t->v.n; i++)
		t->v.v[i]->cpu_at_attach_ns = t->v.v[i]->cpu_ns;
	t->gone_cpu_ns = 0;
}

uint64_t tracees__cpu_ns(const struct tracees *t)
{
	uint64_t sum = t->gone_cpu_ns;

	for (size_t i = 0; i < t->v.n; i++)
		if (t->v.v[i]->cpu_ns > t->v.v[i]->cpu_at_attach_ns)
			sum += t->v.v[i]->cpu_ns - t->v.v[i]->cpu_at_attach_ns;
	return sum;
}
