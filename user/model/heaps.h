/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* The heaps of a snapshot: whose each is, and what becomes of them when rows are grouped, hidden or put together. */
#ifndef MT_HEAPS_H
#define MT_HEAPS_H

#include "model/snapshot.h"
#include "recording/recording.h"

extern const struct choices root_choices;	/* enum root_kind, as files call them */
extern const struct choices part_choices;	/* enum part_kind */
extern const struct choices reach_choices;	/* of snap_block.reach */

/* heaps are the snapshot's from now on; HAS_UNREACHED follows from them. */
void snapshot__set_heaps(struct snapshot *s, const struct snap_heap *heaps, size_t n);
/* The heap of a process, by its index; NULL: it was not looked at. */
const struct snap_heap *snapshot__heap_of(const struct snapshot *s, uint32_t process);
/* Were pointers to a process's blocks searched for? */
bool snapshot__was_searched(const struct snapshot *s, uint32_t process);
/* The same of a site: not of one whose live blocks have all come since. */
bool site__was_searched(const struct snapshot *s, const struct snap_site *site);
/* Is there a site whose verdict depends on whether pointers lead to its blocks? */
bool snapshot__needs_search(const struct snapshot *s);
bool heap__was_searched(const struct snap_heap *h);
/* Is it what `malloctrace heap` found, and no trace? */
bool snapshot__is_heap(const struct snapshot *s);
/* Whose a heap is, also where its row of processes is of several. */
pid_t heap__pid(const struct snapshot *s, const struct snap_heap *h);
const char *heap__comm(const struct snapshot *s, const struct snap_heap *h);

/* As tables call it: not "thread" for what is its thread-local variables and registers, beside "stack". */
const char *root_kind__word(enum root_kind kind);
/* What goes before a root's name: "the stack of ", "thread-locals or registers of ", "". */
const char *root_kind__before(enum root_kind kind);

/* What the blocks of several sites are, by how many are live; and who holds the most of them. */
void shares__add_up(struct snapshot *to, const struct snap_site *const *v, size_t n, struct snap_site *ret);

/*
 * Memory that a process has taken while it was traced, and that nothing explains which was seen: of each process, into its
 * memory.unexplained_bytes, at least so much; 0 also where it cannot be known.
 */
void snapshot__find_unexplained(struct snapshot *s);

#endif
