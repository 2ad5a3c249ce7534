/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* The inside of a machine, for its two files: machine.c who is traced, machine_streams.c what is reported of them. */
#ifndef MT_MACHINE_PARTS_H
#define MT_MACHINE_PARTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "process/maps.h"
#include "process/sharers.h"
#include "tracee/selection.h"
#include "tracee/tracee.h"
#include "tracee/tracee_parts.h"
#include "util/hash.h"
#include "util/util.h"

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

struct postponed {
	pid_t pid;
	uid_t user;
};

struct machine {
	struct tracees *t;
	const struct selection *selection;
	struct images images;
	struct sharers by_memory;	/* one process of each memory that was there when the trace began */
	struct vec(pid_t) dirty;
	size_t turn;		/* the tracee that is examined next */
	bool said_unplaced;	/* that it is not known whether some were in the cgroup */
	size_t n_closed;	/* processes that this user may not inspect */
	struct vec(struct postponed) postponed;	/* those that map much, which are read last */
	bool adds_postponed;	/* it is their turn */
	size_t n_too_large;	/* of them those that are not traced: their user has too many */
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
/* proc 0: the kernel is told of it. parent: NULL: none that is traced. */
int machine__add_running(struct machine *m, pid_t pid, uint32_t proc, const struct tracee *parent, struct err *e);

/* ---- machine_streams.c */

/* As struct probing has them. */
int machine__on_record(struct tracees *t, const struct watch_record *r, struct err *e);
int machine__on_event(struct tracees *t, const struct mt_event *ev, struct err *e);
int machine__settle(struct tracees *t, struct err *e);
/* A life of this number is over, whoever told so; its tracee may have another. */
void machine__end_life(struct machine *m, uint32_t proc);

#endif
