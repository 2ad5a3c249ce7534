/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* What the first sentence is made of: of a snapshot, which process and which site matter most, and what memory did. */
#ifndef MT_SENTENCE_FACTS_H
#define MT_SENTENCE_FACTS_H

#include "model/rss_trend.h"
#include "model/snapshot.h"

/* How a verdict that is no good news is said, the worst first. */
#define N_ALARMS 3
struct alarm {
	const char *verdict, *begins, *also, *other, *others;
};
extern const struct alarm alarms[N_ALARMS];

/* NULL: the verdict is none of these. */
const struct alarm *alarm__of(const char *verdict);
/* Of a site that is most of a growth and has no verdict: "growing". */
const struct alarm *alarm__of_site(const struct snap_site *site);
bool verdict__is_calm(const char *verdict);

struct facts {
	const struct snapshot *s;
	const struct snap_process *process;	/* of those that grow, the one that matters most; NULL: none does */
	const struct snap_site *site;	/* that matters most: in it, or where no process grows in any; NULL: none does */
	const struct snap_site *also;	/* no pointer leads to site: the one that matters most of those that pointers may lead to; or NULL */
	struct rss_trend rss;	/* of process; of the only one where none grows */
	size_t n_growing;	/* processes that do */
	uint64_t live_bytes, live_blocks, steady_bytes;	/* of the sites that are shown */
	uint64_t taken, steady_taken;	/* counters__taken() of the sites that are asked, and of those that are steady */
	struct rss_trend all;	/* the change of all that are asked, in the longest of their times; its judgements are not set */
	bool ended;		/* those that ended are asked, not those that run */
	bool rose;		/* resident memory rose, and does so no more */
	uint64_t used_first;	/* the memory of all that are asked, when the trace began */
	int64_t rss_slight;	/* changes of RSS that are not notable by themselves */
	const struct snap_site *unsettled;	/* has no verdict, and grows by what is no rest; or NULL */
	bool unclear;		/* a process that matters has no verdict */
	bool rss_rising;	/* RSS rose, and may still do so */
	struct rss_trend hidden;	/* what the sum of RSS hides, of a process: it rose, and may still do so; else not known */
	bool live_rising;	/* live memory of a process did */
	bool rss_unknown;	/* RSS of a process that matters was not read */
};

struct facts facts__of(const struct snapshot *s);

/* Is its site worth a name? Not if it is a few percent of live memory and of its growth, or of a process that is. */
bool facts__names_site(const struct facts *f);
/* Is the sentence about the site? Of several processes it is about the one that grows most, and about no site of one that is small. */
bool facts__has_site(const struct facts *f);
/* Of what RSS rose by: what live memory explains. Blocks of all sizes take more than was requested: what was set aside counts. */
uint64_t facts__explained_bytes(const struct facts *f);
/* Has it blocks, of --older such that are as old? Else it is in no table. */
bool facts__shows(const struct facts *f, const struct snap_site *site);
/* Not a steady one with a few percent of what RSS grew by; of a row of several nobody knows by how much one of them grew. */
bool facts__explains_growth(const struct facts *f, const struct snap_site *site);
/* The site that holds half of a process's live memory or more; NULL: none does. */
const struct snap_site *facts__holder(const struct facts *f, const struct snap_process *p);

#endif
