/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * The code that a process has mapped, as far as it was seen: which file an
 * address belongs to. A library that was unloaded, or a process that ended, still
 * has its names: until others take the place, and for earlier addresses, after that too.
 *
 * Times are CLOCK_MONOTONIC. A range was surely there from born_ns up to died_ns:
 * the kernel's records give that moment exactly; two readings of /proc leave a gap
 * between them, in which it is not known what an address belonged to.
 */
#ifndef MT_SPACE_H
#define MT_SPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/object.h"
#include "process/maps.h"
#include "process/memory.h"
#include "util/util.h"

struct space_range {
	uint64_t start, end, file_off;
	uint64_t born_ns;	/* 0: as long as anything is known */
	uint64_t died_ns;	/* something else took its place; 0: nothing has */
	uint64_t ino;		/* as the mapping had it: see object.c for the ways to number files */
	struct object *object;	/* a reference; NULL for what is no file, or not the file found */
	/* owned; "[vdso]" and the like, or the path of a file without an object; else NULL */
	char *label;
	struct err why;		/* owned; of a file that could not be opened */
	bool gone;		/* it is not mapped any more */
	bool found;		/* by a reading: it may have come before born_ns */
	bool rough;		/* it may have died after died_ns */
	bool reported;		/* to the user, that it could not be opened */
	/* the file was written to just before: should it come again, it may be another version */
	bool fresh;
	bool unproven;		/* it may have been another version of the file: the object's names are not its own */
};

struct space_piece {
	uint64_t start, end;
};

struct space_positions vec(uint32_t);	/* of ranges in space.v */

struct space_index {
	struct space_positions alive;	/* no two overlap: by address */
	struct space_positions dead;	/* by position: few, as old ones are dropped (space__tidy) */
	struct space_positions near;	/* what was asked for last */
};

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

struct space {
	struct space_range *v;	/* the newest last */
	size_t n, room;
	struct space_index index;
	/* anonymous memory with code in it: it has neither names nor tables, and only the present is of interest */
	struct vec(struct space_piece) anon;	/* by address, at the last reading */
	struct space_written written;	/* code of files that need not be what the files have */
	uint64_t look_began_ns, looked_ns;	/* when all of it was last read: in between; 0: never */
	size_t tidy_at;		/* number of ranges from which on those that are gone are looked for */
	size_t n_beside;	/* what is listed of other processes of the same user */
	size_t n_unlisted;	/* mappings of files with code that are in no range: there are too many */
	size_t n_ended;		/* ranges whose place was taken, since the start */
	uint64_t replaced_ns;	/* the first time that code was found to have taken the place of other code, 0: never */
	struct object *jit;	/* a reference; the JIT's list of its functions, NULL: none */
};

/*
 * To read a mapping takes time and memory, which a user's processes could make us spend on them alone. So of mappings of files
 * with code so many are listed: of a process, at a reading; of all processes of a user; and of each process in any case, as it
 * takes no more than others do then, and how many of them a user may have is for the system to bound.
 */
#define SPACE_MOST_LISTED 8192
#define SPACE_MOST_OF_USER (16 * SPACE_MOST_LISTED)
#define SPACE_ALWAYS_LISTED 256

size_t space__most_listed(const struct space *s);	/* at a reading */
/*
 * Reads the process's mappings; *ret_new counts files that are new, or gone. Files that cannot be
 * opened are kept by name.
 */
int space__refresh(struct space *s, struct objects *objects, pid_t pid, size_t *ret_new, struct err *e);
/*
 * One more, from a record of the time t_ns; only a file that no process has mapped before is looked
 * for in the process. True: what is mapped where is another matter now.
 */
bool space__add(struct space *s, struct objects *objects, pid_t pid, const struct mapping *m, uint64_t t_ns);
/* So much was added since the last reading that it is time for another one. */
bool space__is_long(const struct space *s);
/* Drops what is gone, the oldest first, if there is too much of it; indexes of ranges are other ones then: true. */
bool space__tidy(struct space *s);
/* What a forked process has: the same, as far as there is room. to is empty. */
void space__copy(struct space *to, const struct space *from);
/*
 * Code that the process makes itself has names if it publishes them: looks for the list, and for
 * what is new in it.
 */
void space__refresh_jit(struct space *s, pid_t pid);
/* What is at an address now, or was there last. NULL: in no mapping that was ever seen. */
const struct space_range *space__find(const struct space *s, uint64_t addr);
/*
 * What was there at a time: NULL also if several were there and it is not known which one then. *ret_sole: no other one
 * ever was, so that the time does not matter.
 */
const struct space_range *space__find_at(const struct space *s, uint64_t addr, uint64_t t_ns, bool *ret_sole);
bool space__is_anon(const struct space *s, uint64_t addr);	/* at the last reading */
/* s->jit if addr is not of an ELF file and the list knows it, else NULL. */
struct object *space__find_jit(const struct space *s, const struct space_range *r, uint64_t addr);
void space__done(struct space *s);

/* ---- pieces that were written over */

/* True if it was not all among them. */
bool space_written__add(struct space_written *w, struct written_piece p);
/* Other code is there now. */
void space_written__cut(struct space_written *w, uint64_t start, uint64_t end);
bool space_written__has(const struct space_written *w, uint64_t addr, uint64_t t_ns);

/* ---- for space.c: where ranges lie (space_parts.c) */

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
 * ---- for space.c: what only the memory of a process shows of its code, the vdso, and whether a
 * file is the one that it has mapped
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
