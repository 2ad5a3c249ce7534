/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * What only the memory of a process shows about its code: the vdso, and whether a file is the one
 * that it has mapped.
 */
#ifndef MT_SPACE_MEMORY_H
#define MT_SPACE_MEMORY_H

#include "elf/object.h"
#include "process/maps.h"

/* A descriptor, or -1. */
int space_memory__open(pid_t pid);
/*
 * The vdso is in no file. Time namespaces and 32-bit programs have their own: so it is taken from
 * the process. NULL: it cannot be read.
 */
struct object *space_memory__vdso(struct objects *objects, int mem, const struct mapping *m);
/* Does m, one of maps, show the file of obj to be another one than the one that is mapped, by its build id? */
bool space_memory__is_another(pid_t pid, int mem, const struct maps *maps, const struct mapping *m,
			      const struct object *obj);

#endif
