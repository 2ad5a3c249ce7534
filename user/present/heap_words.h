/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* What a look at a process's heap found, in words that tables and sentences have in common. */
#ifndef MT_HEAP_WORDS_H
#define MT_HEAP_WORDS_H

#include "model/snapshot.h"
#include "present/columns.h"

bool heaps__know_older(const struct snapshot *s);

#define HEAP_SIZE_COLS 13
/* "264"; of a range "64-128 KiB", "512 KiB-1 MiB", "1 GiB up" */
char *heap__size_words(char buf[static CELL_MAX], const struct snap_class *c);
#define HEAP_TYPE_COLS 12	/* of a type that is told at all: its share, and the beginning of its name */
/*
 * "98% app::Session, 2% app::Page" in at most `width` columns: names give way before shares do, then the last ones go.
 * "" where nothing is known; the caller's.
 */
char *heap__types_text(const struct snap_share *v, size_t n, size_t width);
/* Whose a part of resident memory is: "cprog: static_buf", "libc.so.6: other data", "worker-0". The caller's. */
char *heap__part_text(const struct snap_part *p);
/* "main", "arena 2"; NULL: "own mappings" */
const char *heap__arena_words(char buf[static CELL_MAX], const struct snap_heap *h, const struct snap_arena *a);

#endif
