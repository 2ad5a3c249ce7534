/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* The table of allocation functions: to support one more is to add a row. */
#ifndef MT_ALLOCATORS_H
#define MT_ALLOCATORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/err.h"

enum role { ROLE_ALLOC, ROLE_REALLOC, ROLE_FREE, ROLE_UNMAP, ROLE_MAP, N_ROLES };

enum func_flag {
	/* an object that defines one of these allocates and frees: it is an allocator */
	FUNC_CORE = 1,
	/* may leave by an exception: a uretprobe would break the unwinding and kill the target */
	FUNC_THROWS = 2,
	FUNC_FREES_ON_FAIL = 4,		/* reallocf */
	FUNC_INNERMOST = 8,		/* in glibc it calls no other row: each block that it returns is a new one */
	FUNC_OFTEN = 16,		/* most calls are of these: their probes are the first to go */
	FUNC_PASSES_ON = 32,		/* calls another row by its name, which may be another allocator's */
	FUNC_NOT_ALONE = 64,		/* wants a heap or a string: the self-check cannot call it */
	/* nothing else has such a name: it is selected also where it is local to its file */
	FUNC_OWN_NAME = 128,
	FUNC_NAMED = 512,		/* by --sym: a file that defines it is an allocator */
	FUNC_PREFIXED = 1024,		/* made by --prefix */
	FUNC_FOUND = 2048,		/* in a file that was searched */
	FUNC_ROUNDS = 4096,		/* pvalloc: rounds the size up to whole pages */
	FUNC_STRING = 256,		/* strdup: size is the string to copy, count the most of it */
};

struct alloc_func {
	const char *name;		/* the ELF symbol */
	const char *shown;		/* what reports call it, e.g. "operator new"; NULL: name */
	enum role role;
	/*
	 * argument numbers from 0, MT_NO_ARG if none; ROLE_FREE without old: it frees many at once,
	 * with size: if the string there says so
	 */
	uint8_t size, count, old, out;
	uint8_t result;			/* enum mt_result; of ROLE_UNMAP and ROLE_MAP, enum mt_growth */
	uint16_t flags;
};

/*
 * The built-in rows, with the user's own after them. Rows never move: the
 * index is the function's id in cookies, sites and reports.
 */
struct alloc_funcs {
	struct alloc_func *v;
	size_t n;
	size_t room;
	size_t n_builtin;	/* after them, the user's */
};

void alloc_funcs__init(struct alloc_funcs *f);
/* --mmap: the functions that a program maps memory with. Before --prefix and --sym. */
void alloc_funcs__add_maps(struct alloc_funcs *f, bool arenas);	/* arenas: of Python's small objects alone */
/* --mode growth: the rows of enum mt_growth_func, and other names of theirs. */
void alloc_funcs__init_growth(struct alloc_funcs *f);
/* --prefix STR: the C functions of the table again, with STR before each name. */
int alloc_funcs__add_prefix(struct alloc_funcs *f, const char *prefix, struct err *e);
/* --sym ROLE=NAME: ROLE is the name of a row of the table (malloc, calloc, free, posix_memalign...). */
int alloc_funcs__add_sym(struct alloc_funcs *f, const char *spec, struct err *e);
/* A function that --sym named to allocate, where it named none to free; NULL: there is none. */
const char *alloc_funcs__unfreed(const struct alloc_funcs *f);
#define UNFREED_WORDS "%s: %s allocates, and no function was found or named that frees its blocks: with --mode leak all of them count as live. Give --sym free=NAME"
int alloc_funcs__find(const struct alloc_funcs *f, const char *name);	/* the row's index, or -1 */
bool alloc_funcs__is_users(const struct alloc_funcs *f, size_t i);	/* from --prefix or --sym */
const char *alloc_func__shown(const struct alloc_func *f);
/* malloc and its like, by the names that the C library gives them. */
bool alloc_funcs__is_c(size_t i);
/* The attach cookie of row i, without the flags of a point. */
uint64_t alloc_funcs__cookie(const struct alloc_funcs *f, size_t i);
void alloc_funcs__done(struct alloc_funcs *f);

#endif
