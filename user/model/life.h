/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* The inside of the model, for model/ alone. */
#ifndef MT_LIFE_H
#define MT_LIFE_H

#include "model/archive.h"
#include "model/model.h"
#include "model/places.h"
#include "model/trends.h"
#include "util/util.h"

struct life {
	struct snap_process row;	/* its strings are owned; what is in the kernel's tables is 0 here */
	bool rss_seen;		/* since it was added */
	struct snap_memory first_memory;
	/* of which comm is owned */
	struct vec(struct snap_thread) ended_threads;
	struct vec(struct snap_thread) former_names;	/* of threads that run: what each did under a name that it has no more */
	struct snap_thread more_ended;	/* those beyond these: stands_for says how many */
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
	struct snap_process nobody;	/* see model__process() */
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

#endif
