/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Probe points that a reader chose, verified by malloctrace itself: whoever has taken over a reader must not have a breakpoint set
 * in the middle of an instruction, or in data, of a file that others run.
 */
#ifndef MT_VERIFY_H
#define MT_VERIFY_H

#include "elf/object.h"

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
};

/*
 * Reads the file's program headers, where its functions begin, their code and its USDT notes, in the calling process; of a file whose
 * file system may not answer (object.remote) those of its copy.
 */
void verify__points(const struct object *obj, struct verified_point *v, size_t n);
/* The offset of the entry point, by the file's own headers. */
bool verify__entry(const struct object *obj, uint64_t *ret);

#endif
