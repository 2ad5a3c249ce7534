/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Stacks as text, two columns: what, and where in the source or the module. */
#ifndef MT_FRAMES_H
#define MT_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "model/snapshot.h"

/* A stack longer than MAX shows its first HEAD and its last TAIL frames. */
#define STACK_MAX 24
#define STACK_HEAD 16
#define STACK_TAIL 4

/*
 * name in at most width columns: C++ parameters, then template arguments give
 * way to "…" before the middle of the name does. Owned by the caller.
 */
char *name__shorten(const char *name, size_t width);

const char *frame__function(const struct frame *f);	/* NULL: it has no name */

/* A frame's two columns; the caller's. The second, "" if there is none, is shorter where width is too small. */
char *frame__name(const struct frame *f);	/* "main", "libc.so.6+0x27740" */
char *frame__own_name(const struct frame *f);	/* without parameters and what it returns (own_name.h); for lists, where stacks stand elsewhere */
char *frame__where(const struct frame *f, size_t width);	/* "src/a.c:12", "a.c:12", "app+0x1184" */

/*
 * Beside a name in a list: the source; where none is known, the library that a named function is in. exe: the program's own file,
 * which goes without saying.
 */
char *frame__where_short(const struct frame *f, const char *exe, size_t width);

/* The widest name among the frames that frames__write prints in two columns. */
size_t frames__name_width(const struct snapshot *s, const struct snap_site *site);

/* name_width: of all stacks of a table, so that they share a column. width counts from the line's start. */
void frames__write(FILE *out, const struct snapshot *s, const struct snap_site *site, size_t indent, size_t name_width,
		  size_t width);

/* ---- the source of a function, with what its lines allocate: for reports and the live view. */

struct listed_line {
	uint32_t number;
	const char *text;	/* the snapshot's; NULL: it was not read */
	bool calls;		/* stacks go through it: c holds */
	struct counters c;	/* of these; a stack that goes through it twice is counted once */
};

struct listing {		/* all zero: none */
	struct line of;		/* function, file and dir; strings are the snapshot's */
	struct listed_line *v;	/* owned; in order, with gaps */
	size_t n;
	struct counters sum;	/* of all stacks that go through the function, each once */
	bool has_text, newer;	/* newer: than the program */
	const char *why;	/* there is no text; NULL: not known. The snapshot's */
};

/*
 * Of the function and file that a line names. around: how many lines without calls are listed before and after one with.
 * takes NULL: all sites; else those that it takes.
 */
void listing__init(struct listing *l, const struct snapshot *s, const struct line *of, uint32_t around,
		  bool (*takes)(void *arg, const struct snap_site *site), void *arg);
void listing__done(struct listing *l);

#endif
