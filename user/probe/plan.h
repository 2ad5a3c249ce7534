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
#include "probe/allocators.h"
#include "recording/recording.h"
#include "util/err.h"

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
/* Does it have sizes from headers, so that functions that pass calls on are left out of it? */
bool plan__may_pass_on(const struct plan *p);

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
	uint64_t *returns;	/* owned */
	size_t n_returns;
	struct exit_jump *jumps;	/* owned */
	size_t n_jumps;
};

void place__exits(const struct object *obj, uint64_t vaddr, uint64_t size, struct exits *ret);
void exits__done(struct exits *x);

/* -EINVAL: its symbol has no code in the file. */
int place__function(const struct object *obj, const struct alloc_func *row, const struct plan_want *want,
		    struct planned_func *f, struct points *p);

#endif
