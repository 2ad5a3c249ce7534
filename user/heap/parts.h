/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * The rest of resident memory: what a process has beside its heap, so that RSS adds up. Also whose an address
 * outside of the heap is: the variable, the thread, the mapping.
 */
#ifndef MT_PARTS_H
#define MT_PARTS_H

#include "elf/object.h"
#include "heap/census.h"
#include "heap/target.h"
#include "model/snap_heap.h"
#include "model/snapshot.h"

struct parts;			/* threads with their stacks, modules with their variables */

int parts__new(struct target *t, struct objects *objects, struct parts **ret, struct err *e);
void parts__free(struct parts *p);
/*
 * Into h: parts, page_table_bytes, swap_bytes, rss_bytes. c: what is the heap; NULL: not known, and anonymous memory is
 * shown as such. Their resident bytes add up to h->rss_bytes as far as the process did not change meanwhile: what is left over or too much is PART_OTHER.
 */
int parts__fill(struct parts *p, const struct census *c, struct snapshot *s, struct snap_heap *h, struct err *e);
/* Where thread-local variables lie, of threads that are known; by address, disjoint. ret is empty, and the caller's. */
void parts__thread_locals(const struct parts *p, struct heap_ranges *ret);
/*
 * Whose is the memory at addr? addr and tid are those of struct reach_root. Of a variable, its name and module; of a stack or thread-local storage, the thread's name.
 * blocks and bytes of ret are 0. Strings live as long as p.
 */
void parts__name_root(struct parts *p, uint64_t addr, int tid, struct snap_root *ret);

#endif
