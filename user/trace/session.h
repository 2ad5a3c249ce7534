/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * A trace from its first check to its last report: session.c its stages, session_events.c its messages,
 * session_snapshots.c its snapshots; and the modules that it walks (struct session_module).
 */
#ifndef MT_SESSION_H
#define MT_SESSION_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>
#include <sys/utsname.h>

#include "budget/budget.h"
#include "collect/collect.h"
#include "files/outfile.h"
#include "model/marks.h"
#include "options/opts.h"
#include "probe/attach.h"
#include "process/maps.h"
#include "process/process.h"
#include "process/spawn.h"
#include "trace/output.h"
#include "tracee/resident.h"
#include "tracee/tracee.h"
#include "util/err.h"
#include "util/loop.h"
#include "util/clock.h"

/* 0 with the exit status, or -errno with a message; nothing is left attached either way. */
int session__run(const struct opts *o, int *ret_status, struct err *e);

/*
 * All probes are in place, and CMD has been made: from here on this process can do what a trace may still need, and nothing else
 * that is worth having as root. What it executes gets no more.
 */
int settle__process(struct err *e);

/* Where CMD of -- CMD reads from and prints to: not to a terminal that has the live view on it. */

struct cmd_output {		/* all zero: CMD has what malloctrace has */
	int fds[3];		/* for struct spawn_opts; owned; 0: as ours */
	struct outfile named;	/* --cmd-output, until CMD's exec; no f: none, or it has its name already */
	bool as_root;		/* CMD's files are not those of the user who ran sudo */
};

void cmd_output__close(struct cmd_output *c);

struct snapshot_request {
	char *reason;		/* owned; NULL: SIGUSR1 */
	uint64_t late_since_ns;	/* CLOCK_MONOTONIC: the moment that it should have shown; 0: any will do */
};

/* Whether a cut may wait until those of marks, which come first, are read: not while a message is being handled. */
enum patience { MAY_WAIT, URGENT };

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
	struct serving *serving;	/* `serve`; else NULL */
	struct model *model;
	struct unwind *unwind;
	struct loop *loop;
	struct watch *watch;
	struct writes *writes;	/* NULL: they are not reported */
	struct spawn *spawn;
	struct triggers *triggers;	/* --when; else NULL */
	struct taken taken;	/* the snapshots so far */
	size_t looked;		/* the tracee that a check begins with */
	struct live *live;	/* the live view; NULL: reports alone */
	struct cmd_output cmd_output;	/* of -- CMD */
	struct heaps *heaps;	/* looks at the targets' memory: session_heap.c; NULL: none are taken */
	struct uses *uses;	/* --mode leak; else NULL: session_uses.c */
	struct calls *calls;	/* --events; else NULL: session_calls.c */
	struct utsname uname;
	char boot_id[BOOT_ID_MAX];
	uint64_t start_ns, end_ns;	/* CLOCK_MONOTONIC */
	uint64_t due_ns;	/* when -d is over; 0: never */
	uint64_t cut_ns;	/* when the last snapshot was taken */
	uint64_t cut_mono_ns;	/* the moment that s->cut shows, CLOCK_MONOTONIC */
	struct vec(struct snapshot_request) requests;	/* in the order in which they were made: session_snapshots.c */
	int requests_fd;	/* readable: there are some */
	struct resident_looks memory;
	int memory_fd;		/* readable: a reading goes on, or messages were kept; session_snapshots.c */
	const struct cut *cut;	/* the last one; NULL: none was taken yet, or its rows hold no more */
	struct {
		struct respite respite;	/* of making room urgently */
		struct respite python_respite;
		uint64_t in_use;	/* what was in use after that */
		uint64_t told_ns;	/* all that the programs reported until then has been handled */
	} recycle;
	struct {			/* session_spots.c */
		struct vec(struct mt_reached) queue;
		struct marks marks;
		bool waiting;		/* --start-on: for the call */
		uint32_t started_by, stopped_by;	/* spots, 0: none */
		uint64_t late_ns;	/* when a snapshot was last requested that came too late for its mark */
		uint64_t n_missed;
	} spots;
	uint64_t n_reports, n_seconds;
	unsigned int n_usr1;
	int status;		/* that malloctrace ends with */
	bool attached;
	bool finishing;		/* the loop is over */
	bool scans_last;	/* when the trace ends the heap is scanned once more: session_heap.c */
	bool held;		/* CMD was stopped at an exec: see spawn__catch */
	bool interrupted;	/* by SIGINT or SIGTERM: the next one quits */
	bool cut_short;		/* the trace ended before what it was to last for: it is reported, and the exit status says so */
	struct err failure;	/* of a callback: ends the loop */
};

/*
 * What a session does besides: each of these owns a part of it, and is asked in the order of the table in session.c; in the
 * reverse one at the end. Any of them may be NULL; each does nothing where nobody asked for what it is for.
 */
