// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns nothing: what a snapshot needs to know about the tracees, and of their processes. */
#include "tracee/tracee_parts.h"

#include <inttypes.h>
#include <poll.h>
#include <string.h>

#include "model/rss_trend.h"
#include "probe/plan.h"
#include "process/sharers.h"
#include "util/log.h"
#include "util/util.h"

#define FEW_A_LOOK 64	/* of the processes that seem to do nothing */

enum recording_size tracees__size(const struct tracees *t)
{
	return vec_first(k, &t->files, (*k)->ever_probed && plan__has_usable(&(*k)->plan)) ? SIZE_USABLE : SIZE_REQUESTED;
}

void tracees__list_probes(const struct tracees *t, struct snapshot *s)
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
			.size = plan__has_usable(plan) ? SIZE_USABLE : SIZE_REQUESTED,
			/* of some allocators frees are */
			.frees_probed = recording__is_leak(&s->recording) &&
					array_first(f, plan->funcs, plan->n_funcs, t->funcs.v[f->func].role == ROLE_FREE),
		};
	}
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

	return life && life->space.written.n &&
	       array_first(at, frames, n, *at && space_written__has(&life->space.written, *at - 1, t_ns));
}

const char *tracees__function(uint32_t func, void *arg)
{
	const struct tracees *t = arg;

	/* what found no room is of any function */
	return func < t->funcs.n ? alloc_func__shown(&t->funcs.v[func]) : "any";
}

static void thread_comm(pid_t pid, pid_t tid, char buf[static 32], void *arg)
{
	process__thread_comm(pid, tid, buf);
}

static void thread_name(uint32_t number, char buf[static 32], void *arg)
{
	const struct tracees *t = arg;

	kernel__thread_name(t->kernel, number, buf);
}

