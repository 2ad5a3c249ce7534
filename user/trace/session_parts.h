/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* A session, for the files that it is made of: session.c its stages, session_events.c what it is told, session_reports.c its snapshots. */
#ifndef MT_SESSION_PARTS_H
#define MT_SESSION_PARTS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/utsname.h>

#include "budget/budget.h"
#include "collect/collect.h"
#include "model/marks.h"
#include "model/taken.h"
#include "options/opts.h"
#include "process/spawn.h"
#include "process/watch.h"
#include "space/writes.h"
#include "trace/output.h"
#include "tracee/resident.h"
#include "tracee/selection.h"
#include "tracee/tracee.h"
#include "util/loop.h"

#define SECOND_NS 1000000000ull

struct session {
	const struct opts *opts;
	struct output output;
	struct selection selection;
	struct tracees tracees;
	struct vec(struct mt_move) events;	/* read, not yet handled */
	struct kernel *kernel;
	struct collect *collect;
	struct code_calls code;	/* for it */
	struct budget *budget;	/* --overhead; else NULL */
	struct model *model;
	struct unwind *unwind;
	struct loop *loop;
	struct watch *watch;
	struct writes *writes;	/* NULL: nobody tells of them */
	struct spawn *spawn;
	struct triggers *triggers;	/* --when; else NULL */
	struct taken taken;	/* the snapshots so far */
	size_t looked;		/* the tracee that a look begins with */
	struct live *live;	/* the live view; NULL: reports alone */
	struct utsname uname;
	uint64_t start_ns, end_ns;	/* CLOCK_MONOTONIC */
	uint64_t due_ns;	/* when -d is over; 0: never */
	uint64_t cut_ns;	/* when the last snapshot was taken */
	struct resident_looks memory;
	int memory_fd;		/* readable: a look goes on, or messages were kept; session_memory.c */
	const struct cut *cut;	/* the last one; NULL: none was taken yet, or its rows hold no more */
	struct {
		bool under_way;
		uint64_t tried_ns;	/* when room was last made in haste, */
		uint64_t in_use;	/* and what was in use behind that */
		uint64_t told_ns;	/* all that the programs told until then has been handled */
	} recycle;
	struct {			/* session_spots.c */
		struct vec(struct mt_reached) queue;
		size_t at;		/* those before it are done with */
		struct marks marks;
		bool waiting;		/* --start-on: for the call */
		uint32_t started_by, stopped_by;	/* spots, 0: none */
		const struct mt_reached *at_mark;	/* the next cut is this one's; NULL: nobody's */
		bool is_read, noted;	/* that cut; that mark, with its snapshot */
		bool hold;		/* behind it, the next one is ours */
		bool in_haste;		/* a message is being handled: not the time for a snapshot */
		unsigned int n_deep;
		uint64_t late_ns;	/* when the last snapshot was taken that came too late for its mark */
		uint64_t n_missed;
	} spots;
	uint64_t n_reports;
	unsigned int n_usr1;
	bool attached;
	bool finishing;		/* the loop is over */
	bool held;		/* CMD was stopped at an exec: see spawn__catch */
	bool interrupted;	/* by SIGINT or SIGTERM: the next one quits */
	struct err failure;	/* of a callback: ends the loop */
};

static inline bool session__is_growth(const struct opts *o)
{
	return !strcmp(o->mode, "growth");
}

/* Ends the loop; why is in s->failure, if there is a reason. */
void session__fail(struct session *s);
/* Every target has ended. */
void session__over(struct session *s);
int64_t session__wall_ns(void);
/* One message of the programs; all that are there; the same, of the loop. */
void session__on_kernel_event(const struct mt_event *ev, void *arg);
void session__read_events(struct session *s);
void session__on_events(void *arg);
/* Of the loop: a process ended; a process mapped code. */
void session__on_pidfd(void *arg);
void session__on_watch(void *arg);
/* The kernel's records of what processes map; tables and probes are another matter. */
void session__read_records(struct session *s);
void session__on_writes(void *arg);

