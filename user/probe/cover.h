/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * One file under two names. Containers that share a layer of an image see it
 * through overlays of their own, with device and inode numbers of their own,
 * but a probe acts on the file below: probed through one overlay, it is probed
 * in all of them, and a second set of probes would count everything twice.
 *
 * A breakpoint that is seen through the other name is no proof: it may be another
 * tracer's, in a copy of the file. So the file is marked by a probe that no other tracer
 * can have: for malloctrace's own process alone, and in the ELF header, which is never executed.
 * Whichever name the mark is seen through is a name of the same file.
 */
#ifndef MT_COVER_H
#define MT_COVER_H

#include <stdbool.h>

#include "probe/attach.h"

/*
 * Does a process that maps the object meet a breakpoint at this place already, whatever set it? A
 * mapping of our own shows it.
 */
bool cover__is_probed_at(const struct object *obj, uint64_t offset);

/*
 * -errno if the kernel does not let us; then it is not known whose other names it has.
 * attachment__free() takes the mark out.
 */
int cover__mark(struct kernel *k, const struct object *obj, struct attachment **ret);
bool cover__is_marked(const struct object *obj);

#endif
