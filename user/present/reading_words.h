/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* --mode leak: what the figures of live blocks go by, in words, for reports, pages and files. */
#ifndef MT_READING_WORDS_H
#define MT_READING_WORDS_H

#include "model/snapshot.h"

/*
 * "read in 17ms, 20ms before this report; up to 200 blocks that were freed since may still count as live". The caller's; NULL: it
 * is another mode, or no memory.
 */
char *reading__words(const struct snapshot *s);
/* "live figures of a mark are those of the last time before it that the heap was read"; NULL: they are of the mark. */
const char *reading__mark_words(const struct snapshot *s);

#endif
