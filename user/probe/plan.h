/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Where to probe one object: a list of (offset, function, how). find.c reads
 * the symbols, place.c chooses the points of a function, attach.c carries the
 * plan out. Nothing here touches a process.
 */
#ifndef MT_PLAN_H
#define MT_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/abi.h"
#include "elf/object.h"
#include "recording/recording.h"
#include "util/err.h"
#include "util/util.h"

struct reader_question;

/* The table of allocation functions: to support one more is to add a row. */

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
/*
 * A function with one of the flags named_by that allocates, where none with one of freed_by frees; NULL: there is none. Of those that
 * have all of `also`.
 */
const struct alloc_func *alloc_funcs__unfreed(const struct alloc_funcs *f, unsigned int named_by, unsigned int freed_by, unsigned int also);
#define UNFREED_WORDS "%s: %s allocates, and no function was found or named that frees its blocks: with --mode leak all of them count as live. Give --sym free=NAME"
int alloc_funcs__find(const struct alloc_funcs *f, const char *name);	/* the row's index, or -1 */
const char *alloc_func__shown(const struct alloc_func *f);
/* malloc and its like, by the names that the C library gives them. */
bool alloc_funcs__is_c(size_t i);
/* The attach cookie of row i, without the flags of a point. */
uint64_t alloc_funcs__cookie(const struct alloc_funcs *f, size_t i);
void alloc_funcs__done(struct alloc_funcs *f);

/*
 * What is recorded, and what this kernel can. MT_MODE_COUNT: entries of allocations
 * alone; SIZE_USABLE: sizes from the blocks' headers, where the allocator is known to
 * have them; mmap: rows by alloc_funcs__add_maps().
 */
struct plan_want {
	struct recording recording;
	bool no_uretprobes;	/* they may end a target here: see FEATURE_URETPROBES */
};

struct plan_want plan_want__of(const struct recording *r);

enum how {
	ON_ENTRY,	/* the function begins: arguments are in their registers */
	ON_RETURN,	/* a uretprobe */
	ON_RET_INSN,	/* on a return instruction: the result is in its register, the stack pointer as at entry */
};

struct point {
	uint64_t offset;	/* in the file */
	uint32_t func;		/* row of the table */
	enum how how;
	uint32_t sp_delta;	/* bytes that the stack pointer is below its value at entry, at this instruction */
	bool return_only;	/* the entry of what returns here is not probed */
	bool own_return;	/* nothing comes to this return that did not begin at the function's entry */
	bool no_args;		/* the call is seen when it hands over to another function: its arguments are gone */
};

struct planned_func {
	uint32_t func;
	uint64_t vaddr, size;
	bool no_return;		/* entry only: its return cannot be probed safely */
	bool usable;		/* the size of its blocks is in their headers */
	bool unseen;		/* --mode leak: frees of its blocks are not probed */
	bool frees_at_0;	/* a realloc to 0 bytes frees, and gives no block */
	struct mt_code code;	/* relative to vaddr; what place.c cannot know of it is the caller's */
	char why[96];		/* how its points were chosen, for doctor and --verbose */
};

struct spot_point {
	uint64_t offset;	/* in the file */
	uint64_t counter;	/* of a program's own probe: the word that counts its tracers, in the file; else 0 */
	uint64_t cookie;	/* the numbers of the spots that it is: abi.h */
};

struct spot_points {
	struct spot_point *v;	/* owned */
	size_t n, room;
};

/* The point at this offset, made if there is none. */
struct spot_point *spot_points__at(struct spot_points *points, uint64_t offset);

struct plan {
	struct object *object;	/* a reference, owned */
	struct planned_func *funcs;	/* owned */
	size_t n_funcs;
	struct point *points;	/* owned */
	size_t n_points;
	struct plan_want want;	/* what it was made for */
	size_t n_requested;	/* with SIZE_USABLE: functions whose sizes are those requested all the same */
	/* owned; "glibc", "musl", "jemalloc", "tcmalloc", "mimalloc", or "" if not recognised */
	char *family;
	/*
	 * Where a C library loads and unloads others: the programs must know before code takes the place of other code
	 * (bpf/ranges.bpf.h)
	 */
	struct spot_points loader;
	/* where calls fail and neither their entry nor their return shows it (bpf/refusals.bpf.h) */
	struct spot_points refusals;
};

