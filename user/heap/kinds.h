/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * What blocks are: C++ objects by the vtable that they begin with, others by what their bytes look like. Contents
 * are read, classified and dropped: nothing of them is shown or kept.
 */
#ifndef MT_KINDS_H
#define MT_KINDS_H

#include "elf/object.h"
#include "elf/symtab.h"
#include "heap/census.h"
#include "heap/modules.h"

#define CONTENT_HEAD_BYTES 256	/* of a block, at most: what it is told by */

enum content { CONTENT_ZEROS, CONTENT_TEXT, CONTENT_POINTERS, CONTENT_OTHER, N_CONTENTS };

/* A C++ class, or one of enum content: never changes once it was met. */
struct kind {
	const char *name;	/* clean; "app::Session", "text" */
	bool is_class;
};

struct kinds;			/* what was met so far of a process: vtables and their names */

/* objects: by which a vtable without type information is named (_ZTV symbols); NULL: not. */
struct kinds *kinds__new(struct target *t, struct objects *objects);
void kinds__free(struct kinds *k);
/*
 * The kinds of n blocks, by address; to[i] is NULL where the memory could not be read. Names live as long as k.
 */
int kinds__look(struct kinds *k, const struct heap_block *const *blocks, size_t n, const struct kind **to, struct err *e);
/* Blocks that might be objects and were not looked up: there were too many vtables. They are told by their bytes. */
uint64_t kinds__n_unresolved(const struct kinds *k);
/* For the tests: what bytes look like. is_pointer says whether a word is an address of the process. */
enum content content__of(const void *bytes, size_t n, bool (*is_pointer)(uint64_t word, void *arg), void *arg);

/* C++ classes by their vtables. */

#endif
