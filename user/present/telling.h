/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * The most telling frame of a stack: the first that belongs to the program, and
 * not to the C or C++ library, an allocator, or a wrapper around one.
 */
#ifndef MT_TELLING_H
#define MT_TELLING_H

#include <stddef.h>
#include <stdint.h>

#include "model/snapshot.h"

/* Does a frame say who wanted memory, rather than how it was got? A frame without a name is judged by its module. */
bool frame__is_telling(const struct frame *f);
/*
 * Those of a snapshot's sites, each looked for once: whoever shows a site's name
 * takes it from here, in reports, on the screen and in pages. All zero: nothing is kept, and each is looked for again.
 */
struct tellings {
	const struct snapshot *s;
	struct telling_at *v;	/* owned; by site */
	size_t n, room;
	struct telling_order *order;	/* owned; which sites are alike, as far as that was looked for */
	struct frame_worth *worths;	/* owned; of each frame of each place, as far as that was asked */
	uint32_t *first;	/* owned; by place: where its frames begin in worths; the last one: their number */
	int enough;		/* a frame that says so much is looked for no further: enum worth */
	uint64_t print;		/* what they were made for, */
	const struct line **lines;	/* owned; and what each place was called then; only compared */
};

/* For another snapshot, or after some of its names became known. */
void tellings__begin(struct tellings *t, const struct snapshot *s);
void tellings__done(struct tellings *t);
/*
 * Of a stack in which no frame is telling, the first one; its place is NULL for a site without a stack.
 * Also of a site that is none of the snapshot's, such as the stack of a free. t NULL: nothing is kept.
 */
struct frame tellings__of(const struct tellings *t, const struct snapshot *s, const struct snap_site *site);
/* Is the frame that a stack is attributed to found by the names up to this place? */
bool tellings__settles(const struct tellings *t, const struct snapshot *s, uint32_t place);
/* Its number among the frames of the site, from 0. */
size_t tellings__number(const struct tellings *t, const struct snapshot *s, const struct snap_site *site);
#define ARENAS_OF " [arenas]"	/* behind the name of a site whose blocks are arenas of Python's small objects */
/*
 * What a site is called, everywhere: "sdsnewlen", "app::Table::add", "libfoo.so+0x1184", "[no stack]"; where others of the snapshot would be
 * called the same, what tells them apart (below): "leaf_183 < mid_4". The caller's.
 */
char *tellings__name(const struct tellings *t, const struct snapshot *s, const struct snap_site *site);
/* The same, t's own; NULL: t is NULL, the site is none of its snapshot's. */
const char *tellings__kept_name(const struct tellings *t, const struct snapshot *s, const struct snap_site *site);
/* What such a frame is called when it is the only one of its kind; of a library's function, the lambda that it was made for. The caller's. */
char *telling__name(const struct frame *f);

/*
 * ---- sites that would have the same name in a list, and what is added to it:
 *
 *	parse:120			another line of the same function
 *	leaf_183 < mid_4		another caller
 *	leaf_183 < … < top_2		another caller further out: those between are the same
 */

struct alike_site {
	const struct snap_site *site;
	size_t at;		/* its telling frame's number */
	struct frame frame;	/* and that frame; place NULL: no stack */
	struct frame *frames;	/* alike.c's own, while it works */
	size_t n_frames;
	char *name;		/* given to those that are alike others; the caller's. NULL: it is its frame's (frame__own_name) */
};

/*
 * Those that would have the same name have the same key, never 0. Sites of different processes are never alike: their rows say
 * whose they are.
 */
uint64_t alike__key(const struct snap_site *site, const struct frame *telling);
/* All sites of one key. */
void alike__tell_apart(const struct snapshot *s, struct alike_site *v, size_t n);

#endif
