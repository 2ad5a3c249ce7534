/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * --by: what rows are kept apart by. A snapshot in, another one out, in which the
 * processes of a group are one row and their equal stacks one site.
 */
#ifndef MT_GROUP_H
#define MT_GROUP_H

#include "model/snapshot.h"

struct grouping {
	const char *name;	/* of --by */
	const char *row;	/* what one is, for people */
	/* The name of the group that a process belongs to; NULL: each process is a row, as it was. */
	const char *(*group_of)(const struct snap_process *p);
	bool threads;		/* sites are kept apart by thread: those of the snapshot must have a tid */
	bool ended_apart;	/* those of a group that have ended are another one */
	/*
	 * group_of NULL: of one program (comm and exe) that ended so often or more often, those that have ended are one
	 * row; 0: never
	 */
	uint32_t ended_from;
	bool is_all;		/* there is one group, and its name says nothing */
	const char *title;	/* of the column with the groups' names; NULL: that of processes */
};

extern const struct grouping groupings[];
extern const size_t n_groupings;
/* What a trace of the whole machine has where --by is not given: reports and pages, and files with all there is. */
extern const struct grouping grouping_programs, grouping_crowd;
const struct grouping *grouping__find(const char *name);	/* NULL: no such one; a NULL name: "process" */
bool snapshot__is_grouped(const struct snapshot *s);	/* its rows are groups of processes */

bool grouping__changes(const struct grouping *by);	/* anything at all */
/* *ret_n groups; group_of[] by process has room for each. */
void grouping__assign(const struct grouping *by, const struct snapshot *s, uint32_t *group_of, size_t *ret_n);

/*
 * Sites are one when group, allocation function and stack are the same, a stack
 * being its modules (by build id, else by path) and offsets, not addresses.
 * All sums stay what they were, and so do the promises about them.
 *
 * Strings, places, modules and probes remain those of s, which must outlive it:
 * names looked up in the one are there in the other.
 */
struct snapshot *snapshot__group(const struct snapshot *s, const struct grouping *by);

/*
 * Sites become rows: row_of[] has a row below n_rows for each site, and each row has at least one. A row has the stack of its
 * worst site, or else heaviest, and is judged by what all of them hold together; one that grows makes its row grow. Sums stay what they were; s must outlive it, as above.
 * leak_after_ns: --leak-after, 0: the usual.
 */
struct snapshot *snapshot__merge_sites(const struct snapshot *s, const uint32_t *row_of, size_t n_rows, uint64_t leak_after_ns);

#endif
