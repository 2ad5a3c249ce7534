/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Frames in folded stacks, of a profile and of the difference of two. */
#ifndef MT_FOLDED_H
#define MT_FOLDED_H

struct frame;

/* Without what would end it. The caller's. */
char *folded__frame(const struct frame *f);

#endif
