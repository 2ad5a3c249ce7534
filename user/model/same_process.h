/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Processes that several profiles have. */
#ifndef MT_SAME_PROCESS_H
#define MT_SAME_PROCESS_H

#include "model/snapshot.h"

/*
 * Traces of one process cannot be added up: its live blocks and its resident memory would count once
 * per trace, and what an earlier trace saw may have been freed before a later one began. Each process stays
 * in one profile: of traces at the same time in the longest one, of others in the latest.
 *
 * v[i] becomes NULL where none of its processes stays, and a new snapshot, which refers to the old one, where some
 * of them stay. What was done, in one sentence, the caller's; NULL: each process is in one
 * profile. names: of the files.
 */
char *snapshots__drop_repeats(struct snapshot **v, const char *const *names, size_t n);

#endif