/*
 * Symbols of the object that are rows of the table. An object is an allocator
 * if it defines a FUNC_CORE row, or if asked is set (-O): then one row is
 * enough. want NULL: everything, sizes as requested. *ret_n_symbols says how many functions were
 * searched. n_funcs is 0 if the object is no allocator.
 */
void plan__make(struct object *obj, const struct alloc_funcs *funcs, const struct plan_want *want, bool asked,
		struct plan *ret, size_t *ret_n_symbols);
void plan__done(struct plan *p);
/* May a function of this plan leave by an exception? */
bool plan__may_throw(const struct plan *p, const struct alloc_funcs *funcs);
/* Does it have sizes from headers? */
bool plan__has_usable(const struct plan *p);
/* Are functions that pass calls on left out of it? Where sizes are from headers, and where frees are not probed. */
bool plan__skips_passers(const struct plan *p);

/* place.c: appends the points of one function. f->usable is the caller's. */
struct points {
	struct point *v;
	size_t n, room;
};
/*
 * The ways out of any function, as far as its code can be followed: its returns
 * and those of functions that it ends by jumping to, and these jumps. Addresses are ELF
 * virtual ones.
 */
struct exit_jump {
	uint64_t vaddr, target;
};

struct exits {
	struct vec(uint64_t) returns;
	struct vec(struct exit_jump) jumps;
};

void place__exits(const struct object *obj, uint64_t vaddr, uint64_t size, struct exits *ret);
void exits__done(struct exits *x);

/* -EINVAL: its symbol has no code in the file. */
int place__function(const struct object *obj, const struct alloc_func *row, const struct plan_want *want,
		    struct planned_func *f, struct points *p);

/* ---- what looks like an allocator by its names, but is none that malloctrace knows */

/*
 * Pairs of functions of the file, in words, each with the options that make malloctrace probe it:
 * "shop_malloc and shop_free in shopd (--prefix shop_)". The caller's; NULL: none.
 */
char *lookalikes__of(const struct object *obj, const struct alloc_funcs *funcs);

/*
 * ---- verify.c: points that a reader chose, verified by malloctrace itself
 *
 * Whoever has taken over a reader must not have a breakpoint set in the middle of an instruction,
 * or in data, of a file that others run.
 */

enum {				/* what is at a point */
	POINT_START = 1,	/* the first instruction of a function, */
	POINT_PROLOGUE = 2,	/* or one of the next ones, before any jump; */
	POINT_QUIET = 32,	/* nothing before it has moved the stack pointer */
	POINT_NAMED = 64,	/* the function has the name */
	POINT_RETURN = 4,
	POINT_JUMP = 8,		/* to an address that is in the instruction */
	POINT_USDT = 16,	/* a note of the file names it */
};

struct verified_point {
	uint64_t offset;	/* in the file */
	uint64_t counter;	/* the same of the counter of a USDT probe; 0: none */
	const char *name;	/* of its function; NULL: any */
	/* set by verify__points() */
	unsigned int is;	/* the above; 0: no point to be probed */
	uint64_t vaddr, start;	/* ELF addresses, of the point and of the function that it is in */
	uint64_t named;		/* the same of a function before it that has the name */
	bool is_met;		/* control comes to it */
};

/*
 * Reads the file's program headers, where its functions begin, their code and its USDT notes, in the calling process; of a file whose
 * file system may not answer (object.remote) those of its copy.
 */
void verify__points(const struct object *obj, struct verified_point *v, size_t n);
/* The offset of the entry point, by the file's own headers. */
bool verify__entry(const struct object *obj, uint64_t *ret);

/* ---- asked of the sandbox (plan_apart.c): as the functions whose place they take */

extern const struct reader_question plan_question;

struct plan_request {
	bool lookalikes;	/* these alone, and no plan */
	bool asked;
	struct plan_want want;
	struct alloc_funcs funcs;
};

void plan_apart__make(struct object *obj, const struct alloc_funcs *funcs, const struct plan_want *want, bool asked,
		      struct plan *ret, size_t *ret_n_symbols);
char *plan_apart__lookalikes(const struct object *obj, const struct alloc_funcs *funcs);

#endif
