/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* The inside of the tracees, for the files that they are made of. */
#ifndef MT_TRACEE_PARTS_H
#define MT_TRACEE_PARTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "process/sharers.h"
#include "process/maps.h"
#include "tracee/tracee.h"
#include "util/hash.h"
#include "util/util.h"

extern const struct probing probing_own;	/* tracee_own.c */
extern const struct probing probing_shared;	/* machine.c */

/* A tracee of a process, which it takes; it has no life yet. */
struct tracee *tracees__push(struct tracees *t, struct process *process);
void tracee__add_life(struct tracees *t, struct tracee *p, uint32_t proc);
void tracee__tell_model(struct tracees *t, struct tracee *p, uint64_t age_ns, uint64_t began_ns);
/* Reads what it maps; tables and probes are the caller's: p->dirty. */
int tracee__look(struct tracees *t, struct tracee *p, struct err *e);
/* Tables, if it is dirty, and probes; arguments as of struct probing. */
int tracee__take_in(struct tracees *t, struct tracee *p, size_t from, uint64_t mapped_ns, struct err *e);
/*
 * Reads all that it maps, which gets its tables and probes: more names, perhaps another allocator. mapped_ns: since when it has that,
 * if what it did meanwhile was missed; 0: nothing was.
 */
int tracee__refresh(struct tracees *t, struct tracee *p, uint64_t mapped_ns, struct err *e);
/* Tables for new code. */
int tracee__update_unwind(struct tracees *t, struct tracee *p, struct err *e);
/* A life is over: the model knows, and its tables go. Its tracee may have another. */
static inline void tracees__end_life(struct tracees *t, uint32_t proc)
{
	model__process(t->model, proc)->ended = true;
	unwind__drop(t->unwind, proc);
}
/* The name that a message has of its process: clean. */
static inline const char *event_comm(const struct mt_event *ev, char buf[static sizeof(ev->comm) + 1])
{
	snprintf(buf, sizeof(ev->comm) + 1, "%.16s", ev->comm);
	clean_name(buf);
	return buf;
}
/* One that could not begin: nothing is known of it. */
void tracees__drop(struct tracees *t, struct tracee *p);
/* Can it be probed alone? The kernel knows whose a probe is by the memory of the first thread, which may have ended. */
int tracee__check_first(const struct tracee *p, struct err *e);
/* It becomes known to the kernel, and gets its tables and probes. parked: these come when the budget wants them. */
int tracee__begin(struct tracees *t, struct tracee *p, bool parked, struct err *e);
/* Is another process with the same memory a tracee already? Then that is said. */
bool tracees__have_memory_of(const struct tracees *t, pid_t pid);
/* How many other processes share its memory, before its probes are attached: p->n_sharers. */
void tracee__count_sharers(struct tracee *p);
#define SPAWN_MS 50		/* by then a child of vfork or posix_spawn has left the memory of its parent */
/* It has exited, and another process that shares its memory has not: a loss, which is counted. */
void tracee__report_left(const struct tracee *p, pid_t left);
/* Their calls count for it. */
void tracee__share_memory(struct tracees *t, struct tracee *p);
/* All tracees are known to the kernel, have their tables, and their files are probed. */
int tracees__attach_all(struct tracees *t, struct err *e);
/* After detaching it is not examined any more. */
bool tracee__is_open(const struct tracees *t, const struct tracee *p);
/* One mapping, by a record; tables and probes follow: p->dirty, p->stale. */
void tracee__note_mapping(struct tracees *t, struct tracee *p, const struct mapping *m, uint64_t t_ns);
/* It has unloaded code since it was read. */
bool tracee__is_unsettled(const struct tracees *t, const struct tracee *p);
/* Plans for the objects that this tracee did not have before. *ret is the caller's. */
void tracee__new_plans(struct tracees *t, struct tracee *p, const struct plan ***ret, size_t *ret_n);
/* The name of the file that the newest probes are in; "" without any. */
const char *tracee__last_allocator(const struct tracees *t, const struct tracee *p);
/* It was loaded while the process was traced: what it did until it was probed was not seen. */
void tracee__note_late_allocator(struct tracees *t, struct tracee *p);
/* What is listed of its mappings has changed. */
void tracee__note_listed(struct tracees *t, struct tracee *p);
/* Files of this tracee that could not be read, each once. */
void tracee__tell_unread(const struct tracee *p);

/* Have its memory cgroup and those above it room for these probes (tracee_plans.c)? -ENOSPC, with what to do. */
int tracee__check_room(const struct tracee *p, const struct plan *const *plans, size_t n, struct err *e);
/* The same just before they are set: once the trace has begun there is none for any, and that is said. */
int tracee__leave_room(const struct tracees *t, struct tracee *p, const struct plan *const *plans, size_t n,
		       bool *ret_room, struct err *e);
/* For doctor; nothing where there is no limit. */
void tracee__tell_room(const struct tracee *p, FILE *out);