struct session_module {
	int (*init)(struct session *s);		/* programs are loaded, nothing is attached; -errno */
	int (*watch)(struct session *s);	/* all probes are in place: what the loop is to wait for; -errno */
	void (*on_attached)(const struct session *s);	/* which has been said */
	void (*on_second)(struct session *s);
	/* What it has to show; mark: the one that the snapshot is of, or NULL. */
	void (*on_snapshot)(struct session *s, struct snapshot *snap, const struct mt_reached *mark);
	void (*on_end)(struct session *s);	/* the trace is about to end: the programs record still */
	void (*done)(struct session *s);	/* also of what was never begun */
};

extern const struct session_module server_module;	/* `serve`: session_serve.c */
extern const struct session_module spots_module;	/* --start-on, --stop-on, --mark, --tag: session_spots.c */
extern const struct session_module requests_module;	/* snapshots that were asked for: session_snapshots.c */
extern const struct session_module memory_module;	/* where memory is: session_snapshots.c */
extern const struct session_module heaps_module;	/* heap scans: session_heap.c */
extern const struct session_module uses_module;		/* --mode leak: session_uses.c */
extern const struct session_module triggers_module;	/* --when: session_events.c */
extern const struct session_module calls_module;	/* --events: session_calls.c */
extern const struct session_module recycle_module;	/* room in the kernel's tables: session_recycle.c */

/* Ends the loop; why is in s->failure, if there is a reason. */
void session__fail(struct session *s);
/* Every target has ended. */
void session__over(struct session *s);
/* All probes are in place. */
void session__say_attached(struct session *s);
/* session_program.c: the program of -- CMD is made, and held; nothing without one. */
int session__start_program(struct session *s, struct err *e);
/* It may have ended before its memory was read: the kernel did that. */
void session__report_usage(struct session *s);
/* CMD's, 126 or 127 if it could not be run, 125 if malloctrace failed: err. */
int session__program_status(struct session *s, int err);
void session__read_events(struct session *s);
void session__on_events(void *arg);
/* Of the loop: a process ended; a process mapped code. */
void session__on_pidfd(void *arg);
void session__on_watch(void *arg);
/* The kernel's records of what processes map; tables and probes are another matter. */
void session__read_records(struct session *s);
void session__on_writes(void *arg);

/* ages: exact ones, from a scan of the block table, whose cost grows with the live blocks. NULL: e says why. */
struct snapshot *session__take(struct session *s, bool ages, struct err *e);
/* The last one. With s->scans_last of the heap as well, after the raw snapshot: probes have to be in place and recording meanwhile. */
struct snapshot *session__take_last(struct session *s, struct err *e);
/* One of several in a row: if a mark's cut cannot be read now it is left out, which is reported. NULL without s->failure: that. */
struct snapshot *session__take_or_skip(struct session *s, bool ages);
/* The same of a mark, whose cut waits to be read; hold: the next cut is ours. */
struct snapshot *session__take_at(struct session *s, const struct mt_reached *mark, bool hold, struct err *e);
/* A cut, which is s->cut until the next one. -EBUSY: a mark's has to be read before. */
int session__take_cut(struct session *s, const struct cut_opts *how, enum patience patience, struct err *e);
/*
 * Room for others from processes that have ended, and from stacks that hold nothing (session_recycle.c): once a second; and
 * whenever it is about to run out.
 */
void session__make_room(struct session *s);
void session__make_python_room(struct session *s);	/* in the list of addresses where code was freed */
/* Messages that are there are kept, until they are read; true: some are. */
bool session__keep_events(struct session *s);

/*
 * --mode leak (session_uses.c); without it these do nothing.
 * Heaps of new lives are read from now on; those of lives that have ended, once more.
 */
void session__follow_uses(struct session *s);
/* Is a life that has ended still to be read once more, or to be counted as not read? */
bool session__needs_life(const struct session *s, uint32_t proc);
/*
 * Reads which blocks are in use, if the budget grants it: the others count as freed from then on. READ_NOW: whatever the budget says;
 * READ_FOR_SNAPSHOT: one is made of the next cut, until which --exact has the targets stand still.
 */
