/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* What changed between two looks at a heap (`malloctrace heap`): sizes and types of blocks, not stacks. */
#ifndef MT_HEAP_DIFF_H
#define MT_HEAP_DIFF_H

#include <stdio.h>

#include "files/diff_files.h"
#include "model/snapshot.h"

/* As text; 0 or -errno. */
void heap_diff__write(FILE *out, const struct snapshot *before, const struct snapshot *after, const struct diff_opts *o);
/* A heap whose figures are not known; NULL: there is none. */
const struct snap_heap *heap_diff__unknown(const struct snapshot *s);
/* Bytes in use, of all heaps; holds if none is unknown. */
uint64_t heap_diff__in_use(const struct snapshot *s);

#endif
