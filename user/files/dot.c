// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the call graph for graphviz: a node for each function, with what it
 * allocates itself and what it and its callees do; an edge for each call.
 *
 * What always holds: functions lighter than the threshold are left out, and the
 * graph's title says how many; a call that leads through such functions is
 * dashed. A name cannot end its label. A function, or a call, that stands
 * several times in a stack is counted once for it.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "files/export.h"
#include "files/export_parts.h"
#include "present/figures.h"
#include "present/frames.h"
#include "util/ids.h"
#include "util/parse.h"
#include "util/util.h"

#define NAME_COLUMNS 60
/* more than that graphviz draws for minutes, and no reader can follow */
#define NODES_MAX 400
#define FONT_MIN 9
#define FONT_MAX 24
#define PEN_MAX 6

struct node {
	uint64_t self, all;
	uint32_t last_site;	/* + 1 */
	bool shown;
};

struct edge {
	uint64_t weight;
	uint32_t last_site;	/* + 1 */
	bool direct;		/* at least once */
};

struct dot {
	FILE *out;
	const struct snapshot *s;
	const struct metric *metric;
	struct functions functions;
	struct node *nodes;	/* by function */
	struct key_ids keys;	/* (caller, callee) */
	struct vec(struct edge) edges;
	struct stack_frame *stack;
	uint64_t whole;
	size_t n_folded;
};

static void put_text(FILE *out, const char *s)
{
	for (; *s; s++) {
		if (*s == '"' || *s == '\\')
			fputc('\\', out);
		fputc(*s, out);
	}
}

static const char *figure(const struct dot *d, char buf[static FMT_MAX], uint64_t n)
{
	return strcmp(d->metric->unit, "bytes") ? fmt_count(buf, n) : fmt_bytes(buf, n);
}

/* ---- weights */

static void weigh_nodes(struct dot *d)
{
	for (size_t i = 0; i < d->s->n_sites; i++) {
		uint64_t weight = metric__of(d->metric, &d->s->sites[i]);
		size_t n = weight ? functions__stack(&d->functions, &d->s->sites[i], d->stack) : 0;

		for (size_t k = 0; k < n; k++) {
			struct node *node = &d->nodes[d->stack[k].function];

			if (node->last_site != i + 1)
				node->all += weight;
			node->last_site = (uint32_t)i + 1;
			if (k + 1 == n)
				node->self += weight;
		}
		d->whole += weight;
	}
}

static int heavier_first(const void *pa, const void *pb, void *arg)
{
	uint32_t ia = *(const uint32_t *)pa, ib = *(const uint32_t *)pb;
	const struct node *nodes = arg;

	return ORDER(nodes[ib].all, nodes[ia].all) ?: ORDER(ia, ib);
}

static void choose_nodes(struct dot *d, double threshold_pct)
{
	_cleanup_free_ uint32_t *order = xcalloc(d->functions.n + 1, sizeof(*order));
	uint64_t floor = (uint64_t)(d->whole * threshold_pct / 100);
	size_t n_shown = 0;

	for (uint32_t i = 0; i < d->functions.n; i++)
		order[i] = i;
	qsort_r(order, d->functions.n, sizeof(*order), heavier_first, d->nodes);
	for (size_t i = 0; i < d->functions.n; i++) {
		struct node *node = &d->nodes[order[i]];

		node->shown = node->all && node->all >= floor && n_shown < NODES_MAX;
		n_shown += node->shown;
		d->n_folded += node->all && !node->shown;
	}
}

static void add_edge(struct dot *d, uint32_t site, uint32_t from, uint32_t to, bool direct)
{
	struct edge *edge;
	bool is_new;
	uint32_t id;

	key_ids__get(&d->keys, (struct key){ .a = from, .b = to }, &id, &is_new);
	if (is_new)
		vec_push(&d->edges);
	edge = &d->edges.v[id];
	if (edge->last_site != site + 1)
		edge->weight += metric__of(d->metric, &d->s->sites[site]);
	edge->last_site = site + 1;
	edge->direct |= direct;
}

static void weigh_edges(struct dot *d)
{
	for (size_t i = 0; i < d->s->n_sites; i++) {
		uint32_t from = UINT32_MAX;
		bool direct = true;
		size_t n;

		if (!metric__of(d->metric, &d->s->sites[i]))
			continue;
		n = functions__stack(&d->functions, &d->s->sites[i], d->stack);
		for (size_t k = 0; k < n; k++) {
			uint32_t to = d->stack[k].function;

			if (!d->nodes[to].shown) {
				direct = false;
				continue;
			}
			if (from != UINT32_MAX)
				add_edge(d, (uint32_t)i, from, to, direct);
			from = to;
			direct = true;
		}
	}
}

