/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Code that a process has written over: pages of its own that hold something else than the file. */
#ifndef MT_SPACE_PAGES_H
#define MT_SPACE_PAGES_H

#include "elf/object.h"
#include "process/maps.h"
#include "space/space_written.h"

/*
 * Notes in w such pages of m. True: some that were not among them. What tracers and debuggers put
 * there, breakpoints, is no other code.
 */
bool space_pages__find_written(pid_t pid, const struct object *obj, const struct mapping *m,
			       uint64_t since_ns, struct space_written *w);

#endif
