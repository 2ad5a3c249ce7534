/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * The most telling frame of a stack: the first that belongs to the program, and
 * not to the C or C++ library, an allocator, or a wrapper around one.
 */
#ifndef MT_TELLING_H
#define MT_TELLING_H

#include "model/snapshot.h"

/* Does a frame say who wanted memory, rather than how it was got? A frame without a name is judged by its module. */
bool frame__is_telling(const struct frame *f);
/*
 * Of a stack in which no frame is telling, the first one. ret->place is NULL
 * for a site without a stack. ret_at: its number among the frames of the site.
 */
void site__telling_frame(const struct snapshot *s, const struct snap_site *site, struct frame *ret, size_t *ret_at);

#endif