/* ages: exact ones, from a scan of the block table, whose cost grows with the live blocks. NULL: e says why. */
struct snapshot *session__take(struct session *s, bool last, bool ages, struct err *e);
/* A cut, which is s->cut until the next one. */
int session__take_cut(struct session *s, const struct cut_opts *how, struct err *e);
/* Room for others from processes that have ended (session_recycle.c): once a second; and whenever it is about to run out. */
void session__recycle(struct session *s);
void session__make_room(struct session *s);
/* Messages that are there are kept, until they are read; true: some are. */
bool session__keep_events(struct session *s);
/* session_memory.c: before the trace begins. -errno */
int session__watch_memory(struct session *s);
/* now: all of it is looked at. Else: if it is due, a part; the rest in the turns of the loop. */
void session__look_at_memory(struct session *s, const struct cut *cut, bool now);
/* Just before the trace ends; the last snapshot tells of this one. */
void session__look_last_at_memory(struct session *s);
void session__memory_done(struct session *s);
/* session_tags.c: the functions that are tags are probed; how often each was called. */
int session__ask_tags(struct session *s, struct err *e);
void session__put_tags(const struct session *s, const struct cut *cut, struct snapshot *snap);
/* Of the loop's timers. */
void session__on_second(void *arg);
void session__on_interval(void *arg);
/*
 * A snapshot that is taken for a reason, told as snapshot.trigger: every file of -o gets it,
 * with a number before its suffix; without any, standard output does, unless a screen is up.
 * NULL: SIGUSR1, which writes files alone.
 */
void session__snapshot_for(struct session *s, const char *reason);
/* session_triggers.c: a message tells that a process has ended, or is about to be killed. */
void session__on_death(struct session *s, const struct mt_event *ev);
/* The conditions of --when are looked at from now on. */
int session__watch_triggers(struct session *s);
/* What became of them so far goes into a snapshot. */
void session__list_whens(const struct session *s, struct snapshot *snap);
/* Takes the snapshot that one of them asks for, if any does; behind messages. */
void session__fire(struct session *s);
/* The same of what the last snapshot is, besides. */
void session__tell_trigger(struct session *s, struct snapshot *snap);
/* Of the loop: what begins when the trace does. -errno */
int session__start_timers(struct session *s);
/* session_spots.c: the options become spots. */
int session__ask_spots(struct session *s, struct err *e);
/* All probes are in place: the trace begins, or waits for --start-on, which is said. */
void session__await_start(struct session *s);
void session__say_waiting(const struct session *s);
/* What the spots tell; the same, of the loop. */
void session__read_spots(struct session *s);
void session__on_spots(void *arg);
/* Before the end: what was told is handled, and nothing begins any more. */
void session__settle_spots(struct session *s);
/* A mark's cut is to be read before another: reads it. -EBUSY: that cannot be done now. */
int session__yield_to_mark(struct session *s);
/* What a snapshot that was just made tells of spots. */
void session__tell_spots(struct session *s, struct snapshot *snap);
void session__spots_done(struct session *s);
/* SIGUSR2 */
void session__set_baseline(struct session *s);

/*
 * live.c. Takes the terminal, if there is one and nothing speaks against it: then
 * s->live is set. Until live__begin() what goes on is shown by a thread of its
 * own, and q or Ctrl-C end the program there and then: nothing was recorded yet.
 */
int live__open(struct session *s, struct err *e);
/* The trace has begun: the screen is that of the loop. */
int live__begin(struct session *s, struct err *e);
/* Gives the terminal back. Also of one that was never taken. */
void live__end(struct session *s);
/* Every target has ended: the screen stays until q. */
void live__on_all_ended(struct session *s);
/* SIGUSR2 set another baseline. */
void live__on_baseline(struct session *s);

#endif
