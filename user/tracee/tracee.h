/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * The processes that are traced: what they map, which allocators that brings,
 * and their probes. A tracee is a pid from the attachment to its end; it may
 * live several lives, one per exec.
 *
 * Probes are a process's own, so that others never meet them; or, where processes
 * come and go (-a, --comm, --cgroup, -f), shared: one set per file, which every process
 * meets that maps it, and the programs know which are traced. struct probing is that difference.
 */
#ifndef MT_TRACEE_H
#define MT_TRACEE_H

#include <stdio.h>

#include "model/model.h"
#include "model/runtimes.h"
#include "probe/attach.h"
#include "probe/kernel.h"
#include "probe/spots.h"
#include "process/process.h"
#include "process/sharers.h"
#include "script/python.h"
#include "space/space.h"
#include "unwind/tables.h"
#include "util/hash.h"
#include "util/util.h"

struct machine;
struct tracee;
struct tracees;
struct watch_record;

/* Which processes are selected, where they come and go: -a, --comm, --cgroup and -f. */

struct selection_cgroup {
	char *hierarchy;	/* owned; the part of a line of /proc/PID/cgroup between its colons; NULL: any */
	char *path;		/* owned; without a slash at its end: "" is the root */
};

struct selection {
	enum mt_adopt adopt;	/* MT_ADOPT_NONE: only the processes that were named */
	bool follow;		/* children of those that are selected, whatever their names */
	const struct strings *comms;
	struct vec(struct selection_cgroup) cgroups;
};

/* all: whatever they are called. comms has to outlive it; what cgroups point to need not. */
void selection__init(struct selection *s, bool all, bool follow, const struct strings *comms, const struct strings *cgroups);
/* -ENOENT: a cgroup that the user named is not there. */
int selection__check(const struct selection *s, struct err *e);
void selection__done(struct selection *s);

/* Does a process have to be examined to know whether it is selected? No, if all are. */
bool selection__selects(const struct selection *s);
/*
 * comm: one of the globs, if there are any; and cgroups, the text of
 * /proc/PID/cgroup, equal to one of the paths or below it, if there are any. NULL: could not be read.
 */
bool selection__wants(const struct selection *s, const char *comm, const char *cgroups);

/* For the tests: a mount table as /proc/self/mountinfo has it. */
void selection__parse_cgroup(const char *arg, const char *mounts, struct selection_cgroup *ret);

/* ---- the processes themselves */

/* How the tracees get their probes: the one thing in which -p and -- CMD differ from -a, --comm, --cgroup and -f. */
struct probing {
	/*
	 * The records of an exec's mappings are read before the message of that exec: a process may
	 * be gone before it can be read.
	 */
	bool records_first;
	/* All planned probes are put in place, in all processes that are there. */
	int (*attach)(struct tracees *t, struct err *e);
	void (*say_attached)(const struct tracees *t);
	/* A message about a process; a record of a mapping. They fail for lack of rights, or of memory in the kernel. */
	int (*on_event)(struct tracees *t, const struct mt_event *ev, struct err *e);
	int (*on_record)(struct tracees *t, const struct watch_record *r, struct err *e);
	/* After them: unwind tables and probes for what was mapped. */
	int (*settle)(struct tracees *t, struct err *e);
	/* What was lost is searched for, a part of it each time. watched: there are records. */
	int (*on_second)(struct tracees *t, bool watched, struct err *e);
	/* What it has mapped, from the range `from` on, gets its probes; mapped_ns: see tracee__refresh(). */
	int (*probe)(struct tracees *t, struct tracee *p, size_t from, uint64_t mapped_ns, struct err *e);
};

struct tracee_life {
	uint32_t proc;		/* in the kernel's tables */
	struct tracee *tracee;
	struct space space;
	uint64_t cpu_before_ns;	/* what the process had used before it, when that was last read */
	bool closed;		/* this user may not inspect it */
	uint32_t code_seq;	/* kernel__code_seq() when what it maps was read */
	const struct runtime *runtime;	/* NULL: none that is known, so far */
	bool has_python;	/* it has mapped a file of one */
	bool knows_python;	/* whether it has an interpreter was found out */
	bool awaits_python;	/* it has one, whose loader was not done with it, or whose state is not in memory */
	uint64_t unreadable_ns;	/* since when that is not; 0: it is, or was not looked at */
	struct object *script;	/* a reference; code of Python that it ran, NULL: none */
};

