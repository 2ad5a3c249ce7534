/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Questions about objects that a reader answers (reader/reader.h). Functions that parse a file are called as ever: where files are
 * read apart they ask, and what they hand on has been checked. Each has its question and its answer side by side, such as in
 * object_apart.c. A file that was lost is like one that has nothing in it.
 */
#ifndef MT_APART_H
#define MT_APART_H

#include <stdbool.h>

#include "elf/cfi.h"
#include "elf/object.h"
#include "elf/variables.h"
#include "reader/reader.h"

struct debuginfod;

struct apart {			/* a question */
	struct reader_call call;
	const struct object *obj;
	const char *debug_dir;		/* NULL: /usr/lib/debug */
	struct debuginfod *debuginfod;	/* NULL: no server is asked */
	struct wire args, answer;	/* owned */
	struct wire_in in;		/* the answer */
};

/* To be filled with arguments, asked, and read. obj NULL: it is about no file. */
void apart__begin(struct apart *a, enum reader_kind kind, const struct object *obj);
void apart__done(struct apart *a);
int apart__ask(struct apart *a);	/* as reader__ask() */
/* After all of the answer was read: 0, or READER_LOST if it was not what it should be. */
int apart__settle(struct apart *a);
#define apart_cleanup __attribute__((cleanup(apart__done)))

/* ---- in a reader */

/* The object of a request, which the caller owns; NULL: out of memory. */
struct object *apart__object(struct reader_request *q);

/* ---- the questions */

int object_apart__read_headers(struct object *obj);
int object_apart__each_function(const struct object *obj, int (*fn)(const struct object_symbol *s, void *arg), void *arg);
int object_apart__function_starts(const struct object *obj, uint64_t **ret, size_t *ret_n);
bool object_apart__has_section(int fd, const char *name);
/* obj, or an image of len bytes */
int cfi_apart__compile(const struct object *obj, const void *image, size_t len, bool calls_only, struct cfi *ret, struct err *e);
int variables_apart__read(const struct object *obj, const char *debug_dir, struct variables *ret);
bool defined_apart__may_be_inlined(const struct object *obj, const char *debug_dir, const char *ident);
/* false: as it is; else at most size - 1 bytes and a NUL in buf */
bool demangle_apart(const char *name, char *buf, size_t size);
/* What was appended from an offset on: fn for each function; how far it was read, 0: not at all. */
uint64_t jitmap_apart__read(int fd, const char *path, uint64_t from, void (*fn)(uint64_t start, uint64_t end, const char *name, void *arg), void *arg);

/* ---- the answers */

reader_serve_fn object_apart__serve_headers, object_apart__serve_functions, object_apart__serve_starts, object_apart__serve_section;
reader_serve_fn cfi_apart__serve, variables_apart__serve, defined_apart__serve_inlined, demangle_apart__serve, jitmap_apart__serve;

#endif