/* ---- the graph */

static void put_title(struct dot *d, double threshold_pct)
{
	struct export_notes notes;
	char a[FMT_MAX];

	export_notes__init(&notes, d->s);
	fputs("digraph malloctrace {\n\tlabelloc=t; labeljust=l; fontname=sans; rankdir=TB;\n\tlabel=\"", d->out);
	if (d->s->n_processes == 1)
		put_text(d->out, d->s->processes->comm);
	else
		fprintf(d->out, "%zu processes", d->s->n_processes);
	fprintf(d->out, ": %s %s%s\\l", d->metric->name, d->s->estimated ? "~" : "", figure(d, a, d->whole));
	for (size_t i = 0; i < notes.n; i++) {
		put_text(d->out, notes.v[i]);
		fputs("\\l", d->out);
	}
	if (d->n_folded)
		fprintf(d->out, "%zu function%s below %.4g%% of it %s not drawn\\l", d->n_folded,
			plural(d->n_folded), threshold_pct, d->n_folded == 1 ? "is" : "are");
	fputs("\";\n\tnode [shape=box, style=filled, fontname=sans];\n\tedge [fontname=sans, fontsize=9];\n", d->out);
	export_notes__done(&notes);
}

static void put_node(struct dot *d, uint32_t id)
{
	const struct function *f = &d->functions.v[id];
	const struct node *node = &d->nodes[id];
	_cleanup_free_ char *name = name__shorten(f->name, NAME_COLUMNS);
	char a[FMT_MAX], c[FMT_MAX];

	fprintf(d->out, "\tn%u [label=\"", id);
	put_text(d->out, name);
	if (node->self)
		fprintf(d->out, "\\n%s (%s)", figure(d, a, node->self), SHARE(node->self, d->whole));
	if (node->all != node->self)
		fprintf(d->out, "\\n%s%s (%s)", node->self ? "of " : "", figure(d, c, node->all),
			SHARE(node->all, d->whole));
	fputs("\", tooltip=\"", d->out);
	put_text(d->out, f->name);
	if (f->file || f->module) {
		fputs("\\n", d->out);
		put_text(d->out, f->file ? f->file : f->module);
	}
	fprintf(d->out, "\", fontsize=%d, ",
		FONT_MIN + (int)(d->whole ? (FONT_MAX - FONT_MIN) * (double)node->self / d->whole : 0));
	/* from white to red, by what goes through; whole numbers: a locale's comma would be another attribute */
	fprintf(d->out, "fillcolor=\"0.05 0.%03d 1.0\"];\n", d->whole ? (int)(600.0 * node->all / d->whole) : 0);
}

static void put_edge(struct dot *d, const struct key *k, const struct edge *edge)
{
	int pen_tenths = 10 + (d->whole ? (int)(10 * (PEN_MAX - 1) * (double)edge->weight / d->whole) : 0);
	char a[FMT_MAX];

	fprintf(d->out, "\tn%" PRIu64 " -> n%" PRIu64 " [label=\"%s\", penwidth=%d.%d%s];\n", k->a, k->b,
		figure(d, a, edge->weight), pen_tenths / 10, pen_tenths % 10, edge->direct ? "" : ", style=dashed");
}

static void write_all(struct dot *d, double threshold_pct)
{
	functions__init(&d->functions, d->s);
	d->nodes = xcalloc(d->functions.n + 1, sizeof(*d->nodes));
	d->stack = xcalloc(d->functions.max_frames + 1, sizeof(*d->stack));
	weigh_nodes(d);
	choose_nodes(d, threshold_pct);
	weigh_edges(d);
	put_title(d, threshold_pct);
	for (uint32_t i = 0; i < d->functions.n; i++)
		if (d->nodes[i].shown)
			put_node(d, i);
	for (size_t i = 0; i < d->edges.n; i++)
		put_edge(d, &d->keys.v[i], &d->edges.v[i]);
	fputs("}\n", d->out);
}

int dot__write(FILE *out, const struct snapshot *s, const struct export_opts *o, struct err *e)
{
	struct dot d = { .out = out, .s = s, .metric = o && o->metric ? o->metric : metric__preset(s->known) };

	write_all(&d, export__threshold_pct(o));
	functions__done(&d.functions);
	key_ids__done(&d.keys);
	vec_done(&d.edges);
	free(d.nodes);
	free(d.stack);
	return ferror(out) ? err_set(e, -EIO, "cannot write the call graph: %s", strerror(EIO)) : 0;
}
