/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * What is known beside the kernel's tables: the processes' lives with their
 * names and threads, the course of time. With a cut it gives a snapshot.
 */
#ifndef MT_MODEL_H
#define MT_MODEL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "model/cut.h"
#include "model/snapshot.h"

/* Where an address lies, from the code that knows the mappings. */
struct address {
	const void *module;	/* any pointer that is the same for the same file; NULL: in no known mapping */
	const void *handle;	/* for snap_module.handle */
	const char *path, *build_id;
	uint64_t offset;	/* ELF virtual address; the raw address without a module */
	bool fixed;		/* it will be there as long as snapshot_info.mappings is the same; strings too */
	bool timeless;		/* and was there at any time */
};

struct model_calls {
	/* What was at an address at a time of the programs' clock. */
	void (*locate)(uint32_t proc, uint64_t addr, uint64_t t_ns, struct address *ret, void *arg);
	const char *(*function)(uint32_t func, void *arg);	/* the allocation function's name */
	void (*thread_comm)(pid_t pid, pid_t tid, char buf[static 32], void *arg);
	void (*thread_name)(uint32_t number, char buf[static 32], void *arg);	/* see MT_NAMED_TID() */
	void *arg;
};

/* Files that are named in the reports, though none of their processes is there any more: see struct address, handle. */
struct module_calls {
	void (*keep)(const void *handle);
	void (*let_go)(const void *handle);
};

struct model;

struct model *model__new(void);
/*
 * The trace begins: on the programs' clock, on the wall's and on CLOCK_MONOTONIC. Once more, if nothing is recorded
 * before some later moment.
 */
void model__begin(struct model *m, uint64_t start_clock_ns, int64_t wall_start_ns, uint64_t start_ns);
/* A moment of the programs' clock; 0 for what was before the start. */
uint64_t model__since_start(const struct model *m, uint64_t clock_ns);
/*
 * The row of the life that has a number in the kernel's tables, where what is found out of it is written, but for what has a function
 * below. Of a number that nobody has a row that is empty each time, and that nobody reads.
 */
struct snap_process *model__process(struct model *m, uint32_t proc);
void model__free(struct model *m);

/*
 * A process between its exec, or the attachment, and its end: who it is, when it began and what is resident. Strings are copied, and
 * clean already; any may be NULL.
 */
void model__add_life(struct model *m, const struct snap_process *p);
/* A thread of a life has ended; its name and what it did. */
void model__thread_ended(struct model *m, uint32_t proc, pid_t tid, const char *comm, const struct mt_thread_counts *c);
/*
 * A thread gets another name: the one it had, and what it did until now, under all its names. Beyond some names per
 * process, what it did is under the next one, and that is counted. c NULL: it is not known.
 */
void model__thread_renamed(struct model *m, uint32_t proc, pid_t tid, const char *comm, const struct mt_thread_counts *c);
/* It has moved there. Strings are copied; may be NULL. */
void model__set_cgroup(struct model *m, uint32_t proc, const char *cgroup, const char *container, const char *pod, const char *unit);
/* RSS, and what it does not count; rss_bytes 0: nothing was read. */
void model__set_rss(struct model *m, uint32_t proc, uint64_t rss_bytes, uint64_t swap_bytes,
		    uint64_t hugetlb_bytes);
/* Of RSS pages of files, and page tables beside it; table_bytes 0: nothing was read. */
void model__set_files_and_tables(struct model *m, uint32_t proc, uint64_t file_bytes, uint64_t table_bytes);
/* Where its memory is now, and was when the trace began: what it grew by is computed from there. */
void model__set_memory(struct model *m, uint32_t proc, const struct snap_memory *memory);
void model__set_first_memory(struct model *m, uint32_t proc, const struct snap_memory *memory);
/* Before the first archive, if files have to be told that they are still needed. */
void model__keep_modules(struct model *m, const struct module_calls *calls);
/*
 * These processes leave the kernel's tables: what the cut has of them is copied, and
 * stays in all snapshots; their numbers may be given to others then. mappings as in
 * snapshot_info. What is kept of lives that left is bounded: see archive.c.
 */
void model__archive(struct model *m, const uint32_t *procs, size_t n, const struct cut *cut, uint64_t mappings,
		   const struct model_calls *calls);
/* A point of each life's timeline, and of the history of the sites that matter; of those that the cut knows what is live of. */
void model__note(struct model *m, const struct cut *cut);
/* Changes count from this cut on. */
void model__set_baseline(struct model *m, const struct cut *cut);

struct snapshot_info {		/* what neither the cut nor the model knows */
	/*
	 * what the caller knows goes in here as it will be: recording (its size is what blocks have), durations, costs; strings are copied, but
	 * for the version. probe_ns_estimate 0: hit_ns for each hit
	 */
	struct snapshot base;
	uint64_t n_codes_unkept;	/* of Python, which have no name */
	uint64_t mappings;	/* another number whenever an address may lie elsewhere */
	double hit_ns;		/* 0: not measured */
	uint64_t unit_ns;	/* of the programs' clock: a tick, or 1 */
	uint64_t unwind_full;	/* files whose unwind table found no room */
	uint64_t codes_full;	/* probed functions whose code found no room */
	uint64_t n_unprobed;	/* probe points that were not in place in a process */
	uint64_t leak_after_ns;	/* --leak-after; 0: the usual */
};

/* losses.c: what was lost, and what was unusual, all with their words; memory that was refused is counted when all else is done. */
void snapshot__count_losses(struct snapshot *s, const struct model *m, const struct cut *cut, const struct snapshot_info *info);

/* Probes are added by the caller. */
struct snapshot *model__snapshot(struct model *m, const struct cut *cut, const struct snapshot_info *info,
				 const struct model_calls *calls);

#endif