/* No references of its own. */
struct object_list {
	struct object **v;	/* owned */
	size_t n, room;
};

bool object_list__has(const struct object_list *l, const struct object *obj);

/* Are the probes of an allocator in its file? */
enum file_state {
	FILE_UNPROBED,		/* not yet, or not any more */
	FILE_PROBED,
	FILE_COVERED,		/* the probes of another name of this file are met here, too */
	FILE_REFUSED,		/* by the kernel; or the file holds another version now */
};

/* Points that a file may have besides its allocation functions (tracee_extras.c). */
enum extra_kind {
	EXTRA_LOADER,		/* where it loads and unloads libraries */
	EXTRA_SPOTS,		/* functions that the user named */
	EXTRA_REFUSALS,		/* where calls fail and neither entry nor return shows it */
	N_EXTRAS
};

struct extra_points {
	/* not looked for yet; looked for; shared probes are in it */
	enum { EXTRA_UNKNOWN, EXTRA_FOUND, EXTRA_PROBED } state;
	struct spot_points at;	/* owned; may be none */
};

/* A file that a tracee maps, or -O names; examined once per session. */
struct known_file {
	struct plan plan;	/* n_funcs 0: no allocator */
	size_t n_symbols;
	const struct runtime *runtime;	/* that a process has which maps it; NULL: none is known by it */
	enum file_state state;
	uint64_t probed_ns;	/* since when shared probes are in it; 0: since the start */
	bool asked;		/* -O */
	bool checked;		/* its points were tried out */
	bool ever_probed;	/* it is among the probes of reports */
	bool said_points, said_late;
	bool left_out;		/* there are too many of them; its points count once */
	struct extra_points extras[N_EXTRAS];
	struct python_file *python;	/* owned; NULL: not read, or no interpreter's */
	bool python_probed;	/* where it frees code; of shared probes */
	bool python_told;
	struct within *within;	/* owned; NULL: none of its functions is one of --within */
	uint32_t within_list;	/* number of its ranges in the kernel's table */
	bool lookalikes_known;
	char *lookalikes;	/* owned; functions that look like an allocator's; NULL: none */
};

static inline bool known_file__is_probed(const struct known_file *k)
{
	return k->state == FILE_PROBED || k->state == FILE_COVERED;
}

struct tracee {
	struct process process;
	struct attachment *attachment;	/* NULL where probes are shared, but for the entry point of -- CMD */
	struct faults *faults;	/* --mode growth, where probes are its own; else NULL */
	struct vec(struct tracee_life *) lives;	/* the last one is the present one */
	struct object_list examined;	/* read for this tracee */
	struct object_list extras[N_EXTRAS];	/* whose extra points are probed for this tracee alone */
	size_t n_allocators;
	size_t n_probed_for;	/* shared probes: files that nobody had mapped before */
	bool said_many;		/* that more of them are not probed */
	uint64_t cpu_at_attach_ns, cpu_ns;
	bool accounted;		/* --overhead by turns: the budget has an account of it */
	double attention;	/* --overhead by turns: how much it deserves to be looked at (selection.c) */
	char unwind_why[160];	/* how its stacks are walked */
	bool own;		/* -- CMD */
	bool held;		/* it stands still while its probes are set */
	size_t n_sharers;	/* other processes that share its memory for longer than vfork does, when they were last counted */
	int64_t wall_started_ns;	/* since 1970 */
	int64_t started_ns;	/* see snap_process */
	bool ended;
	/* whether its probes stand: tracee_pause.c */
	pid_t debugger;		/* that was reported; 0: none */
	bool reported_unlisted;	/* that not all of its mappings are listed */
	size_t n_code;		/* what is listed of it, when its user's processes were last counted, */
	uid_t code_of;		/* and whose it was */
	size_t n_unprobed;	/* the most points that were found not to be in place at a time */
	bool told_writable;	/* that it has allocation functions where no probe can be */
	size_t n_written_over;	/* points that are not in place for good: their file was written to (tracee_pause.c), there is no room (tracee_plans.c), there are too many files */
	uint64_t next_check_ns;
	/* where probes are shared */
	uint32_t parent_proc;	/* the life that forked it, 0: not traced */
	uint64_t live_bytes;	/* when it was last sampled */
	uint64_t unseen_ns;	/* of the present life: it had an allocator for this long before that was probed */
	/* what it maps */
	bool stale;		/* has to be read again: records were lost, or there were too many */
	bool dirty;		/* its unwind tables are those of before */
};

