// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns massif's files, as ms_print and massif-visualizer read them: the course
 * of live bytes, and a tree of what holds them at the end and, of a single
 * process, at its peak. Trees grow from the allocation to its callers; what is
 * lighter than the threshold is folded into one line:
 *
 *	snapshot=3
 *	#-----------
 *	time=30000
 *	mem_heap_B=39847136
 *	mem_heap_extra_B=0
 *	mem_stacks_B=0
 *	heap_tree=detailed
 *	n2: 39847136 (heap allocation functions) malloc, realloc and their like
 *	 n1: 32505856 0x8A4F0: trackingRememberKey (tracking.c:212)
 *	  n0: 32505856 0x51210: call (server.c:3560)
 *	 n0: 7341280 in 3 places, all below the threshold (0.50%)
 *
 * What always holds: no node weighs more than the snapshot it is in (ms_print
 * refuses that), snapshots are in the order of their times.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "files/export.h"
#include "files/export_parts.h"
#include "present/figures.h"
#include "util/util.h"

struct stack {
	const struct stack_frame *frames;	/* the caller of the allocation function first */
	uint32_t n;
	uint32_t site;
	uint64_t weight;	/* in the tree at hand */
};

struct massif {
	FILE *out;
	const struct snapshot *s;
	struct functions functions;
	struct stack_frame *frames;	/* of all stacks */
	struct stack *stacks;
	size_t n_stacks;
	double threshold_pct;
	uint64_t floor;		/* nodes below it are folded */
	unsigned int n_snapshots;
};

static void put_name(FILE *out, const char *name)
{
	/* what follows a '#' is a comment to ms_print */
	for (; *name; name++)
		fputc(*name == '#' ? '@' : *name, out);
}

static void put_frame(struct massif *m, const struct stack_frame *f)
{
	const struct function *fn = &m->functions.v[f->function];

	fprintf(m->out, " 0x%" PRIX64 ": ", f->place == NO_PLACE ? 0 : m->s->places[f->place].offset);
	put_name(m->out, fn->name);
	fputs(fn->file || fn->module ? " (" : "", m->out);
	if (fn->file) {
		put_name(m->out, path_basename(fn->file));
		if (f->line)
			fprintf(m->out, ":%u", f->line);
	} else if (fn->module) {
		fputs("in ", m->out);
		put_name(m->out, fn->module);
	}
	fputs(fn->file || fn->module ? ")\n" : "\n", m->out);
}

/* ---- stacks */

static int by_frame(const struct stack_frame *a, const struct stack_frame *b)
{
	return ORDER(a->place, b->place) ?: ORDER(a->function, b->function);
}

static int by_frames(const void *pa, const void *pb)
{
	const struct stack *a = pa, *b = pb;

	for (uint32_t i = 0; i < MIN(a->n, b->n); i++) {
		int d = by_frame(&a->frames[i], &b->frames[i]);

		if (d)
			return d;
	}
	return ORDER(a->n, b->n);
}

/* Stacks that begin alike stand side by side from here on. */
static void collect(struct massif *m)
{
	const struct snapshot *s = m->s;
	size_t n_frames = 0;

	for (size_t i = 0; i < s->n_sites; i++)
		n_frames += site__n_frames(s, &s->sites[i]) + FUNCTIONS_MAX_ROOTS;
	m->frames = xcalloc(n_frames + 1, sizeof(*m->frames));
	m->stacks = xcalloc(s->n_sites + 1, sizeof(*m->stacks));
	n_frames = 0;
	for (size_t i = 0; i < s->n_sites; i++) {
		struct stack_frame *frames = m->frames + n_frames;
		size_t n = functions__stack(&m->functions, &s->sites[i], frames);

		for (size_t k = 0; k < n / 2; k++) {
			struct stack_frame swap = frames[k];

			frames[k] = frames[n - 1 - k];
			frames[n - 1 - k] = swap;
		}
		m->stacks[i] = (struct stack){ .frames = frames, .n = (uint32_t)n, .site = (uint32_t)i };
		n_frames += n;
	}
	m->n_stacks = s->n_sites;
	qsort(m->stacks, m->n_stacks, sizeof(*m->stacks), by_frames);
}

/* ---- trees */

struct node {
	size_t first, end;	/* stacks */
	uint64_t weight;
};

struct nodes vec(struct node);

COMPARATOR(heavier_first, struct node, ORDER(b->weight, a->weight) ?: ORDER(a->first, b->first))

/* The stacks of a node, by their frame at this depth; those that end before it are the node's own. */
static void split(const struct massif *m, const struct node *node, uint32_t depth, struct nodes *ret)
{
	struct node *child = NULL;

	for (size_t i = node->first; i < node->end; i++) {
		const struct stack *st = &m->stacks[i];

		if (st->n <= depth || !st->weight)
			continue;
		if (!child || by_frame(&st->frames[depth], &m->stacks[child->first].frames[depth])) {
			child = vec_push(ret);
			child->first = i;
		}
		child->end = i + 1;
		child->weight += st->weight;
	}
	vec_sort(ret, heavier_first);
}

