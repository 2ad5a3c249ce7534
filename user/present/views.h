/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * The views: a row of one table for each. Reports, the live view and pages draw what
 * it says; --view and its help take their names from it.
 */
#ifndef MT_VIEWS_H
#define MT_VIEWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/snapshot.h"

struct columns;

enum view_bit {
	VIEW_LIVE = 1,
	VIEW_ALLOCS = 2,
	VIEW_RESIDENT = 4,
	VIEW_MAPPED = 8,
	VIEW_PROCESSES = 16,
	VIEW_THREADS = 32,
	VIEW_TREE = 64,
	VIEW_PEAK = 128,
	VIEW_TEMPORARY = 256,
	VIEW_SIZES = 512,
	VIEW_LIFETIMES = 1024,
	VIEW_TAGS = 2048,
	VIEW_FREES = 4096,
	VIEW_REALLOC = 8192,
	VIEW_MARKS = 1 << 14,
	VIEW_WHENS = 1 << 15,
	VIEW_FUNCTIONS = 1 << 16,
	VIEW_CHANGED = 1 << 17,
	VIEW_SOURCE = 1 << 18,
	VIEW_FILES = 1 << 19,
	VIEW_MODULES = 1 << 20,
	VIEW_HEAP = 1 << 21,
	VIEW_BLOCKS = 1 << 22,
	VIEW_HEAP_TYPES = 1 << 23,
	VIEW_HEAP_ARENAS = 1 << 24,
	VIEW_HEAP_PARTS = 1 << 25,
	VIEW_HEAP_ROOTS = 1 << 26,
};

/* What a row of a view is. */
enum view_rows { ROWS_SITES, ROWS_PROCESSES, ROWS_THREADS, ROWS_TAGS, ROWS_SUMS, ROWS_MARKS, ROWS_WHENS, ROWS_TREE, ROWS_CHANGES, ROWS_SOURCE,
	/* of a heap as it is; the first: in a report all of it, on the screen a row for each size */
	ROWS_HEAP, ROWS_BLOCKS, ROWS_TYPES, ROWS_ARENAS, ROWS_PARTS, ROWS_ROOTS, N_VIEW_ROWS };

/* What must hold beside the counters that it needs. */
enum view_where {
	WHERE_GROWTH = 1,	/* --mode growth */
	WHERE_NO_GROWTH = 2,
	WHERE_FREE_STACKS = 4,	/* --free-stacks */
	WHERE_MOVES = 8,	/* realloc passed blocks on */
	WHERE_WHENS = 16,	/* --when */
	WHERE_HEAP = 128,	/* the memory of a process was looked at */
	WHERE_BLOCKS = 256,	/* and some blocks are listed */
	/* of a running trace */
	WHERE_TAGGED = 32,	/* --tag */
	WHERE_MARKED = 64,	/* --mark */
	/* of a heap that was looked at */
	WHERE_CENSUS = 512,	/* its layout was recognised */
	WHERE_PARTS = 1024,	/* the rest of resident memory was looked at */
	WHERE_ROOTS = 2048,	/* --roots */
};

/* What the sites of a row have in common that is a sum of sites; strings of the snapshot's, or constant. */
struct sum_key {
	const char *name, *module;	/* the module's path, or "" */
	bool is_script;		/* as modules there are many of one name, in folders of their own */
};

struct view {
	enum view_bit bit;
	const char *name;	/* for --view, and on the screen */
	const char *title;	/* of the report's table */
	const char *alias;	/* another name that --view takes; NULL: none */
	bool internal;		/* no word of --view: it comes with others (see with), or on the screen or a page alone */
	enum view_rows rows;
	unsigned int needs;	/* enum counter_bit */
	unsigned int where;	/* enum view_where */
	unsigned int with;	/* enum view_bit: shown where one of these is asked for, too */
	enum { PRESET_NEVER, PRESET_ALWAYS, PRESET_WITHOUT_TAGS, PRESET_WITH_TAGS = 4, PRESET_SEVERAL = 8 } preset;	/* part of the report if nothing was asked for? */
	bool leads;		/* a report begins with it */
	bool all_names;		/* a report of it takes the names of all sites */

