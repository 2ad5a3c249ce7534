/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * The live view as a machine: snapshots and keys go in, a grid comes out. It
 * knows no terminal, no clock and no file; what it cannot do itself it asks for
 * by the action that a key returns.
 */
#ifndef MT_TOP_H
#define MT_TOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/snapshot.h"
#include "present/top/grid.h"

/* Keys are characters (Unicode), or these. */
enum top_key {
	TOP_KEY_ENTER = '\n',
	TOP_KEY_TAB = '\t',
	TOP_KEY_ESC = 27,
	TOP_KEY_UP = 0x110000,
	TOP_KEY_DOWN,
	TOP_KEY_LEFT,
	TOP_KEY_RIGHT,
	TOP_KEY_PAGE_UP,
	TOP_KEY_PAGE_DOWN,
	TOP_KEY_HOME,
	TOP_KEY_END,
	TOP_KEY_BACKSPACE,
	TOP_KEY_DELETE,
	TOP_KEY_REDRAW,		/* Ctrl-L */
};

enum top_mouse { TOP_CLICK, TOP_WHEEL_UP, TOP_WHEEL_DOWN };

enum top_action {
	TOP_NONE,
	TOP_QUIT,
	TOP_WRITE,		/* a snapshot, now, to top__path() */
	TOP_INTERVAL,		/* another one: top__interval_ns() */
	TOP_BASELINE,		/* Δ is to count from now on */
	TOP_GROUP,		/* rows of programs become those of processes, or the other way round: an update with them is due */
	TOP_SOURCE,		/* the text of top__source_of(): to be given by top__give_source() */
	TOP_HEAP_LOOK,		/* at the heap of top__heap_process(), now */
	TOP_HEAP_SEARCH,	/* the same, and for blocks that no pointer reaches, and what holds the others */
	TOP_REPAINT,		/* all cells, also those that did not change */
};

struct top;
struct tagger;

struct top_opts {
	const char *suffix;	/* of the file that `o` proposes: ".html" */
	const char *suffixes;	/* those it can be, for the prompt: ".html .json .txt" */
	uint64_t interval_ns;
	unsigned int views;	/* enum view_bit: what to begin with; 0: live */
	const char *sort;	/* what --sort takes; NULL: by the view */
	const struct tagger *tagger;	/* --tag; not owned; NULL: none */
	bool marks;		/* --mark was given */
	uint64_t leak_after_ns;	/* --leak-after; 0: the usual */
	/* Fills in the names of these places that are known already; how many got one. NULL: there are no more than the snapshot has. */
	size_t (*name)(struct snapshot *s, const uint32_t *places, size_t n, void *arg);
	void *name_arg;
};

struct top *top__new(const struct top_opts *o);
void top__free(struct top *t);

/* Takes the snapshot: it is shown until the next one comes. While the screen is frozen it waits. */
void top__update(struct top *t, struct snapshot *s);
/* The snapshot whose rows are shown; NULL before the first. Its names may be filled in: then top__named(). */
struct snapshot *top__shown(const struct top *t);
/* A snapshot that the view has no use for any more goes to fn before it is freed. */
void top__on_drop(struct top *t, void (*fn)(struct snapshot *s, void *arg), void *arg);
void top__named(struct top *t);

enum top_action top__key(struct top *t, int key);
enum top_action top__mouse(struct top *t, enum top_mouse what, int row, int col);
/* Draws over all of the grid, whatever its size. */
void top__draw(struct top *t, struct grid *g);
/*
 * The places whose names the last drawing would have liked to have, the most
 * urgent first, each once. Returns how many; *ret holds until the next call.
 */
size_t top__wanted(struct top *t, const uint32_t **ret);

/* Before the first snapshot: who is to be traced ("redis-server (1432)"), and what is known of it; 0: nothing. */
void top__target(struct top *t, const char *who, uint64_t age_ns, uint64_t rss_bytes);
/* A line of its own: what was said, and what is going on (NULL: nothing). Copied. */
void top__say(struct top *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void top__progress(struct top *t, const char *text);
/* Every process that was traced has ended: said until the end. */
void top__all_ended(struct top *t);

/* The frame whose source is looked at, and the path of its module. */
struct line top__source_of(const struct top *t, const char **ret_module);
/* All lines of its file, which must hold until the next; or why there are none (NULL: there are), and of which file. */
void top__give_source(struct top *t, const struct snap_source *text, const char *path, const char *why);

/* The id of the process whose heap is to be looked at. Snapshots that come later have what was found (snapshot.heaps). */
uint32_t top__heap_process(const struct top *t);
/* A look is under way, or over: NULL; or it came to nothing, for this reason. What goes on meanwhile: top__progress(). */
void top__heap_failed(struct top *t, const char *why);

const char *top__path(const struct top *t);
/* Nothing was written there: the prompt is back, with the name and the reason. */
void top__refuse_path(struct top *t, const char *why);
uint64_t top__interval_ns(const struct top *t);

#endif
