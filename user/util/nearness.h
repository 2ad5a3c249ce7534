/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* How near a word is to the one that may have been meant. */
#ifndef MT_NEARNESS_H
#define MT_NEARNESS_H

#include <stdbool.h>
#include <stddef.h>

#define EDIT_MAX_BYTES 256	/* longer words are near to none */

/* How many letters must be inserted, removed, replaced or swapped to turn a into b; most + 1: more than most. */
size_t edit_distance(const char *a, const char *b, size_t most);
/* So near that it is what was meant: a slip of a finger or two. */
bool is_slip(const char *typed, const char *meant);

#endif
