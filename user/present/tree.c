// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the call tree. Its items are the sites, each with the next of its frames;
 * a node is a range of them. To expand a node is to put the items of its range
 * into the order of their next frame: each run of equal frames is a child, and
 * a range of its own.
 *
 * What always holds: the ranges of a node's children are disjoint and lie in
 * the node's own; the weights of its children and what ends in it add up to its weight;
 * the order of children is total and depends on weights and names alone.
 */
#include "present/tree.h"

#include <string.h>

#include "present/columns.h"
#include "present/frames.h"
#include "util/util.h"

struct tree_item {
	const struct snap_site *site;
	uint64_t weight;
	uint64_t key;		/* of the next frame */
	bool process_next;	/* the next step is the process, not a frame */
	bool over;		/* no frame is left */
	uint32_t at;		/* frame of the stack: innermost first, or the other way round */
	uint32_t line;		/* frame of that place */
};

/* ---- keys: what makes two frames the same */

#define KEY_SEED 0x9e3779b97f4a7c15ull

static uint64_t mix(uint64_t h, uint64_t v)
{
	h ^= v + KEY_SEED + (h << 6) + (h >> 2);
	h ^= h >> 31;
	h *= 0xbf58476d1ce4e5b9ull;
	return h ^ h >> 29;
}

static uint64_t mix_string(uint64_t h, const char *s)
{
	for (; s && *s; s++)
		h = (h ^ (unsigned char)*s) * 0x100000001b3ull;
	return mix(h, 1);
}

/* A function is one frame, wherever in it a call was made; without a name, each address is. */
static uint64_t frame_key(const struct frame *f)
{
	uint64_t h = mix_string(KEY_SEED, frame__origin(f));

	if (f->line && f->line->function && *f->line->function)
		return mix_string(h, f->line->function);
	return mix(h, f->place->offset);
}

static const struct place *place_at(const struct tree *t, const struct tree_item *it)
{
	const struct snap_site *s = it->site;
	uint32_t i = t->o.order == TREE_CALLERS ? s->n_stack - 1 - it->at : it->at;

	return &t->s->places[s->stack[i]];
}

static struct frame frame_of(const struct tree *t, const struct tree_item *it)
{
	const struct place *p = place_at(t, it);
	size_t n = place__n_frames(p);

	return place__frame(t->s, p, t->o.order == TREE_CALLERS ? n - 1 - it->line : it->line);
}

static void find_key(const struct tree *t, struct tree_item *it)
{
	struct frame f;

	it->over = !it->process_next && it->at >= MAX(it->site->n_stack, 1u);
	if (it->over)
		return;
	if (it->process_next) {
		it->key = mix(KEY_SEED, t->s->processes[it->site->process].id);
	} else if (!it->site->n_stack) {
		it->key = mix(KEY_SEED, UINT64_MAX);
	} else {
		f = frame_of(t, it);
		it->key = frame_key(&f);
	}
}

static void step(const struct tree *t, struct tree_item *it)
{
	if (it->process_next) {
		it->process_next = false;
		return;
	}
	if (it->site->n_stack && ++it->line < place__n_frames(place_at(t, it)))
		return;
	it->line = 0;
	it->at++;
}

/* ---- nodes */

/* calls: it is the frame that called the allocation function, seen from that end. */
static void add_up(struct tree *t, struct tree_node *n, bool calls)
{
	n->weight = n->ends = 0;
	n->n_sites = n->end - n->first;
	n->leaf = true;
	for (size_t i = n->first; i < n->end; i++) {
		n->weight += t->items[i].weight;
		if (t->items[i].over)
			n->ends += t->items[i].weight;
		else
			n->leaf = false;
	}
	/* what has no stack was called for by nobody that is known, in either order */
	n->self = t->o.order == TREE_CALLERS || n->kind == TREE_NO_STACK ? n->ends : calls ? n->weight : 0;
}

