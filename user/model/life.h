/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* The inside of the model, for model/ alone. */
#ifndef MT_LIFE_H
#define MT_LIFE_H

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
	char *comm, *exe, *cgroup, *container, *unit;
	bool ended;
	uint64_t age_at_attach_ns;
	pid_t container_pid;
	uint32_t parent;	/* id, 0: none */
	int64_t wall_started_ns;
	uint64_t unseen_ns;
	uint64_t rss_bytes, rss_at_attach_bytes;
	struct vec(struct life_thread) ended_threads;
	uint64_t n_more_ended;	/* threads beyond those kept one by one */
	struct mt_thread_counts more_ended;
	struct vec(struct snap_point) timeline;
	uint64_t n_notes, note_every;
};

struct model {
	uint64_t start_clock_ns;
	int64_t wall_start_ns;
	struct vec(struct life *) lives;
	struct places places;
	struct history history;
	struct baseline baseline;
};

struct life *model__life(const struct model *m, uint32_t proc);

#endif
