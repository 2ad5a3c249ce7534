/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* What several formats have in common: notes, owners, weights, numbers of functions. */
#ifndef MT_EXPORT_PARTS_H
#define MT_EXPORT_PARTS_H

#include <stddef.h>
#include <stdint.h>

#include "model/snapshot.h"
#include "util/ids.h"
#include "util/util.h"

/* What every export says in its own kind of comment: how it was recorded, and what was lost. */

struct export_notes {
	char **v;		/* owned; a line each, without an end */
	size_t n, room;
};

/* export_notes__done() afterwards */
void export_notes__init(struct export_notes *notes, const struct snapshot *s);
void export_notes__done(struct export_notes *notes);
/* Whose it is, and all notes, in one line: where a format has no more room. The caller's. */
char *export_notes__title(const struct snapshot *s);

/*
 * Whose a stack is, for formats that put it at the root: "comm-pid" where there
 * are several processes, and with --by thread "thread-tid" after it; with --by
 * comm or cgroup the group's name; with --by none nothing.
 */

bool owner__has_process(const struct snapshot *s);
/* The caller's. */
char *owner__process(const struct snapshot *s, const struct snap_process *p);
/* The same for a site's thread; site->tid must not be 0. */
char *owner__thread(const struct snap_site *site);

/* The weights of formats that have several of them side by side. */

#define WEIGHTS_MAX 8

/*
 * All that is known, the metric that was requested first. With --mode growth,
 * resident memory and address space apart: a sum of both would mean nothing.
 */
size_t weights__of(const struct snapshot *s, const struct metric *first, const struct metric *ret[static WEIGHTS_MAX]);
/* --mode growth: in which of the two. */
bool site__is_fault(const struct snap_site *s);
bool site__is_mapped(const struct snap_site *s);
uint64_t weights__sum(const struct snapshot *s, const struct metric *m);

/*
 * The functions of a snapshot, numbered: for formats that write each of them
 * once and then go by numbers. A function is (name, module, source file); a
 * frame without a name is one of its own, "libc.so.6+0x27740".
 */

struct function {
	const char *name;	/* never NULL */
	const char *module, *file;	/* NULL: unknown, or no function of the target's */
};

struct stack_frame {
	uint32_t function;
	uint32_t line;		/* 0: unknown */
	uint32_t place;		/* NO_PLACE: a root of our own making */
};
#define NO_PLACE UINT32_MAX
#define FUNCTIONS_MAX_ROOTS 4	/* frames of a stack that are none of the target's */

struct functions {
	const struct snapshot *s;
	struct function *v;
	size_t n, room;
	uint32_t *first;	/* by place: its frames in of_frame begin here, innermost first */
	struct stack_frame *of_frame;
	/* what is no function stands at the root: whose it is; the kind of growth; no stack at all */
	uint32_t *of_process;
	uint32_t *of_thread;	/* by site; holds where it has a tid */
	uint32_t of_growth[GROWTH_N_KINDS];
	uint32_t no_stack, evicted;
	size_t max_frames;	/* of any stack, with those */
	struct string_ids strings;
	struct key_ids keys;
	struct vec(char *) made;	/* names that are in no snapshot */
};

/* functions__done() afterwards. */
void functions__init(struct functions *f, const struct snapshot *s);
void functions__done(struct functions *f);
/* The stack of a site into buf, which has room for max_frames; the root first. Its length, at least 1. */
size_t functions__stack(const struct functions *f, const struct snap_site *site, struct stack_frame *buf);

/* Frames in folded stacks, of a profile and of the difference of two. */

/* Without what would end it. The caller's. */
char *folded__frame(const struct frame *f);

/* pprof's drop_frames: a regular expression of RE2's syntax, "" if there are none; the caller's. */
char *drop_frames__regex(const struct snapshot *s);

#endif