/* A process whose file has a translator's name. */
struct suspect {
	pid_t pid;
	bool installed;		/* translator__is_installed() */
	uint64_t since_ns;	/* CLOCK_MONOTONIC */
};

struct early_code {		/* a report of code of a process whose beginning was not heard of yet: rings are read one after the other */
	uint32_t proc;
	uint64_t seen_ns;
	size_t len;
	void *record;		/* owned */
};

struct tracees {
	struct vec(struct tracee *) v;
	struct objects *objects;
	struct alloc_funcs funcs;
	struct plan_want want;	/* before the first plan */
	struct spots spots;	/* before the first object is read */
	bool names_to_come;	/* --debuginfod: a file may have functions whose names are not known yet */
	uint32_t n_within;	/* files that have functions of --within */
	bool begun;		/* what is mapped from now on has no time for a check */
	struct vec(struct known_file *) files;
	struct hash file_of;	/* of struct known_file, by object */
	struct hash by_pid;	/* of struct tracee: those that live */
	struct hash by_proc;	/* of struct tracee_life */
	size_t n_live;		/* tracees that have not ended */
	uint64_t n_changes;	/* moves whenever an address may lie elsewhere than before; also for snapshot_info */
	uint64_t gone_cpu_ns;	/* of those that were forgotten */
	uint64_t gone_unprobed;	/* the same; inlined copies of --mark and its like; each time that CPUs came or went (--mode growth) */
	size_t turn;		/* which is sampled next */
	size_t check_turn;	/* whose probes are checked next */
	bool said_many;			/* files that look like allocators */
	bool reported_full;		/* that no more files can be opened */
	size_t n_closed;	/* tracees that became programs which this user may not look into */
	const struct probing *probing;
	struct scout *scout;	/* owned; --overhead where processes come and go; else NULL */
	struct machine *machine;	/* shared probes: processes that come and go; else NULL */
	bool saw_arenas;	/* arenas of Python were looked for, in one of them at least */
	uint32_t python_doubts;	/* how often code of Python may have been freed unseen */
	uint64_t n_codes_unkept;	/* reports of code of Python for which there was no room */
	struct vec(struct early_code) early_codes;	/* tracee_python.c */
	struct attachment *shared_probes;	/* NULL where each tracee has its own, and once they are out */
	struct leaving *leaving;	/* probes on their way out; NULL: none */
	struct {			/* a translator runs: tracee_pause.c */
		struct vec(struct suspect) translators;	/* that it waits for */
		struct vec(struct suspect) disproven;	/* called like one, and made no code of their own so far */
		size_t n_disproven;	/* ever */
		uint64_t since_ns;	/* CLOCK_MONOTONIC; 0: none does */
		uint64_t began_ns;	/* the same by the programs' clock */
		uint64_t quiet_ns;	/* since when none is known any more; 0: one is */
		uint64_t past_ns;	/* how long pauses took that are over */
		bool froze;		/* what was recorded until then */
		struct leaving *leaving;
	} pause;
	struct faults *all_faults;	/* --mode growth, where probes are shared; else NULL */
	bool said_unseen;	/* that a process shares a target's memory, and is not seen */
	bool said_attached;	/* from here on what is loaded is news */
	struct kernel *kernel;	/* not owned */
	struct model *model;	/* not owned */
	struct unwind *unwind;	/* not owned */
};

/* growth: --mode growth: page faults too, and an allocator is not looked for. */
void tracees__init(struct tracees *t, bool growth);
/* --mmap: what the targets map, too. Before --prefix and --sym. */
void tracees__want_mappings(struct tracees *t, bool arenas);	/* arenas: of Python's small objects alone */
void tracees__done(struct tracees *t);
/* -O FILE: probed in every tracee. */
int tracees__ask_for(struct tracees *t, const char *path, struct err *e);