enum { READ_NOW = 1, READ_FOR_SNAPSHOT = 2 };
void session__read_uses(struct session *s, unsigned int how);
/* After a cut: lives whose heap was not read for it have no live blocks in it that are known. */
void session__doubt_unread(struct session *s);
/* Is the last cut one of live blocks as they are, not one that has what was freed since the last reading? Of other modes it always is. */
bool session__knows_live(const struct session *s);
bool session__knows_live_of(const struct session *s, uint32_t proc);	/* the same of one life */
/* The same if the table of blocks is about to be full; called often. */
void session__relieve_table(struct session *s);
/* --exact: those that stood still for it go on. was_cut: a cut of ours was taken while they did. */
void session__let_heaps_go_on(struct session *s, bool was_cut);
/* A cut is taken now, by none but us. */
void session__note_cut(struct session *s);
/* After a cut, but a mark's: how many of its live blocks may have been freed before it. May read heaps once more. */
void session__bound_uses(struct session *s);
/* The same of each process, for a snapshot of that cut; or of a mark's, which may be older. NULL: it is none's. */
void session__note_unsure(struct session *s, const struct mt_reached *mark);
/* How what s->cut shows as live was found out. */
struct heap_reading session__last_reading(const struct session *s, const struct mt_reached *mark);
/* What a look is to find out. */
struct heap_wish {
	bool reachable, roots;
	bool parts;		/* the rest of resident memory */
	bool silent;		/* no progress: nobody waits for it */
	uint32_t process;	/* the id of the only one; 0: all */
};
/* By a thread; done is called by the loop, and the next snapshot shows it. -EBUSY: one is under way. -ENOTSUP: in this mode there is none. */
int session__begin_heap_look(struct session *s, const struct heap_wish *wish, void (*done)(void *arg), void *arg);
/* Of the last one: why nothing was found, of what was wished; NULL: something was. */
const char *session__heap_look_failed(const struct session *s);
/* The one under way ends, and comes to nothing. */
void session__call_off_heap_look(struct session *s);
/* Has it been long enough since the last one, for what that took? */
bool session__heap_look_is_due(const struct session *s);
/* May it be searched for pointers unasked, if verdicts need that? */
bool session__may_search_unasked(const struct session *s);
/* After the last raw snapshot, into whose rows the result goes. so_far: a snapshot of it, if a search may be made unasked; else NULL. */
void session__scan_last(struct session *s, const struct snapshot *so_far);
/* The last look goes into the next cut, and into a snapshot of it. */
void session__use_heaps(struct session *s, struct cut_opts *how);
/* Does a look go on, which knows sites by their numbers? */
bool session__is_looking(const struct session *s);
void session__on_interval(void *arg);
/*
 * A snapshot is to be taken for a reason, which is its snapshot.trigger: in the next turn of the
 * loop, or when requests are served. NULL: SIGUSR1. late_since_ns: the moment that it should have
 * shown; 0: any will do.
 */
void session__request(struct session *s, const char *reason, uint64_t late_since_ns);
void session__serve_requests(struct session *s);
/*
 * A snapshot, which it takes, for a reason: every file of -o gets it, with a number before its
 * suffix; without any, standard output does, unless a screen is up. SIGUSR1 writes files alone.
 * NULL: e says why there is none.
 */
void session__put_out(struct session *s, struct snapshot *snap, const char *reason, struct err *e);
void session__tell_trigger(struct session *s, struct snapshot *snap);
/* Of the loop: what begins when the trace does. -errno */
int session__start_timers(struct session *s);
/* What each module has to show goes into a snapshot. */
void session__on_snapshot(struct session *s, struct snapshot *snap, const struct mt_reached *mark);
/* Until when files may be read, once the trace is about to end. */
void session__bound_last_reading(const struct session *s);
/* session_spots.c: the options become spots. */
int session__ask_spots(struct session *s, struct err *e);
/* All probes are in place: the trace begins, or waits for --start-on, which is said. */
void session__await_start(struct session *s);
/* --stop-on: was it called? Then that was the end, also if its message has not been read yet. */
void session__note_stop(struct session *s);
/* Cuts of marks are to be read before another: makes their snapshots. -EBUSY: one cannot be read now. */
int session__yield_to_marks(struct session *s);
/* What these processes did is read: after this, the numbers of their sites may be given to others. */
void session__settle_calls(struct session *s, const uint32_t *procs, size_t n);
/* Before anything else goes to standard output. */
void session__flush_calls(struct session *s);
/* After the last cut: no program runs any more. */
void session__end_calls(struct session *s);
/* session_serve.c, `serve`; else it does nothing: before there are programs and tables; -errno */
int session__open_server(struct session *s, struct err *e);
/* SIGUSR2 */
void session__set_baseline(struct session *s);

/*
 * live_open.c. Takes the terminal, if there is one and nothing speaks against it: then
 * s->live is set. Until live__begin() what goes on is shown by a thread of its
 * own, and q or Ctrl-C end the program there and then: nothing was recorded yet.
 */
int live__open(struct session *s, struct err *e);
/* Is there one, or will there be once it is known that programs may be loaded? */
bool live__is_coming(const struct session *s);
/* The trace has begun: the screen is that of the loop. */
int live__begin(struct session *s, struct err *e);
/* Gives the terminal back. Also of one that was never taken. */
void live__end(struct session *s);
/* live.c. Every target has ended: the screen stays until q. */
void live__on_all_ended(struct session *s);
/* SIGUSR2 set another baseline. */
void live__on_baseline(struct session *s);

#endif