static void put_node(struct massif *m, const struct node *node, uint32_t depth)
{
	struct nodes children = {};
	uint64_t folded = 0;
	size_t n = 0;

	split(m, node, depth, &children);
	while (n < children.n && children.v[n].weight >= m->floor)
		n++;
	for (size_t i = n; i < children.n; i++)
		folded += children.v[i].weight;
	fprintf(m->out, "%*sn%zu: %" PRIu64, (int)depth, "", n + (n < children.n), node->weight);
	if (depth)
		put_frame(m, &m->stacks[node->first].frames[depth - 1]);
	else
		fputs(" (heap allocation functions) malloc, realloc and their like\n", m->out);
	for (size_t i = 0; i < n; i++)
		put_node(m, &children.v[i], depth + 1);
	if (n < children.n)
		fprintf(m->out, "%*sn0: %" PRIu64 " in %zu place%s, all below the threshold (%.2f%%)\n",
			(int)depth + 1, "", folded, children.n - n, plural(children.n - n),
			m->threshold_pct);
	vec_done(&children);
}

/* ---- snapshots */

static void put_snapshot(struct massif *m, uint64_t t_ns, uint64_t bytes, const char *tree)
{
	fprintf(m->out,
		"#-----------\nsnapshot=%u\n#-----------\ntime=%" PRIu64 "\nmem_heap_B=%" PRIu64
		"\nmem_heap_extra_B=0\nmem_stacks_B=0\nheap_tree=%s\n",
		m->n_snapshots++, (uint64_t)(t_ns / MS_NS), bytes, tree);
}

static void put_tree(struct massif *m, uint64_t t_ns, uint64_t at_least, const char *tree,
			    const char *metric)
{
	const struct metric *of = metric__find(metric);
	struct node all = { .end = m->n_stacks };

	for (size_t i = 0; i < m->n_stacks; i++) {
		m->stacks[i].weight = metric__of(of, &m->s->sites[m->stacks[i].site]);
		all.weight += m->stacks[i].weight;
	}
	m->floor = (uint64_t)(all.weight * m->threshold_pct / 100);
	put_snapshot(m, t_ns, MAX(all.weight, at_least), tree);
	put_node(m, &all, 0);
}

struct point {
	uint64_t t_ns, live_bytes;
	size_t process;
};

struct points vec(struct point);

COMPARATOR(by_time, struct point, ORDER(a->t_ns, b->t_ns) ?: ORDER(a->process, b->process))

static void gather(const struct snapshot *s, struct points *ret)
{
	for (size_t i = 0; i < s->n_processes; i++)
		for (size_t k = 0; k < s->processes[i].n_timeline; k++) {
			const struct snap_point *t = &s->processes[i].timeline[k];
			struct point *p;

			if (t->t_ns >= s->duration_ns)
				continue;
			p = vec_push(ret);
			*p = (struct point){ t->t_ns, t->live_bytes, i };
		}
	vec_sort(ret, by_time);
}

static void put_peak(struct massif *m)
{
	const struct snap_process *p = m->s->processes;

	put_tree(m, p->peak_at_ns, m->s->hidden.by ? 0 : p->c.peak_bytes, "peak", "peak-bytes");
}

/* A process that was not sampled at a moment has what it had before. */
static void put_course(struct massif *m)
{
	const struct snapshot *s = m->s;
	const struct snap_process *one = s->n_processes == 1 && s->processes->c.peak_bytes ? s->processes : NULL;
	_cleanup_free_ uint64_t *now = xcalloc(s->n_processes + 1, sizeof(*now));
	struct points points = {};
	uint64_t sum = 0;

	/* what processes held over time includes the sites that are hidden */
	if (!s->hidden.by)
		gather(s, &points);
	for (size_t i = 0; i < points.n; i++) {
		const struct point *p = &points.v[i];

		if (one && p->t_ns >= one->peak_at_ns) {
			put_peak(m);
			one = NULL;
		}
		sum += p->live_bytes - now[p->process];
		now[p->process] = p->live_bytes;
		if (i + 1 == points.n || points.v[i + 1].t_ns != p->t_ns)
			put_snapshot(m, p->t_ns, sum, "empty");
	}
	if (one && one->peak_at_ns < s->duration_ns)
		put_peak(m);
	vec_done(&points);
	put_tree(m, s->duration_ns, 0, "detailed", "live-bytes");
}

static void write_all(struct massif *m)
{
	const struct snapshot *s = m->s;
	struct export_notes notes;

	functions__init(&m->functions, s);
	collect(m);
	export_notes__init(&notes, s);
	for (size_t i = 0; i < notes.n; i++) {
		fputs("desc: ", m->out);
		put_name(m->out, notes.v[i]);
		fputc('\n', m->out);
	}
	export_notes__done(&notes);
	if (s->hidden.by)
		fputs("desc: only the peak and the end: the timeline is of all sites\n", m->out);
	fputs("cmd: ", m->out);
	for (size_t i = 0; i < s->n_processes; i++) {
		fputs(i ? ", " : "", m->out);
		put_name(m->out, s->processes[i].exe && *s->processes[i].exe ? s->processes[i].exe :
									       s->processes[i].comm);
	}
	fputs("\ntime_unit: ms\n", m->out);
	put_course(m);
}

int massif__write(FILE *out, const struct snapshot *s, const struct export_opts *o, struct err *e)
{
	struct massif m = { .out = out, .s = s, .threshold_pct = export__threshold_pct(o) };

	if (!(s->known & HAS_LIVE_BYTES))
		return err_set(e, -EINVAL, "massif shows live memory, which --mode %s does not record",
			       mode__name(s->recording.mode));
	write_all(&m);
	functions__done(&m.functions);
	free(m.frames);
	free(m.stacks);
	return ferror(out) ? err_set(e, -EIO, "cannot write the massif profile: %s", strerror(EIO)) : 0;
}