/* Reads a process and plans its probes; nothing is attached yet. Fails if it has no allocator. */
int tracees__add(struct tracees *t, pid_t pid, struct err *e);
/* One that shares its memory with processes that are no threads of it; NULL: none. */
const struct tracee *tracees__sharing(const struct tracees *t);
/* Counts them again: does any of the tracees share its memory by now? */
bool tracees__gained_sharers(struct tracees *t);
/* The same for a program of our own that has not begun yet. */
int tracees__add_own(struct tracees *t, pid_t pid, struct err *e);
/* A file that this user may not read, though the process has mapped it. */
bool tracee__may_not_read(const struct space_range *r);
/*
 * Is every spot that the user named in what the tracees map, or in a file that none of them maps
 * yet? Else -ENOENT.
 */
int tracees__check_spots(struct tracees *t, struct err *e);
/* At the end: which spots were in no file. */
void tracees__tell_spots(struct tracees *t);
/* -EINVAL: --mode leak, and a function of --sym or --prefix allocates, while the one that frees is in no file. */
int tracees__check_unfreed(const struct tracees *t, struct err *e);
/* Which functions of --sym and --prefix are in no file: when the trace begins, and at its end. */
void tracees__tell_named(const struct tracees *t);
/* Probes are shared, and these processes are traced. Before probing->attach(); selection outlives the tracees. */
void tracees__share(struct tracees *t, const struct selection *selection);
static inline bool tracees__are_shared(const struct tracees *t)
{
	return t->machine;
}
/* A probed file was written to: its probes go, and that is reported. */
void tracees__on_written(struct tracees *t, const struct object *obj);
/* The trace is over: processes that still share the memory of one that has exited are counted. */
void tracees__end_sharing(struct tracees *t);
/* Takes them all out; tracees stay known. When that was done, by CLOCK_MONOTONIC. */
uint64_t tracees__detach(struct tracees *t);
/* Begins to, for tracees__detach() to end it: while nothing is recorded any more. */
void tracees__begin_detach(struct tracees *t);
/* Memory cgroups on this machine that shared probes have no room in; out NULL: as messages. */
void tracees__tell_tight(FILE *out);

/* Processes, and programs that they began, which this user may not look into. */
uint64_t tracees__n_left_out(const struct tracees *t);
/*
 * It runs a program that this user may not look into (bpf/guard.bpf.h): it is no tracee any more, which is said. What it did before
 * stays.
 */
void tracee__close(struct tracees *t, struct tracee *p);

struct tracee *tracees__find(const struct tracees *t, pid_t pid);
bool tracees__all_ended(const struct tracees *t);
/* Those that live, those that hold the most first; the array is the caller's. */
struct tracee **tracees__by_live_bytes(const struct tracees *t, size_t *ret_n);
void tracee__end(struct tracees *t, struct tracee *p);
/* All that is known of a life that has ended; its number may be another's now. */
void tracees__forget(struct tracees *t, uint32_t proc);
static inline struct tracee_life *tracee__life(const struct tracee *p)
{
	return p->lives.v[p->lives.n - 1];
}
/* It mapped code; an allocator among it is probed, and reported. */
void tracee__look_again(struct tracees *t, struct tracee *p);
/* The file offset of a program's entry point is probed: see kernel__started. */
int tracee__probe_entry(struct tracees *t, struct tracee *p, struct err *e);
/* By what it maps; NULL: none that is known. */
const struct runtime *tracee__runtime(const struct tracees *t, const struct tracee *p);
/*
 * The same of all; or, where probes are shared and not all are requested, of those whose live bytes
 * have changed, and of some others in turn.
 */
void tracees__sample(struct tracees *t, bool all);
/* What was sampled up to now is not the trace's. */
void tracees__count_cpu_from_now(struct tracees *t);
uint64_t tracees__cpu_ns(const struct tracees *t);	/* of all, since they were attached, as far as it was sampled */

/* SIZE_USABLE if that was requested and any allocator has such sizes. */
enum recording_size tracees__size(const struct tracees *t);
/* Which objects are probed, and which functions in them. */
void tracees__list_probes(const struct tracees *t, struct snapshot *s);

/*
 * Of processes of which no call was seen: what is probed, and what else there might be. partial:
 * not all that is seen is recorded.
 */
void tracees__tell_blind(struct tracees *t, struct snapshot *s, bool partial);

