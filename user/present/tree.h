/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * The call tree of a snapshot, weighed by a metric: from the thread's first
 * function down to the allocation (callers first), or from whoever called the
 * allocator up (callees first). A node's children are made when they are asked
 * for, so that a tree of a million paths costs what is looked at.
 */
#ifndef MT_TREE_H
#define MT_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/snapshot.h"

enum tree_order { TREE_CALLERS, TREE_CALLEES };

enum tree_kind {
	TREE_ROOT,		/* the first node: all of it */
	TREE_PROCESS,
	TREE_FRAME,
	TREE_NO_STACK,		/* sites whose stack was not recorded */
};

struct tree_node {
	uint64_t id;		/* of the path to it: the same in every snapshot, as long as its frames have the same names */
	enum tree_kind kind;
	const struct snap_process *process;	/* TREE_PROCESS */
	struct frame frame;	/* TREE_FRAME: one of those that are added up here; the line may differ between them */
	bool lines_differ;	/* they do: there is no one place in the source */
	uint64_t weight;	/* of all stacks that come through */
	uint64_t ends;		/* of those that end here */
	uint64_t self;		/* of those whose allocation this function called for: they end here, or, callees first, begin */
	size_t n_sites;		/* the same, counted */
	uint32_t depth;		/* 0: the root */
	uint32_t parent;	/* index; the root's is itself */
	uint32_t first_child, n_children;	/* hold once expanded; the heaviest first */
	bool expanded;
	bool leaf;		/* there is nothing below */
	size_t first, end;	/* items; for tree.c */
};

struct tree_opts {
	enum tree_order order;
	const struct metric *metric;
	bool processes;		/* one level for processes, above the frames */
	/* NULL: all sites */
	bool (*keep)(const struct snap_site *site, void *arg);
	void *arg;
};

struct tree_item;

struct tree {
	const struct snapshot *s;
	struct tree_opts o;
	struct tree_node *v;	/* a vector: v[0] is the root; pointers into it hold until the next expansion */
	size_t n, room;
	struct tree_item *items;
	size_t n_items;
};

/* Sites that weigh nothing are left out. The snapshot must stay, and keep its names, as long as the tree. */
void tree__init(struct tree *t, const struct snapshot *s, const struct tree_opts *o);
void tree__done(struct tree *t);
/* Makes the children of a node, once. */
void tree__expand(struct tree *t, uint32_t node);
/* The node's own text: "main", "libfoo.so+0x12", "redis-server (1432)", "[no stack]". The caller's. */
char *tree__name(const struct tree *t, uint32_t node);
/* Where it is: "src/a.c:12", the file alone where lines differ, module and offset without a source; "" if there is nothing to tell. */
char *tree__where(const struct tree *t, uint32_t node, size_t width);

#endif
