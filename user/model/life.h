/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* The inside of the model, for model/ alone. */
#ifndef MT_LIFE_H
#define MT_LIFE_H

#include "model/archive.h"
#include "model/model.h"
#include "model/places.h"
#include "model/trends.h"
#include "util/util.h"

struct life_thread {
	pid_t tid;
	char comm[32];
	struct mt_thread_counts counts;
};

struct life {
	uint32_t id, proc;
	pid_t pid;
	char *comm, *exe, *cgroup, *container, *pod, *unit;
	const char *runtime;	/* of the table in runtimes.c; NULL: none */
	bool ended;
	int exit_signal;	/* that ended it; 0: none */
	bool oom_killed;
	uint64_t age_at_attach_ns;
	uint64_t began_ns;	/* see life_info */
	pid_t container_pid;
	uint32_t parent;	/* id, 0: none */
	int64_t wall_started_ns, started_ns;	/* see life_info */
	uint64_t start_ticks;
	uint64_t unseen_ns;
	uint64_t n_heaps_unread, unsure_blocks;	/* see model__set_unsure() */
	uint64_t rss_bytes, rss_at_attach_bytes;
	uint64_t most_rss_bytes;	/* 0: not known */
	bool rss_seen;		/* since it was added */
	struct snap_memory memory, first_memory;
	struct vec(struct life_thread) ended_threads;
	struct vec(struct life_thread) former_names;	/* of threads that run: what each did under a name that it has no more */
	uint64_t n_more_ended;	/* threads beyond those kept one by one */
	struct mt_thread_counts more_ended;
	struct vec(struct snap_point) timeline;
	uint64_t n_notes, note_every;
	struct kept *kept;	/* owned; what it had in the kernel's tables; NULL: it is there still */
	bool folded;		/* it is about to go */
};

struct model {
	uint64_t n_renamed_unkept;
	uint64_t start_clock_ns;
	int64_t wall_start_ns;
	struct vec(struct life *) lives;	/* in the order of their ids */
	struct life **by_proc;	/* by number: those that have one */
	uint32_t last_id;
	struct life *others;	/* one of lives: what those that were folded are part of; NULL: none was */
	struct archive archive;
	struct places places;
	struct history history;
	struct baseline baseline;
};

struct life *model__life(const struct model *m, uint32_t proc);
/* A row of its own, with an id and nothing else. */
struct life *model__new_life(struct model *m);
/* Its number in the kernel's tables is another's from now on. */
void model__forget_number(struct model *m, struct life *l);
/* archive_fold.c: of threads that ended, those that allocated the most stay; the others become one row. */
void life__fold_threads(struct life *l, size_t keep);
/* Lives that are folded go. */
void model__drop_folded(struct model *m);

void thread_counts__add(struct mt_thread_counts *sum, const struct mt_thread_counts *c);
/* Takes c from *left, as far as it has that, and hands back what was taken: a raw snapshot may be older than a message. */
struct mt_thread_counts thread_counts__take(struct mt_thread_counts *left, const struct mt_thread_counts *c);

#endif