/* Does any file that was read look like a Python interpreter's? */
bool tracees__may_run_python(const struct tracees *t);
/* Interpreters that were not ready when they were found are looked at again. */
void tracees__retry_python(struct tracees *t);
/* What the programs have reported of code of Python is read. */
void tracees__note_code(struct tracees *t);

/* What lies where, and what it is called: for the model. */
struct model_calls tracees__model_calls(struct tracees *t);
/* as of struct model_calls */
void tracees__locate(uint32_t proc, uint64_t addr, uint64_t t_ns, struct address *ret, void *arg);
/* for code_calls */
bool tracees__is_same_code(uint32_t proc, uint64_t addr, uint64_t t1_ns, uint64_t t2_ns, void *arg);
/* for code_calls */
bool tracees__is_written(uint32_t proc, const uint64_t *frames, uint32_t n, uint64_t t_ns, void *arg);
const char *tracees__function(uint32_t func, void *arg);

/*
 * A breakpoint ends what a translator runs (process/translator.h), and the kernel puts shared probes into every process that maps
 * their files: there is no way to except one. So as long as a translator runs, shared probes are out, and the trace waits.
 *
 * What always holds: what is recorded is right. A process that goes on may have freed meanwhile what it held, so it begins another
 * life when its probes are back; what it held is its former life's, which ended unseen.
 */

/*
 * It has begun, or runs already: probes go at once, if there are any. name: translator__of(). Of a file that is not installed
 * (translator__is_installed) its name is believed for two seconds, in which a translator makes code; and not at all after three
 * that did not. So nobody can keep a trace waiting by a name alone.
 */
void tracees__pause_for(struct tracees *t, pid_t pid, const char *name, bool installed);
/* For those that run. */
void tracees__pause_for_any(struct tracees *t);
/* The trace has just begun: if one ran before that, nothing is recorded all the same, page faults neither. */
void tracees__begin_paused(struct tracees *t);
/* Once a second: have they all ended? Then the probes come back. Fails for lack of rights, or of memory in the kernel. */
int tracees__try_to_resume(struct tracees *t, struct err *e);
/* A life that ends during a pause was not seen to its end. Before the model hears of that. */
void tracees__note_unseen_end(struct tracees *t, uint32_t proc);
/* The trace is over: what goes on was not seen to the end, either. */
void tracees__end_pause(struct tracees *t);
/* Nanoseconds without probes, up to now. */
uint64_t tracees__paused_ns(const struct tracees *t);

/*
 * Are the probes of the tracees still in place, and is there a debugger?
 *
 * A debugger that sets a breakpoint where one of ours is takes ours for the program's code: it
 * keeps it, and writes it back when it takes its own out. If malloctrace has gone by then, nothing
 * knows that breakpoint, and the process is killed by SIGTRAP. So malloctrace goes on with its
 * probes in place until the debugger's are out; nothing is recorded meanwhile. To refuse such a
 * process would be no help: a debugger may come later.
 */

/*
 * Checks the tracees, each once a second at most; where probes are shared, some of them in turn.
 * all: now. What is found is reported once.
 */
void tracees__look_at_probes(struct tracees *t, bool all);
/* Probe points that were not in place at any such check. */
uint64_t tracees__n_unprobed(const struct tracees *t);
/* A process that a debugger's breakpoints are in, where taking ours out would do harm; 0: there is none. */
pid_t tracees__debugged(const struct tracees *t, struct debugger *ret);

/*
 * --overhead where processes come and go (-a, --comm, --cgroup, -f): which of them get probes of their
 * own, for the budget to look at by turns. All that are selected are read in /proc once a second, which takes a few
 * microseconds each; those that grow, run or hold much are watched, and the budget looks at them the more often the more they
 * do (tracee.attention).
 */

/*
 * Of tracees whose probes are not shared. Before probing->attach(); selection outlives it. own_share: of the machine's CPU time, beyond
 * which malloctrace's own makes it begin to watch fewer processes.
 */
void tracees__scout(struct tracees *t, const struct selection *selection, double own_share);
void scout__free(struct scout *s);	/* takes NULL */

struct scouted {		/* at this moment */
	size_t selected;	/* processes that run */
	size_t watched;		/* of these */
	size_t ever;		/* were watched */
	uint64_t machine_cpu_ns;	/* that all processes used since the trace began, malloctrace too; 0: not known */
};
struct scouted scout__sums(const struct tracees *t);

#endif