/* Shared probes in what `now` was before it was written to go. */
void tracees__unprobe_former(struct tracees *t, const struct object *now);
/*
 * Extra points of one file, for this tracee or, where probes are shared, for all, those that are
 * not probed yet. p: the tracee that mapped it, or NULL.
 */
int tracees__probe_extra(struct tracees *t, struct tracee *p, struct known_file *k, enum extra_kind kind,
			 struct err *e);
/* Of all files that it maps. */
int tracee__probe_extras(struct tracees *t, struct tracee *p, enum extra_kind kind, struct err *e);
/* Its shared probes are out, until a process maps it again. */
void known_file__forget_probes(struct known_file *k);
/*
 * Where the probes of this tracee go: its own, or the shared ones; NULL: it is detached. p may be
 * NULL where probes are shared.
 */
static inline struct attachment *tracees__probes_of(const struct tracees *t, const struct tracee *p)
{
	return t->shared_probes ? t->shared_probes : p ? p->attachment : NULL;
}

/* A Python interpreter among what it maps: its frames are walked from here on (tracee_python.c). */
void tracee__know_python(struct tracees *t, struct tracee *p);
/*
 * Where it frees code is not probed any more, if it does in this file (NULL: in any): its frames are native ones until it is known
 * again, and then no code is known by its address.
 */
void tracee__doubt_python(struct tracees *t, struct tracee *p, struct known_file *k);
/* A life has begun: what was reported of its code before is its own. */
void tracees__claim_codes(struct tracees *t, uint32_t proc);
void tracees__drop_codes(struct tracees *t);	/* all that nobody claimed */
/* Where a word of a stack that is a frame of Python lies; and is it the same code at both times? */
void tracees__locate_python(const struct tracees *t, const struct tracee_life *l, uint64_t word, uint64_t t_ns, struct address *ret);
bool tracees__is_same_python(const struct tracee_life *l, uint64_t word, uint64_t t1_ns, uint64_t t2_ns);

/*
 * Shared probes are in this file already, through another name of it: what is known of that one,
 * else NULL. spots: those, not allocators.
 */
const struct known_file *tracees__covered_by(const struct tracees *t, const struct known_file *k, bool spots);

/* An ELF file of 64 bits and of this machine's architecture. */
bool tracees__is_native(const struct object *obj);
/* What an object offers; made when it is seen for the first time. */
struct known_file *tracees__file_of(struct tracees *t, struct object *obj, bool asked);
struct known_file *tracees__known_file(const struct tracees *t, const struct object *obj);	/* NULL: not read yet */
/* The allocation functions of files are probed in a, once it was tried out where they are. p: who mapped them; NULL: nobody yet. */
int tracees__probe_plans(struct tracees *t, const struct tracee *p, struct attachment *a, const struct plan **plans,
			 size_t n, struct err *e);

/* Tracees whose probes are shared: how they come, and how what they map is probed. */

struct told_mapping {		/* by a record */
	struct mapping map;	/* owns its path */
	uint64_t t_ns;		/* when it was made */
};

/*
 * Files of -O; and those that malloctrace itself maps, which many later processes will map as well,
 * or the usual ones.
 */
int tracees__probe_asked(struct tracees *t, struct err *e);
int tracees__probe_own(struct tracees *t, struct err *e);

/*
 * Probes keep a file's inode: those in files that are deleted, and that no process maps any more,
 * are taken out.
 */
void tracees__unprobe_deleted(struct tracees *t);

/*
 * The allocators among the files of its ranges from `from` on are probed, those
 * that are not yet. mapped_ns: since when it has them, if what it did meanwhile
 * was missed; 0: nothing was.
 */
int tracee__probe_files(struct tracees *t, struct tracee *p, size_t from, uint64_t mapped_ns, struct err *e);
/* One mapping, from a record. Its unwind tables are the caller's to update: p->dirty. */
int tracee__add_mapping(struct tracees *t, struct tracee *p, const struct mapping *m, uint64_t t_ns, struct err *e);

/*
 * New tracees; proc is their number in the kernel's tables. One that was there under
 * the same pid has ended. process is taken. parent: the process that forked it,
 * NULL: not traced.
 */
int tracees__add_running(struct tracees *t, struct process *process, uint32_t proc,
			 const struct tracee_life *parent, struct tracee **ret, struct err *e);
/* A child of a life: it has what that has. */
int tracees__add_forked(struct tracees *t, const struct mt_event *ev, const struct tracee_life *parent,
			struct tracee **ret, struct err *e);
/* One that was gone before it was read. parent may be NULL. */
void tracees__add_gone(struct tracees *t, const struct mt_event *ev, const struct tracee_life *parent);
/* Another program: p's next life, or a new tracee if p is NULL. v: what it has mapped so far; n 0: not known. */
int tracees__add_execed(struct tracees *t, struct tracee *p, const struct mt_event *ev,
			const struct tracee_life *parent, const struct told_mapping *v, size_t n,
			struct tracee **ret, struct err *e);