struct model_calls tracees__model_calls(struct tracees *t)
{
	return (struct model_calls){ tracees__locate, tracees__function, thread_comm, thread_name, t };
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

/* RSS and CPU time */
static void tracee__sample(struct tracees *t, struct tracee *p)
{
	struct tracee_life *life = tracee__life(p);
	struct process_use use;
	uint64_t cpu_ns;

	/* what it maps may grow at any time: a daemon may load Python when it is asked for it first */
	if (!life->runtime) {
		life->runtime = tracee__runtime(t, p);
		model__process(t->model, life->proc)->runtime = life->runtime ? life->runtime->name : NULL;
	}
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
	use = process__use(p->process.pid);
	model__set_rss(t->model, life->proc, use.rss_bytes, use.swap_bytes, use.hugetlb_bytes);
	model__set_files_and_tables(t->model, life->proc, use.file_bytes, use.table_bytes);
	if (process__read_cgroup(&p->process))
		model__set_cgroup(t->model, life->proc, p->process.cgroup, p->process.container, p->process.pod, p->process.unit);
}

void tracees__sample(struct tracees *t, bool all)
{
	size_t n = t->v.n, from = t->turn, n_others = all || !tracees__are_shared(t) ? SIZE_MAX : FEW_A_LOOK;

	for (size_t i = 0; i < n; i++) {
		struct tracee *p = t->v.v[(from + i) % n];
		uint64_t live = p->ended ? p->live_bytes : kernel__proc(t->kernel, tracee__life(p)->proc)->live_bytes;

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

COMPARATOR(by_live_bytes, struct tracee *const, ORDER((*b)->live_bytes, (*a)->live_bytes))

struct tracee **tracees__by_live_bytes(const struct tracees *t, size_t *ret_n)
{
	struct tracee **v = xcalloc(t->v.n + 1, sizeof(*v));

	*ret_n = 0;
	for (size_t i = 0; i < t->v.n; i++)
		if (!t->v.v[i]->ended)
			v[(*ret_n)++] = t->v.v[i];
	qsort(v, *ret_n, sizeof(*v), by_live_bytes);
	return v;
}

/* ---- processes that share memory */

/*
 * Targets that share their memory with processes that are no threads of theirs: one heap, one target. Those that are there
 * when the trace begins are found here; later ones the programs see at their fork.
 *
 * Owns nothing: how many there are is kept with each tracee.
 */

bool tracees__have_memory_of(const struct tracees *t, pid_t pid)
{
	struct sharers s = {};
	bool found = false;

	if (sharers__find(pid, &s))
		return false;
	for (size_t i = 0; i < s.n && !found; i++) {
		const struct tracee *p = tracees__find(t, s.v[i]);

		found = p;
		if (p)
			say("process %d shares the memory of %s (%d): they are traced as one", (int)pid, p->process.comm,
			    (int)p->process.pid);
	}
	sharers__done(&s);
	return found;
}

void tracee__count_sharers(struct tracee *p)
{
	struct sharers first = {}, s = {};

	sharers__find(p->process.pid, &first);
	if (first.n) {
		poll(NULL, 0, SPAWN_MS);
		sharers__find(p->process.pid, &s);
	}
	p->n_sharers = 0;
	for (size_t i = 0; i < s.n; i++)
		p->n_sharers += sharers__has(&first, s.v[i]);
	sharers__done(&first);
	sharers__done(&s);
}

const struct tracee *tracees__sharing(const struct tracees *t)
{
	struct tracee *const *p = vec_first(x, &t->v, (*x)->n_sharers);

	return p ? *p : NULL;
}

bool tracees__gained_sharers(struct tracees *t)
{
	for (size_t i = 0; i < t->v.n; i++)
		if (!t->v.v[i]->own)
			tracee__count_sharers(t->v.v[i]);
	return tracees__sharing(t);
}

void tracee__report_left(const struct tracee *p, pid_t left)
{
	say("%s (%d) exited before process %d, which shares its memory: calls of that one do not count any more, and what is live may be in use there",
	    p->process.comm, (int)p->process.pid, (int)left);
}

/* --mode growth counts the faults of one process's threads, where it has events of its own. */
static void report_sharers(struct tracees *t, struct tracee *p, const struct sharers *s)
{
	bool unseen = p->faults;
	char others[48] = "";

	if (s->n > 1)
		snprintf(others, sizeof(others), " and %zu others", s->n - 1);
	say("%s (%d) shares its memory with process %d%s: %s", p->process.comm, (int)p->process.pid, (int)s->v[0], others,
	    unseen			       ? "page faults there are not seen; -f sees them" :
	    kernel__sees_sharers(t->kernel) ? "they are traced as one" :
					       "this kernel shows their calls only with -f");
	if (unseen)
		p->n_written_over += s->n;
}

/* Until there are no more: one that the programs do not know yet may have made others. */
void tracee__share_memory(struct tracees *t, struct tracee *p)
{
	struct sharers s = {}, last = {};

	while (!sharers__find(p->process.pid, &s) && s.n > last.n) {
		for (size_t i = 0; i < s.n; i++)
			kernel__share(t->kernel, s.v[i], tracee__life(p)->proc, false);
		sharers__done(&last);
		last = s;
		s = (struct sharers){};
	}
	/* others are children of vfork, or are counted by the programs */
	if (last.n && p->n_sharers)
		report_sharers(t, p, &last);
	sharers__done(&s);
	sharers__done(&last);
}

/* ---- processes of which no call was seen */

/*
 * Owns what is said of a process of which no call was seen. What always holds: it is
 * said of one that ran, by the kernel's own account, and of one that stood still that
 * it did; a file is searched for what looks like an allocator once, and not before it
 * is needed.
 */

/* Below that RSS grows by whatever a program reads and calls for the first time. */
#define MUCH_GROWTH (1 << 20)
/* Where there are many, most of them sleep nearly all the time. */
#define MUCH_CPU_NS (20 * MS_NS)

/* Is it the first of its file in the list of ranges? */
static bool is_first(const struct space *s, size_t at)
{
	if (!s->v[at].object || !s->v[at].object->is_elf)
		return false;
	return !array_first(one, s->v, at, one->object == s->v[at].object);
}

#define MAX_TOLD 8	/* files by their names: a process may map as many as it likes */

/* "38 functions in libc.so.6, 19 in shopd" */
static void write_probed(struct tracees *t, const struct tracee_life *l, FILE *out)
{
	size_t n = 0;

	for (size_t i = 0; i < l->space.n; i++) {
		const struct known_file *k = is_first(&l->space, i) ? tracees__known_file(t, l->space.v[i].object) : NULL;

		if (!k || !k->plan.n_funcs || k->left_out || n++ >= MAX_TOLD)
			continue;
		fprintf(out, "%s%zu%s in %s", n > 1 ? ", " : "", k->plan.n_funcs,
			n > 1		     ? "" :
			k->plan.n_funcs == 1 ? " function" :
					       " functions",
			object__file_name(k->plan.object));
	}
	if (n > MAX_TOLD)
		fprintf(out, " and %zu other files", n - MAX_TOLD);
	if (!n)
		fputs("nothing: no file that it maps has an allocation function", out);
}

static bool is_c_library(const struct known_file *k)
{
	return k->plan.family && !k->plan.object->is_exec &&
	       (!strcmp(k->plan.family, "glibc") || !strcmp(k->plan.family, "musl"));
}

static void write_candidates(struct tracees *t, const struct tracee_life *l, FILE *out)
{
	size_t n = 0;

	for (size_t i = 0; i < l->space.n; i++) {
		struct known_file *k = is_first(&l->space, i) ? tracees__known_file(t, l->space.v[i].object) : NULL;

		if (!k || is_c_library(k) || n >= MAX_TOLD)
			continue;
		if (!k->lookalikes_known)
			k->lookalikes = lookalikes__of(k->plan.object, &t->funcs);
		k->lookalikes_known = true;
		if (k->lookalikes)
			fprintf(out, "%s%s", n++ ? "; " : "", k->lookalikes);
	}
}

static const char *in_words(struct tracees *t, const struct tracee_life *l, struct snapshot *s,
			    void (*tell)(struct tracees *t, const struct tracee_life *l, FILE *out))
{
	char *text;
	const char *ret;
	size_t size;
	FILE *out = text_stream__open(&text, &size);

	tell(t, l, out);
	text_stream__close(out);
	ret = *text ? snapshot__strdup(s, text) : NULL;
	free(text);
	return ret;
}

/* No allocator of the process's is behind pages of files and shared memory. */
static int64_t private_growth(const struct snap_process *p)
{
	if (p->memory.known && p->memory.grown_known)
		return p->memory.heap_grown + p->memory.large_grown + (int64_t)(p->swap_bytes - p->swap_at_attach_bytes);
	return rss_trend__change(p);
}

static void look_at(struct tracees *t, const struct tracee *p, const struct tracee_life *l,
		    struct snapshot *s, struct snap_process *to)
{
	uint64_t before_ns = MAX(p->cpu_at_attach_ns, l->cpu_before_ns);
	struct snap_blind b = {
		.is = true,
		.cpu_ns = p->cpu_ns > before_ns ? p->cpu_ns - before_ns : 0,
		.grown_bytes = private_growth(to),
	};
	bool much = b.cpu_ns >= MUCH_CPU_NS || b.grown_bytes >= MUCH_GROWTH;
	/*
	 * a process that ends runs; where children are followed, most of those that fork and exec
	 * call no allocator on the way
	 */
	bool ran = much || (to->ended && (b.cpu_ns || !tracees__are_shared(t) || p->own));

	b.idle = !ran && !to->ended;
	if ((!ran && !b.idle) || (s->n_processes > 1 && !much))
		return;
	if (ran) {
		b.probed = in_words(t, l, s, write_probed);
		b.candidates = in_words(t, l, s, write_candidates);
	}
	to->blind = b;
}

/* A free of nothing, as at a program's end, shows no block; what --within and its like skip was seen. */
static bool saw_nothing(const struct snapshot *s, const struct snap_process *p, bool partial)
{
	const struct counters *c = &p->c;

	return !p->probe_hits || (!partial && !s->estimated && !c->alloc_calls && !c->free_calls &&
				  !c->failed_calls && !c->unknown_frees);
}

void tracees__tell_blind(struct tracees *t, struct snapshot *s, bool partial)
{
	for (size_t i = 0; i < t->v.n; i++) {
		const struct tracee *p = t->v.v[i];
		const struct tracee_life *l = tracee__life(p);
		uint32_t id = model__process(t->model, l->proc)->id;

		if (!id || l->closed)
			continue;
		for (size_t k = 0; k < s->n_processes; k++) {
			struct snap_process *to = (struct snap_process *)&s->processes[k];

			if (to->id == id && saw_nothing(s, to, partial))
				look_at(t, p, l, s, to);
		}
	}
}