	/* of sites, and of sums of them */
	const char *sort;	/* what sites are ranked by (rank__key) */
	const char *weighs;	/* what the share in the title is of; NULL: sort */
	size_t figure;		/* of a site, in struct snap_site: those are shown that have any of it; 0: it is no view of sites */
	enum { PAGES_ANY, PAGES_FAULTED, PAGES_MAPPED } pages;	/* --mode growth: of these alone */
	bool older;		/* --older counts in it */
	bool holds;		/* it is of what is held: what processes held that have ended is history, and comes last */

	/* of sums of sites alone: the row that a site belongs to whose telling frame this is; place NULL: it has no stack */
	struct sum_key (*sum_by)(const struct frame *f);

	const char *empty;	/* what is said where there are no rows */
	const struct columns *columns;	/* all that there are; reports of other rows than sites show them */

	struct {		/* the live view's */
		int key;	/* 0: it has none of this view */
		const char *columns;	/* see columns__choose(); NULL: none */
		const char *sort;	/* the column that rows are sorted by at first */
		bool bars;		/* bars, and no rows */
		unsigned int with;	/* enum view_bit: --view that it begins with this one for, too */
		unsigned int where;	/* enum view_where, beside the other */
		const char *option;	/* that it goes with, where it is not always there */
		unsigned int beside;	/* enum view_bit: it has no key, g leads to it from that one */
	} live;

	struct {		/* a page's (files/html/), in the order of the live view's keys */
		const char *columns;	/* their names, with a blank between two; NULL: it has none of this view */
		const char *sort;	/* the column that rows are sorted by at first; NULL: the first one */
		const struct columns *of;	/* NULL: the view's, as its rows are */
	} page;
};

extern const struct view views[];
extern const size_t n_views;
#define VIEWS_MAX 32

const struct view *view__of(enum view_bit bit);
/* Is the site among those of the view? older: of those that hold blocks older than an age. */
bool view__shows(const struct view *v, const struct snap_site *site, bool older);
/* Those that the live view has of it, in order. */
const struct columns *view__columns(const struct view *v);
/* By the name that --view takes, of len bytes; 0: no such view. */
unsigned int view__find(const char *name, size_t len);
/* The names that --view takes, in the order of the table, with a blank between two. */
const char *views__names(void);

/* The views for which counters are enough; known: enum counter_bit. */
unsigned int views__of(unsigned int known);
/* The views for which a snapshot has figures. */
unsigned int views__in(const struct snapshot *s);
/* Does the snapshot have figures for this one? What only a running trace can tell is not asked. */
bool view__holds(const struct view *v, const struct snapshot *s);
bool where__holds(unsigned int where, const struct snapshot *s);
/* What a report shows if nothing was asked for. */
unsigned int views__preset(const struct snapshot *s);

/* ---- which sites a view shows, in which order, and what they add up to */

struct rank {
	const struct snap_site **v;	/* owned; all sites of the view: the heaviest, as many as asked for, in order; then the rest in none */
	size_t n;
	const struct metric *by;
	bool ended_last;	/* sites of processes that have ended come after the others */
	bool older;		/* live figures are those of blocks older than snapshot.older_ns */
};

/* What --sort takes: the title of a column in small letters, or a metric; NULL: no such key. */
const struct metric *rank__key(const char *name);
const char *rank__words(void);	/* all of them, with a blank between two */
/* The same, of rows that are no sites: where it is no metric, or the name is NULL, what they weigh by themselves. */
const struct metric *rank__metric(const char *name, unsigned int known);
/* sort NULL: by the view. top: how many are put in order; SIZE_MAX: all. The view is one of sites, and sort names a metric. */
void rank__init(struct rank *r, const struct snapshot *s, enum view_bit view, const char *sort, bool older, size_t top);
void rank__done(struct rank *r);

/* What a site weighs by m. */
uint64_t rank__weight(const struct rank *r, const struct metric *m, const struct snap_site *site);
/* What all of them weigh, and the first n. */
void rank__sums(const struct rank *r, const struct metric *m, size_t n, uint64_t *ret_whole, uint64_t *ret_first);

/* A metric weighs sites: of a process or a tag, all of them together. */
uint64_t rank__of_counters(const struct metric *key, const struct counters *c);

#endif
