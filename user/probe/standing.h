/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Are the breakpoints where they should be? They are read back from the memory of a process. The
 * kernel sets them in mappings of a file; a debugger may have taken some out, and a program may
 * have moved its code to anonymous memory (huge pages).
 */
#ifndef MT_STANDING_H
#define MT_STANDING_H

#include <sys/types.h>

#include "probe/plan.h"
#include "space/space.h"

struct standing {
	size_t n_points;	/* in what the process maps */
	size_t n_gone;		/* of them those without a breakpoint */
	size_t n_foreign;	/* of them those with one that is not the kernel's: a debugger's */
	size_t n_never;		/* besides: in mappings that can be written, where the kernel sets none */
	size_t n_moved;		/* besides: where the file's code was there is other code now */
};

/*
 * space: what is known to be mapped, for files whose numbers are not enough; or NULL. -errno if it
 * cannot be read.
 */
int standing__look(pid_t pid, const struct space *space, const struct plan *const *plans, size_t n,
		   struct standing *ret);
/* What is at a point: how many bytes of it are read, and what they are, next to the file's own. */
#define STANDING_BYTES 10
enum standing_kind { STANDS, STANDS_FOREIGN, STANDS_GONE };
enum standing_kind standing__kind(uint16_t machine, const unsigned char *mem, const unsigned char *file);
/* Can a debugger's breakpoint be distinguished from the kernel's? On x86_64 they are the same instruction. */
bool standing__tells_foreign(void);

#endif
