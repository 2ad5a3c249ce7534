/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Tracees whose probes are shared: how they come, and how what they map is probed. */
#ifndef MT_TRACEE_SHARED_H
#define MT_TRACEE_SHARED_H

#include "tracee/tracee.h"

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
/* Reads all that it maps. */
int tracee__refresh_shared(struct tracees *t, struct tracee *p, uint64_t mapped_ns, struct err *e);
/* One mapping, from a record. Its unwind tables are the caller's to update: p->dirty. */
int tracee__add_mapping(struct tracees *t, struct tracee *p, const struct mapping *m, uint64_t t_ns, struct err *e);

/*
 * New tracees; proc is their number in the kernel's tables. One that was there under
 * the same pid has ended. process is taken, also on failure. parent: the process that forked it,
 * NULL: not traced.
 */
int tracees__add_running(struct tracees *t, struct process *process, uint32_t proc,
			 const struct tracee_life *parent, struct tracee **ret, struct err *e);
/* A child of a life: it has what that has. */
int tracees__add_forked(struct tracees *t, const struct mt_event *ev, const struct tracee_life *parent,
			struct tracee **ret, struct err *e);
/* One that was gone before it was read. parent may be NULL. */
int tracees__add_gone(struct tracees *t, const struct mt_event *ev, const struct tracee_life *parent,
		      struct tracee **ret, struct err *e);
/* Another program: p's next life, or a new tracee if p is NULL. v: what it has mapped so far; n 0: not known. */
int tracees__add_execed(struct tracees *t, struct tracee *p, const struct mt_event *ev,
			const struct tracee_life *parent, const struct told_mapping *v, size_t n,
			struct tracee **ret, struct err *e);

/* Shared probes in what -O names and in what most processes map; the others follow with who maps them. */
int tracees__probe_shared(struct tracees *t, struct err *e);

#endif
