/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Between the files of --mode leak: session_uses.c, which says when heaps are read, and uses_read.c. */
#ifndef MT_USES_PARTS_H
#define MT_USES_PARTS_H

#include "heap/block_index.h"
#include "heap/census.h"
#include "trace/session.h"

#define MAX_READINGS 2
#define STOP_NS (100 * MS_NS)	/* --exact: until it stands still, and then until it is read: for no longer than that each */
#define UNSTOPPED_NS (60 * SECOND_NS)	/* one that could not be stopped, or read then, is left alone for that long */
#define PATIENCE_NS (800 * MS_NS)	/* with a heap that changes too fast to be read, where somebody waits for it, or for its bound */
#define BOUND_UNKNOWN UINT64_MAX

struct reading {
	struct census census;
	struct block_index index;
};

/* A life whose heap is read. */
struct user_of_heap {
	uint32_t proc;
	pid_t pid;
	struct keeping *kept;	/* owned; its memory outlives it. NULL: it does not, and the last reading is the last word */
	bool is_to_keep;	/* it is not, and may be yet */
	bool said_unkept;	/* why it is not */
	struct target target;
	bool is_open;		/* target is */
	struct glibc glibc;
	/* of the pass under way; none: it is not in it */
	struct reading readings[MAX_READINGS];
	size_t n_readings;
	struct reading later;	/* made after a cut, while has_later */
	bool has_later;
	uint64_t born_before_ns;	/* what was born then or later is not judged; on the programs' clock */
	bool is_partial;	/* parts of the heap could not be read: what lies in no range of it is not known to be free */
	uint64_t runs;		/* how often it had run when the last reading began (target__runs()) */
	uint64_t calls;		/* how often it had allocated then */
	uint64_t bound;		/* at most so many would count as live that were freed, if it has not run since the last reading began */
	uint64_t cut_bound;	/* and do so in the last cut that no mark took. BOUND_UNKNOWN: it ran, and nothing was read then */
	uint64_t unseen;	/* of one that was not read: blocks in the table whose free would not be seen */
	bool was_read, has_ended;
	bool is_lost;		/* it has ended, and could not be read then: any of its blocks may have been freed */
	bool has_none;		/* glibc had no heap in it when it was to be read, and so freed nothing unseen */
	bool was_passed;	/* it was read in the last pass */
	bool stood;		/* and stood still for that, until a cut of ours was taken */
	uint64_t paused_before_ns;	/* for how long it had stood still when the last pass began */
	uint64_t unstopped_until_ns;	/* --exact: it is read while it runs until then */
	bool said_unstopped;	/* why */
	bool was_left_out;	/* because it could not be read, which was said */
};

struct uses {
	struct session *s;
	struct keeper *keeper;	/* NULL: this kernel keeps no memory past the end of its process */
	struct use_calls calls;
	struct target_calls target_calls;
	struct vec(struct user_of_heap *) v;
	struct user_of_heap *by_slot[MT_MAX_PROCS];
	uint32_t last_of_slot[MT_MAX_PROCS];	/* the last life that was among them, which is known by that once it has left */
	uint64_t not_before_ns;	/* by the budget */
	uint64_t cost_ns;	/* CPU time of the last pass */
	double fill;		/* of the table, after the last pass */
	struct reading_time {
		uint64_t read_ns;	/* when it ended, CLOCK_MONOTONIC; 0: there was none */
		uint64_t took_ns;
	} last;			/* reading */
	struct reading_time of_cut;	/* the last one as it was when the last cut was taken that no mark took */
	struct reading_time before_cut;	/* and the one of the cuts before that had another one */
	uint64_t of_cut_since_ns;	/* the first cut that has of_cut; a mark's that was claimed before has not what it found */
	uint64_t paused_ns;	/* --exact: for how long it stood still for the last pass, or the longest of several processes */
	uint64_t began_ns;	/* the pass under way */
	bool may_stop;		/* --exact: the same, as a snapshot is to be made of it */
	uint64_t stop_by_ns;	/* when the reading under way has to end; 0: there is no limit */
	bool is_fresh;		/* nothing was allocated between the last pass and the next cut that could be dead */
	bool was_cut;		/* a cut was taken since */
	uint64_t cut_ns;	/* what was born earlier was before the last cut; on the programs' clock */
	uint64_t unrecorded;	/* how often points were met between the end of the trace and the last reading, which came after it */
};

/* uses_read.c: what is in the table is judged by the readings of the pass under way. */
enum block_use uses__of(uint32_t proc, uint64_t addr, uint64_t size, uint64_t born_ns, void *uses);
void reading__done(struct reading *r);
void uses__forget_readings(struct user_of_heap *h);
/* --exact: it could not be read while it stood still. is_late: that took too long, and was not ended by Ctrl-C. */
void uses__note_unstopped(struct user_of_heap *h, int err, bool is_late, const char *why);
/* --exact: is it to stand still in the pass under way? */
bool uses__is_to_stop(const struct uses *u, const struct user_of_heap *h);
/* Where somebody waits for it (wanted), a heap that changed too fast to be read is tried again. */
int uses__read(struct uses *u, struct user_of_heap *h, uint64_t born_before_ns, bool wanted, struct err *e);
/* After a cut, but a mark's; sets each bound, for which a heap may have to be read once more: then true. */
bool uses__read_later(struct uses *u);
bool uses__is_unread(const struct user_of_heap *h);	/* it may have one, of which nothing is known */
void uses__count_unseen(struct uses *u);	/* before the next two */
uint64_t uses__bound(const struct user_of_heap *h);	/* BOUND_UNKNOWN */
uint64_t uses__bound_of_mark(const struct uses *u, const struct user_of_heap *h);	/* the same of its cut, which was taken before anybody knew of it */
/* session_uses.c: NULL: its heap is not read. */
struct user_of_heap *uses__find(const struct uses *u, uint32_t proc);

#endif
