/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * One file under two names. Containers that share a layer of an image see it
 * through overlays of their own, with device and inode numbers of their own,
 * but a probe acts on the file below: probed through one overlay, it is probed
 * in all of them, and a second set of probes would count everything twice.
 */
#ifndef MT_COVER_H
#define MT_COVER_H

#include <stdbool.h>

#include "probe/plan.h"

/* Does whoever maps the object meet a breakpoint at the first point of its plan already? A mapping of our own shows it. */
bool cover__is_probed(const struct plan *p);
/* The same of any place in an object. */
bool cover__is_probed_at(const struct object *obj, uint64_t offset);

#endif
