// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns what is said of a process of which no call was seen. What always holds: it is
 * said of one that ran, by the kernel's own account, and of one that stood still that
 * it did; a file is searched for what looks like an allocator once, and not before it
 * is needed.
 */
#include <inttypes.h>
#include <string.h>

#include "probe/lookalikes.h"
#include "tracee/tracee_parts.h"

/* Below that RSS grows by whatever a program reads and calls for the first time. */
#define MUCH_GROWTH (1 << 20)
/* Where there are many, most of them sleep nearly all the time. */
#define MUCH_CPU_NS (20 * MS_NS)

/* Is it the first of its file in the list of ranges? */
static bool is_first(const struct space *s, size_t at)
{
	if (!s->v[at].object || !s->v[at].object->is_elf)
		return false;
	for (size_t i = 0; i < at; i++)
		if (s->v[i].object == s->v[at].object)
			return false;
	return true;
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
	_cleanup_free_ char *text = NULL;
	const char *ret = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	tell(t, l, out);
	if (!fclose(out) && *text)
		ret = snapshot__strdup(s, text);
	return ret;
}

static void look_at(struct tracees *t, const struct tracee *p, const struct tracee_life *l,
		    struct snapshot *s, struct snap_process *to)
{
	uint64_t before_ns = MAX(p->cpu_at_attach_ns, l->cpu_before_ns);
	struct snap_blind b = {
		.is = true,
		.cpu_ns = p->cpu_ns > before_ns ? p->cpu_ns - before_ns : 0,
		.grown_bytes = to->rss_bytes && to->rss_at_attach_bytes ? (int64_t)(to->rss_bytes - to->rss_at_attach_bytes) : 0,
	};
	/*
	 * a process that ends runs; where children are followed, most of those that fork and exec
	 * call no allocator on the way
	 */
	bool ran = b.cpu_ns || b.grown_bytes >= MUCH_GROWTH || (to->ended && (!tracees__are_shared(t) || p->own));

	b.idle = !ran && !to->ended;
	if (!ran && !b.idle)
		return;
	if (s->n_processes > 1 && b.cpu_ns < MUCH_CPU_NS && b.grown_bytes < MUCH_GROWTH)
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
		uint32_t id = model__life_id(t->model, l->proc);

		if (!id || l->closed)
			continue;
		for (size_t k = 0; k < s->n_processes; k++) {
			struct snap_process *to = (struct snap_process *)&s->processes[k];

			if (to->id == id && saw_nothing(s, to, partial))
				look_at(t, p, l, s, to);
		}
	}
}
