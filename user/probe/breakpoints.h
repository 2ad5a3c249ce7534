/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Are the breakpoints where they should be? They are read back from the memory of a process. The
 * kernel sets them in mappings of a file; a debugger may have taken some out, and a program may
 * have moved its code to anonymous memory (huge pages).
 */
#ifndef MT_BREAKPOINTS_H
#define MT_BREAKPOINTS_H

#include <stdbool.h>
#include <sys/types.h>

#include "probe/attach.h"
#include "space/space.h"

struct breakpoints {
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
int breakpoints__check(pid_t pid, const struct space *space, const struct plan *const *plans, size_t n,
		   struct breakpoints *ret);
/* What is at a point: how many bytes of it are read, and what they are, next to the file's own. */
#define BREAKPOINT_BYTES 10
enum breakpoint_kind { BREAKPOINT_IN_PLACE, BREAKPOINT_FOREIGN, BREAKPOINT_GONE };
enum breakpoint_kind breakpoint__kind(uint16_t machine, const unsigned char *mem, const unsigned char *file);
/* Can a debugger's breakpoint be distinguished from the kernel's? On x86_64 they are the same instruction. */
bool breakpoints__tell_foreign(void);

/*
 * ---- one file under two names
 *
 * Containers that share a layer of an image see it through overlays of their own, with device and
 * inode numbers of their own, but a probe acts on the file below: probed through one overlay, it is
 * probed in all of them, and a second set of probes would count everything twice.
 *
 * A breakpoint that is seen through the other name is no proof: it may be another tracer's, in a
 * copy of the file. So the file is marked by a probe that no other tracer can have: for
 * malloctrace's own process alone, and in the ELF header, which is never executed. Whichever name
 * the mark is seen through is a name of the same file.
 */

/*
 * Does a process that maps the object meet a breakpoint at this place already, whatever set it? A
 * mapping of our own shows it.
 */
bool breakpoint__is_at(const struct object *obj, uint64_t offset);

/*
 * -errno if the kernel does not let us; then it is not known whose other names it has.
 * attachment__free() takes the mark out.
 */
int file_mark__set(struct kernel *k, const struct object *obj, struct attachment **ret);
bool file_mark__is_seen(const struct object *obj);

#endif
