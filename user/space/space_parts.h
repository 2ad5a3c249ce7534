/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* The parts of a space (space.h), for its two files. */
#ifndef MT_SPACE_PARTS_H
#define MT_SPACE_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/object.h"
#include "process/maps.h"
#include "process/memory.h"
#include "util/util.h"

struct space;
struct space_range;

struct space_positions vec(uint32_t);	/* of ranges in space.v */

struct space_index {
	struct space_positions alive;	/* no two overlap: by address */
	struct space_positions dead;	/* by position: few, as old ones are dropped (space__tidy) */
	struct space_positions near;	/* what was asked for last */
};

/* Room for one range more than there are: before it is added. */
void space_index__reserve(struct space *s);
void space_index__add(struct space *s, size_t at);	/* the range at a position, which is new */
void space_index__end(struct space *s, size_t at);	/* it has died just now */
void space_index__renew(struct space *s);		/* positions are other ones */

/* Those that overlap, as s->index.near, until the next call: only those that live, or all. */
void space_index__find(struct space *s, uint64_t start, uint64_t end, bool alive_only);
/* Of those that live: where in index.alive the first one is that ends behind an address; and the one that it is in, or NULL. */
size_t space_index__first(const struct space *s, uint64_t addr);
const struct space_range *space_index__at(const struct space *s, uint64_t addr);
void space_index__done(struct space *s);

/*
 * Code of files that a process has written over in its memory, or may have: what was ever mapped
 * with the right to write and to execute, and what was found to differ. The file does not show what
 * is there, so its unwind table does not hold; names and offsets do, as the file is still what is
 * mapped.
 */

#define SPACE_MAX_WRITTEN 32

struct written_piece {
	uint64_t start, end;
	uint64_t since_ns;	/* CLOCK_MONOTONIC; 0: as long as anything is known */
};

struct space_written {
	struct written_piece v[SPACE_MAX_WRITTEN + 1];	/* by address; the last one is room to work in */
	size_t n;
};

/* True if it was not all among them. */
bool space_written__add(struct space_written *w, struct written_piece p);
/* Other code is there now. */
void space_written__cut(struct space_written *w, uint64_t start, uint64_t end);
bool space_written__has(const struct space_written *w, uint64_t addr, uint64_t t_ns);

/*
 * What only the memory of a process shows about its code: the vdso, and whether a file is the one
 * that it has mapped.
 */

/*
 * The vdso is in no file. It is malloctrace's own, which has the same pages; 32-bit programs have another one, which is read from the
 * process. NULL: it cannot be read.
 */
struct object *space_memory__vdso(struct objects *objects, struct memory *mem, const struct mapping *m);
/* Does m, one of maps, show the file of obj to be another one than the one that is mapped, by its build id? */
bool space_memory__is_another(pid_t pid, struct memory *mem, const struct maps *maps, const struct mapping *m,
			      const struct object *obj);

/* Code that a process has written over: pages of its own that hold something else than the file. */

/*
 * Notes in w such pages of m, a mapping of the process whose memory that is. True: some that were not among them. What tracers and debuggers put
 * there, breakpoints, is no other code.
 */
bool space_pages__find_written(struct memory *mem, const struct object *obj, const struct mapping *m,
			       uint64_t since_ns, struct space_written *w);

#endif
