/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * What the memory of a process did while it was traced: RSS, and what it has in swap and in pages of hugetlbfs, which RSS does
 * not count. The sum is judged: memory that goes to swap is not freed. Where that rests, two figures that it hides are judged: the
 * sum without pages of files, which may go as fast as anonymous memory comes, and page tables, which no RSS counts.
 */
#ifndef MT_RSS_TREND_H
#define MT_RSS_TREND_H

#include "model/snapshot.h"

struct rss_trend {
	bool known;		/* how much it has changed; all else holds with it */
	bool swap, hugetlb;	/* of the sum, some was there or is */
	enum rss_of { RSS_SUM, RSS_WITHOUT_FILES, RSS_PAGE_TABLES } of;	/* what all figures are of */
	int64_t sum_bytes;	/* what the sum changed by */
	int64_t change_bytes;	/* since the trace began */
	uint64_t span_ns;	/* in this time */
	uint64_t notable_bytes;	/* a change is one from here on */
	bool grows;		/* it climbs, or is higher by a notable amount than it was in the first half of the time */
	bool creeps;		/* it climbs, or stepped up late, by less than can be told from how the kernel counts: that is no rest */
	double climb_bytes_per_s;	/* of its floors, evenly and up to the end; 0: they do not, or there are too few points */
	bool rests;		/* it has not risen since the first half */
	uint64_t rest_ns;	/* for so long it has been where it is; 0: that is not known */
	uint64_t live_bytes;	/* what the process held when RSS was last read */
	bool freed;		/* the process has ended, and freed first what RSS had grown by: it does not grow */
};

#define RSS_CREEP_BYTES (64ull << 10)	/* what climbs by so much in a minute does not rest */
#define RSS_NOTABLE_BYTES (1ull << 20)
#define RSS_NOTABLE_PART 200	/* one of so many of what was resident at first */
static inline uint64_t rss_trend__notable(uint64_t first_bytes)
{
	uint64_t part = first_bytes / RSS_NOTABLE_PART;

	return part > RSS_NOTABLE_BYTES ? part : RSS_NOTABLE_BYTES;
}

struct rss_trend rss_trend__of(const struct snap_process *p);
/* The change of the sum alone; 0 where it is not known. */
int64_t rss_trend__change(const struct snap_process *p);
/* RSS, swap and pages of hugetlbfs: now, and when the trace began. */
static inline uint64_t process__used_bytes(const struct snap_process *p)
{
	return p->rss_bytes + p->swap_bytes + p->hugetlb_bytes;
}
static inline uint64_t process__used_at_attach(const struct snap_process *p)
{
	return p->rss_at_attach_bytes + p->swap_at_attach_bytes + p->hugetlb_at_attach_bytes;
}

/* It grew by a notable amount, and it is not known that this has ended: nobody may say that nothing grows. */
static inline bool rss_trend__may_grow(const struct rss_trend *r)
{
	return r->grows || r->creeps || (r->change_bytes >= (int64_t)r->notable_bytes && !r->rests);
}

#define RSS_TREND_MAX 160
/* "RSS", "RSS and swap", "RSS, swap and huge pages", "RSS without files", "page tables" */
const char *rss_trend__name(const struct rss_trend *r);
/*
 * "RSS +113.0 MiB in 45.0s", "RSS unchanged in 45.0s", "RSS rises by 64.0 KiB/s, after it fell (-8.0 MiB in 45.0s)",
 * "RSS without files +28.7 MiB in 30.0s (RSS +72.0 KiB)"; "" if it is not known.
 */
char *rss_trend__words(char buf[static RSS_TREND_MAX], const struct rss_trend *r);

#endif
