/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* From the course of live bytes and the counters to a verdict, with its reasons. For model/ alone. */
#ifndef MT_JUDGE_H
#define MT_JUDGE_H

#include "model/history.h"
#include "model/snapshot.h"

/* Growth that has lasted for this long is called a leak, if all else speaks for it; --leak-after. */
#define JUDGE_LEAK_AFTER_NS (20 * SECOND_NS)

struct evidence {
	const struct course_point *points;
	size_t n_points;
	uint64_t first_ns, last_ns;	/* the first and the last allocation, since the trace's start */
	uint64_t end_ns;	/* of what was seen: now, or when the process ended */
	uint64_t process_age_ns;	/* then */
	uint64_t alloc_calls, free_calls, live_blocks;
	uint64_t lifetime_sum_ns;	/* over the freed */
	uint64_t unknown_frees;	/* by the process, of blocks older than the trace; 0 if that is not known */
	uint64_t process_blocks;	/* live blocks of the process that the trace saw */
	uint64_t rss_grown_bytes;	/* resident memory of the process grows, and has by so much */
	uint64_t oldest_ns;	/* at end_ns, 0 if none is live, or it is not known */
	uint64_t leak_after_ns;
	bool estimated;
	double error_bytes, error_blocks;	/* standard errors of what is live at the end; 0 where that is exact */
	bool in_blocks;		/* each byte of the points is one of the BLOCK_LEAST that a block takes: reasons give blocks */
	/* by a look at the process's memory; 0: pointers were not searched for */
	uint32_t scans;
	uint64_t looked_blocks, unreached_blocks;	/* that were there; of these, without a pointer to them */
	bool search_partial;	/* pointers may lie where nobody searched */
	const struct snap_root *held;	/* that holds the most of them; NULL: not known */
	/* blocks of many sites: what lifetimes the freed ones had says nothing of the others; or these are not known (--mode leak) */
	bool no_lifetimes, unseen_frees;
};

/* The verdict and its reasons live in the snapshot. */
void judge(struct snapshot *s, const struct evidence *e, struct trend *ret);
/* Of any course, whatever its bytes are: they rise, and were not as high before. */
bool judge__climbs(const struct course *c);

#endif
