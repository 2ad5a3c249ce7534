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

#include "probe/allocators.h"
#include "target/object.h"
#include "util/err.h"

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
};

struct planned_func {
	uint32_t func;
	uint64_t vaddr, size;
	bool no_return;		/* entry only: its return cannot be probed safely */
	char why[96];		/* how its points were chosen, for doctor and --verbose */
};

struct plan {
	struct object *object;	/* a reference, owned */
	struct planned_func *funcs;	/* owned */
	size_t n_funcs;
	struct point *points;	/* owned */
	size_t n_points;
	char *family;		/* owned; "glibc", "musl", "jemalloc", "tcmalloc", "mimalloc", or "" if not recognised */
};

/*
 * Symbols of the object that are rows of the table. An object is an allocator
 * if it defines a FUNC_CORE row, or if asked is set (-O): then one row is
 * enough. *ret_n_symbols tells how many functions were looked at. Returns 0
 * with n_funcs 0 if the object is no allocator.
 */
int plan__make(struct object *obj, const struct alloc_funcs *funcs, bool asked, struct plan *ret, size_t *ret_n_symbols,
	       struct err *e);
void plan__done(struct plan *p);

/* place.c: appends the points of one function. */
struct points {
	struct point *v;
	size_t n, room;
};
int place__function(const struct object *obj, const struct alloc_func *row, struct planned_func *f, struct points *p);

#endif
