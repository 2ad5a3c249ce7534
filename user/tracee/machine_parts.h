/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* The inside of a machine, for its two files: machine.c who is traced, machine_streams.c what is reported of them. */
#ifndef MT_MACHINE_PARTS_H
#define MT_MACHINE_PARTS_H

#include "process/watch.h"
#include "tracee/images.h"
#include "tracee/selection.h"
#include "tracee/tracee.h"

struct machine {
	struct tracees *t;
	const struct selection *selection;
	struct images images;
	struct vec(pid_t) dirty;
	size_t turn;		/* the tracee that is examined next */
	bool said_unplaced;	/* that it is not known whether some were in the cgroup */
	size_t n_closed;	/* processes that this user may not inspect */
	struct err why_closed;
	bool said_unread;	/* that a process ended before what it mapped could be read */
};

/* ---- machine.c */

/*
 * selected: its parent, or it itself under its former name, is traced. ppid 0: not known. entered:
 * the cgroup that it was reported to enter, as a line of /proc/PID/cgroup; may be NULL.
 */
bool machine__selects(const struct machine *m, pid_t pid, pid_t ppid, const char *comm, bool selected, const char *entered);
/* Why a single process could not be taken, which is no reason to end the trace unless it holds for all: -ENOMEM, -EPERM. */
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