/* Shared probes in what -O names and in what most processes map; the others follow with who maps them. */
int tracees__probe_shared(struct tracees *t, struct err *e);

/* ---- processes that come and go */

/*
 * Processes that come and go: those that are there at the start, those that are
 * forked, started or renamed later, and what they map; -a, --comm, --cgroup, -f.
 */

struct machine;

/* A running process, as it is now. */
bool machine__wants(const struct selection *selection, pid_t pid);

void machine__free(struct machine *m);	/* takes NULL; made by tracees__share() */

/* ---- processes that come and go: machine.c who is traced, machine_streams.c what is reported of them */

/* The inside of a machine, for its two files: machine.c who is traced, machine_streams.c what is reported of them. */

/*
 * Mappings that were reported of a process before it was known that the process, or its present
 * program, is traced.
 */

struct image {
	struct image *next;	/* a later one of the same pid */
	pid_t pid;
	bool exec;		/* it begins with an exec */
	uint64_t t_ns;		/* when it began, CLOCK_MONOTONIC */
	struct vec(struct told_mapping) maps;
};

struct images {
	struct hash by_pid;	/* the first one of each */
};

void image__free(struct image *i);	/* takes NULL */

void images__done(struct images *s);
/* A process execs, or maps what belongs to no known life yet. Of one that has too many, the first goes. */
void images__begin(struct images *s, pid_t pid, bool exec, uint64_t t_ns);
/* Goes to the last image of its process; without one, -ENOENT. */
int images__add(struct images *s, const struct watch_record *r);
/*
 * The image that a new life of pid takes over, the caller's; NULL: none. exec: the life begins with
 * one, reported at t_ns; its record came before the message and after those of execs that were not
 * reported, because the process was ignored then.
 */
struct image *images__claim(struct images *s, pid_t pid, bool exec, uint64_t t_ns);
/*
 * The first image, if it began before t_ns and was not followed by an exec that is still to be
 * reported; NULL: none.
 */
struct image *images__claim_before(struct images *s, pid_t pid, uint64_t t_ns);
/* What no life claimed for some seconds. */
void images__drop_old(struct images *s, uint64_t now_ns);

struct waiting {		/* a process that was there when the trace began */
	pid_t pid;
	uid_t user;
	size_t n_code;		/* its mappings with code, */
	size_t n_of_user;	/* and those of its user's processes up to it, from the smallest on */
};

struct lent {			/* the memory of a life, to a process that is not selected */
	pid_t pid;
	uint32_t proc;
	bool is_left;		/* that life was over when it was last examined */
};

struct machine {
	struct tracees *t;
	const struct selection *selection;
	struct images images;
	/* one process of each memory: until all that were there are read, and from a change of name until the next search */
	struct sharers by_memory;
	bool was_renamed;	/* a process that is selected by its new name: who shares its memory has to be found */
	uint64_t next_search_ns;	/* not before; CLOCK_MONOTONIC */
	struct vec(struct lent) lent;
	struct vec(pid_t) dirty;
	size_t turn;		/* the tracee that is examined next */
	bool said_unplaced;	/* that it is not known whether some were in the cgroup */
	size_t n_closed;	/* processes that this user may not inspect */
	struct vec(struct waiting) waiting;
	struct hash n_code_of;	/* by user: what is listed of its processes */
	struct err why_closed;
	bool said_unread;	/* that a process ended before what it mapped could be read */
};

/* ---- machine.c */

/*
 * selected: its parent, or it itself under its former name, is traced. ppid 0: not known. entered:
 * the cgroup that it was reported to enter, as a line of /proc/PID/cgroup; may be NULL.
 */
bool machine__selects(const struct machine *m, pid_t pid, pid_t ppid, const char *comm, bool selected, const char *entered);
/* Why a single process could not be taken, which is no reason to end the trace unless it holds for all: -EPERM, -ENOMEM of the kernel. */
int machine__pass_over(struct machine *m, int err, struct err *why, struct err *e);
/* What is listed of a process has changed, or may: its space knows how much others of its user have. m may be NULL. */
void machine__count_code(struct machine *m, struct tracee *p);
/* proc 0: the kernel is told of it. parent: NULL: none that is traced. */
int machine__add_running(struct machine *m, pid_t pid, uint32_t proc, const struct tracee *parent, struct err *e);
/* The others that share the memory of processes which were selected by a new name, if it is time to search. */
void machine__find_sharers(struct machine *m);

/* ---- machine_streams.c */

/* As struct probing has them. */
int machine__on_record(struct tracees *t, const struct watch_record *r, struct err *e);
int machine__on_event(struct tracees *t, const struct mt_event *ev, struct err *e);
int machine__settle(struct tracees *t, struct err *e);
/* A life of this number is over, whoever told so; its tracee may have another. */
void machine__end_life(struct machine *m, uint32_t proc);

#endif
