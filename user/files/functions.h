/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * The functions of a snapshot, numbered: for formats that write each of them
 * once and then go by numbers. A function is (name, module, source file); a
 * frame without a name is one of its own, "libc.so.6+0x27740".
 */
#ifndef MT_FUNCTIONS_H
#define MT_FUNCTIONS_H

#include <stddef.h>
#include <stdint.h>

#include "model/snapshot.h"
#include "util/ids.h"
#include "util/util.h"

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
	/* what is no function stands at the root: whose it is (owner.h); the kind of growth; no stack at all */
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

#endif