void tree__init(struct tree *t, const struct snapshot *s, const struct tree_opts *o)
{
	*t = (struct tree){ .s = s, .o = *o };
	t->items = xcalloc(s->n_sites + 1, sizeof(*t->items));
	for (size_t i = 0; i < s->n_sites; i++) {
		const struct snap_site *site = &s->sites[i];
		uint64_t weight = metric__of(o->metric, site);
		struct tree_item *it = &t->items[t->n_items];

		if (!weight || (o->keep && !o->keep(site, o->arg)))
			continue;
		*it = (struct tree_item){ .site = site, .weight = weight, .process_next = o->processes };
		find_key(t, it);
		t->n_items++;
	}
	*(struct tree_node *)vec_push(t) = (struct tree_node){ .id = KEY_SEED, .end = t->n_items };
	add_up(t, &t->v[0], false);
}

void tree__done(struct tree *t)
{
	free(t->items);
	free(t->v);
	*t = (struct tree){};
}

COMPARATOR(by_key, struct tree_item, ORDER(a->over, b->over) ?: ORDER(a->key, b->key))

/* An id is made of names alone. */
COMPARATOR(by_weight, struct tree_node, ORDER(b->weight, a->weight) ?: ORDER(a->id, b->id))

static bool same_line(const struct frame *a, const struct frame *b)
{
	if (!a->line || !b->line)
		return a->place->offset == b->place->offset;
	if (a->line->line != b->line->line || !a->line->file != !b->line->file)
		return false;
	if (!a->line->file)
		return a->place->offset == b->place->offset;
	return a->line->file == b->line->file || !strcmp(a->line->file, b->line->file);
}

/* A child of all items from first to end, whose next frame is the same: they go on to the one after it. */
static void begin_child(struct tree *t, uint32_t parent, size_t first, size_t end)
{
	const struct tree_item *it = &t->items[first];
	struct tree_node *n = vec_push(t);
	bool calls = !it->process_next && !it->at && !it->line;

	*n = (struct tree_node){
		.id = mix(t->v[parent].id, it->key),
		.kind = it->process_next ? TREE_PROCESS : it->site->n_stack ? TREE_FRAME : TREE_NO_STACK,
		.depth = t->v[parent].depth + 1,
		.parent = parent,
		.first = first,
		.end = end,
	};
	if (n->kind == TREE_PROCESS)
		n->process = &t->s->processes[it->site->process];
	if (n->kind == TREE_FRAME)
		n->frame = frame_of(t, it);
	for (size_t i = first; i < end; i++) {
		if (n->kind == TREE_FRAME && !n->lines_differ) {
			struct frame f = frame_of(t, &t->items[i]);

			n->lines_differ = !same_line(&n->frame, &f);
		}
		step(t, &t->items[i]);
		find_key(t, &t->items[i]);
	}
	add_up(t, n, calls);
}

void tree__expand(struct tree *t, uint32_t node)
{
	size_t first = t->v[node].first, end = t->v[node].end, first_child = t->n;
	struct tree_item *it = t->items;

	if (t->v[node].expanded)
		return;
	qsort(it + first, end - first, sizeof(*it), by_key);
	for (size_t i = first, from = first; i < end && !it[i].over; i++)
		if (i + 1 == end || it[i + 1].over || it[i + 1].key != it[i].key) {
			begin_child(t, node, from, i + 1);
			from = i + 1;
		}
	t->v[node].first_child = (uint32_t)first_child;
	t->v[node].n_children = (uint32_t)(t->n - first_child);
	t->v[node].expanded = true;
	qsort(t->v + first_child, t->n - first_child, sizeof(*t->v), by_weight);
}

/* ---- text */

char *tree__name(const struct tree *t, uint32_t node)
{
	const struct tree_node *n = &t->v[node];

	switch (n->kind) {
	case TREE_FRAME:
		return frame__name(&n->frame);
	case TREE_PROCESS:
		return xasprintf("%s%s", n->process->comm, PROCESS_NUMBER(t->s, n->process));
	case TREE_NO_STACK:
		return xstrdup(NO_STACK_NAME);
	case TREE_ROOT:
		break;
	}
	return xstrdup("all");
}

char *tree__where(const struct tree *t, uint32_t node, size_t width)
{
	const struct tree_node *n = &t->v[node];
	struct frame f = n->frame;
	struct line line;

	if (n->kind != TREE_FRAME)
		return xstrdup("");
	if (n->lines_differ) {
		/* without a file, the offset would be that of one call among several */
		if (!f.line || !f.line->file)
			return xstrdup(f.module ? path_basename(f.module) : "");
		line = *f.line;
		line.line = 0;
		f.line = &line;
	}
	return frame__where(&f, width);
}
